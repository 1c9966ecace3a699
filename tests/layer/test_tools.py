"""Tools: signatures, calls from code, threads and event loops, errors, caps, and a host that answers late, wrong or never.
It refuses to wait long: what should not hang has seconds to show that it does not.
"""

import json
import os
import signal
import threading
import time

from guest import Died, Guest
from harness import WHOLE, request, run

TAG = "__type__"


def tool(name="t", **keys):
    properties = keys.pop("properties", {"a": {"type": "string"}, "b": {"type": "integer", "description": "how many"}})
    required = keys.pop("required", ["a"] if "a" in properties else [])
    return dict({"name": name, "description": "Does it.",
                 "parameters": {"type": "object", "properties": properties, "required": required}}, **keys)


ANY = tool("t", properties={"x": {}}, required=["x"])
SLOW = tool("slow", properties={"s": {"type": "number"}}, required=["s"])
ASYNC = dict(ANY, name="at")
ASYNC["async"] = True

# The signature that is made from a schema. (properties, required, further keys, str(inspect.signature(t)))
SIGNATURES = [
    ({}, [], {}, "()"),
    ({"q": {"type": "string"}}, ["q"], {}, "(q: str)"),
    ({"n": {"type": "integer"}, "q": {"type": "string"}}, ["q"], {}, "(q: str, n: int = None)"),
    ({"n": {"type": "integer", "default": 5}}, [], {}, "(n: int = 5)"),
    ({"n": {"type": "number", "default": 1.5}, "b": {"type": "boolean", "default": True}}, [], {}, "(n: float = 1.5, b: bool = True)"),
    ({"l": {"type": "array", "items": {"type": "string"}}, "o": {"type": "object"}}, ["l", "o"], {}, "(l: list[str], o: dict)"),
    ({"l": {"type": "array", "default": []}}, [], {}, "(l: list = [])"),
    ({"u": {"type": ["string", "null"]}}, ["u"], {}, "(u: str | None)"),
    ({"u": {"type": ["integer", "string"]}}, ["u"], {}, "(u: int | str)"),
    ({"u": {"type": "null"}}, ["u"], {}, "(u: None)"),
    ({"u": {"enum": ["a", "b"]}, "v": True}, ["u", "v"], {}, "(u, v)"),
    ({"u": {"type": "colour"}, "v": {"type": ["string", "colour"]}}, ["u", "v"], {}, "(u, v)"),
    ({"from": {"type": "string"}, "class": {"type": "string"}}, ["from"], {}, "(from_: str, class_: str = None)"),
    ({"ask": {}, "tool": {}, "a0": {}, "r": {}, "f": {}, "m": {}, "make": {}}, ["ask"], {"returns": {"type": "string"}},
     "(ask, tool=None, a0=None, r=None, f=None, m=None, make=None) -> str"),
    ({"ü": {"type": "string"}}, ["ü"], {}, "(ü: str)"),
]

# Specifications that are refused, and a word of the message.
BAD = [
    ("x", "identifier"), ({}, "identifier"), ({"name": 5}, "identifier"), ({"name": "a b"}, "identifier"), ({"name": "class"}, "identifier"),
    ({"name": "__x"}, "identifier"), ({"name": "ToolError"}, "identifier"), ({"name": "type"}, "identifier"),
    ({"name": "t", "colour": 1}, "colour"), ({"name": "t", "description": 5}, "description"), ({"name": "t", "async": 1}, "async"),
    ({"name": "t", "parameters": []}, "parameters"), ({"name": "t", "parameters": {"type": "array"}}, "object"),
    ({"name": "t", "parameters": {"properties": []}}, "object"), ({"name": "t", "parameters": {"required": "a"}}, "object"),
    ({"name": "t", "parameters": {"properties": {"a-b": {}}}}, "a-b"), ({"name": "t", "parameters": {"properties": {"a": 5}}}, "'a'"),
    ({"name": "t", "parameters": {"properties": {"a, b=1": {}}}}, "identifier"), ({"name": "t", "parameters": {"properties": {"__a": {}}}}, "__a"),
    ({"name": "t", "variadic": "a"}, "'a'"), ({"name": "t", "parameters": {"required": ["a"]}}, "'a'"), ({"name": "t", "parameters": {"required": [5]}}, "5"),
    ({"name": "t", "parameters": {"properties": {"p%d" % i: {} for i in range(101)}}}, "100"),
]

# (argument, what the host gets)
ARGUMENTS = [
    ("'ü\\n\"'", "ü\n\""), ("5", 5), ("1.5", 1.5), ("None", None), ("True", True), ("[1, {'a': None}]", [1, {"a": None}]),
    ("(1, 2)", {TAG: "tuple", "data": [1, 2]}), ("{1}", {TAG: "set", "data": [1]}), ("b'\\x00'", {TAG: "bytes", "data": "AA=="}),
    ("2 ** 70", {TAG: "int", "data": str(2 ** 70)}), ("float('inf')", {TAG: "float", "data": "inf"}),
    ("{1: 2}", {TAG: "dict_with_complex_keys", "data": [[1, 2]]}),
    ("{'__type__': 'tuple', 'data': [1]}", {TAG: "dict_with_complex_keys", "data": [[TAG, "tuple"], ["data", [1]]]}),
]

