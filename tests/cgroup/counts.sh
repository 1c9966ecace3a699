#!/bin/sh
# Processes and CPU by cgroup: the count holds for threads and orphans too, and what was hit is attested by the kernel's events.
# Its times have wide margins: the machine may be slow, but not the accounting.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"
fresh p
P=$CG/p
bomb="--cgroup $P --bind $PROBE:/opt/probe"

# --- processes ---
# shellcheck disable=SC2086
{
	json "a fork bomb" 122 status=limit 'limits_hit=["pids"]' 'reason~process limit of 16|16 processes' 'enforced.pids=cgroup v2 pids.max' -- \
		run $bomb --pids 16 -- sh -c '/opt/probe forkbomb; exit 1'
	check "a fork bomb: no more than the limit" expect 'stdout~forks (1[0-6]|[0-9]) EAGAIN'
	json "a bomb of threads" 122 status=limit 'limits_hit=["pids"]' 'stdout~threads (1[0-6]|[0-9]) EAGAIN' -- run $bomb --pids 16 -- sh -c '/opt/probe threadbomb; exit 1'
	json "a bomb that stays" 124 status=timeout 'limits_hit~wall_clock' -- run $bomb --pids 16 --timeout 2s -- /opt/probe forkbomb stay
	check "a bomb that stays: nothing is left" gone
	json "a storm" 124 status=timeout -- run $bomb --pids 16 --timeout 2s -- /opt/probe forkstorm
	check "a storm: nothing is left" gone
	json "fewer than the limit" 0 status=ok 'limits_hit=[]' -- run $bomb --pids 16 -- sh -c 'sleep 1 & sleep 1 & sleep 1 & wait'
}
json "threads of a snippet" 122 status=limit 'limits_hit=["pids"]' -- exec --cgroup "$P" --pids 8 --layer off -c 'import threading, time
while True: threading.Thread(target=time.sleep, args=(99,), daemon=True).start()'
json "a snippet without threads" 0 status=ok 'limits_hit=[]' -- exec --cgroup "$P" --pids 1 -c 1
is "no cgroup is left" "" "$(leaves "$P")"

# --- CPU time: of all processes, waited for or not ---
# shellcheck disable=SC2086
json "an orphan that spins" 0 status=ok -- run $bomb -- sh -c '(setsid /opt/probe spin &) ; sleep 3'
between "its time is counted" 1000 60000 "$(number cpu_ms)"
# shellcheck disable=SC2086
json "a command that sleeps" 0 status=ok 'cpu_ms<2000' -- run $bomb -- sleep 3

# --- CPU bandwidth ---
if grep -qw cpu "$CG/cgroup.subtree_control"; then
	# shellcheck disable=SC2086
	json "a fifth of a CPU" 124 status=timeout 'enforced.cpu~cgroup v2 cpu.max' -- run $bomb --cpu-percent 20 --timeout 5s -- /opt/probe spin
	between "a fifth of a CPU: what it had" 500 1700 "$(number cpu_ms)"
	# shellcheck disable=SC2086
	json "several processes share it" 124 status=timeout -- run $bomb --cpu-percent 20 --timeout 5s -- sh -c '/opt/probe spin & /opt/probe spin & wait'
	between "several processes share it: what they had" 500 1700 "$(number cpu_ms)"
else
	skip "CPU bandwidth" "the cpu controller is not delegated here"
fi

finish
