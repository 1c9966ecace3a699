"""The zygote: nothing of its trial runs can be seen in a jail, jails differ where they must, and a parked one is small.
It refuses to compare with anything but a process of the same Python that ran no trials.
"""

import json
import os
import subprocess
import sys

from guest import Guest
from harness import framed, request, run

MODULES = "json random uuid tempfile asyncio math re dataclasses typing functools string collections datetime no_such_module"
NAMES = "\n".join(MODULES.split()).encode()

# Runs in a fresh interpreter; WARM is True or False. The output must be the same.
STATE = """
import sys
sys.path.insert(0, FOLDER)
before = dict(sys.modules)
from agentjail.runtime import main, session, signals
def same():
    import builtins, gc, os, linecache, warnings, signal, threading, functools, typing, contextlib, copy
    import agentjail.rail.patches, agentjail.rail.module_proxy, agentjail.values.json_reader, agentjail.rail.builtin_guards
    layer = agentjail
    g = gc.get_threshold()
    return dict(
        session=main.SESSION is None, main=sys.modules["__main__"].__dict__ is globals(), out=sys.stdout is sys.__stdout__ is session.STDOUT,
        err=sys.stderr is sys.__stderr__ is session.STDERR, import_=builtins.__import__ is layer.OWN["__import__"], builtins=builtins.__dict__ == layer.OWN,
        patched=sorted(layer.rail.patches.patched), patch=layer.rail.module_proxy.patch_loaded_modules is layer.rail.patches.patch_loaded_modules, linecache=len(linecache.cache),
        functools="getattr" in functools.__dict__, typing="compile" in typing.__dict__, contextlib="getattr" in contextlib.__dict__, copy="setattr" in copy.__dict__,
        registry=[m for m in sys.modules.values() if "__warningregistry__" in getattr(m, "__dict__", {})], once=len(warnings.onceregistry), filters=len(warnings.filters),
        last=[n for n in dir(sys) if n.startswith("last_")], threads=threading.active_count(), garbage=gc.garbage, enabled=gc.isenabled(), thresholds=g,
        environ=dict(os.environ), posix=len(os.environ), path=sys.path, limit=sys.getrecursionlimit(), hooks=tuple(sys.get_asyncgen_hooks()), trace=sys.gettrace(),
        argv=sys.argv, meta=len(sys.meta_path), formatter=__import__("string").Formatter.get_field.__name__, memo=layer.values.json_reader.ScannerContext.memo,
        fds=sorted(os.listdir("/proc/self/fd"))[:-1], cwd=os.getcwd(), exc=sys.exc_info(), switch=sys.getswitchinterval(),
        starters=[o for o in gc.get_objects() if type(o) is session.Session], spaces=[o for o in gc.get_objects() if type(o) is dict and o.get("__name__") == "__main__" and o is not globals()],
        intern=sys.flags, unraisable=sys.unraisablehook is sys.__unraisablehook__, displayhook=sys.displayhook is sys.__displayhook__)
signals.install_handlers()
if WARM:
    from agentjail.runtime import zygote
    zygote.prepare(NAMES)
    for _ in range(3):
        zygote.after_fork(bytes(range(64)))
else:
    for name in NAMES.decode().split():
        try: __import__(name)
        except ImportError: pass
state = same()
if WARM:
    assert session.IMPORT_RECORDER is not None
print({k: v for k, v in state.items()})
"""

