"""A jail's process without the jail: a forked child that answers requests on descriptor 3, and the host's end of it.
It refuses to hide a death: whoever waits for a child that ended is told how it ended.
"""

import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time

from harness import request, strict


PATIENCE_S = 120


class Died(Exception):
    pass


class Guest:
    """`setup` runs in the child, before its first request. Requests have `keys` besides their own. A request that still runs after PATIENCE_S hangs."""

    def __init__(self, setup=None, **keys):
        self.keys = keys
        self.late = []          # frames that came when nothing ran
        self.calls = []
        ours, theirs = socket.socketpair()
        self.out = tempfile.TemporaryFile()
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.dup2(self.out.fileno(), 1)
                os.dup2(self.out.fileno(), 2)
                os.dup2(theirs.fileno(), 9)
                os.closerange(3, 9)
                os.dup2(9, 3)
                os.closerange(4, 64)
                signal.alarm(PATIENCE_S)
                serve(setup)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(1)
        theirs.close()
        self.socket = ours
        ours.settimeout(PATIENCE_S)
        self.frame()    # it is ready

    def send(self, kind, body):
        self.socket.sendall((1 + len(body)).to_bytes(4, "big") + kind + body)

    def frame(self):
        head = self.exactly(5)
        return head[4:], self.exactly(int.from_bytes(head[:4], "big") - 1)

    def exactly(self, size):
        data = b""
        while len(data) < size:
            try:
                piece = self.socket.recv(size - len(data))
            except ConnectionError:
                piece = b""
            except TimeoutError:
                os.kill(self.pid, signal.SIGKILL)
                piece = b""
            if not piece:
                _, status = os.waitpid(self.pid, 0)
                self.pid = None
                raise Died("ended with %d, %r" % (os.waitstatus_to_exitcode(status), self.output()[-500:]))
            data += piece
        return data

    def run(self, code, answer=None, after=(), **keys):
        """The claim. answer(call) gives the frame for a call, or None; `after`: (seconds since the code began, signal or function)."""
        timers = [threading.Timer(s, self.do, (what,)) for s, what in after]
        self.send(b"Q", request(code, **dict(self.keys, **keys)))
        try:
            return self.claim(answer, timers)
        finally:
            for t in timers:
                t.cancel()
                if t.ident is not None:
                    t.join()

    def claim(self, answer=None, timers=()):
        while True:
            kind, body = self.frame()
            if kind == b"R":
                return json.loads(body, parse_constant=strict)
            if kind == b"C":
                call = json.loads(body, parse_constant=strict)
                self.calls.append(call)
                said = answer(call) if answer else {"value": call["args"]}
                if said is not None:
                    self.reply(call, **said)
            elif kind == b"S":
                for t in timers:
                    t.start()
            else:
                raise Died("a frame of kind %r" % kind)

    def reply(self, call, **said):
        self.send(b"T", json.dumps(dict(said, call=call["call"])).encode())

    def do(self, what):
        if callable(what):
            what()
        else:
            os.kill(self.pid, what)

    def output(self):
        size = os.fstat(self.out.fileno()).st_size
        return os.pread(self.out.fileno(), size, 0).decode("utf-8", "replace")

    def wait_for(self, text):
        """Until the child has printed that; who waits in vain finds out by what follows."""
        until = time.monotonic() + PATIENCE_S
        while text not in self.output() and time.monotonic() < until:
            time.sleep(0.002)

    def close(self):
        """The exit status of the child, which sees its supervisor go."""
        self.socket.close()
        status = None
        if self.pid is not None:
            for _ in range(500):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.01)
            else:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                status = None
        self.out.close()
        return None if status is None else os.waitstatus_to_exitcode(status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def exactly(size):
    data = b""
    while len(data) < size:
        piece = os.read(3, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data


def serve(setup):
    """What the runner does: read a request, skip late answers, run, write the claim."""
    from agentjail.runtime import main, signals
    if setup is not None:
        setup()
    signals.install_handlers()
    os.write(3, b"\0\0\0\1A")
    while True:
        head = exactly(5)
        body = exactly(int.from_bytes(head[:4], "big") - 1)
        if head[4:] == b"T":
            continue
        claim = main.run(body, b"\0\0\0\1S")
        data = (1 + len(claim)).to_bytes(4, "big") + b"R" + claim
        while data:
            data = data[os.write(3, data):]
