#!/bin/sh
# Calls that the kernel refuses are counted and reported: by name, for a person, for a model, and in the audit trail.
# The refusals themselves are tested elsewhere too; here they must hold with and without a supervisor that listens.
. "$(dirname "$0")/../lib.sh"
runner_rootfs

# The probe under `run --json`; its own lines are in the result's stdout.
counted() { # NAME EXPECT... -- PROBE ARGUMENTS
	local name=$1 count=0 word
	shift
	for word; do
		[ "$word" != -- ] || break
		count=$((count + 1))
	done
	: >"$T/expects"
	while [ $count -gt 0 ]; do
		printf '%s\n' "$1" >>"$T/expects"
		shift
		count=$((count - 1))
	done
	shift
	OPTIONS="--json ${OPTIONS:-}" probe "$@"
	set --
	while IFS= read -r word; do set -- "$@" "$word"; done <"$T/expects"
	check "$name" expect "$@"
}

# --- by name, by count, by process ---
counted "nothing refused, nothing reported" status=ok 'violations=[]' violations_seen=true -- ids
counted "ptrace" 'stdout=EPERM 3\n' violations.0.syscall=ptrace violations.0.count=3 'violations.0.pids=[2]' "violations.0.why~memory" \
	'violations.0.instead~process.ptrace' status=ok -- denied 3
counted "several processes" violations.0.count=20 'violations.0.pids~^\[[0-9]+(,[0-9]+){3}\]$' 'violations.0.pids~[[,]2[],]' -- denied 5 4
counted "at most eight processes are named" violations.0.count=20 'violations.0.pids~^\[[0-9]+(,[0-9]+){7}\]$' -- denied 1 20
counted "each by its name" violations.0.syscall=ptrace 'violations.0.count=3' 'violations.1.syscall=process_vm_readv' 'violations.2.syscall=process_vm_writev' \
	'violations.3.syscall=kcmp' 'violations.4.syscall=pidfd_getfd' -- trace
# mount, unshare, setns, bpf, keyctl, add_key, perf_event_open, io_uring_setup, userfaultfd, chroot
counted "the usual suspects" 'stdout!OK|ENOSYS' 'violations~"mount".*"unshare".*"setns".*"bpf".*"keyctl".*"add_key".*"perf_event_open".*"io_uring_setup".*"userfaultfd".*"chroot"' \
	-- syscall 165 272:0x10000000 308 321 250 248 298 425 323 161
counted "a clone with namespaces" 'stdout!OK|ENOSYS' violations.0.syscall=clone 'violations.0.why~namespaces' status=ok -- syscall 56:0x10000011
counted "families" 'stdout=2 EAFNOSUPPORT\n10 EAFNOSUPPORT\n17 EAFNOSUPPORT\n38 EAFNOSUPPORT\n1 OK\n' violations.0.syscall=socket violations.0.count=4 \
	'violations.0.instead~no network in this jail' -- socket 2 10 17 38 1
OPTIONS='--network loopback' counted "families with a network" 'stdout=2 OK\n40 EAFNOSUPPORT\n' violations.0.count=1 'violations.0.why=other families' -- socket 2 40
OPTIONS=
counted "what does not exist is no violation" 'stdout=435 ENOSYS\n437 ENOSYS\n' 'violations=[]' -- syscall 435 437
counted "nor is an option that a kernel may not know" 'stdout=319:0:0xffffffff EINVAL\n157:9999 EINVAL\n16:1:0x5423 ENOTTY\n72:1:1024 EINVAL\n317:1:8 EINVAL\n' \
	'violations=[]' -- syscall 319:0:0xffffffff 157:9999 16:1:0x5423 72:1:1024 317:1:8
