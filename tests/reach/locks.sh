#!/bin/sh
# Locks, leases and notifications on inodes that are the host's, as /dev/null is: what a policy that denies locks refuses.
# The control is a run under a policy that does not; the host's side asks the kernel for the locks that it sees.
. "$(dirname "$0")/../lib.sh"

# place call answer, for every way to lock and every kind of open file; `threads`: beside another thread, in whose place nobody can look.
cat >"$T/locks.py" <<'EOF'
import errno, fcntl, os, socket, struct, sys, threading, time
F_NOTIFY, F_SETLEASE, F_OFD_SETLK, F_OFD_SETLKW = 1026, 1024, 37, 38
def span(kind):
    return struct.pack("hhqqi4x", kind, 0, 0, 1, 0)
places = {}
def place(name, make):
    try:
        places[name] = make()
    except (OSError, AttributeError) as e:
        print(name, "none", e)
place("null", lambda: os.open("/dev/null", os.O_RDWR))
place("input", lambda: 0)
place("event", lambda: os.eventfd(0))
place("pipe", lambda: os.pipe()[1])
place("socket", lambda: socket.socketpair()[0].detach())
place("namespace", lambda: os.open("/proc/self/ns/time", os.O_RDONLY))
place("terminal", lambda: os.openpty()[1])
place("single", lambda: os.open("/opt/locks.py", os.O_RDONLY))
place("file", lambda: os.open("/tmp/f", os.O_RDWR | os.O_CREAT))
place("folder", lambda: os.open("/tmp", os.O_RDONLY))
place("memory", lambda: os.open("/dev/shm/f", os.O_RDWR | os.O_CREAT))
place("program", lambda: os.open("/usr/bin/env", os.O_RDONLY))
if os.path.isdir("/w"):
    place("shared", lambda: os.open("/w/f", os.O_RDWR | os.O_CREAT))
places["closed"] = 77
calls = {
    "setlk": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLK, span(fcntl.F_RDLCK)),
    "setlkw": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLKW, span(fcntl.F_RDLCK)),
    "flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB),
    "flockw": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX),
    "ofd": lambda fd: fcntl.fcntl(fd, F_OFD_SETLK, span(fcntl.F_RDLCK)),
    "ofdw": lambda fd: fcntl.fcntl(fd, F_OFD_SETLKW, span(fcntl.F_RDLCK)),
    "getlk": lambda fd: fcntl.fcntl(fd, fcntl.F_GETLK, span(fcntl.F_RDLCK)),
    "lease": lambda fd: fcntl.fcntl(fd, F_SETLEASE, fcntl.F_WRLCK),
    "notify": lambda fd: fcntl.fcntl(fd, F_NOTIFY, 1),
}
if "threads" in sys.argv:
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
for name, fd in places.items():
    for how, call in calls.items():
        try:
            call(fd)
            print(how, name, "HELD")
        except OSError as e:
            print(how, name, errno.errorcode[e.errno])
sys.stdout.flush()
os._exit(0)
EOF
ws=$T/ws
mkdir "$ws"
chmod 777 "$ws"
echo input >"$T/input"
printf 'extends = "command"\n[process]\ndeny_syscalls = ["locks"]\n' >"$T/locks.toml"

LOCKS='setlk|setlkw|flock|flockw|ofd|ofdw'
OURS='file|folder|memory|program|single|shared'
under() { # ARGS of run before the command
	timeout -k 5 60 "$AJ" run --timeout 30s --bind "$T/locks.py:/opt/locks.py" --bind "$ws:/w:rw" "$@" -- python3 -I -S /opt/locks.py $how <"$T/input" >"$T/out" 2>"$T/err"
	rc=$?
}
for how in '' threads; do
	under
	is "locks-shared: ${how:-alone}: no lock is taken on what is everybody's" "0 42" \
		"$rc $(grep -Ec "^($LOCKS) (null|input|event|pipe|socket|namespace|terminal) EINVAL$" "$T/out")"
	is "locks-shared: ${how:-alone}: every other answer is a lock on the jail's own file" "" \
		"$(grep -E "^($LOCKS) " "$T/out" | grep -vE "^($LOCKS) ($OURS) HELD$| EINVAL$|closed EBADF$")"
	is "locks-own: ${how:-alone}: in /tmp, /dev/shm, a read-only folder and a single file they are" 30 "$(grep -Ec "^($LOCKS) (file|folder|memory|program|single) HELD$" "$T/out")"
	is "locks-bound: ${how:-alone}: and in a folder that is bound writable" 6 "$(grep -Ec "^($LOCKS) shared HELD$" "$T/out")"
	is "locks-shared: ${how:-alone}: what is not open is EBADF" 6 "$(grep -Ec "^($LOCKS) closed EBADF$" "$T/out")"
