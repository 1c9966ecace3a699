"""Branches of sessions: two that go on apart, checkpoints and going back, ends that are nobody else's, and what a hostile session makes of it.
Each table is a script: a step, and after ` => ` a pattern of what comes of it. Every script has a service of its own, of which nothing is left.

Steps: open A | plain A (not opened for branching) | run A CODE (\\n is a newline) | fork A B | twice A (two forks at once) | checkpoint A | rollback A ID |
forget A ID | close A. `soon` is a run with a limit of 300 ms, which is to end at it. A run says `STATUS SESSION|stdout|reason|violations|message of its error`, the others a word, or `error: ` and why."""

import json
import os
import re
import sys

from client import FOLDER, Sessions, check, done, until
from procfs import alive, below, children, read, status

ROOTFS = sys.argv[3]
POLICY = FOLDER + "/policy.toml"
with open(POLICY, "w") as f:
    f.write("""extends = "snippet"
[python]
layer = false
imports = ["raw", "mmap", "threading", "os", "time", "random", "select", "asyncio", "uuid"]
[limits]
wall = "6s"
""")
PROGRAMS = FOLDER + "/programs.toml"  # whose filter has the list of commands
with open(PROGRAMS, "w") as f:
    f.write('extends = "snippet"\n[process]\nexec = true\nfork = true\n[python]\nlayer = false\n')
MASKS = FOLDER + "/masks.toml"  # of which no zygote makes jails
with open(MASKS, "w") as f:
    f.write('extends = "snippet"\n[filesystem]\nmasks = ["/usr/share/doc"]\n')
WORDS = {"checkpoint": "checkpoint %(checkpoint)d", "rollback": "rolled back", "forget": "forgotten", "close": "closed"}


def service(policy=POLICY):
    return Sessions(policy, 1, "--rootfs", ROOTFS)


def opened(event):
    return "error: " + event["error"] if "error" in event else "opened"


def ran(event):
    if "result" not in event:
        return "error: " + event["text"]
    r = event["result"]
    text = "|".join(("%s %s" % (r["status"], r["session"]), r["stdout"], r["reason"], json.dumps(r["violations"], separators=(",", ":")),
                     (r.get("error") or {}).get("message") or ""))
    return text.replace("\n", " ")


def take(s, step):
    """One step, and what comes of it."""
    verb, name, rest = (step.split(" ", 2) + [""])[:3]
    if verb in ("open", "plain"):
        s.send("open", name, branching=verb == "open")
        return opened(s.wait("opened", name))
    if verb == "fork":
        s.send("fork", name, rest)
        return opened(s.wait("opened", rest))
    if verb == "twice":
        for to in ("one of two", "two of two"):
            s.send("fork", name, to)
        return ", ".join(sorted(opened(s.wait("opened", to)) for to in ("one of two", "two of two")))
    if verb in ("run", "soon"):
        s.start(name, rest.replace("\\n", "\n"), **({"timeout_ms": 300} if verb == "soon" else {}))
        return ran(s.wait("answered error", name))
    s.send(verb, name, **({"checkpoint": int(rest)} if rest else {}))
    event = s.wait("done error", name, about=verb)
    return WORDS[verb] % event["result"] if event["event"] == "done" else "error: " + event["text"]


def end(name, s):
    pids = list(below(s.pid))
    check(name + ": the service ends", s.stop() == 0)
    check(name + ": and had nothing to tell", s.said().count("\n") == 2 and "stopping" in s.said(), s.said())
    check(name + ": nothing is left", until(lambda: not any(map(alive, pids))), [pid for pid in pids if alive(pid)])


def script(name, table, policy=POLICY):
    s = service(policy)
    for line in table.strip("\n").split("\n"):
        step, arrow, want = line.partition(" => ")
        got = take(s, step)
        check("%s: %s" % (name, step.replace("\\n", ";")[:60]), not arrow or re.search(want, got), "`%s`, want `%s`" % (got, want))
    end(name, s)


