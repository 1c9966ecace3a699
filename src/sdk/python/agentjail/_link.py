"""One connection for threads: one thread reads, any number of threads send requests; _core.py interprets the messages.
The reader runs no code of the caller's: output goes to the requesting thread, tools run in threads of their own.
"""

from __future__ import annotations

import copy
import queue
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from . import errors
from ._base import GREETING_S, BaseLink, WhyGone
from ._core import Pending, Request, ToolCall
from ._wire import BrokenStream
from .tools import Answer

T = TypeVar("T")


class Link(BaseLink):
    """A connection that was greeted."""

    def __init__(self, sock: socket.socket, why_gone: WhyGone) -> None:
        super().__init__(sock, why_gone)
        self._lock = threading.RLock()  # of the core; a collected object may come back to it
        self._sending = threading.Lock()  # of the socket, so that frames are not mixed
        self._ending = threading.RLock()
        self._greet()
        self._reader = threading.Thread(target=self._read, name="agentjail-reader", daemon=True)
        self._reader.start()

    def _greet(self) -> None:
        self._socket.settimeout(GREETING_S)
        while self._core.hello is None:
            try:
                count = self._socket.recv_into(self._core.space())
                self._core.received(count)
            except (OSError, BrokenStream) as e:
                raise self._why_gone(f"no greeting of the service: {e or type(e).__name__}") from None
            if self._core.refused:
                raise self._core.refused
            if not count:
                raise self._why_gone("the service ended the connection without a greeting")
        self._socket.settimeout(None)
        self._check_version()

    # --- asking ---

    def ask(self, request: Request[T]) -> T:
        """Send a request and wait for its answer. An exception while waiting, as Ctrl-C raises, ends the request."""
        if request.on_output is not None:
            return self._ask_with_output(request, request.on_output)
        arrived = threading.Lock()
        arrived.acquire()
        pending = self.start(request, arrived.release)
        try:
            while not pending.over:
                arrived.acquire()
        except BaseException:
            self.forget(pending)
            raise
        return self.answer(pending)

    def _ask_with_output(self, request: Request[T], hand: Callable[[str, str], Any]) -> T:
        arrived = threading.Semaphore(0)
        pending, over = self.start(request, arrived.release), False
        try:
            while not over:
                arrived.acquire()
                over = pending.over
                for stream, text in self.pieces(pending):
                    hand(stream, text)
        except BaseException:
            self.forget(pending)
            raise
        return self.answer(pending)

    def start(self, request: Request[T], wake: Callable[[], Any]) -> Pending[T]:
        """Send a request. `wake` is called by the reader when there is something new: it must return at once."""
        if not self.orphans.empty():
            self._close_orphans()
        with self._lock:
            if self.gone is not None:
                raise copy.copy(self.gone)
            pending, data = self._core.begin(request, wake)
        self._send(data)
        return pending

    def waits_for_caller(self, session: str) -> bool:
        return self._core.waits_for_caller(session)

    def answer(self, pending: Pending[T]) -> T:
        """Return the request's value, or raise its exception."""
        if pending.error is not None:
            raise copy.copy(pending.error)  # of one lost connection many threads are told
        return pending.request.finish(pending.answer)

    def forget(self, pending: Pending[Any]) -> None:
        """End a request whose caller has given it up."""
        with self._lock:
            data = self._core.forget(pending) if self.gone is None else b""
        if data:
            try:
                self._send(data)
            except errors.AgentjailError:
                pass  # the connection has ended, and the request with it

    def pieces(self, pending: Pending[Any]) -> list[tuple[str, str]]:
        """The output that has come since the last call."""
        with self._lock:
            pieces, pending.inbox = pending.inbox, []
        return pieces

    def _close_orphans(self) -> None:
        while True:
            try:
                name = self.orphans.get_nowait()
            except queue.Empty:
                return
            with self._lock:
                _, data = self._core.begin(Request("close", {"session": name}), lambda: None)
            self._send(data)

    def _send(self, data: bytes) -> None:
        try:
            with self._sending:
                self._socket.sendall(data)
        except OSError as e:
            self._lost(f"the connection to the service broke: {e}")
            raise copy.copy(self.gone or e) from None
        except BaseException:  # Ctrl-C, perhaps amid a frame: nothing that follows could be read
            self._lost("interrupted while a request was sent")
            raise

    # --- reading ---

    def _read(self) -> None:
        core, recv_into = self._core, self._socket.recv_into
        try:
            while True:
                count = recv_into(core.space())
                if not count:
                    reason = "the service ended the connection"
                    break
                with self._lock:
                    core.received(count)
                if core.calls:
                    self._start_tools()
        except Exception as e:  # of any kind: no request may wait for a reader that has ended
            reason = f"the connection to the service broke: {str(e) or type(e).__name__}"
        self._lost(reason)

    def _lost(self, reason: str) -> None:
        with self._ending:
            if self.gone is None:
                error = self._core.refused or self._why_gone(reason)  # which may have to wait for the process
                with self._lock:
                    self.gone = error
                    self._core.drop_all(error)
        self._shut()

    def _shut(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._workers.close()

    def close(self, error: BaseException) -> None:
        """End the connection; all that waits raises `error`. May be called again."""
        with self._ending, self._lock:
            if self.gone is None:
                self.gone = error
                self._core.drop_all(error)
        self._shut()
        if threading.current_thread() is not self._reader:
            self._reader.join(5)
        self._socket.close()

    def leave(self) -> None:
        super().leave()
        self._lock, self._sending, self._ending = threading.RLock(), threading.Lock(), threading.RLock()

    # --- tools ---

    def _run_async(self, call: ToolCall, answering: Coroutine[Any, Any, None]) -> None:
        self._workers.run_async(answering, call.context())

    def _give(self, call: ToolCall, answer: Answer) -> None:
        with self._lock:
            data = b"" if self.gone is not None else self._core.tool_answer(call, answer)
        if data:
            try:
                self._send(data)
            except errors.AgentjailError:
                pass  # the run has ended with the connection
