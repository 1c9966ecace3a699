"""Zygotes that import a package which takes all that it can get, and one that reads nothing: each is ended, with an error that says at what,
and nothing of it is left. Where there is a cgroup ($AGENTJAIL_TEST_CGROUP) the zygote has a leaf of its own; elsewhere it has limits of its own."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from sessions import House, check, done, stat, status  # noqa: E402

FOLDER = sys.argv[3]
READY_MS = 200 * int(os.environ.get("PATIENCE", 20))  # a machine under emulation takes longer
SECONDS = READY_MS / 1000 + 60
MODES = {
    "dies": "os.kill(os.getpid(), 9)",
    "waits": "time.sleep(1000)",
    "allocates": "hold = []\nwhile True:\n    try:\n        hold.append(bytearray(16 << 20))\n    except MemoryError:\n        time.sleep(0.1)",
    # By the call itself: the filter lets a zygote make no child as libc does.
    "forks": "import raw, struct\nargs = struct.pack('<8Q', 0, 0, 0, 0, 17, 0, 0, 0)\nwhile True:\n    pid = raw.call(435, id(args) + 32, len(args))\n"
             "    time.sleep(0.05 if pid else 0)",
}


LONG = ["V%d=%s" % (n, 1240 * "x") for n in range(200)]  # a policy may have 256 KiB
# Of the error, where there is a cgroup.
LEAF_SAYS = {"allocates": "memory.max", "forks": "pids.max"} if os.environ.get("AGENTJAIL_TEST_CGROUP") else {}


def policy(name, imports, env=()):
    texts = [", ".join('"%s"' % text for text in texts) for texts in (imports, env)]
    with open("%s/%s.toml" % (FOLDER, name), "w") as f:
        f.write('extends = "snippet"\nlimits.pids = 1\n[python]\nlayer = false\nimports = [%s]\n[process]\nenv = [%s]\n' % tuple(texts))
    return f.name


def tree(name):
    """The folder of its modules; jails of houses that are made from here on have it."""
    os.environ["AGENTJAIL_ROOTFS"] = FOLDER + "/" + name
    return [root for root, _, files in os.walk(FOLDER + "/" + name + "/tree/usr/lib") if "colorsys.pyc" in files or "colorsys.py" in files][0]


def strays(house):
    """All processes below the driver: what it is the parent of, and what their namespaces hold; the kernel ends those with the first in them."""
    of, found, todo = {}, [], [house.pid]
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        fields = stat(pid)
        if fields and fields[0] not in "ZX":
            of.setdefault(int(fields[1]), []).append(pid)
    while todo:
        new = of.get(todo.pop(), [])
        found, todo = found + new, todo + new
    return found


def nothing_left(house, what):
    until = time.monotonic() + 10
    while strays(house) and time.monotonic() < until:
        time.sleep(0.1)
    check("%s: no process is left" % what, not strays(house), [(pid, status(pid)) for pid in strays(house)])


# --- the plan, which a socket has not enough room for ---
tree("deaf")
house = House(policy("long", ["math"], LONG), ready_ms=READY_MS)
house.tell("open", "deaf")
time.sleep(0.5)
house.tell("stats")
try:
    answered = house.wait("stats", timeout=READY_MS / 1000 - 1)
except TimeoutError as e:
    answered = None
check("zygote-plan: a zygote that does not read its plan keeps nobody else waiting", answered)
if not answered:
    house.process.kill()
    done()
event = house.wait("opened error", "deaf", SECONDS)
check("zygote-plan: and is ended, with an error that says so", "does not read its plan" in str(event), event)
nothing_left(house, "zygote-plan")
house.end()
tree("rootfs")
house = House(policy("long", ["math"], LONG))
check("zygote-plan: control: one that does gets all of it", house.open("a")["warm"] and house.run("a", "import math\nmath.floor(4.2)").get("value") == 4)
house.end()

# --- a package ---
PACKAGE = tree("rootfs") + "/evil.py"
for mode, code in MODES.items():
    with open(PACKAGE, "w") as f:
        f.write("import os, time\n" + code + "\n")
    house = House(policy("evil", ["math", "json", "evil"]), ready_ms=READY_MS)
    house.tell("open", mode)
    most = 0
    while mode == "forks" and not [e for e in house.events if e["event"] != "log"]:
        house.read(0.2)
        most = max(most, len(strays(house)))
    event = house.wait("opened error", mode, SECONDS)
    if mode == "forks":
        check("zygote-import: forks: there are many, and no more than its limit", 50 < most <= 64 + 64 * 3 + 2, (most, event))
    text = event.get("error") or event.get("text") or ""
    check("zygote-import: %s: there is no jail, and the error names the module" % mode, "imported `evil`" in text, event)
    if mode in LEAF_SAYS:
        check("zygote-import: %s: and the limit of its leaf" % mode, LEAF_SAYS[mode] in text, text)
    nothing_left(house, "zygote-import: %s" % mode)
    house.end()
os.unlink(PACKAGE)

# --- what `enforced` says ---
house = House(policy("plain", ["math"]))
house.open("a")
says = house.run("a", "1")["enforced"]["zygote"]
check("zygote-import: `enforced` says what bounds a zygote",
      ("memory.max 768 MiB; pids.max 64" if LEAF_SAYS else "RLIMIT_AS 768 MiB") in says, says)
house.end()
done()
