"""Calls of tools on the control socket: a frame out, the frame with the same number in, for any number of threads.
The channel is closed between snippets, gives an answer to its own call alone, and waits no longer once an answer is broken.

One of the waiting threads is the leader: it polls the socket and hands the others their answers; the others sleep on locks.
The leader may change after every frame, and an interrupt may end any wait: start_call, try_lead, receive_frame and end_wait
run to their end (signals.UNINTERRUPTED), the waits between them may stop anywhere. Sleeps are cut in slices: a signal at the
wrong instant may leave a wake-up undone, and the next slice makes up for it.
"""

import posix
from _thread import allocate_lock, get_ident
from itertools import count
from select import POLLIN, poll

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime import CONTROL_FD, make_frame
from agentjail.values.json_reader import read_json
from agentjail.values.json_writer import json_string

CALL, ANSWER = b"C", b"T"       # kinds of frames, see base/frame.h
HEADER_BYTES = 5
MAX_BODY = 256 << 20
READ_BYTES = 1 << 20
SLICE_MS = 1000
EXIT_BROKEN = 125
ENDED = "the snippet ended before the answer came"


class Call:
    """One call. An event loop that waits for several looks the same to wait_once() and end_wait(), see event_loop.py."""
    __slots__ = ("number", "lock", "loop", "future", "leads", "answer")

    def __init__(self, number, lock, loop, future):
        self.number, self.loop, self.future = number, loop, future
        self.leads, self.answer = False, None
        if future is None:
            lock = allocate_lock()
            lock.acquire()
        self.lock = lock        # held while no answer is there; None: no thread sleeps on it


class ChannelError(Exception):
    """The reason why there is no answer; tools.py makes a ToolError of it."""


