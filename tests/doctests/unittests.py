"""Runs CPython's own tests of the modules that presets allow, in a jail with the layer on and as an ordinary program, and compares.
It refuses to change a test: a method that the rail's check refuses is left out on both sides, and counted.

Usage: unittests.py AGENTJAIL ROOTFS TESTS [--only NAME,...] [--out FILE] [--show]
  TESTS  the folder `test` of CPython's library (Debian: libpython3.11-testsuite)
"""

import argparse
import ast
import atexit
import collections
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import doctests
from explained import NEEDS_HOST_IN_TESTS, explained


SOURCES = os.path.join(doctests.TOP, "src", "guest", "layer")
# Test files whose subject a preset allows. A second name is the file that holds the tests.
FILES = ("array base64 binascii bisect bool bytes calendar cmath collections colorsys complex contextlib copy csv dataclasses decimal defaultdict deque "
         "dict difflib enum enumerate float fractions fstring functools generators graphlib grammar heapq int iter itertools json_decode json_encode list long "
         "math named_expressions numeric_tower operator ordered_dict patma queue random range re set slice sort statistics string struct "
         "textwrap time tuple unicode unicodedata userdict userlist userstring zlib datetime").split()
PLACES = {"datetime": "datetimetester.py", "json_decode": "test_json/test_decode.py", "json_encode": "test_json/test_unicode.py"}
# Runs the tests of one class: a line for each.
RUNNER = """
import unittest
class Lines(unittest.TestResult):
    def line(self, test, what, why=''):
        print('\\n=> %%s %%s %%s' %% (str(test).split(' ')[0].split('.')[-1], what, ' '.join(why.split())[-300:]))
    def addSuccess(self, test): self.line(test, 'ok')
    def addError(self, test, e): self.line(test, 'error', '%%s: %%s' %% (e[0].__name__, e[1]))
    def addFailure(self, test, e): self.line(test, 'failure', '%%s: %%s' %% (e[0].__name__, e[1]))
    def addSkip(self, test, why): self.line(test, 'skip')
    def addExpectedFailure(self, test, e): self.line(test, 'ok')
    def addSubTest(self, test, sub, e):
        if e is not None: self.line(test, 'failure', '%%s: %%s' %% (e[0].__name__, e[1]))
if isinstance(%(name)s, type) and issubclass(%(name)s, unittest.TestCase):
    unittest.TestSuite([%(name)s(n) for n in unittest.TestLoader().getTestCaseNames(%(name)s)]).run(Lines())
"""
POLICY = """extends = "snippet"
[python]
imports = %s
builtins = "full"
[limits]
wall = "120s"
memory = "2G"
"""


class Check:
    """The rail's own check, and the names that it hides: (module, name) pairs, of which the test files read some."""

    def __init__(self, allowed):
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder)
        shutil.copytree(SOURCES, folder + "/agentjail")
        sys.path.insert(0, folder)
        self.checker = importlib.import_module("agentjail.check.checker").Checker
        self.imports = importlib.import_module("agentjail.check.allowed_imports").AllowedImports(allowed)
        hidden = importlib.import_module("agentjail.rail.hidden").HIDDEN
        self.hidden = {".".join(pair) for pair in hidden if pair[1] != "*"}

    def errors(self, tree):
        """{line: reason} of all that is refused."""
        found, missing = {}, set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for a in node.names:
                    if "%s.%s" % (node.module, a.name) in self.hidden:
                        missing.add(a.asname or a.name)
                        found[node.lineno] = "%s.%s is hidden" % (node.module, a.name)
            elif isinstance(node, ast.Attribute) and dotted(node) in self.hidden:
                found[node.lineno] = dotted(node) + " is hidden"
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id in missing:
                found[node.lineno] = node.id + " is hidden"
        for e in self.checker(self.imports, 400).check_tree(ast.parse(ast.unparse(tree))):
            found.setdefault(e[3], e[1])
        return found


def imports_of(sources):
    """Every module that the tests name, with all below it: what is compared is the language, not a preset's list."""
    names = {"unittest.mock", "test.support"}
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module)
    tops = {n.partition(".")[0] for n in names} - {"__future__", "__main__"}
    return sorted([n + ".*" for n in tops] + [n for n in names if "." in n])