# --- apart ---
script("two go on apart", r"""
open A => opened
run A import os, random, uuid\nx = [1]\nopen('a', 'w').write('hello')\nf = open('a', 'r+'); f.read(2)\ng = open('gone', 'w+'); g.write('unnamed'); g.flush(); os.unlink('gone') => ok alive
run A r = random.random() => ok
fork A B => opened
run A x.append(2); print(x, f.read(), sorted(os.listdir('.')), os.getuid()); open('b', 'w').write('A'); f.seek(0); f.write('JJ'); f.flush(); g.write('A'); g.flush() => \|\[1, 2\] llo \['a'\] 1000
run B print(x, f.read(), sorted(os.listdir('.')), os.getcwd(), os.getuid(), open('/tmp/a').read()); g.seek(0); print(g.read()) => \|\[1\] llo \['a'\] /tmp 1000 hello unnamed 
run B open('c', 'w').write('B'); print(sorted(os.listdir('/tmp'))) => \['a', 'c'\]
run A print(sorted(os.listdir('/tmp')), open('a').read()) => \['a', 'b'\] JJllo
run B a = [0] * 10**6; print(len(a)) => 1000000
run A print('a' in globals()) => False
close A
run B print(x, sorted(os.listdir('/tmp'))) => \[1\] \['a', 'c'\]
fork B C => opened
run B os.kill(os.getpid(), 9) => signal ended.*SIGKILL
run C print(x, sorted(os.listdir('/tmp'))) => \[1\] \['a', 'c'\]
""")
s = service()
for step in ("open A", "run A import random; random.seed(1); print(random.random())", "fork A B"):
    take(s, step)
said = [take(s, "run %s print(random.random())" % name) for name in "AB"]
check("random numbers go on in the original", "0.84743373" in said[0], said)
check("random numbers are seeded anew in the branch", "|0." in said[1] and "0.84743373" not in said[1], said)
end("random numbers", s)

# --- back ---
script("under the list of commands", r"""
open A => opened
run A import os; x = [1]; os.chdir('/tmp') => ok alive
fork A B => opened
run B x.append(2); print(x, os.getcwd()) => ok alive\|\[1, 2\] /tmp
run A print(x) => ok alive\|\[1\]
close B => closed
close A => closed
""", PROGRAMS)
script("a jail that no zygote makes", r"""
open A => error: branching: a session can be branched only if its jail is made by a zygote, but the policy shows /proc, terminals or masks
plain B => opened
run B print(1) => ok alive\|1
fork B C => error: branching: the session was not opened for branching
""", MASKS)

script("checkpoints", r"""
open A => opened
run A import os; x = 1; open('f', 'w').write('1') => ok
checkpoint A => checkpoint 1$
run A x = 2; os.unlink('f'); open('g', 'w') => ok
rollback A 1 => rolled back$
run A print(x, os.listdir('.'), open('f').read()); x = 3 => \|1 \['f'\] 1
rollback A 1 => rolled back$
run A print(x) => \|1
soon A while True: pass => timeout alive
soon A import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass => timeout ended
rollback A 1 => rolled back$
run A print(x) => ok alive\|1
checkpoint A => checkpoint 2$
fork A B => opened
run B x = 5; print(x) => \|5
rollback B 2 => rolled back$
run B print(x) => \|1
close A
rollback B 1 => rolled back$
run B print(x) => \|1
forget B 1 => forgotten
rollback B 1 => error: checkpoint: there is no checkpoint 1
rollback B 9 => there is no checkpoint 9
run B os._exit(3) => error ended
checkpoint B => error: session: the session has ended
""")

# --- ends ---
script("one end is not the others'", r"""
open A => opened
run A x = 1 => ok
fork A B => opened
fork B C => opened
soon B import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass => timeout ended.*wall clock
run A print(x) => ok alive\|1
run C import os; os._exit(7) => error ended.*exit code 7
run A import os; os.write(3, b'nonsense') => protocol_error ended
open D => opened
twice D => error: .*busy.*, opened
""")