# Answers that are no answers, to call 1. (kind of frame, body, word of the message)
WRONG = [
    (b"T", b"{nope", "cannot be understood"), (b"T", b"", "cannot be understood"), (b"T", b"[1]", "has no call number"), (b"T", b"{}", "has no call number"), (b"T", b'{"value": 1}', "has no call number"),
    (b"T", b'{"call": "1", "value": 1}', "has no call number"), (b"T", b'{"call": 99, "value": 1}', "no call 99"), (b"T", b'{"call": -1, "value": 1}', "no call -1"),
    (b"T", b'{"call": 1}', "either a value or an error"), (b"T", b'{"call": 1, "value": 1, "error": {"type": "E", "message": "m"}}', "either a value or an error"),
    (b"T", b'{"call": 1, "error": "x"}', "either a value or an error"), (b"T", b'{"call": 1, "error": {"type": "E"}}', "either a value or an error"), (b"T", b'{"call": 1, "error": {"type": 1, "message": "m"}}', "either a value or an error"),
    (b"T", b'\xff', "cannot be understood"), (b"T", b'{"call": 1, "value": {"__type__": "bytes", "data": 5}}', "cannot be read"),
    (b"T", b"[" * 100000, "cannot be understood"), (b"Q", b"{}", "kind b'Q'"), (b"\0", b'{"call": 1, "value": 1}', "kind"),
]


def test(score):
    definitions(score)
    with_host(score)
    errors(score)
    concurrency(score)
    interrupted(score)
    ends(score)


def definitions(score):
    for properties, required, keys, want in SIGNATURES:
        name = "tool/signature" + want
        if score.wants(name):
            spec = tool(properties=properties, required=required, **keys)
            for is_async in (False, True):
                spec["async"] = is_async
                (claim,), _ = run(request("import inspect\nstr(inspect.signature(t)), inspect.iscoroutinefunction(t), t.__name__, t.__doc__[:8], t.__module__",
                                          imports=["inspect"], tools=[spec]))
                score.check(name + "/%s" % is_async, claim["value"] and claim["value"]["data"] == [want, is_async, "t", "Does it.", "__main__"],
                            (claim["value"], claim["error"]))
    for i, (spec, word) in enumerate(BAD):
        name = "tool/bad-%d" % i
        if score.wants(name):
            claims, _ = run(request("1", tools=[ANY, spec]), request("t"), request("2", tools=[ANY]))
            e = claims[0]["error"] or {"type": "", "message": ""}
            score.check(name, e["type"] == "RequestError" and word in e["message"] and claims[1]["error"]["type"] == "NameError"
                        and claims[2]["value"] == 2, claims)
    def case(name, requests, ok):
        name = "tool/" + name
        if score.wants(name):
            claims, _ = run(*requests)
            score.check(name, ok(claims[-1]), claims)
    case("twice", [request("1", tools=[ANY, ANY])], lambda c: "two tools" in c["error"]["message"])
    case("no-list", [request("1", tools={})], lambda c: c["error"]["type"] == "RequestError")
    case("no-code", [request(None, tools=[ANY]), request("t.__name__")], lambda c: c["value"] == "t")
    case("doc", [request("t.__doc__", tools=[tool(returns={"type": "string", "description": "a text"})])],
         lambda c: c["value"] == "Does it.\n\nArgs:\n    b: how many\n\nReturns:\n    a text")
    case("repr", [request("repr(t)[:12]", tools=[ANY])], lambda c: c["value"] == "<function t ")
    case("persists", [request("1", tools=[ANY]), request("t, ToolError")], lambda c: c["status"] == "ok")
    case("redefined", [request("1", tools=[ANY]), request("1", tools=[dict(ANY, description="new")]), request("t.__doc__")], lambda c: c["value"] == "new")
    case("error-class", [request("class E(ToolError): pass\ntry: raise E('m')\nexcept ToolError as e: r = isinstance(e, Exception), str(e), ToolError.__name__\nr",
                                 tools=[ANY])], lambda c: c["value"]["data"] == [True, "m", "ToolError"])
    case("many", [request("p99.__name__, p3(1, 2)", tools=[tool("p%d" % i) for i in range(100)])], lambda c: c["error"]["type"] == "TypeError" or c["error"]["type"] == "ToolError")
    for code, word in (("t()", "missing 1 required positional argument: 'a'"), ("t('x', 1, 2)", "takes from 1 to 2 positional"),
                       ("t('x', c=1)", "unexpected keyword argument 'c'"), ("t('x', a='y')", "multiple values"),
                       ("t(print)", "argument 'a': a value of type builtin_function_or_method cannot be passed"),
                       ("class A: pass\nt([A()])", "argument 'a': a value of type A cannot be passed")):
        case("type-error " + code, [request(code, tools=[tool()])], lambda c: c["error"]["type"] == "TypeError" and word in c["error"]["message"]
             and "t()" in c["error"]["message"])
        aio = dict(tool(), **{"async": True})
        case("type-error-await " + code, [request(code.replace("t(", "await t("), tools=[aio])], lambda c: c["error"]["type"] == "TypeError" and word in c["error"]["message"])
    case("no-channel", [request("try: t(1)\nexcept ToolError as e: r = str(e)\nr", tools=[ANY])], lambda c: "cannot be reached" in (c["value"] or ""))


