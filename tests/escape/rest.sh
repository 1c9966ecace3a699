#!/bin/sh
# The rest of the corpus: a chroot, signals by descriptor, clocks, desktop sockets, filled pipes, tricks with parents, and a terminal
# that is left in disorder. Each attack is made by the host's Python under `run`, and a control shows that it could succeed.
. "$(dirname "$0")/../lib.sh"

attack() { # OPTIONS... : Python on standard input, under `run`
	cat >"$T/attack.py"
	aj run --timeout 20s --bind "$T/attack.py:/opt/attack.py" "$@" -- "$PY" -I -S -B /opt/attack.py
}

attack <<'X'
import os
os.mkdir("d")
try:
    os.chroot("d")
    print("OUT")
except OSError as e:
    print("refused", e.errno)
X
says "K07 chroot is refused" '^refused 1$'

attack <<'X'
import fcntl, os
r, w = os.pipe()
fcntl.fcntl(r, 8, os.getpid())
print("own process: owner is", fcntl.fcntl(r, 9) == os.getpid())
for name, number, argument in (("F_SETOWN", 8, 60000), ("F_SETSIG", 10, 1), ("F_NOTIFY", 1026, 1), ("F_SETLEASE", 1024, 1)):
    try:
        fcntl.fcntl(r, number, argument)
        print("OUT", name)
    except OSError as e:
        print("refused", name, e.errno)
X
says "K55 no process outside is signalled through a descriptor" 'refused F_SETOWN 3'
says "control: one of the jail's own is" 'owner is True'
silent "K55 nor watched" '^OUT'

attack <<'X'
import time
for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC):
    try:
        time.clock_settime(clock, time.time() + 1)
        print("OUT")
    except OSError as e:
        print("refused", e.errno)
print(time.time() > 1e9)
X
says "K76 no clock is set" 'refused 1'
silent "K76 none at all" '^OUT'
says "K76 control: it can be read" '^True$'

attack <<'X'
import threading
done = []
threads = [threading.Thread(target=done.append, args=(i,)) for i in range(20)]
[t.start() for t in threads]
[t.join() for t in threads]
print("threads", len(done))
X
says "K77 threads, rseq and robust lists work" '^threads 20$'

attack <<'X'
import glob, os, socket
seen = [p for p in ("/run", "/var/run", "/tmp/.X11-unix", "/run/user", "/var/run/docker.sock", "/run/containerd") if os.path.exists(p)]
print("paths", seen, "variables", [v for v in os.environ if v in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "SSH_AUTH_SOCK")])
for name in ("\0/tmp/.X11-unix/X0", "\0/tmp/dbus-x"):
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("OUT", name)
    except OSError as e:
        print("refused", e.errno)
X
says "K64 no desktop: paths and variables" '^paths \[\] variables \[\]$'
silent "K64 and no abstract socket" '^OUT'

attack --memory 128M --pids 64 <<'X'
import fcntl, os
pipes = []
try:
    for i in range(200):
        r, w = os.pipe()
        os.set_blocking(w, False)
        fcntl.fcntl(w, 1031, 1 << 20)
        pipes.append((r, w, os.write(w, bytes(1 << 20))))
except OSError as e:
    print("refused", e.errno)
print("MiB", sum(p[2] for p in pipes) >> 20)
X
says "R06 pipes are filled up to a bound" '^refused|MiB [0-9]'
is "R06 and the host is as it was" "" "$(jailed)"

attack --timeout 500ms <<'X'
import ctypes, os, time
libc = ctypes.CDLL(None)
print("subreaper", libc.prctl(36, 1), "pdeathsig", libc.prctl(1, 0), flush=True)
if os.fork() == 0:
    os.setsid()
    libc.prctl(1, 0)
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
time.sleep(600)
X
is "R19 a new parent, no death signal: the process is ended" 124 $rc
check "R19 nothing is left" gone

# K59: a guest leaves the terminal raw and dies; we give it back as it was. A pty stands for the terminal.
cat >"$T/terminal.py" <<'X'
import os, pty, subprocess, sys, termios, time
aj, mode = sys.argv[1:]
master, slave = pty.openpty()
before = termios.tcgetattr(slave)
raw = "import sys, termios, tty; tty.setraw(0); sys.stdout.write('\\x1b[?1049h'); sys.stdout.flush()"
argv = [aj, "run", "--", "/usr/bin/python3", "-I", "-S", "-c", raw] if mode == "jail" else ["/usr/bin/python3", "-I", "-S", "-c", raw]
pid = os.fork()
if pid == 0:
    os.setsid()
    import fcntl
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.tcsetpgrp(0, os.getpgrp())
    os.execv(argv[0], argv)
deadline, status = time.time() + 20, None
os.set_blocking(master, False)
while time.time() < deadline:
    try:
        os.read(master, 65536)
    except OSError:
        pass
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
    time.sleep(0.05)
print("status", status, "same" if termios.tcgetattr(slave)[:4] == before[:4] else "RAW")
X
"$PY" -I -S -B "$T/terminal.py" "$AJ" jail >"$T/out" 2>"$T/err"
says "K59 the terminal is as before" '^status 0 same$'
"$PY" -I -S -B "$T/terminal.py" "$AJ" bare >"$T/out" 2>"$T/err"
says "K59 control: without a jail it stays raw" 'RAW$'
finish
