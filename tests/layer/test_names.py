"""Every place in the default policy's modules where library code takes a name: getattr() and setattr() with names that are no constants, names
written into an object's __dict__, text that runs, modules by name. Each place is guarded by a row of rail/patches.py, or has a reason here.
A script finds the places in the sources of the modules, so that a newer Python with another place fails this test.
"""

import ast
import json
import os
import subprocess
import sys
import tomllib

from harness import HERE

POLICY = os.path.join(HERE, "..", "..", "policies", "snippet.toml")

FIXED = "the name has a fixed prefix or is one of a fixed list"
NOT_HANDED = "what is read is looked at, and handed to nobody"
OWN_CLASS = "names of a class that is being made, which is the code's own"
NOT_SHOWN = "no proxy shows it, and no function that one shows calls it with an agent's name"
# module, or module:function -> why no guard stands there
REASONS = {
    "importlib._bootstrap": NOT_SHOWN, "importlib._bootstrap_external": NOT_SHOWN, "_frozen_importlib": NOT_SHOWN,
    "_frozen_importlib_external": NOT_SHOWN, "importlib.util": NOT_SHOWN,
    "zipimport": NOT_SHOWN, "pkgutil": NOT_SHOWN,
    "pdb": NOT_SHOWN, "bdb": NOT_SHOWN, "code": NOT_SHOWN, "codeop": NOT_SHOWN, "dis": NOT_SHOWN, "subprocess": NOT_SHOWN, "ssl": NOT_SHOWN,
    "selectors": NOT_SHOWN, "sysconfig": NOT_SHOWN,
    "xml.dom.domreg": "only the two implementations that it lists, and those that code registers",
    "urllib.request": "xml.sax alone reads it, without its openers",
    "_markupbase": FIXED, "cmd": FIXED, "email.generator": FIXED, "email.message": FIXED, "plistlib": FIXED, "reprlib": FIXED, "hashlib": FIXED,
    "zoneinfo._common": FIXED, "encodings": FIXED, "platform": FIXED,
    "abc:update_abstractmethods": NOT_HANDED, "enum": OWN_CLASS, "operator": "the functions are replaced (rail/replacements.py)",
    "inspect": "what is shown of it tells documentation, signatures and kinds; getmembers() is replaced",
    "doctest:_extract_future_flags": FIXED, "filecmp:dircmp.__getattr__": FIXED, "gettext:NullTranslations.install": "replaced by patch_gettext()",
    "gettext:c2py": "the text is made of tokens that it knows", "pathlib": FIXED, "os": "agent code has a copy with held functions",
    "copy:_reconstruct": "patch_copy() checks the object and the function", "shutil:copystat": FIXED, "string:Formatter.get_field": "replaced by patch_string()",
    "pickle": "agent code has the unpickler of pickle_guards.py, and dump() and dumps() in C", "warnings": NOT_SHOWN,
    "typing": "patch_typing() guards what an alias passes on; annotations run by compile_hint() and eval_hint()",
    "collections:namedtuple": "names are checked to be identifiers", "logging:makeLogRecord": "of the module __main__ it reaches the proxy's own __dict__",
    "logging:Logger.makeRecord": "as makeLogRecord()", "optparse:Values._update_loose": "as logging.makeLogRecord()",
    "optparse:Values.read_file": "exec() is refused_exec()", "optparse:Values.read_module": "__import__() is refused_import()",
    "unittest.mock": "patch_mock() guards what is read and set",
    "unittest.suite:_call_if_exists": FIXED, "dataclasses": "BY_NAME and run_text(), set by patch_dataclasses()", "timeit": "replaced by patch_timer()",
    "ast:parse": "makes a tree, which exec() takes as text", "email._policybase": "patch_policy() gives it an `object` of its own",
    "tempfile:_TemporaryFileWrapper": "patch_tempfile() guards what is passed on", "codecs": "patch_codecs() sets the defaults that hold getattr()", "doctest:DocTestRunner.__run": "checked by patch_doctest()",
    "doctest:debug_script": "no proxy shows it",
    "xml.sax:_create_parser": "__import__() is reader_import()",
    "collections:UserDict.__copy__": "as logging.makeLogRecord()", "collections:UserList.__copy__": "as logging.makeLogRecord()",
    "http.cookies:Morsel.copy": "as logging.makeLogRecord()", "doctest:_normalize_module": NOT_SHOWN, "doctest:_test": NOT_SHOWN,
    "unittest.loader": "__import__() is refused_import()", "unittest.main": "__import__() is main_import()",
}


def name_of(node):
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def takes_a_name(node):
    """Which function that takes a name, with what is no constant? "" for none."""
    if isinstance(node, ast.Call):
        name, of = name_of(node.func), getattr(node.func, "value", None)
        if name in ("getattr", "setattr") and of is None and len(node.args) > 1 and not isinstance(node.args[1], ast.Constant):
            return name
        if name in ("eval", "exec", "__import__", "attrgetter", "methodcaller") and of is None or name == "compile" and of is None:
            return name
        if name in ("__setattr__", "__getattribute__", "__delattr__") and len(node.args) > 1 and not isinstance(node.args[-2 if name == "__setattr__" else -1], ast.Constant):
            return name
        if name in ("update", "setdefault") and name_of(of) == "__dict__":
            return "__dict__"
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        for target in getattr(node, "targets", None) or [node.target]:
            if isinstance(target, ast.Subscript) and name_of(target.value) == "__dict__" and not isinstance(target.slice, ast.Constant):
                return "__dict__"
    if isinstance(node, ast.arguments) and any(name_of(d) in ("getattr", "setattr") for d in node.defaults + node.kw_defaults if d is not None):
        return "default"
    return ""


def places(tree):
    """(function, what takes the name) of a module."""
    todo = [(tree, "")]
    while todo:
        node, inside = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inside = inside + "." + node.name if inside else node.name
        what = takes_a_name(node)
        if what and inside:     # the module's own body runs before any code
            yield inside, what
        todo.extend((child, inside) for child in ast.iter_child_nodes(node))


def loaded_files(imports):
    code = ("import importlib, json, sys\nfor m in json.load(sys.stdin): importlib.import_module(m)\n"
            "print(json.dumps({n: m.__file__ for n, m in sys.modules.items() if (getattr(m, '__file__', None) or '')[-3:] == '.py'}))")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], input=json.dumps(imports), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test(score):
    if not score.wants("names"):
        return
    from agentjail.rail.patches import PATCHED_GLOBALS
    with open(POLICY, "rb") as f:
        imports = tomllib.load(f)["python"]["imports"]
    found = 0
    for module, path in loaded_files(imports).items():
        with open(path, encoding="utf-8") as f:
            tree = ast.parse(f.read())
        for function, what in set(places(tree)):
            found += 1
            outer = function
            why = REASONS.get(module) or what in PATCHED_GLOBALS.get(module, ())
            while outer and not why:
                why = REASONS.get(module + ":" + outer)
                outer = outer.rpartition(".")[0]
            score.check("names/%s:%s/%s" % (module, function, what), why, "takes a name; no row in PATCHED_GLOBALS, no reason here")
    score.check("names/found", found > 150, found)