def dotted(node):
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (dotted(node.value), node.attr)
    return node.id if isinstance(node, ast.Name) else "?"


def honest(source, check):
    """The source without what the check refuses: (source, classes, [(class, method, why it was left out)])."""
    tree = Names().visit(ast.parse(source))
    source, left_out = ast.unparse(tree), []
    for _ in range(100):
        tree = ast.parse(source)
        lines = check.errors(tree)
        spoilt = {id(node): (node, owner, why) for line, why in lines.items() for node, owner in [smallest(tree, line)] if node is not None}
        if not spoilt:
            break
        left_out += [(owner, getattr(node, "name", "a statement"), why) for node, owner, why in spoilt.values()]
        source = ast.unparse(ast.fix_missing_locations(Dropper(set(spoilt)).visit(tree)))
    tree = ast.parse(source)
    is_start = lambda n: isinstance(n, ast.If) and ast.unparse(n.test) == "__name__ == '__main__'"  # noqa: E731
    tree.body = [kept for n in tree.body for kept in (n.orelse if is_start(n) else [n])]
    return ast.unparse(tree), [n.name for n in tree.body if isinstance(n, ast.ClassDef)], left_out


def smallest(tree, line):
    """The method of a class, or else the statement, that holds this line, with the name of the class. Of an import only its private name."""
    found = None, ""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.lineno <= line <= node.end_lineno and len(node.names) > 1:
            for alias in node.names:
                if alias.name[:1] == "_" or (node.module, alias.name) == ("unittest.mock", "patch"):
                    return alias, "import"
        body = node.body if isinstance(node, (ast.ClassDef, ast.Module)) else ()
        for child in body:
            first = min([child.lineno] + [d.lineno for d in getattr(child, "decorator_list", ())])
            if first <= line <= child.end_lineno and (not isinstance(child, ast.ClassDef) or line < child.body[0].lineno):
                found = child, getattr(node, "name", "")
    return found


class Names(ast.NodeTransformer):
    """Names that a snippet lacks, and that stand for something harmless: the path of the file, and sizes of test.support."""
    SIZES = {"_1M": 1 << 20, "_1G": 1 << 30, "_2G": 2 << 30, "_4G": 4 << 30}

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load) and (node.id == "__file__" or node.id in self.SIZES):
            return ast.copy_location(ast.Constant(self.SIZES.get(node.id, "/usr/lib/python3/test/test_x.py")), node)
        return node


class Dropper(ast.NodeTransformer):
    def __init__(self, drop):
        self.drop = drop

    def generic_visit(self, node):
        super().generic_visit(node)
        if isinstance(node, ast.ImportFrom):
            node.names = [a for a in node.names if id(a) not in self.drop]
        if isinstance(getattr(node, "body", None), list):
            node.body = [child for child in node.body if id(child) not in self.drop] or [ast.Pass()]
        return node


def parse(output):
    found = {}
    for line in output.split("\n"):
        if line.startswith("=> "):
            name, what, why = (line[3:] + "  ").split(" ", 2)
            if name not in found or found[name][0] == "ok":
                found[name] = what, why.strip()
    return found


def tree_with_tests(rootfs, tests, folder):
    """A copy of the tree that has the package `test`."""
    shutil.copytree(rootfs, folder + "/rootfs", copy_function=link, symlinks=True)
    to = [d for d in os.listdir(folder + "/rootfs/tree/usr/lib") if d.startswith("python3.")][0]
    shutil.copytree(tests, "%s/rootfs/tree/usr/lib/%s/test" % (folder, to), ignore=shutil.ignore_patterns("__pycache__"))
    return folder + "/rootfs"


def link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


ORDINARY = """
import contextlib, json, os, sys, types
source, runners = json.load(sys.stdin)
main = types.ModuleType('__main__')
sys.modules['__main__'] = main
with open(2, 'w', closefd=False) as sys.stderr:
    exec(compile(source, '<snippet>', 'exec'), main.__dict__)
    for runner in runners:
        try: exec(runner, main.__dict__)
        except BaseException as e: print('\\n=>', runner.split('getTestCaseNames(')[1].split(')')[0], 'error', repr(e))
        print('\\n=== ' + runner.split('getTestCaseNames(')[1].split(')')[0], flush=True)
"""


