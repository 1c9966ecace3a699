"""Runs documented examples in a jail and as an ordinary program of the same Python, and compares: is the rail invisible to honest code?
It refuses to compare with what a documentation says: only with what the same interpreter does without the layer.

Usage: doctests.py AGENTJAIL ROOTFS [--docs FOLDER] [--only MODULE,...] [--out FILE] [--show]
  --docs FOLDER  CPython's documentation as reStructuredText (Debian: python3.11-doc): library/MODULE.rst.txt and so on
  --out FILE     the counts and the differences as JSON, for page.py
"""

import argparse
import ast
import builtins
import doctest
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
import tomllib

from explained import NEEDS, NEEDS_HOST, explained_example

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
spec = importlib.util.spec_from_file_location("example", TOP + "/docs/examples/client.py")
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)

# Chapters of the documentation that describe the language and no module, with the name of their row.
CHAPTERS = {"library/stdtypes": "builtins", "library/functions": "builtins", "library/exceptions": "builtins"}
FOLDERS = {"tutorial": "the tutorial", "howto": "the HOWTOs", "reference": "the reference"}
ORDINARY = """extends = "command"
[filesystem]
rootfs = "python"
"""
CHANCES = 6
PACKAGES = ("numpy", "pandas")
POLICY = """extends = "snippet"
[python]
imports = %s
[limits]
wall = "60s"
memory = "2G"
"""


def imports_of_presets():
    """The modules of `snippet`, and of `science` and `data-analysis` those of packages. Modules that work on files are no part of the comparison."""
    names = set()
    for policy in ("snippet", "science", "data-analysis"):
        with open("%s/policies/%s.toml" % (TOP, policy), "rb") as f:
            python = tomllib.load(f)["python"]
        found = set(python.get("imports", ())) | set(python.get("extend_imports", ()))
        names |= found if policy == "snippet" else {name for name in found if name.partition(".")[0] in PACKAGES}
    return sorted(names)


# --- the documentation ---

def chapters(folder, modules):
    """The units of the documentation's files: each file is one namespace, as its author wrote it."""
    for part in ("library", *FOLDERS):
        for file in sorted(os.listdir(folder + "/" + part)):
            stem = file.partition(".rst")[0]
            row = FOLDERS.get(part) or CHAPTERS.get(part + "/" + stem) or (stem if stem in modules else None)
            if row is None or not file.endswith(".rst.txt"):
                continue
            with open("%s/%s/%s" % (folder, part, file), encoding="utf-8") as f:
                text = f.read()
            prelude = ["import " + stem, "from %s import *" % stem] if row == stem and part == "library" else []
            examples = examples_of(text)
            if any(checked for _, _, checked in examples):
                yield {"module": row, "name": "%s/%s.rst" % (part, stem), "prelude": prelude, "examples": [source for source, _, _ in examples],
                       "raises": [raises for _, raises, _ in examples], "checked": [checked for _, _, checked in examples]}


def examples_of(text):
    """[(source, does it raise?, is it an example?)], in their order: code blocks that examples build on count as none."""
    found = []
    try:
        for e in doctest.DocTestParser().get_examples(text):
            found.append((e.lineno, e.source, e.exc_msg is not None, True))
    except ValueError:
        return []
    for block in re.finditer(r"^([ \t]*)\.\. test(?:setup|code)::.*\n((?:\1[ \t]+\S.*\n|[ \t]*\n)+)", text, re.M):
        if not block[2].lstrip().startswith(">>>"):
            lines = [line for line in block[2].split("\n") if not re.match(r"\s*:\w+:", line)]
            found.append((text.count("\n", 0, block.start()), textwrap.dedent("\n".join(lines)).strip() + "\n", False, False))
    return [row[1:] for row in sorted(found)]


# --- running ---