def with_host(score):
    def case(name, code, ok, answer=None, tools=(ANY, SLOW, ASYNC, tool("opt")), **keys):
        name = "tool/" + name
        if score.wants(name):
            try:
                with Guest(**keys) as guest:
                    claim = guest.run(code, answer, tools=list(tools))
                    good = ok(claim, guest.calls)
                    calls = guest.calls
                    after = guest.run("1 + 1")
                    score.check(name, good and after["value"] == 2, (claim["value"], claim["error"], calls, after["error"]))
            except Died as e:
                score.check(name, False, e)
    for text, want in ARGUMENTS:
        case("argument " + text, "t(%s)" % text, lambda c, calls: calls == [{"call": 1, "tool": "t", "args": {"x": want}}] and c["status"] == "ok"
             and c["value"] == {"x": want} and json.dumps(want) == json.dumps(c["value"]["x"]))
    case("keyword", "opt(b=2, a='x')", lambda c, calls: calls[0]["args"] == {"a": "x", "b": 2})
    case("left-out", "opt('x')", lambda c, calls: calls[0]["args"] == {"a": "x"})
    case("given-none", "opt('x', None)", lambda c, calls: calls[0]["args"] == {"a": "x"})
    case("default", "t()", lambda c, calls: calls[0]["args"] == {"n": 5, "l": [1]},
         tools=[tool("t", properties={"n": {"default": 5}, "l": {"default": [1]}})])
    case("nullable-default", "t()", lambda c, calls: calls[0]["args"] == {"n": None}, tools=[tool("t", properties={"n": {"default": None}})])
    case("keyword-name", "t('x')", lambda c, calls: calls[0]["args"] == {"from": "x"}, tools=[tool("t", properties={"from": {}}, required=["from"])])
    FINAL = [tool("final_answer", properties={"text": {}, "score": {"type": "number"}}, required=["text"])]
    case("final-answer", "final_answer('x', score=2)\n1/0", lambda c, calls: calls[0]["args"] == {"text": "x", "score": 2} and c["is_final"]
         and c["final_answer"] == ["x", 2] and c["status"] == "ok", lambda call: {"value": list(call["args"].values())}, tools=FINAL)
    case("final-answer-none", "final_answer('x')", lambda c, calls: c["is_final"] and c["final_answer"] is None, lambda call: {"value": None}, tools=FINAL)
    case("final-answer-fails", "try: final_answer('x')\nexcept ToolError as e: r = e.type\nr", lambda c, calls: c["value"] == "E" and not c["is_final"],
         lambda call: {"error": {"type": "E", "message": "m"}}, tools=FINAL)
    case("final-answer-signature", "try: final_answer(1, 2, 3)\nexcept TypeError as e: r = str(e)\nr", lambda c, calls: "from 1 to 2" in c["value"] and not calls, tools=FINAL)
    case("final-answer-swallowed", "try: final_answer(1)\nexcept Exception: final_answer(2)", lambda c, calls: c["final_answer"] == {"text": 1}, tools=FINAL)
    case("final-answer-async", "await final_answer(3)", lambda c, calls: c["final_answer"] == {"text": 3}, tools=[dict(FINAL[0], **{"async": True})])
    case("handle-out-and-back", "x = iter([7])\nt(x) is x", lambda c, calls: c["value"] is True and calls[0]["args"]["x"][TAG] == "handle" and calls[0]["args"]["x"]["type"] == "list_iterator",
         lambda call: {"value": call["args"]["x"]}, handles=True)
    case("handle-of-much", "x = 'a' * 2000000\nt([x])[0] is x, t(x) is x", lambda c, calls: c["value"]["data"] == [True, True], lambda call: {"value": call["args"]["x"]}, handles=True)
    case("handle-in-last", "t(print) is print", lambda c, calls: c["value"] is True, lambda call: {"value": call["args"]["x"]}, handles=True, last=True)
    case("handle-unknown", "try: t(1)\nexcept ToolError as e: r = str(e)\nr", lambda c, calls: "no handle h9" in c["value"], lambda call: {"value": {TAG: "handle", "id": "h9"}}, handles=True)
    case("value-decoded", "r = t(1)\nr, type(r[0]).__name__", lambda c, calls: c["repr"] == "((b'\\x00', {2}), 'bytes')",
         lambda call: {"value": {TAG: "tuple", "data": [{TAG: "bytes", "data": "AA=="}, {TAG: "set", "data": [2]}]}})
    # A forgotten await: the call was not made.
    unawaited = "coroutine 'at' was never awaited, so it did not run"
    def warned(c, line):
        return [(w["type"], w["message"], w["line"], "await at(" in w["hint"]) for w in c.get("warnings", [])] == [("RuntimeWarning", unawaited, line, True)]
    case("unawaited-value", "x = 1\nat(5)", lambda c, calls: c["status"] == "error" and c["error"]["message"] == unawaited and c["error"]["line"] == 2
         and "await at(" in c["error"]["hint"] and not calls and "warnings" not in c)
    case("unawaited-variable-value", "x = at(5)\nx", lambda c, calls: c["error"]["line"] == 2 and not calls, last=True)
    case("unawaited-statement", "at(5)\n7", lambda c, calls: c["status"] == "ok" and c["value"] == 7 and warned(c, 1))
    case("unawaited-variable", "x = at(5)\n7", lambda c, calls: c["value"] == 7 and warned(c, None), last=True)
    case("class-named-coroutine", "class coroutine: pass\ncoroutine()", lambda c, calls: c["status"] == "ok" and c["type"] == "coroutine" and not calls, last=True)
    case("class-named-coroutine-variable", "class coroutine: pass\nx = coroutine()\n7", lambda c, calls: c["status"] == "ok" and c["value"] == 7 and not calls, last=True)
    case("unawaited-kept", "x = at(5)\nx", lambda c, calls: c["status"] == "ok" and "warnings" not in c)
    case("unawaited-in-list", "[at(5)]", lambda c, calls: c["status"] == "ok" and warned(c, None))
    case("unawaited-operand", "at(5) + '!'", lambda c, calls: c["error"]["type"] == "TypeError" and "`await` before" in c["error"]["hint"] and warned(c, 1))
    case("unawaited-own", "async def at(x): pass\nat(1)", lambda c, calls: c["status"] == "ok" and warned(c, 2), tools=[ANY])
    case("awaited", "await at(1)", lambda c, calls: "warnings" not in c)
    # *args and **kwargs. (code, args that the host gets, or a word of the TypeError)
    log = {"name": "log", "variadic": "words", "parameters": {"type": "object", "required": ["level"], "additionalProperties": {"type": "integer"},
           "properties": {"n": {"type": "integer"}, "level": {"type": "string"}, "words": {"type": "array", "items": {"type": "string"}}, "end": {"default": "."}, "from": {}}}}
    case("variadic-signature", "import inspect\nstr(inspect.signature(log))", lambda c, calls: c["value"] == "(level: str, n: int = None, *words: str, end='.', from_=None, **kwargs: int)", tools=[log], imports=["inspect"])
    for code, want in (("log('a')", {"level": "a", "words": [], "end": "."}), ("log('a', 1, 'x', 'y')", {"level": "a", "n": 1, "words": ["x", "y"], "end": "."}),
                       ("log('a', code=7, end='', kwargs=2)", {"level": "a", "words": [], "end": "", "code": 7, "kwargs": 2}), ("log('a', from_=1)", {"level": "a", "words": [], "end": ".", "from": 1}),
                       ("log('a', **{'from': 1, 'user-id': None})", {"level": "a", "words": [], "end": ".", "from": 1, "user-id": None}), ("log('a', from_=1, **{'from': 2})", "multiple values"),
                       ("log('a', **{'\\n': 2})", "cannot be passed"), ("log('a', **{'\\ud800': 2})", "cannot be passed"), ("log()", "missing 1 required"), ("log('a', level='b')", "multiple values"),
                       ("log('a', 1, 'x', print)", "argument 'words'"), ("log('a', x=print)", "argument 'x'")):
        for is_async in (False, True):
            case("variadic-%s %s" % (is_async, code), "await " * is_async + code, lambda c, calls, want=want: calls and calls[0]["args"] == want if type(want) is dict else
                 not calls and c["error"]["type"] == "TypeError" and want in c["error"]["message"], tools=[dict(log, **{"async": is_async})])
    case("kwargs-of-any", "t(a=1, kwargs=2, call=3)", lambda c, calls: calls[0]["args"] == {"a": 1, "kwargs": 2, "call": 3}, tools=[{"name": "t", "parameters": {"type": "object", "properties": {"kwargs": {}, "call": {}}, "additionalProperties": True}}])
    case("kwargs-of-none", "t(a=1)", lambda c, calls: "unexpected keyword" in c["error"]["message"], tools=[{"name": "t", "parameters": {"type": "object", "additionalProperties": False}}])
    # The name of a tool is given another meaning: a warning with the line, and the tool is back in the next snippet.
    for code, line, column in (("t = t(1)", 1, 1), ("x = 1\nif x:\n    del t", 3, 9), ("def t(): pass", 1, 1), ("class t: pass", 1, 1), ("import math as t", 1, 8),
                               ("for t in [1]: pass", 1, 5), ("def f():\n    global t\n    t = 2\nf()", 2, 5), ("[t := 5 for i in [1]]", 1, 2), ("match [1]:\n    case [*t]: pass", 2, 11),
                               ("try: 1/0\nexcept Exception as t: pass", 2, 1), ("(a, t), b = (1, 2), 3", 1, 5), ("with memoryview(b'') as t: pass", 1, 25), ("t = 1\n1/0", 1, 1), ("globals()['t'] = 5", None, None)):
        name = "tool/name " + code[:20]
        if score.wants(name):
            with Guest(imports=["math"], builtins="full", layer="globals" not in code) as guest:
                claim = guest.run(code, tools=[ANY, SLOW])
                held, again = guest.run(None, get="t"), guest.run("t(7)['x']")
                rows = [(w["type"], w["line"], w["column"], "'t' of a tool was" in w["message"] and "next snippet" in w["message"], "t_result" in w["hint"]) for w in claim.get("warnings", [])]
                score.check(name, rows == [("RuntimeWarning", line, column, True, True)] and (held["type"] != "function" or "def" in code or "del" in code or "as t: pass" in code)
                            and again["value"] == 7 and "warnings" not in again, (claim, held, again))
    for code in ("def f(t): return t\nf(1)", "[t for t in [1]]", "def f():\n    t = 1\n    return t\nf()", "class A:\n    t = 1", "(lambda t: t)(1)", "t(1)", "x = {t: 1 for t in [2]}"):
        case("name-local " + code[:20], code, lambda c, calls: c["status"] == "ok" and "warnings" not in c)
        case("name-reserved-local " + code[:20], code, lambda c, calls: c["status"] == "ok" and "warnings" not in c, tools=[dict(ANY, reserved=True)])
    case("name-in-last", "t = 5", lambda c, calls: [w["message"] for w in c["warnings"]] == ["the name 't' of a tool was given another value"], last=True)
    for layer in (True, False):
        case("name-reserved-%s" % layer, "x = 2\nprint(t(1))\nfor t in [1]: pass\ndef slow(): pass", lambda c, calls: c["status"] == "rejected" and not calls
             and [(e["rule"], e["line"], e["column"], e["message"]) for e in c["errors"]] == [("PY-TOOL", 3, 5, "Cannot assign to 't': it is the name of a tool")],
             tools=[dict(ANY, reserved=True), SLOW], layer=layer)
    if score.wants("tool/name-reserved-later"):
        with Guest() as guest:
            claims = [guest.run("t = 5", tools=[dict(ANY, reserved=True)]), guest.run("t(7)['x']"), guest.run("t = 6", tools=[ANY]), guest.run("t = 6", tools=[dict(ANY, reserved=True)]), guest.run("t(8)['x']")]
            score.check("tool/name-reserved-later", [c["status"] for c in claims] == ["rejected", "ok", "ok", "rejected", "ok"] and [claims[1]["value"], claims[4]["value"]] == [7, 8], claims)
    if score.wants("tool/name-of-input"):
        with Guest() as guest:
            claims = [guest.run("1", tools=[ANY]), guest.run("t", inputs={"t": 5}), guest.run("t + 1"), guest.run("t(7)['x']", tools=[ANY], inputs={"t": 5})]
            score.check("tool/name-of-input", [c["value"] for c in claims] == [1, 5, 6, 7] and not any("warnings" in c for c in claims), claims)
            changed = [guest.run("t = 1"), guest.run(None, inputs={"t": 5}), guest.run("t")]
            score.check("tool/name-of-input/changed", changed[2]["value"] == 5, changed)
    if score.wants("tool/kept-by-rejected"):
        with Guest() as guest:
            first = guest.run("(", tools=[ANY])
            second = guest.run("t(7)['x']")
            score.check("tool/kept-by-rejected", first["error"]["type"] == "SyntaxError" and second["value"] == 7, (first, second))
    case("value-null", "t(1)", lambda c, calls: c["status"] == "ok" and c["value"] is None, lambda call: {"value": None})
    case("large", "len(t('x' * 900000)['x'])", lambda c, calls: c["value"] == 900000)
    case("large-value", "len(t(1))", lambda c, calls: c["value"] == 20000000, lambda call: {"value": "y" * 20000000})
    case("loop", "[t(i)['x'] for i in range(300)] == list(range(300))", lambda c, calls: c["value"] is True and [k["call"] for k in calls] == list(range(1, 301)))
    case("in-loop", "import asyncio\nasync def f(): return t(5)['x']\nawait f()", lambda c, calls: c["value"] == 5, imports=["asyncio"])
    case("await-no-loop", "(await at(5))['x']", lambda c, calls: c["value"] == 5)
    case("layer-off", "import os\nt(5)['x'], (await at(6))['x']", lambda c, calls: c["repr"] == "(5, 6)", layer=False)
    case("in-function", "def f(n): return t(n)['x']\nlist(map(f, [1, 2]))", lambda c, calls: c["value"] == [1, 2])
    case("partial", "import functools\nfunctools.partial(t, x=3)()['x']", lambda c, calls: c["value"] == 3, imports=["functools"])
    case("shadowed-builtins", "len = str = dict = isinstance = None\nt(7)['x']", lambda c, calls: c["value"] == 7)
    if score.wants("tool/numbers"):
        with Guest(tools=[ANY]) as guest:
            guest.run("t(1)")
            guest.run("t(2)")
            score.check("tool/numbers", [c["call"] for c in guest.calls] == [1, 2], guest.calls)


