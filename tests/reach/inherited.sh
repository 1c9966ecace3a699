#!/bin/sh
# Attributes that a process inherits from the process that starts it: open files that are logs, attributes, limits. Each check names its row.
. "$(dirname "$0")/../lib.sh"

python() { # OPTIONS... : Python on standard input, under `run`, with our standard output and error as they are
	cat >"$T/code.py"
	timeout -k 5 60 "$AJ" run --bind "$T/code.py:/opt/code.py" "$@" -- "$PY" -I -S -B /opt/code.py
}
flat() { # a file as one line
	tr '\n' ' ' <"$1" | tr -d '\000' | sed 's/ $//'
}

# --- a log that the command's output is appended to ---
cat >"$T/spoil.py" <<'X'
import fcntl, os
os.write(1, b"one\n")
for fd in (1, 2):
    for way in (lambda: fcntl.fcntl(fd, fcntl.F_SETFL, 0), lambda: os.ftruncate(fd, 0), lambda: os.lseek(fd, 0, 0),
                lambda: os.write(fd, b"two\n"), lambda: os.pwrite(fd, b"three\n", 0)):
        try:
            way()
        except OSError as e:
            pass
X
echo "before" >"$T/log"
python >>"$T/log" 2>>"$T/log" <"$T/spoil.py"
is "log-file: what others appended stays" "before one two two" "$(flat "$T/log")"
echo "before" >"$T/log"
"$PY" -I -S -B "$T/spoil.py" >>"$T/log" 2>>"$T/log"
is "log-file: control: without a jail it does not" "three" "$(flat "$T/log" | cut -c1-5)"
: >"$T/log"
python >"$T/log" 2>&1 <<'X'
import os
for i in range(20000):
    os.write(1 + i % 2, b"%d\n" % i)
X
seq 0 19999 >"$T/want"
check "log-file: both outputs in one file keep their order, and nothing is lost" cmp "$T/want" "$T/log"
python >"$T/log" 2>"$T/log2" <<'X'
import os
os.write(1, b"x" * 3000000); os.write(2, b"y" * 3000000)
if os.fork() == 0:
    os.setsid(); os.write(1, b"last"); os._exit(0)
os.wait()
X
is "log-file: large output is whole" "3000004 3000000" "$(wc -c <"$T/log") $(wc -c <"$T/log2")"
python >"$T/log" <<'X'
import os, stat
print(stat.S_ISREG(os.fstat(1).st_mode), stat.S_ISFIFO(os.fstat(1).st_mode))
X
is "log-file: the command holds a pipe" "False True" "$(cat "$T/log")"
# The disk, or the caller's limit, is full: not a success.
echo 'import os
while True: os.write(1, b"x" * 4096)' >"$T/flood.py"
(
	ulimit -f 4096
	python <"$T/flood.py" >"$T/log" 2>"$T/err"
	echo $? >"$T/code"
)
is "log-file: what cannot be written is an error and ends the run" 125 "$(cat "$T/code")"
check "log-file: and says why" grep -q "File too large" "$T/err"
cat >"$T/small.toml" <<'X'
extends = "command"
[limits]
file_size = "1M"
X
python --policy-file "$T/small.toml" <"$T/flood.py" >"$T/log" 2>"$T/err"
is "log-file: the policy's limit of a file holds for it" 122 $?
check "log-file: and little more was written" test "$(wc -c <"$T/log")" -le 1200000

# --- a file as standard input ---
echo "keep me" >"$T/in"
cat >"$T/code.py" <<'X'
import os
for way in (lambda: os.write(0, b"gone"), lambda: os.ftruncate(0, 0)):
    try:
        way(); print("OUT")
    except OSError as e:
        print("refused", e.errno)
print(os.read(0, 100))
X
timeout 60 "$AJ" run --bind "$T/code.py:/opt/code.py" -- "$PY" -I -S -B /opt/code.py 0<>"$T/in" >"$T/out" 2>"$T/err"
is "input-file: it is open for reading only" "refused 9 refused 22 b'keep me\\n'" "$(flat "$T/out")"
is "input-file: and as it was" "keep me" "$(cat "$T/in")"
timeout 60 "$AJ" run -- "$PY" -I -S -c 'import os; print(os.read(0, 100))' 0>>"$T/in" >"$T/out" 2>"$T/err"
is "input-file: what the caller may only write to is not read" "b''" "$(flat "$T/out")"
(
	exec 8<>"$T/in"
	chmod 0 "$T/in"
	timeout 60 "$AJ" run -- true <&8 >"$T/out" 2>"$T/err"
	echo $? >"$T/code"
	chmod 600 "$T/in"
)
if [ "$(id -u)" = 0 ]; then
	skip "input-file: where it cannot be opened anew nothing is started" "root opens any file"
