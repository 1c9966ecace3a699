"""What requests do, and what is done with bad ones; one service for all of these. serve.sh runs it and counts."""
import errno, json, os, shutil, struct, subprocess, sys, time

import result_schema

from client import AJ, Client, EXAMPLES, FEW, FOLDER, LONG, Server, exchange, fails, frame, main, same, test, until
from procfs import below

# --- what requests do: one server for all of these ---

@test
def hello(s):
    same(sorted(s.client().hello), ["limits", "policies", "protocol", "version"])
    same(s.client().hello["protocol"], 1)
    same(s.client().hello["policies"], ["snippet", "minimal", "open", "work"])


@test
def ping(s):
    same(s.client().ask("ping"), {})


@test
def exec_gives_what_exec_prints(s):
    got = s.client().ask("exec", code="print('out')\n6 * 7")
    plain = json.loads(subprocess.run([AJ, "exec", "--json", "--policy-file", FEW, "-c", "print('out')\n6 * 7"], stdout=subprocess.PIPE).stdout)
    same(sorted(set(got) ^ set(plain)), ["warm"], "members that only one of them has")
    assert got["enforced"].pop("zygote"), "what bounds the zygote of a warm jail"
    for key in ("status", "value", "stdout", "policy", "code_sha256", "enforced", "type"):
        same(got[key], plain[key], key)
    same(got["warm"], True)


@test
def results_fit_their_schema(s):
    """client.py checks each one that comes; these would not pass."""
    result = s.client().ask("exec", code="1/0")
    same(result_schema.problems(result), [])
    for name, changed in (("status", {"status": "fine"}), ("wall_ms", {"wall_ms": 1.5}), ("new", {"new": 1}), ("lines", {"error": dict(result["error"], lines=1)}),
                          ("violations[0]: count", {"violations": [{}]}), ("imports[0]", {"imports": [5]}), ("enforced.x", {"enforced": {"x": None}})):
        found = result_schema.problems(dict(result, **changed))
        assert found and name in "".join(found), (name, found)
    assert result_schema.problems({"id": "x", "status": "ok"}) == ["result: reason is missing"]


@test
def exec_members(s):
    c = s.client()
    r = c.ask("exec", code="a + b['c'] + t[0]", inputs={"a": 1, "b": {"c": 2}, "t": {"__type__": "tuple", "data": [3]}}, run_id="my run")
    same((r["value"], r["id"]), (6, "my run"))
    same(c.ask("exec", code="1/0", filename="mine.py")["error"]["type"], "ZeroDivisionError")
    assert "mine.py" in json.dumps(c.ask("exec", code="1/0", filename="mine.py")["error"]), "the file name is not in the error"
    started = time.monotonic()
    r = c.ask("exec", code="while True: pass", timeout_ms=200)
    same((r["status"], r["error"]["type"], r["told_to_stop"]), ("timeout", "TimeoutError", "wall_clock"))
    assert time.monotonic() - started < LONG, "200 ms took too long"
    r = c.ask("exec", code="import time\ntry: time.sleep(99)\nexcept KeyboardInterrupt: pass\n7", timeout_ms=200)
    same((r["status"], r["value"], r["told_to_stop"], r["warm"]), ("ok", 7, "wall_clock", True))
    same(c.ask("exec", code="import pty")["status"], "rejected")
    same([c.ask("exec", code="x = 4", value_of=of)["value"] for of in ("expression", "statement")], [None, 4])
    same(fails("bad_request", c.ask, "exec", code="1", value_of="all").args[0], "bad_request: `value_of` is neither `expression` nor `statement`")
    lines = "[input(), __import__('sys').stdin.read()]"
    same(c.ask("exec", code=lines, stdin="1 2\né\n")["value"], ["1 2", "é\n"])
    same(c.ask("exec", code=lines, stdin="1\n", brief=True)["value"], ["1", ""])
    session = c.ask("open")["session"]
    same([c.ask("run", session=session, code="input()", **given)["value"] for given in (dict(stdin="a\nb"), dict(stdin="c"))], ["a", "c"])
    r = c.ask("run", session=session, code="input()")
    assert r["error"]["type"] == "EOFError" and "input() has no user here" in r["error"]["hint"], r["error"]
    c.ask("close", session=session)
    fails("bad_request", c.ask, "exec", code="1", stdin=["1"])
    draw = "import random\nrandom.random()"
    same([c.ask("exec", code=draw, seed=seed)["value"] for seed in (0, 0, 1)], [0.8444218515250481, 0.8444218515250481, 0.13436424411240122])
    assert c.ask("exec", code=draw)["value"] != c.ask("exec", code=draw)["value"], "two jails without a seed drew the same number"
    session = c.ask("open", seed=0)["session"]
    same([c.ask("run", session=session, code=draw, **seed)["value"] for seed in ({}, {}, dict(seed=0))],
         [0.8444218515250481, 0.7579544029403025, 0.8444218515250481])
    c.ask("close", session=session)
    same(c.ask("exec", code="1", policy="minimal")["policy"]["name"], "minimal")
    same(c.ask("exec", code="1", tenant="somebody")["status"], "ok")
    fails("no_such_policy", c.ask, "exec", code="1", policy="none-of-that-name")
    session = c.ask("open")["session"]
    for r in c.ask("exec", code="1" * (2 << 20)), c.ask("run", session=session, code="1" * (2 << 20), run_id="mine"):
        same((r["status"], r["error"]["type"]), ("rejected", "SourceError"), "an answer for who wrote it")
        assert "python.source_size" in r["reason"] and r["error"]["fix"], r
    same((r["id"], r["session"], c.ask("run", session=session, code="1")["value"]), ("mine", "alive", 1))
    c.ask("close", session=session)


@test
def standard_input_is_descriptor_0_where_open_is_the_real_one(s):
    c = s.client()
    session = c.ask("open", policy="open", branching=True)["session"]
    number = "import os, sys\n(os.read(0, 2).decode(), sys.stdin.fileno(), open(0).read(), len(os.listdir('/tmp')))"
    def reads(session, value, **given):
        same(c.ask("run", session=session, code=number, **given)["value"]["data"], value)
    reads(session, ["a ", 0, "b", 0], stdin="a b")
    branch = c.ask("fork", session=session)["session"]
    for each in branch, session:
        reads(each, ["", 0, "", 0])
        reads(each, ["cd", 0, "", 0], stdin="cd")
    same(c.ask("exec", policy="open", stdin="a b", code=number)["value"]["data"], ["a ", 0, "b", 0])


