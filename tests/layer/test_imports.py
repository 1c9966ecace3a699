"""When a refused import is told: before the code, or where the import stands because the code copes with it or the policy says so.
It refuses to take the check's word alone: what is not rejected has to raise when it runs.
"""

import os
import shutil
import sys
import tempfile

from harness import request, run

# A library whose own annotations, as text, are no plain type expressions; and what agent code may do with it. (name, code, value or the type of the error)
LIBRARY = """from __future__ import annotations
import os
import typing
class Part(typing.NamedTuple):
    x: list[os._Environ]
    y: int = 3
import json as alias, random as other
def hint_of(text):
    return typing.List[text]
"""
LATE = [
    ("module-under-another-name", "import late_library\nlate_library.alias.dumps(1)", "1"),
    ("module-that-is-not-named", "import late_library\nlate_library.other", "AttributeError"),
    ("own-annotations", "import typing, late_library\nlate_library.Part(1).y", 3),
    ("own-annotations-first", "import late_library, typing\nlate_library.Part(1).y", 3),
    ("its-hints", "import typing, late_library\ntyping.get_type_hints(late_library.Part)", "TypeError"),
    ("text-of-agent", "import typing, late_library\nlate_library.hint_of('typing._eval_type')", "TypeError"),
    ("plain-text-of-agent", "import typing, late_library\nclass A: x: late_library.hint_of('int')\nstr(typing.get_type_hints(A))", "{'x': typing.List[int]}"),
]

