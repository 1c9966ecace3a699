"""What one jail of a zygote leaves for the next, or shows to one beside it: nothing. And what tenants have in common: less than that.
The layer is off here, so that the code may look wherever the kernel lets it; each search is shown to find what is there."""

import os

from client import FOLDER, Sessions, check, done
from procfs import children

POLICY = FOLDER + "/off.toml"
with open(POLICY, "w") as f:
    f.write('extends = "snippet"\n[python]\nlayer = false\n')

DRAWS = """
import random, uuid, tempfile, secrets, os, sys
try:
    import numpy.random
    numpy_ = [str(numpy.random.random()), str(numpy.random.default_rng().random())]
except ImportError:
    numpy_ = []
[str(random.random()), str(random.getrandbits(64)), str(random.Random().random()), str(random.SystemRandom().random()), uuid.uuid1().hex,
 uuid.uuid4().hex, tempfile.mktemp(), secrets.token_hex(8), os.urandom(8).hex(), random.choice(range(10**12)).__str__()] + numpy_
"""
SHARED = "import sys\n[str(hash('agent')), str(id(sys.modules)), str(id(object()))]"
MARK = """
import builtins, sys, math, os, decimal, warnings, json, gc, collections, time, signal
secret = {0!r} + 'Q' * 3
builtins.planted = secret
builtins.len = lambda x: 42
sys.modules['planted'] = math
math.pi = 3
json.dumps = None
collections.planted = secret
os.environ['PLANTED'] = secret
os.environb[b'PLANTED2'] = secret.encode()
sys.setrecursionlimit(333)
sys.path.append(secret)
sys.argv = [secret]
decimal.getcontext().prec = 3
warnings.simplefilter('error')
sys.setswitchinterval(0.1)
class Planted: pass
keep = [Planted() for i in range(10)]
for folder in [f for f in ('/tmp/', '/dev/shm/') if os.path.isdir(f)]:
    with open(folder + 'planted', 'w') as f:
        f.write(secret)
opened = [os.open(folder + 'planted', 0) for i in range(10)]
blob = [bytearray(secret * 1000, 'ascii') for i in range(20)]
sys.stdout.write(secret + '\\n' + secret)
sys.stderr.write(secret)
"""
LOOK = """
import builtins, sys, math, os, decimal, warnings, json, gc, collections
def tree(place):
    return sorted(os.path.join(a, n) for a, d, f in os.walk(place) for n in d + f)
[hasattr(builtins, 'planted'), len([1]), 'planted' in sys.modules, math.pi, json.dumps is None, hasattr(collections, 'planted'),
 sorted(os.environ.items()), os.getcwd(), sys.getrecursionlimit(), sys.path, getattr(sys, 'argv', None),
 decimal.getcontext().prec, str(warnings.filters), sys.getswitchinterval(), [type(o).__name__ for o in gc.get_objects() if type(o).__name__ == 'Planted'],
 tree('/tmp'), tree('/dev/shm'), sorted(int(n) for n in range(300) if not fails(n)), sorted(sys.modules), sorted(dir(builtins)), sorted(globals()),
 [str(t) for t in sys._current_frames()].__len__(), sys.gettrace(), sys.getprofile(), sys.excepthook is sys.__excepthook__]
"""
LOOK = "import os\ndef fails(n):\n    try:\n        os.fstat(n)\n    except OSError:\n        return True\n" + LOOK


def holds(pid, needles):
    """Which of these bytes are anywhere in what the process maps."""
    found = set()
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            start, end = (int(x, 16) for x in span.split("-"))
            if "r" not in rights or "[v" in line:
                continue
            tail = b""
            for at in range(start, end, 1 << 22):
                memory.seek(at)
                try:
                    data = tail + memory.read(min(1 << 22, end - at))
                except OSError:
                    break
                found |= {n for n in needles if n in data}
                tail = data[-100:]
    return found


def guest(service, before):
    new = [pid for pid in service.inits() if pid not in before]
    return children(new[0])[0]


def value(result):
    if result.get("status") != "ok":
        raise RuntimeError("%.2000s" % result)
    return result["value"]


service = Sessions(POLICY)

