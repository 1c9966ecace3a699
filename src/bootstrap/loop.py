"""An event loop without sockets or pipes, for asyncio in a jail whose filter knows no socketpair().
It refuses to wait for files: sleeping, tasks, locks, queues and timeouts work, streams do not.
"""

import asyncio
import time


class Selector:
    """Nothing is ever ready; waiting is sleeping."""

    def __init__(self, loop):
        self.loop = loop

    def select(self, timeout=None):
        if self.loop._default_executor is not None:
            time.sleep(0.001)  # a thread cannot wake us (there is no pipe), so look again soon
        elif timeout is None:
            raise RuntimeError("every task waits for something that cannot happen in a jail")
        elif timeout > 0:
            time.sleep(timeout)
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
        pass


class Policy(asyncio.events.BaseDefaultEventLoopPolicy):
    _loop_factory = Loop


def install():
    """From now on asyncio.run() makes such a loop."""
    asyncio.set_event_loop_policy(Policy())


def run_loop(coroutine):
    install()
    return asyncio.run(coroutine)
