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
        check("terminal-background: output of a background job is shown", job.shown.count(b"False") == 3 and job.status == 0, job)
    job.close()

TYPES = "for number in (0x5412, 0x541c, 0x541d, 0x5423, 0x5409, 0x540c, 0x540d, 0x541f, 0x5418, 0x5437, 0x5457, 0x40045436, 0x4b3a, 0x4b45, 0x5606, 0x5609, 0x560a):\n    try:\n        fcntl.ioctl(0, number, b'\\0\\0\\0\\0')\n        print('OUT', number)\n    except OSError as e:\n        print('refused', e.errno)\n"
done("terminal-typing: TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, a break, TIOCEXCL and what a console knows are refused", Job(*jail(TYPES)),
     lambda j: j.shown.count(b"refused") == 17 and b"OUT" not in j.shown)

done("terminal-snippet: a snippet has no terminal", Job(AJ, "exec", "--layer", "off", "-c", "import os\n[os.isatty(fd) for fd in range(4)]"),
     lambda j: b"[False, False, False, False]" in j.shown)
done("terminal-snippet: nor has a session's", Job(AJ, "session", "--layer", "off", keys=b"import os\n[os.isatty(fd) for fd in range(4)]\n\x04",
                                                  keys_after=b">>> "), lambda j: b"[False, False, False, False]" in j.shown)

job = Job(*jail("os.fchmod(0, 0o666)\nprint('open', oct(os.fstat(0).st_mode & 0o777), os.ttyname(0), flush=True)"))
os.fchmod(job.slave, 0o600)
before = os.fstat(job.slave)
job.wait()
after = os.fstat(job.slave)
check("terminal-permissions: the caller's terminal keeps its owner and permissions",
      (before.st_mode, before.st_uid, before.st_gid) == (after.st_mode, after.st_uid, after.st_gid), job)
check("terminal-permissions: control: the jail's own gets what the jail gives it", b"open 0o666 /dev/pts/0" in job.shown, job)
job.close()

def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def family(pid):
    """Of the processes below it, those that are there."""
    return set(children(pid)).union(*(family(child) for child in children(pid)))


def held(name, argv, code, prompt, key, patience_s=15):
    """A snippet that writes and heeds nothing, on a terminal that takes no more: does it end? (A session's zygote stays.)"""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(argv[0], argv)
    shown = b""
    if prompt:
        while prompt not in shown:
            shown += os.read(master, 65536)
        os.write(master, code)
    while b"xxxx\r\n" not in shown:
        shown += os.read(master, 65536)
    os.write(master, key)
    there = family(pid)
    end = time.monotonic() + patience_s
    while all(os.path.exists("/proc/%d" % one) for one in there) and time.monotonic() < end:
        if key and select.select([master], [], [], 0.05)[0]:
            shown += os.read(master, 65536)
        time.sleep(0.05)
    check(name, not all(os.path.exists("/proc/%d" % one) for one in there))
    os.write(master, b"\x11")
    last = b""
    while b"wall clock limit" not in last and select.select([master], [], [], 5)[0]:
        try:
            last = last[-200:] + os.read(master, 65536)
        except OSError:
            break
    check(name + ", and is reported once the terminal continues", b"wall clock limit" in last)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)


STUBBORN = "def f():\n    while True:\n        try:\n            while True:\n                print('x' * 40)\n                time.sleep(0.001)\n        except BaseException: pass\n"
held("terminal-held: exec: a time limit holds on a terminal that nobody reads", (AJ, "exec", "--timeout", "2s", "--layer", "off", "-c",
     "import time\nwhile True:\n    print('x' * 400)\n    time.sleep(0.001)"), b"", b"", b"")
held("terminal-held: exec: on one that is stopped", (AJ, "exec", "--timeout", "2s", "--layer", "off", "-c",
     "import time\nwhile True:\n    print('x' * 40, flush=True)\n    time.sleep(0.01)"), b"", b"", b"\x13")
held("terminal-held: run: a time limit holds on a terminal that nobody reads", (AJ, "run", "--timeout", "2s", "--", "yes", "x" * 40), b"", b"", b"")
held("terminal-held: session: a time limit holds on a terminal that is stopped", (AJ, "session", "--timeout", "2s", "--layer", "off"),
     b"import time\n" + STUBBORN.encode() + b"\nf()\n", b">>> ", b"\x13")

