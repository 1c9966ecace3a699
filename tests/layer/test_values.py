"""The value of a snippet beyond its last expression: of a last assignment or block, its str.
It compares values, and refuses a value that only looks like the wanted one: types count.
"""

from harness import request, run

TAG = "__type__"
NONE = "no value"

# (code, value with value_of = statement). What has a value as an expression has the same one.
STATEMENTS = [
    ("5", 5), ("", NONE), ("x = 3", 3), ("x: int = 4", 4), ("x: int", NONE), ("x = y = [1]", [1]), ("a, b = 1, 2", {TAG: "tuple", "data": [1, 2]}),
    ("a, *b = 'xyz'", "xyz"), ("x = 1\nx += 2", 3), ("d = {'k': 1}\nd['k'] += 1", 2), ("d = {}\nd['k'] = 7", 7), ("l = [1, 2]\nl[0:1] = [5]", [5]),
    ("class A:\n    n = 1\na = A()\na.n += 4", 5), ("l = [[1]]\nl[0][0] -= 3", -2), ("(x := 6)", 6), ("a=1;b=None", NONE),
    ("calls = []\nd = {1: 1}\ndef f():\n    calls.append(1)\n    return 1\nd[f()] += 5", NONE),    # f() must not be called again
    ("if 1:\n    y = 2\nelse:\n    y = 5", 2), ("if 0:\n    y = 2\nelse:\n    y = 5", 5), ("if 0:\n    y = 2", NONE), ("if 1:\n    7", 7),
    ("if 0: x = 1\nelif 1: x = 2\nelse: x = 3", 2), ("x = 0\nfor i in range(3):\n    x = i", 2), ("for i in range(3):\n    for j in 'ab':\n        s = j * i", "bb"),
    ("for i in range(9):\n    if i > 2: break\n    x = i", 2), ("i = 0\nwhile i < 3:\n    i += 1", 3), ("for i in []:\n    x = 1\nelse:\n    x = 2", 2),
    ("try:\n    x = 1 / 0\nexcept ZeroDivisionError as e:\n    x = 'caught'\nfinally:\n    x = 'end'", "caught"), ("try:\n    x = 1\nexcept ValueError:\n    pass\nelse:\n    x = 2", 2),
    ("match 5:\n    case 4: x = 1\n    case n: x = n", 5), ("from contextlib import suppress\nwith suppress(ValueError):\n    x = 8", 8),
    ("def f(): return 1", NONE), ("class A: x = 5", NONE), ("import math", NONE), ("x = 1\ndel x", NONE), ("pass", NONE), ("assert 1", NONE),
    ("async def f(): return 9\nx = await f()", 9), ("elif_chain = 1\n" + "if 0: x = 0\n" + "".join("elif 0: x = %d\n" % n for n in range(150)) + "else: x = 'last'", "last"),
]
# (code, its str, which is given only where it differs and the value is no text)
STRINGS = [
    ("5", None), ("'a'", None), ("b'a'", None), ("[1]", None), ("None", None), ("object()", None), ("range(3)", None),
    ("from decimal import Decimal\nDecimal('1.10')", "1.10"), ("import datetime\ndatetime.date(2024, 1, 2)", "2024-01-02"),
    ("class A:\n    def __str__(self): return 'text of A'\nA()", "text of A"), ("class A:\n    def __str__(self): raise ValueError\nA()", "<str failed: ValueError>"),
    ("class A:\n    def __str__(self): return 5\nA()", "<str failed: TypeError>"), ("class S(str):\n    def __str__(self): return S('x')\nS('y')", "x"),
    ("class A:\n    def __str__(self): return 'same'\n    def __repr__(self): return 'same'\nA()", None), ("ValueError('why')", "why"),
    ("final_answer(ValueError('why'))", "why"), ("class A:\n    def __str__(self): return 'x' * 99999\nA()", "x" * 8192),
]


# (code that was run before, name, value, or the type of the error)
READ = [
    ("x = (1, 'a')", "x", {TAG: "tuple", "data": [1, "a"]}), ("x = 1", "y", NameError), ("x = 1", "__builtins__", NameError), ("x = 1", "__name__", NameError),
    ("x = 1", "not a name", NameError), ("x = 1", "", NameError), ("import math", "math", {TAG: "repr"}), ("", "len", NameError), ("None", "final_answer", {TAG: "repr"}),
    ("class A:\n    def __repr__(self): raise SystemExit\nx = A()", "x", SystemExit), ("class A:\n    def __repr__(self): final_answer(1)\nx = A()", "x", "FinalAnswer"),
]


def test(score):
    statements(score)
    strings(score)
    variables(score)