# --- what cannot be ---
names = ["A"] + ["D%d" % n for n in range(1, 27)]
script("no deeper than the kernel nests", "open A => ^opened$\n" + "".join("fork %s %s => ^opened$\n" % pair for pair in zip(names, names[1:])) +
       "run D26 print(5) => \\|5\nfork D26 X => error: depth: ")
script("refusals", r"""
open A => opened
run A import mmap; m = mmap.mmap(-1, 4096) => ok
fork A B => error: branch: the session has a shared memory mapping
run A m.close(); del m\nimport threading, time; t = threading.Thread(target=time.sleep, args=(0.1,)); t.start() => ok
fork A B2 => error: branch: threads are running
run A t.join() => ok
fork A B3 => opened$
""")
script("not without being opened for it", r"""
plain A => opened
fork A B => error: branching: the session was not opened for branching
checkpoint A => not opened for branching
""")

# --- hostile: numbers are clone (with a branch's flags, then as fork), fork, vfork, unshare, setns, capset, fchdir ---
CALLS = "import os, raw; c = raw.call; print(c(56, 0x11228000), c(56, 17), c(57), c(58), c(272, 0x10000000), c(308, 0, 0), c(126, 0, 0), c(81, 0))"
SEEN = ('-1 -1 -1 -1 -1 -1 -1 -1.*"clone","count":2.*"fork","count":1.*"vfork","count":1.*"unshare","count":1.*"setns","count":1'
        '.*"capset","count":1.*"fchdir","count":1')
script("a session is refused what it always was", "\n".join((
    "open A => opened", "run A %s => %s" % (CALLS, SEEN), "fork A B => opened", "run A %s => %s" % (CALLS, SEEN), "run B %s => %s" % (CALLS, SEEN))))
script("code that copies itself at the one moment", r"""
open A => opened
fork A Z => opened
run A import os, raw, time; pids = []\ndef hook():\n    p = raw.call(56, 0x11228000); pids.append(p)\n    if p == 0:\n        open('/tmp/mine', 'w').write('x')\n        while True: pass\nos.register_at_fork(before=hook) => ok
fork A B => error: branch: .*(copy itself|never|not)
run A time.sleep(0.2); print(len(pids), pids[0] > 0, raw.call(62, pids[0], 0), raw.call(56, 0x11228000)) => \|1 True -3 -1
run Z print('there') => \|there
""")
script("hooks that never end", r"""
open A => opened
run A import os\ndef hook():\n    os._exit(0)\nos.register_at_fork(after_in_child=hook) => ok
fork A B => error: branch
run A print(1) => ok alive\|1
open H => opened
run H import os, time\ndef hook():\n    while True: time.sleep(9)\nos.register_at_fork(before=hook) => ok
fork H I => error: branch: (it took too long|the original ended)
run H print(1) => ended
run A import os\ndef hook():\n    os.fchdir(0)\nos.register_at_fork(after_in_child=hook, before=hook) => ok
fork A C => error
run A print(1) => ok alive
""")
script("trees that somebody hostile made", r"""
open A => opened
run A import os\nos.mkdir('d'); open(b'/tmp/\xff\xfe\x0a', 'w').write('odd'); open('/tmp/' + 'n' * 255, 'w')\nf = open('sparse', 'wb'); f.truncate(60 << 20); f.seek(1 << 20); f.write(b'x'); f.close()\nos.close(os.open('locked', os.O_CREAT | os.O_WRONLY, 0)); os.mkdir('closed', 0) => ok
fork A B => opened
run B st = os.stat('sparse'); print(len(os.listdir('.')), open(b'/tmp/\xff\xfe\x0a').read(), st.st_size, st.st_blocks < 100, os.stat('locked').st_mode & 0o777, os.stat('closed').st_mode & 0o777) => \|6 odd 62914560 True 0 0
run A d = '/tmp/d'\nfor i in range(63):\n    d += '/d'; os.mkdir(d) => ok
fork A C => opened
run A os.mkdir(d + '/d') => ok
fork A D => error: branch: copy folders nested this deep
run A print('alive') => ok alive\|alive
open F => opened
run F import os\nfor i in range(4000): open('/tmp/%d' % i, 'w').close() => ok
fork F G => opened
run G print(len(os.listdir('/tmp'))) => \|4000
open H => opened
run H import os\nf = open('/tmp/half', 'wb'); f.write(bytes(30 << 20)); f.close()\ntry:\n    f = open('/tmp/full', 'wb')\n    while True: f.write(bytes(1 << 20))\nexcept OSError: pass => ok
fork H I => opened
run I print(os.stat('/tmp/full').st_size + os.stat('/tmp/half').st_size > 62 << 20) => True
""")
script("open files", r"""
open A => opened
run A import os, random, select\ne = select.epoll(); z = open(random.__file__, 'rb'); z.read(7); a = open('a', 'a'); a.write('x'); a.flush(); n = open('/dev/null', 'w'); d = os.open('/tmp', os.O_RDONLY) => ok
fork A B => opened
run B z.seek(99); a.write('y'); a.flush(); print(os.listdir(d), open('a').read(), n.write('z'))\ntry: e.poll(0)\nexcept OSError as x: print(x.errno) => \['a'\] xy 1 22|\['a'\] xy 1 9
run A print(z.tell(), open('a').read(), e.poll(0)) => \|7 x \[\]
run B print(z.tell()); os.close(d); z.close() => 99
""")

