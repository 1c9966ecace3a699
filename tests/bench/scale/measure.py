"""Measures what grows: the latency of a snippet with the number of live sandboxes, and fresh sandboxes a second with the number of clients; and
before that one snippet of each kind, in a session, in a fresh sandbox, and with a call of the caller's function.
It passes and fails nothing. Peers take turns within each step, in a random order, so that the machine's other work affects all alike.

Usage: measure.py FOLDER [--quick]   writes FOLDER/scale-TIME.json and prints its path
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

ALIVE = (1, 10, 100, 300, 1000)
CLIENTS = (1, 2, 4, 8, 16)


def percentile(values, share):
    values = sorted(values)
    return values[min(int(len(values) * share), len(values) - 1)]


def alive_rows(found, sizes, samples, pause_s):
    """Latency of a snippet in one of so many live sandboxes, in turn."""
    rows, opened = [], {peer: [] for peer in found if peer.alive_most}
    for size in sizes:
        ready = [peer for peer in opened if peer.alive_most >= size]
        for peer in ready:
            while len(opened[peer]) < size:
                opened[peer].append(peer.open())
                peer.run(opened[peer][-1])  # the first one of each pays for what later ones find
        got = {peer: [] for peer in ready}
        for turn in range(samples):
            for peer in random.sample(ready, len(ready)):
                time.sleep(pause_s)
                began = time.perf_counter()
                peer.run(opened[peer][turn % size])
                got[peer].append((time.perf_counter() - began) * 1e6)
        rows += [{"peer": peer.name, "alive": size, "count": samples, "median_us": round(statistics.median(us), 1),
                  "p99_us": round(percentile(us, 0.99), 1)} for peer, us in got.items()]
        for peer in opened:
            if peer not in ready:
                close_all(peer, opened[peer])
    for peer, sandboxes in opened.items():
        close_all(peer, sandboxes)
    return rows


def kind_rows(found, samples, pause_s):
    """Latency of one snippet of each kind, of the peers that have all kinds."""
    able = [peer for peer in found if peer.alive_most and peer.fresh and peer.call]
    opened = {peer: peer.open() for peer in able}
    kinds = {"session": lambda peer: peer.run(opened[peer]), "fresh": lambda peer: peer.fresh(), "one call": lambda peer: peer.call()}
    got = {(peer, kind): [] for peer in able for kind in kinds}
    for turn in range(samples + 1):
        for peer, kind in random.sample(list(got), len(got)):
            time.sleep(pause_s)
            began = time.perf_counter()
            kinds[kind](peer)
            if turn:  # the first warms up
                got[peer, kind].append((time.perf_counter() - began) * 1e6)
    for peer, sandbox in opened.items():
        peer.close(sandbox)
    return [{"peer": peer.name, "kind": kind, "count": samples, "median_us": round(statistics.median(us), 1), "p99_us": round(percentile(us, 0.99), 1)}
            for (peer, kind), us in got.items()]


def close_all(peer, sandboxes):
    while sandboxes:
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


def fresh_rows(found, clients, rounds, seconds):
    jobs = [(peer, load) for peer in found if peer.fresh for load in clients]
    got = {job: [] for job in jobs}
    for _ in range(rounds):
        for job in random.sample(jobs, len(jobs)):
            got[job].append(flow(*job, seconds))
    return [{"peer": peer.name, "clients": load, "count": sum(counts), "per_second": round(statistics.median(counts) / seconds, 1)}
            for (peer, load), counts in got.items()]


def main():
    folder, quick = sys.argv[1], "--quick" in sys.argv[2:]
    load = os.getloadavg()[0]
    found, missing = peers.working()
    run = {
        "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": {"system": "%s %s" % (platform.system(), platform.release()), "cpus": os.cpu_count(), "load_at_start": load,
                    "user": "root" if os.geteuid() == 0 else "an ordinary user", "python_of_the_clients": platform.python_version()},
        "versions": {peer.name: peer.version for peer in found if peer.version},
        "missing": missing,
        "kinds": kind_rows(found, 20 if quick else 300, 0.001 if quick else 0.003),
        "alive": alive_rows(found, ALIVE[:3] if quick else ALIVE, 20 if quick else 300, 0.001 if quick else 0.003),
        "fresh": fresh_rows(found, CLIENTS[:3] if quick else CLIENTS, 1 if quick else 3, 0.3 if quick else 1.5),
    }
    for peer in found:
        peer.end()
    path = os.path.join(folder, "scale-%s.json" % time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()))
    with open(path, "w") as f:
        json.dump(run, f, indent=1)
    print(path)


if __name__ == "__main__":
    main()
