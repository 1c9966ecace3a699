"""Zygotes that import a package which is an attacker: what it reaches at its import, and what it can make the supervisor do.
The package is in a Python tree of its own. In most modes it never comes back from its import, says that the zygote is ready, and answers orders
itself: so a package with native code could do."""

import os
import re
import signal
import subprocess
import sys
import time

from client import LONG, Sessions, check, done, until
import procfs
from procfs import numbers, status

TREE, POLICY = sys.argv[3:5]
FOLDER = [root for root, _, files in os.walk(TREE + "/tree/usr/lib") if "raw.so" in files][0]
EVIL = '''
import os, struct, time
import raw
MODE, VICTIM = %r, %d
SYS = dict(getfd=438, clone=56, getsockopt=55, sendmsg=46, pidfd_open=434, setsid=112, unshare=272, ptrace=101, kill=62, socket=41, connect=42, bpf=321, io_uring_setup=425,
           userfaultfd=323, keyctl=250, perf_event_open=298, process_vm_readv=310, add_key=248, mq_open=240, shmget=29, inotify_init1=294,
           open_by_handle_at=304, name_to_handle_at=303, init_module=175, fanotify_init=300, execve=59, setns=308, memfd_create=319, kcmp=312)
NEWUSER, NEWPID, PARENT, VM = 0x10000000, 0x20000000, 0x8000, 0x100
NEWNS, NEWCGROUP = 0x20000, 0x2000000
found = {}

def can(what):
    try:
        return what()
    except OSError as e:
        return -e.errno

def sleeper(flags, what=lambda: None):
    """A child, or with PARENT a sibling, that does this and then nothing; its pidfd."""
    pidfd = bytes(8)
    args = struct.pack("<QQQQQQQQ", flags | 0x1000, id(pidfd) + 32, 0, 0, 0 if flags & PARENT else 17, 0, 0, 0)
    pid = raw.call(435, id(args) + 32, len(args))  # clone3; bytes begin there
    if pid == 0:
        can(what)
        while True:
            time.sleep(1000)
    return struct.unpack("<q", pidfd)[0] if pid > 0 else pid

def text(words):
    """The address of these bytes as C's text; they live as long as this process."""
    texts.append(words.encode() + bytes(1))
    return id(texts[-1]) + 32
texts = []

def write(name, what):
    fd = os.open(name, os.O_WRONLY)
    os.write(fd, what.encode())
    os.close(fd)

def mounted(flags):
    """A process with namespaces of its own and every capability there mounts cgroup2: what it answered, and what could be written through it."""
    there, here = os.pipe()
    def inside():
        did = [raw.call(SYS["unshare"], NEWCGROUP), raw.call(165, text("none"), text("/tmp"), text("cgroup2"), 6, 0)]
        if did[-1] == 0:
            for name, what in (("memory.max", "max"), ("pids.max", "max"), ("memory.oom.group", "0"), ("cgroup.freeze", "0")):
                did.append([name, can(lambda: write("/tmp/" + name, what))])
            did.append(["mkdir", can(lambda: os.mkdir("/tmp/nested"))])
        os.write(here, repr(did).encode())
        os._exit(0)
    pidfd = sleeper(NEWUSER | NEWNS | flags, inside)
    if pidfd < 0:
        return pidfd
    said = os.read(there, 4096).decode()
    os.wait()
    return said

def raised():
    """The same process raises the limit of its own namespace, in which it may, and makes a cgroup namespace below that: what that answered."""
    there, here = os.pipe()
    def inside():
        wrote = can(lambda: os.write(os.open("sys/user/max_cgroup_namespaces", os.O_WRONLY, dir_fd=4), b"9"))
        os.write(here, repr([wrote, sleeper(NEWCGROUP)]).encode())
        os._exit(0)
    pidfd = sleeper(NEWUSER | NEWNS, inside)
    if pidfd < 0:
        return pidfd
    said = os.read(there, 4096).decode()
    os.wait()
    return said

def order():
    data = os.read(3, 4096)
    if not data:
        os._exit(0)

def answer(init, channels=(-1, -1, -1, -1), errnum=0):
    os.write(3, struct.pack("<6i", errnum, init, *channels))

def channels():
    """Both ends of what a jail has, as our own code makes them."""
    ends = []
    for type in (5, 1):  # SOCK_SEQPACKET, SOCK_STREAM
        fds, on = bytes(8), struct.pack("<i", 1)
        raw.call(53, 1, type, 0, id(fds) + 32)
        ends.append(struct.unpack("<ii", fds))
        raw.call(54, ends[-1][0], 1, 16, id(on) + 32, 4)  # SO_PASSCRED
    return ends + [os.pipe(), os.pipe()]

def ready():
    os.write(3, struct.pack(">I", 1) + b"Y")

if MODE == "look":
    found["kill"] = can(lambda: os.kill(VICTIM, 9))
    found["pidfd"] = raw.call(SYS["pidfd_open"], VICTIM, 0)
    found["kill all"] = can(lambda: os.kill(-1, 0))
    inside = lambda name: can(lambda: os.listdir(os.open(name, os.O_RDONLY, dir_fd=4)))
    found["numbers"] = sorted(int(n) for n in inside(".") if n.isdigit())
    found["victim in /proc"] = inside(str(VICTIM))
    found["sysctl"] = can(lambda: os.open("sys/kernel/core_pattern", os.O_WRONLY, dir_fd=4))
    found["limits"] = {}
    for name in inside("sys/user"):
        before = os.read(os.open("sys/user/" + name, os.O_RDONLY, dir_fd=4), 64)
        opened = can(lambda: os.open("sys/user/" + name, os.O_WRONLY, dir_fd=4))
        wrote = can(lambda: os.write(opened, b"1000000")) if opened >= 0 else opened
        found["limits"][name] = [wrote, os.read(os.open("sys/user/" + name, os.O_RDONLY, dir_fd=4), 64) == before]
    found["above /proc"] = inside("..") == inside(".")
    for name in ("cgroup.procs", "cgroup.max.descendants", "memory.max"):  # -9 where there are no cgroups
        found[name] = can(lambda: os.open(name, os.O_WRONLY, dir_fd=5))
    # Where there are none, that number is another descriptor's.
    found["cgroups"] = can(lambda: os.stat("cgroup.procs", dir_fd=5) and [n for n in os.listdir(5) if "." not in n])
    found["cgroup namespace"], found["cgroup2"] = mounted(NEWCGROUP), mounted(0)
    found["raised"] = raised()
    for name in ("ptrace", "process_vm_readv"):
        found[name] = raw.call(SYS[name], 16 if name == "ptrace" else VICTIM, VICTIM, 0, 0, 0, 0)
    for name, args in dict(socket=(2, 1, 0), bpf=(0, 0, 0), io_uring_setup=(1, 0), userfaultfd=(0,), keyctl=(0, -3, 0), perf_event_open=(0,), add_key=(0,),
                           mq_open=(0,), shmget=(0, 4096, 0o1600), inotify_init1=(0,), open_by_handle_at=(0,), init_module=(0,), fanotify_init=(0,),
                           setns=(0,), kcmp=(1, 1, 0), unshare=(NEWUSER,), clone=(NEWUSER | 17,), getsockopt=(3, 1, 77), sendmsg=(3, 0)).items():
        found[name] = raw.call(SYS[name], *args)
    found["bind mount"] = raw.call(165, 0, 0, 0, 0x1000)
else:
    ready()
    order()
    if MODE == "child":
        answer(sleeper(0))
    elif MODE == "sibling":  # the supervisor's child, and in no namespace of its own
        answer(sleeper(PARENT))
    elif MODE == "empty":  # with a namespace, and without channels
        answer(sleeper(PARENT | NEWUSER | NEWPID))
    elif MODE == "pipe":
        answer(os.pipe()[0])
    elif MODE == "nothing":
        answer(999)
    elif MODE == "endless":
        while True:
            os.write(3, b"x" * 65536)
    elif MODE == "late":  # more than there were orders
        for i in range(9):
            answer(-1, errnum=5)
    elif MODE == "flood":  # an init that asks, and reads no answer
        ends = channels()
        def ask():
            while True:
                os.write(ends[0][1], struct.pack("<I16xi", 0x616a0004, 7) + bytes(760))
        answer(sleeper(PARENT | NEWUSER | NEWPID, ask), [own for own, _ in ends])
    elif MODE == "armed":  # with the filters of a runner, and the runner's end of the channel, but in no jail
        ends = channels()
        init = sleeper(PARENT | NEWUSER | NEWPID)
        allow = struct.pack("<HBBI", 0x06, 0, 0, 0x7fff0000)
        program = struct.pack("<HxxxxxxQ", 1, id(allow) + 32)
        raw.call(317, 1, 0, id(program) + 32)
        answer(init, [own for own, _ in ends])
        os.write(ends[1][1], struct.pack(">I", 1) + b"A")
    elif MODE == "flags":  # waiting by this pidfd waits for nothing
        ends = channels()
        init = sleeper(PARENT | NEWUSER | NEWPID)
        raw.call(72, init, 4, os.O_NONBLOCK)
        answer(init, [own for own, _ in ends])
        time.sleep(1)
        os._exit(1)
    elif MODE == "stray":  # leaves processes behind, in its namespace and out of its process group
        for flags in (0, PARENT, PARENT | NEWUSER | NEWPID, NEWUSER | NEWPID):
            sleeper(flags)
        if os.fork() == 0:
            os.setsid()
            while True:
                if os.fork():
                    os._exit(0)
        os._exit(1)
    time.sleep(1000)
'''


