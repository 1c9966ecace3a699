"""Calls of tools on the control socket: a frame out, the frame with the same number in, for any number of threads.
It refuses to run between snippets, to give an answer to any call but its own, and to wait for an answer that was broken.

Of all the threads that wait, one leads: it waits for the socket and hands the others what is theirs; the rest sleep on
locks. Who leads may change after every frame, and an interrupt may end any wait: start, lead, take and leave run to
their end (session.WHOLE), the waiting between them may stop anywhere. Sleeps are cut in slices, so that what a signal
in the wrong instant leaves undone is made up for a second later.
"""

import posix
from _thread import allocate_lock, get_ident
from itertools import count
from select import POLLIN, poll

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime.values import quote, read_json

CONTROL_FD = 3
CALL, ANSWER = b"C", b"T"       # kinds of frames, see base/frame.h
MAX_BODY = 256 << 20
SLICE_MS = 1000
EXIT_BROKEN = 125
ENDED = "the snippet ended before the answer came"


class Call:
    """One call. An event loop that waits for several looks the same to step() and leave(), see loop.py."""
    __slots__ = ("number", "lock", "loop", "future", "leads", "answer")

    def __init__(self, number, lock, loop, future):
        self.number, self.loop, self.future = number, loop, future
        self.leads, self.answer = False, None
        if future is None:
            lock = allocate_lock()
            lock.acquire()
        self.lock = lock        # held while there is nothing to look at; None: nobody sleeps on it


class ChannelError(Exception):
    """Why there is no answer; tools.py makes a ToolError of it."""


class Channel:
    """The socket of one session."""

    def __init__(self):
        self.numbers = count(1)
        self.last = 0           # every number up to it was given out
        self.calls = {}         # number -> Call
        self.alone()
        self.open = False
        self.round = 0          # counts snippets
        self.cap = 0

    def alone(self):
        """What threads share, as if there had never been any: at first, and in a copy of the process, which has one."""
        self.calls.clear()
        self.poll = poll()
        self.poll.register(CONTROL_FD, POLLIN)
        self.reading = allocate_lock()  # held by who leads
        self.leader = None
        self.io = allocate_lock()       # held while a frame is written or read
        self.owner = None

    # --- a snippet begins and ends ---

    def begin(self, cap):
        self.cap, self.open = cap, True

    def end(self):
        """No thread touches the socket from here on, until the next snippet."""
        with self.io:
            self.owner = get_ident()
            self.open = False
            self.round += 1
            self.fail(ENDED)
            self.owner = None

    # --- one call ---

    def start(self, tool, text, lock=None, loop=None, future=None):
        """Write the call. Its number is never used again, so a late answer finds nobody."""
        me = get_ident()
        if self.owner == me:  # a finalizer, in the midst of another call
            raise ChannelError("a tool cannot be called at this point")
        with self.io:
            self.owner = me
            try:
                if not self.open:
                    raise ChannelError("no snippet is running; a tool can be called only while one is")
                number = self.last = next(self.numbers)
                call = Call(number, lock, loop, future)
                body = ('{"call":%d,"tool":%s,"args":%s}' % (number, quote(tool), text)).encode()
                data = len(body).to_bytes(4, "little") + CALL + body
                try:
                    while data:
                        data = data[posix.write(CONTROL_FD, data):]
                except OSError as e:
                    raise ChannelError("the host cannot be reached (%s)" % e.strerror) from None
                self.calls[number] = call
                return call
            finally:
                self.owner = None

    def wait(self, call):
        try:
            while call.answer is None:
                self.step(call, SLICE_MS)
        finally:
            self.leave(call)
        return call.answer

    def step(self, call, ms):
        """Wait that long at most for one frame of whomever."""
        snippet = self.round
        if self.lead(call):
            if call.answer is None and self.poll.poll(ms):
                self.take(snippet)
        else:
            call.lock.acquire(True, ms / 1000)

    def lead(self, call):
        me = get_ident()
        if self.leader == me:
            return True  # this call, or one that it interrupts
        if not self.reading.acquire(False):
            return False
        self.leader, call.leads = me, True
        return True

    def leave(self, call):
        self.calls.pop(call.number, None)
        if call.leads:
            self.leader, call.leads = None, False
            self.reading.release()
            # A thread that sleeps goes first; an event loop comes back by itself.
            waiting = [c for c in tuple(self.calls.values()) if c.lock is not call.lock and c.lock is not None]
            for other in [c for c in waiting if c.future is None] or waiting:
                wake(other.lock)
                break

    def awaited(self, loop):
        return any([c.loop is loop for c in tuple(self.calls.values())])

    # --- one frame ---

    def take(self, snippet):
        """Read one frame, which is there, and give it to whom it belongs."""
        with self.io:
            self.owner = get_ident()
            try:
                if self.open and self.round == snippet:
                    self.deliver(*self.frame())
            except OSError as e:
                self.fail("the host cannot be reached (%s)" % e.strerror)
            finally:
                self.owner = None

    def frame(self):
        head = self.read(5)
        size = int.from_bytes(head[:4], "little")
        if size > MAX_BODY:
            posix._exit(EXIT_BROKEN)  # what follows could not be read as frames
        return head[4:], self.read(size)

    def read(self, size):
        data = posix.read(CONTROL_FD, size) if size else b""
        if len(data) < size:
            parts = [data]
            while data:
                size -= len(data)
                if not size:
                    return b"".join(parts)
                data = posix.read(CONTROL_FD, min(size, 1 << 20))
                parts.append(data)
            posix._exit(EXIT_BROKEN)  # the supervisor is gone, and nobody would hear why we end
        return data

    def deliver(self, kind, body):
        number, wrong = None, None
        try:
            if kind != ANSWER:
                raise ValueError("a message of kind %r in place of an answer" % kind)
            answer = read_json(body)
            if type(answer) is not dict or type(answer.get("call")) is not int:
                raise ValueError("no number of a call in it")
            number = answer["call"]
            if not 0 < number <= self.last:
                raise ValueError("there was no call %d" % number)
            error = answer.get("error")
            if (error is None) == ("value" not in answer) or error is not None and (
                    type(error) is not dict or type(error.get("message")) is not str
                    or type(error.get("type")) is not str):
                raise ValueError("neither a value nor an error")
        except Exception as e:
            wrong = "the host's answer cannot be understood: %s" % e
            if number is None or not 0 < number <= self.last:
                self.fail(wrong)  # whose it was nobody knows, and nobody shall wait for it
                return
        call = self.calls.pop(number, None)
        if call is not None:  # else it comes late: nobody waits any more
            settle(call, wrong or answer)

    def fail(self, why):
        for number in tuple(self.calls):
            settle(self.calls.pop(number), why)


def settle(call, answer):
    """answer: the frame, or the text of an error."""
    call.answer = answer
    if call.future is not None:
        try:
            call.loop.call_soon_threadsafe(resolve, call.future)
        except RuntimeError:
            pass  # the loop is closed
    if call.lock is not None:
        wake(call.lock)


def resolve(future):
    if not future.done():
        future.set_result(None)


def wake(lock):
    try:
        lock.release()
    except RuntimeError:
        pass  # was woken already, and has not looked yet
