"""Entry point: one request (JSON bytes) in, the agent's code checked and run, one claim (JSON bytes) out.
It refuses to say how a run ended as the host sees it: what it returns is a claim from inside the jail, no more.

    guest ──request──► Session.run ─► values.read_json ─► check (one tree) ─► compile ─► exec ─► values ──claim──► guest

Everything used after agent code ran is bound here before it runs. What only some snippets need (errors, rare tags,
imports, formats, patterns) lives in files that are loaded then, so that 2+2 does not pay for it. Extension modules
were imported before: the system-call filter lets no further one be mapped.

SystemExit is an error like any other, with its exit_code: a snippet that ends early should call final_answer().
Threads that still run are not waited for. Positions count from 1; columns count characters.
"""

import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime.values import Raw, plain, read_json, safe_repr, tagged

STDOUT, STDERR = sys.stdout, sys.stderr
ModuleType = type(sys)

# The keys of a request: type, default. An unknown key is an error: a misspelt limit must not be ignored.
SNIPPET = {
    "code": (str, None),
    "filename": (str, "<snippet>"),
    "inputs": (dict, {}),
    "tools": (list, ()),          # functions that the host runs, see tools.py
    "lines": (bool, False),       # somebody watches: what is printed goes out with each newline
    "soft_ms": (int, 0),          # what the message of a soft deadline names; the supervisor keeps the time
}
# The same for a session's policy, which may come with a first request or ahead of it, and stays.
POLICY = {
    "layer": (bool, True),
    "builtins": (str, "standard"),
    "imports": (list, ()),
    "env": (list, ()),            # NAME=value; late, so that no loader saw them
    "limits": (dict, {}),
}
# Keys of "limits": default.
LIMITS = {
    "source_bytes": 1 << 20,    # more than any model writes; the parser needs some 100 bytes per byte of source
    "repr_bytes": 8 << 10,      # for a person or a model to read
    "value_bytes": 1 << 20,     # for a program to read
    "ast_depth": 400,           # the compiler recurses once per level; it stops at some 1000 by itself
    "tool_bytes": 1 << 20,      # the arguments of one call of a tool
}
DEFAULTS = {key: default for key, (_, default) in SNIPPET.items()}
UNKNOWN = (None, ...)
CONTROL_FD = 3
SETS = ("minimal", "standard", "full")
ONLY_AST, TOP_LEVEL_AWAIT, CO_COROUTINE = 0x400, 0x2000, 0x80

OUT_OF_MEMORY = (b'{"status":"error","value":null,"repr":"","type":"","error":{"type":"MemoryError","message":'
                 b'"no memory left to report the result","line":null,"column":null,"source":"","traceback":""},'
                 b'"errors":[],"final_answer":null,"is_final":false,"imports":[],"truncated":{}}')


class FinalAnswer(BaseException):
    """Ends the snippet. No Exception, so that `except Exception` around final_answer() does not swallow it."""