def turn(mode):
    with open(FOLDER + "/evil.py.new", "w") as f:
        f.write(EVIL % (mode, victim.pid))
    os.rename(FOLDER + "/evil.py.new", FOLDER + "/evil.py")


def below(service):
    """All processes of its zygotes, and of what they have made."""
    return list(procfs.below(service.pid))


def known(service):
    """The processes that the supervisor has made or was told of."""
    return service.holders() + service.zygotes() + service.waiting() + service.inits()


def strays(service):
    """Those of them that are no zygote, no holder, and neither init nor guest of a jail."""
    inits, others = service.inits(), known(service)
    said = {pid: status(pid) for pid in below(service) if pid not in others}
    return [(pid, it["Name"], numbers(pid)) for pid, it in said.items() if it and int(it["PPid"]) not in inits]


def unknown_children(service):
    children, others = service.children(), known(service)
    return [pid for pid in children if pid not in others]


def gone_within(seconds):
    return until(lambda: not strays(service), seconds)


def opened(service, name):
    """The text of its error, or None."""
    service.send("open", name, tenant=name)
    return service.wait("opened", name).get("error")


# Of the same user as the zygote would be, and not ours: whoever can, kills it.
victim = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, preexec_fn=lambda: os.getuid() or os.setresuid(65534, 65534, 65534))
turn("look")
service = Sessions(POLICY)
check("control: the package is there, and the jail is from a zygote", service.open("look")["warm"])
seen = service.run("look", "import evil\nevil.found")
found = seen.get("value") or {"failed": seen}
refused = lambda name: found.get(name, 0) < 0  # noqa: E731
check("zygote-signal: a process of the host is not there to be killed", found.get("kill") == found.get("kill all") == -3 and refused("pidfd") and victim.poll() is None, found)
check("zygote-proc: the /proc that it holds shows its own namespace and ends there",
      victim.pid not in found.get("numbers", [victim.pid]) and found.get("victim in /proc") == -2 and
      refused("sysctl") and found.get("above /proc"), found)
