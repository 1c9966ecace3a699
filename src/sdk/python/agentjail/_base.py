"""The common part of the clients for threads and for asyncio: how a service is started and left, what a connection knows and how it
calls tools, pauses while a service has no room, and the list of all services of this process. This module sends nothing and never waits.
"""

from __future__ import annotations

import atexit
import os
import queue
import random
import socket
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from . import errors
from ._core import TOOL_BUSY_MS, Core, Request, ToolCall, waiting_runs
from ._process import PolicyLike, Process, Recipe, command_options, key_of
from ._workers import Workers
from .env import EnvLike, name_of
from .tools import Answer, Tool

BUSY_S = 30.0  # how long a request is tried again while the service has no room
PAUSE_MS = 5000.0  # the longest pause between two tries, since the service only estimates when there is room
DEATH_S = 0.5  # how long a process may take to be dead after its connection has ended
GREETING_S = 60.0

WhyGone = Callable[[str], BaseException]
S = TypeVar("S", bound="BaseService")


class NotCopyable:
    """A thing of which there is one. A copy would close the original when the copy is collected."""

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: it is a connection of this process")


class BaseService(NotCopyable):
    """How a service is reached or started; Service has the words."""

    def __init__(
        self,
        address: str | os.PathLike[str] | None = None,
        *,
        program: str | os.PathLike[str] | None = None,
        rootfs: str | os.PathLike[str] | None = None,
        policy: PolicyLike | None = None,
        policies: Sequence[PolicyLike] = (),
        busy_timeout: float = BUSY_S,
        options: Sequence[str] = (),
        env: Mapping[str, str] | EnvLike | None = None,
        **limits: Any,
    ) -> None:
        given = (*(() if policy is None else (policy,)), *policies)
        self.address = None if address is None else os.fspath(address)
        variables = env if isinstance(env, Mapping) else {}
        packages = () if env is None or isinstance(env, Mapping) else ("--env", name_of(env))
        self._recipe = Recipe(program, rootfs, given, (*command_options(limits), *packages, *options), variables)
        if self.address is not None and self._recipe != Recipe():
            raise TypeError("a service at an address has its own program, policies and limits")
        self.busy_timeout = busy_timeout
        self._link: Any = None
        self._process: Process | None = None
        self._closed = False
        self._prepare()
        _all.add(self)

    def _prepare(self) -> None:
        """Set the fields of a subclass, at first and in a process that was forked."""

    @property
    def pid(self) -> int | None:
        """The private service's process; None while there is none, or at an address."""
        process = self._process
        return process.pid if process else None

    def __repr__(self) -> str:
        where = f"at {self.address}" if self.address is not None else f"of process {self.pid}" if self.pid else "not started"
        return f"<{type(self).__name__} {'closed' if self._closed else where}>"

    def close_now(self) -> None:
        """Close the service without waiting for requests under way."""
        self._closed = True
        self._drop("the service was closed")

    def leave(self) -> None:
        """After a fork, in the child: give up the connection and the process, which belong to the parent."""
        self._prepare()
        link, process = self._detach()
        if link is not None:
            link.leave()
        if process is not None:
            process.leave()

    def _detach(self) -> tuple[Any, Process | None]:
        """The connection and the process, which this object has no more."""
        link, self._link = self._link, None
        process, self._process = self._process, None
        return link, process

    def _drop(self, why: str) -> None:
        link, process = self._detach()
        if link is not None:
            link.close(errors.ServiceClosed(why))
        if process is not None:
            process.end()

    @contextmanager
    def _line(self) -> Iterator[tuple[socket.socket, WhyGone]]:
        """For a new connection: its socket, and what makes the exception for its end. SetupError: the service does not start, or answer."""
        if self.address is not None:
            sock = socket.socket(socket.AF_UNIX)
            try:
                sock.connect(self.address)
                yield sock, lambda reason: errors.ServiceDied(f"{reason} (at {self.address})")
            except OSError as e:
                sock.close()
                message = f"no service answers at {self.address}: {e.strerror or e}"
                raise errors.SetupError(message, "start `agentjail serve`, or give no address") from None
            except BaseException:
                sock.close()
                raise
            return
        process = Process(self._recipe)
        try:
            yield process.socket, lambda reason: died(process, reason)
        except errors.ServiceDied:
            raise process.start_failed() from None
        except BaseException:
            process.end(0)
            raise
        self._process = process


def found(services: MutableMapping[Any, S], make: type[S], policy: PolicyLike | None, imports: Sequence[str] | None, **limits: Any) -> S:
    """The one of `services` for such jails, which is made where there is none that is open."""
    key = (key_of(policy), tuple(sorted(imports or ())), *limits.values())
    service = services.get(key)
    if service is None or service._closed:
        service = services[key] = make(policy=policy, allow_imports=imports, **limits)
    return service


