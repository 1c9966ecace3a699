"""smolagents' CodeAgent with a jail as its executor: `CodeAgent(tools=..., model=..., executor=AgentjailExecutor())`.
The code of each step runs in one session of a jail; tools and managed agents run here, with their state and their secrets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

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

from . import errors
from ._process import PolicyLike
from .result import ErrorInfo, Result
from .service import Service
from .session import Session
from .tools import Tool
from .values import encode

__all__ = ["AgentjailExecutor", "HostObjects"]

# smolagents gives its code these functions without an import.
PREAMBLE = "from math import acos, asin, atan, atan2, ceil, cos, degrees, exp, floor, log, radians, sin, sqrt, tan"
HOST_OBJECT = "__host_object__"
GONE = "The variables of earlier steps are gone: run again what defines them."


class HostObjects:
    """Objects that tools return and that have no form in a jail. There they are a dict with their number, type and text; passed to a
    tool they are the object again. Code can name any object of its own executor by its number, and no other.

    imports: what the code may import. An array, a table or an image goes in as itself only where its module is among them.
    """

    def __init__(self, imports: Iterable[str] = ("*",)) -> None:
        self._roots = {name.partition(".")[0] for name in imports}
        self._objects: list[Any] = []

    def outgoing(self, value: Any) -> Any:
        """The value as it goes into the jail."""
        if type(value) in (list, tuple):
            return type(value)(self.outgoing(v) for v in value)
        if type(value) is dict:
            return {k: self.outgoing(v) for k, v in value.items()}
        root = type(value).__module__.partition(".")[0]
        if root == "numpy" and getattr(value, "ndim", 1) == 0:
            value, root = value.item(), "builtins"
        if root not in ("numpy", "pandas", "PIL") or self._roots & {root, "*"}:
            try:
                encode(value)
                return value
            except errors.ValueNotSent:
                pass
        number = next((i for i, known in enumerate(self._objects) if known is value), len(self._objects))
        if number == len(self._objects):
            self._objects.append(value)
        return {HOST_OBJECT: number, "type": type(value).__name__, "text": str(value)[:200]}

    def incoming(self, value: Any) -> Any:
        """A value of the jail's, with the objects in the places of their dicts."""
        if type(value) is dict:
            number = value.get(HOST_OBJECT)
            if type(number) is int and 0 <= number < len(self._objects):
                return self._objects[number]
            return {k: self.incoming(v) for k, v in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.incoming(v) for v in value)
        return value


class State(dict[str, Any]):
    """`executor.state`: what was sent and `_print_outputs`; any other name is read from the session."""

    def __init__(self, executor: AgentjailExecutor) -> None:
        super().__init__(__name__="__main__")
        self._executor = executor

    def __missing__(self, name: str) -> Any:
        session = self._executor.session
        if session is None or not name.isidentifier():
            raise KeyError(name)
        try:
            return self._executor.objects.incoming(session.get(name, handles=True))
        except errors.SnippetError as e:
            raise KeyError(name) from e


