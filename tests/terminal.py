"""A terminal with a program on it, for tests: what a person would type goes in, what the screen would show comes out.
It knows nothing of the program; each check prints a line, `ok NAME` or `FAIL NAME: why`."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time


class Terminal:
    def __init__(self, *argv, env=None):
        self.text = ""  # all of it, as written
        self.seen = 0  # up to where expect() has looked
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", "NO_COLOR": "1", **(env or {})})
            os.execv(argv[0], argv)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.text += self.decoder.decode(data)
        return bool(data)

    def expect(self, name, pattern, seconds=60):
        """Wait until `pattern` is there, behind what was expected before."""
        end = time.monotonic() + seconds * SLOW
        while True:
            found = re.search(pattern, self.text[self.seen:], re.S)
            if found:
                self.seen += found.end()
                print("ok", name, flush=True)
                return True
            if time.monotonic() > end or not self.read(0.2) and self.ended():
                print("FAIL %s: no %r in %r" % (name, pattern, self.text[self.seen:][-600:]), flush=True)
                return False

    def ended(self):
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None and not self.read(0)

    def type(self, text):
        os.write(self.fd, text.encode())

    def exits(self, name, code, seconds=60):
        end = time.monotonic() + seconds * SLOW
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                got = os.waitstatus_to_exitcode(status)
                check(name, got == code, "exit code %d; %r" % (got, self.text[-300:]))
                return
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        check(name, False, "it goes on; %r" % self.text[-300:])


def check(name, good, why=""):
    print("ok" if good else "FAIL", name if good else "%s: %s" % (name, why), flush=True)


SLOW = float(os.environ.get("PATIENCE", "1") or 1)
if SLOW > 10:  # in milliseconds elsewhere
    SLOW = 10
