"""One session: a namespace that lives across snippets, and the run of one snippet in it, from request to claim.
A session raises nothing: whatever happens to a request ends in a claim. The policy of a session cannot change.
"""

import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime import CONTROL_FD, CoroutineType
from agentjail.runtime.claim import (OUT_OF_MEMORY, claim_bytes, new_claim, report_answer, report_changed_tools, report_error,
                                     report_files, report_imports, report_last_value, report_results, report_texts,
                                     report_unawaited, report_variables)
from agentjail.check.plain_code import VALUE_NAME, new_bindings
from agentjail.runtime.compiler import compile_source, name_source
from agentjail.runtime.request import DEFAULT_LIMITS, PLAIN, RequestError, check_policy, read_request

STDIN, STDOUT, STDERR = sys.stdin, sys.stdout, sys.stderr     # before code can set others
ModuleType = type(sys)
CO_COROUTINE = 0x80     # as inspect.CO_COROUTINE
LAYER_KEYS = 6          # of the policy: layer, builtin set, imports, when these are checked, clock, longest sleep

# Set by zygote.py, which has loaded every module already: a function that records the imports of a namespace without guards.
IMPORT_RECORDER = None


class FinalAnswer(BaseException):
    """Ends the snippet. Not an Exception: `except Exception` around final_answer() must not swallow it."""


