"""An event loop without sockets or pipes, for asyncio in a jail whose filter may know no socketpair().
It refuses to wait for files, but for the answers to tool calls: sleeping, tasks, locks, queues, threads and timeouts
work, streams do not.
"""

import asyncio
from _thread import _count as threads, allocate_lock

CONTROL_FD, SLICE_MS = 3, 1000


class Waiter:
    """An event loop, as channel.py sees it: like a call that never has an answer."""
    number = answer = None

    def __init__(self):
        self.leads = False
        self.lock = allocate_lock()
        self.lock.acquire()


class Selector:
    """Nothing is ever ready; waiting is sleeping on a lock that other threads release."""

    def __init__(self, loop):
        self.loop = loop
        self.channel = None     # when a tool is called in this loop
        self.waiter = Waiter()

    def select(self, timeout=None):
        if self.channel is not None and self.channel.awaited(self.loop):
            # Who waits for the socket does not hear other threads, so it looks up often.
            ms = 1 if threads() or self.loop._default_executor is not None else SLICE_MS
            try:
                self.channel.step(self.waiter, ms if timeout is None else min(ms, timeout * 1000))
            finally:
                self.channel.leave(self.waiter)
        elif timeout is None:
            if self.loop._default_executor is None and not threads():
                raise RuntimeError("every task waits for something that cannot happen in a jail")
            self.waiter.lock.acquire(True, SLICE_MS / 1000)
        elif timeout > 0:
            self.waiter.lock.acquire(True, min(timeout, SLICE_MS / 1000))
        return ()

    def close(self):
        pass


class Loop(asyncio.base_events.BaseEventLoop):
    def __init__(self):
        super().__init__()
        self._selector = Selector(self)

    def _process_events(self, events):
        pass

    def _write_to_self(self):
        try:
            self._selector.waiter.lock.release()
        except RuntimeError:
            pass  # was woken already


class Policy(asyncio.events.BaseDefaultEventLoopPolicy):
    _loop_factory = Loop


def waiter(loop, channel):
    """The lock that wakes this loop when an answer is there. A loop of another make watches the socket itself."""
    selector = getattr(loop, "_selector", None)
    if type(selector) is Selector:
        selector.channel = channel
        return selector.waiter.lock
    me = Waiter()

    def ready():
        if channel.awaited(loop):
            try:
                channel.step(me, 0)
            finally:
                channel.leave(me)
        if not channel.awaited(loop):
            loop.remove_reader(CONTROL_FD)
    loop.add_reader(CONTROL_FD, ready)
    return None


def install():
    """From now on asyncio.run() makes such a loop."""
    asyncio.set_event_loop_policy(Policy())


def run_loop(coroutine):
    install()
    return asyncio.run(coroutine)
