#!/bin/sh
# Device nodes, modules and the log of the kernel: what a jail reaches of them. Each check names its row.
. "$(dirname "$0")/../lib.sh"

cat >"$T/attack.py" <<'X'
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def attempt(name, do):
    try:
        do()
        print(name, "OK", flush=True)
    except OSError as e:
        print(name, errno.errorcode[e.errno], flush=True)
def call(number, *args):
    if libc.syscall(*[ctypes.c_long(a) for a in (number, *args)]) < 0:
        raise OSError(ctypes.get_errno(), "")
text = ctypes.create_string_buffer(64)
attempt("times", lambda: os.utime("/dev/null"))
attempt("mode", lambda: os.chmod("/dev/null", 0o666))
attempt("write", lambda: os.write(os.open("/dev/null", os.O_WRONLY), b"x"))
attempt("huge-map", lambda: call(9, 0, 1 << 21, 3, 0x40022, -1, 0))
attempt("huge-memfd", lambda: call(319, ctypes.addressof(text), 4))
attempt("huge-segment", lambda: call(29, 0, 1 << 21, 0o4600))
attempt("map", lambda: call(9, 0, 1 << 21, 3, 0x22, -1, 0))
for name, how in ("mptcp", (2, 1, 262)), ("sctp", (2, 1, 132)), ("udplite", (2, 2, 136)), ("alg", (38, 5, 0)), ("tcp", (2, 1, 6)):
    attempt(name, lambda: socket.socket(*how))
attempt("cipher", lambda: socket.socket().setsockopt(6, 38, bytes(400)))
attempt("log", lambda: call(103, 3, ctypes.addressof(text), 64))
print("kmsg", os.path.exists("/dev/kmsg"))
held = 0
pairs = [socket.socketpair() for _ in range(8)]
for a, b in pairs:
    for end in a, b:
        end.setblocking(False)
        try:
            while True:
                held += end.send(bytes(4096))
        except BlockingIOError:
            pass
print("held", held // 16, flush=True)
child = os.fork()
if child == 0:
    ctypes.string_at(8)
print("fault", os.waitpid(child, 0)[1] & 127)
X
aj run --timeout 50s --network loopback --bind "$T/attack.py:/opt/attack.py" -- "$PY" -I -S -B /opt/attack.py
says "devices-times: not by a jail" '^times EROFS$'
says "devices-times: nor modes" '^mode E(ROFS|PERM)$'
says "devices-times: control: what is written passes" '^write OK$'
for way in map memfd segment; do says "devices-huge-pages: $way" "^huge-$way ENOMEM\$"; done
says "devices-huge-pages: control: ordinary memory" '^map OK$'
for protocol in mptcp sctp udplite; do says "devices-modules: $protocol" "^$protocol EPROTONOSUPPORT\$"; done
says "devices-modules: ciphers" '^alg EAFNOSUPPORT$'
says "devices-modules: ciphers of TCP" '^cipher ENOPROTOOPT$'
says "devices-modules: control: TCP" '^tcp OK$'
says "devices-log: cannot be read" '^log EPERM$'
says "devices-log: nor as a device" '^kmsg False$'
says "devices-log: a fault is a line there" '^fault 11$'
says "devices-socket-buffers: a socket holds what is not read" '^held [0-9]{5,}$'

# --- filters of a jail's own, by which the kernel keeps records ---
cat >"$T/records.py" <<'X'
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def install(name, flags, action):
    """A filter by which getppid has that end, in a child."""
    if os.fork():
        return os.wait()
    rows = (0x20, 0, 0, 0), (0x15, 0, 1, 110), (6, 0, 0, action), (6, 0, 0, 0x7fff0000)
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *row) for row in rows))
    program = struct.pack("<HxxxxxxQ", len(rows), ctypes.addressof(code))
    r = libc.syscall(317, 1, flags, program)
    print(name, errno.errorcode[ctypes.get_errno()] if r < 0 else "OK", libc.syscall(110) < 0, flush=True)
    os._exit(0)
