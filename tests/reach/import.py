"""Zygotes that import a package which takes all that it can get, and one that reads nothing: each is ended, with an error that says at what,
and nothing of it is left. Where there is a cgroup ($AGENTJAIL_TEST_CGROUP) the zygote has a leaf of its own; elsewhere it has limits of its own."""

import os

from client import BUILD, FOLDER, Sessions, check, done, until
from procfs import below, status

TREES = os.path.dirname(FOLDER)  # of import.sh
READY_MS = 200 * int(os.environ.get("PATIENCE", 20))  # a machine under emulation takes longer
MODES = {
    "dies": "os.kill(os.getpid(), 9)",
    "waits": "time.sleep(1000)",
    "allocates": "hold = []\nwhile True:\n    try:\n        hold.append(bytearray(16 << 20))\n    except MemoryError:\n        time.sleep(0.1)",
    # By the call itself: the filter lets a zygote make no child as libc does.
    "forks": "import raw, struct\nargs = struct.pack('<8Q', 0, 0, 0, 0, 17, 0, 0, 0)\nwhile True:\n    pid = raw.call(435, id(args) + 32, len(args))\n"
             "    time.sleep(0.05 if pid else 0)",
}


LONG_ENV = ["V%d=%s" % (n, 1240 * "x") for n in range(200)]  # a policy may have 256 KiB
# Of the error, where there is a cgroup.
LEAF_SAYS = {"allocates": "memory.max", "forks": "pids.max"} if os.environ.get("AGENTJAIL_TEST_CGROUP") else {}


def policy(name, imports, env=()):
    texts = [", ".join('"%s"' % text for text in texts) for texts in (imports, env)]
    with open("%s/%s.toml" % (FOLDER, name), "w") as f:
        f.write('extends = "snippet"\nlimits.pids = 1\n[python]\nlayer = false\nimports = [%s]\n[process]\nenv = [%s]\n' % tuple(texts))
    return f.name


def tree(name):
    """The folder of its modules; jails of services that start from here on have it."""
    os.environ["AGENTJAIL_ROOTFS"] = TREES + "/" + name
    return [root for root, _, files in os.walk(TREES + "/" + name + "/tree/usr/lib") if "colorsys.pyc" in files or "colorsys.py" in files][0]


def at_once(name, text):
    """A service whose zygotes have READY_MS for their imports, and a jail of it that is asked for."""
    service = Sessions(text, env={"AJ_READY_MS": str(READY_MS)}, program=BUILD + "/warm")
    service.send("open", name)
    return service


def nothing_left(service, what):
    until(lambda: not below(service.pid))
    check("%s: no process is left" % what, not below(service.pid), [(pid, status(pid)) for pid in below(service.pid)])
    service.stop()


def package(mode):
    """A policy that imports the package of this mode."""
    with open("%s/evil_%s.py" % (MODULES, mode), "w") as f:
        f.write("import os, time\n" + MODES[mode] + "\n")
    return policy(mode, ["math", "json", "evil_" + mode])


def judge(mode, service):
    text = service.wait("opened", mode).get("error", "")
    check("zygote-import: %s: there is no jail, and the error names the module" % mode, "imported `evil_%s`" % mode in text, text)
    if mode in LEAF_SAYS:
        check("zygote-import: %s: and the limit of its leaf" % mode, LEAF_SAYS[mode] in text, text)
    nothing_left(service, "zygote-import: %s" % mode)


# --- the plan, which a socket has not enough room for, and packages; all of them wait at the same time ---
tree("deaf")
deaf = at_once("deaf", policy("long", ["math"], LONG_ENV))
MODULES = tree("rootfs")
others = {mode: at_once(mode, package(mode)) for mode in MODES if mode != "allocates"}
deaf.send("stats")
check("zygote-plan: a zygote that does not read its plan keeps nobody else waiting", deaf.wait("done opened")["event"] == "done")
most = 0
while not others["forks"].events:
    others["forks"].read(0.2)
    most = max(most, len(below(others["forks"].pid)))
check("zygote-import: forks: there are many, and no more than its limit", 50 < most <= 64 + 64 * 3 + 2, (most, others["forks"].events))
text = deaf.wait("opened", "deaf").get("error", "")
check("zygote-plan: and is ended, with an error that says so", "does not read its plan" in text, text)
nothing_left(deaf, "zygote-plan")
for mode, service in others.items():
    judge(mode, service)
judge("allocates", at_once("allocates", package("allocates")))  # alone: the machine may have little memory
service = Sessions(policy("long", ["math"], LONG_ENV))
check("zygote-plan: control: one that does gets all of it", service.open("a")["warm"] and service.run("a", "import math\nmath.floor(4.2)").get("value") == 4)
service.stop()

# --- imports that fail ---
service = Sessions(policy("broken", ["math", "broken_part", "broken_ext", "broken_pkg"]), parked=1)
warm = service.open("a")["warm"]
hints = [service.run("a", "import " + name)["error"].get("hint", "") for name in ("broken_ext", "broken_pkg", "broken_part")]
check("zygote-import: the snippet's error says why the zygote's import of it failed",
      warm and "`broken_ext` before the walls stood failed: ImportError" in hints[0] and hints[1].endswith("SystemExit: no vector unit") and not hints[2], hints)
service.open("b")
told = [line for line in service.said().splitlines() if "before the walls" in line]
check("zygote-import: and the log tells the first one, once", len(told) == 1 and "broken: zygote: importing `broken_ext`" in told[0], told)
service.stop()

# --- what `enforced` says ---
service = Sessions(policy("plain", ["math"]))
service.open("a")
says = service.run("a", "1")["enforced"]["zygote"]
check("zygote-import: `enforced` says what bounds a zygote",
      ("memory.max 768 MiB; pids.max 64" if LEAF_SAYS else "RLIMIT_AS 768 MiB") in says, says)
service.stop()
done()