@test
def a_request_may_tighten_its_python_layer(s):
    c = s.client()
    r = c.ask("exec", code="import json\njson.dumps([1])", imports=["json"])
    same((r["value"], r["warm"], r["policy"]["options"]), ("[1]", True, ['request: imports = ["json"]']))
    r = c.ask("exec", code="import math", imports=["json", "csv"])
    same((r["status"], r["error"]["allowed"]), ("rejected", ["json", "csv"]))
    same(c.ask("exec", code="import json", imports=[])["error"]["allowed"], [])
    same(c.ask("exec", code="hex(1)", builtins="minimal")["error"]["type"], "NameError")
    r = c.ask("exec", code="print(1)\nimport pty", imports_checked="run")
    same((r["status"], r["stdout"], r["imports_refused"]), ("error", "1\n", [{"module": "pty", "line": 2}]))
    same(c.ask("exec", code="import pty", imports_checked="before", layer=True)["status"], "rejected")
    r = c.ask("exec", code="import pty", policy="open", layer=True)
    same((r["status"], r["enforced"]["python_layer"][:2]), ("rejected", "on"))
    # Not beyond what the policy lets requests ask for; the connection stays.
    for asked in (dict(imports=["json", "pty"]), dict(imports=["*"]), dict(imports=["json.*"]), dict(builtins="full"), dict(layer=False)):
        e = fails("denied", c.ask, "exec", code="1", **asked)
        assert list(asked)[0] in str(e) and "`snippet`" in str(e) and "requests." in e.fix, (str(e), e.fix)
        fails("denied", c.ask, "open", **asked)
    for asked in (dict(imports="json"), dict(imports=["json", 1]), dict(imports=["a b"]), dict(imports=["json"] * 501), dict(builtins="most"),
                  dict(imports_checked="later"), dict(layer="off"), dict(layer=False, imports=[], policy="open"), dict(imports=["json"], policy="open")):
        fails("bad_request", c.ask, "exec", code="1", **asked)
    fails("bad_request", c.ask, "run", session="s1", code="1", imports=["json"])
    same(c.ask("exec", code="import math; hex(1)")["value"], "0x1", "a jail after these")


@test
def one_service_for_agents_with_different_lists():
    with open(FOLDER + "/asks.toml", "w") as f:
        f.write('extends = "snippet"\n[requests]\nimports = ["os", "mmap", "xml.*"]\nbuiltins = "full"\nlayer = false\n')
    with open(FOLDER + "/shown.toml", "w") as f:
        f.write('extends = "%s/asks.toml"\n[filesystem]\nworkspace = "read-write"\nworkspace_under = ["%s"]\n' % (FOLDER, FOLDER))
    os.makedirs(FOLDER + "/shown", exist_ok=True)
    s = Server("--policy-file", FOLDER + "/asks.toml", "--policy-file", FOLDER + "/shown.toml", "--parked", "2")
    assert "the module `mmap` undoes the import check" in s.said(), s.said()
    c = s.client()
    same(c.ask("exec", code="import pty")["status"], "rejected", "a request that asks for nothing")
    for place, warm in ((dict(policy="asks"), True), (dict(policy="shown", workspace=FOLDER + "/shown"), False)):
        # An extension module of the longer list is there, and a policy of one request is no other's.
        one = c.ask("open", imports=["mmap", "xml.etree.ElementTree"], **place)
        two = c.ask("open", imports=["json"], builtins="full", **place)
        off = c.ask("open", layer=False, **place)
        same([x["warm"] for x in (one, two, off)], [warm] * 3)
        one, two, off = (x["session"] for x in (one, two, off))
        r = c.ask("run", session=one, code="import mmap, xml.etree.ElementTree as e\nx = e.fromstring('<a/>').tag, mmap.PAGESIZE > 0\nx")
        same((r["status"], r["repr"], r["policy"]["options"]), ("ok", "('a', True)", ['request: imports = ["mmap", "xml.etree.ElementTree"]']))
        same(c.ask("run", session=one, code="import xml.dom")["status"], "rejected")
        same(c.ask("run", session=one, code="import json")["error"]["allowed"], ["mmap", "xml.etree.ElementTree"])
        same(c.ask("set", session=two, variables={"x": 20})["status"], "ok")
        r = c.ask("run", session=two, code="import json\neval('x + 22')")
        same((r["value"], len(r["policy"]["options"])), (42, 2))
        same(c.ask("run", session=two, code="import mmap")["status"], "rejected")
        r = c.ask("run", session=off, code="import os, select\nselect.poll() and os.getpid()")
        same((r["status"], r["value"], r["enforced"]["python_layer"], r["imports"]), ("ok", 2, "none: switched off", r["imports"]))
        same(c.ask("exec", code="import os; os.sep", imports=["os", "math"], **place)["value"], "/")
        fails("denied", c.ask, "exec", code="1", imports=["socket"], **place)
        fails("denied", c.ask, "exec", code="1", imports=["xmlrpc.*"], **place)
        same(c.ask("exec", code="import math; 1", **place)["value"], 1)
    same(s.stop(), 0)


@test
def branches_keep_what_their_session_asked_for():
    s = Server("--policy", "snippet", "--parked", "1")
    c = s.client()
    a = c.ask("open", imports=["json"], branching=True)["session"]
    before = c.ask("checkpoint", session=a)["checkpoint"]
    b = c.ask("fork", session=a)["session"]
    same(c.ask("run", session=a, code="import json\nx = 5")["status"], "ok")
    later = c.ask("fork", session=a)["session"]
    for session in (a, b, later):
        r = c.ask("run", session=session, code="import math")
        same((r["status"], r["error"]["allowed"], r["policy"]["options"]), ("rejected", ["json"], ['request: imports = ["json"]']))
    c.ask("close", session=a)
    same(c.ask("run", session=later, code="import json\nx")["value"], 5)
    same(c.ask("rollback", session=b, checkpoint=before), {})
    same(c.ask("run", session=b, code="import math")["error"]["allowed"], ["json"])
    same(c.ask("run", session=b, code="x")["error"]["type"], "NameError")
    c.socket.close()
    same(s.client().ask("exec", code="import math; 1")["value"], 1)
    same(s.stop(), 0)


@test
def inputs_are_passed_on_as_they_are(s):
    c = s.client()
    # Members of its own: nothing on the way reads them, and inside the last of two counts, as everywhere in Python.
    c.socket.sendall(frame(b'{"op":"exec","id":1,"code":"[a, b, c, d]","inputs": { "a" : 1, "a":2,\n"b":12345678901234567890123, "c":"\\u00e9\xc3\xa9","d":[1.50,{}]} }'))
    same(c.receive()["result"]["value"], [2, {"__type__": "int", "data": "12345678901234567890123"}, "\u00e9\u00e9", [1.5, {}]])
    for inputs in (b'{"a":1' + b"0" * 5000 + b"}", b'{"a":1e999}', b'{"a":{"__type__":"int","data":"x"}}', b'{"1a":1}'):
        c.socket.sendall(frame(b'{"op":"exec","id":1,"code":"1","inputs":' + inputs + b"}"))
        answer = c.receive()
        assert answer["id"] == 1 and ("error" in answer or answer["result"]["status"] in ("ok", "error", "rejected")), (inputs[:20], answer)
    same(c.ask("exec", code="len(a), sum(a)", inputs={"a": list(range(200000))})["value"]["data"], [200000, sum(range(200000))])


@test
def exec_is_fresh(s):
    c = s.client()
    same(c.ask("exec", code="import json; json.mine = 1; 1")["value"], 1)
    same(c.ask("exec", code="import json; hasattr(json, 'mine')")["value"], False)
    randoms = {c.ask("exec", code="import random; random.random()", policy="snippet")["value"] for _ in range(6)}
    same(len(randoms), 6, "random numbers of fresh jails")


