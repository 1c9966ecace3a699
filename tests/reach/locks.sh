#!/bin/sh
# Locks, leases and notifications on inodes that are the host's, as /dev/null is: what a policy that denies locks refuses.
# The control is a run under a policy that does not; the host's side asks the kernel for the locks that it sees.
. "$(dirname "$0")/../lib.sh"

cat >"$T/locks.py" <<'EOF'
import errno, fcntl, os, struct, sys
F_NOTIFY, F_SETLEASE, F_OFD_SETLK, F_OFD_SETLKW = 1026, 1024, 37, 38
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
inherited = int(sys.argv[1])
event = os.eventfd(0) if hasattr(os, "eventfd") else None
places = {"null": os.open("/dev/null", os.O_RDWR), "file": os.open("/tmp/f", os.O_RDWR | os.O_CREAT)}
if inherited >= 0:
    places["inherited"] = inherited
if event is not None:
    places["event"] = event
calls = {
    "setlk": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLK, lock),
    "setlkw": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLKW, lock),
    "flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
    "ofd": lambda fd: fcntl.fcntl(fd, F_OFD_SETLK, lock),
    "getlk": lambda fd: fcntl.fcntl(fd, fcntl.F_GETLK, lock),
    "lease": lambda fd: fcntl.fcntl(fd, F_SETLEASE, fcntl.F_WRLCK),
    "notify": lambda fd: fcntl.fcntl(fd, F_NOTIFY, 1),
}
for place, fd in places.items():
    for name, call in calls.items():
        try:
            call(fd)
            print(name, place, "HELD")
            if name == "ofd":
                fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 1, 0))
        except OSError as e:
            print(name, place, errno.errorcode[e.errno])
sys.stdout.flush()
EOF
printf 'extends = "command"\n[process]\ndeny_syscalls = ["locks"]\n' >"$T/locks.toml"

under() { # ARGS of run before the command
	"$AJ" run "$@" --bind "$T/locks.py:/opt/locks.py" -- python3 -I -S /opt/locks.py 0 0<>/dev/null >"$T/out" 2>"$T/err"
	rc=$?
}
under --policy-file "$T/locks.toml"
is "locks-shared: denied, no lock is taken" "0 0" "$rc $(grep -Ec '^(setlk|setlkw|flock|ofd) .* HELD$' "$T/out")"
is "locks-shared: on /dev/null, on a file, on what is inherited, each with an error that says so" 12 \
	"$(grep -Ec '^(setlk|setlkw|flock|ofd) (null|file|inherited) EPERM$' "$T/out")"
is "locks-shared: to look is allowed" 3 "$(grep -Ec '^getlk (null|file|inherited) HELD$' "$T/out")"
under
is "locks-shared: control: under another policy they are taken" "0 12" \
	"$rc $(grep -Ec '^(setlk|setlkw|flock|ofd) (null|file|inherited) (HELD|EAGAIN)$' "$T/out")"
is "locks-lease: neither leases nor notifications" "0 6" \
	"$(grep -Ec '^(lease|notify) .* HELD$' "$T/out") $(grep -Ec '^(lease|notify) (null|file|inherited) ENOSYS$' "$T/out")"
json "locks-shared: the result says so, and counts" 0 'enforced.seccomp~without locks$' 'violations.0.syscall=flock' 'violations.0.count=1' -- \
	run --policy-file "$T/locks.toml" -- sh -c 'flock -n /tmp true || exit 0'
text "locks-shared: what makes no lock goes on" 0 '^made$' run --policy-file "$T/locks.toml" -- \
	sh -c 'cd /tmp && python3 -c "open(\"x\", \"w\").write(\"made\\n\")" && cat x'
# What honest programs do is not in the way of the other policies.
text "locks-shared: control: sqlite and flock work under them" 0 '^\(7,\)$' run -- sh -c 'flock /tmp/l true && python3 -c "
import sqlite3
c = sqlite3.connect(\"/tmp/d\"); c.execute(\"create table t(a)\"); c.execute(\"insert into t values(7)\"); c.commit()
print(sqlite3.connect(\"/tmp/d\").execute(\"select a from t\").fetchone())"'

printf 'extends = "snippet"\n[python]\nlayer = false\n' >"$T/snippet.toml"
SNIPPET='import fcntl, os, struct
fd = os.open("/dev/null", os.O_RDWR)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
for start in range(1000):
    fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 2 * start, 1, 0))
struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, lock))[0] == fcntl.F_UNLCK'
json "locks-snippet: 1000 are asked for" 0 status=ok value=true -- exec --policy-file "$T/snippet.toml" -c "$SNIPPET"
printf 'extends = "snippet"\n[python]\nlayer = false\n[process]\ndeny_syscalls = ["locks"]\n' >"$T/denied.toml"
json "locks-snippet: a policy that denies them is told apart" 1 'error.type=PermissionError' 'violations.0.syscall=fcntl' -- \
	exec --policy-file "$T/denied.toml" -c "$SNIPPET"
finish