def ordinary(agentjail, rootfs, source, classes):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write(doctests.ORDINARY)
        policy.flush()
        done = subprocess.run([agentjail, "run", "--policy-file", policy.name, "--rootfs", rootfs, "--memory", "4G", "--timeout", "300s", "--", "/usr/bin/python3", "-I", "-S", "-c", ORDINARY],
                              input=json.dumps([source, [RUNNER % {"name": c} for c in classes]]), capture_output=True, text=True, errors="replace")
    pieces = done.stdout.split("\n=== ")
    answer = {name: parse(pieces[i]) if i < len(pieces) else {} for i, name in enumerate(classes)}
    return answer, done.stderr.strip().split("\n")[0][:300] if done.returncode else ""


def jailed(jails, source, classes):
    session = jails.client.ask("open")["session"]
    result = jails.client.ask("run", session=session, code=source)
    if result["error"]:
        return None, "%s: %s line %s" % (result["error"]["type"], result["error"]["message"][:300], result["error"]["line"])
    answer, ended = {}, result["session"] == "ended"
    for name in classes:
        if ended:
            answer[name] = {"*": ("error", "the session has ended")}
            continue
        result = jails.client.ask("run", session=session, code=RUNNER % {"name": name})
        answer[name] = parse(result["stdout"])
        if result["error"]:
            answer[name]["*"] = "error", "%s: %s" % (result["error"]["type"], result["error"]["message"][:300])
        ended = result["session"] == "ended"
    if not ended:
        jails.client.ask("close", session=session)
    return answer, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("agentjail")
    parser.add_argument("rootfs")
    parser.add_argument("tests")
    parser.add_argument("--only", default="")
    parser.add_argument("--out")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    files = {}
    for name in options.only.split(",") if options.only else FILES:
        file = "%s/%s" % (options.tests, PLACES.get(name, "test_%s.py" % name))
        if os.path.exists(file):
            with open(file, encoding="utf-8") as f:
                files[name] = f.read()
    allowed = imports_of(files.values())
    check = Check(allowed)
    table, different = {}, []
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        rootfs = tree_with_tests(options.rootfs, options.tests, folder)
        jails = doctests.Jails(options.agentjail, rootfs, folder, POLICY % json.dumps(allowed))
        try:
            for name, text in files.items():
                source, classes, left_out = honest(text, check)
                want, failed = ordinary(options.agentjail, rootfs, source, classes)
                got, why = jailed(jails, source, classes)
                if got is None or failed and not any(want.values()):
                    different.append((name, "", "the file", why or failed))
                    print("%-18s not run: %s | %s" % (name, why, failed), flush=True)
                    continue
                counts = table[name] = collections.Counter(left_out=len(left_out))
                for cls in classes:
                    for test, (what, _) in want[cls].items():
                        there, reason = got[cls].get(test, got[cls].get("*", ("missing", "")))
                        counts["tests"] += 1
                        if what != "ok":
                            counts["not passed outside"] += 1
                            continue
                        verdict = "equal" if there == "ok" else "host" if re.search(NEEDS_HOST_IN_TESTS, reason) else "differs"
                        counts[verdict] += 1
                        if verdict == "differs":
                            different.append((name, cls, test, "%s %s" % (there, reason)))
                            if options.show or explained(name, cls, test, reason) is None:
                                print("   %s.%s: %s %s" % (cls, test, there, reason[:240]), flush=True)
                print("%-18s %s" % (name, dict(counts)), flush=True)
                for row in left_out if options.show else ():
                    print("   left out: %s.%s: %s" % row)
        finally:
            jails.process.terminate()
            jails.process.wait()
    totals = collections.Counter()
    for counts in table.values():
        totals.update(counts)
    print("total              %s" % dict(totals))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as f:
            json.dump({"table": table, "different": different}, f, indent=1)


if __name__ == "__main__":
    main()
