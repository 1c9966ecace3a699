"""One connection for asyncio: transports, futures and tasks around the state of _core.py, which interprets the messages.
A connection belongs to one event loop, and other threads reach it by call_soon_threadsafe() alone.
"""

from __future__ import annotations

import asyncio
import copy
import socket
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from . import errors
from ._base import GREETING_S, BaseLink, WhyGone
from ._core import Pending, Request, ToolCall
from ._wire import BrokenStream
from .tools import Answer

T = TypeVar("T")


class AsyncLink(BaseLink, asyncio.BufferedProtocol):
    """A connection."""

    def __init__(self, loop: asyncio.AbstractEventLoop, why_gone: WhyGone) -> None:
        super().__init__(why_gone)
        self.loop = loop
        self._transport: asyncio.Transport | None = None
        self._tasks: dict[Pending[Any], set[asyncio.Task[None]]] = {}
        self._greeted: asyncio.Future[None] = loop.create_future()
        self._over: asyncio.Future[None] = loop.create_future()
        self._room = asyncio.Event()
        self._room.set()

    @classmethod
    async def over(cls, sock: socket.socket, why_gone: WhyGone) -> AsyncLink:
        """A connection over this socket, when it was greeted."""
        loop = asyncio.get_running_loop()
        sock.setblocking(False)
        _, link = await loop.create_connection(lambda: cls(loop, why_gone), sock=sock)
        try:
            await asyncio.wait_for(link._greeted, GREETING_S)
        except asyncio.TimeoutError:
            raise why_gone("no greeting of the service") from None
        finally:
            if not link._greeted.done() or link._greeted.cancelled() or link._greeted.exception():
                link.close(errors.ServiceClosed("the service did not greet"))
        link._check_version()
        return link

    # --- asking ---

    async def ask(self, request: Request[T]) -> T:
        """Send a request and wait for its answer. Cancelling the wait ends the request."""
        if not self._room.is_set():
            await self._room.wait()
        if request.on_output is None:
            return await self._ask_silent(request)
        arrived = asyncio.Event()
        pending = self.start(request, arrived.set)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                over = pending.over
                for stream, text in self.pieces(pending):
                    handed = request.on_output(stream, text)
                    if asyncio.iscoroutine(handed):
                        await handed
                if over:
                    break
        except BaseException:
            self.forget(pending)
            raise
        return self.answer(pending)

    async def _ask_silent(self, request: Request[T]) -> T:
        """One that has no output to hand on: a future is enough."""
        answered: asyncio.Future[None] = self.loop.create_future()

        def wake() -> None:
            if not answered.done():
                answered.set_result(None)

        pending = self.start(request, wake)
        try:
            await answered
        except BaseException:
            self.forget(pending)
            raise
        return self.answer(pending)

    def start(self, request: Request[T], wake: Callable[[], Any]) -> Pending[T]:
        """Send a request. `wake` is called in the loop when there is something new."""
        while not self.orphans.empty():
            _, data = self._core.begin(Request("close", {"session": self.orphans.get()}), lambda: None)
            self._send(data)
        if self.gone is not None:
            raise copy.copy(self.gone)
        pending, data = self._core.begin(request, wake)
        self._send(data)
        return pending

    def answer(self, pending: Pending[T]) -> T:
        """Return the request's value, or raise its exception."""
        if self._tasks:
            self._end_tools(pending)
        if pending.error is not None:
            raise copy.copy(pending.error)
        return pending.request.finish(pending.answer)

    def pieces(self, pending: Pending[Any]) -> list[tuple[str, str]]:
        """The output that has come since the last call."""
        pieces, pending.inbox = pending.inbox, []
        return pieces

    def forget(self, pending: Pending[Any]) -> None:
        """End a request whose caller has given it up."""
        self._end_tools(pending)
        if self.gone is None:
            self._send(self._core.forget(pending))

    def _send(self, data: bytes) -> None:
        if data and self._transport is not None:
            self._transport.write(data)

    # --- callbacks of the transport ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._core.space()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            calls = self._core.received(nbytes)
        except BrokenStream as e:
            self._lost(f"the connection to the service broke: {e}")
            return
        if not self._greeted.done():
            if self._core.refused is not None:
                self._greeted.set_exception(self._core.refused)
            elif self._core.hello is not None:
                self._greeted.set_result(None)
        for call in calls:
            self._start_tool(call)

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(f"the connection to the service broke: {exc}" if exc else "the service ended the connection")
        if not self._over.done():
            self._over.set_result(None)

    def _lost(self, reason: str) -> None:
        if self.gone is None:
            self.close(self._core.refused or self._why_gone(reason))

    def close(self, error: BaseException) -> None:
        """End the connection; all that waits raises `error`. May be called again."""
        if self.gone is None:
            self.gone = error
            self._core.drop_all(error)
            self._room.set()
        for pending in list(self._tasks):
            self._end_tools(pending)
        if not self._greeted.done():
            self._greeted.set_exception(copy.copy(error))
        self._workers.close()
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()

    async def closed(self) -> None:
        """Until the transport has let go of the socket."""
        if self._transport is not None:
            await self._over

    # --- tools ---

    def _run_async(self, call: ToolCall, answering: Coroutine[Any, Any, None]) -> None:
        task = call.context().run(self.loop.create_task, answering)
        tasks = self._tasks.setdefault(call.pending, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def _give(self, call: ToolCall, answer: Answer) -> None:
        if self.gone is None:
            self._send(self._core.tool_answer(call, answer))

    def _give_from_thread(self, call: ToolCall, answer: Answer) -> None:
        try:
            self.loop.call_soon_threadsafe(self._give, call, answer)
        except RuntimeError:
            pass  # the loop is closed, and the run with it

    def _end_tools(self, pending: Pending[Any]) -> None:
        for task in self._tasks.pop(pending, ()):
            task.cancel()
