"""smolagents' CodeAgent with a jail as its executor: `CodeAgent(tools=..., model=..., executor=AgentjailExecutor())`.
The code of each step runs in one session of a jail; tools and managed agents run here, with their state and their secrets.
"""

from __future__ import annotations

import builtins as python_builtins
import inspect
import keyword
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import errors
from ._host_objects import HostObjects
from ._process import PolicyLike, names_of
from ._program import missing_package
from ._requests import Files
from .env import EnvLike
from .jail import Jail
from .live import live
from .result import ErrorInfo, Result
from .service import Service
from .session import Session
from .tools import Tool
from .values import Handle

try:
    from smolagents.default_tools import BASE_PYTHON_TOOLS  # type: ignore[import-untyped]
    from smolagents.local_python_executor import (  # type: ignore[import-untyped]
        BASE_BUILTIN_MODULES,
        DEFAULT_MAX_LEN_OUTPUT,
        CodeOutput,
        ExecutionTimeoutError,
        InterpreterError,
        PrintContainer,
        PythonExecutor,
    )
    from smolagents.utils import truncate_content  # type: ignore[import-untyped]
except ModuleNotFoundError as e:
    raise missing_package("smolagents", e) from None

__all__ = ["AgentjailExecutor", "HostObjects"]

# smolagents gives its code these functions without an import.
PREAMBLE = "from math import acos, asin, atan, atan2, ceil, cos, degrees, exp, floor, log, radians, sin, sqrt, tan"
GONE = "The variables of earlier steps are gone: run again what defines them."
# Python's functions that run text or show namespaces. LocalPythonExecutor has them for those who give them, and so has this executor.
DYNAMIC = frozenset(("eval", "exec", "compile", "globals", "locals", "vars"))
NAMED_MAX = 100  # packages that a step's import lines name
# A function that imports one module, and returns whether there is none of that name.
IMPORTED = """def missing_{n}():
    try:
        import {module}
    except ModuleNotFoundError as e:
        return e.name == "{root}"
"""


class State(dict[str, Any]):
    """`executor.state`: what was sent, `_print_outputs`, and the session's variables as they are now."""

    def __init__(self, executor: AgentjailExecutor) -> None:
        super().__init__(__name__="__main__")
        self._executor = executor

    def __getitem__(self, name: str) -> Any:
        session = self._executor.session
        own = not name.isidentifier() or name.startswith("__") or name == "_print_outputs"
        if session is not None and not own and name not in session.tools:
            try:
                return self._executor.outside(session.get(name, handles=True), session)
            except errors.AgentjailError:  # there is none of that name, or no session any more, or its step waits for the tool that asks
                pass
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return self.get(str(name), self) is not self


