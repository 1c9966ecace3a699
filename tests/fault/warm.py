"""Pool hits and sessions, many, with kills of whatever takes part at random instants; and nothing is left of them.
HITS and SESSIONS say how many; about one in twenty is killed: the jail's guest, its init, or the zygote. BIRTHS says how many are killed at their birth."""

import ctypes
import os
import random
import signal
import time

from client import BUILD, FEW, Sessions, check, done
from until import until
from procfs import children, numbers, read, state, status

hits, sessions, births = (int(os.environ[name]) for name in ("HITS", "SESSIONS", "BIRTHS"))
seed = int(os.environ.get("SEED") or random.SystemRandom().getrandbits(32))
random.seed(seed)
SLABS = "net_namespace", "user_namespace", "pid_namespace", "uts_namespace", "mnt_cache", "nsproxy", "signal_cache"
SLACK = {"open files": max(150, hits // 50), "processes": 20,
         "supervisor KiB": (300 if "-san" in BUILD else 3) << 10}  # a sanitizer keeps what is freed


ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: whoever loses its parent comes to us


def below(pid):
    return [p for child in children(pid) if state(child) not in "ZX" for p in [child] + below(child)]


def counts(service):
    """Of the host and of the supervisor, which has nothing to do now. How many holders of killed zygotes a parked jail keeps is chance, and
    so is whether the zygote has made the next init yet."""
    holders, waiting = len(service.holders()), len(service.waiting())
    found = {"mounts": read("/proc/self/mountinfo").count("\n"), "processes": len(below(os.getpid())),
             "open files": int(read("/proc/sys/fs/file-nr").split()[0]), "supervisor fds": len(os.listdir("/proc/%d/fd" % service.pid)) - holders,
             "children": len(service.children()) - holders - waiting, "zombies": sum(state(pid) == "Z" for pid in service.children()),
             "supervisor KiB": int(status(service.pid)["VmRSS"].split()[0]), "cgroups": sum(len(d) for _, d, _ in os.walk("/sys/fs/cgroup")),
             "supervisor threads": int(status(service.pid)["Threads"])}
    try:
        found.update({"slab " + w[0]: int(w[1]) for w in map(str.split, read("/proc/slabinfo").splitlines()) if w[0] in SLABS})
    except OSError:
        pass
    return found


def rest(service):
    """Once the park is full again, and those that were killed are gone. A killed zygote's holder stays as long as a jail of its does."""
    def full():
        s = service.stats()
        return s["starting"] == s["waiting"] == 0 and s["parked"] == PARKED and s["zygotes"] == 1 and \
            len(service.children()) == PARKED + 1 + len(service.holders() + service.waiting()) and 1 <= len(service.holders()) <= PARKED + 1
    return until(full)


def kill_one(service):
    """Somebody who takes part. A birth that it was part of is tried again once; where two are killed in a row who waits is told: so the
    next ones may fail, too, also after those that get what was parked."""
    global unsafe
    unsafe = PARKED + 2
    what = random.choice(("guest", "init", "zygote", "parked"))
    inits = [pid for pid in service.children() if pid not in service.zygotes()]
    victims = {"zygote": service.zygotes(), "parked": inits, "init": inits, "guest": [g for i in inits for g in children(i)]}[what]
    if victims:
        victim = random.choice(victims)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        while state(victim) not in "ZX":
            time.sleep(0.0005)


PARKED = 4
service = Sessions(FEW, parked=PARKED)
service.open("first")
good = {"ok": 0, "killed": 0, "refused": 0}
wrong = []
slowest = 0
unsafe = 0      # of so many sessions from now


def one(n, snippets, kills):
    """A session of so many snippets. Where nobody is killed every answer must be right; where somebody is, none may be wrong."""
    global slowest, unsafe
    unsafe -= unsafe > 0
    name = "s%d" % n
    began = time.monotonic()
    service.send("open", name)
    opened = service.wait("opened", name)
    if "error" in opened:
        good["refused"] += 1
        if not unsafe:
            wrong.append(opened)
        service.close(name)
        return
    for turn in range(snippets):
        service.start(name, "seen = %d\nprint(seen)\nseen * 2" % n if not turn else "seen += 1\nprint(seen)\nseen * 2")
        if kills and random.random() < 1 / snippets:
            time.sleep(random.random() * 0.004)
            kill_one(service)
        result = service.result(name)
        if result.get("status") == "ok" and result["value"] == (n + turn) * 2 and result["stdout"] == "%d\n" % (n + turn):
            good["ok"] += 1
            continue
        # Killed from outside: never with a value, and never called anything but what it was.
        if not unsafe or result.get("value") is not None or result.get("status") not in (None, "signal", "error", "setup_error"):
            wrong.append(result)
        good["killed"] += 1
        break
    slowest = max(slowest, time.monotonic() - began)
    service.close(name)


for n in range(60):  # the first ones fill what is kept for the next
    one(n, 2, n % 2)
service.close("first")
check("the service is at rest before", rest(service), service.stats())
before, began = counts(service), time.monotonic()
for n in range(hits):
    one(n, 1, n % 20 == 7)
took = time.monotonic() - began
check("at rest after %d hits" % hits, rest(service), service.stats())
middle, began = counts(service), time.monotonic()
for n in range(sessions):
    one(n, 1 + n % 7, n % 4 == 1)
sessions_took = time.monotonic() - began
check("at rest after %d sessions" % sessions, rest(service), service.stats())
check("every answer is right, or its jail was killed (seed %d)" % seed, not wrong, "%d: %s" % (len(wrong), wrong[:2]))
for attempt in range(20):
    after = counts(service)
    more = {k: (before[k], after[k]) for k in after
            if after[k] > before[k] + SLACK.get(k, 300 + hits // 10 if k.startswith("slab") else 0)}
    if not more:
        break
    time.sleep(1)
for key in before:
    check("as many as before: " + key, key not in more, more.get(key))
if hits >= 2000 or os.environ.get("V"):
    s = service.stats()
    s.pop("pools")
    print("  note  %d hits in %.1f s, %d sessions in %.1f s, the slowest took %.0f ms; %s; %s" % (
        hits, took, sessions, sessions_took, slowest * 1000, good, s))
    for key in before:
        print("  note  %-22s %8d before, %8d after the hits, %8d at last" % (key, before[key], middle[key], after[key]))
if hits >= 2000:  # a zygote that does not move is given up after ten seconds
    os.kill(service.zygotes()[0], signal.SIGSTOP)
    opened = [(service.send("open", "stuck%d" % n), service.wait("opened", "stuck%d" % n))[1] for n in range(PARKED + 1)]
    check("a request that waits for a stuck zygote gets a jail of the next one", not any("error" in e for e in opened), opened)
check("the service answers still", service.open("last") and service.run("last", "6 * 7").get("value") == 42)
check("the service ends", service.stop() == 0)

# Whoever waits for a jail while its zygote dies gets one of the next zygote's, and is told when that dies, too.
service = Sessions(FEW, parked=0)
service.open("one")
os.kill(service.zygotes()[0], signal.SIGSTOP)
service.send("open", "two")
time.sleep(0.05)
os.kill(service.zygotes()[0], signal.SIGKILL)
opened = service.wait("opened", "two")
check("a waiting request survives the death of its zygote", "error" not in opened and service.run("two", "6 * 7").get("value") == 42, opened)
os.kill(service.zygotes()[0], signal.SIGSTOP)
service.send("open", "three")
end = time.monotonic() + 60
while time.monotonic() < end and not any(e["as"] == "three" for e in service.events):
    for zygote in service.zygotes():
        os.kill(zygote, signal.SIGKILL)
    service.read(0.002)
opened = service.wait("opened", "three", 0)
check("every zygote dies", "the zygote" in opened.get("error", "") or "zygote: it ended" in opened.get("error", ""), opened)
check("what was given away lives on", [service.run(name, "6 * 7").get("value") for name in ("one", "two")] == [42, 42])
check("and a jail is there again", service.open("four") and service.run("four", "6 * 7").get("value") == 42)


def kill_new(what, times, zygote_too):
    """Opens jails, and kills whatever child is new as soon as it is seen, by looking for new ones all the time. Returns when a zygote ended by itself.
    A turn in which the jail was there before a child was seen, or before which there was no zygote, says nothing about births: it is not judged."""
    judged = 0
    for n in range(times):
        service.open("before")  # the pool waits the longer the more often it has failed in a row
        service.close("before")
        known, born_of = set(service.children()), service.zygotes()
        for pid in born_of if zygote_too else ():
            os.kill(pid, signal.SIGKILL)
        service.send("open", "%s%d" % (what, n))
        began, victims = time.monotonic(), set()
        while not victims and not any(e["event"] == "opened" for e in service.events):
            took = time.monotonic() - began  # a birth is short; where none comes, as the jail was there already, this loop waits for the answer
            if took > 0.1:
                service.read(0.001)
            with open("/proc/%d/task/%d/children" % (service.pid, service.pid)) as f:
                victims = set(map(int, f.read().split())) - known
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        service.wait("opened", "%s%d" % (what, n))
        service.close("%s%d" % (what, n))
        judged += bool(victims and born_of)
        if victims and born_of and not zygote_too and service.zygotes() != born_of:
            return n
    check("control: children were seen at their birth: " + what, judged, judged)
    service.open("after")  # the zygote reports an init that was killed while it waited when it would use it
    service.close("after")
    until(lambda: not left())
    return None


def left():
    """Zombies, and holders of neither a zygote nor a jail."""
    found = [(pid, status(pid).get("Name"), numbers(pid)) for pid in service.children()]
    holders, inits, zygotes = service.holders(), service.inits(), service.zygotes()
    known = holders + inits + service.waiting() + zygotes
    return [f for f in found if state(f[0]) in "ZX" or f[0] not in known] or (found if len(holders) > len(inits) + len(zygotes) else [])


# An init that is killed before it has made a guest is our child all the same; its zygote continues.
ended = kill_new("early", births, False)
check("no zygote ends because an init is killed at its birth", ended is None, ended)
check("no init that was killed at its birth is left as a zombie", not left(), left())
# The process that makes a zygote and the holder of its namespace is one too, and so are those two before anybody knows of them.
kill_new("parted", max(births * 3 // 10, 3), True)
check("nobody is left of a zygote whose start was killed", not left(), left())
check("the service ends after that", service.stop() == 0)
done()
