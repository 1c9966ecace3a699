"""A zygote has a folder of cgroups with its jails: its own leaf has the limits of what it imports and grows with them, theirs have the policy's.
The service starts alone in a delegated cgroup, so its zygotes' folders are there, beside the leaf that it moves to."""

import os
import signal
import subprocess
import sys

from client import AJ, Sessions, check, done
from procfs import children, read
from until import until

PLACE = sys.argv[3]
MIB = 1 << 20
JAILS = 20  # more than a zygote's leaf has room for from the beginning


def leaf(pid):
    return "/sys/fs/cgroup" + [line[3:] for line in read("/proc/%d/cgroup" % pid).splitlines() if line.startswith("0::")][0]


def limit(path, name):
    return int(read("%s/%s" % (path, name)))


def folders():
    """Without the leaves that supervisors moved to, which the next start sweeps."""
    return [name for name in os.listdir(PLACE) if name.startswith("agentjail-") and not name.endswith("-supervisor")]


service = Sessions(preexec_fn=lambda: open(PLACE + "/cgroup.procs", "w").write("0"))
check("the first jail is from a zygote", service.open("0")["warm"])
zygote, holder, own = service.zygotes()[0], service.holders()[0], leaf(service.zygotes()[0])
folder = os.path.dirname(own)
first = limit(own, "memory.max"), limit(own, "pids.max")
check("a zygote's leaf is in a folder of its own", os.path.dirname(folder) == PLACE, own)
check("which has the limits of what it imports, and room for some jails", first == (768 * MIB + 16 * 8 * MIB, 64 + 16 * 4), first)
check("all of it ends together when memory is short", limit(own, "memory.oom.group") == 1)
for n in range(1, JAILS):
    service.open(str(n))
check("all jails answer", all(service.run(str(n), "%d" % n).get("value") == n for n in range(JAILS)))
inits = service.inits()
guests = [guest for init in inits for guest in children(init)]
check("holder and inits are in the zygote's leaf", {leaf(pid) for pid in [holder] + inits} == {own}, [leaf(pid) for pid in inits])
check("guests have leaves of their own, in that folder", len(guests) == len({leaf(g) for g in guests}) == JAILS and
      {os.path.dirname(leaf(g)) for g in guests} == {folder} and own not in {leaf(g) for g in guests}, [leaf(g) for g in guests])
check("and the policy's limits", {(limit(leaf(g), "memory.max"), limit(leaf(g), "pids.max")) for g in guests} == {(512 * MIB, 32)})
grown = limit(own, "memory.max"), limit(own, "pids.max")
check("the zygote's leaf has grown with its jails", grown[0] >= first[0] + 4 * 8 * MIB and grown[1] >= first[1] + 4 * 4, grown)
for n in range(2, JAILS):
    service.close(str(n))
os.kill(zygote, signal.SIGKILL)
check("jails outlive their zygote", service.run("0", "40 + 2").get("value") == 42)
service.open("again")
check("the next zygote has a folder of its own", len(folders()) == 2 and leaf(service.zygotes()[0]) != own, folders())
for name in ("0", "1"):
    service.close(name)
check("a folder goes with its last jail", until(lambda: len(folders()) == 1), folders())
service.process.kill()
service.process.wait()
check("with the supervisor killed, nobody is left in any", until(lambda: not [f for root, _, files in os.walk(PLACE) for f in files
                                                                        if f == "cgroup.procs" and read(root + "/" + f)]))
left = folders()
ran = subprocess.run([AJ, "exec", "--cgroup", PLACE, "-c", "1"], capture_output=True, text=True)
check("and the next start there sweeps folder and leaves", len(left) == 1 and ran.returncode == 0 and not folders(), (left, folders(), ran.stderr))
done()