# More kinds than are listed: 40 of the refused calls, none of which would do anything outside either.
counted "at most 32 kinds" 'stdout!OK' 'violations~^(\[?.\{?"syscall"[^}]*\},?){32}\]$' violations_seen=true -- syscall 165 166 155 161 428 429 430 431 432 433 \
	442 101 310 311 312 438 163 179 153 321 298 212 425 426 427 250 248 249 323 103 246 320 175 313 176 169 167 168 172:3 173:0:3:1

# --- nothing of it gets weaker ---
probe listener
silent "no descriptor listens" 'listens'
says "a listener of its own: there is one" '^own-listener EINVAL'
says "a filter of its own that reports to nobody" '^own-filter OK'
says "what it reports is refused" '^ptrace ENOSYS'
bare listener
says "control: outside it gets one" '^own-listener OK'
probe fds
is "control: and inherits nothing" "" "$(grep -vE '^fd [012] ' "$T/out")"
counted "signals all the time: each call once" 'stdout=EPERM 2000\n' violations.0.count=2000 -- interrupted 2000
counted "callers that die in the middle" 'stdout=torn OK\n' status=ok violations.0.syscall=ptrace -- torn 50

# --- a flood: FLOOD calls by each of four processes ---
: "${FLOOD:=5000}"
OPTIONS='--timeout 60s' counted "a flood is counted" status=ok "stdout=EPERM $FLOOD\n" violations.0.count=$((FLOOD * 4)) -- denied "$FLOOD" 4
OPTIONS='--timeout 500ms' counted "a flood ends in time" status=timeout 'limits_hit=["wall_clock"]' 'wall_ms<60000' violations.0.syscall=ptrace \
	'violations.0.count~^[0-9]{3,}$' -- denied 100000000 8
check "and leaves nothing" gone
OPTIONS=

# --- snippets ---
json "a snippet" 0 'violations=[]' violations_seen=true -- exec -c '1 + 1'
json "with modules, threads and asyncio" 0 'violations=[]' -- exec -c 'import asyncio, threading, json, statistics, tempfile
threading.Thread(target=print).start()
async def f(): await asyncio.sleep(0)
asyncio.run(f())' --layer off
json "a snippet's refusals" 0 'violations.0.syscall=clone' violations.0.count=2 'violations.0.pids=[2]' 'violations.0.instead~processes do not' \
	'violations.1.syscall=symlink' -- exec --layer off -c 'import os
for call in (os.fork, os.fork, lambda: os.symlink("a", "/tmp/b")):
    try: call()
    except PermissionError: pass
    else: raise SystemExit(9)'
json "descriptors of a snippet" 0 'value=[0,1,2,3]' -- exec --layer off -c 'import os
def there(fd):
    try: os.fstat(fd); return True
    except OSError: return False
[fd for fd in range(1000) if there(fd)]'
AGENTJAIL_ROOTFS=$T/runner json "a runner that has no part in it" 0 violations_seen=true 'stdout~traceme EPERM' violations.0.syscall=ptrace -- exec -c trace
# A jail from a zygote has no baseline of its own: its one filter reports that too.
reported='violations=[]'
[ -z "${AGENTJAIL_COLD:-}" ] || reported='violations~^.{"syscall":"execve","count":1,'
json "what only Python's start may do is refused, and counted of a warm jail alone" 0 "$reported" violations_seen=true 'stdout=1 ' -- exec --layer off -c 'import os
try: os.execv("/usr/bin/python3", ["python3"])
except PermissionError as e: print(e.errno, end=" ")'
# So it is with executable memory: of one's own, and of an extension module that is imported too late.
[ -z "${AGENTJAIL_COLD:-}" ] || reported='violations~^.{"syscall":"mmap","count":2,"pids":.2.,"why":"no new machine code"'
json "new executable memory is refused, and counted of a warm jail alone" 0 "$reported" violations_seen=true \
	'stdout~^1 .*_late.so: failed to map segment' -- exec --layer off -c 'import glob, mmap, sys
