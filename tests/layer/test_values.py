"""The value of a snippet beyond its last expression: of a last assignment or block, its str.
It compares values, and refuses a value that only looks like the wanted one: types count.
"""

import os
import re

from harness import HERE, request, run

TAG = "__type__"
NONE = "no value"

# (code, value with value_of = statement). An expression has the same value as ever.
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
    tags(score)
    refused(score)
    handles(score)
    arrays(score)
    documented(score)


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


CLASSES = "import datetime\nfrom decimal import Decimal\nfrom enum import Enum, IntEnum, Flag\nfrom pathlib import PurePosixPath\nfrom dataclasses import dataclass, field\n" \
    "class Color(Enum):\n    RED = 1\n    SOFT = (1, 'a')\nclass Size(IntEnum):\n    BIG = 9\nclass Bits(Flag):\n    A = 1\n    B = 2\n" \
    "@dataclass\nclass P:\n    x: int\n    y: list = field(default_factory=list)\n    def __post_init__(self): made.append(1)\n" \
    "@dataclass(frozen=True, slots=True)\nclass F:\n    p: P\n    z: int = field(init=False, default=7)\nmade = []\n"
# Each value goes out, comes in as an input, and must be the same: by type and by ==.
ROUND = ["None", "True", "5", "2 ** 70", "1.5", "'a\\0b'", "'\\ud800'", "b'\\x00'", "bytearray(b'a')", "1 + 2j", "(1, (2, [3]))", "{1, 2}", "frozenset({1})", "{(1, 2): {3}}",
         "[{'__type__': 'tuple', 'data': [1]}]", "Decimal('1.10')", "datetime.datetime(2024, 1, 2, 3, 4, 5, 6)", "datetime.date(2024, 1, 2)", "datetime.time(3, 4)",
         "datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)", "datetime.timedelta(days=1, microseconds=5)", "Color.RED", "Color.SOFT", "[Color.RED, {'k': Size.BIG}]", "Bits.A", "Bits.A | Bits.B",
         "P(1, [Color.RED])", "F(P((1, 2)))", "{'a': P(1)}"]
# (tag, word of the message): no value here
REFUSED = [
    ({TAG: "Enum", "class_name": "None_such", "module": "__main__", "name": "A", "value": 1}, "no class None_such"), ({TAG: "Enum", "class_name": "P", "module": "__main__", "name": "A", "value": 1}, "no Enum"),
    ({TAG: "Enum", "class_name": "Popen", "module": "subprocess", "name": "A", "value": 1}, "no class Popen"), ({TAG: "dataclass", "class_name": "P", "module": "__main__", "data": {"x": 1}}, "no dataclass with these fields"),
    ({TAG: "dataclass", "class_name": "Color", "module": "__main__", "data": {}}, "no dataclass"), ({TAG: "dataclass", "class_name": "__builtins__", "module": "__main__", "data": {}}, "no class"),
    ({TAG: "ndarray", "data": [1], "dtype": "int64"}, "numpy, which the policy does not allow"), ({TAG: "DataFrame", "data": [], "columns": [], "dtypes": [], "index": None}, "pandas, which the policy"),
    ({TAG: "PIL.Image", "data": ""}, "PIL.Image, which the policy"), ({TAG: "handle", "id": "h1"}, "no handle h1"), ({TAG: "Enum"}, "cannot be read (KeyError"), ({TAG: "set", "data": [[]]}, "cannot be read (TypeError"),
]


def tags(score):
    imports = ["datetime", "decimal", "enum", "pathlib", "dataclasses"]
    for text in ROUND:
        name = "round/" + text
        if not score.wants(name):
            continue
        for layer in (True, False):
            (claim, _), _ = run(request(CLASSES + text, imports=imports, layer=layer), request("1", imports=imports, layer=layer))
            code = "want = %s\nx == want, type(x) is type(want), repr(x) == repr(want), len(made)" % text
            (first, second), _ = run(request(CLASSES, imports=imports, layer=layer), request(code, imports=imports, layer=layer, inputs={"x": claim["value"]}))
            got = second["value"] and second["value"]["data"]
            score.check(name, got is not None and got[:3] == [True, True, True], (claim["value"], second["value"], second["error"]))
            score.check(name + "/no-init", got is not None and got[3] == text.count("P("), got)


def refused(score):
    for tag, word in REFUSED:
        name = "refused/%s %s" % (tag[TAG], word)
        if score.wants(name):
            imports = ["datetime", "decimal", "enum", "pathlib", "dataclasses"]
            claims, _ = run(request(CLASSES, imports=imports), request("1", imports=imports, inputs={"x": [tag]}), request("2", imports=imports))
            e = claims[1]["error"] or {"message": ""}
            score.check(name, claims[1]["status"] == "error" and word in e["message"] and claims[2]["value"] == 2, claims[1])