@test
def session_keeps_its_state(s):
    c = s.client()
    one, two = c.ask("open")["session"], c.ask("open")["session"]
    same(c.ask("run", session=one, code="def f(): return 20\nx = 1")["session"], "alive")
    same(c.ask("set", session=one, variables={"y": [2, {"__type__": "set", "data": [3]}]})["status"], "ok")
    same(c.ask("run", session=one, code="f() + x + y[0]")["value"], 23)
    same(c.ask("run", session=one, code="3 in y[1]")["value"], True)
    same(c.ask("run", session=two, code="x")["error"]["type"], "NameError")
    same(c.ask("run", session=one, code="1/0")["status"], "error")
    same(c.ask("run", session=one, code="x", inputs={"x": 9})["value"], 9)
    same(c.ask("close", session=one), {})
    fails("no_such_session", c.ask, "run", session=one, code="1")
    fails("no_such_session", s.client().ask, "run", session=two, code="1")
    same(c.ask("run", session=two, code="5")["value"], 5)


@test
def a_handle_goes_to_a_tool_and_back(s):
    c = s.client()
    session = c.ask("open", tools=[{"name": "keep", "parameters": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}])["session"]
    kept = []
    r = c.ask("run", session=session, code="g = iter(['a'])\nkeep(g) is g", handles=True, functions={"keep": lambda x: kept.append(x) or x})
    same((r["value"], kept[0]["__type__"], kept[0]["id"], kept[0]["type"]), (True, "handle", "h1", "list_iterator"))
    same(c.ask("run", session=session, code="next(y)", inputs={"y": kept[0]})["value"], "a")
    r = c.ask("get", session=session, name="g", handles=True)
    same((r["value"]["id"], r["value"]["repr"]), ("h1", r["repr"]))
    same(c.ask("get", session=session, name="g")["value"]["__type__"], "repr")
    r = c.ask("set", session=session, variables={"z": {"__type__": "handle", "id": "h7"}})
    same((r["status"], r["error"]["type"], r["session"]), ("error", "TagError", "alive"))
    other = c.ask("open")["session"]
    same(c.ask("run", session=other, code="1", inputs={"y": kept[0]})["error"]["type"], "TagError")
    same(c.ask("exec", code="print", handles=True)["value"]["__type__"], "repr")
    for name in (session, other):
        c.ask("close", session=name)


@test
def a_clock_and_a_cap_on_sleep(s):
    """Of one exec, and of a session: named in the result, and gone with the jail."""
    c = s.client()
    code = "import time, datetime\ntime.sleep(20); str(datetime.datetime.now()), time.gmtime()[:3], time.monotonic() > 1"
    fixed = {"clock": "2026-01-01T00:00:00Z", "sleep_max": "10ms"}
    r = c.ask("exec", code=code, seed=7, **fixed)
    same(r["repr"], "('2026-01-01 00:00:00', (2026, 1, 1), True)")
    same(r["policy"]["options"], ['request: clock = "2026-01-01T00:00:00Z"', 'request: sleep_max = "10ms"', "request: seed = 7"])
    session = c.ask("open", **fixed)["session"]
    same([c.ask("run", session=session, code=code)["status"] for _ in range(2)], ["ok", "ok"])
    same(c.ask("run", session=session, code="time.time()")["value"], 1767225600.0)
    r = c.ask("exec", code="import time; time.time()", clock="-1h")
    assert 3500 < time.time() - r["value"] < 3700, r["value"]
    r = c.ask("exec", code="import time; time.time()")
    assert abs(time.time() - r["value"]) < 100 and r["policy"]["options"] == [], r
    fails("bad_request", c.ask, "exec", code="1", clock="noon")


@test
def brief_results(s):
    """Small, and without a loss: what is left out is in the answer to `open`, or says nothing."""
    c = s.client()
    whole = c.ask("exec", code="2 + 2")
    brief = c.ask("exec", code="2 + 2", brief=True)
    assert len(json.dumps(brief, separators=(",", ":"))) < 300, brief
    same((brief["status"], brief["value"], brief["repr"], brief["type"]), ("ok", 4, "4", "int"))
    assert set(brief) <= set(whole) and not {"enforced", "policy", "errors", "error", "code_sha256", "violations_seen"} & set(brief), brief
    opened = c.ask("open", brief=True)
    same((opened["enforced"], opened["policy"]), (whole["enforced"], whole["policy"]))
    assert "enforced" not in c.ask("open")
    session = opened["session"]
    r = c.ask("run", session=session, code="print('x'); import math; 1/0")
    same((r["error"]["type"], r["stdout"], r["imports"], r["session"]), ("ZeroDivisionError", "x\n", ["math"], "alive"))
    assert not {"enforced", "policy", "final_answer"} & set(r), r
    same(c.ask("run", session=session, code="print('x' * 10**7)")["truncated"]["stdout"], True)
    assert "policy" not in c.ask("set", session=session, variables={"a": 1}) | c.ask("get", session=session, name="a") | c.ask("vars", session=session)
    assert "policy" in c.ask("run", session=c.ask("open")["session"], code="1")


@test
def rich_results(s):
    """As notebooks show them: of a fresh jail, and of each run of a session by itself."""
    code = "class A:\n    def __repr__(self): return 'A'\n    def _repr_html_(self): return '<b>a</b>'\nA()"
    c, shown = s.client(), [{"text/plain": "A", "text/html": "<b>a</b>"}]
    same(c.ask("exec", code=code)["results"], shown)
    name = c.ask("open")["session"]
    same(c.ask("run", session=name, code=code)["results"], shown)
    same(c.ask("run", session=name, code="5", for_model=True)["for_model"], "The code ran to its end.\nValue: 5\n")
    assert "results" not in c.ask("run", session=name, code="x = A()")
    assert "results" not in c.ask("get", session=name, name="x")
    same(c.ask("run", session=name, code="display(x, 5)")["results"], shown + [{"text/plain": "5"}])
    same([row["name"] for row in c.ask("vars", session=name)["value"]], ["A", "x"])


@test
def variables_are_read_and_listed(s):
    c = s.client()
    session = c.ask("open", tools=[{"name": "t", "parameters": {"type": "object", "properties": {}}}])["session"]
    same(c.ask("vars", session=session)["value"], [])
    c.ask("run", session=session, code="x = (1, 2)\nclass Slow:\n    def __repr__(self):\n        while True: pass\nslow = Slow()\n")
    r = c.ask("get", session=session, name="x", run_id="mine")
    same((r["status"], r["value"], r["repr"], r["type"], r["id"], r["session"]), ("ok", {"__type__": "tuple", "data": [1, 2]}, "(1, 2)", "tuple", "mine", "alive"))
    r = c.ask("get", session=session, name="missing")
    same((r["status"], r["error"]["type"], r["error"]["message"]), ("error", "NameError", "name 'missing' is not defined"))
    # The repr of a value is code of the snippet's: the limit of time counts for it.
    for request in ({"op": "get", "name": "slow"}, {"op": "vars"}):
        r = c.ask(session=session, timeout_ms=100, **request)
        same((r["status"], r["error"]["type"], r["session"]), ("timeout", "TimeoutError", "alive"))
    c.ask("run", session=session, code="del slow")
    same([row["name"] for row in c.ask("vars", session=session)["value"]], ["x", "Slow"])
    for members in ({"name": 5}, {"name": ""}, {}):
        fails("bad_request", c.ask, "get", session=session, **members)
    fails("no_such_session", c.ask, "vars", session="none")
    c.send(op="run", id="loop", session=session, code="while True: pass")
    fails("busy", c.ask, "vars", session=session)
    c.ask("close", session=session)