class AgentjailExecutor(PythonExecutor):  # type: ignore[misc]
    """A PythonExecutor whose code runs in a jail.

    additional_authorized_imports: modules beside smolagents' own list, `numpy.*` and `*` included: pass CodeAgent the same list, which
    tells the model. max_print_outputs_length: characters of output that a step keeps. additional_functions: called here, as tools; a
    function of Python's own under its own name is the jail's, but for `input`, which reads here. timeout_seconds: for one step, or None
    for the policy's limit; the session survives it. policy, service: as of Session, the policy is `snippet` without one. builtins:
    `minimal`, `static` (without eval, exec, compile, globals, locals and vars; the names of the commonest functions cannot be assigned),
    `standard` or `full`. Under `static` those six are there if one of them is given as a tool before the first step. imports_checked:
    `run` (an import that is not allowed fails where it stands, as in LocalPythonExecutor) or `before` (the whole step is refused, and
    every such import is named). env: as of Session. files: for each session, in /input, as for Session.write_files; other files go by open() and its
    Session.

    Threads take turns. InterpreterError: the jail's Python tree lacks a module of additional_authorized_imports.
    """

    def __init__(
        self,
        additional_authorized_imports: Iterable[str] = (),
        max_print_outputs_length: int | None = None,
        additional_functions: Mapping[str, Callable[..., Any]] | None = None,
        timeout_seconds: float | None = 30,
        *,
        policy: PolicyLike | None = None,
        service: Service | None = None,
        builtins: str = "static",
        imports_checked: str = "run",
        files: Files | None = None,
        env: EnvLike | None = None,
    ) -> None:
        self.session: Session | None = None
        self.additional_authorized_imports = names_of("additional_authorized_imports", additional_authorized_imports)
        self.authorized_imports = sorted(set(BASE_BUILTIN_MODULES) | set(self.additional_authorized_imports))
        self.max_print_outputs_length = DEFAULT_MAX_LEN_OUTPUT if max_print_outputs_length is None else max_print_outputs_length
        self.additional_functions = dict(additional_functions or {})
        self.timeout_seconds = timeout_seconds
        self.objects = HostObjects(self.authorized_imports)
        self.state = State(self)
        self._files = files
        self._options: dict[str, Any] = {
            "policy": policy, "service": service, "imports": self.authorized_imports, "builtins": builtins, "imports_checked": imports_checked,
            "env": env,
        }  # fmt: skip
        self._tools: dict[str, Tool] = {}
        self._variables: dict[str, Any] = {}
        self._turn, self._process = threading.Lock(), os.getpid()
        self._check_modules()
        self.send_tools({})

    # --- what CodeAgent calls ---

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Tools and managed agents by name, in place of all those of before."""
        given = {**tools, **self.additional_functions}
        functions = {name: f for name, f in given.items() if not is_pythons_own(name, f)}
        self._dynamic = any(name in DYNAMIC for name in given.keys() - functions.keys())
        if is_default_final_answer(functions.get("final_answer")):
            del functions["final_answer"]  # the jail's own ends the step, too, and takes any arguments
        made = {name: self._tool(name, function) for name, function in functions.items()}
        gone = {name: gone_tool(name) for name in self._tools if name not in made and name != "final_answer"}
        if self.session is not None and not self.session.closed and (made or gone):
            self.session.add_tools({**made, **gone})
        self._tools = made

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Variables for the steps that follow. A value that has no form in a jail arrives as HostObjects says. A name that no code can write, or
        that is a tool's, stays in `state`."""
        sent = {name: self.objects.outgoing(value) for name, value in variables.items() if self._is_name(name)}
        self.state.update(variables)
        if self.session is not None and not self.session.closed and sent:
            self.session.set(sent)
        self._variables.update(sent)

    def __call__(self, code_action: str) -> CodeOutput:
        session = self.session
        if session is not None and session.waits_for_caller:
            raise InterpreterError("A tool cannot run code in the session whose step called it: that step waits for the tool.")
        if self._process != os.getpid():  # in a child another thread of the parent's would hold the lock for ever
            self._turn, self._process = threading.Lock(), os.getpid()
        with self._turn:
            return self._step(code_action)

    def open(self) -> Session:
        """The session of the steps, opened if necessary, for example to add files: `executor.open().write_files(["data.csv"])`. A later session
        (after cleanup(), or after a step that ended its jail) has only the files in `files`."""
        with self._turn:
            return self._opened("")

    def cleanup(self) -> None:
        """End the session. The next step has a new one, with the tools and variables that were sent."""
        session, self.session = self.session, None
        if session is not None:
            session.close()

    def __enter__(self) -> AgentjailExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def __del__(self) -> None:
        if getattr(self, "session", None) is not None:
            self.cleanup()

    # --- inside ---

    def _step(self, code: str) -> CodeOutput:
        self._print("")
        try:
            session = self._opened(code)
            result = session.run(code, timeout=self.timeout_seconds, value_of="statement", handles=True)
        except errors.SessionEnded as e:
            self.cleanup()
            raise InterpreterError(f"The Python session has ended ({e.message}). {GONE}") from e
        except errors.ServiceDied as e:
            self.cleanup()
            raise InterpreterError(f"The Python session has ended while the code ran: {e.message}. {GONE}") from e
        except errors.AgentjailError as e:
            raise InterpreterError(f"The code could not be run: {e}") from e
        logs = self._print(result.stdout)
        if not result.session_alive:
            self.cleanup()
        if not result.ok:
            raise self._error(result)
        value = result.final_answer if result.is_final else result.value
        return CodeOutput(output=self.outside(value, session), logs=logs, is_final_answer=result.is_final)

    def _opened(self, code: str) -> Session:
        if self.session is not None:
            if self.session.closed:
                raise errors.SessionEnded("its service or its jail has ended")
            return self.session
        options = dict(self._options)
        if self._dynamic and options["builtins"] == "static":
            options["builtins"] = "standard"
        if "*" in self.authorized_imports:  # which names no package, and C code is loaded before the session's first step
            options["imports"] = sorted({*self.authorized_imports, *packages_imported(code)})
        session = Session(self._tools, timeout=self.timeout_seconds, files=self._files, **options)
        try:
            if not session.run(PREAMBLE).ok:
                raise errors.SetupError("the session does not run smolagents' preamble", "use a policy whose Python layer allows math")
            if self._variables:
                session.set(self._variables)
        except BaseException:
            session.close()
            raise
        self.session = session
        return session

    def outside(self, value: Any, session: Session) -> Any:
        """Convert a value of the session for the caller. A text of any length is returned as str."""
        if type(value) is Handle and value.type == "str":
            return str(live(value, session))
        return live(self.objects.incoming(value), session)

    def _is_name(self, name: str) -> bool:
        tools = self._tools if self.session is None else self.session.tools
        return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and name not in tools

    def _tool(self, name: str, function: Callable[..., Any]) -> Tool:
        if function is input:
            function = ask

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = function(*map(self.objects.incoming, args), **{k: self.objects.incoming(v) for k, v in kwargs.items()})
            return self.objects.outgoing(answer)

        inputs = getattr(function, "inputs", None)
        if isinstance(inputs, Mapping):
            return Tool(call, name=name, description=getattr(function, "description", ""), parameters=parameters_of(inputs), reserved=True)
        if has_signature(function):  # else any arguments are passed on
            call.__wrapped__ = function  # type: ignore[attr-defined]
        return Tool(call, name=name, description=getattr(function, "__doc__", None) or "", reserved=True)

    def _check_modules(self) -> None:
        modules = {name.removesuffix(".*") for name in self.additional_authorized_imports} - {"*", *BASE_BUILTIN_MODULES}
        pairs = [(name, name.partition(".")[0]) for name in sorted(modules) if all(part.isidentifier() for part in name.split("."))]
        if not pairs:
            return
        code = "".join(IMPORTED.format(n=n, module=module, root=root) for n, (module, root) in enumerate(pairs))
        code += f"[{', '.join(f'missing_{n}()' for n in range(len(pairs)))}]"
        result = Jail(**self._options).run(code, for_model=False)
        missing = sorted({root for (_, root), lacks in zip(pairs, result.value) if lacks is True}) if result.ok else []
        if missing:
            raise InterpreterError(
                f"Non-installed authorized modules: {', '.join(missing)}. The jail's Python tree lacks them, whatever this program's Python has. "
                f"Make an environment that has them (agentjail.Env.create('data', packages={missing}), then AgentjailExecutor(env='data')), "
                "or remove them from the authorized imports list."
            )

    def _print(self, text: str) -> str:
        """Keep what a step printed where CodeAgent looks for it when the step failed."""
        container = self.state["_print_outputs"] = PrintContainer()
        container.value = truncate_content(text, self.max_print_outputs_length)
        return str(container.value)

    def _error(self, result: Result) -> Exception:
        if result.status == "timeout":
            limit = f"of {self.timeout_seconds} seconds" if self.timeout_seconds is not None else "of the policy"
            return ExecutionTimeoutError(f"Code execution exceeded the maximum execution time {limit}")  # type: ignore[no-any-return]
        found = result.errors or ([result.error] if result.error else [])
        lines = [self._line(error) for error in found] or [f"Code execution failed: {result.status}: {result.reason}"]
        if "*" in self.authorized_imports and any("failed to map segment" in error.message for error in found):
            lines.append("Hint: beside '*' a package with C code is loaded ahead if the session's first step imports it, or the executor's list "
                         "names it, as in ['*', 'numpy.*'].")
        if not result.session_alive:
            lines.append(f"The Python session has ended. {GONE}")
        return InterpreterError("\n".join(lines))  # type: ignore[no-any-return]

    def _line(self, error: ErrorInfo) -> str:
        where = f"at line '{error.source.strip()}'" if error.source.strip() else f"at line {error.line}"
        message = error.message
        if error.rule == "PY-IMPORT":
            message = f"{message.partition(' Allowed: ')[0]} Authorized imports are: {self.authorized_imports}"
        return f"Code execution failed {where} due to: {error.type}: {message}" + (f"\nHint: {error.hint}" if error.hint else "")