def statements(score):
    imports = ["contextlib", "math"]
    for code, want in STATEMENTS:
        name = "value-of/" + code[-60:].replace("\n", ";")
        if not score.wants(name):
            continue
        for layer in (True, False):
            (claim, plain), _ = run(request(code, imports=imports, value_of="statement", layer=layer), request(code, imports=imports, layer=layer))
            value = NONE if claim["type"] == "NoneType" else claim["value"]
            score.check(name, claim["status"] == "ok" and value == want and type(value) is type(want), (claim["value"], claim["error"]))
            if plain["type"] != "NoneType":
                score.check(name + "/as-expression", plain["value"] == value, (plain["value"], value))
    if score.wants("value-of/"):
        claims, held = run(request("calls = []\nd = {1: 1}\ndef f():\n    calls.append(1)\n    return 1\nd[f()] += 5", value_of="statement"), probe="calls")
        score.check("value-of/no-second-call", held == "[1]", held)
        (claim,), _ = run(request("1", value_of="all"))
        score.check("value-of/unknown", claim["error"]["type"] == "RequestError" and "expression, statement" in claim["error"]["message"], claim)
        (claim,), _ = run(request("x = ().__class__.__base__", value_of="statement"))
        score.check("value-of/checked", claim["status"] == "rejected", claim)
        (claim, after), _ = run(request("x = 1", value_of="statement"), request("sorted(dir())", builtins="standard"))
        score.check("value-of/no-trace", "__agentjail_value__" not in str(after["value"]), after["value"])


def strings(score):
    for code, want in STRINGS:
        name = "str/" + code[-60:].replace("\n", ";")
        if score.wants(name):
            (claim,), _ = run(request(code, imports=["decimal", "datetime"]))
            score.check(name, claim.get("str") == want and claim["status"] == "ok", (claim.get("str"), claim["repr"], claim["error"]))
            score.check(name + "/cut", claim["truncated"].get("str") == (True if want == "x" * 8192 else None), claim["truncated"])


def variables(score):
    for code, name, want in READ:
        case = "get/%s of %s" % (name, code[-40:].replace("\n", ";"))
        if score.wants(case):
            claim = run(request(code, imports=["math"]), request(None, imports=["math"], get=name))[0][1]
            if isinstance(want, dict) and len(want) == 1:
                ok = claim["value"].get(TAG) == want[TAG]
            elif isinstance(want, (str, type)):
                ok = claim["status"] == "error" and claim["error"]["type"] == getattr(want, "__name__", want)
            else:
                ok = claim["value"] == want and claim["status"] == "ok"
            score.check(case, ok, claim)

    def case(name, ok, *requests):
        name = "vars/" + name
        if score.wants(name):
            claim = run(*requests)[0][-1]
            score.check(name, ok(claim), claim)
    listing = request(None, vars=True)
    case("none", lambda c: c["value"] == [] and c["type"] == "list", request("1"), listing)
    case("first", lambda c: c["value"] == [], listing)
    case("kinds", lambda c: c["value"] == [
        {"name": "x", "type": "int", "repr": "5"}, {"name": "l", "type": "list", "repr": "[1, 2]", "len": 2}, {"name": "A", "type": "type", "repr": "<class '__main__.A'>"},
        {"name": "a", "type": "A", "repr": "A!"}], request("x = 5\nl = [1, 2]\nclass A:\n    def __repr__(self): return 'A!'\na = A()\n__z = 1"), listing)
    tools = [{"name": "t", "parameters": {"type": "object", "properties": {}}}]
    case("no-tools", lambda c: c["value"] == [{"name": "x", "type": "int", "repr": "1"}], request("x = 1", tools=tools), listing)
    case("a-tool-overwritten", lambda c: [r["name"] for r in c["value"]] == ["t"], request("t = 1\nfinal_answer = 2", tools=tools), listing)
    case("hostile", lambda c: [r["repr"] for r in c["value"][1:]] == ["<repr failed: ValueError>"] and "len" not in c["value"][1] and c["status"] == "ok",
         request("class A:\n    def __repr__(self): raise ValueError\n    def __len__(self): raise ValueError\na = A()"), listing)
    case("long", lambda c: c["value"][0]["repr"] == "'" + "a" * 199 and c["value"][0]["len"] == 5000, request("x = 'a' * 5000"), listing)
    case("many", lambda c: len(c["value"]) == 1000 and c["truncated"] == {"value": True} and c["value"][999]["name"] == "v999",
         request("\n".join("v%d = %d" % (i, i) for i in range(1500))), listing)
    case("cap", lambda c: 5 < len(c["value"]) < 20 and c["truncated"] == {"value": True}, request("\n".join("v%d = 'a' * 300" % i for i in range(50)), limits={"value_bytes": 10000}), request(None, vars=True, limits={"value_bytes": 10000}))
    case("inputs-too", lambda c: c["value"] == [{"name": "y", "type": "int", "repr": "3"}], request(None, vars=True, inputs={"y": 3}))
    case("no-trace", lambda c: c["value"] == 1, request("x = 1"), listing, request(None, get="x"), request("x"))
    case("bad", lambda c: c["error"]["type"] == "RequestError", request(None, get=5))
