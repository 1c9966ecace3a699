"""Sessions: what stays and what is new for each snippet, and signals, which may stop code but never the session.
It refuses a race it did not run: where an instant matters, signals come at thousands of instants.
"""

import os
import signal
import threading
import time

from guest import Died, Guest
from harness import WHOLE, request, run

SOFT, INT = signal.SIGUSR1, signal.SIGINT
STOPPED = {SOFT: "TimeoutError", INT: "KeyboardInterrupt"}

# Code that would not end by itself. (name, imports, code, layer)
STUCK = [
    ("loop", [], "while True: pass", True),
    ("loop-else", [], "x = 0\nwhile True:\n    x += 1", True),
    ("except-exception", [], "while True:\n    try:\n        x = 0\n        while True: x += 1\n    except Exception: pass", True),
    ("sleep", ["time"], "import time\ntime.sleep(600)", True),
    ("lock", ["threading"], "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()", True),
    ("event", ["threading"], "import threading\nthreading.Event().wait()", True),
    ("join", ["threading", "time"], "import threading, time\nt = threading.Thread(target=lambda: time.sleep(600), daemon=True)\nt.start()\nt.join()", True),
    ("queue", ["queue"], "import queue\nqueue.Queue().get()", True),
    ("generator", [], "def g():\n    while True: yield 1\nfor _ in g(): pass", True),
    ("comprehension", ["itertools"], "import itertools\n[0 for _ in itertools.count() if _ < 0]", True),
    ("method", [], "class A:\n    def __eq__(s, o):\n        while True: pass\nA() in [1]", True),
    ("repr", [], "class A:\n    def __repr__(s):\n        while True: pass\nA()", True),
    ("str-of-error", [], "class E(Exception):\n    def __str__(s):\n        while True: pass\nraise E", True),
    ("final-repr", [], "class A:\n    def __repr__(s):\n        while True: pass\nfinal_answer(A())", True),
    ("asyncio-sleep", ["asyncio"], "import asyncio\nasync def f(): await asyncio.sleep(600)\nasyncio.run(f())", True),
    ("asyncio-top", ["asyncio"], "import asyncio\nawait asyncio.sleep(600)", True),
    ("asyncio-task", ["asyncio"], "import asyncio\nasync def f():\n    while True: pass\nt = asyncio.create_task(f())\nawait asyncio.sleep(600)", True),
    ("asyncio-busy", ["asyncio"], "import asyncio\nwhile True: await asyncio.sleep(0)", True),
    ("asyncio-thread", ["asyncio", "time"], "import asyncio, time\nawait asyncio.to_thread(time.sleep, 2)", True),
    ("coroutine", [], "async def f():\n    while True: pass\nawait f()", True),
    ("layer-off-loop", [], "while True: pass", False),
    ("layer-off-sleep", [], "import time\ntime.sleep(600)", False),
    ("layer-off-asyncio", [], "import asyncio\nasyncio.run(asyncio.sleep(600))", False),
    ("layer-off-select", [], "import select\nselect.select([], [], [])", False),
]


