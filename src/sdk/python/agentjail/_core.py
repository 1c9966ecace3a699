"""The client's side of the protocol as pure state: the requests under way, and the effect of each message of the service on them.
This module reads no socket, never waits and runs no tool; _link.py does so for threads, _async_link.py for asyncio.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import errors
from ._process import OPTIONS
from ._unread import UNREAD_MAX, head
from ._wire import BrokenStream, Frames, Message, frame, message_of

if TYPE_CHECKING:
    from .tools import Tool

T = TypeVar("T")


# In a tool: runs that wait for it, as (connection, session); several if a tool ran code in another session. The session is "" for a run without
# one. Such a session cannot answer requests that need its Python.
waiting_runs: contextvars.ContextVar[frozenset[tuple[int, str]]] = contextvars.ContextVar("agentjail_waiting_runs", default=frozenset())
# How long a tool's request waits for a jail: not long, as all jails may be in use by runs that wait for such tools.
TOOL_BUSY_MS = 2000
NEEDS_JAIL = frozenset(("exec", "open"))
NEEDS_PYTHON = frozenset(("run", "set", "get", "vars", "fork", "checkpoint"))


def same(answer: Any) -> Any:
    return answer


def rejected(op: str, run_id: str | None, message: str, fix: str, **more: Any) -> Message:
    """The result for code that cannot be sent."""
    error = {"type": "SourceError", "step": "source", "message": message, "fix": fix, **more}
    result = {"id": run_id or os.urandom(8).hex(), "status": "rejected", "reason": message, "error": error}
    return {**result, "session": "alive"} if op == "run" else result


@dataclass(slots=True)
class Request(Generic[T]):
    """One question to the service.

    members: of the message, without `op` and `id`. finish: makes the caller's value from the answer.
    tools: that its snippet may call. on_output: is given each piece of ("stdout" or "stderr", text). unread: whether finish takes an Unread, too.
    refused: an answer that is known without the service.
    """

    op: str
    members: Message
    finish: Callable[[Any], T] = same
    tools: Mapping[str, Tool] = field(default_factory=dict)
    on_output: Callable[[str, str], Any] | None = None
    unread: bool = False
    refused: Message | None = None
    began: float = field(default_factory=time.monotonic)


class Pending(Generic[T]):
    """A request that has no answer yet. `wake` is called for its answer and for each piece of its output.

    Who hands output on reads `over` before the inbox: the last pieces may come while an earlier one is handed on.
    """

    __slots__ = ("answer", "context", "error", "id", "inbox", "over", "request", "session", "wake")

    def __init__(self, id: int, request: Request[T], wake: Callable[[], Any]) -> None:
        self.id, self.request, self.wake = id, request, wake
        self.over = False
        self.answer: Any = None
        self.error: BaseException | None = None
        self.inbox: list[tuple[str, str]] = []  # output that was not handed on yet
        self.context: contextvars.Context | None = None  # of the caller, for its tools
        self.session: tuple[int, str] | None = None  # of a run with tools: its connection, and its session's name or ""


@dataclass(slots=True)
class ToolCall:
    """A snippet waits for the value of one of the caller's functions."""

    pending: Pending[Any]
    call: int
    tool: str
    args: Message
    _claim: threading.Lock = field(default_factory=threading.Lock)

    def claim(self) -> bool:
        """Whether the caller is to run the tool. A call that was started twice is claimed once."""
        return self._claim.acquire(blocking=False)

    def context(self) -> contextvars.Context:
        """A context for the tool: a copy of the caller's, in which the session is known to wait."""
        context = (self.pending.context or contextvars.Context()).copy()
        if self.pending.session is not None:
            context.run(waiting_runs.set, context.run(waiting_runs.get) | {self.pending.session})
        return context