def errors(score):
    def case(name, code, ok, answer=None, **keys):
        name = "tool/" + name
        if score.wants(name):
            try:
                with Guest(tools=[ANY, ASYNC], **keys) as guest:
                    claim = guest.run(code, answer and (lambda call: answer(guest, call)))
                    good = ok(claim, guest.calls)
                    after = guest.run("t(1)['x']")
                    score.check(name, good and after["value"] == 1, (claim["value"], claim["error"], guest.calls, after))
            except Died as e:
                score.check(name, False, e)
    say = lambda **e: lambda guest, call: {"error": e} if call["call"] == 1 else {"value": call["args"]}  # noqa: E731
    caught = "try: t(1)\nexcept ToolError as e: r = [str(e), e.tool, e.type]\nr"
    case("error", caught, lambda c, calls: c["value"] == ["ValueError: bad", "t", "ValueError"], say(type="ValueError", message="bad"))
    case("error-await", caught.replace("t(1)", "await at(1)"), lambda c, calls: c["value"] == ["ValueError: bad", "at", "ValueError"], say(type="ValueError", message="bad"))
    case("error-timeout", caught, lambda c, calls: c["value"] == ["TimeoutError: after 5 s", "t", "TimeoutError"], say(type="TimeoutError", message="after 5 s"))
    case("error-plain", caught, lambda c, calls: c["value"] == ["m", "t", "ToolError"], say(type="ToolError", message="m"))
    case("error-uncaught", "def f():\n    return t(1)\nf()", lambda c, calls: c["error"]["type"] == "ToolError" and c["error"]["line"] == 2
         and c["error"]["message"] == "E: m" and "agentjail/" not in c["error"]["traceback"], say(type="E", message="m"))
    case("error-clean", caught, lambda c, calls: c["value"][0] == "E?: a?b\nc?" and c["value"][2] == "E?", say(type="E\x1b", message="a\x00b\nc\x7f"))
    case("error-long", caught, lambda c, calls: len(c["value"][0]) < 8300, say(type="E", message="x" * 100000))
    # (error that the host names, exception that catches it beside ToolError)
    for kind, base in (("ValueError", "ValueError"), ("KeyError", "LookupError"), ("FileNotFoundError", "OSError"), ("TimeoutError", "TimeoutError"), ("IOError", "OSError"),
                       ("UnicodeDecodeError", "ValueError"), ("ModuleNotFoundError", "ImportError"), ("ZeroDivisionError", "ArithmeticError"), ("AttributeError", "AttributeError")):
        for first in (base, "ToolError"):
            case("error-is %s %s" % (kind, first), "try: t(1)\nexcept %s as e: r = [str(e), e.type, e.tool, isinstance(e, ToolError), isinstance(e, %s), type(e).__name__]\nr" % (first, base),
                 lambda c, calls, kind=kind: c["value"] == [kind + ": bad", kind, "t", True, True, "ToolError"], say(type=kind, message="bad"))
        case("error-is-uncaught " + kind, "t(1)", lambda c, calls, kind=kind: (c["error"]["type"], c["error"]["message"], c["error"]["line"], c["error"].get("hint"))
             == ("ToolError", kind + ": bad", 1, None), say(type=kind, message="bad"))
    # Errors that end more than a call, or that only the interpreter raises, are a ToolError alone.
    for kind in ("StopIteration", "StopAsyncIteration", "SystemExit", "KeyboardInterrupt", "GeneratorExit", "MemoryError", "RecursionError", "SyntaxError", "BaseException", "ExceptionGroup", "int", "E"):
        case("error-alone " + kind, "try: t(1)\nexcept ToolError as e: r = [type(e) is ToolError, e.type]\nr", lambda c, calls, kind=kind: c["value"] == [True, kind],
             say(type=kind, message="bad"))
    case("error-ends-no-loop", "class A:\n    def __iter__(s): return s\n    def __next__(s): return t(1)\n[x for x in A()]", lambda c, calls: c["error"]["type"] == "ToolError",
         say(type="StopIteration", message=""))
    for i, (kind, body, word) in enumerate(WRONG):
        def wrong(guest, call, kind=kind, body=body):
            if call["call"] > 1:
                return {"value": call["args"]}
            guest.send(kind, body)
        case("wrong-%d" % i, "try: t(1)\nexcept ToolError as e: r = str(e)\nr", lambda c, calls: c["value"] and word in c["value"], wrong)
        case("wrong-await-%d" % i, "import asyncio\ntry: await at(1)\nexcept ToolError as e: r = str(e)\nr", lambda c, calls: c["value"] and word in c["value"],
             wrong, imports=["asyncio"])
    for code in ("t('x' * 1000)", "t(list(range(1000)))", "await at('x' * 1000)", "x = []; x.append(x); t(x)", "x = []\nfor _ in range(100): x = [x]\nt(x)"):
        case("too-large " + code[:20], "try: %s\nexcept ToolError as e: r = str(e)\nr" % code if "\n" not in code and ";" not in code else
             code.rpartition("\n")[0] + "\ntry: " + code.rpartition("\n")[2].replace("x = []; x.append(x); ", "") + "\nexcept ToolError as e: r = str(e)\nr" if "\n" in code else
             "x = []; x.append(x)\ntry: t(x)\nexcept ToolError as e: r = str(e)\nr",
             lambda c, calls: "too large" in (c["value"] or "") and "500 bytes" in c["value"] and not calls, limits={"tool_bytes": 500})


