"""What a jail from a zygote is, seen from outside in /proc: the same as one that was started cold, and nobody else's.
Every difference is in a table here with its reason; and each kind of comparison is shown to see one that is made on purpose."""

import atexit
import ctypes
import os
import re
import subprocess
import time

from client import AJ, Sessions, check, done
from procfs import children, read, stat, state, status

# Of status: the rest are numbers of the process, its sizes, and counts (of filters too: a cold jail's Python starts under one of its own).
STATUS = ("Umask Uid Gid Groups TracerPid Threads SigQ SigPnd ShdPnd SigBlk SigIgn SigCgt CapInh CapPrm CapEff CapBnd CapAmb "
          "NoNewPrivs Seccomp Speculation_Store_Bypass SpeculationIndirectBranch CoreDumping THP_enabled Kthread "
          "Cpus_allowed Mems_allowed Name").split()
FILES = "limits cgroup oom_score_adj personality environ uid_map gid_map setgroups attr/current timerslack_ns cpuset sessionid loginuid".split()
LINKS = "cwd root exe".split()
NAMESPACES = "user pid pid_for_children mnt net ipc uts cgroup".split()  # all fresh; `time` is the host's
STAT = {"tty": 4, "exit signal": 35, "nice": 16, "priority": 15, "real-time priority": 37, "scheduling policy": 38}
USER_LIMITS = "max_user_namespaces max_inotify_instances max_inotify_watches max_pid_namespaces max_net_namespaces".split()
BLOCK = "import time\ntime.sleep(%d)" % 600


def quiet(take, *args):
    try:
        return take(*args)
    except OSError as e:
        return "not to be read: " + e.strerror


def mounts(pid):
    """Rows without what is a number of this mount only, sorted."""
    rows = []
    for line in read("/proc/%d/mountinfo" % pid).splitlines():
        left, _, right = line.partition(" - ")
        _, _, _, root, place, options, *more = left.split()
        rows.append(" ".join([place, root, options] + [re.sub(r":\d+", ":N", m) for m in more] + [right]))
    return sorted(rows)


def descriptors(pid):
    found = {}
    for fd in sorted(map(int, os.listdir("/proc/%d/fd" % pid))):
        info = read("/proc/%d/fdinfo/%d" % (pid, fd)).split("\n")
        found[fd] = re.sub(r"\d+", "N", os.readlink("/proc/%d/fd/%d" % (pid, fd))), info[0], info[1]
    return found


def namespace(pid, kind):
    return os.readlink("/proc/%d/ns/%s" % (pid, kind))


def within(pid, take, *args):
    """The answer of `take` in a child that joined that process's user namespace, with its id and every capability there."""
    there, here = os.pipe()
    child = os.fork()
    if not child:
        text = "not to be entered"
        try:
            fd = os.open("/proc/%d/ns/user" % pid, os.O_RDONLY)
            if ctypes.CDLL(None, use_errno=True).setns(fd, 0) == 0:
                os.setresgid(1000, 1000, 1000)
                os.setresuid(1000, 1000, 1000)
                text = quiet(take, *args)
        finally:
            os.write(here, text.encode())
            os._exit(0)
    os.waitpid(child, 0)
    os.close(here)
    text = os.read(there, 1000).decode()
    os.close(there)
    return text


def user_limits(pid):
    """What the namespace allows of more namespaces."""
    return within(pid, lambda: " ".join(read("/proc/sys/user/" + name).strip() for name in USER_LIMITS))


def look(pid):
    seen = {}
    fields, s = status(pid), stat(pid)
    for key in STATUS:
        seen["status " + key] = fields.get(key)
    for name in FILES:
        seen[name] = quiet(read, "/proc/%d/%s" % (pid, name))
    for name in LINKS:
        seen[name] = quiet(os.readlink, "/proc/%d/%s" % (pid, name))
    for name, place in STAT.items():
        seen[name] = s[place] if place < len(s) else None
    seen["number inside"] = fields["NSpid"].split()[-1]
    seen["session of its own"] = s[3] == str(pid)
    seen["group of its own"] = s[2] == str(pid)
    seen["mounts"] = quiet(mounts, pid)
    seen["descriptors"] = quiet(descriptors, pid)
    seen["user limits"] = quiet(user_limits, pid)
    seen["namespaces"] = {kind: quiet(namespace, pid, kind) != quiet(namespace, os.getpid(), kind) or "the host's" for kind in NAMESPACES}
    seen["time"] = quiet(namespace, pid, "time")
    maps = quiet(read, "/proc/%d/maps" % pid)
    seen["shared memory"] = re.findall(r"(?m)^\S+ ...s .*", maps)
    seen["writable code"] = re.findall(r"(?m)^\S+ .wx. .*", maps)
    return seen


