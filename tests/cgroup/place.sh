#!/bin/sh
# Where a jail's cgroup comes from, what is written there, and that the jail sees nothing of it.
# It looks at a run from outside while it runs; limits being hit are memory.sh's and counts.sh's.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"
both="enforced.memory=cgroup v2 memory.max"

# --- a given one ---
fresh given
G=$CG/given
json "--cgroup DIR, a snippet" 0 "$both" 'enforced.pids=cgroup v2 pids.max' -- exec --cgroup "$G" --memory 64M -c 1
json "--cgroup DIR, a command" 0 "$both" 'enforced.pids=cgroup v2 pids.max' -- run --cgroup "$G" --memory 64M --pids 10 -- true
json "--cgroup DIR, strict" 0 "$both" -- run --cgroup "$G" --limits strict --memory 64M -- true
mkfifo "$T/end"
timeout 120 "$AJ" run --cgroup "$G" --memory 64M --pids 10 -- sh -c 'echo up; read end' <>"$T/end" >"$T/up" 2>&1 &
one=$!
check "a run is up" await grep -q up "$T/up"
leaf=$(find "$G" -mindepth 1 -type d -name 'agentjail-[0-9]*')
for row in memory.max=67108864 memory.swap.max=0 memory.oom.group=1 pids.max=11; do
	[ ! -e "$leaf/${row%=*}" ] || is "its leaf: ${row%=*}" "${row#*=}" "$(cat "$leaf/${row%=*}")"
done
between "its processes are in it: init and sh" 2 2 "$(wc -l <"$leaf/cgroup.procs")"
supervisor=$(basename "$leaf" | cut -d- -f2)
check "the supervisor is alive" kill -0 "$supervisor"
check "the supervisor is not" sh -c "! grep -qx $supervisor '$leaf/cgroup.procs'"
echo end >"$T/end"
wait $one
is "the run ends" 0 $?
is "and its cgroup with it" "" "$(leaves "$G")"

# --- the one we are in ---
for command in "exec -c 1" "run -- true"; do
	fresh "own-${command%% *}"
	O=$CG/own-${command%% *}
	# shellcheck disable=SC2086
	WITHIN=$O json "alone in a delegated one: $command" 0 'enforced.pids=cgroup v2 pids.max' -- ${command%% *} --memory 64M --limits strict ${command#* }
	check "alone in a delegated one: $command: memory" expect "$both"
	is "no leaf is left: $command" "" "$(leaves "$O" | sed "$supervisors")"
done
# As in a scope that holds a shell: all its runs get their limits, one after the other.
fresh shell
cat >"$T/shell.sh" <<END
for i in 1 2 3; do "$AJ" run --json --limits strict --memory 64M -- true; done
END
timeout 120 sh -c "$enter" "$CG/shell" sh "$T/shell.sh" >"$T/runs" 2>&1
is "a shell in a delegated one" 3 "$(grep -c '"memory":"cgroup v2 memory.max"' "$T/runs")"
WITHIN=$CG/shell aj doctor
says "doctor says so" 'cgroup v2 +/sys/fs/cgroup|other processes are in'

# --- none ---
text "a folder that is no cgroup" 125 'not a cgroup' exec --cgroup "$T" -c 'print("RAN")'
silent "and nothing runs" '^RAN'
text "one that is not there" 125 'cgroup' exec --cgroup "$CG/missing" -c 'print("RAN")'
silent "and nothing runs there" '^RAN'
if [ "$(id -u)" != 0 ]; then
	text "one of somebody else" 125 'cgroup' exec --cgroup /sys/fs/cgroup -c 'print("RAN")'
	silent "and nothing runs in it" '^RAN'
	is "nor is anything made in it" "" "$(find /sys/fs/cgroup -maxdepth 1 -name 'agentjail-*')"
fi
# Limits that cannot be set: the parent has no more controllers to give.
mkdir "$CG/bare" "$CG/bare/inner"
text "strict without controllers" 125 'fix: ' run --cgroup "$CG/bare/inner" --limits strict --memory 64M -- echo RAN
silent "strict without controllers: nothing runs" '^RAN'

# --- inside ---
OPTIONS="--cgroup $G" probe cat /proc/self/cgroup
says "a jail is at the root of what it sees" '^0::/$'
is "and of nothing else" 1 "$(grep -c : "$T/out")"
OPTIONS="--cgroup $G" probe cat /proc/1/cgroup
silent "init is no window" 'test-|agentjail'
OPTIONS="--cgroup $G" probe ls /sys /sys/fs/cgroup
silent "no hierarchy is mounted" 'cgroup.procs'
OPTIONS="--cgroup $G" probe cat /proc/self/mountinfo
silent "none in the mounts" ' cgroup2? '
OPTIONS="--cgroup $G" probe open-write /sys/fs/cgroup/cgroup.procs "$G/cgroup.procs" "$G/memory.max"
silent "nothing of it can be written" ' OK'
json "a snippet sees none either" 0 'value=[]' -- exec --cgroup "$G" --layer off -c 'import os
[p for p in ("/sys", "/proc", "/sys/fs/cgroup") if os.path.exists(p)]'
# Control: outside it is all there.
bare cat /proc/self/cgroup
silent "control: outside we are somewhere" '^0::/$'
check "control: outside it can be written" test -w "$G/cgroup.procs"

finish