MISSED_S = 60


def no_slices():
    """Whoever waits looks around each second, too: here so seldom that a wake-up that is missed fails its case."""
    from agentjail.runtime import channel
    channel.SLICE_MS = MISSED_S * 1000


def concurrency(score):
    def case(name, code, ok, answer=None, **keys):
        name = "tool/" + name
        if score.wants(name):
            try:
                with Guest(setup=no_slices, tools=[ANY, ASYNC, SLOW], **keys) as guest:
                    began = time.monotonic()
                    claim = guest.run(code, answer and (lambda call: answer(guest, call)))
                    took = time.monotonic() - began
                    good = ok(claim, guest.calls)
                    after = guest.run("t(1)['x']")
                    score.check(name, good and took < MISSED_S / 2 and after["value"] == 1, (took, claim["value"], claim["error"], len(guest.calls), after))
            except Died as e:
                score.check(name, False, e)

    def reverse(count):
        """Answers only when all calls are there, the last first."""
        held = []

        def answer(guest, call):
            held.append(call)
            if len(held) == count:
                for c in reversed(held):
                    guest.reply(c, value=c["args"])
            elif len(held) > count:
                return {"value": call["args"]}
        return answer
    threads = ("import threading\nout = {}\ndef f(n): out[n] = t(n)['x']\nts = [threading.Thread(target=f, args=(i,)) for i in range(%d)]\n"
               "for x in ts: x.start()\nfor x in ts: x.join()\nout == {i: i for i in range(%d)}")
    case("threads", threads % (20, 20), lambda c, calls: c["value"] is True, imports=["threading"])
    case("threads-reversed", threads % (20, 20), lambda c, calls: c["value"] is True, reverse(20), imports=["threading"])
    case("threads-in-order", threads % (8, 8), lambda c, calls: c["value"] is True, in_order(8), imports=["threading"])
    case("threads-busy", "import threading\nok = []\ndef f(n):\n    for i in range(100):\n        if t([n, i])['x'] != [n, i]: return\n    ok.append(n)\n"
         "ts = [threading.Thread(target=f, args=(i,)) for i in range(8)]\nfor x in ts: x.start()\nfor x in ts: x.join()\nlen(ok)",
         lambda c, calls: c["value"] == 8 and len(calls) == 800, imports=["threading"])
    case("pool", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as p: r = list(p.map(lambda n: t(n)['x'], range(50)))\nr == list(range(50))",
         lambda c, calls: c["value"] is True, imports=["concurrent.futures"])
    gather = "import asyncio\nr = await asyncio.gather(*[at(i) for i in range(30)])\n[x['x'] for x in r] == list(range(30))"
    for layer in (True, False):
        suffix = "" if layer else "-layer-off"
        keys = {"imports": ["asyncio", "threading", "time"], "layer": layer}
        case("gather" + suffix, gather, lambda c, calls: c["value"] is True, **keys)
        case("gather-reversed" + suffix, gather, lambda c, calls: c["value"] is True, reverse(30), **keys)
        run_it = "import asyncio, time\nasync def main():\n    %s\nasyncio.run(main())"
        case("gather-run" + suffix, run_it % "global r\n    r = await asyncio.gather(at(1), at(2))" + "\nr", lambda c, calls: c["value"] == [{"x": 1}, {"x": 2}], **keys)
        case("loop-not-blocked" + suffix, run_it % "global n, done\n    n = 0\n    async def tick():\n        global n\n        while True:\n            await asyncio.sleep(0.01)\n            n += 1\n            if n == 10: await at(2)\n"
             "    k = asyncio.create_task(tick())\n    await at(1)\n    k.cancel()" + "\nn >= 10",
             lambda c, calls: c["value"] is True, first_after(2), **keys)
        case("wait-for" + suffix, run_it % "global r\n    try: await asyncio.wait_for(at(1), 0.1)\n    except asyncio.TimeoutError: r = 'late'\n    r = r, (await at(2))['x']" + "\nr[0], r[1]",
             lambda c, calls: c["repr"] == "('late', 2)", late_first(), **keys)
        case("await-and-threads" + suffix, run_it % "global r\n    a = [asyncio.to_thread(t, i) for i in range(10)]\n    b = [at(i + 10) for i in range(10)]\n    r = [x['x'] for x in await asyncio.gather(*a, *b)]"
             + "\nr == list(range(20))", lambda c, calls: c["value"] is True, **keys)
        case("woken-while-awaiting" + suffix, run_it % "global r\n    import threading\n    loop, f = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()\n"
             "    k = asyncio.create_task(at(1))\n    await asyncio.sleep(0)\n    def go():\n        time.sleep(0.1)\n        loop.call_soon_threadsafe(f.set_result, 4)\n"
             "    threading.Thread(target=go).start()\n    await f\n    r = not k.done()\n    await at(2)\n    await k" + "\nr",
             lambda c, calls: c["value"] is True, first_after(2), **keys)
        case("call-soon-threadsafe" + suffix, "import asyncio, threading, time\nasync def main():\n    loop = asyncio.get_running_loop()\n    f = loop.create_future()\n"
             "    def go():\n        time.sleep(0.1)\n        loop.call_soon_threadsafe(f.set_result, 4)\n    threading.Thread(target=go).start()\n    return await f\nasyncio.run(main())",
             lambda c, calls: c["value"] == 4, **keys)
    case("sync-beside-async", "import asyncio\nasync def f():\n    k = asyncio.create_task(at(1))\n    await asyncio.sleep(0)\n    b = t(2)\n    return b['x'], (await k)['x']\nawait f()",
         lambda c, calls: c["repr"] == "(2, 1)", reverse(2), imports=["asyncio"])
    case("fast-beside-slow", "import threading, time\nd = []\ndef f():\n    t(1)\nx = threading.Thread(target=f)\nx.start()\ntime.sleep(0.1)\n"
         "for i in range(5): t(i + 2)\nx.join()\nTrue", lambda c, calls: c["value"] is True, first_after(6), imports=["threading", "time"])
    case("two-loops", "import asyncio, threading\nout = []\nasync def m(n): out.append((await at(n))['x'])\nts = [threading.Thread(target=lambda n=n: asyncio.run(m(n))) for n in range(6)]\n"
         "for x in ts: x.start()\nfor x in ts: x.join()\nsorted(out)", lambda c, calls: c["value"] == list(range(6)), reverse(6), imports=["asyncio", "threading"])
    case("finalizer", "import gc\nclass A:\n    def __del__(s):\n        try: out.append(t(1)['x'])\n        except ToolError as e: out.append(str(e))\nout = []\n"
         "for i in range(300):\n    a = A(); a.me = a; del a\n    t([[i]] * 20)\ngc.collect()\nlen(out) == 300 and {x for x in out if x != 1}",
         lambda c, calls: c["status"] == "ok" and c["value"] is not False, imports=["gc"])