# --- the walls of a branch, as the kernel sees them ---
KEPT = "Uid Gid PPid CapInh CapPrm CapEff CapAmb NoNewPrivs Seccomp Seccomp_filters Threads SigBlk SigIgn SigCgt".split()
s = service()
s.open("A", branching=True)
before = set(below(s.pid))
s.fork("A", "B")
families = [children(init) for init in s.inits()]
a, b = sorted(next(pids for pids in families if len(pids) == 2), key=lambda pid: pid not in before)


def both(take, *arguments):
    return take(a, *arguments), take(b, *arguments)


def file(pid, name):
    return read("/proc/%d/%s" % (pid, name))


def link(pid, name):
    return os.readlink("/proc/%d/%s" % (pid, name))


def mounts(pid):
    rows = [line.partition(" - ") for line in file(pid, "mountinfo").splitlines()]
    return [" ".join(left.split()[4:6] + right.split()[:1]) for left, _, right in rows]


def listed(pid):
    return sorted(os.listdir("/proc/%d/fd" % pid))


one, two = both(lambda pid: {key: status(pid).get(key) for key in KEPT})
check("status is the original's", one == two, (one, two))
check("no capability", status(b)["CapEff"] == "0" * 16, status(b)["CapEff"])
for ns in ("pid", "net", "ipc", "uts", "cgroup"):
    check("the same %s namespace" % ns, len(set(both(link, "ns/" + ns))) == 1)
for ns in ("user", "mnt"):
    check("another %s namespace" % ns, len(set(both(link, "ns/" + ns))) == 2)
maps = both(lambda pid: [line.split()[::2] for line in file(pid, "uid_map").splitlines()])
check("the same id map", maps[0] == maps[1], maps)
check("the same limits", len(set(both(file, "limits"))) == 1)
one, two = both(mounts)
check("one mount more, and no other", two == one + one[-1:], (one, two))
check("the same descriptors", listed(a) == listed(b), both(listed))
for fd in (1, 2, 3):
    check("channels of its own: %d" % fd, len(set(both(link, "fd/%d" % fd))) == 2)
check("a working directory of its own", link(b, "cwd") == "/tmp")
end("walls", s)
done()