class BaseLink:
    """What a connection knows, and how it answers calls of tools.

    why_gone: makes the exception of requests whose connection has ended.
    """

    def __init__(self, sock: socket.socket, why_gone: WhyGone) -> None:
        self._socket, self._why_gone = sock, why_gone
        self._core = Core(private=not sock.getpeername())  # the end of a socket pair has no address
        self._workers = Workers()
        self.orphans: queue.SimpleQueue[str] = queue.SimpleQueue()  # sessions that were given up without a close
        self.gone: BaseException | None = None

    @property
    def hello(self) -> dict[str, Any]:
        return self._core.hello or {}

    @property
    def request_bytes(self) -> int:
        """The longest request, in bytes."""
        return self._core.request_bytes

    @property
    def ended(self) -> dict[str, str]:
        """Sessions whose jail is gone, and why."""
        return self._core.ended

    def _check_version(self) -> None:
        version = self.hello.get("protocol")
        if version != 1:
            raise errors.ServiceError(f"the service speaks version {version} of the protocol, this client version 1")

    def leave(self) -> None:
        """In a process that was forked: the connection is the other process's."""
        self.gone = errors.ServiceClosed("this connection belongs to the process that this one was forked from")
        self._socket.close()

    # --- tools ---

    def _start_tools(self) -> None:
        """Start the tools that were called. A call leaves the list after its start: an exception of a signal's handler in between loses none."""
        calls = self._core.calls
        while calls:
            self._start_tool(calls[0])
            calls.popleft()

    def _start_tool(self, call: ToolCall) -> None:
        if call.pending.over:
            return
        tool = call.pending.request.tools.get(call.tool)
        if tool is not None and tool.is_async:
            self._run_async(call, self._await_tool(call, tool))
        else:
            self._workers.submit(lambda: self._answer(call, tool))

    def _answer(self, call: ToolCall, tool: Tool | None) -> None:
        """In a thread: run the tool, unless another start of the call does so."""
        if not call.claim():
            return
        if tool is None:  # also the service's word that a value did not fit
            error = call.args if not call.tool else {"type": "UnknownTool", "message": f"the program has no tool {call.tool}"}
            self._give_from_thread(call, {"error": error})
        else:
            self._give_from_thread(call, tool.answer(call.args, call.context()))

    async def _await_tool(self, call: ToolCall, tool: Tool) -> None:
        if not call.claim():
            return
        answer: Answer = {"error": {"type": "ToolFailure", "message": "the tool was interrupted"}}
        try:
            answer = await tool.answer_async(call.args)
        finally:
            self._give(call, answer)

    def _run_async(self, call: ToolCall, answering: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the tool's context."""
        raise NotImplementedError

    def _give(self, call: ToolCall, answer: Answer) -> None:
        """Send a tool's answer, where its run still waits for it."""
        raise NotImplementedError

    def _give_from_thread(self, call: ToolCall, answer: Answer) -> None:
        self._give(call, answer)


class Pauses:
    """How long to wait before a request that found no room is sent again."""

    def __init__(self, limit_s: float, request: Request[Any] | None = None) -> None:
        limit_s = min(limit_s, TOOL_BUSY_MS / 1000) if waiting_runs.get() else limit_s
        began = request.began if request is not None else time.monotonic()
        self._end, self._own_ms = began + limit_s, 5.0

    def next(self, error: errors.Busy) -> float | None:
        """Seconds, or None when there was enough waiting."""
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        self._own_ms = min(self._own_ms * 1.5, 500.0)
        return min(min(max(error.retry_ms or 0, self._own_ms), PAUSE_MS) * random.uniform(0.5, 1.5) / 1000, left)

    def take(self, error: errors.Busy) -> float:
        """Seconds. When there was enough waiting, the error is raised."""
        pause = self.next(error)
        if pause is None:
            raise error
        return pause


def died(process: Process, reason: str) -> errors.ServiceDied:
    try:
        status: int | None = process.process.wait(DEATH_S)
    except Exception:
        status = None
    how = f" (signal {-status})" if status is not None and status < 0 else f" (exit status {status})" if status else ""
    return errors.ServiceDied(f"the private service has died{how}: {reason}", process.log_tail())


_all: weakref.WeakSet[BaseService] = weakref.WeakSet()


def close_all() -> None:
    """End every service of this process."""
    for service in list(_all):
        service.close_now()


def _after_fork() -> None:
    for service in list(_all):
        service.leave()


atexit.register(close_all)
os.register_at_fork(after_in_child=_after_fork)