TRY = """
import pty, signal, struct
def tried(fd, rows, columns):
    try:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        return 0
    except OSError as e:
        return e.errno
def size(fd):
    return struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8)))[:2]
"""
done("terminal-size: a new size, by whichever descriptor, is that of the jail's own", Job(*jail(TRY + """
print([tried(fd, 3, 7) for fd in (0, 1, 2, os.dup(0), os.open("/dev/tty", os.O_RDWR))], size(0), flush=True)
""")), lambda j: j.status == 0 and b"[0, 0, 0, 0, 0] (3, 7)" in j.shown and size_of(j.slave) == SIZE)
read_end, write_end = os.pipe()
done("terminal-size: in a pipeline, by standard input alone", Job(*jail(TRY + "print(tried(0, 3, 7), size(0))"), streams={1: write_end, 2: write_end}),
     lambda j: size_of(j.slave) == SIZE and os.read(read_end, 100) == b"0 (3, 7)\n")
done("terminal-size: terminals that the jail makes itself are resized, with the signal", Job(*jail(TRY + """
master, slave = pty.openpty()
said = [tried(slave, 5, 9), size(master), tried(master, 6, 10), size(slave)]
pid, inner = pty.fork()
if pid == 0:
    signal.signal(signal.SIGWINCH, lambda *a: os._exit(size(0)[0]))
    print("in", flush=True)
    while True:
        time.sleep(1)
os.read(inner, 10)
said.append(tried(inner, 11, 12))
print(said, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
""")), lambda j: j.status == 0 and b"[0, (5, 9), 0, (6, 10), 0] 11" in j.shown and size_of(j.slave) == SIZE)
job = Job(*jail("print('up', flush=True)\nsys.stdin.readline()\n" + TRY + "print('now', size(0), flush=True)"))
while b"up" not in job.shown:
    job.shown += os.read(job.master, 100)
fcntl.ioctl(job.master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
os.write(job.master, b"\n")
job.wait()
check("terminal-size: a person's own resize reaches the jail", b"now (30, 100)" in job.shown and size_of(job.slave) == (30, 100), job)
job.close()

# Every descriptor of every process of the jail, by device and inode: none may be the caller's terminal.
HOLD = "import pathlib\nprint('up', flush=True)\nsys.stdin.readline()\n"
job = Job(*jail(HOLD))
while b"up" not in job.shown:
    job.shown += os.read(job.master, 100)
ours, held = os.fstat(job.slave), []
inside = set().union(*(family(agentjail) for agentjail in children(job.pid)))
for pid in inside:
    try:
        numbers = os.listdir("/proc/%d/fd" % pid)
    except PermissionError:  # of init, for an ordinary user
        continue
    for fd in numbers:
        st = os.stat("/proc/%d/fd/%s" % (pid, fd))
        held.append((st.st_dev, st.st_ino) == (ours.st_dev, ours.st_ino))
os.write(job.master, b"\n")
job.wait()
check("terminal-modes: no process of the jail has a descriptor of the caller's terminal", len(inside) >= 2 and len(held) >= 3 and not any(held), job)
job.close()
done("terminal-modes: a key that stops the jail's output leaves the caller's alone", Job(*jail("print('up', flush=True)\ntime.sleep(1)\nprint('more', flush=True)"),
     keys=b"\x13", keys_after=b"up"), lambda j: j.modes_kept())

ACTS = {"clipboard": "\\x1b]52;c;aGk=\\x07", "title": "\\x1b[21t", "printer": "\\x1b[5i", "screen": "\\x1b[1;1;1;1;9;9*y", "answerback": "\\x05",
        "files": "\\x1b_Gt=f;L2V0\\x1b\\\\", "files of iTerm2": "\\x1b]1337;File=:AAAA\\x07", "notification": "\\x1b]9;hi\\x07", "window": "\\x1b[8;9;9t"}
for what, text in ACTS.items():
    for how, streams in (("", {}), (", in a pipeline", {0: os.open("/dev/null", os.O_RDONLY)})):
        done("terminal-escapes: %s%s" % (what, how), Job(*jail("sys.stdout.write('<%s>')" % text), streams=streams),
             lambda j: j.status == 0 and b"<>" in j.shown)
job = Job(*jail("sys.stdout.write('<%s>')" % ACTS["clipboard"]), foreground=False).wait()
check("terminal-escapes: from a job in the background", b"<>" in job.shown, job)
job.close()