class Core:
    """One connection's state. Not safe for threads: the caller holds a lock, or runs in one event loop."""

    def __init__(self, private: bool = False) -> None:
        self._private = private  # the service was started by this program, whose author sets its options as keywords of Service
        self._frames = Frames()
        self.space = self._frames.space  # where the next bytes of the service go
        self._ids = itertools.count(1)
        self._pending: dict[int, Pending[Any]] = {}
        self.hello: Message | None = None
        self.request_bytes = 1 << 22  # the longest request that the service takes
        self.refused: errors.ServiceError | None = None  # the service's last word about the connection itself
        self.ended: dict[str, str] = {}  # sessions whose jail is gone -> why
        self.calls: deque[ToolCall] = deque()  # of tools, until each was started

    def waits_for_caller(self, session: str | None) -> bool:
        """Whether this is asked in a tool that a run of the session waits for."""
        waiting = waiting_runs.get()
        return bool(waiting) and (id(self), session) in waiting

    def begin(self, request: Request[T], wake: Callable[[], Any]) -> tuple[Pending[T], bytes]:
        """The state and the bytes of a new request. TooLarge, ValueNotSent: nothing was begun."""
        name = request.members.get("session")
        if waiting_runs.get() and request.op in NEEDS_PYTHON and self.waits_for_caller(name):
            raise errors.ReentrantCall(f"a tool cannot ask for `{request.op}` in the session whose run waits for the tool")
        number = next(self._ids)
        if request.refused is not None:
            return self._answered(number, request, request.refused, wake)
        message = {"id": number, "op": request.op, **request.members}
        if request.op in NEEDS_JAIL and waiting_runs.get():
            message["queue_ms"] = TOOL_BUSY_MS
        try:
            data = self._bytes(message)
        except errors.TooLarge:
            code = request.members.get("code")
            if not isinstance(code, str) or len(frame({"code": code})) - 4 <= self.request_bytes:
                raise  # what else the request has is the caller's, not the code's author's
            why = f"source: the snippet has {len(code.encode())} bytes; a request may have {self.request_bytes}"
            refused = rejected(request.op, request.members.get("run_id"), why, "write a shorter snippet: pass data as inputs or files")
            return self._answered(number, request, refused, wake)
        pending = self._pending[number] = Pending(number, request, wake)
        if request.tools:
            pending.context = contextvars.copy_context()
            pending.session = id(self), name or ""  # of another connection a session may have the same name
        return pending, data

    def _answered(self, number: int, request: Request[T], answer: Message, wake: Callable[[], Any]) -> tuple[Pending[T], bytes]:
        pending = Pending(number, request, wake)
        pending.answer, pending.over = answer, True
        wake()
        return pending, b""

    def forget(self, pending: Pending[Any]) -> bytes:
        """The caller has given the request up. Returns the bytes that end the request in the service, or none; its answer is dropped."""
        if self._pending.pop(pending.id, None) is None:
            return b""
        if pending.request.op in ("exec", "open"):
            return self._bytes({"id": next(self._ids), "op": "close", "request": pending.id})
        if pending.request.op in ("run", "set", "get", "vars"):
            return self._bytes({"id": next(self._ids), "op": "interrupt", "request": pending.id})
        return b""

    def tool_answer(self, call: ToolCall, answer: Message) -> bytes:
        """The bytes that give a tool's `value` or `error`; none when the request is over."""
        if call.pending.id not in self._pending:
            return b""
        head = {"op": "tool_result", "request": call.pending.id, "call": call.call}
        try:
            return self._bytes({**head, **answer})
        except errors.AgentjailError as e:
            return self._bytes({**head, "error": {"type": "ResultError", "message": str(e)[:500]}})

    def received(self, count: int) -> None:
        """`count` bytes came into space(). Ends and wakes requests, and adds to `calls`. BrokenStream: close the connection."""
        for text in self._frames.filled(count):
            begun = head(text) if len(text) <= UNREAD_MAX else None
            if begun is not None:
                pending = self._pending.get(int(begun[1]))
                if pending is not None and pending.request.unread:
                    self._end(pending.id, begun, None)
                    continue
            try:
                self._take(message_of(text))
            except (AttributeError, KeyError, TypeError, ValueError) as e:
                raise BrokenStream(f"a message without sense ({type(e).__name__}: {e})") from None

    def drop_all(self, error: BaseException) -> None:
        """The connection is over: every request ends with this error."""
        for id in list(self._pending):
            self._end(id, None, error)

    def _end(self, id: Any, answer: Any, error: BaseException | None) -> None:
        """A request leaves the list once its caller was woken: an exception of a signal's handler in between leaves it to drop_all()."""
        pending = self._pending.get(id)
        if pending is not None:
            pending.answer, pending.error, pending.over = answer, error, True
            pending.wake()
            self._pending.pop(id, None)

    def _take(self, message: Message) -> None:
        event = message.get("event")
        if event is None:
            if "result" in message:
                self._end(message["id"], message["result"], None)
            elif "error" in message:
                self._take_error(message)
            elif "hello" in message:
                self.hello = message["hello"]
                self.request_bytes = int(self.hello["limits"]["request_bytes"])
        elif event == "ended":
            self.ended[message["session"]] = message["why"]
        elif event == "tool_call":
            pending = self._pending.get(message["id"])
            if pending is not None:
                self.calls.append(ToolCall(pending, message["call"], message["tool"], message["args"]))
        elif event in ("stdout", "stderr"):
            pending = self._pending.get(message["id"])
            if pending is not None:
                pending.inbox.append((event, message["data"]))
                pending.wake()

    def _take_error(self, message: Message) -> None:
        id, error = message.get("id"), errors.from_error(advise_keywords(message["error"]) if self._private else message["error"])
        if id is not None:
            self._end(id, None, error)
        elif "call" in message:  # the tool's value does not fit its declaration: so the tool has failed
            pending = self._pending.get(message["request"])
            if pending is not None and error.code == "no_such_call":
                self.calls.append(ToolCall(pending, message["call"], "", {"type": "ResultError", "message": error.message}))
        else:
            self.refused = error

    def _bytes(self, message: Message) -> bytes:
        try:
            data = frame(message)
        except (TypeError, ValueError, RecursionError) as e:
            raise errors.ValueNotSent(f"{_unserializable(message)} has no form as JSON: {e}") from None
        if len(data) - 4 > self.request_bytes:
            raise errors.TooLarge(
                f"a request of {len(data) - 4} bytes is longer than the {self.request_bytes} that the service takes",
                "send less at a time, or start the service with a larger "
                f"{'Service(request_max=…)' if self._private else '--request-max'} (64M at most)",
            )
        return data


def advise_keywords(error: Message) -> Message:
    """The error with the keywords of Service in its advice, in place of the command's options."""
    keywords = {option: key for key, option in OPTIONS.items()}
    fix = re.sub(r"--[a-z]+(-[a-z]+)*", lambda m: f"Service({keywords[m[0]]}=…)" if m[0] in keywords else m[0], str(error.get("fix", "")))
    return {**error, "fix": fix}


def _unserializable(message: Message) -> str:
    """What frame() did not take."""
    for name, value in message.items():
        try:
            frame({name: value})
        except (TypeError, ValueError, RecursionError):
            return f"`{name}`"
    return "the request"
