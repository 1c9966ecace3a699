"""Runs a part of a measurement in a process of its own, and ends that process when one peer has taken more time than it is given.
It measures nothing, and ends no process that it did not start: a peer's processes are in the process group of the part that began them.

A peer that hangs may do so in code of its own, which no exception reaches: so the time is read by another process, from shared memory.
"""

import contextlib
import json
import mmap
import os
import select
import signal
import struct
import time

SLOT = struct.Struct("ddi")  # of a peer: when its call began (0: none is made), seconds of its calls before, and the step that it is at


class Clock:
    """The seconds that each peer has taken, in memory that the part and its watcher share. One thread writes."""

    def __init__(self, names):
        self.places = {name: SLOT.size * number for number, name in enumerate(names)}
        self.memory = mmap.mmap(-1, SLOT.size * len(self.places))

    @contextlib.contextmanager
    def of(self, name, step=0):
        """Around each call of a peer's."""
        place, began = self.places[name], time.monotonic()
        spent = SLOT.unpack_from(self.memory, place)[1]
        SLOT.pack_into(self.memory, place, began, spent, step)
        yield  # what the call raises leaves the mark, by which the peer is known
        SLOT.pack_into(self.memory, place, 0, spent + time.monotonic() - began, step)

    def clear(self, name):
        """A call that failed and is no reason to end the part."""
        SLOT.pack_into(self.memory, self.places[name], 0, 0, 0)

    def slots(self):
        return {name: SLOT.unpack_from(self.memory, place) for name, place in self.places.items()}

    def late(self, limit_s):
        """(name, step) of a peer that has had its time; else None."""
        for name, (began, spent, step) in self.slots().items():
            if spent + (time.monotonic() - began if began else 0) > limit_s:
                return name, step
        return None

    def calling(self):
        """(name, step) of the peer whose call was made; else None."""
        return next(((name, step) for name, (began, _, step) in self.slots().items() if began), None)


def child(part, clock, out):
    try:
        answer = {"result": part(clock)}
    except Exception as error:
        answer = {"error": "%s: %s" % (type(error).__name__, str(error).strip().rpartition("\n")[2][:160])}
    with open(out, "w") as f:
        json.dump(answer, f)
    # Not exit(): a peer's threads or handlers may wait for a process that has ended.
    os._exit(0)


def attempt(part, clock, limit_s):
    """(result, None), or (None, (peer, step, why))."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(reader)
        child(part, clock, writer)
    os.close(writer)
    answer, late = b"", None
    try:
        while not (late := clock.late(limit_s)):
            if select.select([reader], [], [], 0.2)[0]:
                piece = os.read(reader, 65536)
                answer += piece
                if not piece:
                    break
    finally:
        with contextlib.suppress(ProcessLookupError):  # the child leads the group from its first calls on
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
    if late:
        return None, (*late, "no end within %g s" % limit_s)
    got = json.loads(answer) if answer else {"error": "its process was killed"}
    if "result" in got:
        return got["result"], None
    failed = clock.calling()
    if not failed:
        raise RuntimeError(got["error"])
    return None, (*failed, got["error"])


def guarded(part, names, limit_s, known):
    """part(clock, most) until it ends: `most` has, of each peer that hung or failed, the least step that it was at, which it does not take again.
    (result, {peer: (step, why)}), with what is `known` already."""
    failed = dict(known)
    while True:
        most = {name: step for name, (step, _) in failed.items()}
        result, last = attempt(lambda clock, most=most: part(clock, most), Clock(names), limit_s)
        if not last:
            return result, failed
        name, step, why = last
        failed[name] = min(failed.get(name, (step, why)), (step, why))