else
	is "input-file: where it cannot be opened anew nothing is started" "125 1" "$(cat "$T/code") $(grep -c 'cannot be reopened read-only' "$T/err")"
fi
cat >"$T/open.py" <<'X'
import os
for way in (lambda: os.fchmod(0, 0o666), lambda: print(oct(os.fstat(0).st_mode & 0o777)), lambda: os.open("/proc/self/fd/0", os.O_RDWR)):
    try:
        way()
    except OSError as e:
        print("refused", e.errno)
X
timeout 60 "$AJ" run --bind "$T/open.py:/opt/open.py" -- "$PY" -I -S -B /opt/open.py <"$T/in" >"$T/out" 2>"$T/err"
is "input-file: its permissions are as they were for others" 600 "$(stat -c %a "$T/in")"
if [ "$(id -u)" = 0 ]; then
	is "input-file: root's jail is not its owner" "refused 1 0o600" "$(flat "$T/out" | cut -d' ' -f1-3)"
else
	is "input-file: control: as the owner's jail it changes them while it runs" "0o666" "$(head -1 "$T/out")"
fi
if [ -d /sys/kernel/security/landlock ] || grep -q landlock /sys/kernel/security/lsm 2>/dev/null; then
	check "input-file: it is not opened again for writing" grep -q '^refused 13$' "$T/out"
else
	skip "input-file: it is not opened again for writing" "no Landlock to be seen"
fi

# --- a file in memory as standard input ---
cat >"$T/memory.py" <<'X'
import fcntl, os, sys
SEALS = {"sealed": 0x000e, "shrinks": 0x000c}  # F_SEAL_SHRINK 2, F_SEAL_GROW 4, F_SEAL_WRITE 8
m = os.memfd_create("mine", os.MFD_ALLOW_SEALING)
os.write(m, b"keep me")
fcntl.fcntl(m, 1033, SEALS.get(sys.argv[1], 0))
if sys.argv[1] == "large":
    os.ftruncate(m, (64 << 20) + 1)
given = os.open("/proc/self/fd/%d" % m, os.O_RDONLY) if sys.argv[1] == "read" else os.dup(m)
os.lseek(given, 5, 0)
if os.fork() == 0:
    os.dup2(given, 0)
    os.execv(sys.argv[2], sys.argv[2:])
code = os.waitstatus_to_exitcode(os.wait()[1])
print("exit", code, os.pread(m, 7, 0))
X
cat >"$T/write.py" <<'X'
import os
def again(flags): return os.write(os.open("/proc/self/fd/0", flags), b"OUT")
for way in (lambda: again(os.O_RDWR), lambda: again(os.O_WRONLY | os.O_TRUNC), lambda: os.truncate("/proc/self/fd/0", 0), lambda: os.ftruncate(0, 0)):
    try:
        way(); print("done")
    except OSError:
        pass
print(os.read(0, 100), os.pread(0, 100, 0))
X
memory() { # KIND
	timeout 60 "$PY" -I -S -B "$T/memory.py" "$1" "$AJ" run --bind "$T/write.py:/opt/write.py" -- "$PY" -I -S -B /opt/write.py >"$T/out" 2>"$T/err"
}
for kind in read write sealed; do
	memory $kind
	is "input-memory: $kind: the command reads it and changes nothing" "b'me' b'keep me' exit 0 b'keep me'" "$(flat "$T/out")"
done
memory shrinks
is "input-memory: sealed in part: the same" "b'me' b'keep me' exit 0 b'keep me'" "$(flat "$T/out")"
memory large
is "input-memory: a large one that is not sealed starts nothing" "exit 125 1" "$(cut -d' ' -f1,2 "$T/out") $(grep -c 'cannot be copied' "$T/err")"

# --- pipes ---
cat >"$T/back.py" <<'X'
import os
for fd, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY)):
    try:
        os.open("/proc/self/fd/%d" % fd, flags | os.O_NONBLOCK); print(fd, "opened")
    except OSError as e:
        print(fd, "refused", e.errno)
