"""Threads for tools: daemon threads that end when they are idle, and one event loop for tools that are coroutine functions.
The interpreter waits for none of them at its end, since a tool may hang.
"""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

IDLE_S = 10.0
THREADS_MAX = 128  # the service lets 64 calls of one session wait


class Workers:
    """Runs functions in threads, each as soon as there is one. Not more than THREADS_MAX run at a time; others wait."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._idle = self._threads = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks_of_loop: set[asyncio.Task[Any]] = set()  # a loop alone would not keep them
        self._closed = False

    def submit(self, task: Callable[[], Any]) -> None:
        """Run `task` in a thread. It must catch its own exceptions."""
        with self._lock:
            if self._closed:
                return
            if self._idle > 0:
                self._idle -= 1  # it is this task's now
            elif self._threads < THREADS_MAX:
                threading.Thread(target=self._work, name="agentjail-tool", daemon=True).start()
                self._threads += 1
            self._tasks.put(task)

    def _work(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        self._threads -= 1
                        return
                continue  # a task is on its way
            if task is None:
                return
            task()
            del task
            with self._lock:
                if self._closed:
                    return
                self._idle += 1

    def run_async(self, coroutine: Coroutine[Any, Any, Any], context: contextvars.Context) -> None:
        """Run a coroutine in the one loop thread, in a context. It must catch its own exceptions."""
        with self._lock:
            if self._closed:
                coroutine.close()
                return
            import asyncio  # large, and for such tools alone

            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_serve_loop, args=(self._loop,), name="agentjail-loop", daemon=True).start()
            self._loop.call_soon_threadsafe(self._begin, self._loop, coroutine, context=context)

    def _begin(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = loop.create_task(coroutine)
        self._tasks_of_loop.add(task)
        task.add_done_callback(self._tasks_of_loop.discard)

    def close(self) -> None:
        """Let all threads end; those that run a tool end after it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for _ in range(self._threads):
                self._tasks.put(None)
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)


def _serve_loop(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    finally:
        loop.close()