def test(score):
    def case(name, requests, ok):
        name = "session/" + name
        if score.wants(name):
            claims, _ = run(*requests)
            score.check(name, ok(claims), claims)
    case("variables-only", [request(None, inputs={"x": {"__type__": "tuple", "data": [1]}}), request("x")],
         lambda c: c[0]["status"] == "ok" and c[0]["value"] is None and c[0]["repr"] == "None" and c[1]["repr"] == "(1,)")
    case("variables-bad", [request("y = 1"), request(None, inputs={"x": {"__type__": "bytes", "data": "a"}}), request("y")],
         lambda c: c[1]["status"] == "error" and c[2]["value"] == 1)
    case("nothing-asked", [request(None), request("1")], lambda c: c[0]["error"]["type"] == "RequestError" and c[1]["value"] == 1)
    # 2026-01-01 in UTC, fixed; and a day later than now.
    fixed, shifted = "=1767225600000000000", "+86400000000000"
    for layer in (True, False):
        word = "/layer-%s" % layer
        keys = {"imports": ["time", "datetime", "asyncio"], "layer": layer}
        case("clock/fixed" + word, [request("import time, datetime as d\nfrom datetime import datetime\n[time.time(), str(datetime.now()), str(datetime.utcnow()), "
                                            "str(d.date.today()), str(datetime.today()), time.gmtime()[:1], time.strftime('%Y'), time.ctime()[-4:], time.asctime()[-4:], "
                                            "datetime.now(d.timezone.utc).isoformat(), time.time_ns() // 10**9, time.clock_gettime(time.CLOCK_REALTIME)]", clock=fixed, **keys)],
             lambda c: c[0]["status"] == "ok" and c[0]["repr"] == repr([
                 1767225600.0, "2026-01-01 00:00:00", "2026-01-01 00:00:00", "2026-01-01", "2026-01-01 00:00:00", (2026,), "2026", "2026", "2026",
                 "2026-01-01T00:00:00+00:00", 1767225600, 1767225600.0]))
        case("clock/what-stays" + word, [request("import time, datetime as d\nclass D(d.datetime): pass\n[type(D.now()).__name__, repr(d.datetime(2026, 1, 1)), "
                                                 "time.gmtime(0)[0], time.strftime('%Y', time.gmtime(0)), time.monotonic() < 10**9, d.datetime.fromtimestamp(0).year]", clock=fixed, **keys)],
             lambda c: c[0]["value"] == ["D", "datetime.datetime(2026, 1, 1, 0, 0)", 1970, "1970", True, 1970])
        case("clock/shifted" + word, [request("import time; time.time()", clock=shifted, **keys)],
             lambda c: 80000 < c[0]["value"] - time.time() < 90000)
        case("clock/none" + word, [request("import time, datetime\n[time.time(), datetime.datetime.now().timestamp()]", **keys)],
             lambda c: all(abs(at - time.time()) < 1000 for at in c[0]["value"]))
        case("sleep" + word, [request("import asyncio, time\nbefore = time.monotonic()\ntime.sleep(30)\nawait asyncio.sleep(30)\ntime.monotonic() - before < 20", sleep_ms=5, **keys)],
             lambda c: c[0]["value"] is True)
        for wrong, kind in (("'x'", "TypeError"), ("-1", "ValueError"), ("", "TypeError")):
            case("sleep/wrong-%s" % kind + word, [request("import time\ntime.sleep(%s)" % wrong, sleep_ms=5, **keys)],
                 lambda c: c[0]["error"]["type"] == kind)  # noqa: B023
    # CPython's own numbers after random.seed(0) and random.seed(1).
    zero, one = [0.8444218515250481, 0.7579544029403025], [0.13436424411240122]
    for layer in (True, False):
        def draw(layer=layer, **keys):
            return request("import random\nrandom.random()", imports=["random", "statistics"], layer=layer, **keys)
        word = "" if layer else "/layer-off"
        case("seed" + word, [draw(seed=0), draw(), draw(seed=1), draw(seed=0)],
             lambda c: [x["value"] for x in c] == zero + one + zero[:1])
        case("seed/before-the-import" + word, [request("1", imports=["random", "statistics"], layer=layer, seed=0), draw()],
             lambda c: c[1]["value"] == zero[0])
        case("seed/imported-by-a-library" + word, [request("import statistics", imports=["random", "statistics"], layer=layer, seed=0), draw()],
             lambda c: c[1]["value"] == zero[0])
        case("seed/none" + word, [draw()], lambda c: c[0]["status"] == "ok" and c[0]["value"] not in zero + one)
        case("seed/gauss" + word, [request("import random\nrandom.gauss(0, 1)", imports=["random", "statistics"], layer=layer, seed=0)] * 2,
             lambda c: c[0]["value"] == c[1]["value"])
    case("seed/alone", [request(None, seed=0), request("1")], lambda c: c[0]["status"] == "ok" and c[1]["value"] == 1)
    forget = "import sys\nfor name in ('random', 'statistics'):\n    sys.modules.pop(name, None)\n"
    case("seed/loads-nothing", [request(forget, layer=False, seed=3), request("'random' in sys.modules", layer=False, seed=4)],
         lambda c: c[1]["value"] is False)
    case("seed/loaded-later", [request(forget + "import statistics", layer=False, seed=0), request("import random\nrandom.random()", layer=False)], lambda c: c[1]["value"] == zero[0])
    case("seed/bad", [request("1", seed="x"), request("1", seed=True), request("1")],
         lambda c: [x["status"] for x in c] == ["error", "error", "ok"])
    case("file-names", [request("def f(): 1/0")] + [request("1")] * 80 + [request("f()"), request("1/0"), request("1/0", filename="b.py")],
         lambda c: '"<snippet>#82", line 1' in c[-3]["error"]["traceback"] and '"<snippet>"' not in c[-3]["error"]["traceback"]
         and '"<snippet>#83"' in c[-2]["error"]["traceback"] and '"b.py"' in c[-1]["error"]["traceback"])
    case("classes", [request("class A:\n    n = 1"), request("class B(A): pass\nb = B()"), request("b.n, isinstance(b, A)")],
         lambda c: c[2]["repr"] == "(1, True)")
    case("import-again", [request("import math", imports=["math"]), request("import math\nmath.pi", imports=["math"])],
         lambda c: c[1]["imports"] == ["math"])
    case("await-later", [request("from asyncio import gather, sleep", imports=["asyncio"]),
                         request("async def f(n):\n    await sleep(0)\n    return n\nawait gather(f(1), f(2))", imports=["asyncio"])],
         lambda c: c[1]["value"] == [1, 2])
    stuck(score)
    survives(score)
    windows(score)


