"""Measures what grows: the latency of a snippet with the number of live sandboxes, and fresh sandboxes a second with the number of clients; and
before that one snippet of each kind, in a session, in a fresh sandbox, and with a call of the caller's function.
It passes and fails nothing, and a peer that hangs holds up no other: see watch.py. Peers take turns within each step, in a random order, so that the machine's other work affects all alike.

Usage: measure.py FOLDER [--quick] [--kinds]   writes FOLDER/scale-TIME.json and prints its path; --kinds: the first part alone, FOLDER/kinds-TIME.json
       PEER_LIMIT_S=120: seconds that a peer may take in each of the three parts
"""

import json
import os
import platform
import random
import statistics
import sys
import threading
import time

import peers
import watch

ALIVE = (1, 10, 100, 300, 1000)
CLIENTS = (1, 2, 4, 8, 16)


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


def alive_rows(found, sizes, samples, pause_s, clock, most):
    """Latency of a snippet in one of so many live sandboxes, in turn."""
    rows, opened = [], {peer: [] for peer in found if peer.alive_most}
    for size in sizes:
        ready = [peer for peer in opened if peer.alive_most >= size and goes_to(peer, size, most)]
        for peer in opened:
            if peer not in ready:
                close_all(peer, opened[peer], clock, most)
        for peer in ready:
            while len(opened[peer]) < size:
                with clock.of(peer.name, size):
                    opened[peer].append(peer.open())
                    peer.run(opened[peer][-1])  # the first one of each pays for what later ones find
        got = {peer: [] for peer in ready}
        for turn in range(samples):
            for peer in random.sample(ready, len(ready)):
                time.sleep(pause_s)
                with clock.of(peer.name, size):
                    began = time.perf_counter()
                    peer.run(opened[peer][turn % size])
                    got[peer].append((time.perf_counter() - began) * 1e6)
        rows += [{"peer": peer.name, "alive": size, "count": samples, "median_us": round(statistics.median(us), 1),
                  "p99_us": round(percentile(us, 0.99), 1)} for peer, us in got.items()]
    for peer, sandboxes in opened.items():
        close_all(peer, sandboxes, clock, most)
    return rows


KINDS = {"session": lambda peer, sandbox: peer.run(sandbox), "fresh": lambda peer, _: peer.fresh(), "one call": lambda peer, _: peer.call()}


def has_kinds(peer):
    return bool(peer.alive_most and peer.fresh and peer.call)


def kind_rows(found, samples, pause_s, clock, most):
    """Latency of one snippet of each kind, of the peers that have all kinds."""
    able, opened = [peer for peer in found if has_kinds(peer) and goes_to(peer, 0, most)], {}
    for peer in able:
        with clock.of(peer.name):
            opened[peer] = peer.open()
    got = {(peer, kind): [] for peer in able for kind in KINDS}
    for turn in range(samples + 1):
        for peer, kind in random.sample(list(got), len(got)):
            time.sleep(pause_s)
            with clock.of(peer.name):
                began = time.perf_counter()
                KINDS[kind](peer, opened[peer])
                us = (time.perf_counter() - began) * 1e6
            if turn:  # the first warms up
                got[peer, kind].append(us)
    for peer, sandbox in opened.items():
        close_all(peer, [sandbox], clock, most)
    return [{"peer": peer.name, "kind": kind, "count": samples, "median_us": round(statistics.median(us), 1), "p99_us": round(percentile(us, 0.99), 1)}
            for (peer, kind), us in got.items()]


def goes_to(peer, step, most):
    """A peer that hung or failed at a step is not asked for that step or a higher one again."""
    return peer.name not in most or step < most[peer.name]


def close_all(peer, sandboxes, clock, most):
    """A peer that hung or failed is not trusted to close, or to end: its processes are killed with the part."""
    while sandboxes and peer.name not in most:
        with clock.of(peer.name, peers.ENDING):
            peer.close(sandboxes.pop())