def handles(score):
    def case(name, ok, *requests):
        name = "handle/" + name
        if score.wants(name):
            claims, _ = run(*requests)
            score.check(name, ok(claims), claims)
    def wants(code, **keys):
        return request(code, handles=True, **keys)
    GEN = "def g():\n    yield 1\n    yield 2\nx = g()\nx"
    one = {TAG: "handle", "id": "h1"}
    case("value", lambda c: dict(c[0]["value"], repr=0) == {TAG: "handle", "id": "h1", "type": "generator", "repr": 0} and c[0]["value"]["repr"][:18] == "<generator object " and c[0]["truncated"] == {}, wants(GEN))
    case("back", lambda c: c[1]["value"] == [1, True], wants(GEN), request("[next(y), y is x]", inputs={"y": one}))
    case("nested-back", lambda c: c[1]["value"] is True, wants(GEN), request("y['k'][0] is x", inputs={"y": {"k": [one]}}))
    case("same-name", lambda c: [c[i]["value"]["id"] for i in (0, 1, 2)] == ["h1", "h1", "h2"], wants(GEN), wants("x"), wants("g"))
    case("inside", lambda c: c[0]["value"]["a"] == 1 and c[0]["value"]["b"][0]["id"] == "h1" and c[0]["value"]["b"][0]["type"] == "A",
         wants("class A: pass\n{'a': 1, 'b': [A()]}"))
    case("not-asked", lambda c: c[0]["value"][TAG] == "repr" and c[1]["error"]["type"] == "TagError", request(GEN), request("1", inputs={"y": one}))
    case("plain", lambda c: c[0]["value"] == {"a": [1, {TAG: "tuple", "data": [2]}]}, wants("{'a': [1, (2,)]}"))
    case("too-big", lambda c: c[0]["value"][TAG] == "handle" and c[0]["truncated"]["value"] is True and c[1]["value"] == 2000000,
         wants("x = 'a' * 2000000\nx"), request("len(y)", inputs={"y": one}))
    case("cycle", lambda c: c[0]["value"]["repr"] == "[1, [...]]" and c[1]["value"] is True, wants("x = [1]\nx.append(x)\nx"), request("y is x", inputs={"y": one}))
    case("many-inside", lambda c: c[0]["value"][TAG] == "handle" and c[0]["value"]["type"] == "list" and c[0]["truncated"]["value"] is True, wants("[(i for i in 'a') for _ in range(200)]"))
    case("last", lambda c: c[0]["value"][TAG] == "repr", wants("print", last=True))
    case("get", lambda c: c[1]["value"]["id"] == "h1" and c[2]["value"] == 1, request(GEN), request(None, get="x", handles=True), request("next(y)", inputs={"y": one}))
    case("forgotten", lambda c: c[0]["status"] == "ok" and c[-2]["error"]["type"] == "TagError" and "the last 1000" in c[-2]["error"]["message"] and c[-1]["value"] == 5,
         wants("class A: pass\n[A() for _ in range(100)]"), *[wants("[A() for _ in range(100)]") for _ in range(10)], wants("a = A()\na.n = 5\na"),
         request("1", inputs={"y": one}), request("y.n", inputs={"y": {TAG: "handle", "id": "h1101"}}))
    case("final", lambda c: c[0]["final_answer"][TAG] == "handle", wants("final_answer(print)"))
    case("hostile-repr", lambda c: c[0]["value"]["repr"] == "<repr failed: ValueError>", wants("class A:\n    def __repr__(self): raise ValueError\nA()"))
    case("long-repr", lambda c: len(c[0]["value"]["repr"]) == 1024, wants("class A:\n    def __repr__(self): return 'a' * 9999\nA()"))
    case("named-like-a-type", lambda c: c[0]["value"]["type"] == "int" and c[0]["value"]["id"] == "h1", wants("class int: pass\nint()"))