class Session:
    """A namespace that lives across snippets; the answer, the imports and the checks are new for each."""

    def __init__(self):
        self.module = None          # __main__ of agent code
        self.starter = None         # __main__ of the interpreter, kept alive
        self.checker = None         # of the last snippet: what names mean in the namespace
        self.guards = None
        self.policy = None          # (layer, builtins, imports, env, limits): a session has one
        self.answers = ()           # a list of its own for each snippet
        self.begun = None           # the same list, from `started` until the code has ended
        self.limits = LIMITS
        self.soft_ms = 0
        self.sources = {}           # file name -> source text, for error reports
        self.names = {}             # file name of the request -> how often it came
        self.tools = None           # channel.Channel, when there are tools
        self.recorded = None        # names that a recorder of imports saw, see warm.py

    # --- one snippet ---

    def run(self, request, started=b""):
        """`started` goes to the control socket between check and code: from then on no `rejected` is believed."""
        reserve = bytearray(16384)  # given back when memory is short, so that there is a claim at all
        claim = {"status": "ok", "value": Raw("null"), "repr": "", "type": "", "error": None, "errors": [],
                 "final_answer": Raw("null"), "is_final": False, "imports": [], "truncated": {}}
        try:
            try:
                req = self.read(request)
            except (ValueError, KeyError, IndexError, TypeError, RecursionError) as e:
                raise RequestError(str(e)) from None
            self.snippet(req, claim, started)
        except MemoryError as e:
            del reserve
            self.failed(e, claim)
        except BaseException as e:
            self.failed(e, claim)
        try:
            flush()
            return plain(claim).encode("utf-8", "backslashreplace")
        except BaseException:
            return OUT_OF_MEMORY

    def read(self, request):
        """The snippet's keys, checked. The policy's are taken over on the way: the first ones that come stay."""
        raw = read_json(request)
        if type(raw) is not dict:
            raise ValueError("the request is no JSON object")
        policy = {key: raw.pop(key) for key in POLICY if key in raw}
        if policy or self.policy is None:
            self.settle(policy)
        req = dict(DEFAULTS)
        for key, value in raw.items():
            kind, default = SNIPPET.get(key, UNKNOWN)
            if type(value) is not kind and value is not default:
                raise ValueError("request key %s: %s expected" % (key, kind.__name__) if key in SNIPPET else "unknown request key " + key)
            req[key] = value
        if req["code"] is None and not req["inputs"] and not req["tools"]:
            raise ValueError("the request has no code")
        for name in req["inputs"]:
            if not name.isidentifier() or name[:2] == "__":
                raise ValueError("the input name %r is no plain identifier" % name)
        return req

    def settle(self, keys):
        """The policy under which all snippets run. It cannot change."""
        if type(keys.get("imports")) is str:  # one string with spaces reads quicker than a list
            keys["imports"] = keys["imports"].split()
        for key, (kind, default) in POLICY.items():
            value = keys.setdefault(key, default)
            if value is not default and type(value) is not kind:
                raise ValueError("request key %s: %s expected" % (key, kind.__name__))
        if keys["builtins"] not in SETS:
            raise ValueError("builtins must be one of " + ", ".join(SETS))
        if not all([type(p) is str for p in keys["imports"]]):
            raise ValueError("imports must be a list of strings")
        limits = dict(LIMITS)
        for key, value in keys["limits"].items():
            if key not in limits or type(value) is not int or value < 0:
                raise ValueError("unknown or bad limit " + key)
            limits[key] = value
        policy = (keys["layer"], keys["builtins"], tuple(keys["imports"]), tuple(keys["env"]), limits)
        if self.policy is None:
            self.policy, self.limits = policy, limits
        elif policy != self.policy:
            raise ValueError("the policy of a session cannot change")

    def open(self):
        """The namespace and the guards: with the first snippet, or in a zygote that knows the policy."""
        if self.module is None:
            layer, level, imports, env, _ = self.policy
            self.module = ModuleType("__main__")
            # Libraries find the module of the agent's classes here, and not the one that started us.
            self.starter = sys.modules.get("__main__")
            sys.modules["__main__"] = self.module
            if layer:
                from agentjail.rail.guards import Allowed, Guards
                self.guards = Guards(Allowed(list(imports)), level, {"asyncio": install_event_loop})
                self.builtins = self.guards.builtins()
            else:
                import builtins
                self.builtins = builtins
                if RECORDER is not None:
                    self.recorded = RECORDER(self.module.__dict__)
            for entry in env:
                name, _, value = entry.partition("=")
                posix.putenv(name, value)
                posix.environ[name.encode()] = value.encode()
                if "os" in sys.modules:
                    sys.modules["os"].environ[name] = value
            self.final_answer = self.answerer()
        space = self.module.__dict__
        space["__builtins__"] = self.builtins
        space["__name__"] = "__main__"
        return space

    def answerer(self):
        """The agent's function. It may be kept, in a default or under another name: it always answers for the snippet that runs."""
        def final_answer(answer=None):
            """Record the answer and end the snippet. The first answer stands."""
            if not self.answers:
                self.answers.append(answer)
            raise FinalAnswer
        return final_answer

    def snippet(self, req, claim, started):
        limits, source = self.limits, req["code"]
        self.soft_ms = req["soft_ms"]
        self.filename = self.name_file(req["filename"], source or "")
        space = self.open()
        self.answers = answers = []
        if STDOUT is not None and STDOUT.line_buffering is not req["lines"]:
            STDOUT.reconfigure(line_buffering=req["lines"])
        guards = self.guards
        before = set(sys.modules) if guards is None else None
        if guards is not None:
            del guards.imported[:]
        elif self.recorded is not None:
            self.recorded.clear()
        code = None
        if source is not None:
            code = self.compile(req, claim)
            if code is None:
                return
        if req["inputs"]:
            from agentjail.runtime.type_tags import decode
            for name, value in req["inputs"].items():
                space[name] = decode(value)
        if req["tools"]:
            from agentjail.runtime.tools import define
            define(self, space, req["tools"])

        space["final_answer"] = self.final_answer
        space.pop("__agentjail_value__", None)
        self.begun = answers if code is not None else None
        if started:
            posix.write(CONTROL_FD, started)
        if code is None:
            claim["repr"], claim["type"] = "None", "NoneType"
            return
        tools = self.tools
        if tools is not None:
            tools.begin(limits["tool_bytes"])
        try:
            if code.co_flags & CO_COROUTINE:
                drive(eval(code, space), "asyncio" in code.co_names or "asyncio" in sys.modules)
            else:
                exec(code, space)
            self.begun = None
            value = space.pop("__agentjail_value__", None)
            claim["repr"], cut = safe_repr(value, limits["repr_bytes"]) if value is not None else ("None", False)
            if cut:
                claim["truncated"]["repr"] = True
            claim["type"] = type_name(value)
            text, cut = tagged(value, limits["value_bytes"], limits["repr_bytes"])
            claim["value"] = Raw(text)
            if cut:
                claim["truncated"]["value"] = True
        except FinalAnswer:
            pass
        except BaseException as e:
            self.failed(e, claim)
        finally:
            self.begun = None
            if tools is not None:
                tools.end()
            if guards is None:
                claim["imports"] = self.new_modules(before)
            else:
                claim["imports"] = guards.imported[:1000]
            if answers:
                self.answer(answers[0], claim)

    def new_modules(self, before):
        """Without guards nobody knows who imported what: the public top-level modules that are new, and what a
        recorder saw where all were loaded before."""
        new = set(sys.modules) - before
        if self.recorded is not None:
            new = new | self.recorded
        return sorted([m for m in new if m[:1] != "_" and "." not in m])[:1000]

    def answer(self, value, claim):
        """The answer counts even if the code went on, or failed, after an `except:` that swallowed the end."""
        claim["is_final"] = True
        text, cut = tagged(value, self.limits["value_bytes"], self.limits["repr_bytes"])
        claim["final_answer"] = Raw(text)
        if cut:
            claim["truncated"]["final_answer"] = True
        if claim["error"] is None:
            claim["repr"], cut = safe_repr(value, self.limits["repr_bytes"])
            claim["type"] = type_name(value)
            if cut:
                claim["truncated"]["repr"] = True

    def name_file(self, name, code):
        """A name of its own for each source of a session: tracebacks show the right lines."""
        n = self.names.pop(name, 0) + 1
        self.names[name] = n
        if len(self.names) > 1024:
            del self.names[next(iter(self.names))]
        unique = name if n == 1 else "%s#%d" % (name, n)
        self.sources[unique] = code
        if len(self.sources) > 64:
            del self.sources[next(iter(self.sources))]
        return unique

    # --- source to code ---

    def compile(self, req, claim):
        """The code object, or None with the claim filled in."""
        source, limits = req["code"], self.limits
        if len(source) * 4 > limits["source_bytes"] and (
                len(source.encode("utf-8", "replace")) > limits["source_bytes"]):
            from agentjail.runtime.error_report import reject
            return reject(self, claim, [("PY-SIZE", "The code is too long (%d characters, limit %d bytes)" % (
                len(source), limits["source_bytes"]), "Split it into several snippets.", 1, 0, None, None, {})])
        try:
            # A leading byte order mark is no part of the program; all else is the parser's business.
            tree = compile(source[1:] if source[:1] == "\ufeff" else source, self.filename, "exec",
                           ONLY_AST | TOP_LEVEL_AWAIT, True)
        except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as e:
            from agentjail.runtime.error_report import unreadable
            return unreadable(self, claim, e)
        if self.guards is not None:
            from agentjail.rail.check import Checker
            checker = Checker(self.guards.allowed, limits["ast_depth"], self.checker)
            errors = checker.run(tree)
            if errors:
                from agentjail.runtime.error_report import reject
                return reject(self, claim, errors)
        keep_value(tree)
        try:
            code = compile(tree, self.filename, "exec", TOP_LEVEL_AWAIT, True)
        except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as e:
            from agentjail.runtime.error_report import unreadable
            return unreadable(self, claim, e)
        if self.guards is not None:
            self.checker = checker
        return code

    def failed(self, e, claim):
        if isinstance(e, KeyboardInterrupt) and "agentjail.runtime.signals" in sys.modules:
            sys.modules["agentjail.runtime.signals"].tidy()
        try:
            from agentjail.runtime.error_report import describe
            claim["status"] = "error"
            claim["error"] = describe(self, e)
        except BaseException as inner:
            claim["error"] = {"type": type(e).__name__, "message": "<str failed: %s>" % type(inner).__name__,
                              "line": None, "column": None, "source": "", "traceback": ""}


