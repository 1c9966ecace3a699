"""The claim: values with their tags, errors with their positions, sizes, sessions, and what must never crash.
It refuses output that a strict JSON reader would refuse.
"""

import json
import sys

from harness import framed, STDLIB, request, run

TAG = "__type__"

# (code, value as it arrives in the claim)
VALUES = [
    ("None", None), ("True", True), ("1.5", 1.5), ("'ü\\n\\t\"\\\\'", "ü\n\t\"\\"), ("[1, [2, []]]", [1, [2, []]]),
    ("{'a': {'b': None}}", {"a": {"b": None}}),
    ("(1, 'a')", {TAG: "tuple", "data": [1, "a"]}),
    ("{5}", {TAG: "set", "data": [5]}),
    ("frozenset([5])", {TAG: "frozenset", "data": [5]}),
    ("b'\\x00\\xff'", {TAG: "bytes", "data": "AP8="}),
    ("bytearray(b'a')", {TAG: "bytearray", "data": "YQ=="}),
    ("1 + 2j", {TAG: "complex", "real": 1.0, "imag": 2.0}),
    ("2 ** 53", 2 ** 53), ("-2 ** 53", -2 ** 53),
    ("2 ** 53 + 1", {TAG: "int", "data": str(2 ** 53 + 1)}),
    ("-2 ** 70", {TAG: "int", "data": str(-2 ** 70)}),
    ("2 ** 20000", {TAG: "int", "data": hex(2 ** 20000)}),
    ("float('nan')", {TAG: "float", "data": "nan"}), ("-float('inf')", {TAG: "float", "data": "-inf"}), ("1e300", 1e300),
    ("{1: 'a'}", {TAG: "dict_with_complex_keys", "data": [[1, "a"]]}),
    ("{'__type__': 'tuple', 'data': [1]}",
     {TAG: "dict_with_complex_keys", "data": [["__type__", "tuple"], ["data", [1]]]}),
    ("import datetime\ndatetime.datetime(2024, 1, 2, 3)", {TAG: "datetime", "data": "2024-01-02T03:00:00"}),
    ("import datetime\ndatetime.date(2024, 1, 2)", {TAG: "date", "data": "2024-01-02"}),
    ("import datetime\ndatetime.time(3, 4)", {TAG: "time", "data": "03:04:00"}),
    ("import datetime\ndatetime.timedelta(hours=1)", {TAG: "timedelta", "total_seconds": 3600.0}),
    ("from decimal import Decimal\nDecimal('1.10')", {TAG: "Decimal", "data": "1.10"}),
    ("from collections import Counter, OrderedDict\n[Counter('a'), OrderedDict(b=1)]", [{"a": 1}, {"b": 1}]),
    ("from collections import namedtuple\nnamedtuple('P', 'x')(1)", {TAG: "tuple", "data": [1]}),
    ("from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\nD((1,))",
     {TAG: "dataclass", "class_name": "D", "module": "__main__", "data": {"x": {TAG: "tuple", "data": [1]}}}),
    ("'\\ud800 x'", {TAG: "str", "data": "7aCAIHg="}), ("'a\\0b'", "a\0b"), ("{'a\\0b': 1}", {TAG: "dict_with_complex_keys", "data": [["a\0b", 1]]}), ("'\\U0001f600'", "\U0001f600"), ("'\\u2028'", "\u2028"),
    ("l = [1]; l.append(l)\nl", {TAG: "repr", "data": "[1, [...]]"}),
    ("range(3)", {TAG: "repr", "data": "range(0, 3)"}),
    ("class A:\n    def __repr__(self): return 'A!'\nA()", {TAG: "repr", "data": "A!"}),
    ("class A:\n    def __repr__(self): raise ValueError\nA()", {TAG: "repr", "data": "<repr failed: ValueError>"}),
    ("class A:\n    def __repr__(self): return 5\nA()", {TAG: "repr", "data": "<repr failed: TypeError>"}),
    ("class S(str):\n    def __repr__(self): return S('x')\nS()", {TAG: "repr", "data": "x"}),
    ("class L(list):\n    def __len__(self): return 10**9\n    def __repr__(self): return 'L'\nL()", {TAG: "repr", "data": "L"}),
    ("class datetime: \n    def isoformat(self): return 1\n    def __repr__(self): return 'fake'\ndatetime.__qualname__ = 'datetime'\ndatetime()",
     {TAG: "repr", "data": "fake"}),
]

# Inputs, and what the snippet sees of them.
INPUTS = [
    (5, "5"), ("ü😀\"\\\n", "'ü😀\"\\\\\\n'"), ([1, {"a": None}], "[1, {'a': None}]"), (1.5, "1.5"), (-3, "-3"), (True, "True"),
    ({TAG: "tuple", "data": [1, {TAG: "set", "data": [2]}]}, "(1, {2})"),
    ({TAG: "bytes", "data": "AP8="}, "b'\\x00\\xff'"), ({TAG: "int", "data": str(2 ** 70)}, str(2 ** 70)),
    ({TAG: "float", "data": "-inf"}, "-inf"), ({TAG: "complex", "real": 1, "imag": 2}, "(1+2j)"),
    ({TAG: "date", "data": "2024-01-02"}, "datetime.date(2024, 1, 2)"), ({TAG: "timedelta", "total_seconds": 1}, "datetime.timedelta(seconds=1)"),
    ({TAG: "Decimal", "data": "1.1"}, "Decimal('1.1')"), ({TAG: "frozenset", "data": [1]}, "frozenset({1})"),
    ({TAG: "dict_with_complex_keys", "data": [[1, 2]]}, "{1: 2}"), ({TAG: "no such tag", "x": 1}, "{'__type__': 'no such tag', 'x': 1}"),
    ([], "[]"), ({}, "{}"), ([[], [{}]], "[[], [{}]]"), (1e22, "1e+22"), (-0.5, "-0.5"),
]

