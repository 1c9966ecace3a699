"""Many snippets with a bound: the requests that are under way at a time, their order, and those that found no room.
One thread does it all, the caller's: the service runs the snippets.
"""

from __future__ import annotations

import heapq
import os
import queue
import time
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from . import errors
from ._base import Pauses
from ._progress import Bar

if TYPE_CHECKING:
    from .jail import Progress


class Runner(Protocol):
    """What runs the requests: a Service, or the machines of a cluster. busy_timeout: seconds for which one that is Busy is sent again."""

    busy_timeout: float

    def link(self) -> Any:
        """It has start(request, wake), answer(pending) and forget(pending), as _link.Link."""


def workers_of(workers: int | None) -> int:
    """The bound: as the caller says, else two for each processor. ValueError: none could run."""
    if workers is None:
        return 2 * len(os.sched_getaffinity(0))
    if workers < 1:
        raise ValueError(f"workers={workers}: at least one snippet must run at a time")
    return workers


def run_all(
    service: Runner, requests: Iterator[Any], bound: int, progress: Progress, ordered: bool, total: int | None
) -> Generator[Any, None, None]:
    """The Results of the requests, `bound` of them under way at a time; in their order, or with their numbers."""
    link = service.link()
    arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
    running: dict[int, Any] = {}
    waiting: list[tuple[float, int, Any]] = []  # those that found no room: when to try again
    pauses: dict[int, Pauses] = {}
    ready: dict[int, Any] = {}  # ended before one that comes earlier
    bar = Bar(progress, total)
    started = given = ended = 0
    more = True

    def send(number: int, request: Any) -> None:
        running[number] = link.start(request, lambda: arrived.put(number))

    try:
        while True:
            # Results that wait for an earlier one count too: a slow first snippet must not gather the results of all others.
            while more and len(running) + len(waiting) < bound and started - given < 16 * bound:
                request = next(requests, None)
                if request is None:
                    more = False
                    break
                send(started, request)
                started += 1
            while waiting and waiting[0][0] <= time.monotonic():
                _, number, request = heapq.heappop(waiting)
                send(number, request)
            if not running and not waiting:
                break
            try:
                number = arrived.get(timeout=max(0.0, waiting[0][0] - time.monotonic()) if waiting else None)
            except queue.Empty:
                continue
            pending = running.pop(number)
            try:
                result = link.answer(pending)
            except errors.Busy as e:
                pause = pauses.setdefault(number, Pauses(service.busy_timeout, pending.request)).next(e)
                if pause is None:
                    raise
                heapq.heappush(waiting, (time.monotonic() + pause, number, pending.request))
                continue
            pauses.pop(number, None)
            ended += 1
            bar.show(ended)
            if not ordered:
                given += 1
                yield number, result
                continue
            ready[number] = result
            while given in ready:
                yield ready.pop(given)
                given += 1
    finally:
        bar.end()
        for pending in running.values():
            link.forget(pending)