limits = found.get("limits") or {}
check("zygote-proc: it changes none of its namespaces' limits in sys/user, such as that it has no cgroup namespace",
      "max_cgroup_namespaces" in limits and all(wrote < 0 and same for wrote, same in limits.values()), limits)
check("zygote-cgroup: it can write no limit and move nobody through the cgroups that births have",
      all(found.get(name) in (-9, -20, -30, -2) for name in ("cgroup.procs", "cgroup.max.descendants", "memory.max")), found)
groups = found.get("cgroups")
check("zygote-cgroup: the zygote sees its own cgroup and those of its jails, none yet",
      len(groups) == 1 if isinstance(groups, list) else groups in (-2, -9, -20), groups)
ENOSPC, EPERM, ENOSYS = 28, 1, 38
check("zygote-cgroup: no process below it has a cgroup namespace, and so none mounts a cgroup file system",
      found.get("cgroup namespace") == -ENOSPC and found.get("cgroup2") == repr([-ENOSYS, -EPERM]), found)
check("zygote-cgroup: nor after a process has raised the limit of a namespace of its own", re.fullmatch(r"\[1, -28\]", str(found.get("raised"))), found.get("raised"))
never = ("pidfd", "ptrace", "process_vm_readv", "socket", "getsockopt", "bpf", "io_uring_setup", "userfaultfd", "keyctl", "perf_event_open", "add_key",
         "mq_open", "shmget", "inotify_init1", "open_by_handle_at", "init_module", "fanotify_init", "setns", "kcmp", "unshare", "clone", "bind mount",
         "sendmsg")
check("zygote-calls: no call but those of births, of a start and of the jail's own list", all(found.get(name) == -38 for name in never),
      {name: found.get(name) for name in never if found.get(name) != -38})
service.open("beside", tenant="beside")  # a jail that outlives the zygotes below
for mode, says in (("child", "not a child of the supervisor"),
                   ("sibling", "not the first of its namespace|without a PID namespace"), ("empty", "report socket"), ("pipe", "not a child of the supervisor"),
                   ("nothing", "no descriptor"), ("endless", "did not make|no descriptor|without an order|not true|cannot make a jail|ended"),
                   ("late", "without an order|cannot make a jail|ended"), ("flood", "does not read"), ("armed", "not a child of the jail's init"), ("flags", "ended"), ("stray", "ended|no descriptor")):
    turn(mode)
    began = time.monotonic()
    error = opened(service, mode)
    took = time.monotonic() - began
    good = bool(error) and any(text in error for text in says.split("|"))
    check("zygote-answer: %s: the answer is refused, and the error says so" % mode, good, "%s after %.1f s" % (error, took))
    check("zygote-jails: %s: another tenant's jail and the host's processes go on" % mode, victim.poll() is None and service.run("beside", "40+2").get("value") == 42)
    check("zygote-strays: %s: no process of this zygote is left" % mode, gone_within(LONG), strays(service))
turn("look")
deadline = time.monotonic() + 60
while (error := opened(service, "again")) and time.monotonic() < deadline:
    time.sleep(0.2)
check("zygote-answer: the pool recovers", not error, error)
check("zygote-strays: no process of any such zygote is left", gone_within(LONG), strays(service))
# The pool makes and reaps processes meanwhile: one look at them is of several moments.
check("zygote-strays: the supervisor has no child that it does not know", until(lambda: not unknown_children(service), LONG), unknown_children(service))
service.stop()
victim.send_signal(signal.SIGKILL)
victim.wait()
done()