X
echo in | timeout 60 "$AJ" run --bind "$T/back.py:/opt/back.py" -- "$PY" -I -S -B /opt/back.py 2>"$T/err" | cat >"$T/out"
if [ "$(id -u)" = 0 ]; then
	is "input-pipe: root's jail opens no pipe in the other direction" "0 refused 13 1 refused 13" "$(flat "$T/out")"
else
	is "input-pipe: control: as the owner's jail it opens them in both directions" "0 opened 1 opened" "$(flat "$T/out")"
fi

# --- attributes ---
root() { [ "$(id -u)" = 0 ]; }
inside() { # COMMAND...: what the caller does, with agentjail as its last arguments
	cat >"$T/code.py" <<'X'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("class", os.sched_getscheduler(0), "nice", os.getpriority(os.PRIO_PROCESS, 0), "personality", libc.personality(0xffffffff),
      "oom", open("/proc/self/oom_score_adj").read().strip(), "slack", libc.prctl(30), "umask %03o" % os.umask(0))
X
	timeout -k 5 60 "$@" "$AJ" run --bind "$T/code.py:/opt/code.py" -- "$PY" -I -S -B /opt/code.py >"$T/out" 2>"$T/err"
	rc=$?
}
own=$(nice) # these tests may be run with a nice value of their own, which stays
[ "$own" -ge 0 ] || own=0
plain="^class 0 nice $own personality 0 oom 0 slack 50000 umask 022\$"
inside env
says "inherited-priority: control: without anything to inherit" "$plain"
if root && chrt -f 10 true 2>/dev/null; then
	for class in -f -r; do
		inside chrt $class 10
		says "inherited-priority: not a real-time class ($class)" "$plain"
	done
	inside chrt -R -f 10
	says "inherited-priority: nor one that is reset on fork, as the nice value then is" "^class 0 nice 0 "
	inside nice -n -40
	says "inherited-priority: not a nice value below 0" "^class 0 nice 0 "
	inside ionice -c 1 -n 0
	says "inherited-priority: nor is a real-time class of disk access an obstacle" "$plain"
elif root; then
	skip "inherited-priority: a real-time class" "this host gives none"
fi
if sh -c 'echo -500 >/proc/self/oom_score_adj' 2>/dev/null; then
	inside sh -c 'echo -500 >/proc/self/oom_score_adj && exec "$@"' sh
	says "inherited-oom: not an out-of-memory score below 0" "$plain"
elif root; then
	skip "inherited-oom: an out-of-memory score below 0" "not even root may set one here"
fi
inside sh -c 'echo 300 >/proc/self/oom_score_adj && exec "$@"' sh
says "inherited-oom: one above 0 stays" "oom 300 "
inside nice -n 7
says "inherited-kept: a nice value above 0 stays" "^class 0 nice $((own + 7 < 19 ? own + 7 : 19)) "
inside chrt -b 0
says "inherited-kept: and so does SCHED_BATCH" "^class 3 nice $own "
inside setarch -R
says "inherited-personality: address randomisation is on" "$plain"
inside setarch -X
says "inherited-personality: what can be read cannot be executed" "$plain"
cat >"$T/lock.py" <<'X'
# What LockPersonality= of systemd does: personality(2) with any argument but 0 fails with EPERM.
import ctypes, os, struct, sys
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
rows = [(LOAD, 0, 0, 0), (EQUAL, 0, 3, int(sys.argv[1])), (LOAD, 0, 0, 16), (EQUAL, 1, 0, 0), (RETURN, 0, 0, 0x50001), (RETURN, 0, 0, 0x7fff0000)]
filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, struct.pack("HxxxxxxP", len(rows), ctypes.addressof(filter))) or libc.personality(0xffffffff) != -1:
    sys.exit("no such filter")
os.execvp(sys.argv[2], sys.argv[2:])
X
if call=$(call_numbers | sed -n 's,^\([0-9]*\) personality$,\1,p') && [ -n "$call" ]; then
	inside "$PY" -I "$T/lock.py" "$call"
	says "inherited-personality: a filter that locks it at 0 is no obstacle" "class 0 nice $own personality [-0-9]* oom 0"
else
	skip "inherited-personality: a filter that locks it at 0 is no obstacle" "no compiler tells the number of personality()"
fi
inside sh -c 'umask 0; exec "$@"' sh
says "inherited-umask: not the caller's" "$plain"