install("plain", 0, 0x50001)
install("recorded", 2, 0x50001)
install("recorded-threads", 3, 0x50001)
install("log", 0, 0x7ffc0000)
X
aj run --bind "$T/records.py:/opt/records.py" -- "$PY" -I -S -B /opt/records.py
says "devices-audit: control: a filter of its own" '^plain OK True$'
says "devices-audit: none whose refusals are recorded" '^recorded EINVAL False$'
says "devices-audit: nor for all threads" '^recorded-threads EINVAL False$'
says "devices-audit: one that has calls recorded is accepted" '^log OK False$'

# Records of Landlock, where the host keeps any: of a ruleset of the jail's own, and of the jail's own walls.
cat >"$T/refused.py" <<'X'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(path, flags):
    try:
        os.open(path, flags)
    except OSError as e:
        return e.errno
here = sys.argv[1]
print("walls", refused(here, os.O_WRONLY) in (13, 30), end=" ")
rules = libc.syscall(444, struct.pack("QQQ", 1 << 2, 0, 0), 24, 0)
print("own", libc.syscall(446, rules, 0), {refused(here, os.O_RDONLY) for _ in range(50)}, flush=True)
X
cat >"$T/audited.py" <<'X'
"""Runs a command, and counts the records of Landlock (AUDIT_LANDLOCK_ACCESS) that name its file meanwhile. 77: the host keeps no records."""
import socket, struct, subprocess, sys
name, command = sys.argv[1].encode(), sys.argv[2:]
try:
    s = socket.socket(16, socket.SOCK_RAW, 9)
    s.send(struct.pack("IHHII", 16, 1000, 1, 1, 0))  # AUDIT_GET
    answer = s.recv(65536)
    if struct.unpack_from("H", answer, 4)[0] != 1000 or not struct.unpack_from("I", answer, 20)[0]:
        sys.exit(77)
    s.setsockopt(270, 1, 1)  # the group of those that read the log
except OSError:
    sys.exit(77)
subprocess.run(command, check=True)
s.settimeout(1)
count = 0
try:
    while True:
        record = s.recv(65536)
        count += struct.unpack_from("H", record, 4)[0] == 1423 and name in record
except TimeoutError:
    print("records", count)
X
"$PY" -I -S -B "$T/audited.py" "$(basename "$T")" "$PY" -I -S -B "$T/refused.py" "$T/refused.py" >"$T/out" 2>"$T/err"
if [ $? = 77 ] || grep -q 'records 0$' "$T/out"; then
	skip "devices-audit: no records of what Landlock refuses" "the host keeps none of Landlock's"
else
	"$PY" -I -S -B "$T/audited.py" "$(basename "$T")" "$AJ" run --bind "$T/refused.py:$T/refused.py" -- "$PY" -I -S -B "$T/refused.py" "$T/refused.py" >"$T/out" 2>"$T/err"
	says "devices-audit: control: a ruleset of the jail's own refuses" 'walls True own 0 .13.$'
	says "devices-audit: no records of what Landlock refuses" '^records 0$'
fi

# --- watched ---
cat >"$T/watch.py" <<'X'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
if fd < 0 or libc.inotify_add_watch(fd, b"/dev/null", 0x20) < 0:
    raise SystemExit("watch " + errno.errorcode[ctypes.get_errno()])
print("watch", len(os.read(fd, 16)), flush=True)
X
"$AJ" run --timeout 50s --bind "$T/watch.py:/opt/watch.py" -- "$PY" -I -S -B /opt/watch.py >"$T/out" 2>"$T/err" &
jail=$!
while kill -0 $jail 2>/dev/null; do
	: </dev/null
	sleep 0.1
done
wait $jail
says "devices-watched: a watch tells when the host opens a device" '^watch 16$'
printf 'extends = "command"\nprocess.deny_syscalls = ["inotify"]\n' >"$T/unwatched.toml"
aj run --policy-file "$T/unwatched.toml" --bind "$T/watch.py:/opt/watch.py" -- "$PY" -I -S -B /opt/watch.py
says "devices-watched: unless the policy denies watches" 'watch EPERM'

finish