def stuck(score):
    for name, imports, code, layer in STUCK:
        name = "signal/" + name
        if not score.wants(name):
            continue
        for number in (SOFT, INT):
            with Guest(imports=imports, layer=layer, soft_ms=70) as guest:
                try:
                    first = guest.run("kept = [1]\nimport " + ", ".join(imports or ["sys"]) if imports or not layer else "kept = [1]")
                    def stop():
                        guest.wait_for("before")
                        time.sleep(0.07)
                        guest.do(number)
                    claim = guest.run("print('before', end='', flush=True)\n" + code, after=[(0, stop)])
                    again = guest.run("import asyncio\nawait asyncio.sleep(0.001)\n" * ("asyncio" in imports) + "kept.append(2)\nkept")
                    ok = (first["status"] == "ok" and claim["status"] == "error"
                          and guest.output().startswith("before")
                          and again["value"] == [1, 2])
                    error = claim["error"]
                    if name.endswith("str-of-error"):  # the code's own error is what is told
                        ok = ok and error["type"] == "E" and STOPPED[number] in error["message"]
                    else:
                        ok = ok and error["type"] == STOPPED[number] and "session continues" in error["message"] and (
                            number == INT or "70 ms" in error["message"])
                    score.check("%s/%d" % (name, number), ok, (error, again["value"], again["error"], guest.output()[:100]))
                except Died as e:
                    score.check("%s/%d" % (name, number), False, e)


def raise_at_start(number):
    """The signal comes when `started` was just said, and no line of the code has run: once."""
    from agentjail.runtime import session

    class Posix:
        def write(self, fd, data):
            session.posix = os
            os.write(fd, data)
            os.kill(os.getpid(), number)
    session.posix = Posix()


