"""One connection for asyncio: a socket, futures and tasks around the state of _core.py, which interprets the messages.
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

UNSENT_BYTES = 1 << 16  # above that a request waits until the service has read more
RETRIES_MAX = 10  # retries after an exception interrupted a read


class AsyncLink(BaseLink):
    """A connection. It reads and writes its socket itself: a transport of asyncio's would do the same with more steps for each message."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, why_gone: WhyGone) -> None:
        super().__init__(sock, why_gone)
        self.loop = loop
        self._tasks: dict[Pending[Any], set[asyncio.Task[None]]] = {}
        self._greeted: asyncio.Future[None] = loop.create_future()
        self._unsent = bytearray()
        self._room = asyncio.Event()
        self._room.set()
        sock.setblocking(False)
        loop.add_reader(sock, self._read)

    @classmethod
    async def over(cls, sock: socket.socket, why_gone: WhyGone) -> AsyncLink:
        """A connection over this socket, when it was greeted."""
        link = cls(asyncio.get_running_loop(), sock, why_gone)
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
        if self._unsent:
            await self._room.wait()
        arrived: asyncio.Future[None] = self.loop.create_future()

        def wake() -> None:
            if not arrived.done():
                arrived.set_result(None)

        pending, hand, over = self.start(request, wake), request.on_output, False
        try:
            while not over:
                await arrived
                over = pending.over
                if not over:
                    arrived = self.loop.create_future()
                for stream, text in self.pieces(pending) if pending.inbox else ():
                    handed = hand(stream, text) if hand else None
                    if asyncio.iscoroutine(handed):
                        await handed
        except BaseException:
            self.forget(pending)
            raise
        return self.answer(pending)

    def start(self, request: Request[T], wake: Callable[[], Any]) -> Pending[T]:
        """Send a request. `wake` is called in the loop when there is something new."""
        while not self.orphans.empty():
            self._send(self._core.begin(Request("close", {"session": self.orphans.get()}), lambda: None)[1])
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
        data = self._core.forget(pending) if self.gone is None else b""
        if data:
            self._send(data)

    # --- the socket ---

    def _send(self, data: bytes) -> None:
        if not self._unsent:
            try:
                data = data[self._socket.send(data) :]
            except BlockingIOError:
                pass
            except OSError as e:
                self._lost(f"the connection to the service broke: {e}")
                return
            if not data:
                return
            self.loop.add_writer(self._socket, self._send_rest)
        self._unsent += data
        if len(self._unsent) > UNSENT_BYTES:
            self._room.clear()

    def _send_rest(self) -> None:
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError as e:
            self._lost(f"the connection to the service broke: {e}")
            return
        if len(self._unsent) <= UNSENT_BYTES:
            self._room.set()
        if not self._unsent:
            self.loop.remove_writer(self._socket)

    def _read(self) -> None:
        """Take in what has come. The handler of a signal may raise at any instant: then a message that was half taken in ends the
        connection, and tools that were not started are started next, so that no request waits in vain."""
        taken = False
        try:
            count = self._socket.recv_into(self._core.space())
            if not count:
                self._lost("the service ended the connection")
                return
            self._core.received(count)
            taken = True
            if self._core.calls or not self._greeted.done():
                self._proceed()
        except BaseException as e:
            if taken:
                self.loop.call_soon(self._proceed_again, RETRIES_MAX)
                raise
            if isinstance(e, BlockingIOError):
                return
            self._lost(f"the connection to the service broke: {str(e) or type(e).__name__}")
            if not isinstance(e, (OSError, BrokenStream)):
                raise

    def _proceed(self) -> None:
        """What follows from the messages that were taken in. A second call does what the first one has left."""
        if not self._greeted.done():
            if self._core.refused is not None:
                self._greeted.set_exception(self._core.refused)
            elif self._core.hello is not None:
                self._greeted.set_result(None)
        if self._core.calls:
            self._start_tools()

    def _proceed_again(self, tries: int) -> None:
        try:
            self._proceed()
        except BaseException as e:
            if tries > 1:
                self.loop.call_soon(self._proceed_again, tries - 1)
            else:  # no signal, as it seems, but no room for a thread
                self._lost(f"a tool was not started: {str(e) or type(e).__name__}")
            raise

    def _lost(self, reason: str) -> None:
        self.close(self.gone or self._core.refused or self._why_gone(reason))

    def close(self, error: BaseException) -> None:
        """End the connection; all that waits raises `error`. May be called again, also where a signal's handler has interrupted it."""
        self.gone = self.gone or error
        self._core.drop_all(self.gone)
        self._room.set()
        if self._socket.fileno() >= 0:
            if not self.loop.is_closed():
                self.loop.remove_reader(self._socket)
                self.loop.remove_writer(self._socket)
            self._socket.close()
        for pending in list(self._tasks):
            self._end_tools(pending)
        if not self._greeted.done():
            self._greeted.set_exception(copy.copy(error))
        self._workers.close()

    # --- tools ---

    def _run_async(self, call: ToolCall, answering: Coroutine[Any, Any, None]) -> None:
        task = call.context().run(self.loop.create_task, answering)
        tasks = self._tasks.setdefault(call.pending, set())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def _give(self, call: ToolCall, answer: Answer) -> None:
        data = self._core.tool_answer(call, answer) if self.gone is None else b""
        if data:
            self._send(data)

    def _give_from_thread(self, call: ToolCall, answer: Answer) -> None:
        try:
            self.loop.call_soon_threadsafe(self._give, call, answer)
        except RuntimeError:
            pass  # the loop is closed, and the run with it

    def _end_tools(self, pending: Pending[Any]) -> None:
        for task in self._tasks.pop(pending, ()):
            task.cancel()