most() { # COMMAND...: three times without address randomisation; how often the most frequent answer came
	for try in 1 2 3; do timeout 60 setarch -R "$@" 2>&1; done | sort | uniq -c | awk '{ print $1 }' | sort -n | tail -n 1
}
is "inherited-personality: nor does a snippet run at known addresses" 1 "$(most "$AJ" exec --layer off -c 'id([])')"
echo 'id([])' >"$T/cell"
is "inherited-personality: nor do jails from a zygote" 1 "$(most sh -c '"$0" session --layer off <"$1"' "$AJ" "$T/cell")"
is "inherited-personality: control: without a jail it would" 3 "$(most "$PY" -I -S -c 'print(id([]))')"

session_keyrings() { # their serial numbers: other tests' jails come and go meanwhile, so that a count says nothing
	awk '$8 == "keyring" && $9 ~ /^_ses/ { print $1 }' /proc/keys | sort
}
if [ -r /proc/keys ]; then
	session_keyrings >"$T/before"
	timeout 60 "$AJ" run -- sh -c 'echo up; sleep 3' >"$T/up" &
	waiter=$!
	await test -s "$T/up"
	session_keyrings | comm -13 "$T/before" - >"$T/new"
	check "inherited-keys: a jail has a session keyring of its own" test -s "$T/new"
	wait $waiter
else
	skip "inherited-keys: a jail has a session keyring of its own" "no /proc/keys"
fi

# --- limits ---
limited() { # NAME WANT REGEX 'ulimit ...': with `run` and `exec`
	for what in "run -- echo 2" "exec -c 1+1"; do
		# shellcheck disable=SC2086
		timeout -k 5 60 bash -c "$4; exec \"\$@\"" bash "$AJ" $what >"$T/out" 2>"$T/err"
		rc=$?
		if [ $rc = "$2" ] && grep -qE "$3" "$T/out" "$T/err"; then ok "$1, ${what%% *}"; else fail "$1, ${what%% *}" "$(shown)"; fi
	done
}
limited "inherited-limits: a stack of 64 KiB is an error" 125 'limits: the caller.s limit on the stack is 64' 'ulimit -s 64'
limited "inherited-limits: a soft one is raised" 0 '^2$' 'ulimit -S -s 64'
limited "inherited-limits: 16 open files are an error" 125 'limits: the caller.s limit on open files is 16' 'ulimit -n 16'
limited "inherited-limits: a soft limit of them is raised" 0 '^2$' 'ulimit -S -n 16'
limited "inherited-limits: 64 open files are enough" 0 '^2$' 'ulimit -n 64'
case $AJ in
*-san/*) skip "inherited-limits: no address space, no memory" "sanitizers need both before main()" ;;
*)
	limited "inherited-limits: no address space is an error" 125 'address space is 15000' 'ulimit -v 15000'
	limited "inherited-limits: no memory is an error" 125 'private memory is 2000' 'ulimit -d 2000'
	;;
esac
limited "inherited-limits: files of hardly any size are an error" 125 'the size of a file is 16' 'ulimit -f 16'
limited "inherited-limits: no pinned memory, queues, queued signals or core files are no trouble" 0 '^2$' 'ulimit -l 0 -q 0 -i 0 -c 0'
limited "inherited-limits: an unlimited stack is no trouble" 0 '^2$' 'ulimit -S -s unlimited'
case $AJ in
*-san/*) skip "inherited-limits: no process" "the leak sanitizer starts a process at the end" ;;
*) root || limited "inherited-limits: no process is an error that names the limit" 125 'ulimit -u' 'ulimit -u 1' ;;
esac
# This process has used nearly all of its soft limit of processor time when it becomes agentjail, which then has more than that to do.
cat >"$T/burn.py" <<'X'
import os, resource, sys, time
while time.process_time() < 0.6:
    pass
resource.setrlimit(resource.RLIMIT_CPU, (1, resource.RLIM_INFINITY))
os.execv(sys.argv[1], sys.argv[1:])
X
timeout 60 "$PY" -I -S "$T/burn.py" "$AJ" run --timeout 50s --bind "$PROBE:/opt/probe" -- /opt/probe denied 100000 >"$T/out" 2>"$T/err"
is "inherited-limits: a nearly used up limit of processor time does not end the watch" "0 EPERM 100000" "$? $(cat "$T/out")"

finish
