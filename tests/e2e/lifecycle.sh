#!/bin/sh
# Whether everything of a run ends when it should: with the command, the limit, the caller's signal, or the launcher's death.
# It measures no speed; every time here is an upper bound that says "it ended at all".
. "$(dirname "$0")/../lib.sh"

# --- what outlives its parent, ignores signals, stops itself or holds the output open: NAME|EXIT|STATUS|TIMEOUT|VERB ---
while IFS='|' read -r what want status limit verb; do
	# shellcheck disable=SC2086
	json "$what" "$want" "status=$status" 'wall_ms<60000' -- run --timeout "$limit" --bind "$PROBE:/opt/probe" -- /opt/probe $verb
	check "$what: nothing is left" gone
done <<'TABLE'
a daemon that holds the output open|0|ok|30s|daemon 600
a process that ignores every signal|124|timeout|500ms|stubborn 600
a process group that stops itself|124|timeout|500ms|stopself
a spinning process|124|timeout|300ms|spin
a sleeping process|124|timeout|500ms|sleep 600
a fork bomb|124|timeout|400ms|forkbomb stay
a fork storm|124|timeout|400ms|forkstorm
TABLE
aj run -- sh -c 'sleep 987 & sleep 988 & echo done'
is "background jobs do not delay the end" "0 done" "$rc $(cat "$T/out")"
check "background jobs are gone" gone
# The same without the launcher collecting the output: nobody may keep the caller's pipe open.
"$PY" -I -S - "$AJ" "$PROBE" <<'EOS' >"$T/out" 2>&1
import subprocess, sys
p = subprocess.run([sys.argv[1], "run", "--bind", sys.argv[2] + ":/opt/probe", "--", "/opt/probe", "daemon", "600"], stdout=subprocess.PIPE, timeout=60)
print(p.returncode, p.stdout.decode().strip())
EOS
is "the caller's pipe is closed with the run" "0 started" "$(cat "$T/out")"

# --- a snippet that does not want to end ---
while IFS='|' read -r what want status code; do
	# The answer of one that gives it ends the run, however late a busy machine lets it come.
	json "$what" "$want" "status=$status" 'wall_ms<60000' -- exec --timeout "$([ "$status" = ok ] && echo 60s || echo 300ms)" --layer off -c "$(printf '%b' "$code")"
	check "$what: nothing is left" gone
done <<'TABLE'
a loop|124|timeout|while True: pass
a loop that swallows every exception|124|timeout|while True:\n    try:\n        while True: pass\n    except BaseException: pass
one C call that never returns|124|timeout|sum(range(10 ** 12))
a number that takes for ever|124|timeout|x = 10 ** 10 ** 9
ignored signals|124|timeout|import signal, time\nfor s in (1, 2, 14, 15): signal.signal(s, signal.SIG_IGN)\ntime.sleep(999)
a stop of itself|124|timeout|import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)
a stop of its group|124|timeout|import os, signal\nos.kill(0, signal.SIGSTOP)
a repr that never ends|124|timeout|class R:\n    def __repr__(s):\n        while True: pass\nR()
a thread after the answer|0|ok|import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\n5
an endless thread|0|ok|import threading\ndef f():\n    while True: pass\nthreading.Thread(target=f).start()\n5
an atexit handler that stays|0|ok|import atexit, time\natexit.register(time.sleep, 99)\n5
TABLE

printf 'print("up", flush=True)\nwhile True: pass\n' >"$T/loop.py"
# --- Ctrl-C and kill: SIGNAL EXIT COMMAND ---
while IFS='|' read -r signal want arguments; do
	# shellcheck disable=SC2086
	rm -f "$T/out"
	env --default-signal=INT,QUIT "$AJ" $arguments >"$T/out" 2>"$T/err" &
	pid=$!
	await test -s "$T/out"
	kill "-$signal" $pid
	wait $pid 2>/dev/null
	is "SIG$signal ends \`$arguments\`" "$want" $?
	check "SIG$signal: nothing is left of it" gone
done <<TABLE
INT|130|exec --timeout 60s $T/loop.py
TERM|143|exec --timeout 60s $T/loop.py
HUP|129|exec --timeout 60s $T/loop.py
KILL|137|exec --timeout 60s $T/loop.py
KILL|137|run --bind $PROBE:/opt/probe -- /opt/probe stubborn
TABLE

# --- kill -9 of the launcher, at any instant of its life ---
"$PY" -I -S - "$AJ" "$PROBE" "${KILLS:-80}" "${KILL_WITHIN:-0.025}" <<'EOS' >"$T/kills" 2>&1
import glob, os, random, signal, subprocess, sys, time
aj, probe, rounds, within = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
session = os.getsid(0)
def jailed():
    found = []
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path) as f:
                s = dict(line.split(":", 1) for line in f if ":" in line)
        except OSError:
            continue
        if len(s.get("NSpid", "").split()) > 1 and s["State"].split()[0] not in "ZX" and int(s["NSsid"].split()[0]) == session:
            found.append(int(s["Pid"]))
    return found