def differences(a, b):
    return {key: (a.get(key), b.get(key)) for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)}


def plant(seen, key):
    """The same with something else there."""
    value = seen[key]
    other = not value if isinstance(value, bool) else value + ["x"] if isinstance(value, list) else dict(value, x=1) if isinstance(value, dict) else "x%s" % (value,)
    return dict(seen, **{key: other})


def scratch(rows):
    return sorted(row for row in rows if row.split()[0] in ("/tmp", "/dev/shm"))


# Properties that may differ between a cold jail and a warm one: whose they are, why, and the condition that must hold then.
WARM_CGROUP = ("nobody below a zygote has a cgroup namespace, in which it could mount cgroup2; without /proc nobody in it sees the path",
               lambda cold, warm: warm == dict(cold, cgroup="the host's"))
GUEST = {
    "namespaces": WARM_CGROUP,
    "mounts": ("the zygote's scratch space lies below its own, which covers it",
               lambda cold, warm: sorted(set(cold)) == sorted(set(warm)) and sorted(warm) == sorted(cold + scratch(cold))),
    "status SigCgt": ("a jail that lasts has handlers for an interrupt and for the soft deadline",
                      lambda cold, warm: int(warm, 16) == int(cold, 16) | 1 << 1 | 1 << 9),
}
INIT = {
    "status Seccomp": ("the zygote's filter is below everything that is born from it", lambda cold, warm: (cold, warm) == ("0", "2")),
    "status Name": ("a warm one is named after its order", lambda cold, warm: warm.startswith("init-")),
    "exe": ("it has the zygote's memory, and so its program", lambda cold, warm: cold.endswith("agentjail") or cold == warm),
    "environ": ("the zygote's: what the plan says; a cold one has the caller's", lambda cold, warm: "SECRET" not in warm),
    "mounts": GUEST["mounts"],
    "namespaces": WARM_CGROUP,
    "status SigCgt": ("the zygote's handlers, which never run: every signal is blocked, and taken by waiting for it",
                      lambda cold, warm: int(warm, 16) == 1 << 1 | 1 << 9),
    "status SigIgn": ("a cold one has what its caller ignored; libc lets nobody change its own two, 32 and 33",
                      lambda cold, warm: int(warm, 16) & ~(3 << 31) == 0),
    "limits": ("the zygote's; the guest sets its own", lambda cold, warm: {line[:18].strip() for line in set(warm.splitlines()) - set(cold.splitlines())}
               <= {"Max core file size", "Max processes", "Max address space"}),
    "descriptors": ("the one socket has another number", lambda cold, warm: list(cold.values()) == list(warm.values()) and len(warm) == 1),
}


def compare(name, cold, warm, reasons):
    for key, (was, now) in differences(cold, warm).items():
        # Its memory belongs to the zygote's user namespace, and so to the user who made that; a cold one's to the supervisor's.
        if name == "init" and os.getuid() and str(was).startswith("not to be"):
            continue
        check("%s: %s is as in a cold jail" % (name, key), key in reasons and reasons[key][1](was, now), "%s in place of %s" % (now, was))
    check("%s: control: a difference in each of %d places is seen" % (name, len(cold)),
          all(key in differences(cold, plant(cold, key)) for key in cold))


def guest_of(init):
    found = [pid for pid in children(init) if state(pid) not in "ZX"]
    assert len(found) == 1, (init, found)
    return found[0]


def jail_of(service, before):
    new = [pid for pid in service.inits() if pid not in before]
    assert len(new) == 1, new
    return new[0], guest_of(new[0])


service = Sessions()
jails = {}
for name, tenant in (("a", "one"), ("b", "one"), ("c", "two")):
    before = service.inits()
    event = service.open(name, tenant=tenant)
    check("the jail %s is from a zygote" % name, event["warm"], event)
    service.start(name, BLOCK)
    jails[name] = jail_of(service, before)
