"""The common part of the services for threads and for asyncio: the recipe of a private service, pauses while a service has no room, the
error for a dead one, and the list of all services of this process, for its forks and its end. This module sends no request.
"""

from __future__ import annotations

import atexit
import os
import random
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from . import errors
from ._process import PolicyLike, Process, Recipe, words

BUSY_S = 30.0  # how long a request is tried again while the service has no room
DEATH_S = 0.5  # how long a process may take to be dead after its connection has ended


class BaseService:
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
        env: Mapping[str, str] | None = None,
        **limits: Any,
    ) -> None:
        given = (*(() if policy is None else (policy,)), *policies)
        self.address = None if address is None else os.fspath(address)
        self._recipe = Recipe(program, rootfs, given, (*words(limits), *options), env or {})
        if self.address is not None and self._recipe != Recipe():
            raise TypeError("a service at an address has its own program, policies and limits")
        self.busy_timeout = busy_timeout
        self._process: Process | None = None
        self._closed = False
        self._prepare()
        _all.add(self)

    def _prepare(self) -> None:
        """Set the fields of a subclass."""

    @property
    def pid(self) -> int | None:
        """The private service's process; None while there is none, or at an address."""
        process = self._process
        return process.pid if process else None

    def close_now(self) -> None:
        """Close the service without waiting for requests under way."""
        raise NotImplementedError

    def leave(self) -> None:
        """After a fork, in the child: give up the connection and the process, which belong to the parent."""
        raise NotImplementedError


class Pauses:
    """How long to wait before a request that found no room is sent again."""

    def __init__(self, limit_s: float) -> None:
        self._end, self._own_ms = time.monotonic() + limit_s, 5.0

    def next(self, error: errors.Busy) -> float | None:
        """Seconds, or None when there was enough waiting."""
        left = self._end - time.monotonic()
        if left <= 0:
            return None
        self._own_ms = min(self._own_ms * 1.5, 500.0)
        return min(max(error.retry_ms or 0, self._own_ms) * random.uniform(0.5, 1.5) / 1000, left)


def died(process: Process, reason: str) -> errors.ServiceDied:
    try:
        status: int | None = process.process.wait(DEATH_S)
    except Exception:
        status = None
    how = f" (signal {-status})" if status is not None and status < 0 else f" (exit status {status})" if status else ""
    return errors.ServiceDied(f"the private service has died{how}: {reason}", process.last_words())


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