@test
def session_survives_timeout_and_interrupt(s):
    c = s.client()
    session = c.ask("open")["session"]
    c.ask("run", session=session, code="x = 7")
    r = c.ask("run", session=session, code="while True: pass", timeout_ms=200)
    same((r["status"], r["session"]), ("timeout", "alive"))
    caught = "import time\ntry: time.sleep(99)\nexcept KeyboardInterrupt: pass\nx"
    r = c.ask("run", session=session, code=caught, timeout_ms=200)
    same((r["status"], r["value"], r["told_to_stop"], r["limits_hit"]), ("ok", 7, "wall_clock", ["wall_clock"]))
    assert "told_to_stop" not in c.ask("run", session=session, code="x")
    c.send(op="run", id="loop", session=session, code="print('up', flush=True)\nwhile True: pass", stream=True)
    same(c.receive()["data"], "up\n")
    c.send(op="interrupt", id="i", session=session)
    frames = [c.receive(), c.receive()]
    by_id = {f["id"]: f for f in frames}
    same(by_id["i"]["result"], {})
    same(by_id["loop"]["result"]["session"], "alive")
    assert "KeyboardInterrupt" in json.dumps(by_id["loop"]["result"]), by_id["loop"]["result"]["reason"]
    same(c.ask("run", session=session, code="x")["value"], 7)
    c.send(op="exec", id=1, code="print('up', flush=True)\nwhile True: pass", stream=True)
    same(c.receive()["data"], "up\n")
    c.send(op="interrupt", id=2, request=1)
    frames = {f["id"]: f for f in (c.receive(), c.receive())}
    assert frames[1]["result"]["status"] != "ok", frames[1]["result"]["status"]
    same(frames[1]["result"]["told_to_stop"], "caller")
    fails("no_such_request", c.ask, "interrupt", request=1)


@test
def an_interrupt_before_the_code_has_started(s):
    c = s.client()
    session = c.ask("open")["session"]
    # In one write: the interrupt is read before the jail can have answered anything.
    c.socket.sendall(b"".join(frame(json.dumps(dict(request, session=session)).encode()) for request in (
        {"op": "run", "id": "run", "code": "while True: pass"}, {"op": "interrupt", "id": "stop"})))
    frames = {f["id"]: f for f in (c.receive(), c.receive())}
    same(frames["stop"]["result"], {})
    r = frames["run"]["result"]
    assert r["status"] == "signal" and r["reason"].startswith("the snippet was interrupted"), r
    same(c.ask("run", session=session, code="2 + 2")["value"], 4, "the session lives")


@test
def session_that_does_not_stop(s):
    c = s.client()
    session = c.ask("open", policy="open")["session"]
    r = c.ask("run", session=session, code="sum(range(10 ** 12))", timeout_ms=100)
    same((r["status"], r["session"]), ("timeout", "ended"))
    event = c.receive()
    same((event["event"], event["session"]), ("ended", session))
    fails("no_such_session", c.ask, "run", session=session, code="1")


@test
def a_clock_that_strikes_while_the_code_is_compiled(s):
    c = s.client()
    # The parser is at work for longer than this; before the code has started nobody in there would heed the clock. On a busy machine that
    # may take the session's grace, too: then less code takes as long.
    for attempt in range(20):
        items = 20000 >> attempt // 4
        session = c.ask("open")["session"]
        c.ask("run", session=session, code="keep = 1")
        r = c.ask("run", session=session, code="y = [" + "1," * items + "]\nwhile True: pass", timeout_ms=20)
        same((r["status"], r["limits_hit"]), ("timeout", ["wall_clock"]), r["reason"])
        if r["session"] == "alive":
            break
        same(c.receive()["event"], "ended")
    same(r["session"], "alive")
    same(c.ask("run", session=session, code="keep")["value"], 1)
    c.ask("close", session=session)


@test
def the_limit_that_is_named_is_the_one_that_was_hit(s):
    c = s.client()
    session = c.ask("open", policy="open")["session"]
    r = c.ask("run", session=session, code="sum(range(10 ** 12))", timeout_ms=150)
    assert "150 ms" in r["reason"] and "30000" not in r["reason"], r["reason"]
    r = c.ask("exec", policy="open", code="sum(range(10 ** 12))", timeout_ms=160)
    assert "160 ms" in r["reason"], r["reason"]


@test
def memory_of_an_earlier_snippet_is_no_excuse(s):
    c = s.client()
    session = c.ask("open", policy="open")["session"]
    plain = c.ask("run", session=session, code="x = [0] * 10 ** 15")
    same((plain["status"], plain["limits_hit"]), ("error", []), plain["reason"])
    big = c.ask("run", session=session, code="x = bytearray(440 << 20); del x")
    assert big["peak_memory_bytes"] > 440 << 20, big["peak_memory_bytes"]
    after = c.ask("run", session=session, code="x = [0] * 10 ** 15")
    same((after["status"], after["limits_hit"]), ("error", []), after["reason"])
    if "rlimit" in plain["enforced"]["memory"]:
        both = c.ask("run", session=session, code="y = bytearray(440 << 20); x = bytearray(440 << 20)")
        same((both["status"], both["limits_hit"]), ("oom", ["memory"]), both["reason"])


@test
def an_answer_of_an_earlier_snippet_s_function(s):
    c = s.client()
    session = c.ask("open")["session"]
    c.ask("run", session=session, code="def done(x, say=final_answer):\n    say(x)")
    r = c.ask("run", session=session, code="done(5)")
    same((r["status"], r["is_final"], r["final_answer"]), ("ok", True, 5))


@test
def session_that_dies(s):
    c = s.client()
    session = c.ask("open", policy="open")["session"]
    r = c.ask("run", session=session, code="import os\nos._exit(3)")
    same(r["session"], "ended")
    same(c.receive()["event"], "ended")