# Code that would show traces, in a first snippet: the same claim warm and cold. (imports, code, keys)
CLAIMS = [
    (["sys"], "import sys\nsys.maxsize", {}), ([], "1/0", {}), ([], "x", {}), ([], "y", {}), ([], "f", {}), ([], "v, w", {}), ([], "t", {}), ([], "ToolError", {}),
    (["math"], "import math\nmath.pi", {}), ([], "import os", {}), ([], "x = (", {}), ([], "final_answer((1,))", {}), ([], "print(1)", {}),
    ([], "eval('1+1')", {"builtins": "full"}), ([], "sorted(globals())", {"builtins": "full"}), (["json.*"], "import json.decoder\nsorted(dir(json))", {}),
    (["functools"], "import functools\n@functools.wraps(len)\ndef f(): pass\nf.__name__", {}), ([], "sorted(globals())", {"layer": False}),
    ([], "import sys\nsys.modules['__main__'].__dict__ is globals(), sys.stdout is sys.__stdout__", {"layer": False}),
    ([], "import functools\nhasattr(functools, 'getattr')", {"layer": False}), ([], "class A: pass\nA.__module__, A.__qualname__", {}),
    (["asyncio"], "import asyncio\nawait asyncio.sleep(0, 5)", {}), (["dataclasses"], "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(1)", {}),
    ([], "def g(n):\n    return 1 / n\ng(0)", {}),
]

RANDOM = [
    ("random", "import random\nrandom.random(), random.getrandbits(200)"), ("uuid1", "import uuid\nstr(uuid.uuid1())"), ("uuid4", "import uuid\nstr(uuid.uuid4())"),
    ("tempfile", "import tempfile\nnext(tempfile._get_candidate_names())"), ("secrets", "import secrets\nsecrets.token_hex()"), ("shuffle", "import random\nx = list(range(99))\nrandom.shuffle(x)\nx"),
    ("urandom", "import os\nos.urandom(16)"), ("ssl", "import ssl\nssl.RAND_bytes(16)"), ("numpy", "import numpy\nnumpy.random.random(3).tolist()"),
    ("numpy-generator", "import numpy\nnumpy.random.default_rng().random(3).tolist()"), ("random-instance", "import random\nrandom.Random().random()"),
]


OTHER = b'{"imports":["csv"],"builtins":"minimal","env":["B=1"]}'
LIKE = b'{"imports":["csv"]}'


def prepared():
    from agentjail.runtime import zygote
    zygote.prepare(NAMES)
    zygote.after_fork(os.urandom(64))