def wake_nobody(number):
    """As above; and when the signal is sent for the second time, the interpreter's note of it is made, but the wait that has just begun is not
    interrupted: another thread gets the signal."""
    from agentjail.runtime import signals
    from _thread import get_ident
    sent = []

    def pthread_kill(thread, number):
        if not sent:
            time.sleep(0.2)  # the code's wait begins
        signal.pthread_kill(thread if sent else get_ident(), number)
        sent.append(number)
    signals.pthread_kill = pthread_kill
    raise_at_start(number)


def survives(score):
    def case(name, ok):
        score.check("signal/" + name, *ok)
    if score.wants("signal/between"):
        with Guest() as guest:
            guest.run("x = 1")
            for number in (INT, SOFT, INT):
                guest.do(number)
            time.sleep(0.05)
            claim = guest.run("x")
            case("between", (claim["value"] == 1, claim))
    if score.wants("signal/first"):
        with Guest() as guest:
            time.sleep(0.2)
            guest.do(INT)
            claim = guest.run("5")
            case("first", (claim["value"] == 5, claim))
    if score.wants("signal/about-to-run"):
        for number in (INT, SOFT):
            with Guest(setup=lambda: raise_at_start(number)) as guest:
                try:
                    first, second = guest.run("while True: pass"), guest.run("5")
                    case("about-to-run", (first["error"]["type"] == STOPPED[number] and second["value"] == 5, (first, second)))
                except Died as e:
                    case("about-to-run", (False, e))
    if score.wants("signal/held-wakes"):
        for number in (INT, SOFT):
            with Guest(setup=lambda: wake_nobody(number), imports=["threading"]) as guest:
                try:
                    first, second = guest.run("import threading\nthreading.Event().wait()"), guest.run("5")
                    case("held-wakes", (first["error"]["type"] == STOPPED[number] and second["value"] == 5, (first, second)))
                except Died as e:
                    case("held-wakes", (False, e))
    if score.wants("signal/held-once"):
        # What sends a held signal again ends with it: code that catches the exception gets no second one.
        code = ("import time, _thread\ntold = 0\ntry:\n    while True: pass\nexcept KeyboardInterrupt: told += 1\n"
                "for i in range(20):\n    try: time.sleep(0.01)\n    except KeyboardInterrupt: told += 1\n[told, _thread._count()]")
        for number in (INT, SOFT):
            with Guest(setup=lambda: raise_at_start(number), layer=False) as guest:
                claim = guest.run(code)
                case("held-once", (claim["value"] == [1, 0] or claim["error"] and claim["error"]["type"] == STOPPED[number], claim))
    if score.wants("signal/where"):
        with Guest() as guest:
            claim = guest.run("def f():\n    while True: pass\n\nf()", after=[(0.05, SOFT), (5, SOFT)])
            e = claim["error"]
            case("where", (e["line"] == 2 and "line 4, in <module>" in e["traceback"] and "agentjail/" not in e["traceback"]
                           and "too long" in e["message"], e))
    if score.wants("signal/caught"):
        with Guest() as guest:
            claim = guest.run("try:\n    x = 1\n    while True: x += 1\nexcept KeyboardInterrupt as e: r = str(e)\nr", after=[(0.05, SOFT), (5, SOFT)])
            case("caught", (claim["status"] == "ok" and "too long" in claim["value"], claim))
    if score.wants("signal/finally"):
        with Guest() as guest:
            guest.run("try:\n    x = 1\n    while True: x += 1\nfinally: done = 1", after=[(0.05, INT), (5, INT)])
            claim = guest.run("done")
            case("finally", (claim["value"] == 1, claim))
    if score.wants("signal/import-state"):
        # An import that is interrupted at any instant leaves a module that can be imported again.
        with Guest(imports=["statistics", "json.*"]) as guest:
            for i in range(40):
                guest.run("import statistics, json.decoder", after=[(i * 0.0005, INT)])
            claim = guest.run("import statistics, json.decoder\nstatistics.mean([1, 3]), json.dumps(json.decoder.JSONDecoder().decode('1'))")
            case("import-state", (claim["value"] and claim["value"]["data"] == [2, "1"], claim))
    if score.wants("signal/import-whole"):
        for i in range(10):
            with Guest(imports=["asyncio"]) as guest:
                guest.run("n = 0")
                first = guest.run("import asyncio\nwhile True: pass", after=[(0.002 + i * 0.003, INT), (0.5, INT), (5, INT)])
                claim = guest.run("import asyncio\nawait asyncio.sleep(0)\n5")
                case("import-whole-%d" % i, (claim["value"] == 5, (first, claim)))
    if score.wants("signal/task-lost"):
        # Between its place in the queue and its turn a task is in nobody's hands.
        with Guest(imports=["asyncio"]) as guest:
            guest.run("import asyncio")
            try:
                kinds = {guest.run("while True: await asyncio.sleep(0)", after=[(0.002 + i % 7 * 0.0003, INT), (0.3, INT), (5, INT)])["error"]["type"] for i in range(80)}
            except Died as e:
                kinds = e
            case("task-lost", (kinds == {"KeyboardInterrupt"}, kinds))