def packages_imported(code: str) -> set[str]:
    """What the import lines of a text name, but for the standard library. A word that is no module, such as `np` after `as`, does no harm."""
    found: set[str] = set()
    for line in code.replace(";", "\n").splitlines():
        first, *names = line.replace(",", " ").split() or [""]
        if first in ("import", "from"):
            found.update(names[:1] if first == "from" else names)
    modules = {n for n in found if n.isascii() and all(p.isidentifier() and not keyword.iskeyword(p) for p in n.split("."))}
    return set(sorted(n for n in modules if n.partition(".")[0] not in sys.stdlib_module_names)[:NAMED_MAX])


def has_signature(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return True


def ask(prompt: object = "", /) -> str:
    """input() for code in a jail: its prompt does nothing to a terminal."""
    return input(errors.harmless(str(prompt)))


def gone_tool(name: str) -> Tool:
    """In the place of a tool that was taken back: a session's names of tools stay."""

    def gone(*args: Any, **kwargs: Any) -> Any:
        raise NameError(f"name {name!r} is not defined: the tool was taken back")

    return Tool(gone, name=name, description="Taken back.", reserved=True)


def is_pythons_own(name: str, function: Any) -> bool:
    """Whether the jail has this function of its own. As a tool, `print` would write here, and `eval` evaluate here. `input` is one that
    reads nothing, so a caller who gives this program's means that."""
    pythons = getattr(python_builtins, name, None), BASE_PYTHON_TOOLS.get(name)
    return function is not None and function is not input and any(function is own for own in pythons)


def is_default_final_answer(tool: Any) -> bool:
    from smolagents.default_tools import FinalAnswerTool

    return type(tool) is FinalAnswerTool


def parameters_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema for the inputs of a smolagents tool. It holds no types: the tool itself checks, as in LocalPythonExecutor."""
    properties = {name: {"description": str(spec.get("description", ""))} if isinstance(spec, Mapping) else {} for name, spec in inputs.items()}
    required = [name for name, spec in inputs.items() if not (isinstance(spec, Mapping) and spec.get("nullable"))]
    return {"type": "object", "properties": properties, "required": required}