class RequestError(Exception):
    """The request is not one that the host would send."""


def keep_value(tree):
    """If the last statement is an expression, keep its value, as the interactive interpreter does."""
    body = tree.body
    import _ast
    if body and type(body[-1]) is _ast.Expr:
        last = body[-1]
        name = _ast.Name("__agentjail_value__", _ast.Store())
        new = _ast.Assign([name], last.value)
        for node in (name, new):
            node.lineno, node.col_offset = last.lineno, last.col_offset
            node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
        body[-1] = new


def drive(coroutine, wants_loop):
    """Top-level await, without an event loop: enough for coroutines that wait for one another."""
    if wants_loop:
        from agentjail.runtime.event_loop import run_loop
        return run_loop(coroutine)
    try:
        while True:
            if coroutine.send(None) is not None:
                coroutine.throw(RuntimeError("await needs an event loop here; import asyncio first"))
    except StopIteration:
        return None


def install_event_loop():
    """Python's own event loop makes a socket pair, which the jail's filter refuses."""
    from agentjail.runtime.event_loop import install
    install()


def type_name(value):
    t = type(value)
    name = t.__qualname__ if type(t.__qualname__) is str else "?"
    module = t.__dict__.get("__module__") if t.__module__.__class__ is not str else t.__module__
    return name if module in ("builtins", "__main__") or type(module) is not str else module + "." + name


def flush():
    """What print() left in buffers goes out, in the agent's replacement streams as well as in ours."""
    for stream in (sys.stdout, sys.stderr, STDOUT, STDERR):
        try:
            stream.flush()
        except BaseException:
            pass
    sys.stdout, sys.stderr = STDOUT, STDERR


SESSION = None
RECORDER = None     # warm.py: where every module is loaded already, new ones do not tell what was imported


def run(request, started=b""):
    """One request, one claim. Further calls go on in the same namespace."""
    global SESSION
    if SESSION is None:
        SESSION = Session()
    return SESSION.run(request, started)


def settle(policy):
    """The policy of the snippets that will come, ahead of the first one."""
    global SESSION
    SESSION = Session()
    SESSION.settle(read_json(policy))
    SESSION.open()