done
is "locks-lease: neither leases nor notifications" "0 28" \
	"$(grep -Ec '^(lease|notify) .* HELD$' "$T/out") $(grep -Ec '^(lease|notify) .* EINVAL$' "$T/out")"
is "locks-shared: to look is allowed" 13 "$(grep -Ec '^getlk .* HELD$' "$T/out")"
how=
under --policy-file "$T/locks.toml"
is "locks-denied: a policy that denies them" "0 0 84" "$rc $(grep -Ec "^($LOCKS) .* HELD$" "$T/out") $(grep -Ec "^($LOCKS) .* EPERM$" "$T/out")"
json "locks-denied: the result says so, and counts" 0 'enforced.seccomp~without locks$' 'enforced.locks=denied by the policy' 'violations.0.syscall=flock' 'violations.0.count=1' -- \
	run --policy-file "$T/locks.toml" -- sh -c 'flock -n /tmp true || exit 0'
json "locks-shared: the result says what is so, and counts" 0 'enforced.locks~^mediated: on files of the jail.s own; EINVAL elsewhere$' \
	'violations.0.syscall=flock' 'violations.0.count=1' 'stderr~Invalid argument' -- run -- sh -c 'flock -n /dev/null true || exit 0'
json "locks-bound: the result says so" 0 'enforced.locks~and of folders bound writable' -- run --bind "$ws:/w:rw" -- true

# The host sees the lock, as the jail's.
"$AJ" run --timeout 60s --bind "$ws:/w:rw" -- sh -c 'exec 9>/w/held; flock 9; echo held; sleep 60' >"$T/said" 2>&1 &
pid=$!
await grep -qs held "$T/said"
is "locks-bound: one lock for jail and host" 1 "$(flock -n "$ws/held" true; echo $?)"
kill $pid
wait $pid 2>/dev/null

# A way round: another file in the place of the one that was looked at.
OPTIONS=--json probe lock-race 2000000
check "locks-race: a process that wins it is ended, with the reason" expect status=limit limits_hit.0=locks 'reason~replaced a file while it was being locked'
OPTIONS=--json probe lock-race 20000 /dev/null flock
check "locks-race: no race with flock, which is taken on what was looked at" expect status=ok 'stdout~^race held [1-9][0-9]* refused [1-9]'
# The same with a call that is held up between its descriptor and its lock: a lock that is won is found while it lasts.
OPTIONS=--json probe lock-late 5 4
check "locks-race: a lock that comes late is found" expect 'stdout!late kept'
check "locks-race: and such were tried" expect 'stdout~^late (tried OK|won)|^$'
OPTIONS=

# A process that waits for a lock gets it, alone and beside a thread; a signal ends the wait.
cat >"$T/wait.py" <<'EOF'
import fcntl, os, signal, struct, sys, threading, time
path, how, threads = sys.argv[1:]
span = lambda kind: struct.pack("hhqqi4x", kind, 0, 0, 0, 0)
take = {"flock": lambda fd: fcntl.flock(fd, fcntl.LOCK_EX), "posix": lambda fd: fcntl.fcntl(fd, fcntl.F_SETLKW, span(fcntl.F_WRLCK)),
        "ofd": lambda fd: fcntl.fcntl(fd, 38, span(fcntl.F_WRLCK))}[how]
def opened():
    return os.open(path, os.O_RDWR | os.O_CREAT)
r, w = os.pipe()
go, went = os.pipe()
child = os.fork()
if child == 0:
    fd = opened()
    take(fd)
    os.write(w, b"x")
    os.read(go, 1)
    time.sleep(0.3)
    os._exit(0)
os.read(r, 1)
if threads == "threads":
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
def late(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.3)
fd = opened()
try:
    take(fd)
    print("not waited")
except TimeoutError:
    print("interrupted", end=" ")
os.write(went, b"x")
take(fd)
os.waitpid(child, 0)
print("got it", flush=True)
os._exit(0)
EOF
for how in flock posix ofd; do
	for beside in alone threads; do
		text "locks-own: $how, $beside: waited for, interrupted, waited for again" 0 '^interrupted got it$' \
			run --timeout 20s --bind "$T/wait.py:/opt/wait.py" -- python3 -I -S /opt/wait.py /tmp/wait $how $beside
	done