# (name, code, status, error type, line, column, source line)
ERRORS = [
    ("zero", "x = 1\ny = x / 0", "error", "ZeroDivisionError", 2, 5, "y = x / 0"),
    ("in-function", "def f(a):\n    return a['k']\nf({})", "error", "KeyError", 2, 12, "    return a['k']"),
    ("after-unicode", "'ü' + '值' + undefined", "error", "NameError", 1, 13, "'ü' + '值' + undefined"),
    ("in-library", "import json\njson.loads('{')", "error", "JSONDecodeError", 2, 1, "json.loads('{')"),
    ("syntax", "x = 1\ndef f(:\n  pass", "error", "SyntaxError", 2, 7, "def f(:"),
    ("syntax-unicode", "ü = '值' +", "error", "SyntaxError", 1, 10, "ü = '值' +"),
    ("indent", "if 1:\nx = 1", "error", "IndentationError", 2, 1, "x = 1"),
    ("tab", "if 1:\n\tx = 1\n        y = 2", "error", "TabError", 3, None, "        y = 2"),
    ("import", "x = 1\nimport os", "rejected", "PolicyError", 2, 8, "import os"),
    ("attribute", "y = 1\nx = y.real.__globals__", "rejected", "PolicyError", 2, 12, "x = y.real.__globals__"),
    ("exit", "raise SystemExit(3)", "error", "SystemExit", 1, 1, "raise SystemExit(3)"),
    ("keyboard", "raise KeyboardInterrupt", "error", "KeyboardInterrupt", 1, 1, "raise KeyboardInterrupt"),
    ("recursion", "def f(): return f()\nf()", "error", "RecursionError", 1, 17, "def f(): return f()"),
    ("memory", "x = bytearray(1 << 62)", "error", "MemoryError", 1, 5, "x = bytearray(1 << 62)"),
    ("str-fails", "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "error", "E", 3, 1, "raise E"),
    ("nul", "x = 1\ny = '\0'", "error", "SyntaxError", 2, 6, None),
    ("surrogate", "x = 1\ny = '\ud800'", "error", "SyntaxError", 2, 6, None),
    ("bom", "\ufeffx = 1/0", "error", "ZeroDivisionError", 1, 5, "x = 1/0"),
    ("bom-inside", "x = \ufeff1", "error", "SyntaxError", 1, 5, None),
    ("u2028", "x = 1 \u2028 y", "error", "SyntaxError", 1, 7, None),
    ("cr-lines", "x = 1\ry = 1/0\r", "error", "ZeroDivisionError", 2, 5, "y = 1/0"),
    ("crlf-lines", "x = 1\r\ny = 1/0\r\n", "error", "ZeroDivisionError", 2, 5, "y = 1/0"),
    ("form-feed", "x = '\\f'\n\fy = 1/0", "error", "ZeroDivisionError", 2, 6, "\fy = 1/0"),
    ("u2028-in-string", "x = 'a\u2028b'\n1/0", "error", "ZeroDivisionError", 2, 1, "1/0"),
    ("utf7-cookie", "# -*- coding: utf-7 -*-\n+AG8AcwBfAA-", "error", "SyntaxError", 2, None, None),
    ("latin-cookie", "# -*- coding: latin-1 -*-\nassert 'ü' == '\\xfc'\n1/0", "error", "ZeroDivisionError", 3, 1, "1/0"),
    ("long-name", "raise type('E' * 10**5, (ValueError,), {})", "error", "E" * 200, 1, 1, None),
    ("line-of-code", "raise SyntaxError('m', ('f', 10**30, -5, 't', 10**30, 10**30))", "error", "SyntaxError", 1, 1, None),
    ("line-of-text", "raise SyntaxError('m', ('f', 'x', 'y', 't'))", "error", "SyntaxError", 1, 1, None),
    ("rule-of-code", "e = ValueError('m')\ne.agentjail = 'R' * 10**5\ne.agentjail_hint = 'h' * 10**6\nraise e", "error", "ValueError", 4, 1, None),
    ("nul-message", "raise ValueError('\\0' * 10**5)", "error", "ValueError", 1, 1, None),
    ("absent-builtin", "help('/x')", "error", "NameError", 1, 1, "help('/x')"),
    ("no-file", "open('/etc/hostname')", "error", "PermissionError", 1, 1, "open('/etc/hostname')"),
    ("no-stdin", "input()", "error", "EOFError", 1, 1, "input()"),
    ("group", "raise ExceptionGroup('g', [ValueError(1)])", "error", "ExceptionGroup", 1, 1, "raise ExceptionGroup('g', [ValueError(1)])"),
    ("await-nothing", "class A:\n    def __await__(self): yield 5\nawait A()", "error", "RuntimeError", 2, None, None),
    ("return-outside", "return 5", "error", "SyntaxError", 1, 1, "return 5"),
    ("star-import-inside", "def f():\n    from math import *", "error", "SyntaxError", 2, None, None),
]

# Source that must end in a clear answer, quickly and without a crash. (name, code, statuses that are fine)
BOMBS = [
    ("power", "x = 10**10**8 if 0 else 1\nx", ("ok",)),
    ("string", "x = lambda: 'a' * 10**10\n1", ("ok",)),
    ("shift", "x = lambda: 1 << 10**10\n1", ("ok",)),
    ("tuple", "x = lambda: (1,) * 10**10\n1", ("ok",)),
    ("nested-tuple-fold", "x = lambda: ((1, 2) * 200) * 200\n1", ("ok",)),
    ("parens", "(" * 100000, ("rejected", "error")),
    ("parens-closed", "(" * 100000 + ")" * 100000, ("rejected", "error")),
    ("parens-150", "(" * 150 + "1" + ")" * 150, ("ok",)),
    ("brackets", "[" * 90 + "]" * 90, ("ok", "rejected")),
    ("minus", "-" * 100000 + "1", ("rejected",)),
    ("not", "not " * 50000 + "1", ("rejected",)),
    ("tilde-3000", "~" * 3000 + "1", ("rejected",)),
    ("attributes", "x" + ".a" * 100000, ("rejected",)),
    ("calls", "x" + "()" * 50000, ("rejected",)),
    ("subscripts", "x" + "[0]" * 50000, ("rejected",)),
    ("sum", "+".join(["1"] * 50000), ("rejected",)),
    ("power-chain", "**".join(["1"] * 5000), ("rejected",)),
    ("elif", "if 0: pass\n" + "elif 0: pass\n" * 5000, ("rejected",)),
    ("lambda", "lambda: " * 20000 + "1", ("rejected",)),
    ("if-else", "1 if 1 else " * 20000 + "1", ("rejected",)),
    ("indents", "".join(" " * i + "if 1:\n" for i in range(99)) + " " * 99 + "pass", ("ok",)),
    ("indents-101", "".join(" " * i + "if 1:\n" for i in range(120)) + " " * 120 + "pass", ("error", "rejected")),
    ("functions", "".join(" " * i + "def f():\n" for i in range(90)) + " " * 90 + "pass", ("ok", "error", "rejected")),
    ("digits", "9" * 100000, ("error",)),
    ("hex-digits", "0x" + "f" * 400000 + " and 1", ("ok",)),
    ("long-string", "len('" + "a" * 900000 + "')", ("ok",)),
    ("long-line", "x = [" + "1," * 100000 + "]\nlen(x)", ("ok",)),
    ("many-nodes", "x = 1\n" * 134000, ("rejected",)),
    ("f-string-depth", "f'" + "{f\"" * 3 + "\"}" * 3 + "'", ("error", "ok", "rejected")),
    ("unclosed-string", "'" + "a" * 100000, ("error",)),
    ("backslashes", "\\\n" * 50000 + "1", ("ok", "error")),
    ("comment", "#" * 500000, ("ok",)),
    ("empty", "", ("ok",)),
    ("only-comment", "# nothing", ("ok",)),
    ("too-long", "#" * 1100000, ("rejected",)),
    ("decorators", "@f\n" * 5000 + "def g(): pass", ("error",)),
    ("with-items", "with " + ", ".join(["a"] * 5000) + ": pass", ("error", "rejected")),
    ("compare", "<".join(["1"] * 20000), ("ok",)),
    ("bool-ops", " or ".join(["0"] * 20000), ("ok",)),
    ("match-nest", "match 1:\n case " + "[" * 80 + "]" * 80 + ": pass", ("ok", "error", "rejected")),
]


def test(score):
    values(score)
    errors(score)
    for name, code, fine in BOMBS:
        if score.wants("bomb/" + name):
            for layer in (True, False):
                (claim,), _ = run(request(code, layer=layer))
                ok = claim["status"] in (fine if layer else ("ok", "error", "rejected"))
                score.check("bomb/%s/layer-%s" % (name, layer), ok, (claim["status"], claim["error"]))
    policies(score)
    sessions(score)
    limits(score)
    test_process(score)


def values(score):
    for code, want in VALUES:
        name = "value/" + code[-40:]
        if not score.wants(name):
            continue
        for layer in (True, False):
            (claim,), _ = run(request(code, imports=STDLIB, layer=layer))
            score.check(name + "/layer-%s" % layer, claim["status"] == "ok" and claim["value"] == want
                        and type(claim["value"]) is type(want), (claim["value"], claim["error"]))
        (claim,), _ = run(request(code.rpartition("\n")[0] + "\nfinal_answer(" + code.rpartition("\n")[2].rpartition(";")[2]
                                  + ")" if ";" not in code else "final_answer(0)", imports=STDLIB))
        score.check(name + "/final", claim["is_final"] and (";" in code or claim["final_answer"] == want)
                    and claim["value"] is None, (claim["final_answer"], claim["error"]))
        # Values that go out come back in.
        if type(want) is dict and want.get(TAG) not in ("repr", "dataclass") and "OrderedDict" not in code:
            (claim,), _ = run(request("x", inputs={"x": want}, imports=STDLIB))
            score.check(name + "/round-trip", claim["value"] == want, (claim["value"], claim["error"]))
    for value, want in INPUTS:
        name = "input/" + want[:30]
        if score.wants(name):
            (claim,), _ = run(request("x", inputs={"x": value}))
            score.check(name, claim["repr"] == want, (claim["repr"], claim["error"]))
    if score.wants("input/large"):
        big = [{"k": "v%d" % i, "n": [i, i / 7, None]} for i in range(20000)]
        (claim,), _ = run(request("len(x), x[19999]['n'][0]", inputs={"x": big}))
        score.check("input/large", claim["repr"] == "(20000, 19999)", claim)
    try:
        import numpy  # noqa: F401
    except ImportError:
        score.skip("value/numpy", "numpy is not installed")


def errors(score):
    for name, code, status, kind, line, column, source in ERRORS:
        name = "error/" + name
        if not score.wants(name):
            continue
        (claim,), _ = run(request(code, imports=STDLIB))
        e = claim["error"] or {}
        ok = claim["status"] == status and e["type"] == kind and e["line"] == line and (
            column is None or e["column"] == column) and (source is None or e["source"] == source)
        score.check(name, ok, (claim["status"], e))
    if score.wants("error/traceback"):
        code = "import json\ndef g(x):\n    return json.loads(x)\ndef f():\n    try: g('{')\n    except ValueError as e: raise KeyError('k') from e\nf()"
        (claim,), _ = run(request(code, imports=STDLIB))
        text = claim["error"]["traceback"]
        want = ["line 7, in <module>", "line 6, in f", "line 5, in f", "line 3, in g", "direct cause", "KeyError: 'k'", "JSONDecodeError"]
        score.check("error/traceback", all(w in text for w in want) and "decoder" not in text and "agentjail/" not in text, text)
        (claim,), _ = run(request("def f(n):\n    return f(n + 1)\nf(0)"))
        text = claim["error"]["traceback"]
        score.check("error/traceback-recursion", len(text) < 3000 and "more times" in text or "left out" in text, text)
        (claim,), _ = run(request("raise ValueError('x' * 10**6)"))
        score.check("error/message-cap", len(claim["error"]["message"]) <= 8192 and len(claim["error"]["traceback"]) < 20000, "")
    if score.wants("error/frames"):
        code = "def f(x):\n    return {}[x]\ndef g(x):\n    try: f(x)\n    except KeyError as e: raise ValueError('v') from e\n"
        (one, two), _ = run(request(code), request("\ng('k')", filename="later.py"))
        e = two["error"]
        score.check("error/frames", [(x["file"], x["line"], x["column"], x["function"], x["source"]) for x in e["frames"]] == [
            ("later.py", 2, 1, "<module>", "g('k')"), ("<snippet>", 5, 27, "g", "    except KeyError as e: raise ValueError('v') from e")], e)
        score.check("error/frames-chain", [(x["type"], x["message"], x["line"], x["relation"]) for x in e["chain"]] == [("KeyError", "'k'", 2, "cause")]
                    and e["chain"][0]["source"] == "    return {}[x]" and "frames_omitted" not in e, e)
        (claim,), _ = run(request("try: 1/0\nexcept ZeroDivisionError: {}['k']"))
        e = claim["error"]
        score.check("error/frames-context", "frames" not in e and [(x["type"], x["relation"]) for x in e["chain"]] == [("ZeroDivisionError", "context")], e)
        (claim,), _ = run(request("try: 1/0\nexcept ZeroDivisionError: raise KeyError('k') from None"))
        score.check("error/frames-from-none", not {"frames", "chain"} & set(claim["error"]), claim["error"])
        (claim,), _ = run(request("def f(n):\n    return f(n + 1)\nf(0)"))
        e = claim["error"]
        score.check("error/frames-recursion", len(e["frames"]) == 40 and e["frames_omitted"] > 100 and e["frames"][0]["line"] == 3 and e["frames"][39]["line"] == 2, e)
        (claim,), _ = run(request("e = None\nfor i in range(30):\n    x = ValueError(i)\n    x.__cause__ = e\n    e = x\nraise e", layer=False))
        e = claim["error"]
        score.check("error/frames-long-chain", [x["message"] for x in e["chain"]] == ["28", "27", "26", "25", "24", "23", "22"], e)
        (claim,), _ = run(request("e = ValueError(1)\ne.__cause__ = e\nraise e", layer=False))
        score.check("error/frames-own-cause", "chain" not in claim["error"], claim["error"])
    if score.wants("error/help"):
        (claim,), _ = run(request("import numpy.linalg, os\nfrom sys import path\neval('1').__globals__", imports=["numpy", "math"]))
        e = claim["errors"]
        score.check("error/help-all", [x["rule"] for x in e] == ["PY-IMPORT", "PY-IMPORT", "PY-IMPORT", "PY-DUNDER"], e)
        score.check("error/help-text", e[0]["message"] == "Import of numpy.linalg is not allowed. Allowed: numpy, math"
                    and e[0]["allowed"] == ["numpy", "math"] and e[1]["message"] == "Import of os is not allowed", e)
        score.check("error/help-list-once", json.dumps(e).count("Allowed:") == 1 and ["allowed" in x for x in e] == [
            True, False, False, False], e)
        score.check("error/help-hints", all(x["hint"] for x in e) and claim["error"] == e[0], e)
        (claim,), _ = run(request("import requests, urllib.request\nfrom subprocess import run\nimport pickle, yaml, os.path", imports=["json"]))
        hints = [x.get("hint") for x in claim["errors"]]
        score.check("error/help-modules", ["network" in (hints[0] or ""), hints[1], "processes" in hints[2], hints[3], hints[4],
                    "files" in hints[5]] == [True, None, True, "Unpickling runs code. Use json.", "Use json.", True], hints)
        (claim,), _ = run(request("import pickle, yaml", imports=["math"]))
        hints = [x.get("hint", "") for x in claim["errors"]]
        score.check("error/help-modules-allowed", not any("json" in h for h in hints), hints)
        # A hint contradicts no list: where threads, pickle and files are allowed, no text says that they are not.
        wide = ["threading", "concurrent.futures", "pickle", "json", "logging", "pathlib", "os"]
        (claim,), _ = run(request("import multiprocessing\nimport dill\nimport logging.config\nimport mmap\nimport atexit", imports=wide))
        score.check("error/help-wide", [x["hint"] for x in claim["errors"]] == [
            "This code starts no processes of its own. Use concurrent.futures.", "Use pickle or json.", "Use logging.",
            "This code maps no files. Use pathlib.", "Call the function at the end of the code."], claim["errors"])
        (claim,), _ = run(request("print(__file__)", imports=wide))
        score.check("error/help-file", claim["error"]["type"] == "NameError" and "current folder" in claim["error"].get("hint", ""), claim["error"])
        (claim,), _ = run(request("final_answer(1, b=2)"))
        score.check("error/help-final-answer", claim["error"]["message"] == "final_answer() got an unexpected keyword argument 'b'", claim["error"])
        for code, words in (("!ls", "commands of notebooks"), ("x = 1\n%pip install numpy", "commands of notebooks"),
                            ("%%timeit\npass", "commands of notebooks"), ("```python\n1\n```", "the code alone"), ("1\n```", "the code alone"),
                            ("!= 1", None), ("(1\n% 2 3)", None), ("x = 5 !", None), ("raise SyntaxError('!ls')", None)):
            (claim,), _ = run(request(code))
            hint = claim["error"].get("hint")
            score.check("error/help-notebook " + code, hint is None if words is None else words in (hint or ""), claim["error"])
        (claim,), _ = run(request("await asyncio.sleep(0)", imports=["json"]))
        e = claim["error"]
        score.check("error/help-await", (e["type"], e["line"], e["hint"]) == ("NameError", 1, "The module asyncio is not allowed. "
                    "`await` works at the top level without it, for tools and for coroutines of your own."), e)
        (claim,), _ = run(request("await asyncio.sleep(0)", imports=["asyncio"]))
        score.check("error/help-await-import", claim["error"]["line"] == 1 and claim["error"]["hint"] == "Write `import asyncio` first.", claim["error"])
        (claim,), _ = run(request("import asyncio\nawait asyncio.sleep(0, 5)", imports=["asyncio"]))
        score.check("error/help-await-allowed", claim["value"] == 5, claim)
        (claim,), _ = run(request("class A:\n    def __await__(self): return (yield 1)\nawait A()", imports=["json"]))
        score.check("error/help-await-never", claim["error"]["type"] == "RuntimeError" and claim["error"]["line"], claim["error"])
        (claim,), _ = run(request("import logging\nlogging.os", imports=["logging"]))
        score.check("error/help-no-command", "--allow" not in json.dumps(claim), claim["error"])
        (claim,), _ = run(request("\n".join("import os" for _ in range(50))))
        score.check("error/help-cap", len(claim["errors"]) == 20 and claim["errors"][19]["line"] == 20, len(claim["errors"]))
        (claim,), _ = run(request("help()"))
        score.check("error/help-absent", "standard" in claim["error"]["hint"], claim["error"])
        (claim,), _ = run(request("n = 'o' + 's'\n__import__(n)", imports=["math"]))
        score.check("error/help-runtime", claim["error"]["rule"] == "PY-IMPORT" and claim["error"]["allowed"] == ["math"]
                    and json.dumps(claim).count("Allowed:") == 1 and "tool" in claim["error"]["hint"], claim["error"])
        (claim,), _ = run(request("from . import x\nimport math\nmath._x\nlicense._Printer__x\ng.gi_frame\n", imports=["math"]))
        score.check("error/help-rules", [x["rule"] for x in claim["errors"]] == [
            "PY-RELIMPORT", "PY-PRIVATE", "PY-MANGLED", "PY-FRAME"], claim["errors"])
        for code, want in (("input()", "input variables"), ("help", "__doc__"), ("open('/x')", "/tmp"), ("len.__dict__", "own"), ("int.__subclasses__()", "list")):
            (claim,), _ = run(request(code))
            score.check("error/help-" + code, want in claim["error"].get("hint", "") + claim["error"]["message"], claim["error"])


def policies(score):
    def case(name, code, ok, imports=(), **keys):
        name = "policy/" + name
        if score.wants(name):
            (claim,), _ = run(request(code, imports=list(imports), **keys))
            score.check(name, ok(claim), (claim["status"], claim["repr"], claim["imports"], claim["error"]))
    fine = lambda c: c["status"] == "ok"  # noqa: E731
    case("exact", "import json\njson.dumps(1)", fine, ["json"])
    case("exact-no-submodule", "import json.decoder", lambda c: c["error"]["rule"] == "PY-IMPORT", ["json"])
    case("tree", "import json.decoder\nfrom json import encoder\njson.decoder.JSONDecoder, encoder.JSONEncoder, json.scanner", fine, ["json.*"])
    case("tree-dir", "import json.decoder\n[n in dir(json) for n in ('decoder', 'loads', 'codecs', '__dir__')]", lambda c: c["value"] == [True, True, False, False], ["json.*"])
    case("tree-alias", "import os\nimport os.path as p\nos.path is os.path, os.path is p, hasattr(os, 'path'), hasattr(os, 'sys')",
         lambda c: c["repr"] == "(True, True, True, False)", ["os.*"])
    case("tree-star", "import xml.etree.ElementTree\nfrom xml.etree import *\nElementTree.fromstring('<a/>').tag", lambda c: c["value"] == "a", ["xml.*"])
    case("tree-star-all", "from concurrent import *\nfutures.Future.__name__", lambda c: c["error"]["type"] == "NameError", ["concurrent.*"])
    case("tree-assign", "import json.decoder\njson.decoder = 5\njson.decoder", lambda c: c["value"] == 5, ["json.*"])
    case("tree-prefix", "import jsonx", lambda c: c["error"]["rule"] == "PY-IMPORT", ["json.*"])
    case("all", "import os, json.decoder\nos.sep", fine, ["*"])
    case("submodule-only", "import concurrent.futures\nconcurrent.futures.Future", fine, ["concurrent.futures"])
    case("submodule-only-as", "import xml.etree.ElementTree as ET\nET.fromstring('<a/>').tag", fine, ["xml.etree.ElementTree"])
    case("submodule-only-from", "from concurrent import futures\nfutures.Future", fine, ["concurrent.futures"])
    case("submodule-only-rest", "import xml.dom.minidom, xml.sax", lambda c: len(c["errors"]) == 1, ["xml.dom.minidom"])
    case("submodule-parent-closed", "import json.decoder\njson.dumps(1)", lambda c: c["error"]["type"] == "AttributeError", ["json.decoder"])
    case("library-imports-free", "import statistics, logging, uuid\nstatistics.stdev([1, 2])", fine, ["statistics", "logging", "uuid"])
    case("module-hidden", "import statistics\nstatistics.sys", lambda c: "`statistics.sys` is a module that is not allowed" in c["error"]["message"], ["statistics"])
    case("missing-module", "import no_such_thing", lambda c: c["error"]["type"] == "ModuleNotFoundError", ["no_such_thing"])
    case("missing-name", "from math import nope", lambda c: c["error"]["type"] == "ImportError", ["math"])
    case("imports-listed", "import math, json as j\nfrom collections import abc\nfrom math import pi\nimport statistics",
         lambda c: c["imports"] == ["math", "json", "collections", "collections.abc", "statistics"], ["math", "json", "collections.*", "statistics"])
    case("view-patch", "import json\njson.dumps = lambda x: 'mine'\njson.dumps(1)", lambda c: c["repr"] == "'mine'", ["json"])
    case("version", "import json, decimal\n(json.__name__, decimal.__version__, json.__doc__[:4])", fine, ["json", "decimal"])
    case("module-repr", "import json\nstr(json)", lambda c: "json" in c["repr"], ["json"])
    case("open-stdin", "import io, sys\nsys.stdin = io.StringIO('5 6')\nopen(0).read()", lambda c: c["value"] == "5 6", ["io", "sys"])
    case("full-open", "open('/dev/null').read()", fine, builtins="full")
    case("full-eval", "eval('1 + x', {'x': 2}), exec('y = 5'), y, eval(compile('2', 'f', 'eval'))", lambda c: c["repr"] == "(3, None, 5, 2)", builtins="full")
    case("full-eval-checked", "eval('().__cla' + 'ss__.__base__')", lambda c: c["error"].get("rule") == "PY-DUNDER", builtins="full")
    case("full-import-checked", "exec('import o' + 's')", lambda c: c["error"].get("rule") == "PY-IMPORT", builtins="full")
    case("full-exec-builtins", "exec('__imp' + 'ort__(\"os\")', {'__builtins__': {}})", lambda c: c["error"]["rule"] == "PY-IMPORT", builtins="full")
    case("full-globals", "x = 1\nglobals()['x'], vars()['x'], sorted(locals())[:1] != []", fine, builtins="full")
    for name in "eval exec compile globals locals vars".split():
        case("static-absent-" + name, name, lambda c: c["error"]["type"] == "NameError" and "static set" in c["error"]["hint"], builtins="static")
    case("static-has", "open, getattr, dir, id, type", fine, builtins="static")
    case("static-runs-text", "import builtins, doctest\ndef f():\n    \"\"\"\n    >>> f()\n    1\n    \"\"\"\n    return 1\n"
         "print(hasattr(builtins, 'eval'), doctest.testmod())", lambda c: c["status"] == "ok", builtins="static", imports=["builtins", "doctest"])
    case("static-names", "id = 1\ndef f(sum):\n    max = sum\n    return max\nf(id)", lambda c: c["value"] == 1, builtins="static")
    for code in ("sum = 1", "for max in [1]: pass", "def print(): pass", "import math as list", "del len", "x = (any := 1)"):
        case("static-assigned " + code, code, lambda c: c["status"] == "rejected" and c["error"]["rule"] == "PY-TOOL"
             and "built-in function" in c["error"]["message"], builtins="static", imports=["math"])
    case("minimal-absent", "getattr(1, 'real')", lambda c: c["error"]["type"] == "NameError", builtins="minimal")
    case("layer-off", "import os\nos.getpid() > 0, ().__class__.__base__, eval('2')", fine, layer=False)
    case("layer-off-final", "final_answer(3)", lambda c: c["final_answer"] == 3 and c["is_final"], layer=False)
    case("layer-off-imports", "import textwrap", lambda c: "textwrap" in c["imports"], layer=False)
    case("final-swallowed", "try: final_answer(1)\nexcept: pass\nx = 5", lambda c: c["final_answer"] == 1 and c["is_final"] and c["status"] == "ok")
    case("final-first", "try: final_answer(1)\nexcept: final_answer(2)", lambda c: c["final_answer"] == 1)
    case("final-stops", "final_answer(answer={'a': 1})\n1/0", lambda c: c["final_answer"] == {"a": 1} and c["status"] == "ok" and c["value"] is None)
    case("final-then-error", "try: final_answer(1)\nexcept: pass\n1/0", lambda c: c["is_final"] and c["status"] == "error")
    case("final-in-thread", "import threading\nt = threading.Thread(target=lambda: final_answer(4)); t.start(); t.join()", lambda c: c["final_answer"] == 4, ["threading"])
    case("final-not-exception", "try: final_answer(1)\nexcept Exception: final_answer('no')", lambda c: c["final_answer"] == 1)
    case("stdout-broken", "import sys\nsys.stdout = None\nsys.stderr = 5\n7", lambda c: c["value"] == 7, layer=False)
    case("stdout-closed", "import sys\nsys.stdout.close()\n7", lambda c: c["value"] == 7, layer=False)
    case("result-writer", "import json, builtins\njson.dumps = builtins.len = builtins.type = builtins.isinstance = None\n7", lambda c: c["value"] == 7, layer=False)
    case("unknown-key", "1", lambda c: c["error"]["type"] == "RequestError", colour="red")
    case("unknown-limit", "1", lambda c: c["error"]["type"] == "RequestError", limits={"source": 1})
    case("bad-builtins", "1", lambda c: c["error"]["type"] == "RequestError", builtins="all")
    case("bad-input", "1", lambda c: c["error"]["type"] == "RequestError", inputs={"__builtins__": 1})
    case("file-name", "1/0", lambda c: 'File "agent.py", line 1' in c["error"]["traceback"], filename="agent.py")
    case("imports-of-refused", "import os", lambda c: c["imports"] == [])
    case("soft-ms-known", "1", fine, soft_ms=5)
    for what, data in (("nothing", b""), ("short", bytes(19)), ("unknown-flag", b"\0\1" + bytes(18) + b"{}"), ("code-missing", b"\1" + bytes(15) + b"\2\0\0\0x"),
                       ("name-missing", bytes(12) + b"\1" + bytes(7)), ("no-code", bytes(20))):
        if score.wants("head/" + what):
            (claim,), _ = run(data)
            score.check("head/" + what, claim["error"]["type"] == "RequestError", claim)
    if score.wants("policy/not-json"):
        (claim,), _ = run(framed("{nope"))
        score.check("policy/not-json", claim["error"]["type"] == "RequestError", claim)


def sessions(score):
    def case(name, requests, ok):
        name = "session/" + name
        if score.wants(name):
            claims, _ = run(*requests)
            score.check(name, ok(claims), claims)
    many = dict(imports=["json", "ast", "math", "dataclasses", "collections"])
    case("state", [request("x = 1\ndef f(): return x"), request("x += 1\nf()")], lambda c: c[1]["value"] == 2)
    case("final-reset", [request("final_answer(1)"), request("2")], lambda c: c[0]["is_final"] and not c[1]["is_final"] and c[1]["value"] == 2)
    case("imports-reset", [request("import math", **many), request("math.pi", **many)], lambda c: c[0]["imports"] == ["math"] and c[1]["imports"] == [])
    case("after-tampering", [
        request("import ast, json\nast.walk = lambda t: []\nast.parse = None\njson.dumps = lambda *a: '{}'\n"
                "class S(str): pass\nlen = isinstance = getattr = type = print", **many),
        request("import os", **many), request("().__class__.__base__", **many), request("[1, 'a']", **many)],
         lambda c: [x["status"] for x in c] == ["ok", "rejected", "rejected", "ok"] and c[3]["value"] == [1, "a"])
    for layer in (True, False):
        keys = dict(imports=["sys"], layer=layer)
        case("stdin/layer-%s" % layer, [
            request("import sys\nold = sys.stdin\nn = int(input())\n[n, sys.stdin.readline(), [l for l in sys.stdin], sys.stdin.read()]", stdin="3\r\na b\nü\nlast", **keys),
            request("input()", **keys),
            request("[sys.stdin is old, sys.stdin.isatty(), sys.stdin.name, sys.stdin.buffer.read(), old.closed]", stdin="", **keys),
            request("input()", stdin="", **keys), request("sys.stdin.close()", stdin="1", **keys), request("sys.stdin.closed, sys.stdin.read()", **keys),
            request("try: why = sys.stdin.fileno()\nexcept OSError as e: why = type(e).__name__\nwhy, sys.stdin.mode, sys.stdin.readlines()", stdin="1\n2", **keys),
            request("sys.stdin = old = ['mine']", stdin="1", **keys), request("sys.stdin is old", **keys), request("input()", stdin="theirs", **keys),
            request("sys.stdin is not old, sys.stdin.read()", **keys)],
             lambda c: c[0]["value"] == [3, "a b\n", ["ü\n", "last"], ""] and c[1]["error"]["type"] == c[3]["error"]["type"] == "EOFError"
             and "input() has no user here" in c[1]["error"]["hint"] and c[3]["error"]["hint"].startswith("Standard input ends here")
             and c[2]["repr"] == "[False, False, '<stdin>', b'', False]" and c[4]["status"] == "ok" and c[5]["repr"] == "(False, '')"
             and c[6]["repr"] == "(%s, 'r', ['1\\n', '2'])" % ("'UnsupportedOperation'" if layer else 0) and c[8]["value"] is True and c[9]["value"] == "theirs"
             and c[10]["repr"] == "(True, '')")
    case("stdin-open", [request("open(0).read(), open(0, 'rb').read()", stdin="5 6"), request("print(input('n? '))", stdin=7), request("1")],
         lambda c: c[0]["repr"] == "('5 6', b'')" and c[1]["error"]["type"] == "RequestError" and c[2]["value"] == 1)
    for layer in (True, False):
        keys = dict(imports=["fileinput", "os", "os.path", "pathlib", "sys"], layer=layer, folders=["/"])
        case("stdin-descriptor/layer-%s" % layer, [
            request("import os, sys\nos.read(0, 2), sys.stdin.fileno(), os.fstat(0).st_size, input(), open(0).read(), input('')", stdin="a b\nc\nd", **keys),
            request("os.path.samestat(os.fstat(0), os.stat('/dev/null')), open(0, closefd=False).read()", **keys),
            request("import fileinput\nsum(int(n) for l in fileinput.input() for n in l.split()), [x for x in os.listdir('/tmp') if 'stdin' in x]", stdin="1 2\n3", **keys),
            request("open(0).close()\nf = open('/dev/null')\nf.fileno()", **keys), request("f.fileno(), sys.stdin.read()", stdin="theirs", **keys),
            request("f.close(); f.closed", **keys), request("open(0).read()", stdin="theirs", **keys)],
             lambda c: c[0]["repr"] == "(b'a ', 0, 7, 'b', '', 'c')" and c[1]["repr"] == "(True, '')" and c[2]["repr"] == "(6, [])"
             and c[3]["value"] == 0 and c[4]["repr"] == "(0, 'theirs')" and c[6]["value"] == "theirs")
    case("after-error", [request("x = 5\n1/0"), request("x")], lambda c: c[0]["status"] == "error" and c[1]["value"] == 5)
    case("rejected-runs-nothing", [request("x = 5\nimport os"), request("x")], lambda c: c[1]["error"]["type"] == "NameError")
    case("error-lines", [request("def f():\n    return 1/0"), request("\n\nf()")],
         lambda c: c[1]["error"]["line"] == 2 and c[1]["error"]["source"] == "    return 1/0" and "#2" in c[1]["error"]["traceback"])
    case("match-across", [request("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int", **many),
                          request("match P(1):\n    case P(a): r = a\nr", **many)], lambda c: c[1]["value"] == 1)
    case("match-across-rebound", [request("class P: pass", **many), request(
        "class M(type):\n    def __getattr__(c, n): return ('__dict__',)\nT = type\nP = M('P', (), {})\np = P()", **many),
        request("match p:\n    case P(a): r = a\nr", **many)], lambda c: c[1]["status"] == "ok" and c[2]["error"]["rule"] == "PY-MATCHCLASS")
    case("builtins-stay", [request("try:\n    del print\nexcept NameError: pass\nprint = None"), request("del print\nprint")],
         lambda c: c[1]["status"] == "ok")
    case("policy-fixed", [request("1"), request("1", layer=False)], lambda c: c[1]["error"]["type"] == "RequestError")
    case("stdout-restored", [request("import sys\nsys.stdout = None", layer=False), request("print(1)\n2", layer=False)],
         lambda c: c[1]["value"] == 2)


def limits(score):
    def case(name, code, ok, **keys):
        name = "limit/" + name
        if score.wants(name):
            (claim,), _ = run(request(code, **keys))
            score.check(name, ok(claim), (claim["status"], claim["truncated"], claim["repr"][:80], claim["error"]))
    case("repr", "'x' * 100000", lambda c: len(c["repr"]) <= 8192 and c["truncated"] == {"repr": True})
    case("value", "'x' * 3000000", lambda c: c["value"][TAG] == "repr" and c["truncated"].get("value") and (
        "the value was returned as text" in c["warnings"][0]["message"] and c["warnings"][0]["hint"] == "Return a part or a summary of it."))
    case("value-list", "list(range(10**6))", lambda c: c["value"][TAG] == "repr" and len(c["value"]["data"]) <= 8192)
    case("value-depth", "x = []\nfor _ in range(5000): x = [x]\nx", lambda c: c["value"][TAG] == "repr")
    case("value-sharing", "x = [1] * 10\nfor _ in range(9): x = [x] * 10\nx", lambda c: c["value"][TAG] == "repr",
         limits={"value_bytes": 1000})
    case("value-repr-cut", "class A:\n    def __repr__(self): return 'x' * 100000\nA()", lambda c: c["truncated"] == {"repr": True, "value": True})
    case("value-cycle", "x = []; x.append(x)\nx", lambda c: c["value"][TAG] == "repr" and c["truncated"] == {})
    case("value-whole", "object", lambda c: c["value"][TAG] == "repr" and c["truncated"] == {})
    case("final", "final_answer('x' * 3000000)", lambda c: c["truncated"].get("final_answer"))
    case("value-own", "'x' * 100", lambda c: c["truncated"].get("value"), limits={"value_bytes": 50})
    case("repr-own", "'ü' * 100", lambda c: len(c["repr"].encode()) <= 50, limits={"repr_bytes": 50})
    case("source", "#" * 200, lambda c: c["error"]["rule"] == "PY-SIZE", limits={"source_bytes": 100})
    case("repr-exact", "x = [1, (2,), (), {3: [4, set()]}, {5}, frozenset([6]), frozenset(), b'a', None]; x.append(x)\nrepr(x)", lambda c: c["value"] == "[1, (2,), (), {3: [4, set()]}, {5}, frozenset({6}), frozenset(), b'a', None, [...]]")
    case("repr-exact-ours", "x = [1, (2,), (), {3: [4, set()]}, {5}, frozenset([6]), frozenset(), b'a', None]; x.append(x)\nx", lambda c: c["repr"] == "[1, (2,), (), {3: [4, set()]}, {5}, frozenset({6}), frozenset(), b'a', None, [...]]")
    case("depth", "[[[[[1]]]]]", lambda c: c["error"]["rule"] == "PY-SIZE", limits={"ast_depth": 4})
    case("infinite-iter", "class A:\n    def __iter__(self):\n        while True: yield 1\n    def __len__(self): return 1 << 40\nA()", lambda c: c["status"] == "ok")
    if sys.version_info < (3, 11):
        score.skip("limit/python", "older than the oldest supported Python")


def test_process(score):
    """What only a process of its own shows: flushed output, and what a plain snippet loads."""
    import subprocess
    folder = sys.path[0]
    for name, code, want in (
        ("flush", "print('a', end='')", b"a"),
        ("flush-redirected", "import io, contextlib\nc = contextlib.redirect_stdout(io.StringIO())\nprint('b', end='')\nc.__enter__()\nprint('no')", b"b"),
        ("flush-after-error", "print('c', end='')\n1/0", b"c"),
        ("flush-in-repr", "class A:\n    def __repr__(self):\n        print('d', end='')\n        return 'A'\nA()", b"d"),
    ):
        if score.wants("process/" + name):
            script = ("import sys, os; sys.path.insert(0, %r); from agentjail.runtime import main; main.run(%r);"
                      "os._exit(0)" % (folder, request(code, imports=STDLIB)))
            done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", script], capture_output=True, timeout=60)
            score.check("process/" + name, done.stdout.startswith(want) and done.returncode == 0, (done.stdout, done.stderr[-500:]))
    if score.wants("process/light"):
        script = ("import sys; sys.path.insert(0, %r); from agentjail.runtime import main; before = set(sys.modules);"
                  "main.run(%r); print(sorted(set(sys.modules) - before))" % (folder, request("2+2", imports=["math"])))
        done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", script], capture_output=True, timeout=60)
        loaded = done.stdout.decode().replace("agentjail.", "")
        score.check("process/light", loaded == "['_ast', 'check.allowed_imports', 'check.checker', 'check.guard_calls', 'rail', 'rail.builtin_guards']\n",
                    (done.stdout, done.stderr))
