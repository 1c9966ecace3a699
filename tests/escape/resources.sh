#!/bin/sh
# Bombs and floods: each ends at its limit, inside, and the host does not notice.
# Attacks that need a memory cgroup are not here; where rlimits stand in for it, the result must say so.
. "$(dirname "$0")/../lib.sh"
runner_rootfs

# --- R01, R02: processes and threads ---
for n in 8 32; do
	OPTIONS="--pids $n" probe forkbomb
	says "R01 --pids $n holds" "^forks ($((n - 1))|$((n - 2))|$n) EAGAIN"
	OPTIONS="--pids $n" probe threadbomb
	says "R02 --pids $n holds for threads" "^threads ($((n - 1))|$((n - 2))|$n) EAGAIN"
done
runner forkbomb
says "R01 a snippet has no child" '^forks 0 E(PERM|NOSYS)'
# With room for the stacks of all of them: memory that ends while a thread starts leaves Python waiting for that thread.
aj exec --json --memory 2G --layer off -c 'import threading, time
while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()'
check "R02 threads of a snippet" expect 'status~^(error|limit)$' 'error.message~thread' # limit, where a cgroup counts them
# Two jails count apart, and the user behind them can still start processes.
timeout 60 "$AJ" run --timeout 20s --pids 16 --bind "$PROBE:/opt/probe" -- /opt/probe forkbomb stay >"$T/one" 2>&1 &
one=$!
await grep -q forks "$T/one"
OPTIONS="--pids 16" probe forkbomb
says "R01 a second jail has its own count" '^forks 1[456] EAGAIN'
check "R01 the host can still fork" sh -c 'true & true & true & wait'
kill $one
wait $one 2>/dev/null
check "R01 and it all ends" gone

# --- R03, R05, R28: memory ---
json "R03 a snippet at its limit" 137 status=oom 'limits_hit=["memory"]' 'peak_memory_bytes<160000000' -- exec --memory 128M -c 'b = []
while True: b.append(bytearray(1 << 20))'
json "R03 control: half of it fits" 0 status=ok value=64 -- exec --memory 128M -c 'b = bytearray(64 << 20)
len(b) >> 20'
json "R03 MemoryError alone is no oom" 1 status=error error.type=MemoryError -- exec -c 'raise MemoryError("mine")'
OPTIONS="--memory 64M" probe memhog 2000
says "R03 a command at its limit" '^memory (5|6)[0-9] ENOMEM|oom: memory limit of 67108864 bytes reached: the kernel'
OPTIONS="--memory 256M" probe memhog 64
says "control: below it" '^memory 64 OK'
runner memfd
says "R05 no memory beside the limits in a snippet" '^memfd E(PERM|NOSYS)'
probe memfd
says "R28 no pinned memory" '^mlock E(NOMEM|PERM)'
says "R28 no secret memory" '^memfd_secret E(NOSYS|PERM)'

# --- R05, R09, R10, R29: files ---
runner fill /tmp/a
says "R05 a file of a snippet is bounded" '^fill 6[67][0-9]{6} E(FBIG|NOSPC)'
json "R05 and /tmp as a whole" 122 status=limit 'limits_hit=["disk"]' 'error.type=OSError' 'error.message~No space|No Space|\[Errno 28\]' -- exec --layer off -c 'for i in range(20):
    open("/tmp/%d" % i, "wb").write(bytes(10 << 20))'
runner inodes /tmp
says "R09 files of a snippet are counted" '^inodes [0-9]{4} ENOSPC'
runner openmax
says "R10 open files of a snippet" '^open (5|6)[0-9] EMFILE'
json "R10 and an exception without a free one has one verdict" 1 status=error error.type=ZeroDivisionError 'error.message~division by zero' -- exec --layer off -c 'import os
try:
    while True: os.dup(0)
except OSError: pass
1/0'
probe openmax
says "R10 open files of a command" '^open 7[56][0-9] EMFILE'
probe inotify
if grep -qE '^inotify [0-9]{1,3} EMFILE' "$T/out"; then ok "R29 inotify instances"; else skip "R29 inotify instances" "this host does not let them be lowered: $(cat "$T/out")"; fi
runner inotify
says "R29 none in a snippet" '^inotify 0 E(PERM|NOSYS)'
probe rlimits
for line in 'core 1$' 'nice 0$' 'rtprio 0$' 'memlock 65536$' 'nofile 768$'; do says "rlimit $line" "^$line"; done

# --- output ---
json "1 GB of output of a snippet" 122 status=limit 'limits_hit=["output"]' 'stdout~^x' truncated.stdout=true 'truncated.total_bytes~^(6[7-9]|7[0-9])[0-9]{6}$' -- exec -c 'while True: print("x" * 1000000)'
json "both streams count together" 122 status=limit -- exec --layer off -c 'import os
while True: os.write(1, b"o" * 65536); os.write(2, b"e" * 65536)'
json "head and tail are kept" 0 'stdout~^first(?s:.*)bytes omitted(?s:.*)last\n$' truncated.stdout=true -- exec -c 'print("first")
print("x" * 1000000)
print("last")'
check "and no more than that" test "$(wc -c <"$T/out")" -lt 80000

# --- R26, R39, R40: ends ---
json "R26 abort leaves no core" 134 status=signal signal=6 -- run --bind "$PROBE:/opt/probe" -- /opt/probe die 6
check "R26 nowhere" sh -c "! ls core* '$T'/core* '$T'/tmp/core* 2>/dev/null"
race=0
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	aj exec --json --timeout 60ms -c "import time
time.sleep(0.0$((30 + n)))"
	case $(field status)/$rc in ok/0 | timeout/124) race=$((race + 1)) ;; *) fail "R39 a race" "$(shown)" ;; esac
done
is "R39 end and timeout at once: one true status" 12 $race
for code in 122 123 124 125 126 127 137; do
	json "R40 an exit code of $code is an error" 1 status=error exit_code=$code 'limits_hit=[]' -- exec --layer off -c "import os; os._exit($code)"
done

# --- R32: odd names in /tmp are no trouble ---
json "R32 names and modes that resist" 0 status=ok -- run -- sh -c 'cd /tmp && mkdir -p a/b && touch "$(printf "x\ny")" "$(printf "\377")" && chmod 0 a/b a'

finish