@test
def sessions_branch(s):
    c = s.client()
    one = c.ask("open", branching=True)["session"]
    c.ask("run", session=one, code="x = [1]")
    kept = c.ask("checkpoint", session=one)["checkpoint"]
    two = c.ask("fork", session=one)["session"]
    assert two != one, two
    c.ask("run", session=one, code="x.append('one')")
    c.ask("run", session=two, code="x.append('two')")
    same(c.ask("run", session=one, code="x")["value"], [1, "one"])
    same(c.ask("run", session=two, code="x")["value"], [1, "two"])
    same(c.ask("rollback", session=one, checkpoint=kept), {})
    same(c.ask("run", session=one, code="x")["value"], [1])
    same(c.ask("rollback", session=two, checkpoint=kept), {})
    same(c.ask("run", session=two, code="x")["value"], [1])
    c.send(op="run", id="long", session=one, code="print('up', flush=True)\nwhile True: pass", stream=True)
    same(c.receive()["data"], "up\n")
    fails("busy", c.ask, "fork", session=one)
    fails("busy", c.ask, "checkpoint", session=one)
    same(c.ask("interrupt", session=one), {})
    while c.receive().get("id") != "long":
        pass
    same(c.ask("close", session=one), {})
    same(c.ask("run", session=two, code="x")["value"], [1], "the other continues")
    same(c.ask("forget", session=two, checkpoint=kept), {})
    fails("bad_request", c.ask, "rollback", session=two, checkpoint=kept)
    plain = c.ask("open")["session"]
    fails("bad_request", c.ask, "fork", session=plain)
    fails("bad_request", c.ask, "checkpoint", session=plain)


@test
def a_branching_session_comes_back(s):
    c = s.client()
    session = c.ask("open", branching=True)["session"]
    c.ask("run", session=session, code="x = 5")
    kept = c.ask("checkpoint", session=session)["checkpoint"]
    r = c.ask("run", session=session, code="sum(range(10 ** 12))", timeout_ms=100)
    same((r["status"], r["session"]), ("timeout", "ended"))
    same(c.receive()["event"], "ended")
    fails("closed", c.ask, "run", session=session, code="x")
    same(c.ask("rollback", session=session, checkpoint=kept), {})
    same(c.ask("run", session=session, code="x")["value"], 5)
    same(c.ask("close", session=session), {})
    same(c.ask("stats")["in_use"], 0)


@test
def branches_have_the_tools(s):
    c = s.client()
    one = c.ask("open", branching=True, tools=[ECHO])["session"]
    kept = c.ask("checkpoint", session=one)["checkpoint"]
    same(c.ask("run", {"echo": lambda x: x}, session=one, code="echo(x=1)")["value"], 1)
    same(c.ask("tools", session=one, tools=[NUMBER]), {})
    two = c.ask("fork", session=one)["session"]
    same(c.ask("tools", session=one, tools=[dict(ECHO, returns={"type": "string"})]), {})
    both = {"echo": lambda x: x, "number": lambda: 5}
    same(c.ask("run", both, session=two, code="echo(x=number())")["value"], 5, "those that there were, and as they were")
    same(c.ask("run", dict(both, echo=lambda x: str(x)), session=one, code="echo(x=number())")["value"], "5", "anew, in the original alone")
    same(c.ask("rollback", session=two, checkpoint=kept), {})
    same(c.ask("run", both, session=two, code="echo(x=number())")["value"], 5, "what was declared since is not undone")
    same(c.ask("close", session=one), {})
    same(c.ask("run", both, session=two, code="echo(x=number())")["value"], 5, "the other continues")


ECHO = {"name": "echo", "parameters": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}
NUMBER = {"name": "number", "parameters": {"type": "object", "properties": {}}, "returns": {"type": "integer"}}


@test
def tools_answer(s):
    c = s.client()
    session = c.ask("open", tools=[ECHO])["session"]
    same(c.ask("run", {"echo": lambda x: [x, x]}, session=session, code="echo(x={'a': (1, 2)})")["value"], [{"a": [1, 2]}] * 2)

    def broken(x):
        raise LookupError("nothing there")
    r = c.ask("run", {"echo": broken}, session=session, code="try:\n echo(x=1)\nexcept ToolError as e:\n t = str(e)\nt")
    same(r["value"], "LookupError: nothing there")
    r = c.ask("run", {"echo": broken}, session=session, code="try:\n echo(x=1)\nexcept LookupError as e:\n t = isinstance(e, ToolError)\nt")
    same(r["value"], True)
    same(c.ask("run", session=session, code="number()")["error"]["type"], "NameError")
    same(c.ask("tools", session=session, tools=[NUMBER]), {})
    same(c.ask("run", {"number": lambda: 5}, session=session, code="number() + 1")["value"], 6)
    same(c.ask("exec", {"number": lambda: 6}, code="number() + 1", tools=[NUMBER])["value"], 7)
    fails("bad_request", c.ask, "exec", code="1", tools=[{"name": "no parameters"}])
    fails("bad_request", c.ask, "tools", session=session, tools=[{"name": "import", "parameters": {"type": "object"}}])


@test
def tool_calls_are_in_the_result(s):
    c = s.client()

    def broken(x):
        raise ValueError("no")
    code = "number()\necho({'a': 'ü'})\ntry: echo(1)\nexcept ValueError: pass\ntry: number(**{})\nexcept ToolError as e: r = e.type"
    answers = [{"x": {"a": "ü"}}, {"x": 1}]
    r = c.ask("exec", {"number": lambda: 6, "echo": lambda x: broken(x) if x == 1 else x}, code=code, tools=[ECHO, NUMBER])
    bytes_of = [len(json.dumps(a, separators=(",", ":"), ensure_ascii=False).encode()) for a in answers]
    same([(t["tool"], t["args_bytes"], t["outcome"]) for t in r["tool_calls"]],
         [("number", 2, "ok"), ("echo", bytes_of[0], "ok"), ("echo", bytes_of[1], "error"), ("number", 2, "ok")])
    same("tool_calls_more" in r, False)
    session = c.ask("open", tools=[dict(ECHO, timeout_ms=1), dict(NUMBER, name="all")])["session"]
    same("tool_calls" in c.ask("run", session=session, code="1"), False)
    c.send(op="run", id=77, session=session, code="try: echo(1)\nexcept TimeoutError as e: r = e.type\nr")
    while (frame := c.receive())["id"] != 77 or "result" not in frame:
        pass
    r = frame["result"]
    same((r["value"], [(t["tool"], t["outcome"]) for t in r["tool_calls"]]), ("TimeoutError", [("echo", "timeout")]))
    r = c.ask("run", {"all": lambda: 0}, session=session, code="for i in range(130): all()")
    same((len(r["tool_calls"]), r["tool_calls_more"], {t["outcome"] for t in r["tool_calls"]}), (100, 30, {"ok"}))
    same("tool_calls" in c.ask("run", session=session, code="1"), False)


@test
def tools_take_any_arguments(s):
    c = s.client()
    log = {"name": "log", "variadic": "words", "parameters": {"type": "object", "required": ["words"], "additionalProperties": {"type": "integer"},
           "properties": {"words": {"type": "array", "items": {"type": "string"}}, "end": {"type": "string", "default": "."}}}}
    got = []
    session = c.ask("open", tools=[log])["session"]
    call = lambda code: c.ask("run", {"log": lambda **args: got.append(args)}, session=session, code=code)
    same(call("log('a', 'b', code=7)")["status"], "ok")
    same(call("log()")["status"], "ok")
    same(got, [{"words": ["a", "b"], "end": ".", "code": 7}, {"words": [], "end": "."}])
    for code in ("log(5)", "log(code='x')", "log(**{'__type__': 'tuple', 'data': 1})", "log(**{'a' * 1000: 'x'})"):
        r = call(code)
        same((r["status"], r["error"]["type"], "ArgumentError" in r["error"]["message"], r["tool_calls"][0]["outcome"]), ("error", "ToolError", True, "refused"), code)
    same(len(got), 2)