def flow(peer, clients, seconds):
    """Fresh sandboxes a second; what is still running at the end is waited for and not counted."""
    counts, until, failed = [0] * clients, time.perf_counter() + seconds, []

    def client(number):
        try:
            while time.perf_counter() < until:
                peer.fresh()
                counts[number] += time.perf_counter() <= until
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return sum(counts)


def fresh_rows(found, clients, rounds, seconds, clock, most):
    jobs = [(peer, load) for peer in found if peer.fresh for load in clients if goes_to(peer, load, most)]
    got = {job: [] for job in jobs}
    for _ in range(rounds):
        for peer, load in random.sample(jobs, len(jobs)):
            with clock.of(peer.name, load):
                got[peer, load].append(flow(peer, load, seconds))
    return [{"peer": peer.name, "clients": load, "count": sum(counts), "per_second": round(statistics.median(counts) / seconds, 1)}
            for (peer, load), counts in got.items()]


def take(rows, cells, limit_s, known):
    """The rows of one part, measured in a process of its own. `cells`: of a peer, the step and the place of each of its rows; what it had no time
    for gets a row that says so. `known`: peers that did not begin or end in time in an earlier part; this one's are added."""
    def part(clock, most):
        found, missing = peers.working(clock, most)
        got = rows(found, clock, most)
        for peer in found:
            if peer.name in most:
                continue
            with clock.of(peer.name, peers.ENDING):
                peer.end()
        return {"rows": got, "versions": {peer.name: peer.version for peer in found if peer.version}, "missing": missing}

    got, failed = watch.guarded(part, [kind.name for kind in peers.ALL], limit_s, known)
    known.update({name: at for name, at in failed.items() if at[0] in (peers.BEGINNING, peers.ENDING)})
    for kind in peers.ALL:
        if kind.name in failed:
            step, why = failed[kind.name]
            got["rows"] += [{"peer": kind.name, **place, "not_measured": why} for at, place in cells(kind) if at >= step]
            if step == peers.BEGINNING:
                got["missing"][kind.name] = why
    return got


def main():
    folder, quick, kinds = sys.argv[1], "--quick" in sys.argv[2:], "--kinds" in sys.argv[2:]
    limit_s = float(os.environ.get("PEER_LIMIT_S", "120"))
    load = os.getloadavg()[0]
    samples, pause_s = (20, 0.001) if quick else (300, 0.003)
    sizes, clients = (ALIVE[:3], CLIENTS[:3]) if quick else (ALIVE, CLIENTS)
    rounds, seconds = (1, 0.3) if quick else (3, 1.5)
    known = {}
    parts = {"kinds": take(lambda *of: kind_rows(of[0], samples, pause_s, *of[1:]),
                           lambda peer: [(0, {"kind": kind}) for kind in KINDS if has_kinds(peer)], limit_s, known)}
    if not kinds:
        parts["alive"] = take(lambda *of: alive_rows(of[0], sizes, samples, pause_s, *of[1:]),
                              lambda peer: [(size, {"alive": size}) for size in sizes if size <= peer.alive_most], limit_s, known)
        parts["fresh"] = take(lambda *of: fresh_rows(of[0], clients, rounds, seconds, *of[1:]),
                              lambda peer: [(load, {"clients": load}) for load in clients if peer.fresh], limit_s, known)
    run = {
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"system": "%s %s" % (platform.system(), platform.release()), "cpus": os.cpu_count(), "load_at_start": load,
                    "user": "root" if os.geteuid() == 0 else "an ordinary user", "python_of_the_clients": platform.python_version()},
        **{name: {key: text for part in parts.values() for key, text in part[name].items()} for name in ("versions", "missing")},
        **{name: part["rows"] for name, part in parts.items()},
    }
    path = os.path.join(folder, "%s-%s.json" % ("kinds" if kinds else "scale", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())))
    with open(path, "w") as f:
        json.dump(run, f, indent=1)
    print(path)


if __name__ == "__main__":
    main()