class AgentjailExecutor(PythonExecutor):  # type: ignore[misc]
    """A PythonExecutor whose code runs in a jail.

    additional_authorized_imports: modules beside smolagents' own list, `numpy.*` and `*` included: pass CodeAgent the same list, which
    tells the model. max_print_outputs_length: characters of output that a step keeps. additional_functions: called here, as tools.
    timeout_seconds: for one step, or None for the policy's limit; the session survives it. policy, service: as of Session, the
    policy is `snippet` without one. builtins: `minimal`, `standard` or `full`. imports_checked: `run` (an import that is not allowed
    fails where it stands, as in LocalPythonExecutor) or `before` (the whole step is refused, and every such import is named).
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
        builtins: str = "standard",
        imports_checked: str = "run",
    ) -> None:
        self.additional_authorized_imports = list(additional_authorized_imports)
        self.authorized_imports = sorted(set(BASE_BUILTIN_MODULES) | set(self.additional_authorized_imports))
        self.max_print_outputs_length = DEFAULT_MAX_LEN_OUTPUT if max_print_outputs_length is None else max_print_outputs_length
        self.additional_functions = dict(additional_functions or {})
        self.timeout_seconds = timeout_seconds
        self.objects = HostObjects(self.authorized_imports)
        self.state = State(self)
        self.session: Session | None = None
        self._options: dict[str, Any] = {
            "policy": policy, "service": service, "imports": self.authorized_imports, "builtins": builtins, "imports_checked": imports_checked
        }  # fmt: skip
        self._tools: dict[str, Tool] = {}
        self._variables: dict[str, Any] = {}
        self.send_tools({})

    # --- what CodeAgent calls ---

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Tools and managed agents by name; they replace those of before that the session knows by the same name."""
        functions = {**tools, **self.additional_functions}
        if is_default_final_answer(functions.get("final_answer")):
            del functions["final_answer"]  # the jail's own ends the step, too, and takes any arguments
        self._tools = {name: self._tool(name, function) for name, function in functions.items()}
        if self.session is not None and self._tools:
            self.session.add_tools(self._tools)

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Variables for the steps that follow. What has no form in a jail arrives as HostObjects says."""
        sent = {name: self.objects.outgoing(value) for name, value in variables.items() if not name.startswith("_")}
        self.state.update(variables)
        self._variables.update(sent)
        if self.session is not None and sent:
            self.session.set(sent)

    def __call__(self, code_action: str) -> CodeOutput:
        self._print("")
        try:
            result = self._opened().run(code_action, timeout=self.timeout_seconds, value_of="statement", handles=True)
        except errors.SessionEnded as e:
            self.cleanup()
            raise InterpreterError(f"The Python session has ended ({e.message}). {GONE}") from e
        except errors.AgentjailError as e:
            raise InterpreterError(f"The code could not be run: {e}") from e
        logs = self._print(result.stdout)
        if not result.session_alive:
            self.cleanup()
        if not result.ok:
            raise self._error(result)
        value = self.objects.incoming(result.final_answer if result.is_final else result.value)
        return CodeOutput(output=value, logs=logs, is_final_answer=result.is_final)

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

    def _opened(self) -> Session:
        if self.session is None or self.session.closed:
            self.session = Session(self._tools, **self._options)
            if not self.session.run(PREAMBLE).ok and "math" in self.authorized_imports:
                self.cleanup()
                raise errors.SetupError("the session does not run smolagents' preamble", "use a policy whose Python layer allows math")
            if self._variables:
                self.session.set(self._variables)
        return self.session

    def _tool(self, name: str, function: Callable[..., Any]) -> Tool:
        def call(*args: Any, **kwargs: Any) -> Any:
            answer = function(*map(self.objects.incoming, args), **{k: self.objects.incoming(v) for k, v in kwargs.items()})
            return self.objects.outgoing(answer)

        inputs = getattr(function, "inputs", None)
        if not isinstance(inputs, Mapping):
            call.__wrapped__ = function  # type: ignore[attr-defined]
            return Tool(call, name=name, description=getattr(function, "__doc__", None) or "", reserved=True)
        return Tool(call, name=name, description=getattr(function, "description", ""), parameters=parameters_of(inputs), reserved=True)

    def _print(self, text: str) -> str:
        """Keep what a step printed where CodeAgent looks for it when the step failed."""
        container = self.state["_print_outputs"] = PrintContainer()
        container.value = truncate_content(text, self.max_print_outputs_length)
        return str(container.value)

    def _error(self, result: Result) -> Exception:
        if result.status == "timeout":
            text = f"Code execution exceeded the maximum execution time of {self.timeout_seconds} seconds"
            return ExecutionTimeoutError(text)  # type: ignore[no-any-return]
        found = result.errors or ([result.error] if result.error else [])
        lines = [line_of(error) for error in found] or [f"Code execution failed: {result.status}: {result.reason}"]
        if not result.session_alive:
            lines.append(f"The Python session has ended. {GONE}")
        return InterpreterError("\n".join(lines))  # type: ignore[no-any-return]


def line_of(error: ErrorInfo) -> str:
    where = f"at line '{error.source.strip()}'" if error.source.strip() else f"at line {error.line}"
    return f"Code execution failed {where} due to: {error.type}: {error.message}" + (f"\nHint: {error.hint}" if error.hint else "")


def is_default_final_answer(tool: Any) -> bool:
    from smolagents.default_tools import FinalAnswerTool  # type: ignore[import-untyped]

    return type(tool) is FinalAnswerTool


def parameters_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema for the inputs of a smolagents tool. It holds no types: the tool itself checks, as in LocalPythonExecutor."""
    properties = {name: {"description": str(spec.get("description", ""))} if isinstance(spec, Mapping) else {} for name, spec in inputs.items()}
    required = [name for name, spec in inputs.items() if not (isinstance(spec, Mapping) and spec.get("nullable"))]
    return {"type": "object", "properties": properties, "required": required}