try: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
except PermissionError as e: print(e.errno, end=" ")
with open(glob.glob("/usr/lib/python3*/lib-dynload/_json.*.so")[0], "rb") as f, open("/tmp/_late.so", "wb") as to: to.write(f.read())
sys.path.append("/tmp")
try: import _late
except ImportError as e: print(e)'

# --- denied groups: with sendmsg gone, which hands listeners on ---
printf 'extends = "command"\n[process]\ndeny_syscalls = ["sockets", "memfd"]\n' >"$T/denied.toml"
OPTIONS="--policy-file $T/denied.toml" counted "denied groups" status=ok 'stdout=53:1:1 EPERM\n46 EPERM\n46 EPERM\n319 EPERM\n' \
	'violations.0.syscall=socketpair' 'violations.0.instead~denied by the policy' violations.1.syscall=sendmsg violations.1.count=2 \
	violations.2.syscall=memfd_create -- syscall 53:1:1 46 46 319
OPTIONS=
printf 'extends = "snippet"\npython.layer = false\nprocess.deny_syscalls = ["sockets", "threads", "ipc", "memfd", "inotify"]\n' >"$T/denied.toml"
json "all groups, for a snippet" 0 status=ok violations.0.syscall=socketpair violations_seen=true -- exec --policy-file "$T/denied.toml" -c 'import socket
try: socket.socketpair()
except PermissionError: pass'
printf 'extends = "command"\nprocess.fork = false\n' >"$T/denied.toml"
text "no fork" 2 'Cannot fork' run --policy-file "$T/denied.toml" -- sh -c '(true)'

# --- for a person ---
text "after a failure" 1 '^agentjail: refused by the kernel: unshare x1 \(other namespaces\)$' run -- unshare -U true
text "a snippet that fails" 1 '^agentjail: refused by the kernel: clone x1' exec --layer off -c 'import os; os.fork()'
aj run -- sh -c 'unshare -U true; true'
silent "not after a success" 'refused by the kernel'
aj run --bind "$PROBE:/opt/probe" -- sh -c '/opt/probe syscall 165 166 155 161 428 429 430 431 432 433 442 101 310; false'
is "at most ten lines" 10 "$(grep -c 'refused by the kernel' "$T/err")"

# --- in the audit trail ---
mkdir -m 700 "$T/log"
printf '[audit]\ndestination = "file:%s"\n' "$T/log/trail" >"$T/site.toml"
text "recorded" 1 '' run --config "$T/site.toml" -- unshare -U true
sed -n 2p "$T/log/trail" >"$T/out"
check "in the record" expect denials.0.by=kernel denials.0.rule=unshare denials.0.count=1 'denials.0.message=other namespaces'

# --- nobody could listen: somebody above us does already ---
listened "$AJ" run --json --bind "$PROBE:/opt/probe" -- /opt/probe denied 3 >"$T/out" 2>"$T/err"
if grep -q 'No module\|no listener' "$T/err"; then
	skip "under another's listener" "$(tail -n 1 "$T/err")"
else
	check "under another's listener: refused as ever, and not counted" expect status=ok 'stdout=EPERM 3\n' violations_seen=false 'violations=[]'
fi

# --- a runner that keeps the listener, and takes calls away from us ---
echo kept-listener >"$T/runner/tree/usr/evil"
chmod 644 "$T/runner/tree/usr/evil"
aj exec --json --timeout 2s --rootfs "$T/runner" -c 'denied 100000000 4'
check "a runner that keeps the listener cannot outstay its time" expect 'wall_ms<60000' 'status~^(timeout|setup_error)$'
rm "$T/runner/tree/usr/evil"

# --- the end ---
"$AJ" run --bind "$PROBE:/opt/probe" -- /opt/probe denied 100000000 4 >"$T/out" 2>"$T/err" &
pid=$!
sleep 0.5
kill -9 $pid
wait $pid 2>"$T/err"
check "kill -9 of the supervisor in the middle of a flood leaves nothing" gone
text "the next run sweeps its cgroup, where it had one" 0 '' run -- true

finish
