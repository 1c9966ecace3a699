#!/bin/sh
# The kernel's files in /proc as a command reads them: those about other processes are empty, the rest are as the table says.
. "$(dirname "$0")/../lib.sh"

# --- masked ---
# A lock by open file description has no process, and so no PID namespace hides it.
cat >"$T/lock.py" <<'X'
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.fcntl(fd, 37, struct.pack("hhqqixxxx", fcntl.F_WRLCK, 0, 7700, 11, 0))
print("up", flush=True)
time.sleep(60)
X
echo host >"$T/file"
"$PY" -I -S "$T/lock.py" "$T/file" >"$T/up" 2>&1 &
HOLDER=$!
await test -s "$T/up"
check "proc-masked: control: on the host the lock is to be seen" grep -q 'OFDLCK.* 7700 7710$' /proc/locks
aj run -- sh -c 'cd /proc && cat locks interrupts keys key-users kallsyms kcore timer_list cmdline 2>/dev/null | wc -c'
is "proc-masked: nothing of it is read in a jail" "0 0" "$rc $(tr -d ' ' <"$T/out")"
kill $HOLDER
wait $HOLDER 2>/dev/null

# --- readable ---
text "proc-read: what the table says of it is so" 0 "^$(cat /proc/sys/kernel/random/boot_id)\$" run -- cat /proc/sys/kernel/random/boot_id
text "proc-read: nothing is written there" 1 '' run -- sh -c 'echo 1 >/proc/sys/vm/drop_caches || exit 1'
printf 'extends = "command"\n[filesystem]\nproc = false\n' >"$T/none.toml"
text "proc-read: without proc there is none" 0 '^none$' run --policy-file "$T/none.toml" -- sh -c '[ -e /proc/stat ] || echo none'

# --- tracing ---
printf 'extends = "command"\n[process]\nptrace = true\n' >"$T/traced.toml"
chmod 644 "$T/traced.toml"
sleep 60 &
HOLDER=$!
aj run --json --policy-file "$T/traced.toml" --bind "$PROBE:/opt/probe" -- /opt/probe trace $HOLDER
says "trace-processes: a process may be traced" 'traceme OK'
says "trace-processes: what the table says is in the result" 'its processes may trace one another'
says "trace-processes: a process of the host has no number" 'attach ESRCH.*seize ESRCH.*readv ESRCH.*writev ESRCH'
aj run --policy-file "$T/traced.toml" --bind "$PROBE:/opt/probe" -- /opt/probe trace 1
silent "trace-processes: init is closed" '^(attach|seize|readv|writev) OK'
kill $HOLDER
wait $HOLDER 2>/dev/null

# --- paths ---
mkdir "$T/folder"
aj run --bind "$T/folder:/mnt/ro" -- cat /proc/self/mountinfo
silent "proc-paths: a read-only folder's path on the host is not shown" "$(basename "$T")/folder"
aj run --bind "$T/folder:/mnt/rw:rw" -- cat /proc/self/mountinfo
says "proc-paths: what the table says of it is so" "/$(basename "$T")/folder /mnt/rw "
finish