class Session:
    """A namespace that lives across snippets; the answer, the imports and the checks are new for each."""

    def __init__(self):
        self.begun = False          # a request has come
        self.module = None          # __main__ of agent code
        self.starter = None         # __main__ of the interpreter, kept alive
        self.bindings = None        # how the snippets so far bound the names of the namespace, see plain_code.new_bindings()
        self.guards = None
        self.builtins = None
        self.policy = None          # see request.check_policy()
        self.limits = DEFAULT_LIMITS
        self.answers = ()           # a list of its own for each snippet
        self.running = None         # the same list, from `started` until the code has ended
        self.unhandled = None       # numbers of signals that signals.py sends again until they are handled
        self.soft_ms = 0
        self.last = False           # no other snippet follows
        self.filename = None        # of the snippet, unique in the session
        self.sources = {}           # file name -> source text, for error reports
        self.name_counts = {}       # file name of the request -> number of snippets with it
        self.tools = None           # channel.Channel, when there are tools
        self.tool_functions = {}    # name -> what tools.py put into the namespace
        self.reserved_names = ()    # of tools and built-in functions, which no snippet may bind
        self.changed_tools = ()     # names of tools that the last snippet has given another meaning
        self.handle_table = None    # type_tags.Handles, from the first request on that wants handles
        self.handles = None         # the same, where the request under way wants them
        self.recorded = None        # names that IMPORT_RECORDER saw
        self.unawaited = None       # warnings for the claim, see unawaited.py
        self.stdin = None           # stdin.StandardInput of the snippet under way, where the caller gave its text
        self.display = None         # the agent's function; absent from `minimal`
        self.results = None         # rich.Results of the snippet under way, from the first one on
        self.keeps_files = False    # the caller takes the files of /output
        self.files_before = None    # the files of /tmp when such a snippet began
        self.reserve = None         # freed when memory is short, for the claim

    # --- one snippet ---

    def run(self, request, started=b""):
        """The claim. `started` goes to the control socket between check and code: the host believes no `rejected` after it.
        A request is its bytes, or what guest/plain_request.c took out of them: (code, file name, soft_ms, last)."""
        self.begun = True
        if self.reserve is None:
            self.reserve = bytearray(16384)
        claim = new_claim()
        try:
            if type(request) is tuple:
                self.run_snippet(*request, PLAIN, claim, started)
            else:
                try:
                    req = self.read(request)
                except (ValueError, KeyError, IndexError, TypeError, RecursionError) as e:
                    raise RequestError(str(e)) from None
                self.run_snippet(req["code"], req["filename"], req["soft_ms"], req["last"], req, claim, started)
        except MemoryError as e:
            self.reserve = None
            report_error(self, e, claim)
        except BaseException as e:
            report_error(self, e, claim)
        try:
            flush_streams()
            if self.stdin is not None:
                self.stdin.take()
                self.stdin = None
            self.unhandled = None
            return claim_bytes(claim)
        except BaseException:
            return OUT_OF_MEMORY

    def read(self, request):
        """The snippet's keys, checked. The first policy keys that come stay."""
        snippet, policy = read_request(request)
        if policy or self.policy is None:
            self.set_policy(policy)
        return snippet

    def set_policy(self, keys):
        policy = check_policy(keys)
        if self.policy is None:
            self.policy, self.limits = policy, policy[-1]
        elif policy != self.policy:
            raise ValueError("the policy of a session cannot change")

    def choose_layer(self, keys):
        """Another layer than the policy's, for a request that asked for one. The walls, and all else of the policy, stay."""
        if self.begun:
            raise ValueError("the policy of a session cannot change")
        old, self.policy = self.policy, check_policy(keys)[:LAYER_KEYS] + self.policy[LAYER_KEYS:]
        layer, builtin_set, imports, imports_checked, clock, sleep_ms = self.policy[:LAYER_KEYS]
        if (clock, sleep_ms) != old[4:LAYER_KEYS]:
            choose_clock(clock, sleep_ms)
        if layer and (layer, builtin_set) == old[:2]:  # the guards look at the list that is there when they are called
            from agentjail.check.allowed_imports import AllowedImports
            self.guards.imports = AllowedImports(list(imports), imports_checked)
        else:
            self.module = self.guards = self.recorded = None
            self.reserved_names = ()
            self.open()

    def open(self):
        """The namespace, with its guards: made for the first snippet, or in a zygote that knows the policy."""
        if self.module is None:
            layer, builtin_set, imports, imports_checked, clock, sleep_ms, env, files, folders, _ = self.policy
            if clock or sleep_ms:
                choose_clock(clock, sleep_ms)
            self.module = ModuleType("__main__")
            # Libraries look for the module of the agent's classes here; the interpreter's own would be the wrong one.
            self.starter = self.starter or sys.modules.get("__main__")
            sys.modules["__main__"] = self.module
            if layer:
                from agentjail.check.allowed_imports import AllowedImports
                from agentjail.rail.builtin_guards import MINIMAL, Guards
                self.guards = Guards(AllowedImports(list(imports), imports_checked), builtin_set,
                                     {"asyncio": install_event_loop}, files, folders)
                self.guards.code_files = self.sources
                self.bindings = new_bindings()
                self.builtins = self.guards.module
                if builtin_set == "static":
                    self.reserved_names = set(MINIMAL.split())
            else:
                import builtins
                self.builtins = builtins
                if IMPORT_RECORDER is not None:
                    self.recorded = IMPORT_RECORDER(self.module.__dict__)
            for entry in env:
                name, _, value = entry.partition("=")
                posix.putenv(name, value)
                posix.environ[name.encode()] = value.encode()
                if "os" in sys.modules:
                    sys.modules["os"].environ[name] = value
            if not layer or builtin_set != "minimal":
                self.display = self.module.display = self.make_display()
            self.final_answer = self.give_answer = self.make_final_answer()
        namespace = self.module.__dict__
        namespace["__builtins__"] = self.builtins
        namespace["__name__"] = "__main__"
        return namespace

    def make_final_answer(self):
        """The agent's function. Code may keep it, in a default or under another name: it answers for the snippet that runs."""
        def final_answer(answer=None):
            """Record the answer and end the snippet. The first answer stands."""
            if not self.answers:
                self.answers.append(answer)
            raise FinalAnswer
        final_answer.__qualname__ = "final_answer"  # a TypeError about its arguments has this name
        return final_answer

    def make_display(self):
        """The agent's function, as IPython's. Agent code may use the name for something else."""
        def display(*objects, raw=False, **options):
            """Show objects in the result: a MIME bundle for each. Other options of IPython's display() have no effect."""
            self.rich_results().display(objects, raw)
        return display

    def rich_results(self):
        if self.results is None:
            from agentjail.values.rich import Results
            self.results = Results(self.limits, self.keeps_files)
        return self.results

    def run_snippet(self, source, filename, soft_ms, last, req, claim, started):
        self.soft_ms, self.last = soft_ms, last
        self.filename = name_source(self, filename, source or "")
        if sys.argv == [""]:    # as python3 FILE and python3 -c have it
            sys.argv = ["-c" if filename[:1] == "<" else filename]
        namespace = self.open()
        self.answers = []
        self.results, self.keeps_files = None, req["output"]
        if req["output"]:
            from agentjail.runtime.warn_of_loss import files_of_tmp
            self.files_before = files_of_tmp()
        self.handles = self.open_handles() if req["handles"] else None
        if STDOUT is not None and STDOUT.line_buffering is not req["lines"]:
            STDOUT.reconfigure(line_buffering=req["lines"])
        before = None
        if self.guards is not None:
            self.guards.imported.clear()
            self.guards.refused.clear()
        else:
            before = set(sys.modules)
            if self.recorded is not None:
                self.recorded.clear()
        made = {}
        if req["tools"]:    # the host sends them once: a snippet that does not compile loses none
            from agentjail.runtime.tools import define_tools
            made = define_tools(self, namespace, req["tools"])
        code = None
        if source is not None:
            code = compile_source(self, source, claim, req["value_of"])
            if code is None:
                return
            for name in self.changed_tools:
                if name in self.tool_functions:
                    namespace[name] = self.tool_functions[name]
            self.changed_tools = ()
        if req["output"] or source and "/output" in source and self.policy and "/output" in self.policy[7]:
            from agentjail.values.files import make_output
            make_output()
        if req is not PLAIN:
            self.give(req, namespace, made)
        namespace["final_answer"] = self.final_answer
        namespace.pop(VALUE_NAME, None)
        self.running = self.answers if code is not None else None
        if started:
            posix.write(CONTROL_FD, started)
        if code is None:
            report_variables(self, req["get"], req["vars"], namespace, claim)
            return
        self.execute(code, namespace, before, claim, req["keep_value"])

    def give(self, req, namespace, made):
        """Inputs, files, seed and standard input of the caller's. made: the functions of new tools."""
        if req["inputs"]:
            from agentjail.values.type_tags import decode
            for name, value in req["inputs"].items():
                namespace[name] = decode(value, self)
                if name not in made:    # the caller's own variable takes the name from a tool
                    self.tool_functions.pop(name, None)
            namespace.update(made)
        if req["put"]:
            from agentjail.values.files import write_files
            write_files(req["put"])
        if req["seed"] is not None:
            from agentjail.runtime.reseed import seed_by_choice
            seed_by_choice(req["seed"])
        if req["stdin"] is not None:
            from agentjail.values.stdin import give_stdin
            self.stdin = give_stdin(req["stdin"], STDIN, self.guards is None or self.guards.opens_files)

    def open_handles(self):
        from agentjail.values.type_tags import Handles
        self.handle_table = self.handle_table or Handles()
        return self.handle_table

    def execute(self, code, namespace, before, claim, keep_value):
        answers, tools = self.answers, self.tools
        if tools is not None:
            tools.begin_snippet(self.limits["tool_bytes"])
        try:
            if code.co_flags & CO_COROUTINE:
                run_coroutine(eval(code, namespace), self.wants_event_loop(code))
                value = None
            else:
                value = eval(code, namespace)
            self.running = None
            value = namespace.pop(VALUE_NAME, value)
            if type(value) is CoroutineType:
                from agentjail.runtime.unawaited import refuse_value
                if refuse_value(self, value, claim):
                    return
            if keep_value and value is not None:
                namespace["_"] = value
            report_last_value(self, value, claim)
        except FinalAnswer:
            pass
        except SystemExit as e:
            if not is_success(e):
                report_error(self, e, claim)
            elif not answers:
                report_texts(self, None, claim)
        except BaseException as e:
            report_error(self, e, claim)
        finally:
            self.running = None
            if tools is not None:
                tools.end_snippet()
            if self.unawaited is not None:
                value = None  # which frees the coroutines in it
                report_unawaited(self, claim)
            if tools is not None:
                report_changed_tools(self, namespace, claim)
            report_imports(self, before, claim)
            if answers:
                report_answer(self, answers[0], claim)
            report_results(self, claim)
            report_files(self, claim)

    def wants_event_loop(self, code):
        if "asyncio" in sys.modules:
            return True
        return "asyncio" in code.co_names and (self.guards is None or self.guards.imports.allows("asyncio"))