class Channel:
    """The control socket of one session."""

    def __init__(self):
        self.numbers = count(1)
        self.last = 0           # the highest number in use so far
        self.calls = {}         # number -> Call
        self.open = False
        self.snippet = 0        # counts snippets
        self.max_bytes = 0      # of a call's arguments
        self.poll = poll()
        self.poll.register(CONTROL_FD, POLLIN)
        self.leading = allocate_lock()  # held by the leader
        self.leader = None
        self.io = allocate_lock()       # held while a thread writes or reads a frame
        self.io_owner = None

    # --- a snippet begins and ends ---

    def begin_snippet(self, max_bytes):
        self.max_bytes, self.open = max_bytes, True

    def end_snippet(self):
        """After this, no thread touches the socket until the next snippet."""
        with self.io:
            self.io_owner = get_ident()
            self.open = False
            self.snippet += 1
            self.fail_calls(ENDED)
            self.io_owner = None

    # --- one call ---

    def start_call(self, tool, text, lock=None, loop=None, future=None):
        """Write the call. A number is used once, so a late answer reaches no other call."""
        me = get_ident()
        if self.io_owner == me:  # a finalizer, in the middle of another call
            raise ChannelError("a tool cannot be called at this point")
        with self.io:
            self.io_owner = me
            try:
                if not self.open:
                    raise ChannelError("no snippet is running; a tool can be called only while one is")
                number = self.last = next(self.numbers)
                call = Call(number, lock, loop, future)
                body = ('{"call":%d,"tool":%s,"args":%s}' % (number, json_string(tool), text)).encode()
                data = make_frame(CALL, body)
                try:
                    while data:
                        data = data[posix.write(CONTROL_FD, data):]
                except OSError as e:
                    raise ChannelError("the host cannot be reached (%s)" % e.strerror) from None
                self.calls[number] = call
                return call
            finally:
                self.io_owner = None

    def wait_answer(self, call):
        try:
            while call.answer is None:
                self.wait_once(call, SLICE_MS)
        finally:
            self.end_wait(call)
        return call.answer

    def wait_once(self, call, ms):
        """Wait at most `ms`: as the leader for one frame of any call, else for a wake-up."""
        snippet = self.snippet
        if self.try_lead(call):
            if call.answer is None and self.poll.poll(ms):
                self.receive_frame(snippet)
        else:
            call.lock.acquire(True, ms / 1000)

    def try_lead(self, call):
        me = get_ident()
        if self.leader == me:
            return True  # for this call, or for one that this call interrupts
        if not self.leading.acquire(False):
            return False
        self.leader, call.leads = me, True
        return True

    def end_wait(self, call):
        self.calls.pop(call.number, None)
        if call.leads:
            self.leader, call.leads = None, False
            self.leading.release()
            # Wake the next leader. A sleeping thread goes first; an event loop returns to the socket by itself.
            waiting = [c for c in tuple(self.calls.values()) if c.lock is not call.lock and c.lock is not None]
            for other in [c for c in waiting if c.future is None] or waiting:
                release_lock(other.lock)
                break

    def has_calls_of(self, loop):
        return any([c.loop is loop for c in tuple(self.calls.values())])

    # --- one frame ---

    def receive_frame(self, snippet):
        """Read a frame, whose first bytes are there, and give the answer to its call."""
        with self.io:
            self.io_owner = get_ident()
            try:
                if self.open and self.snippet == snippet:
                    self.deliver_answer(*self.read_frame())
            except OSError as e:
                self.fail_calls("the host cannot be reached (%s)" % e.strerror)
            finally:
                self.io_owner = None

    def read_frame(self):
        head = self.read_bytes(HEADER_BYTES)
        size = int.from_bytes(head[:4], "big") - 1
        if not 0 <= size <= MAX_BODY:
            posix._exit(EXIT_BROKEN)  # no later byte could be read as a frame
        return head[4:], self.read_bytes(size)

    def read_bytes(self, size):
        data = posix.read(CONTROL_FD, size) if size else b""
        if len(data) < size:
            parts = [data]
            while data:
                size -= len(data)
                if not size:
                    return b"".join(parts)
                data = posix.read(CONTROL_FD, min(size, READ_BYTES))
                parts.append(data)
            posix._exit(EXIT_BROKEN)  # the supervisor is gone, and no process would read the reason
        return data

    def deliver_answer(self, kind, body):
        number, error = None, None
        try:
            if kind != ANSWER:
                raise ValueError("a message of kind %r in place of an answer" % kind)
            answer = read_json(body)
            if type(answer) is not dict or type(answer.get("call")) is not int:
                raise ValueError("the answer has no call number")
            number = answer["call"]
            if not 0 < number <= self.last:
                raise ValueError("there was no call %d" % number)
            check_answer(answer)
        except Exception as e:
            error = "the host's answer cannot be understood: %s" % e
            if number is None or not 0 < number <= self.last:
                self.fail_calls(error)  # the answer may be any call's: no call waits for it any longer
                return
        call = self.calls.pop(number, None)
        if call is not None:  # None: the answer comes late, and its call waits no more
            complete_call(call, error or answer)

    def fail_calls(self, why):
        for number in tuple(self.calls):
            complete_call(self.calls.pop(number), why)


def check_answer(answer):
    error = answer.get("error")
    if (error is None) == ("value" not in answer) or error is not None and (
            type(error) is not dict or type(error.get("message")) is not str or type(error.get("type")) is not str):
        raise ValueError("the answer must have either a value or an error with type and message")


def complete_call(call, answer):
    """answer: the host's answer (a dict), or the text of an error."""
    call.answer = answer
    if call.future is not None:
        try:
            call.loop.call_soon_threadsafe(resolve_future, call.future)
        except RuntimeError:
            pass  # the loop is closed
    if call.lock is not None:
        release_lock(call.lock)


def resolve_future(future):
    if not future.done():
        future.set_result(None)


def release_lock(lock):
    try:
        lock.release()
    except RuntimeError:
        pass  # released already, and its thread has not run since
