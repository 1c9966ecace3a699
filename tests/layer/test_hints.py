"""What models read after an error: the hint, and that the code which follows it works.
Each case has the code that fails, what its hint says, and the code as the hint advises; a hint whose advice fails fails here.
"""

from harness import FILES, OWN_FILES, request, run

IN_CODE = "/tmp/%s-hint/data.csv" % FILES
FILE = IN_CODE.replace(FILES, OWN_FILES)
IMPORTS = ["asyncio", "concurrent.futures", "io", "json", "os", "random", "sys"]
# (name, code that fails, error.type, words of the hint, the code as the hint advises, imports)
CASES = [
    ("key", "d = {'alpha': 1, 'beta': 2}\nd['alhpa']", "KeyError", "Did you mean 'alpha'? The keys are: 'alpha', 'beta'.",
     "d = {'alpha': 1, 'beta': 2}\nd['alpha']"),
    ("key-of-row", "rows = [{'name': 1, 'age': 2}]\nfor row in rows: row['title']", "KeyError", "The keys are: 'name', 'age'.",
     "rows = [{'name': 1, 'age': 2}]\nfor row in rows: row['age']"),
    ("key-nested", "d = {'rows': [{'id': 1}]}\nd['rows'][0]['key']", "KeyError", "The keys are: 'id'.", "d = {'rows': [{'id': 1}]}\nd['rows'][0]['id']"),
    ("key-pop", "d = {'a': 1}\nd.pop('b')", "KeyError", "The keys are: 'a'.", "d = {'a': 1}\nd.pop('a')"),
    ("key-many", "d = dict.fromkeys(range(100))\nd['x']", "KeyError", "(88 more)", "d = dict.fromkeys(range(100))\nd[0]"),
    ("key-empty", "d = {}\nd['x']", "KeyError", "There are no keys.", "d = {}\nd.get('x')"),
    ("file", "open('/data/data.csv').read()", "FileNotFoundError", "The caller's file with this name is '%s'" % FILE, "open('%s').read()" % IN_CODE),
    ("file-near", "open('/mnt/dta.csv').read()", "FileNotFoundError", "Did you mean '%s'?" % FILE, "open('%s').read()" % IN_CODE),
    ("file-other", "open('/mnt/x').read()", "FileNotFoundError", "The caller's files are: '%s'" % FILE, "open('%s').read()" % IN_CODE),
    ("input", "input('name? ')", "EOFError", "sys.stdin = io.StringIO(text)", "import io, sys\nsys.stdin = io.StringIO('a')\ninput()"),
    ("os-system", "import os\nos.system('ls')", "AttributeError", "starts no processes: do the work in Python", "import os\nos.listdir('/tmp')"),
    ("os-from", "from os import popen", "ImportError", "starts no processes: do the work in Python", "from os import listdir"),
    ("processes", "from concurrent.futures import ProcessPoolExecutor as P\nP().submit(abs, 1)", "ImportError", "use ThreadPoolExecutor",
     "from concurrent.futures import ThreadPoolExecutor as P\nP().submit(abs, 1).result()"),
    ("processes-module", "import concurrent.futures as f\nf.ProcessPoolExecutor()", "AttributeError", "use ThreadPoolExecutor",
     "import concurrent.futures as f\nf.ThreadPoolExecutor().submit(abs, 1).result()"),
    ("import-near", "import jsn", "PolicyError", "Did you mean `json`?", "import json"),
    ("name-near", "value = 3\nprint(valeu)", "NameError", "Did you mean `value`?", "value = 3\nprint(value)"),
    ("name-builtin", "pritn(1)", "NameError", "Did you mean `print`?", "print(1)"),
    ("name-of-function", "def f():\n    total = 1\n    return totl\nf()", "NameError", "Did you mean `total`?", "def f():\n    total = 1\n    return total\nf()"),
    ("attribute-of-module", "import json\njson.laods('1')", "AttributeError", "Did you mean `loads`?", "import json\njson.loads('1')"),
    ("attribute-of-class", "class A:\n    def method(self): pass\nA().metod()", "AttributeError", "Did you mean `method`?",
     "class A:\n    def method(self): pass\nA().method()"),
    ("attribute-of-text", "'a'.uper()", "AttributeError", "Did you mean `upper`?", "'a'.upper()"),
]
# Code without a hint of these kinds: nothing near, and objects whose reading would run code of the agent's.
WITHOUT = [
    ("key-of-own-class", "class D(dict):\n    def __iter__(self): raise ValueError\nd = D(a=1)\nd['b']"),
    ("key-raised", "def f(): raise KeyError('x')\nf()"),
    ("attribute-property", "class A:\n    @property\n    def __dict__x(self): raise ValueError\n    def __dir__(self): raise ValueError\nA().zzzzzz"),
    ("name-far", "qwertyuiop"),
]


def test(score):
    import os
    os.makedirs(os.path.dirname(FILE))
    with open(FILE, "w") as f:
        f.write("a,b\n")
    for name, code, kind, words, better in CASES:
        name = "hint/" + name
        if not score.wants(name):
            continue
        (claim,), _ = run(request(code, imports=IMPORTS, files=[FILE]))
        error = claim["error"] or {}
        score.check(name, error.get("type") == kind and words in error.get("hint", ""), error)
        score.check(name + "/no-option", "--" not in error.get("hint", "") and "agentjail" not in error.get("hint", "").replace(OWN_FILES, ""), error)
        (claim,), _ = run(request(better, imports=IMPORTS, files=[FILE]))
        score.check(name + "/followed", claim["status"] == "ok", claim["error"])
    for name, code in WITHOUT:
        if score.wants("hint/" + name):
            (claim,), _ = run(request(code, imports=IMPORTS))
            score.check("hint/" + name, claim["status"] == "error" and "hint" not in claim["error"], claim["error"])
    if score.wants("hint/absent-module"):
        (claim,), _ = run(request("import jupyterthing", imports=["*"]))
        score.check("hint/absent-module", "does not have jupyterthing" in claim["error"]["hint"], claim["error"])
    if score.wants("hint/list"):
        (claim,), _ = run(request("import subprocess", imports=["email", "email.mime.text", "json.decoder", *["m%d" % i for i in range(200)]]))
        listed = claim["error"]["message"].partition("Allowed: ")[2]
        score.check("hint/list", listed.startswith("email, json.decoder, m0, m1") and listed.endswith("m117 and 82 more"), listed)