# name, code; each has one import of a refused module, with which the code copes, and gives True
COPED = [
    ("try", "try:\n    import requests\nexcept ImportError as e:\n    r = str(e) == 'Import of requests is not allowed' and e.name == 'requests'\nr"),
    ("exception", "try:\n    import requests\nexcept Exception:\n    r = True\nr"),
    ("base", "try:\n    import requests\nexcept BaseException:\n    r = True\nr"),
    ("bare", "try:\n    import requests\nexcept:\n    r = True\nr"),
    ("tuple", "try:\n    import requests\nexcept (ValueError, ImportError):\n    r = True\nr"),
    ("second-handler", "try:\n    import requests\nexcept ValueError:\n    r = 1\nexcept ImportError:\n    r = True\nr"),
    ("subclass", "try:\n    import requests\nexcept ModuleNotFoundError as e:\n    r = type(e) is ModuleNotFoundError\nr"),
    ("star", "try:\n    import requests\nexcept* ImportError:\n    r = True\nr"),
    ("outer", "try:\n    try:\n        import requests\n    except ValueError:\n        r = 1\n    finally:\n        s = True\nexcept ImportError:\n    r = s\nr"),
    ("handler-in-try", "try:\n    try:\n        1/0\n    except ZeroDivisionError:\n        import requests\nexcept ImportError:\n    r = True\nr"),
    ("else-in-try", "try:\n    try:\n        pass\n    finally:\n        import requests\nexcept ImportError:\n    r = True\nr"),
    ("in-function", "def f():\n    try:\n        import requests\n    except ImportError:\n        return True\nf()"),
    ("in-class", "try:\n    class A:\n        import requests\nexcept ImportError:\n    r = True\nr"),
    ("in-loop", "try:\n    for i in (1,):\n        if i:\n            import requests\nexcept ImportError:\n    r = True\nr"),
    ("from", "try:\n    from requests.adapters import HTTPAdapter as a, x\nexcept ImportError as e:\n    r = e.name == 'requests.adapters'\nr"),
    ("submodule", "try:\n    from json import decoder\nexcept ImportError as e:\n    r = e.name == 'json.decoder'\nr"),
    ("function", "try:\n    __import__('requests')\nexcept ImportError:\n    r = True\nr"),
    ("suppress", "from contextlib import suppress\nr = True\nwith suppress(ImportError):\n    import requests\n    r = False\nr"),
    ("suppress-dotted", "import contextlib\nr = True\nwith open_() if 0 else contextlib.suppress(KeyError), contextlib.suppress(KeyError, ImportError):\n    import requests\n    r = False\nr"),
    ("relative", "try:\n    from .helpers import x\nexcept ImportError as e:\n    r = 'no package' in str(e)\nr"),
    ("fallback", "try:\n    import ujson as json\nexcept ImportError:\n    import json\njson.loads('true')"),
]
# Code that never runs: no import is tried.
DEAD = [
    ("type-checking", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import requests\n    def f():\n        import os\nTrue"),
    ("typing-type-checking", "import typing as t\nif t.TYPE_CHECKING:\n    from requests import Session\nTrue"),
    ("and", "from typing import TYPE_CHECKING\nx = 1\nif x and TYPE_CHECKING:\n    import requests\nTrue"),
    ("else", "from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    r = True\nelse:\n    import requests\nr"),
    ("false", "if False:\n    import requests\nTrue"),
    ("zero", "if 0:\n    import requests\nelif 1:\n    r = True\nelse:\n    import os\nr"),
]
# Code that does not cope: name, code, the lines of the violations.
REJECTED = [
    ("plain", "import requests", [1]),
    ("function-body", "def f():\n    import requests", [2]),
    ("other-handler", "try:\n    import requests\nexcept OSError:\n    pass", [2]),
    ("value-error", "try:\n    import requests\nexcept (OSError, ValueError):\n    pass", [2]),
    ("finally", "try:\n    import requests\nfinally:\n    pass", [2]),
    ("handler", "try:\n    import requests\nexcept ImportError:\n    import httpx", [4]),
    ("else", "try:\n    import json\nexcept ImportError:\n    pass\nelse:\n    import requests", [6]),
    ("finally-beside", "try:\n    import requests\nexcept ImportError:\n    pass\nfinally:\n    import os", [6]),
    ("later", "try:\n    def f():\n        import requests\n    g = lambda: __import__('httpx')\nexcept ImportError:\n    pass", [3, 4]),
    ("true", "if True:\n    import requests", [2]),
    ("type-checking-else", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import os\nelse:\n    import requests", [5]),
    ("or", "from typing import TYPE_CHECKING\nif TYPE_CHECKING or 1:\n    import requests", [3]),
    ("suppress-other", "from contextlib import suppress\nwith suppress(OSError):\n    import requests", [3]),
    ("suppress-item", "from contextlib import suppress\nwith suppress(ImportError), __import__('os'):\n    pass", [2]),
    ("all-at-once", "import os\ntry:\n    import requests\nexcept ImportError:\n    pass\nimport socket\n().__dict__", [1, 6, 7]),
]
IMPORTS = ["json", "contextlib", "typing"]


def refused(claim):
    return [(x["module"], x["line"]) for x in claim.get("imports_refused", [])]


def test(score):
    for name, code in COPED:
        if score.wants("imports/coped-" + name):
            (claim,), _ = run(request(code, imports=IMPORTS))
            score.check("imports/coped-" + name, claim["status"] == "ok" and claim["value"] is True and len(refused(claim)) == 1, claim)
    for name, code in DEAD:
        if score.wants("imports/dead-" + name):
            (claim,), _ = run(request(code, imports=IMPORTS))
            score.check("imports/dead-" + name, claim["status"] == "ok" and claim["value"] is True and "imports_refused" not in claim, claim)
    for name, code, lines in REJECTED:
        if score.wants("imports/rejected-" + name):
            (claim,), _ = run(request(code, imports=IMPORTS))
            score.check("imports/rejected-" + name, claim["status"] == "rejected" and [e["line"] for e in claim["errors"]] == lines
                        and "imports_refused" not in claim, claim)
            # The same code, told when it runs: nothing is rejected for an import.
            (claim,), _ = run(request(code, imports=IMPORTS, imports_checked="run"))
            score.check("imports/run-" + name, claim["status"] == "rejected" if name == "all-at-once" else claim["status"] != "rejected", claim)
    late(score)
    if score.wants("imports/when"):
        when(score)


def when(score):
    (claim,), _ = run(request("x = 1\nimport os", imports=["json", "math"], imports_checked="run"))
    e = claim["error"]
    score.check("imports/when-run", (claim["status"], e["type"], e["rule"], e["line"], e["message"], e["allowed"]) == (
        "error", "ImportError", "PY-IMPORT", 2, "Import of os is not allowed. Allowed: json, math", ["json", "math"]) and e["hint"], claim)
    score.check("imports/when-counted", refused(claim) == [("os", 2)], claim)
    (claim,), _ = run(request("import os", imports_checked="before"))
    score.check("imports/when-before", claim["status"] == "rejected", claim)
    (claim,), _ = run(request("import os", imports_checked="later"))
    score.check("imports/when-unknown", "imports_checked" in claim["error"]["message"], claim)
    # Each place once, in their order, and no more than a list that a reader takes.
    code = "def f(n):\n    try: __import__(n)\n    except ImportError: pass\nfor i in range(5): f('os')\nf('sys')\ntry: import os\nexcept ImportError: pass"
    (claim,), _ = run(request(code))
    score.check("imports/when-places", refused(claim) == [("os", 2), ("sys", 2), ("os", 6)], claim)
    (claim,), _ = run(request("for i in range(500):\n    try: __import__('m%d' % i)\n    except ImportError: pass\ntry: __import__('m' * 9999)\nexcept ImportError: pass"))
    score.check("imports/when-many", len(refused(claim)) == 100, claim)
    (claim,), _ = run(request("try: __import__('m' * 9999)\nexcept ImportError: pass"))
    score.check("imports/when-long", refused(claim) == [("m" * 200, 1)], claim)
    code = ("import importlib\nseen = []\nfor n in ('os', 'no.such'):\n    try: importlib.import_module(n)\n    except ModuleNotFoundError as e: seen.append(e.name)\n"
            "importlib.import_module('os')")
    (claim,), seen = run(request(code, imports=["importlib"]), probe="seen")
    e = claim["error"]
    score.check("imports/when-import-module", (seen, e["type"], e.get("rule"), e["line"]) == ("['os', 'no.such']", "ModuleNotFoundError", "PY-IMPORT", 6) and e["hint"], (claim, seen))
    (claim,), _ = run(request("exec('\\n\\ntry: import os\\nexcept ImportError: pass')", builtins="full"))
    score.check("imports/when-text", claim["status"] == "ok" and refused(claim) == [("os", 1)], claim)
    # Of each snippet its own.
    claims, _ = run(request("def f():\n    try: import os\n    except ImportError: return 1\nf()"), request("1"), request("\nf()"))
    score.check("imports/when-session", [refused(c) for c in claims] == [[("os", 2)], [], [("os", 2)]], claims)
    (claim,), _ = run(request("import textwrap\ntry: import no_such_thing\nexcept ImportError: pass", layer=False))
    score.check("imports/when-layer-off", claim["imports"] == ["textwrap"] and "imports_refused" not in claim, claim)
    # No handler makes a private name of a module readable.
    (claim,), _ = run(request("try: from json import _default_decoder as d\nexcept ImportError: d = None\nd", imports=["json"]))
    score.check("imports/when-private", claim["status"] == "ok" and claim["repr"] == "None", claim)


def late(score):
    """Text annotations of a library that is imported after typing."""
    folder = tempfile.mkdtemp()
    sys.path.append(folder)
    try:
        with open(os.path.join(folder, "late_library.py"), "w", encoding="utf-8") as f:
            f.write(LIBRARY)
        for name, code, want in LATE:
            if score.wants("imports/late-" + name):
                (claim,), _ = run(request(code, imports=["typing", "late_library", "late_library.alias"]))
                score.check("imports/late-" + name, want == (claim["error"]["type"] if claim.get("error") else claim["value"]), claim)
    finally:
        sys.path.remove(folder)
        shutil.rmtree(folder)