def choose_clock(clock, sleep_ms):
    from agentjail.rail.clock import choose
    choose(clock, sleep_ms)


def is_success(e):
    """Does this SystemExit end a program that did its work? The codes are those of sys.exit()."""
    code = SystemExit.code.__get__(e)
    return code is None or (type(code) is int or type(code) is bool) and code == 0


def run_coroutine(coroutine, wants_loop):
    """Top-level await. Coroutines that wait for one another need no event loop."""
    if wants_loop:
        try:
            from agentjail.runtime.event_loop import run_loop
        except ImportError:
            pass  # the import statement of the code says so, with its line
        else:
            return run_loop(coroutine)
    try:
        while True:
            if coroutine.send(None) is not None:
                coroutine.throw(RuntimeError("nothing can end this await: there is no event loop"))
    except StopIteration:
        return None


def install_event_loop():
    """Python's own event loop makes a socket pair, which the jail's filter refuses."""
    from agentjail.runtime.event_loop import install_policy
    install_policy()


def flush_streams():
    """Write the buffers of print(), in the agent's replacement streams as well as in the interpreter's."""
    streams = (STDOUT, STDERR) if sys.stdout is STDOUT and sys.stderr is STDERR else (sys.stdout, sys.stderr, STDOUT, STDERR)
    for stream in streams:
        try:
            stream.flush()
        except BaseException:
            pass
    sys.stdout, sys.stderr = STDOUT, STDERR