def ordinary(agentjail, rootfs, what, items):
    """What examples.py answers. It runs beside other programs of the host, since examples write and remove files."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write(ORDINARY)
        policy.flush()
        done = subprocess.run([agentjail, "run", "--policy-file", policy.name, "--rootfs", rootfs, "--memory", "4G", "--bind", HERE + "/examples.py:/examples.py",
                               "--", "/usr/bin/python3", "-I", "-S", "/examples.py"], input=json.dumps([what, items]), capture_output=True, text=True)
    if done.returncode:
        sys.exit("doctests: the ordinary program failed: " + done.stderr[-2000:])
    return json.loads(done.stdout)


class Jails:
    def __init__(self, agentjail, rootfs, folder, policy):
        with open(folder + "/doctests.toml", "w", encoding="utf-8") as f:
            f.write(policy)
        self.process = subprocess.Popen([agentjail, "serve", "--policy-file", folder + "/doctests.toml", "--rootfs", rootfs, "--socket", folder + "/s"],
                                        stderr=None)
        while not os.path.exists(folder + "/s"):
            time.sleep(0.05)
            if self.process.poll() is not None:
                sys.exit("doctests: the service does not start")
        self.client = client.Client(folder + "/s")

    def run(self, unit):
        """The outcomes as examples.outcome() gives them, and the rule that refused."""
        session = self.client.ask("open")["session"]
        found, ended = [], False
        for source in unit["prelude"] + unit["examples"]:
            if ended:
                found.append(["", None, "SessionEnded", "", None])
                continue
            try:
                result = self.client.ask("run", session=session, code=source)
            except client.ServiceError as e:
                found.append(["", None, "ServiceError", str(e), None])
                continue
            error = result["error"]
            ended = result["session"] == "ended"
            found.append([result["stdout"], None if error else result["repr"], error and error["type"], error and error["message"], error and error.get("rule")])
        if not ended:
            self.client.ask("close", session=session)
        return found[len(unit["prelude"]):]


# --- comparing ---

def settle(units, first, inside, run):
    """The verdicts of each unit. An example that differs runs again as an ordinary program, since two outcomes of chance can be equal."""
    second = list(first)
    for _ in range(CHANCES):
        again = [i for i, unit in enumerate(units) if "differs" in [verdict for verdict, _ in compare(unit, first[i], second[i], inside[i])]]
        for i, third in zip(again, run([units[i] for i in again]) if again else ()):
            second[i] = merge(first[i], second[i], third)
    return [compare(*row) for row in zip(units, first, second, inside)]


def merge(one, two, three):
    """Of each example an outcome that differs from the first, where there is one."""
    return [c if c and plain(a) == plain(b) else b for a, b, c in zip(one, two, three or two)]


def plain(outcome):
    """What must be the same. Addresses are of no account."""
    out, value, kind, message = [re.sub(r"0x[0-9a-fA-F]{6,}", "0x", part) if part else part for part in outcome[:4]]
    return out, value, kind, message


def names(source):
    """(the names that an example reads, those that it binds or may change)"""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        return set(), set()
    read = {n.id for n in nodes if isinstance(n, ast.Name)}
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))}
    for n in nodes:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            bound.add(n.name)
        elif isinstance(n, (ast.Import, ast.ImportFrom)):
            bound |= {(a.asname or a.name).partition(".")[0] for a in n.names}
        elif isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.value, ast.Name):
            bound.add(n.value.id)
    return read, bound - set(dir(builtins))


def compare(unit, first, second, jail):
    """A verdict for each example: (equal | varies | incomplete | host | module | differs, why)."""
    spoilt, verdicts = {}, []
    for source, raises, one, two, inside in zip(unit["examples"], unit["raises"], first, second, jail):
        read, bound = names(source)
        verdict = judge(raises, one, two, inside)
        if verdict[0] == "differs":
            missing = re.search(r"name '(\w+)' is not defined", verdict[1])
            before = [spoilt[n] for n in sorted(read | {missing[1] if missing else ""}) if n in spoilt]
            if before and inside[4] is None:
                verdict = before[0]
            elif re.search(NEEDS_HOST, "%s %s %s" % (unit["name"], source, verdict[1]), re.S):
                verdict = "host", verdict[1]
        if verdict[0] in ("host", "module", "differs"):
            spoilt.update({n: verdict for n in bound if n not in spoilt})
        verdicts.append(verdict)
    return verdicts


def judge(raises, one, two, inside):
    if plain(one) == plain(inside):
        return ("equal" if one[2] is None or raises else "incomplete"), ""
    if one[2] is not None and not raises:
        return "incomplete", ""
    if plain(one) != plain(two) and one[2] == inside[2]:
        return "varies", ""
    why = "%s: %s" % (inside[4] or inside[2] or "value", inside[3] or inside[1] or inside[0])
    why = re.sub(r"\. Allowed: .*", "", why, flags=re.S)
    for verdict, pattern in NEEDS:
        if re.match(pattern, why):
            return verdict, why
    return "differs", why


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("agentjail")
    parser.add_argument("rootfs")
    parser.add_argument("--docs")
    parser.add_argument("--only", default="")
    parser.add_argument("--out")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    modules = imports_of_presets()
    units = ordinary(options.agentjail, options.rootfs, "find", modules)
    if options.docs:
        units += chapters(options.docs, modules)
    if options.only:
        units = [u for u in units if u["module"] in options.only.split(",")]
    first = ordinary(options.agentjail, options.rootfs, "run", units)
    ran = [(unit, one) for unit, one in zip(units, first) if one is not None]
    units, first = [unit for unit, _ in ran], [one for _, one in ran]
    with tempfile.TemporaryDirectory() as folder:
        jails = Jails(options.agentjail, options.rootfs, folder, POLICY % json.dumps(modules))
        try:
            inside = [jails.run(unit) for unit in units]
        finally:
            jails.process.terminate()
            jails.process.wait()
    verdicts = settle(units, first, inside, lambda again: ordinary(options.agentjail, options.rootfs, "run", again))
    table, different = {}, []
    for unit, one, jail, found in zip(units, first, inside, verdicts):
        counts = table.setdefault(unit["module"], {})
        for source, (verdict, why), said, want, checked in zip(unit["examples"], found, jail, one, unit["checked"]):
            if checked:
                counts[verdict] = counts.get(verdict, 0) + 1
            if checked and verdict in ("differs", "module"):
                different.append((verdict, unit["name"], source, why))
                if verdict == "differs" and (options.show or explained_example(unit["name"], source, why) is None):
                    print("%s: %s%s\n   jail:     %.300r\n   ordinary: %.300r" % (unit["name"], source, why[:200], said, want))
    total = {}
    for module, counts in sorted(table.items()):
        for key, n in counts.items():
            total[key] = total.get(key, 0) + n
        print("%-20s %s" % (module, counts))
    print(total)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as f:
            json.dump({"python": platform_of(options.rootfs), "table": table, "different": different}, f, indent=1)


def platform_of(rootfs):
    """The versions in the tree: of Python, and of the packages."""
    with open(rootfs + "/manifest", encoding="utf-8") as f:
        text = f.read()
    packages = re.findall(r"dist-packages/([A-Za-z0-9_]+)-([0-9.]*[0-9])[^/]*-info/PKG-INFO$", text, re.M)
    return {"python": re.search(r"^python (.*)$", text, re.M)[1], "packages": dict(packages)}


if __name__ == "__main__":
    main()