def in_order(count):
    """Answers only when all calls are there, the first first: who waits for the socket for all is the first to go."""
    held = []

    def answer(guest, call):
        held.append(call)
        if len(held) > count:
            return {"value": call["args"]}
        if len(held) == count:
            for c in held:
                guest.reply(c, value=c["args"])
    return answer


def late_first():
    held = []

    def answer(guest, call):
        if call["call"] == 1:
            held.append(call)
            return None
        for h in held:  # the late one first: it must not be taken for the answer to this call
            guest.reply(h, value={"x": "late"})
        del held[:]
        return {"value": call["args"]}
    return answer


def first_after(count):
    """Call 1 is answered when `count` calls have come."""
    held = []

    def answer(guest, call):
        if call["call"] == 1:
            held.append(call)
            return None
        if call["call"] == count:
            guest.reply(call, value=call["args"])
            guest.reply(held[0], value=held[0]["args"])
            return None
        return {"value": call["args"]}
    return answer


def interrupted(score):
    stuck = [
        ("sync", "t(1)", []), ("await-no-loop", "await at(1)", []), ("await", "import asyncio\nawait at(1)", ["asyncio"]),
        ("gather", "import asyncio\nawait asyncio.gather(at(1), at(1))", ["asyncio"]),
        ("thread", "import threading\nx = threading.Thread(target=t, args=(1,))\nx.start()\nx.join()", ["threading"]),
        ("behind-thread", "import threading, time\nx = threading.Thread(target=t, args=(1,))\nx.start()\ntime.sleep(0.05)\nt(1)", ["threading", "time"]),
    ]
    for name, code, imports in stuck:
        for number in (signal.SIGINT, signal.SIGUSR1):
            full = "tool/interrupted-%s/%d" % (name, number)
            if not score.wants(full):
                continue
            held = []
            try:
                with Guest(tools=[ANY, ASYNC], imports=imports) as guest:
                    def stop():
                        while not held:
                            time.sleep(0.002)
                        time.sleep(0.1)
                        guest.do(number)
                    claim = guest.run(code, held.append, after=[(0, stop)])
                    # Late answers, between the snippets and in the next one, are nobody's.
                    def answer(call):
                        for h in held:
                            guest.reply(h, value={"x": "late"})
                        return {"value": call["args"]}
                    guest.reply(held[0], value={"x": "late"})
                    again = guest.run("[t(i)['x'] for i in (7, 8)]", answer)
                    third = guest.run("import asyncio\n[x['x'] for x in await asyncio.gather(at(1), at(2))]" if imports == ["asyncio"] else "(await at(3))['x']")
                    kind = "KeyboardInterrupt" if number == signal.SIGINT else "TimeoutError"
                    score.check(full, claim["error"]["type"] == kind and again["value"] == [7, 8] and third["value"] in ([1, 2], 3), (claim, again, third))
            except Died as e:
                score.check(full, False, e)
    for name, code, imports in (("sync", "t(-1)\nwhile True: n += t(n)['x'] - n + 1", []), ("threads", THREADS, ["threading"]),
                                ("await", "import asyncio\nt(-1)\nwhile True: n += (await at(n))['x'] - n + 1", ["asyncio"])):
        full = "tool/storm-" + name
        if score.wants(full):
            # Interrupts at every instant of a call; a lost frame or lock would end this in a timeout or in a wrong number.
            try:
                with Guest(tools=[ANY, ASYNC], imports=imports) as guest:
                    guest.run("n = 0")
                    bad, seen, value = None, {}, -1
                    rounds = 250 if WHOLE else 100  # of 50 instants: each with both signals
                    for i in range(rounds):
                        number = (signal.SIGINT, signal.SIGUSR1)[i % 2]
                        timers = [threading.Timer(i % 50 * 0.00007 + again, guest.do, (number,)) for again in (0, 0.2, 5)]

                        def answer(call):
                            if call["args"]["x"] == -1:  # its threads run: starting one is Python's code, which stands no interrupt
                                for timer in timers:
                                    timer.start()
                            return {"value": call["args"]}
                        claim = guest.run(code, answer)
                        for timer in timers:
                            timer.cancel()
                            timer.join()
                        kind = claim["error"]["type"] if claim["error"] else "ok"
                        seen[kind] = seen.get(kind, 0) + 1
                        if i % 10 == 9:
                            claim = guest.run("[t(i)['x'] for i in range(3)] + [(await at(3))['x']]")
                            if claim["value"] != [0, 1, 2, 3]:
                                bad = claim
                                break
                    now = guest.run("n")
                    score.check(full, bad is None and now["value"] > rounds * 0.4 and set(seen) <= {"KeyboardInterrupt", "TimeoutError"}, (bad, now, seen))
            except (Died, OSError) as e:
                score.check(full, False, repr(e))