def late_choice():
    """What a jail says to a policy that comes after a snippet."""
    from agentjail.runtime import main
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        main.set_policy(b"{}")
        main.run(framed('{"code":"1"}'))
        try:
            main.choose_layer(b"{}")
        except ValueError as e:
            os.write(write, str(e).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as f:
        return f.read()


def claims_of_jails(requests, count=2, entropy=os.urandom, names=NAMES, policy=None, own=None):
    """What `count` jails of one zygote answer to the requests."""
    return claims_of_each([(own, requests)] * count, entropy, names, policy)


def claims_of_each(jails, entropy=os.urandom, names=NAMES, policy=None):
    """What jails of one zygote answer, each to requests of its own. `policy`: it is settled in the zygote; `own`: then chosen in that jail."""
    sys.stdout.flush()
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            from agentjail.runtime import main, signals, zygote
            signals.install_handlers()
            zygote.prepare(names)
            if policy is not None:
                zygote.set_policy(policy)
            for own, requests in jails:
                jail = os.fork()
                if jail == 0:
                    zygote.after_fork(entropy(64))
                    if own is not None:
                        main.choose_layer(own)
                    os.write(write, json.dumps([json.loads(main.run(r)) for r in requests]).encode() + b"\n")
                    os._exit(0)
                os.waitpid(jail, 0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        out = [json.loads(line) for line in f]
    os.waitpid(pid, 0)
    return out


# A seed is the caller's for one session: a branch, seeded anew, does not apply it to modules that it loads.
SEEDED_BRANCH = """
import sys, os
sys.path.insert(0, FOLDER)
from agentjail.runtime import reseed
def draw():
    sys.modules.pop("random", None)
    import random
    return random.random()
reseed.seed_by_choice(0)
print(draw(), draw())
reseed.reseed(os.urandom(64))
print(draw())
"""
# Runs in an interpreter that holds nothing but what a zygote holds. Jails made as the runner makes them, by a bare clone, all with
# the process id 1: nothing then tells libraries that they are copies. Without after_fork they must agree, else the test shows nothing.
SAME_PID = """
import sys, os, ctypes
sys.path.insert(0, FOLDER)
from agentjail.runtime import main, zygote
libc, api = ctypes.CDLL(None, use_errno=True), ctypes.PyDLL(None)
def clone(flags):
    api.PyOS_BeforeFork()
    pid = libc.syscall(56, flags | 17, 0, 0, 0, 0)
    (api.PyOS_AfterFork_Parent if pid else api.PyOS_AfterFork_Child)()
    if pid < 0:
        sys.exit("clone: " + os.strerror(ctypes.get_errno()))
    return pid
if clone(0x20000000 | (0x10000000 if os.geteuid() else 0)) == 0:
    zygote.prepare(b"ssl\\nrandom\\ntempfile")
    import random, tempfile, ssl
    next(tempfile._get_candidate_names())
    for seeded in (0, 0, 1, 1):
        if clone(0x20000000) == 0:
            if seeded:
                zygote.after_fork(os.urandom(64))
            print(os.getpid(), ssl.RAND_bytes(8).hex(), next(tempfile._get_candidate_names()), flush=True)
            os._exit(0)
        os.wait()
    os._exit(0)
os.wait()
"""

SIZE = """
import sys, os, time
sys.path.insert(0, FOLDER)
from agentjail.runtime import main, signals, zygote
signals.install_handlers()
zygote.prepare(NAMES)
def private():
    fd = os.open("/proc/self/smaps_rollup", os.O_RDONLY)
    text = os.read(fd, 4096)
    os.close(fd)
    at = text.index(b"Private_Dirty:")
    return int(text[at + 14:at + 30].split()[0])
private()
for _ in range(9):
    if os.fork() == 0:
        began = time.perf_counter()
        zygote.after_fork(b"x" * 64)
        took = time.perf_counter() - began
        parked = private()
        began = time.perf_counter()
        claim = main.run(bytes(20) + b'{"code":"2 + 2","imports":["math"]}')
        first = time.perf_counter() - began
        print(int(took * 1e6), parked, int(first * 1e6), private(), claim.count(b'"value":4,'), flush=True)
        os._exit(0)
    os.wait()
"""


def alone(script, **names):
    text = "".join("%s = %r\n" % pair for pair in dict(names, FOLDER=sys.path[0]).items()) + script
    return subprocess.run([sys.executable, "-I", "-S", "-B", "-c", text], capture_output=True, timeout=60, text=True)


def test(score):
    if score.wants("warm/state"):
        out = []
        for warm in (True, False):
            done = alone(STATE, WARM=warm, NAMES=NAMES)
            out.append(done.stdout or done.stderr)
        score.check("warm/state", out[0] == out[1] and "session" in out[0], "\n".join(differences(out)))
    claims_are_alike(score)
    if score.wants("warm/settled"):
        policy = json.dumps({"imports": "math ", "env": ["A=é"], "limits": {"repr_bytes": 8}}).encode()
        (claims,) = claims_of_jails([request(None, inputs={"s": "x" * 99}, imports=["math"], env=["A=é"], limits={"repr_bytes": 8}), framed('{"code":"s"}'),
                            request("1", imports=[]), framed('{"code":"import json"}'), framed('{"code":"import math\\n1"}')], 1, policy=policy)
        score.check("warm/settled", [c["status"] for c in claims] == ["ok", "ok", "error", "rejected", "ok"] and len(claims[1]["repr"]) == 8
                    and "cannot change" in claims[2]["error"]["message"], claims)
        env = claims_of_jails([framed('{"code":"import os\\nos.environ[\'A\'], os.getenv(\'A\')"}')], 1, policy=b'{"layer":false,"env":["A=1"]}')
        score.check("warm/settled-env", env[0][0]["repr"] == "('1', '1')", env)
    if score.wants("warm/chosen"):
        (claims,) = claims_of_jails([framed('{"code":"x = 1"}'), framed('{"code":"import json\\nx"}'), framed('{"code":"import csv"}')], 1, policy=OTHER, own=b'{"imports":["json"]}')
        score.check("warm/chosen", [c["status"] for c in claims] == ["ok", "ok", "rejected"] and claims[2]["error"]["allowed"] == ["json"], claims)
        (claims,) = claims_of_jails([framed('{"code":"import json\\nhex(10)"}'), framed('{"code":"import csv"}')], 1, policy=LIKE, own=b'{"imports":["json"]}')
        score.check("warm/chosen-imports", [c["status"] for c in claims] == ["ok", "rejected"] and claims[1]["error"]["allowed"] == ["json"], claims)
        (claims,) = claims_of_jails([framed('{"code":"import os"}')], 1, policy=b'{"layer":false}', own=b'{"imports":["json"]}')
        score.check("warm/chosen-layer-on", claims[0]["status"] == "rejected", claims)
        (claims,) = claims_of_jails([framed('{"code":"import textwrap, functools\\nhasattr(functools, \'getattr\')"}')], 1, policy=OTHER, own=b'{"layer":false}')
        score.check("warm/chosen-layer-off", claims[0]["value"] is False and claims[0]["imports"] == ["functools", "textwrap"], claims)
        score.check("warm/chosen-late", late_choice() == "the policy of a session cannot change", late_choice())
    held(score)
    hooks(score)
    recorded(score)
    randomness(score)
    sessions(score)
    size(score)


def claims_are_alike(score):
    """Cold; of a zygote without a policy; of one with the snippet's; of one with another, in which the request chose its own."""
    cases = [case for case in CLAIMS if score.wants("warm/claim " + case[1][-30:])]
    found, zygotes = {}, {}     # a zygote is most of what a jail takes here, so one serves all cases that can have it
    for at, (imports, code, keys) in enumerate(cases):
        policy, bare = json.dumps(dict(keys, imports=imports)).encode(), framed(json.dumps({"code": code}))
        for word, zygote, own, asked in (("claim", None, None, request(code, imports=imports, **keys)), ("settled", policy, None, bare),
                                         ("chosen", LIKE if len(code) % 2 else OTHER, policy, bare)):
            zygotes.setdefault(zygote, []).append(((at, word), (own, [asked])))
    for zygote, jails in zygotes.items():
        for (of, _), claims in zip(jails, claims_of_each([jail for _, jail in jails], policy=zygote), strict=True):
            found[of] = claims
    for at, (imports, code, keys) in enumerate(cases):
        (cold,), _ = run(request(code, imports=imports, **keys))
        (claim,), (settled,), (chosen,) = (found[at, word] for word in ("claim", "settled", "chosen"))
        if keys.get("layer") is False:
            # Cold they are what is new in sys.modules.
            del cold["imports"], claim["imports"], settled["imports"], chosen["imports"]
        score.check("warm/claim " + code[-30:], claim == settled == chosen == cold, (claim, settled, chosen, cold))


def differences(texts):
    pairs = [t.split(", '") for t in texts]
    return [a + " | " + b for a, b in zip(*pairs) if a != b][:10] or texts


HOOKED = """
import sys
sys.path.insert(0, FOLDER)
from agentjail.runtime import zygote
zygote.prepare(b"random\\nlogging\\nthreading")
import logging, os, random, threading
def drawn():
    out = set()
    for _ in range(4):
        pid = os.fork()
        if not pid:
            os._exit(random.getrandbits(8))
        out.add(os.waitpid(pid, 0)[1])
    return len(out)
asleep = drawn()
pid = os.fork()
if pid:
    sys.exit(os.waitpid(pid, 0)[1])
zygote.after_fork(bytes(range(64)))
logging.warning("no lock is held")
print(asleep, drawn() > 1, threading.main_thread().native_id == threading.get_native_id(), threading.active_count(), os.register_at_fork.__module__)
"""


# The same with what a zygote found ahead of time in the modules that open files, and without that.
HELD = """
import sys
sys.path.insert(0, FOLDER)
from agentjail.files import file_modules
from agentjail.rail import patches
from agentjail.runtime import main, zygote
zygote.prepare(b"argparse\\ncodecs\\nconfigparser\\ngettext\\nglob\\ngzip\\nlogging\\nlogging.handlers\\npathlib\\nshutil\\ntarfile\\ntempfile\\ntokenize\\nwave\\nzipfile")
zygote.set_policy(b'{"imports":["*"]}')
found = len(file_modules.FOUND)
if not AHEAD:
    file_modules.FOUND.clear()
guards = main.SESSION.guards
patches.patch_loaded_modules(guards)
held, places = {id(value) for value in guards.confined_files().in_place_of.values()}, []
for name in patches.FILE_MODULES:
    for key, value in vars(sys.modules[name]).items() if name in sys.modules else ():
        if id(value) in held:
            places.append((name, key))
        elif isinstance(value, type):
            places += [(name, key, inner) for inner, f in vars(value).items() if id(getattr(f, "__func__", f)) in held]
print(found > 9, len(places) > 30, ("zipfile", "io") in places, sorted(places))
"""


def held(score):
    """What a zygote finds ahead of time is what a jail would find."""
    if score.wants("warm/held"):
        out = [alone(HELD, AHEAD=ahead) for ahead in (True, False)]
        score.check("warm/held", out[0].stdout == out[1].stdout and out[0].stdout.startswith("True True True"), [o.stdout + o.stderr for o in out])


def hooks(score):
    """What modules do after a fork rests when a jail is born, is done for it, and is done as ever in its own copies."""
    if score.wants("warm/hooks"):
        done = alone(HOOKED)
        score.check("warm/hooks", done.stdout == "1 True True 1 posix\n", (done.stdout, done.stderr))


def recorded(score):
    def case(name, code, want, layer=False):
        name = "warm/imports-" + name
        if score.wants(name):
            (claims,) = claims_of_jails([request(c, layer=layer, imports=["json", "math", "os.*"]) for c in code], 1)
            score.check(name, [c["imports"] for c in claims] == want, claims)
    case("plain", ["import json\njson.dumps(1)", "1", "import math, json"], [["json"], [], ["json", "math"]])
    case("from", ["from os.path import join\nimport re as r"], [["os", "re"]])
    case("not-run", ["if 0: import json\n1"], [[]])
    case("in-function", ["def f(): import math\nf()"], [["math"]])
    case("of-libraries", ["import uuid\nuuid.uuid4()"], [["uuid"]])
    case("failed", ["try: import no_such_thing\nexcept ImportError: pass"], [[]])
    case("new", ["import textwrap"], [["textwrap"]])
    case("guarded", ["import json\nfrom os import path", "1"], [["json", "os", "os.path"], []], True)


def randomness(score):
    for name, code in RANDOM:
        name = "warm/random-" + name
        if not score.wants(name):
            continue
        module = code.split("\n")[0].split()[1]
        try:
            __import__(module)
        except ImportError:
            score.skip(name, "%s is not installed" % module)
            continue
        names = NAMES + b"\nssl" * (module == "ssl") + b"\nnumpy" * (module == "numpy")
        out = claims_of_jails([request(code, layer=False)], 3, names=names)
        values = [json.dumps(o[0]["value"]) for o in out]
        score.check(name, len(set(values)) == 3 and "null" not in values, out)
    if score.wants("warm/entropy"):
        # The same entropy gives the same numbers: so it is what they depend on.
        code = request("import random\nrandom.random()", layer=False)
        same = [o[0]["value"] for o in claims_of_jails([code], 2, lambda n: b"e" * n)]
        other = claims_of_jails([code], 1, lambda n: b"f" * n)[0][0]["value"]
        score.check("warm/entropy", same[0] == same[1] != other, (same, other))
    if score.wants("warm/seed"):
        code = request("import random\nrandom.random()", layer=False, seed=0)
        values = [o[0]["value"] for o in claims_of_jails([code], 2)]
        score.check("warm/seed", values == [0.8444218515250481] * 2, values)
    if score.wants("warm/seed-numpy"):
        try:
            import numpy  # noqa: F401
        except ImportError:
            score.skip("warm/seed-numpy", "numpy is not installed")
        else:
            code = request("import numpy\nnumpy.random.rand(3).tolist()", layer=False, seed=0)
            for names in (NAMES, NAMES + b"\nnumpy"):  # loaded by the code, and before
                out = claims_of_jails([code], 2, names=names)
                score.check("warm/seed-numpy", out[0][0]["value"] == out[1][0]["value"] != None, out)
    if score.wants("warm/seed-branch"):
        out = alone(SEEDED_BRANCH).stdout.split()
        score.check("warm/seed-branch", len(out) == 3 and out[0] == out[1] != out[2], out)
    if score.wants("warm/same-pid"):
        done = alone(SAME_PID)
        out = [line.split() for line in done.stdout.splitlines()]
        if "clone: " in done.stderr or "No module named" in done.stderr:
            score.skip("warm/same-pid", done.stderr.strip().rpartition("\n")[2])
        else:
            score.check("warm/same-pid", [o[0] for o in out] == ["1"] * 4 and out[0] == out[1] and all(len({o[i] for o in out[1:]}) == 3 for i in (1, 2)),
                        (out, done.stderr))


def sessions(score):
    """A prepared process serves sessions, tools and signals as a cold one does."""
    if score.wants("warm/session"):
        import signal
        tool = {"name": "t", "parameters": {"properties": {"x": {}}, "required": ["x"]}}
        with Guest(setup=prepared, imports=["asyncio", "json"]) as guest:
            claims = [guest.run("n = 1", tools=[tool]), guest.run("t(n + 1)['x']"), guest.run("while True: n += 1", after=[(0.05, signal.SIGINT)]),
                      guest.run("n > 1"), guest.run("import json\njson.dumps(1)"), guest.run("import asyncio\nawait asyncio.sleep(0)\n3")]
            score.check("warm/session", [c["value"] for c in claims] == [None, 2, None, True, "1", 3]
                        and claims[2]["error"]["type"] == "KeyboardInterrupt" and claims[4]["imports"] == ["json"], claims)
    if score.wants("warm/not-loaded"):
        # After the fork nothing of the layer is loaded from files.
        with Guest(setup=prepared, layer=False) as guest:
            before = guest.run("import sys\nold = set(sys.modules)")
            for code in ("1/0", "import os", "final_answer(b'x')", "x = (", "'{0.x}'.format(1)", "{1: 2j}", "raise SystemExit"):
                guest.run(code)
            claim = guest.run("sorted(set(sys.modules) - old)")
            score.check("warm/not-loaded", before["status"] == "ok" and claim["value"] == [], claim)


def size(score):
    if score.wants("warm/size"):
        done = alone(SIZE, NAMES=NAMES)
        rows = sorted([int(n) for n in line.split()] for line in done.stdout.splitlines())
        ok = len(rows) == 9 and all(r[4] == 1 and r[1] < 3072 and r[3] < 3328 for r in rows)
        if ok:
            print("warm: after_fork %d us, %d KiB private when parked; first snippet %d us, %d KiB then" % tuple(rows[4][:4]))
        score.check("warm/size", ok, (rows, done.stderr))