ARRAYS = "import numpy as np\nimport pandas as pd\n"
# Round trips, by dtype and equality, where numpy and pandas are.
ARRAY_VALUES = [
    "np.array([1, 2, 3])", "np.array([[1.5, np.nan], [np.inf, 2]])", "np.zeros((0, 3))", "np.array(5)", "np.array([True])", "np.array(['a', 'bc'])", "np.array([b'a'])", "np.array([1 + 2j])",
    "np.array(['2024-01-02', 'NaT'], dtype='datetime64[D]')", "np.array([5], dtype='timedelta64[h]')", "np.array([1], dtype='uint8')", "np.arange(6).reshape(1, 2, 3)",
    "pd.Series([1, 2])", "pd.Series([1.5, None], name='n')", "pd.Series(['a', None], index=['x', 'y'])", "pd.Series([1, None], dtype='Int64')", "pd.Series(['b', 'a', 'b'], dtype='category')",
    "pd.Series(pd.to_datetime(['2024-01-02', None]))", "pd.Series(pd.to_datetime(['2024-01-02']).tz_localize('UTC'))", "pd.Series(pd.to_timedelta([5, None], unit='s'))", "pd.Series([], dtype='float64')",
    "pd.Series([1], index=pd.Index([5], name='key'))", "pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, None]})", "pd.DataFrame({'a': [1]}, index=pd.to_datetime(['2024-01-02']))",
    "pd.DataFrame([[1, 2]], columns=['same', 'same'])", "pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)]))", "pd.DataFrame()", "pd.DataFrame(index=[1, 2])", "pd.DataFrame(columns=['a'])",
    "pd.DataFrame({'k': ['a', 'a', 'b'], 'v': [1, 2, 3]}).groupby('k').sum()", "pd.DataFrame({'k': ['a', 'b'], 'l': [1, 2], 'v': [1, 2]}).set_index(['k', 'l'])", "pd.DataFrame({'o': [[1], {'a': 2}]})",
    "pd.Timestamp('2024-01-02 03:04:05.123456789')", "pd.Timedelta(5, 's')",
]


def arrays(score):
    try:
        import numpy  # noqa: F401
        import pandas  # noqa: F401
    except ImportError:
        score.skip("array", "numpy and pandas are not installed")
        return
    imports = ["numpy", "pandas"]
    for text in ARRAY_VALUES:
        name = "array/" + text
        if not score.wants(name):
            continue
        (claim,), _ = run(request(ARRAYS + text, imports=imports))
        (again,), _ = run(request(ARRAYS + "want = %s\nx" % text, imports=imports, inputs={"x": claim["value"]}))
        code = ARRAYS + "want = %s\ntry:\n    same = x.equals(want)\nexcept AttributeError:\n    same = x == want if not hasattr(x, 'shape') else np.array_equal(x, want, equal_nan=x.dtype.kind in 'fcmM')\n" % text
        code += "type(x) is type(want), bool(same), str(getattr(x, 'dtype', 0)) == str(getattr(want, 'dtype', 0)), repr(x) == repr(want)"
        (second,), _ = run(request(code, layer=False, inputs={"x": claim["value"]}))
        got = second["value"] and second["value"]["data"]
        score.check(name, got == [True, True, True, True] and claim["value"][TAG] not in ("repr", "handle") and again["value"] == claim["value"], (claim["value"], got, second["error"] or again["value"]))

    def case(name, code, ok, **keys):
        if score.wants("array/" + name):
            claims, _ = run(request(ARRAYS + code, imports=imports, **keys))
            score.check("array/" + name, ok(claims[0]), claims)
    try:
        import PIL  # noqa: F401
    except ImportError:
        score.skip("array/image", "Pillow is not installed")
    else:
        (claim,), _ = run(request("from PIL import Image\nImage.new('RGB', (3, 2), (1, 2, 3))", layer=False))
        (second,), _ = run(request("x.size, x.mode, x.getpixel((2, 1))", imports=["PIL.*"], inputs={"x": claim["value"]}))
        score.check("array/image", second["repr"] == "((3, 2), 'RGB', (1, 2, 3))", (claim["value"], claim["error"], second["error"]))
    case("scalars", "[np.float64(1.5), np.int32(5), np.bool_(True), np.str_('a'), np.float32(0.5)]", lambda c: c["value"] == [1.5, 5, True, "a", 0.5])
    case("objects", "np.array([object()])", lambda c: c["value"][TAG] == "repr" and c["truncated"] == {})
    case("objects-handle", "np.array([object()])", lambda c: c["value"][TAG] == "handle" and c["value"]["type"] == "numpy.ndarray", handles=True)
    case("large", "np.zeros(10 ** 6)", lambda c: c["value"][TAG] == "repr" and c["truncated"] == {"value": True})
    case("large-handle", "pd.DataFrame({'a': range(10 ** 6)})", lambda c: c["value"][TAG] == "handle" and c["value"]["type"][-9:] == "DataFrame" and c["truncated"]["value"], handles=True)
    case("subclass", "class D(pd.DataFrame): pass\nD()", lambda c: c["value"][TAG] == "repr")


def documented(score):
    """docs/reference/values.md has the table of tags."""
    if score.wants("documented"):
        from agentjail.values.type_tags import READERS, TAGS
        with open(os.path.join(HERE, "..", "..", "docs", "reference", "values.md")) as f:
            rows = re.findall(r"^\| `(\S+)` \| (.+) \| (.+) \|$", f.read(), re.M)
        score.check("values/documented", {row[0]: row[1:] for row in rows} == TAGS, set(rows) ^ {(k, *v) for k, v in TAGS.items()})
        score.check("values/read", set(TAGS) - set(READERS) == {"repr"}, set(TAGS) ^ set(READERS))