done

# Honest programs.
DATABASE='import sqlite3, sys, threading, time
if sys.argv[2:]:
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
a, b = sqlite3.connect(sys.argv[1], timeout=0), sqlite3.connect(sys.argv[1], timeout=0)
a.execute("create table t(a)"); a.execute("insert into t values(7)"); a.commit(); a.execute("begin immediate")
try: b.execute("begin immediate")
except sqlite3.OperationalError as e: print(e)
a.execute("insert into t values(8)"); a.commit(); print(*b.execute("select a from t"), flush=True)
import os; os._exit(0)'
for where in /tmp/d /w/d; do
	for beside in '' threads; do
		text "locks-own: sqlite in $where $beside" 0 'database is locked' run --bind "$ws:/w:rw" -- python3 -c "$DATABASE" $where$beside.db $beside
		says "locks-own: and what it wrote is there" '^\(7,\) \(8,\)$'
	done
done
text "locks-own: flock and git" 0 '^made$' run -- sh -c 'flock /tmp/l true && cd /tmp && git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git gc -q && echo made'

# Where nobody can listen all are refused.
listened "$AJ" run --json -- sh -c 'flock -n /tmp true; echo $?' >"$T/out" 2>"$T/err"
if grep -q 'no listener' "$T/err"; then
	skip "locks-without-listener: under another's listener" "$(tail -n 1 "$T/err")"
else
	check "locks-without-listener: under another's listener no lock is taken" expect violations_seen=false 'enforced.locks~^refused: the supervisor cannot listen' 'stdout~^[1-9]'
fi

# Snippets under the list of commands, and with a workspace; a session; one that may branch; one that was born warm.
printf 'extends = "snippet"\n[filesystem]\nworkspace = "read-write"\n[python]\nlayer = false\n' >"$T/work.toml"
printf 'extends = "snippet"\n[python]\nlayer = false\n[process]\nexec = true\nfork = true\n' >"$T/exec.toml"
SHARED='import errno, fcntl, os
def f(path, how):
    try: fcntl.flock(os.open(path, os.O_RDWR | os.O_CREAT), 6) if how == "flock" else fcntl.lockf(os.open(path, os.O_RDWR | os.O_CREAT), 6)
    except OSError as e: return errno.errorcode[e.errno]
    return "HELD"
'
json "locks-shared: a snippet with a workspace" 0 'value=["EINVAL","HELD","HELD"]' 'enforced.locks~^mediated' -- \
	exec --policy-file "$T/work.toml" --workspace "$ws" -c "$SHARED"'[f(p, "posix") for p in ("/dev/null", "/tmp/f", "/workspace/f")]'
json "locks-shared: a snippet that may execute programs" 0 'value=["EINVAL","EINVAL","HELD","HELD"]' 'enforced.locks~^mediated' -- \
	exec --policy-file "$T/exec.toml" -c "$SHARED"'[f(p, h) for p in ("/dev/null", "/tmp/f") for h in ("posix", "flock")]'
SNIPPETS="$SHARED"'[f(p, "posix") for p in ("/dev/null", "/tmp/f")]'
printf '%s\n' "$SNIPPETS" | "$PY" -I -S -c 'import sys; print(sys.stdin.read())' >"$T/code"
timeout 60 "$AJ" session --json --policy-file "$T/exec.toml" <"$T/code" >"$T/out" 2>"$T/err"
says "locks-shared: a session, whose jail was born from a zygote" '"value":\["EINVAL","HELD"\]'
printf 'extends = "snippet"\n[python]\nlayer = false\n' >"$T/snippet.toml"
SNIPPET='import fcntl, os, struct
fd = os.open("/dev/null", os.O_RDWR)
lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
for start in range(1000):
    fcntl.fcntl(fd, fcntl.F_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 2 * start, 1, 0))
struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, lock))[0] == fcntl.F_UNLCK'
json "locks-snippet: 1000 are asked for" 0 status=ok value=true -- exec --policy-file "$T/snippet.toml" -c "$SNIPPET"
printf 'extends = "snippet"\n[python]\nlayer = false\n[process]\ndeny_syscalls = ["locks"]\n' >"$T/denied.toml"
json "locks-snippet: the refusal of a policy differs from that of the filter" 1 'error.type=PermissionError' 'violations.0.syscall=fcntl' -- \
	exec --policy-file "$T/denied.toml" -c "$SNIPPET"
finish