# --- random streams ---
draws, shared = [], {}
for tenant in ("one", "two"):
    for n in range(8):
        name = tenant + str(n)
        service.open(name, tenant=tenant)
        draws += value(service.run(name, DRAWS))
        shared.setdefault(tenant, []).append(value(service.run(name, SHARED)))
        service.close(name)
check("%d draws of 16 jails are all different" % len(draws), len(draws) >= 160 and len(set(draws)) == len(draws),
      sorted(d for d in draws if draws.count(d) > 1))
check("jails of one tenant share the seed of hash() (as documented)", all(s[0] == shared["one"][0][0] for s in shared["one"]), shared)
check("two tenants do not", shared["one"][0][0] != shared["two"][0][0], shared)
check("memory layouts of tenants differ", shared["one"][0][1] != shared["two"][0][1], shared)

# --- what a jail changes is its own ---
half = "aj-planted-%s-" % os.urandom(8).hex()
secret = half + "QQQ"  # whole only in the memory of who puts it together
service.open("clean", tenant="one")
clean = value(service.run("clean", LOOK))
before = service.inits()
service.open("a", tenant="one")
jail_a = guest(service, before)
marked = service.run("a", MARK.format(half))
check("the jail could plant it all", marked["status"] == "ok", marked)
check("control: the tenant that planted it sees it", value(service.run("a", "builtins.planted"))[-10:] == secret[-10:])
seen = value(service.run("a", LOOK.replace("len([1])", "1")))
check("control: and finds the rest of it", sum(x != y for x, y in zip(seen, clean)) >= 18, [x == y for x, y in zip(seen, clean)])
before = service.inits()
service.open("b", tenant="one")  # beside it
jail_b = guest(service, before)
result = service.run("b", LOOK)
check("a jail beside it sees nothing of that", value(result) == clean, [(x, y) for x, y in zip(value(result), clean) if x != y])
check("nor any output", result["stdout"] == result["stderr"] == "", result)
request = b"builtins.planted = secret"
needles = [secret.encode(), half.encode(), request, os.environ["AJ_CANARY_SECRET"].encode()]
check("control: the memory of who planted it has it", holds(jail_a, needles) == set(needles[:3]), holds(jail_a, needles))
check("the memory of a jail beside it has not, nor the caller's environment", not holds(jail_b, needles), holds(jail_b, needles))
for zygote in service.zygotes():
    try:
        found = holds(zygote, needles)
    except PermissionError:
        found = os.getuid() == 0  # to an ordinary user it is closed
    check("nor has a zygote", not found, found)
before = service.inits()
service.open("other", tenant="two")
check("nor another tenant's", not holds(guest(service, before), needles))
check("nor sees that tenant anything of it", value(service.run("other", LOOK))[:6] == clean[:6])
service.close("a")
before = service.inits()
service.open("c", tenant="one")  # after it
check("nor does one that comes after it", value(service.run("c", LOOK)) == clean)
check("nor its memory", not holds(guest(service, before), needles))

# --- output and answers of many at once, each its own ---
names = ["many%d" % n for n in range(12)]
for n, name in enumerate(names):
    service.open(name, tenant="one" if n % 2 else "two")
for turn in range(5):
    for name in names:
        service.start(name, "import sys\nfor i in range(300): print(%r * 20)\nsys.stderr.write(%r)\n%r" % (name + ".", name, name + str(turn)))
    for name in names:
        result = service.result(name)
        if not (result["stdout"] == (name + ".") * 20 * 1 + "\n" + result["stdout"][20 * len(name + ".") + 1:]
                and set(result["stdout"].replace("\n", "").split(".")) == {name, ""} and result["stderr"] == name
                and result["value"] == name + str(turn)):
            check("each has its own output and its own answer", False, result)
check("%d jails had their own output and answers" % len(names), True)

# --- signals and names of others ---
value(service.run("b", "import os\nos.getpid()"))
for call in ("os.kill(%d, 9)" % jail_b, "os.kill(1, 9)", "os.kill(-1, 15)", "os.killpg(1, 9)", "os.kill(%d, 9)" % service.zygotes()[0],
             "os.kill(%d, 9)" % service.pid):
    result = service.run("c", "import os\ntry:\n    %s\nexcept OSError as e:\n    pass\n7" % call)
    check("%s ends nobody" % call.split("%")[0], result.get("value") == 7 and value(service.run("b", "5")) == 5, result)
service.stop()
done()