commands = [
    ["run", "--bind", probe + ":/opt/probe", "--", "/opt/probe", "daemon", "600"],
    ["run", "--bind", probe + ":/opt/probe", "--", "/opt/probe", "stubborn", "600"],
    ["run", "--bind", probe + ":/opt/probe", "--pids", "20", "--", "/opt/probe", "forkbomb", "stay"],
    ["exec", "-c", "while True: pass"],
    ["exec", "--json", "--layer", "off", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"],
]
caught = survivors = 0
n = 0
while n < rounds or (caught <= rounds / 4 and n < 5 * rounds):
    p = subprocess.Popen([aj] + commands[n % len(commands)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.random() * within)
    alive = bool(jailed())
    caught += alive
    if not alive and caught < n / 3:
        within = min(within * 1.2, 3)  # the machine is slow, or busy
    p.kill()
    p.wait()
    until = time.monotonic() + 60
    while (left := jailed()) and time.monotonic() < until:
        time.sleep(0.005)
    if left:
        survivors += 1
        print("round %d (%s): %s" % (n, commands[n % len(commands)], [open("/proc/%d/cmdline" % p).read() for p in left]))
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    n += 1
print("killed %d times or more, jails caught alive: %s, survivors: %d" % (rounds, "many" if caught > rounds / 4 else caught, survivors))
EOS
is "kill -9 of the launcher" "killed ${KILLS:-80} times or more, jails caught alive: many, survivors: 0" "$(tail -n 3 "$T/kills")"
check "no mount or process is left of that" gone

# --- many at once ---
count=0
for n in $(seq 50); do
	if [ $((n % 2)) = 0 ]; then timeout "${LIMIT:-60}" "$AJ" exec -c "$n * 2" >"$T/many.$n" 2>&1 & else timeout "${LIMIT:-60}" "$AJ" run -- echo $((n * 2)) >"$T/many.$n" 2>&1 & fi
done
wait
for n in $(seq 50); do [ "$(cat "$T/many.$n")" != $((n * 2)) ] || count=$((count + 1)); done
is "50 runs at once all answer" 50 $count

# --- callers that leave a mess to inherit ---
"$PROBE" spoil "$PROBE" fds >"$T/out"
check "control: the mess is inherited" sh -c "test \$(wc -l <'$T/out') -gt 1000"
timeout 60 "$PROBE" spoil "$AJ" run --bind "$PROBE:/opt/probe" -- /opt/probe fds >"$T/out" 2>&1
is "no fd leaks into a command" "0 1 2" "$(awk '{print $2}' "$T/out" | tr '\n' ' ' | sed 's/ $//')"
runner_rootfs
timeout 60 "$PROBE" spoil "$AJ" exec --rootfs "$T/runner" -c fds >"$T/out" 2>&1
is "no fd leaks into a snippet" "0 device;1 pipe;2 pipe;3 socket;" "$(sed 's/^fd //' "$T/out" | tr '\n' ';')"
for command in "run --bind $PROBE:/opt/probe -- /opt/probe signals" "exec --rootfs $T/runner -c signals"; do
	# shellcheck disable=SC2086
	timeout 60 "$PROBE" spoil "$AJ" $command >"$T/out" 2>&1
	is "blocked and ignored signals do not leak in: ${command%% *}" "blocked: ignored: " "$(tr '\n' ' ' <"$T/out")"
done
timeout 60 "$PROBE" spoil "$AJ" run -- sh -c 'umask; echo x >/tmp/f; stat -c %a /tmp/f' >"$T/out" 2>&1
is "the caller's umask does not reach in" "0022 644" "$(tr '\n' ' ' <"$T/out" | sed 's/ $//')"
timeout 60 "$PROBE" spoil "$AJ" exec -c '6 * 7' >"$T/out" 2>&1
is "and a snippet still works" 42 "$(cat "$T/out")"

# --- missing and broken standard streams ---
timeout 60 "$AJ" run -- sh -c 'exit 3' <&- >&- 2>&-
is "run without standard streams" 3 $?
timeout 60 "$AJ" exec -c 'pass' <&- >&- 2>&-
is "exec without standard streams" 0 $?
for arguments in "exec -c 1" "exec --json -c 1" "exec --json -c pass" "run --json -- true" "--version"; do
	# shellcheck disable=SC2086
	timeout 60 "$AJ" $arguments >&- 2>"$T/err"
	is "closed standard output: $arguments is no success" 125 $?
done
timeout 60 "$AJ" run -- sh -c 'cat; ls -l /proc/self/fd/0' <&- >"$T/out" 2>&1
says "a missing stdin is empty, not something else" '/dev/null'
for arguments in "exec -c 2+2" "exec --json -c 2+2" "exec -c print(1)" "exec --dry-run -c 1" "run --json -- true" "--help" "exec --help" "rootfs verify $ROOTFS"; do
	# shellcheck disable=SC2086
	timeout 60 "$AJ" $arguments >/dev/full 2>"$T/err"
	check "a full disk is no success: $arguments" test $? != 0
	: >"$T/out"
	says "and it is said: $arguments" 'agentjail: |No space'
done
# A reader that leaves early must not turn into a hang.
timeout 60 sh -c "'$AJ' exec -c 'for i in range(300000): print(i)' | head -n 1" >"$T/out" 2>&1
is "a reader that leaves" 0 "$(head -n 1 "$T/out")"
check "a reader that leaves: nothing is left" gone
# Nor a reader that does not read.
"$PY" -I -S - "$AJ" <<'EOS' >"$T/out" 2>&1
import subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "exec", "--timeout", "1s", "-c", "while True: print('x' * 1000)"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
time.sleep(1.5)
until = time.monotonic() + 60
while (left := subprocess.run(["pgrep", "-s", "0", "-f", "usr/bin/python3$"], stdout=subprocess.PIPE).stdout) and time.monotonic() < until:
    time.sleep(0.05)
p.stdout.read()
print(p.wait(timeout=60) in (122, 124), left)
EOS
is "a reader that does not read" "True b''" "$(cat "$T/out")"

finish