THREADS = """
import threading
stop = []
def f():
    while not stop: t(0)
ts = [threading.Thread(target=f, daemon=True) for _ in range(3)]
try:
    for x in ts: x.start()
    t(-1)
    while True: n += t(n)['x'] - n + 1
finally: stop.append(1)
"""


def ends(score):
    def case(name, ok, detail):
        score.check("tool/" + name, ok, detail)
    if score.wants("tool/between-snippets"):
        code = ("import threading, time\nout = []\ndef f():\n    for _ in range(8):\n        time.sleep(0.05)\n        try: out.append(t(1)['x'])\n        except ToolError as e: out.append(str(e))\n"
                "threading.Thread(target=f, daemon=True).start()\nt(0)['x']")
        with Guest(tools=[ANY], imports=["threading", "time"]) as guest:
            first = guest.run(code)
            time.sleep(0.5)  # the interpreter is not running then: its lock is held by who reads the next request
            second = guest.run("while len(out) < 8: time.sleep(0.05)\nlen(out)")
            case("between-snippets", first["value"] == 0 and second["value"] == 8, (first, second, guest.calls))
    if score.wants("tool/thread-outlives"):
        # A thread waits for an answer when its snippet ends: it is told so, and the next request is not its answer.
        held = []
        with Guest(tools=[ANY], imports=["threading", "time"]) as guest:
            first = guest.run("import threading, time\nout = []\ndef f():\n    try: out.append(t('held')['x'])\n    except ToolError as e: out.append(str(e))\n"
                              "x = threading.Thread(target=f)\nx.start()\ntime.sleep(0.1)\n1", held.append)
            time.sleep(0.1)
            second = guest.run("x.join(60)\nout, t(5)['x']")
            case("thread-outlives", first["value"] == 1 and second["value"] and "ended" in str(second["value"]["data"][0]) and second["value"]["data"][1] == 5, (first, second))
    if score.wants("tool/host-gone"):
        for code in ("t(1)", "import asyncio\nawait at(1)", "import threading\nx = threading.Thread(target=t, args=(1,))\nx.start()\nx.join()"):
            guest = Guest(tools=[ANY, ASYNC], imports=["asyncio", "threading"])
            guest.send(b"Q", request("print('x', end='')\n" + code, **guest.keys))
            while guest.frame()[0] != b"C":
                pass
            pid = guest.pid
            guest.socket.close()
            _, status = os.waitpid(pid, 0)
            guest.pid = None
            case("host-gone " + code[:12], os.waitstatus_to_exitcode(status) == 125 and "Traceback" not in guest.output(), (status, guest.output()))
    if score.wants("tool/half-a-frame"):
        guest = Guest(tools=[ANY])
        guest.send(b"Q", request("t(1)", **guest.keys))
        while guest.frame()[0] != b"C":
            pass
        guest.socket.sendall(b"\0\0\0\x50T{\"call\":1,")
        time.sleep(0.1)
        guest.socket.close()
        _, status = os.waitpid(guest.pid, 0)
        guest.pid = None
        case("half-a-frame", os.waitstatus_to_exitcode(status) == 125, status)
    if score.wants("tool/slow-frame"):
        with Guest(tools=[ANY]) as guest:
            def drip(call):
                body = json.dumps({"call": call["call"], "value": "drip"}).encode()
                for byte in (1 + len(body)).to_bytes(4, "big") + b"T" + body:
                    guest.socket.sendall(bytes([byte]))
                    time.sleep(0.002)
            claim = guest.run("t(1)", drip)
            case("slow-frame", claim["value"] == "drip", claim)
    if score.wants("tool/huge-length"):
        with Guest(tools=[ANY]) as guest:
            try:
                claim = guest.run("t(1)", lambda call: guest.socket.sendall(b"\xff\xff\xff\xffT"))
                case("huge-length", False, claim)
            except Died as e:
                case("huge-length", "125" in str(e), e)
    if score.wants("tool/closed-inside"):
        with Guest(tools=[ANY], layer=False) as guest:
            try:
                claim = guest.run("import os\nkeep = os.dup(3)\nos.close(3)\ntry: t(1)\nexcept ToolError as e: r = str(e)\nos.dup2(keep, 3)\nr")
                case("closed-inside", "cannot be reached" in (claim["value"] or ""), claim)
            except Died as e:
                case("closed-inside", False, e)