@test
def names_of_tools_are_kept(s):
    c = s.client()
    session = c.ask("open", tools=[NUMBER])["session"]
    same(c.ask("run", session=session, code="(")["error"]["type"], "SyntaxError", "and the tools are there all the same")
    r = c.ask("run", {"number": lambda: 5}, session=session, code="number = number() + 1\nnumber")
    same((r["value"], [(w["type"], w["line"]) for w in r["warnings"]]), (6, [("RuntimeWarning", 1)]))
    same(c.ask("get", session=session, name="number")["value"], 6)
    r = c.ask("run", {"number": lambda: 5}, session=session, code="number() + 2")
    same((r["value"], "warnings" in r), (7, False))
    for way in (dict(op="exec", tools=[dict(NUMBER, reserved=True)]), dict(op="run", session=session)):
        if "session" in way:
            c.ask("tools", session=session, tools=[dict(NUMBER, reserved=True)])
        r = c.ask(way.pop("op"), code="x = 1\nnumber = number()", **way)
        same((r["status"], r["error"]["rule"], r["error"]["line"], "tool_calls" in r), ("rejected", "PY-TOOL", 2, False))
    same(c.ask("run", {"number": lambda: 5}, session=session, code="number() + 3")["value"], 8)


@test
def tool_results_that_do_not_fit(s):
    c = s.client()
    c.send(op="exec", id=1, code="number()", tools=[NUMBER])
    call = c.receive()
    same((call["event"], call["id"], call["tool"], call["args"]), ("tool_call", 1, "number", {}))
    c.send(op="tool_result", id="a", request=1, call=call["call"], value="no number")
    same(c.receive()["error"]["code"], "no_such_call")
    c.send(op="tool_result", request=1, call=call["call"] + 5, value=1)
    refusal = c.receive()
    same((refusal["id"], refusal["request"], refusal["call"], refusal["error"]["code"]), (None, 1, call["call"] + 5, "no_such_call"))
    c.send(op="tool_result", id="b", request=2, call=call["call"], value=1)
    same(c.receive()["error"]["code"], "no_such_request")
    c.send(op="tool_result", id="c", request=1, call=call["call"], value=8)
    frames = {f["id"]: f for f in (c.receive(), c.receive())}
    same(frames["c"]["result"], {})
    same(frames[1]["result"]["value"], 8)
    c.send(op="tool_result", id="d", request=1, call=call["call"], value=8)
    same(c.receive()["error"]["code"], "no_such_request")


@test
def a_forgotten_await_is_told(s):
    c = s.client()
    asynchronous = dict(NUMBER, **{"async": True})
    session = c.ask("open", tools=[asynchronous])["session"]
    r = c.ask("run", session=session, code="number()")
    same((r["status"], r["error"]["line"], r["error"]["hint"]), ("error", 1, "`number` is async: write `await number(...)`."))
    same(c.ask("run", session=session, code="x = number()")["status"], "ok")
    same("warnings" in c.ask("run", session=session, code="x"), False, "a later snippet may await it")
    same(c.ask("run", {"number": lambda: 3}, session=session, code="await x")["value"], 3)
    r = c.ask("run", session=session, code="def f():\n    number()\nf()")
    same([(w["type"], w["line"], w["source"].strip()) for w in r["warnings"]], [("RuntimeWarning", 2, "number()")])
    same((r["status"], r["stderr"]), ("ok", ""))
    same("warnings" in c.ask("run", session=session, code="1"), False, "once")


@test
def a_tool_that_answers_late_harms_no_request(s):
    c = s.client()
    slow = dict(NUMBER, name="slow", timeout_ms=20)
    wait = "try: slow()\nexcept ToolError as e: print(e.type)\n"
    c.send(op="exec", id=1, code=wait + "number()", tools=[slow, NUMBER])
    late, call = c.receive(), c.receive()
    same((late["tool"], call["tool"]), ("slow", "number"))
    c.send(op="tool_result", id="a", request=1, call=late["call"], value=5)
    same(c.receive()["error"]["code"], "no_such_call", "it says so where it is asked")
    c.send(op="tool_result", request=1, call=late["call"], value=5)
    c.send(op="tool_result", request=1, call=late["call"], error={"type": "A", "message": "b"})
    c.send(op="tool_result", request=1, call=call["call"], value=7)
    result = c.receive()["result"]
    same((result["value"], result["stdout"]), (7, "TimeoutError\n"))
    c.send(op="tool_result", request=1, call=late["call"], value=5)
    same(c.ask("ping"), {})
    # The documented client answers as soon as its function returns.
    c = Client(s.path)
    session = c.ask("open", tools=[slow, NUMBER])["session"]
    r = c.ask("run", {"slow": lambda: time.sleep(0.5)}, session=session, code=wait)
    same((r["status"], r["stdout"]), ("ok", "TimeoutError\n"))
    same(c.ask("run", session=session, code="1 + 1")["value"], 2)
    r = c.ask("run", {"number": lambda: "no number"}, session=session, code="number()")
    same((r["status"], r["error"]["type"]), ("error", "ToolError"))
    assert "ResultError" in r["error"]["message"] and "expected integer, got string" in r["error"]["message"], r["error"]["message"]


@test
def output_is_streamed(s):
    c = s.client()
    c.send(op="exec", id=1, code="print('first', flush=True)\nnumber()\nprint('second')", tools=[NUMBER], stream=True)
    first, call = c.receive(), c.receive()
    same((first["event"], first["data"], call["event"]), ("stdout", "first\n", "tool_call"))
    c.send(op="tool_result", request=1, call=call["call"], value=1)
    second, answer = c.receive(), c.receive()
    same((second["data"], answer["result"]["stdout"]), ("second\n", "first\nsecond\n"))
    c.send(op="exec", id=2, code="print('not asked for')")
    same("event" in c.receive(), False)


@test
def pieces_are_whole_characters(s):
    c = s.client()
    code = "import os\nfor b in b'a\\xe2\\x82\\xac\\xf0\\x9f\\x98\\x80\\xffz\\xc3':\n os.write(1, bytes([b])); number()"
    c.send(op="exec", id=1, code=code, policy="open", tools=[NUMBER], stream=True)
    pieces = []
    while True:
        frame = c.receive()
        if frame.get("event") == "tool_call":
            c.send(op="tool_result", request=1, call=frame["call"], value=1)
        elif frame.get("event") == "stdout":
            pieces.append(frame["data"])
        else:
            break
    same("".join(pieces), "a\u20ac\U0001f600\ufffdz\ufffd")
    same(frame["result"]["stdout"], "".join(pieces))
    same(pieces[:3], ["a", "\u20ac", "\U0001f600"])


