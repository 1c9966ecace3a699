"""An event loop without sockets or pipes, for asyncio in a jail whose filter may refuse socketpair().
The loop waits for no file but the control socket: sleeping, tasks, locks, queues, threads, timeouts and tool calls work,
streams do not.
"""

import asyncio
import sys
from _thread import _count as count_threads, allocate_lock

from agentjail.runtime import CONTROL_FD

SLICE_MS = 1000


class Waiter:
    """An event loop in the eyes of channel.py: like a call that never has an answer."""
    number = answer = None

    def __init__(self):
        self.leads = False
        self.lock = allocate_lock()
        self.lock.acquire()


class Selector:
    """No file is ever ready; select() sleeps on a lock that other threads release, or waits for answers to tool calls."""

    def __init__(self, loop):
        self.loop = loop
        self.channel = None     # set when a tool is called in this loop
        self.waiter = Waiter()

    def select(self, timeout=None):
        if self.channel is not None and self.channel.has_calls_of(self.loop):
            # Other threads cannot end a wait for the socket, so with threads the wait is short.
            ms = 1 if count_threads() or self.loop._default_executor is not None else SLICE_MS
            try:
                self.channel.wait_once(self.waiter, ms if timeout is None else min(ms, timeout * 1000))
            finally:
                self.channel.end_wait(self.waiter)
        elif timeout is None:
            if self.loop._default_executor is None and not count_threads():
                raise RuntimeError("every task waits for an event that cannot happen in a jail")
            self.waiter.lock.acquire(True, SLICE_MS / 1000)
        elif timeout > 0:
            self.waiter.lock.acquire(True, min(timeout, SLICE_MS / 1000))
        return ()

    def close(self):
        pass


class EventLoop(asyncio.base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Selector(self)

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        try:
            self._selector.waiter.lock.release()
        except RuntimeError:
            pass  # released already


class EventLoopPolicy(asyncio.events.BaseDefaultEventLoopPolicy):
    _loop_factory = EventLoop


def wakeup_lock(loop, channel):
    """The lock that wakes this loop when an answer is there; None for a loop of another class, which watches the socket."""
    selector = getattr(loop, "_selector", None)
    if type(selector) is Selector:
        selector.channel = channel
        return selector.waiter.lock
    waiter = Waiter()

    def on_readable():
        if channel.has_calls_of(loop):
            try:
                channel.wait_once(waiter, 0)
            finally:
                channel.end_wait(waiter)
        if not channel.has_calls_of(loop):
            loop.remove_reader(CONTROL_FD)
    loop.add_reader(CONTROL_FD, on_readable)
    return None


def install_policy():
    """From now on asyncio.run() makes such a loop."""
    asyncio.set_event_loop_policy(EventLoopPolicy())
    if "agentjail.rail.clock" in sys.modules:
        sys.modules["agentjail.rail.clock"].cap_asyncio(asyncio)


def run_loop(coroutine):
    install_policy()
    return asyncio.run(coroutine)
