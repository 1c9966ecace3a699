"""Runs in the tree's own Python, as an ordinary program: finds the examples in documentation strings, and runs examples.
It refuses to know a jail: what it prints is the measure that jails are compared with.

A unit is {"module", "name", "prelude": [source], "examples": [source]}: the examples share a namespace. Standard input is
["find", [module, ...]] or ["run", [unit, ...]], standard output a JSON list: the units, or of each unit the outcomes.
"""

import ast
import contextlib
import doctest
import importlib
import json
import os
import signal
import sys
import tempfile
import types

UNIT_SECONDS = 60
# The imports that the documentation of a package takes for granted.
GRANTED = {"numpy": ["import numpy as np"], "pandas": ["import numpy as np", "import pandas as pd"],
           "scipy": ["import numpy as np"], "matplotlib": ["import numpy as np", "import matplotlib.pyplot as plt"]}


# --- find ---

def find(modules):
    units, seen = [], set()
    for module in modules:
        try:
            real = importlib.import_module(module)
        except Exception:
            continue
        for name, text in documents(real, module):
            if text not in seen:
                seen.add(text)
                unit = unit_of(module, name, text, real)
                if unit:
                    units.append(unit)
    return units


def documents(real, module):
    """(name, documentation string) of a module, its public members, and the members of its public classes."""
    yield module, doc_of(real)
    for name in sorted(set(getattr(real, "__all__", ())) | {n for n in vars(real) if n[:1] != "_"}):
        value = getattr(real, name, None)
        if isinstance(value, types.ModuleType):
            continue
        origin = getattr(value, "__module__", None)
        if isinstance(origin, str) and origin.partition(".")[0].lstrip("_") != module.partition(".")[0]:
            continue
        yield module + "." + name, doc_of(value)
        if isinstance(value, type):
            for member in sorted(dir(value)):
                if member[:1] != "_":
                    try:
                        yield "%s.%s.%s" % (module, name, member), doc_of(getattr(value, member))
                    except Exception:
                        pass


def doc_of(value):
    text = getattr(value, "__doc__", None)
    return text if isinstance(text, str) and ">>>" in text else ""


def unit_of(module, name, text, real):
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return None
    if not examples:
        return None
    used = set()
    for example in examples:
        with contextlib.suppress(SyntaxError):
            used |= {n.id for n in ast.walk(ast.parse(example.source)) if isinstance(n, ast.Name)}
    top = module.partition(".")[0]
    prelude = GRANTED.get(top) or ["import " + module] + [
        "from %s import %s" % (module, n) for n in sorted(used) if n[:1] != "_" and hasattr(real, n)
        and not isinstance(getattr(real, n), types.ModuleType) and (n in getattr(real, "__all__", ()) or top in str(getattr(getattr(real, n), "__module__", top)))]
    return {"module": module, "name": name, "prelude": prelude, "examples": [e.source for e in examples],
            "raises": [e.exc_msg is not None for e in examples], "checked": [True for _ in examples]}


# --- run ---

def run(unit):
    """The outcomes: [output, repr, type of the error, message]."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    output = tempfile.TemporaryFile()
    os.dup2(output.fileno(), 1)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 2)
    return [outcome(source, main.__dict__, output) for source in unit["prelude"] + unit["examples"]][len(unit["prelude"]):]


def outcome(source, namespace, output):
    value, kind, message = None, None, None
    try:
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<snippet>", "exec"), namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<snippet>", "eval"), namespace)
        value = repr(value)
    except BaseException as e:
        value, kind, message = None, type(e).__name__, str(e)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    output.seek(0)
    said = output.read().decode("utf-8", "backslashreplace")
    output.seek(0)
    output.truncate()
    return [said, value, kind, message]


def run_in_child(unit):
    """A unit spoils nothing for the next one."""
    read, write = os.pipe()
    if os.fork() == 0:
        signal.alarm(UNIT_SECONDS)
        os.close(read)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
        data = json.dumps(run(unit)).encode("utf-8", "backslashreplace")
        with os.fdopen(write, "wb") as f:
            f.write(data)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        data = f.read()
    os.wait()
    return json.loads(data) if data else None


def main():
    sys.path.append("/usr/lib/python3/dist-packages")
    sys.argv = ["-c"]   # as a snippet has it
    what, items = json.load(sys.stdin)
    if what == "find":
        answer = find(items)
    else:
        for top in {unit["module"].partition(".")[0] for unit in items}:
            with contextlib.suppress(ImportError):
                importlib.import_module(top)
        answer = [run_in_child(unit) for unit in items]
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