@test
def stderr_is_streamed(s):
    c = s.client()
    c.send(op="exec", id=1, code="import os\nos.write(2, b'oops')\nNone", policy="open", stream=True)
    frame = c.receive()
    same((frame["event"], frame["data"]), ("stderr", "oops"))
    c.receive()


@test
def requests_are_pipelined(s):
    c = s.client()
    sessions = [c.ask("open", tools=[NUMBER])["session"] for _ in range(3)]
    for session in sessions:
        c.send(op="run", id="run " + session, session=session, code="number()")
    calls = [c.receive() for _ in sessions]
    same(sorted(f["id"] for f in calls), ["run " + x for x in sessions], "all of them run at a time")
    for i, call in reversed(list(enumerate(calls))):
        c.send(op="tool_result", request=call["id"], call=call["call"], value=i)
        answer = c.receive()
        same((answer["id"], answer["result"]["value"]), (call["id"], i))
    for i in range(20):
        c.send(op="exec", id=i, code=str(i))
    c.send(op="ping", id="ping")
    answers = {f["id"]: f["result"] for f in (c.receive() for _ in range(21))}
    same([answers[i]["value"] for i in range(20)], list(range(20)))


@test
def busy_session_and_used_ids(s):
    c = s.client()
    session = c.ask("open", tools=[NUMBER])["session"]
    c.send(op="run", id="r", session=session, code="number()")
    call = c.receive()
    e = fails("busy", c.ask, "run", session=session, code="1")
    assert e.retry_ms > 0, "no retry_ms"
    fails("busy", c.ask, "set", session=session, variables={})
    c.send(op="exec", id="r", code="1")
    frame = c.receive()
    same((frame["id"], frame["error"]["code"]), ("r", "bad_request"))
    fails("bad_request", c.ask, "close", request="r")
    c.send(op="tool_result", request="r", call=call["call"], value=1)
    same(c.receive()["result"]["value"], 1)
    c.send(op="exec", id="r", code="2")
    same(c.receive()["result"]["value"], 2)


@test
def close_ends_what_runs(s):
    c = s.client()
    session = c.ask("open")["session"]
    c.send(op="run", id="r", session=session, code="while True: pass")
    time.sleep(0.1)
    c.send(op="close", id="c", session=session)
    frames = [c.receive(), c.receive()]
    same([(f["id"], f.get("error", {}).get("code")) for f in frames], [("r", "closed"), ("c", None)])
    c.send(op="exec", id="e", code="while True: pass")
    time.sleep(0.1)
    c.send(op="close", id="c", request="e")
    frames = [c.receive(), c.receive()]
    same([(f["id"], f.get("error", {}).get("code")) for f in frames], [("e", "closed"), ("c", None)])


@test
def stats_count(s):
    c = s.client()
    c.ask("open")
    stats = c.ask("stats")
    same(stats["sessions"], 1)
    same(stats["in_use"], 1)
    assert stats["zygotes"] >= 1 and stats["runs"] > 0 and stats["pools"], stats


@test
def workspace_is_shown(s):
    work = FOLDER + "/work"
    os.makedirs(work, exist_ok=True)
    os.chmod(work, 0o755)
    with open(work + "/note", "w") as f:
        f.write("from the host")
    c = s.client()
    r = c.ask("exec", code="open('/workspace/note').read()", policy="work", workspace=work)
    same(r["value"], "from the host", r["reason"])
    fails("bad_request", c.ask, "exec", code="1", workspace="relative")
    fails("bad_request", c.ask, "exec", code="1", policy="minimal", workspace=work)
    # A client chooses no place that the policy does not leave to workspaces.
    for place in ("/", "/etc", "/proc", os.environ["HOME"], "/usr/share", "/tmp/../etc"):
        fails("bad_request", c.ask, "exec", code="1", policy="work", workspace=place)
        fails("bad_request", c.ask, "open", policy="work", workspace=place)


@test
def a_project_with_the_program():
    """The virtual environment that holds the service's program is read-only in a workspace, and not looked for in what a client says."""
    project = FOLDER + "/project"
    program = project + "/env/bin/agentjail"
    for folder in ("/env/bin", "/src"):
        os.makedirs(project + folder)
    shutil.copy(AJ, program)
    with open(FOLDER + "/writes.toml", "w") as f:
        f.write('extends = "snippet"\n[filesystem]\nworkspace = "read-write"\nworkspace_under = ["%s"]\n[python]\nlayer = false\n' % FOLDER)
    code = """
import os
def wrote(path):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "a").close()
        return True
    except OSError as e:
        return e.errno
[wrote("/workspace/" + path) for path in ("src/x", "env/y", "env/bin/y")]"""
    s = Server("--policy-file", FOLDER + "/writes.toml", "--rootfs", os.environ.get("AGENTJAIL_ROOTFS", os.path.dirname(AJ) + "/rootfs/default"), program=program)
    c = s.client()
    place = {"policy": "writes", "workspace": project}
    # No environment: a folder of this name could be one that a jail has made.
    assert "agentjail's configuration or program" in str(fails("bad_request", c.ask, "exec", code="1", **place))
    open(project + "/env/pyvenv.cfg", "w").close()
    shown = [True, errno.EROFS, errno.EROFS]
    one = c.ask("open", **place)["session"]
    same([c.ask("run", session=one, code=code)["value"], c.ask("exec", code=code, **place)["value"]], [shown, shown])
    # What the host has changed since counts for the next session.
    os.rename(project + "/env", FOLDER + "/moved")
    same(c.ask("exec", code=code, **place)["value"], [True] * 3)
    same(s.stop(), 0)