zygotes = service.zygotes()
check("two tenants have two zygotes", len(zygotes) == 2, zygotes)

cold = subprocess.Popen([AJ, "exec", "-c", BLOCK], stdin=subprocess.DEVNULL)
atexit.register(cold.kill)


def inside(parent, filtered):
    """The one child of it, once its filter stands and it sleeps in the snippet."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for pid in children(int(parent)):
            if not filtered and children(pid) or filtered and status(pid).get("Seccomp") == "2" and state(pid) == "S":
                return pid
        time.sleep(0.01)
    raise TimeoutError("no jail below %d" % parent)


cold_init = inside(cold.pid, False)
cold_guest = inside(cold_init, True)
for _, guest in jails.values():
    inside(stat(guest)[1], True)
time.sleep(0.3)  # from the filter to the snippet

looks = {name: (look(init), look(guest)) for name, (init, guest) in jails.items()}
cold_looks = look(cold_init), look(cold_guest)
compare("guest", cold_looks[1], looks["a"][1], GUEST)
compare("init", cold_looks[0], looks["a"][0], INIT)
for other in "bc":
    for which, what in enumerate(("init", "guest")):
        found = differences(looks["a"][which], looks[other][which])
        found.pop("status Name", None)  # init's number
        check("%s of %s is like that of a" % (what, other), not found, found)

# Properties that each jail must have, whatever a cold one has.
for name, (init, guest) in jails.items():
    for what, pid, seen in (("init", init, looks[name][0]), ("guest", guest, looks[name][1])):
        for sets in "CapInh CapPrm CapEff CapBnd CapAmb".split():
            check("%s of %s: %s is empty" % (what, name, sets), set(seen["status " + sets]) == {"0"}, seen["status " + sets])
        check("%s of %s: every namespace is its own, but that of cgroups" % (what, name), what == "init" and os.getuid() or
              {v for k, v in seen["namespaces"].items() if k != "cgroup"} == {True}, seen["namespaces"])
        check("%s of %s: no new privileges" % (what, name), what == "init" or seen["status NoNewPrivs"] == "1")
    seen = looks[name][1]
    check("guest of %s: descriptors" % name, {fd: kind for fd, (kind, *_) in seen["descriptors"].items()} == {
        0: "/dev/null", 1: "pipe:[N]", 2: "pipe:[N]", 3: "socket:[N]"}, seen["descriptors"])
    check("guest of %s: no memory is shared, none is writable code" % name, not seen["shared memory"] and not seen["writable code"])
    check("guest of %s: the secret of the caller is not in its environment" % name, os.environ["AJ_CANARY_SECRET"] not in seen["environ"])

# No two of these processes share a namespace, a descriptor's other end, or scratch space.
everybody = {"zygote %d" % z: z for z in zygotes}
everybody.update({"guest " + name: guest for name, (init, guest) in jails.items()})
everybody.update(cold=cold_guest, host=os.getpid())
for kind in "user pid_for_children mnt net ipc uts".split():
    inodes = {}
    for name, pid in everybody.items():
        if kind == "pid_for_children" and name.startswith("zygote"):
            continue  # a zygote numbers its processes as the host does
        inode = quiet(namespace, pid, kind)
        if not inode.startswith("not"):
            inodes.setdefault(inode, []).append(name)
    shared = [names for names in inodes.values() if len(names) > 1]
    check("no %s namespace is shared" % kind, not shared and len(inodes) >= 4, shared)


def numbers(pid, places):
    return {line.split()[2] for line in read("/proc/%d/mountinfo" % pid).splitlines() if line.split()[4] in places and line.split()[8] == "tmpfs"}


def ends(pid):
    return {os.readlink("/proc/%d/fd/%d" % (pid, fd)) for fd in (1, 2, 3)}


for what, take in (("pipe or socket", ends),):
    taken = [take(guest) for _, guest in jails.values()] + [take(cold_guest)]
    check("no %s is shared" % what, len(set.union(*taken)) == sum(map(len, taken)), taken)
# The scratch space on top is the last one in the list of mounts.
tops = [[line.split()[2] for line in read("/proc/%d/mountinfo" % guest).splitlines() if line.split()[4] == place][-1]
        for _, guest in jails.values() for place in ("/tmp",)]
check("no scratch space is shared", len(set(tops)) == len(tops), tops)
for name, (init, guest) in jails.items():
    check("init of %s is closed to processes of the jail" % name, within(guest, os.readlink, "/proc/%d/cwd" % init).startswith("not to be read"))
    check("control: the guest of %s is not" % name, within(guest, os.readlink, "/proc/%d/cwd" % guest) == "/tmp")


def memory(pid):
    """All that it may read of its own."""
    found = b""
    with open("/proc/%d/mem" % pid, "rb", 0) as f:
        for line in read("/proc/%d/maps" % pid).splitlines():
            if line.split()[1].startswith("rw") and "[v" not in line:
                start, end = (int(n, 16) for n in line.split()[0].split("-"))
                f.seek(start)
                found += f.read(end - start)
    return found


# An init works in the zygote's memory, which the guests are copies of. Only root may look at what is closed to others.
for name, (init, guest) in jails.items() if not os.getuid() else ():
    check("the guest of %s knows no init, nor its number" % name, not re.findall(rb"init-\d+\0", memory(guest)), guest)
check("control: a zygote knows them", os.getuid() or re.findall(rb"init-\d+\0", memory(zygotes[0])), zygotes)
for zygote in zygotes:
    seen = look(zygote)
    check("a zygote has no capability", {seen["status " + s] for s in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")} == {"0" * 16}, seen)
    if isinstance(seen["descriptors"], dict):
        kinds = {fd: kind for fd, (kind, *_) in seen["descriptors"].items()}
        inits = [fd for fd, kind in kinds.items() if fd > 4 and "pidfd" in kind]  # for the supervisor to take
        check("a zygote has its own descriptors and no other", {fd: kind for fd, kind in kinds.items() if fd not in inits} == {
            0: "/dev/null", 1: "/dev/null", 2: "/dev/null", 3: "socket:[N]", 4: "/"} and len(inits) <= 8, seen["descriptors"])
        check("a zygote's /proc is its own namespace's", not os.path.exists("/proc/%d/fd/4/%d" % (zygote, os.getpid())) and
              os.path.exists("/proc/%d/fd/4/1" % zygote), os.listdir("/proc/%d/fd/4" % zygote))
# --- a branch of a session, which shares the jail's init and most of its namespaces with the original ---
BRANCH = {
    "number inside": ("they share a PID namespace", lambda one, two: one != two),
    "mounts": ("scratch space of its own over the original's", lambda one, two: sorted(set(one)) == sorted(set(two)) and sorted(two) == sorted(one + scratch(cold_looks[1]["mounts"]))),
    "status CapBnd": ("of its new user namespace; nothing can be executed that could make use of it", lambda one, two: True),
    "session of its own": ("the original's", lambda one, two: True),
    "group of its own": ("the original's", lambda one, two: True),
    "user limits": ("what it takes is counted in the namespaces above as well, whose limits hold", lambda one, two: one.split()[1:3] == ["8", "8192"]),
}
before = service.inits()
service.open("trunk", branching=True)
service.run("trunk", "x = 1")
trunk_init, trunk = jail_of(service, before)
service.fork("trunk", "branch")
branch = [pid for pid in children(trunk_init) if pid != trunk]
check("a branch is one more child of init", len(branch) == 1, branch)
for name in ("trunk", "branch"):
    service.start(name, BLOCK)
time.sleep(0.3)
one, two = look(trunk), look(branch[0])
compare("branch", one, two, BRANCH)
for sets in "CapInh CapPrm CapEff CapAmb".split():
    check("branch: %s is empty" % sets, set(two["status " + sets]) == {"0"}, two["status " + sets])
for kind in ("user", "mnt"):
    check("branch: a %s namespace of its own" % kind, namespace(trunk, kind) != namespace(branch[0], kind))
for kind in ("pid", "net", "ipc", "uts", "cgroup"):
    check("branch: no %s namespace but the jail's" % kind, namespace(trunk, kind) == namespace(branch[0], kind))
check("branch: no pipe or socket is shared", not ends(trunk) & ends(branch[0]))
check("branch: no memory is shared, none is writable code", not two["shared memory"] and not two["writable code"])
compare("trunk", looks["a"][1], one, {"user limits": ("each branch takes a user namespace", lambda cold, warm: cold.split()[1:] == warm.split()[1:])})

cold.terminate()
cold.wait()
check("the service ends", service.stop() == 0)
done()
