"""The two ends of one machine of a Ray cluster: the actor that holds its jails, and the actor's handle in the program that asks.
Neither chooses a machine or sends a call again to another one; ray.py does.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ray  # type: ignore[import-not-found]
from ray.exceptions import (  # type: ignore[import-not-found]
    ActorUnavailableError,
    PendingCallsLimitExceeded,
    RayActorError,
    RayTaskError,
    TaskCancelledError,
)

from . import errors
from ._base import Pauses
from .jail import Jail
from .result import Result
from .service import Service
from .session import Session
from .tools import collect

FULL_RETRY_MS = 50
DOUBT_S = 10.0  # how long a machine that could not be reached gets nothing new, where there are others


class JailNode:
    """The actor of one machine: it holds the connection to a service of that machine, and the sessions that were opened there.

    A service that has no room says `busy` at once, as the caller waits, or asks another machine. tools: run in this actor's process.
    """

    def __init__(self, address: str | None, tools: Any, service: Mapping[str, Any]) -> None:
        self._tools = collect(tools)
        self._service = Service(address, busy_timeout=0, **service)
        self._jail = Jail(service=self._service, tools=self._tools)
        self._sessions: dict[int, Session] = {}
        self._numbers = itertools.count(1)

    def start(self) -> int | None:
        """Start the service, or connect to it. Returns the process of a private one."""
        self._service.ping()
        return self._service.pid

    def run(self, code: str, options: Mapping[str, Any]) -> Result:
        return self._jail.run(code, **options)

    def open(self, tools: Any, options: Mapping[str, Any]) -> int:
        return self._keep(Session(self._tools if tools is None else tools, service=self._service, **options))

    def call(self, number: int, method: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A method of a session. A fork stays here, and its number is returned."""
        session = self._sessions.get(number)
        if session is None:
            raise errors.SessionEnded("the session was closed", "open another one")
        if method == "close":
            del self._sessions[number]
        out = getattr(session, method)(*arguments, **named)
        return self._keep(out) if isinstance(out, Session) else out

    def close(self) -> None:
        for session in list(self._sessions.values()):
            session.close()
        self._service.close()

    def _keep(self, session: Session) -> int:
        number = next(self._numbers)
        self._sessions[number] = session
        return number


@dataclass
class Node:
    """One machine as the caller sees it: the actor's handle, and what this process has under way there."""

    actor: Any
    name: str
    id: str
    jails: int
    load: int = 0  # calls under way and open sessions
    died: errors.NodeDied | None = None
    doubted: float = -DOUBT_S  # when it could not be reached
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.actor, self.name, self.id, self.jails)

    @property
    def order(self) -> tuple[bool, float]:
        """The machine with the least gets what comes next."""
        return time.monotonic() - self.doubted < DOUBT_S, self.load / self.jails

    def count(self, change: int) -> None:
        with self.lock:
            self.load += change

    def submit(self, method: str, *arguments: Any, control: bool = False) -> Any:
        """The reference of a call. Busy: `max_pending_calls` of them are under way."""
        group = {"concurrency_group": "control"} if control else {}
        try:
            return getattr(self.actor, method).options(**group).remote(*arguments)
        except PendingCallsLimitExceeded:
            raise errors.Busy(f"the node {self.name} has as many calls under way as it may", retry_ms=FULL_RETRY_MS) from None

    def answer(self, get: Callable[[], Any]) -> Any:
        """What a call gave. An exception of the actor's is raised as itself; NodeDied: the actor is gone, or cannot be reached."""
        try:
            return get()
        except RayTaskError as e:
            raise (e.cause if isinstance(e.cause, Exception) else e) from None
        except TaskCancelledError:
            raise errors.RequestClosed("the call was cancelled before it began") from None
        except RayActorError as e:
            error = errors.NodeDied(self.name, " ".join(str(e).split())[:500])
            self.doubted = time.monotonic()
            if not isinstance(e, ActorUnavailableError):
                self.died = error
            raise error from None

    def ask(self, busy_timeout: float, method: str, *arguments: Any, control: bool = False) -> Any:
        """Call, and wait; while there is no room, call again for so many seconds."""
        pauses = Pauses(busy_timeout)
        while True:
            try:
                ref = self.submit(method, *arguments, control=control)
                return self.answer(lambda: ray.get(ref))  # noqa: B023
            except errors.Busy as e:
                pause = pauses.next(e)
                if pause is None:
                    raise
            time.sleep(pause)
