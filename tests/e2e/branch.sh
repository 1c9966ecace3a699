#!/bin/sh
# Branches of sessions: two that go on apart, checkpoints and going back, ends that are nobody else's, and what a hostile session makes of it.
# Each table is a script for build/branch: a step, and after ` => ` a pattern of what it must say.
. "$(dirname "$0")/../lib.sh"

BRANCH=$(dirname "$AJ")/branch
RAW=$(dirname "$AJ")/raw.so
cp -r "$ROOTFS" "$T/rootfs" && cp "$RAW" "$T"/rootfs/tree/usr/lib/python3.*/ && chmod -R a+rX "$T/rootfs"
cat >"$T/policy.toml" <<'EOS2'
extends = "snippet"
[python]
layer = false
imports = ["raw", "mmap", "threading", "os", "time", "random", "select", "asyncio", "uuid"]
[limits]
wall = "6s"
EOS2
chmod 644 "$T/policy.toml"

script() { # NAME: steps from stdin
	local name=$1 n=0 step want got
	cat >"$T/table"
	sed 's/ => .*//' "$T/table" >"$T/steps"
	timeout 100 "$BRANCH" "$T/policy.toml" "$T/rootfs" ${PLAIN:-} <"$T/steps" >"$T/out" 2>"$T/err"
	is "$name: exit" 0 $?
	grep ' => ' "$T/table" >"$T/wanted"
	while IFS= read -r step; do
		n=$((n + 1))
		want=${step#* => }
		got=$(sed -n "${n}p" "$T/out")
		if printf '%s\n' "$got" | grep -qE -e "$want"; then ok "$name: $n"; else fail "$name: ${step%% => *}" "\`$got\`, want \`$want\`"; fi
	done <"$T/wanted"
	is "$name: everything was said" "$((n + 1))" "$(wc -l <"$T/out")"
	check "$name: nothing is left" gone
}

# --- apart ---
script "two go on apart" <<'EOS2'
open A => opened
run A import os, random, uuid\nx = [1]\nopen('a', 'w').write('hello')\nf = open('a', 'r+'); f.read(2)\ng = open('gone', 'w+'); g.write('unnamed'); g.flush(); os.unlink('gone') => ok alive
run A r = random.random() => ok
fork A B => opened
run A x.append(2); print(x, f.read(), sorted(os.listdir('.')), os.getuid()); open('b', 'w').write('A'); f.seek(0); f.write('JJ'); f.flush(); g.write('A'); g.flush() => \|\[1, 2\] llo \['a'\] 1000
run B print(x, f.read(), sorted(os.listdir('.')), os.getcwd(), os.getuid(), open('/tmp/a').read()); g.seek(0); print(g.read()) => \|\[1\] llo \['a'\] /tmp 1000 hello unnamed 
run B open('c', 'w').write('B'); print(sorted(os.listdir('/tmp'))) => \['a', 'c'\]
run A print(sorted(os.listdir('/tmp')), open('a').read()) => \['a', 'b'\] JJllo
run B a = [0] * 10**6; print(len(a)) => 1000000
run A print('a' in globals()) => False
close A
run B print(x, sorted(os.listdir('/tmp'))) => \[1\] \['a', 'c'\]
fork B C => opened
run B os.kill(os.getpid(), 9) => signal ended.*SIGKILL
run C print(x, sorted(os.listdir('/tmp'))) => \[1\] \['a', 'c'\]
EOS2
cat >"$T/random" <<'EOS2'
open A
run A import random; random.seed(1); print(random.random())
fork A B
run A print(random.random())
run B print(random.random())
EOS2
"$BRANCH" "$T/policy.toml" "$T/rootfs" <"$T/random" >"$T/out"
is "random numbers go on in the original" 1 "$(sed -n 4p "$T/out" | grep -c '0\.84743373')"
is "random numbers are seeded anew in the branch" 1 "$(sed -n 5p "$T/out" | grep '0\.' | grep -vc '0\.84743373')"

# --- back ---
script "checkpoints" <<'EOS2'
open A => opened
run A import os; x = 1; open('f', 'w').write('1') => ok
checkpoint A => checkpoint 1$
run A x = 2; os.unlink('f'); open('g', 'w') => ok
rollback A 1 => rolled back$
run A print(x, os.listdir('.'), open('f').read()); x = 3 => \|1 \['f'\] 1
rollback A 1 => rolled back$
run A print(x) => \|1
run A while True: pass => timeout alive
run A import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass => timeout ended
rollback A 1 => rolled back$
run A print(x) => ok alive\|1
checkpoint A => checkpoint 2$
fork A B => opened
run B x = 5; print(x) => \|5
rollback B 2 => rolled back$
run B print(x) => \|1
close A
rollback B 1 => rolled back$
run B print(x) => \|1
forget B 1 => forgotten
rollback B 1 => error: checkpoint: there is no checkpoint 1
rollback B 9 => there is no checkpoint 9
run B os._exit(3) => error ended
checkpoint B => error: session: the session has ended
EOS2

# --- ends ---
script "one end is not the others'" <<'EOS2'
open A => opened
run A x = 1 => ok
fork A B => opened
fork B C => opened
run B import time\nwhile True:\n    try: time.sleep(9)\n    except BaseException: pass => timeout ended.*wall clock
run A print(x) => ok alive\|1
run C import os; os._exit(7) => error ended.*exit code 7
run A import os; os.write(3, b'nonsense') => protocol_error ended
open D => opened
at-once D D => opened, fork error: busy
EOS2

# --- what cannot be ---
{
	echo 'open A => opened'
	prev=A
	for i in $(seq 1 26); do echo "fork $prev D$i => opened\$" && prev=D$i; done
	echo "run D26 print(5) => |5"
	echo "fork D26 X => error: depth: .* (fix|hint|.*)"
} >"$T/deep"
script "no deeper than the kernel nests" <"$T/deep"
script "refusals" <<'EOS2'
open A => opened
run A import mmap; m = mmap.mmap(-1, 4096) => ok
fork A B => error: branch: memory is mapped as shared
run A m.close(); del m\nimport threading, time; t = threading.Thread(target=time.sleep, args=(0.1,)); t.start() => ok
fork A B2 => error: branch: threads are running
run A t.join() => ok
fork A B3 => opened$
EOS2
PLAIN=plain
script "not without being opened for it" <<'EOS2'
open A => opened
fork A B => error: branching: the session was not opened for branching
checkpoint A => not opened for branching
EOS2
PLAIN=

# --- hostile: numbers are clone (with a branch's flags, then as fork), fork, vfork, unshare, setns, capset, fchdir ---
calls="import os, raw; c = raw.call; print(c(56, 0x11228000), c(56, 17), c(57), c(58), c(272, 0x10000000), c(308, 0, 0), c(126, 0, 0), c(81, 0))"
seen='-1 -1 -1 -1 -1 -1 -1 -1.*"clone","count":2.*"fork","count":1.*"vfork","count":1.*"unshare","count":1.*"setns","count":1.*"capset","count":1.*"fchdir","count":1'
script "a session is refused what it always was" <<EOS2
open A => opened
run A $calls => $seen
fork A B => opened
run A $calls => $seen
run B $calls => $seen
EOS2
script "code that copies itself at the one moment" <<'EOS2'
open A => opened
fork A Z => opened
run A import os, raw, time; pids = []\ndef hook():\n    p = raw.call(56, 0x11228000); pids.append(p)\n    if p == 0:\n        open('/tmp/mine', 'w').write('x')\n        while True: pass\nos.register_at_fork(before=hook) => ok
fork A B => error: branch: .*(copy itself|never|not)
run A time.sleep(0.2); print(len(pids), pids[0] > 0, raw.call(62, pids[0], 0), raw.call(56, 0x11228000)) => \|1 True -3 -1
run Z print('there') => \|there
EOS2
script "hooks that never end" <<'EOS2'
open A => opened
run A import os\ndef hook():\n    os._exit(0)\nos.register_at_fork(after_in_child=hook) => ok
fork A B => error: branch
run A print(1) => ok alive\|1
open H => opened
run H import os\ndef hook():\n    while True: pass\nos.register_at_fork(before=hook) => ok
fork H I => error: branch: (it took too long|the original ended)
run H print(1) => ended
run A import os\ndef hook():\n    os.fchdir(0)\nos.register_at_fork(after_in_child=hook, before=hook) => ok
fork A C => error
run A print(1) => ok alive
EOS2
script "trees that somebody hostile made" <<'EOS2'
open A => opened
run A import os\nos.mkdir('d'); open(b'/tmp/\xff\xfe\x0a', 'w').write('odd'); open('/tmp/' + 'n' * 255, 'w')\nf = open('sparse', 'wb'); f.truncate(60 << 20); f.seek(1 << 20); f.write(b'x'); f.close()\nos.close(os.open('locked', os.O_CREAT | os.O_WRONLY, 0)); os.mkdir('closed', 0) => ok
fork A B => opened
run B st = os.stat('sparse'); print(len(os.listdir('.')), open(b'/tmp/\xff\xfe\x0a').read(), st.st_size, st.st_blocks < 100, os.stat('locked').st_mode & 0o777, os.stat('closed').st_mode & 0o777) => \|6 odd 62914560 True 0 0
run A d = '/tmp/d'\nfor i in range(63):\n    d += '/d'; os.mkdir(d) => ok
fork A C => opened
run A os.mkdir(d + '/d') => ok
fork A D => error: branch: copy folders in folders
run A print('alive') => ok alive\|alive
open F => opened
run F import os\nfor i in range(4000): open('/tmp/%d' % i, 'w').close() => ok
fork F G => opened
run G print(len(os.listdir('/tmp'))) => \|4000
open H => opened
run H import os\nf = open('/tmp/half', 'wb'); f.write(bytes(30 << 20)); f.close()\ntry:\n    f = open('/tmp/full', 'wb')\n    while True: f.write(bytes(1 << 20))\nexcept OSError: pass => ok
fork H I => opened
run I print(os.stat('/tmp/full').st_size + os.stat('/tmp/half').st_size > 62 << 20) => True
EOS2
script "open files" <<'EOS2'
open A => opened
run A import os, random, select\ne = select.epoll(); z = open(random.__file__, 'rb'); z.read(7); a = open('a', 'a'); a.write('x'); a.flush(); n = open('/dev/null', 'w'); d = os.open('/tmp', os.O_RDONLY) => ok
fork A B => opened
run B z.seek(99); a.write('y'); a.flush(); print(os.listdir(d), open('a').read(), n.write('z'))\ntry: e.poll(0)\nexcept OSError as x: print(x.errno) => \['a'\] xy 1 22|\['a'\] xy 1 9
run A print(z.tell(), open('a').read(), e.poll(0)) => \|7 x \[\]
run B print(z.tell()); os.close(d); z.close() => 99
EOS2

# --- the walls of a branch, as the kernel sees them ---
mkfifo "$T/in"
"$BRANCH" "$T/policy.toml" "$T/rootfs" <"$T/in" >"$T/walls" 2>&1 &
exec 7>"$T/in"
printf 'open A\nfork A B\npid A\npid B\n' >&7
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do ! grep -q 'pid B' "$T/walls" || break; sleep 0.1; done
a=$(sed -n 's/^pid A: //p' "$T/walls") b=$(sed -n 's/^pid B: //p' "$T/walls")
kept() { grep -E '^(Uid|Gid|PPid|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp|Seccomp_filters|Threads|SigBlk|SigIgn|SigCgt)' "/proc/$1/status"; }
is "status is the original's" "$(kept "$a")" "$(kept "$b")"
is "no capability" 0000000000000000 "$(sed -n 's/^CapEff:.//p' "/proc/$b/status")"
for ns in pid net ipc uts cgroup; do is "the same $ns namespace" "$(readlink "/proc/$a/ns/$ns")" "$(readlink "/proc/$b/ns/$ns")"; done
for ns in user mnt; do check "another $ns namespace" test "$(readlink "/proc/$a/ns/$ns")" != "$(readlink "/proc/$b/ns/$ns")"; done
is "the same id map" "$(awk '{print $1, $3}' "/proc/$a/uid_map")" "$(awk '{print $1, $3}' "/proc/$b/uid_map")"
is "the same limits" "$(cat "/proc/$a/limits")" "$(cat "/proc/$b/limits")"
mounts_of() { awk '{print $5, $6, $9}' "/proc/$1/mountinfo" | sed 's/ - / /'; }
is "one mount more, and no other" "$(mounts_of "$b")" "$(mounts_of "$a"; mounts_of "$a" | tail -1)"
is "the same descriptors" "$(ls "/proc/$a/fd")" "$(ls "/proc/$b/fd")"
is "channels of its own" 0 "$(for fd in 1 2 3; do [ "$(readlink "/proc/$a/fd/$fd")" != "$(readlink "/proc/$b/fd/$fd")" ] || echo same; done | wc -l)"
is "a working directory of its own" /tmp "$(readlink "/proc/$b/cwd")"
exec 7>&-
wait
check "nothing is left" gone

finish
