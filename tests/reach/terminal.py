"""A caller's terminal under `agentjail run`: what a command can do to it, and how it is given back. A pty stands for it.
Usage: terminal.py AGENTJAIL; each check prints `ok NAME` or `FAIL NAME: why`. It knows nothing of how the program does it."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

AJ = sys.argv[1]
PATIENCE_S = 30
SIZE = (24, 80)


def size_of(fd):
    return struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))[:2]


class Job:
    """A process group in a session of its own with the pty as controlling terminal: our shell's stand-in leads the session."""

    def __init__(self, *argv, foreground=True, streams=None, keys=b"", keys_after=b""):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.shown, self.status, self.keys, self.keys_after = b"", None, keys, keys_after
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.master)
                self.lead(argv, foreground, streams or {})
            finally:
                os._exit(99)

    def lead(self, argv, foreground, streams):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            if foreground:
                os.tcsetpgrp(self.slave, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for fd in range(3):
                os.dup2(streams.get(fd, self.slave), fd)
            os.execv(argv[0], argv)
        status = os.waitpid(child, 0)[1]
        os.tcsetpgrp(self.slave, os.getpgrp())
        os._exit(os.waitstatus_to_exitcode(status) & 255)

    def wait(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.02)[0]:
                self.shown += os.read(self.master, 65536)
            if self.keys and self.keys_after in self.shown:
                os.write(self.master, self.keys)
                self.keys = b""
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        while select.select([self.master], [], [], 0.1)[0]:
            self.shown += os.read(self.master, 65536)
        return self

    def modes_kept(self):
        return termios.tcgetattr(self.slave) == self.before

    def blocks(self):
        return not fcntl.fcntl(self.slave, fcntl.F_GETFL) & os.O_NONBLOCK

    def close(self):
        os.close(self.master)
        os.close(self.slave)


def check(name, good, job=None):
    why = "" if good or job is None else ": exit %s, on the screen %r" % (job.status, job.shown[-400:])
    print("ok" if good else "FAIL", name + why, flush=True)


def jail(code, *options):
    return (AJ, "run", "--timeout", "3s", *options, "--", "/usr/bin/python3", "-I", "-S", "-c", "import fcntl, os, sys, termios, time\n" + code)


def done(name, job, good):
    job.wait()
    check(name, good(job), job)
    job.close()


REFUSED = """
try:
    termios.tcflow(1, termios.TCOOFF)
    said = "OUT"
except termios.error as e:
    said = "refused"
"""
done("terminal-stopped: tcflow is refused and reported", Job(*jail(REFUSED + "print(said, flush=True)\nsys.exit(3)")),
     lambda j: j.status == 3 and b"refused\r\n" in j.shown and b"refused by the kernel: ioctl x1" in j.shown)
done("terminal-stopped: an attempt does not outlast the time limit", Job(*jail(REFUSED + "time.sleep(60)")),
     lambda j: j.status == 124 and b"wall clock limit" in j.shown)
done("terminal-stopped: a key that stops it does not outlast the time limit, and it is started again",
     Job(*jail("print('up', flush=True)\ntime.sleep(1)\nprint('more', flush=True)\ntime.sleep(60)"), keys=b"\x13", keys_after=b"up"),
     lambda j: j.status == 124 and b"wall clock limit" in j.shown)
done("terminal-stopped: nor does a key that the command has chosen for it",
     Job(*jail("a = termios.tcgetattr(0)\na[0] |= termios.IXON\na[6][termios.VSTOP] = b'a'\ntermios.tcsetattr(0, termios.TCSANOW, a)\n"
               "print('up', flush=True)\ntime.sleep(1)\nprint('more', flush=True)\ntime.sleep(60)"), keys=b"a", keys_after=b"up"),
     lambda j: j.status == 124 and b"wall clock limit" in j.shown and j.modes_kept())

RAW = "import tty\ntty.setraw(0)\nos.set_blocking(0, False)\nprint('up', flush=True)\n"
ENDS = {
    "its own end": (RAW, b"", 0),
    "the time limit": (RAW + "time.sleep(60)", b"", 124),
    "a crash": (RAW + "os.kill(os.getpid(), 11)", b"", 139),
    "Ctrl-C": ("print('up', flush=True)\ntime.sleep(0.3)\na = termios.tcgetattr(0)\na[3] &= ~termios.ECHO\n"
               "termios.tcsetattr(0, termios.TCSANOW, a)\nos.set_blocking(0, False)\nprint('now', flush=True)\ntime.sleep(60)", b"\x03", None),
}
for end, (code, keys, want) in ENDS.items():
    job = Job(*jail(code), keys=keys, keys_after=b"now" if keys else b"up").wait()
    check("terminal-modes: as before after " + end, job.modes_kept() and (job.status == want if want is not None else job.status), job)
    check("terminal-flags: O_NONBLOCK is off after " + end, job.blocks(), job)
    job.close()
read_end, write_end = os.pipe()
done("terminal-flags: O_NONBLOCK and O_APPEND of a shared pipe are off", Job(
    *jail("os.set_blocking(1, False)\nfcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_APPEND)"), streams={1: write_end}),
    lambda j: j.status == 0 and not fcntl.fcntl(write_end, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND))

done("terminal-modes: control: what a command does while it has the terminal is done",
     Job(*jail("import tty\ntty.setraw(0)\nprint('raw', termios.tcgetattr(0)[3] & termios.ICANON, os.isatty(0), os.isatty(1))")),
     lambda j: j.status == 0 and b"raw 0 True True" in j.shown)

PEEK = """
for fd in (0, 1, 2):
    try:
        os.set_blocking(fd, False)
    except OSError:
        pass
time.sleep(0.7)
for fd in (0, 1, 2):
    try:
        print(fd, os.isatty(fd), os.read(fd, 100), flush=True)
    except OSError as e:
        print(fd, os.isatty(fd), e.errno, flush=True)
"""
for where, foreground in (("background", False), ("foreground", True)):
    job = Job(*jail("print('up', flush=True)" + PEEK), foreground=foreground, keys=b"password\n", keys_after=b"up").wait()
    if foreground:
        check("terminal-background: control: in the foreground it reads what is typed", b"0 True b'password" in job.shown, job)
    else:
        check("terminal-background: a job in the background has no descriptor of the terminal", b"True" not in job.shown, job)
        check("terminal-background: and reads none of its keys", b"b'pass" not in job.shown and b"0 False b''" in job.shown, job)
        check("terminal-background: its output is shown all the same", job.shown.count(b"False") == 3 and job.status == 0, job)
    job.close()

TYPES = "for number in (0x5412, 0x541c, 0x541d, 0x5423, 0x5409):\n    try:\n        fcntl.ioctl(0, number, b'\\0\\0\\0\\0')\n        print('OUT', number)\n    except OSError as e:\n        print('refused', e.errno)\n"
done("terminal-typing: TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD and a break are refused", Job(*jail(TYPES)),
     lambda j: j.shown.count(b"refused") == 5 and b"OUT" not in j.shown)

done("terminal-snippet: a snippet has no terminal", Job(AJ, "exec", "--layer", "off", "-c", "import os\n[os.isatty(fd) for fd in range(4)]"),
     lambda j: b"[False, False, False, False]" in j.shown)
done("terminal-snippet: nor has a session's", Job(AJ, "session", "--layer", "off", keys=b"import os\n[os.isatty(fd) for fd in range(4)]\n\x04",
                                                  keys_after=b">>> "), lambda j: b"[False, False, False, False]" in j.shown)

job = Job(*jail("try:\n    os.fchmod(0, 0o666)\n    print('open', flush=True)\nexcept OSError as e:\n    print('refused', e.errno, flush=True)"))
os.fchmod(job.slave, 0o600)
job.wait()
check("terminal-permissions: others have what they had before", os.fstat(job.slave).st_mode & 0o777 == 0o600, job)
check("terminal-permissions: control: the owner's jail opens it, root's does not",
      (b"refused 1" if os.getuid() == 0 else b"open") in job.shown, job)
job.close()

SIZED = "fcntl.ioctl(0, termios.TIOCSWINSZ, b'\\3\\0\\7\\0' + bytes(4))\n"
done("terminal-size: what the table says of it is so", Job(*jail(SIZED)), lambda j: j.status == 0 and size_of(j.slave) == (3, 7))
