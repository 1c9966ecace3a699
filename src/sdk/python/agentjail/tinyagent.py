"""tinyagent's executors with a jail in place of `exec`: PythonExecutor as tiny-agent-os 0.73 has it, JailExecutor for the later shape.
No code runs in this process, and each run has a jail that was never used: no name, and no final answer, is left for the next.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import errors
from ._process import names_of
from .result import Result
from .service import Service
from .session import Session

__all__ = ["ExecutionLimits", "ExecutionResult", "ExecutionTimeout", "JailExecutor", "PythonExecutor"]


class ExecutionTimeout(TimeoutError):
    """The code was stopped at its limit of time."""


@dataclass(frozen=True)
class ExecutionLimits:
    """timeout: seconds of wall clock. output: characters of output that are kept. Memory is the policy's matter.

    steps: has no meaning for a jail, which counts no steps; a value is refused, since nothing would enforce it.
    """

    timeout: float = 30.0
    output: int = 10_000
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            raise ValueError("a jail counts no steps: limit the time with `timeout`")


@dataclass(frozen=True)
class ExecutionResult:
    """output: what the code printed, stripped; or the final answer as text. is_final: final_answer was called.

    error: its type and message, or None. duration: seconds. timed_out: it was stopped at its limit of time.
    killed: kill() ended it.
    """

    output: str
    is_final: bool = False
    error: str | None = None
    duration: float = 0.0
    timed_out: bool = False
    killed: bool = False


class _Runner:
    """What both shapes share: names for the code, a fresh jail for each run, and its end from another thread."""

    def __init__(self, imports: Iterable[str], limits: ExecutionLimits, builtin_set: str, service: Service | None) -> None:
        self.imports, self.limits, self.builtin_set, self.service = sorted(set(names_of("imports", imports))), limits, builtin_set, service
        self.lock = threading.Lock()
        self.session: Session | None = None
        self.killed = False

    def run(self, code: str, names: dict[str, Any], stdin: str | None) -> Result:
        """RequestClosed: kill() ended it."""
        functions = {name: value for name, value in names.items() if callable(value) and not isinstance(value, type)}
        session = Session(tools=functions, imports=self.imports, builtins=self.builtin_set, service=self.service)
        with self.lock:
            self.session, self.killed = session, False
        try:
            values = {name: value for name, value in names.items() if name not in functions}
            return session.run(code, inputs=values, stdin=stdin, timeout=self.limits.timeout)
        finally:
            with self.lock:
                self.session = None
            session.close()

    def kill(self) -> None:
        with self.lock:
            session, self.killed = self.session, self.session is not None
        if session is not None:
            session.close()


def _final_text(result: Result) -> str:
    return str(result.final_answer)


def _exception(result: Result) -> Exception:
    """The exception that the code ended with, as its own built-in class where it has one; the text holds line and hint."""
    error = result.error
    if result.status == "timeout":
        return ExecutionTimeout(result.reason)
    if error is None:
        return RuntimeError(f"{result.status}: {result.reason}")
    if result.status == "rejected":
        return RuntimeError("; ".join(str(e.message) for e in result.errors) or error.message)
    name, message = error.type, error.message
    if name == "ToolError":  # its text names the class that the function raised; ArgumentError: its arguments do not fit
        name, _, message = message.partition(": ")
    kind = TypeError if name == "ArgumentError" else getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(message.strip("'") if kind is KeyError else message)
        except TypeError:  # a UnicodeError wants five arguments
            pass
    return RuntimeError(f"{name}: {message}")


class PythonExecutor:
    """tinyagent.agents.code_agent.PythonExecutor, with a boundary: `run(code) -> (output, is_final)`.

    extra_imports: modules that the code may import; without them none. Functions that an agent puts into `_globals` are called
    on the host, as tools. final_answer ends the code; the original runs to its end.

    Raises what the code raises: a built-in exception by its own class, any other as a RuntimeError; RuntimeError naming the module
    for an import that is not allowed; ExecutionTimeout after `timeout` seconds.
    """

    def __init__(
        self,
        extra_imports: set[str] | None = None,
        *,
        timeout: float = 30.0,
        builtins: str = "minimal",
        service: Service | None = None,
    ) -> None:
        self._allowed = set(extra_imports or ())
        self._globals: dict[str, Any] = {}
        self._runner = _Runner(self._allowed, ExecutionLimits(timeout=timeout), builtins, service)

    def run(self, code: str, *, stdin: str | None = None) -> tuple[str, bool]:
        """stdin: the text that input() reads, which the builtins `standard` have."""
        result = self._runner.run(code, dict(self._globals), stdin)
        if not result.ok:
            raise _exception(result)
        if result.is_final:
            return _final_text(result), True
        return result.stdout.strip(), False

    def kill(self) -> None:
        """End the run that is under way in another thread, if there is one: it raises RequestClosed."""
        self._runner.kill()


class JailExecutor:
    """The later shape: run(code) -> ExecutionResult, which never raises for what the code did; kill() and inject(name, value).

    allowed_imports: modules that the code may import. A function that is injected is called on the host.
    """

    def __init__(
        self,
        allowed_imports: Iterable[str] = (),
        limits: ExecutionLimits | None = None,
        *,
        builtins: str = "standard",
        service: Service | None = None,
    ) -> None:
        self.limits = limits or ExecutionLimits()
        self._names: dict[str, Any] = {}
        self._runner = _Runner(allowed_imports, self.limits, builtins, service)

    def inject(self, name: str, value: Any | Callable[..., Any]) -> None:
        """Give every later run this name."""
        if not name.isidentifier():
            raise ValueError(f"{name!r} is not a variable name")
        self._names[name] = value

    def run(self, code: str, *, stdin: str | None = None) -> ExecutionResult:
        """stdin: the text that input() reads."""
        try:
            result = self._runner.run(code, dict(self._names), stdin)
        except errors.RequestClosed:
            return ExecutionResult("", error="killed", killed=True)
        output = _final_text(result) if result.ok and result.is_final else result.stdout.strip()
        error = None
        if not result.ok:
            raised = _exception(result)
            error = f"{type(raised).__name__}: {raised}"
        return ExecutionResult(
            output[: self.limits.output],
            is_final=result.ok and result.is_final,
            error=error,
            duration=result.wall_ms / 1000,
            timed_out=result.status == "timeout" or "wall_clock" in result.limits_hit,
        )

    def kill(self) -> None:
        """End the run that is under way in another thread, if there is one: its result has `killed`."""
        self._runner.kill()