def windows(score):
    """A storm of signals over many short snippets: each gives its claim, and the state stays."""
    work = "for i in range(300): n += 1\n"  # some microseconds, or hardly a signal would come in time
    for name, code, keys in (
        ("plain", "n += 1\nn", {}),
        ("error", "n += 1\nraise ValueError('v')", {}),
        ("final", "n += 1\nfinal_answer([n])", {}),
        ("rejected", "import os", {}),
        ("await", "async def f(): return 1\nn += await f()", {}),
        ("asyncio", "import asyncio\nn += 1\nawait asyncio.sleep(0)", {"imports": ["asyncio"]}),
        ("repr", "n += 1\nclass A:\n    def __repr__(self): return 'A' * 100\nA()", {}),
        ("layer-off", "n += 1\nn", {"layer": False}),
    ):
        name = "signal/storm-" + name
        if not score.wants(name):
            continue
        with Guest(**keys) as guest:
            guest.run("n = 0")
            stop, sent, seen, bad = [], [0], {}, None
            pid = guest.pid

            def storm():
                while not stop:
                    for number in (INT, SOFT):
                        os.kill(pid, number)
                        sent[0] += 1
                        time.sleep(0.00005 * (sent[0] % 17))
            thread = threading.Thread(target=storm)
            thread.start()
            try:
                # Until there was a storm, which on a busy machine takes longer.
                began, count, calm = time.monotonic(), 0, True
                while (took := time.monotonic() - began) < (1 if WHOLE else 0.2) or took < 30 and calm:
                    claim = guest.run(work + code)
                    count += 1
                    kind = claim["error"]["type"] if claim["error"] else claim["status"]
                    seen[kind] = seen.get(kind, 0) + 1
                    hit = name == "signal/storm-rejected" or "KeyboardInterrupt" in seen or "TimeoutError" in seen
                    calm = count <= 50 or sent[0] <= 200 or not hit
                    if kind not in ("ok", "KeyboardInterrupt", "TimeoutError", "ValueError", "PolicyError"):
                        bad = claim
                        break
            except Died as e:
                bad = str(e)
            finally:
                stop.append(1)
                thread.join()
            if bad is None:
                time.sleep(0.05)
                claim = guest.run("n" if name != "signal/storm-await" else "n, await f()", **keys)
                if claim["status"] != "ok":
                    bad = claim
            stopped = seen.get("KeyboardInterrupt", 0) + seen.get("TimeoutError", 0)
            score.check(name, bad is None and count > 50 and sent[0] > 200, (bad, seen))
            # A storm that never hits shows nothing; what has no frame of the agent cannot be hit.
            score.check(name + "/hits", stopped > 0 if name != "signal/storm-rejected" else stopped == 0, seen)