GOOD = b'{"op":"ping","id":1}'
BAD = [
    ("not JSON", b"hello", "bad_request"), ("nothing but a brace", b"{", "bad_request"), ("an array", b"[]", "bad_request"),
    ("a number", b"1", "bad_request"), ("a string", b'"x"', "bad_request"), ("null", b"null", "bad_request"),
    ("trailing text", GOOD + b"x", "bad_request"), ("two objects", GOOD + GOOD, "bad_request"),
    ("300 levels", b'{"op":"exec","id":1,"code":"1","inputs":' + b'{"a":' * 300 + b"1" + b"}" * 301, "bad_request"),
    ("100,000 levels", b"[" * 100000, "bad_request"),
    ("a million values", b'{"op":"exec","id":1,"code":"1","inputs":{"a":[' + b"0," * 1100000 + b"0]}}", "bad_request"),
    ("a member twice", b'{"op":"ping","op":"ping","id":1}', "bad_request"),
    ("a member twice, deeper", b'{"op":"exec","id":1,"code":"1","tools":[{"name":"a","name":"b"}]}', "bad_request"),
    ("inputs twice", b'{"op":"exec","id":1,"code":"1","inputs":{"a":1},"inputs":{"a":2}}', "bad_request"),
    ("a member twice, escaped", b'{"op":"ping","id":1,"\\u0069d":2}', "bad_request"),
    ("an escaped NUL", b'{"op":"exec","id":1,"code":"a\\u0000b"}', "bad_request"),
    ("a NUL", b'{"op":"exec","id":1,"code":"a\x00b"}', "bad_request"), ("a NUL behind it", GOOD + b"\0", "bad_request"),
    ("no UTF-8", b'{"op":"exec","id":1,"code":"\xff"}', "bad_request"), ("half a character", b'{"op":"exec","id":1,"code":"\xe2\x82"}', "bad_request"),
    ("a surrogate", b'{"op":"exec","id":1,"code":"\xed\xa0\x80"}', "bad_request"), ("a lone surrogate", b'{"op":"exec","id":1,"code":"\\ud800"}', "bad_request"),
    ("a huge integer", b'{"op":"exec","id":1,"code":"1","timeout_ms":99999999999999999999}', "bad_request"),
    ("NaN", b'{"op":"exec","id":1,"code":"1","inputs":{"a":NaN}}', "bad_request"),
    ("no op", b'{"id":1}', "bad_request"), ("no id", b'{"op":"ping"}', "bad_request"), ("no code", b'{"op":"exec","id":1}', "bad_request"),
    ("an unknown op", b'{"op":"eval","id":1}', "unknown_op"), ("an op in capitals", b'{"op":"PING","id":1}', "unknown_op"),
    ("an empty op", b'{"op":"","id":1}', "unknown_op"), ("op is a number", b'{"op":1,"id":1}', "bad_request"),
    ("an unknown member", b'{"op":"ping","id":1,"x":1}', "bad_request"), ("another op's member", b'{"op":"ping","id":1,"code":"1"}', "bad_request"),
    ("id is null", b'{"op":"ping","id":null}', "bad_request"), ("id is empty", b'{"op":"ping","id":""}', "bad_request"),
    ("id is a float", b'{"op":"ping","id":1.0}', "bad_request"), ("id is true", b'{"op":"ping","id":true}', "bad_request"),
    ("id is too long", b'{"op":"ping","id":"' + b"x" * 129 + b'"}', "bad_request"),
    ("code is a number", b'{"op":"exec","id":1,"code":1}', "bad_request"), ("inputs is an array", b'{"op":"exec","id":1,"code":"1","inputs":[]}', "bad_request"),
    ("stream is a number", b'{"op":"exec","id":1,"code":"1","stream":1}', "bad_request"),
    ("timeout_ms is 0", b'{"op":"exec","id":1,"code":"1","timeout_ms":0}', "bad_request"),
    ("timeout_ms is a float", b'{"op":"exec","id":1,"code":"1","timeout_ms":1.5}', "bad_request"),
    ("timeout_ms is negative", b'{"op":"exec","id":1,"code":"1","timeout_ms":-1}', "bad_request"),
    ("timeout_ms is a month", b'{"op":"exec","id":1,"code":"1","timeout_ms":2678400000}', "bad_request"),
    ("tools is an object", b'{"op":"exec","id":1,"code":"1","tools":{}}', "bad_request"),
    ("an empty file name", b'{"op":"exec","id":1,"code":"1","filename":""}', "bad_request"),
    ("a file name of two lines", b'{"op":"exec","id":1,"code":"1","filename":"a\\nb"}', "bad_request"),
    ("a tenant with a control character", b'{"op":"open","id":1,"tenant":"\\u001b[2J"}', "bad_request"),
    ("a policy that is a path", b'{"op":"open","id":1,"policy":"../../etc/passwd"}', "no_such_policy"),
    ("no such session", b'{"op":"run","id":1,"session":"s0","code":"1"}', "no_such_session"),
    ("session is a number", b'{"op":"run","id":1,"session":1,"code":"1"}', "bad_request"),
    ("both value and error", b'{"op":"tool_result","request":1,"call":1,"value":1,"error":{"type":"a","message":"b"}}', "bad_request"),
    ("neither value nor error", b'{"op":"tool_result","request":1,"call":1}', "bad_request"),
    ("an error with more in it", b'{"op":"tool_result","request":1,"call":1,"error":{"type":"a","message":"b","c":1}}', "bad_request"),
    ("a negative call", b'{"op":"tool_result","request":1,"call":-1,"value":1}', "bad_request"),
    ("interrupt of nothing", b'{"op":"interrupt","id":1}', "bad_request"),
    ("interrupt of two things", b'{"op":"interrupt","id":1,"session":"s1","request":1}', "bad_request"),
]


def bad(name, body, code):
    def run(s):
        c = s.client()
        frame = exchange(c, body)
        same(frame["error"]["code"], code, frame["error"]["message"])
        assert frame["error"]["message"], "no message"
        same(c.ask("ping"), {}, "the connection continues")
    test(run, "bad request: " + name)


for row in BAD:
    bad(*row)


@test
def bad_frames_end_the_connection(s):
    for name, data in (("an empty frame", b"\0\0\0\0"), ("a huge frame", b"\xff\xff\xff\xff"), ("one byte too much", struct.pack(">I", (4 << 20) + 1)), ("text", b"GET / HTTP/1.1\r\n\r\n")):
        c = s.client()
        c.socket.sendall(data)
        same(c.receive()["error"]["code"], "too_large", name)
        try:
            c.receive()
        except (EOFError, ConnectionResetError):
            continue
        raise AssertionError(name + ": the connection continues")


@test
def frames_in_pieces(s):
    c = s.client()
    for byte in struct.pack(">I", len(GOOD)) + GOOD:
        c.socket.sendall(bytes([byte]))
        time.sleep(0.001)
    same(c.receive()["result"], {})
    c.socket.sendall((struct.pack(">I", len(GOOD)) + GOOD) * 500)
    for _ in range(500):
        same(c.receive()["result"], {})
    body = json.dumps({"op": "exec", "id": 1, "code": "len(a)", "inputs": {"a": "x" * 3000000}}).encode()
    same(exchange(c, body)["result"]["value"], 3000000)
    for cut in (b"\0", b"\0\0\1", b"\0\0\1\0", b"\0\0\1\0{"):
        d = s.client()
        d.socket.sendall(cut)
        d.socket.close()
    same(c.ask("ping"), {})


@test
def a_big_result_comes_whole(s):
    r = s.client().ask("exec", code="'\u20ac' * 200000")
    same(r["value"], "\u20ac" * 200000)


@test
def who_vanishes_takes_all_with_him(s):
    same(s.client().ask("stats")["in_use"], 0, "in use before")
    c = s.client()
    session = c.ask("open")["session"]
    c.send(op="run", id=1, session=session, code="while True: pass")
    c.send(op="exec", id=2, code="while True: pass")
    pid = s.process.pid
    first = below(pid)
    busy = lambda: [p for p, t in below(pid).items() if t - first.get(p, 0) > 10]
    assert until(busy), "nothing runs that could be ended"
    burning = busy()
    c.socket.close()
    assert until(lambda: not set(burning) & set(below(pid))), "still there"
    same(s.client().ask("stats")["in_use"], 0)


@test
def the_example_runs(s):
    out = subprocess.run([sys.executable, EXAMPLES + "/client.py", s.path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    same(out.stdout.decode(), "45\nOslo: rain\nRome: rain\n")
    lines = len(open(EXAMPLES + "/client.py").read().splitlines())
    assert lines < 80, "%d lines" % lines


main()
