#!/bin/sh
# Many runs in one delegated cgroup, and supervisors that die: every run has its own limits, and nothing is left behind.
# The runs start together on purpose; no order of their ends is expected.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"
N=20

tally() { # NAME: what must be true of $T/many.1 to $T/many.N
	is "$1: all finish" $N "$(cat "$T"/many.* | grep -c '"status":"ok"')"
	is "$1: all have a memory limit by cgroup" $N "$(cat "$T"/many.* | grep -c '"memory":"cgroup v2 memory.max"')"
	is "$1: all have a process limit by cgroup" $N "$(cat "$T"/many.* | grep -c '"pids":"cgroup v2 pids.max"')"
	is "$1: nobody says otherwise" "" "$(cat "$T"/many.* | grep -v '^{' | head -n 3)"
	rm -f "$T"/many.*
}
verb() { # NUMBER: half of them snippets
	if [ $(($1 % 2)) = 0 ]; then echo "exec --json --timeout 280s --memory 64M -c $1"; else echo "run --json --memory 64M -- echo $1"; fi
}

# --- into a given one ---
fresh given
for n in $(seq $N); do
	# shellcheck disable=SC2046
	timeout 300 "$AJ" $(verb "$n" | sed "s|--json|--json --cgroup $CG/given|") >"$T/many.$n" 2>&1 &
done
wait
tally "$N runs in a given cgroup"
is "no leaf is left of them" "" "$(leaves "$CG/given")"

# --- each in the one it finds itself in, all at the same instant ---
fresh own
echo 1 >"$CG/own/cgroup.freeze"
for n in $(seq $N); do
	# shellcheck disable=SC2046
	timeout 300 sh -c "$enter" "$CG/own" "$AJ" $(verb "$n") >"$T/many.$n" 2>&1 &
done
arrived() { [ "$(wc -l <"$CG/own/cgroup.procs")" = $N ]; }
check "they wait for each other" await arrived
echo 0 >"$CG/own/cgroup.freeze"
wait
tally "$N runs in their own cgroup"
is "no leaf is left of those" "" "$(leaves "$CG/own" | sed "$supervisors")"

# --- kill -9 of the supervisor ---
fresh killed
K=$CG/killed
empty() { ! grep -q . "$1/cgroup.procs"; }
for command in "run -- sh -c 'sleep 1000 & setsid sleep 1000 & echo up; sleep 1000'" "exec --timeout 900s -c 'print(\"up\", flush=True)
while True: pass'"; do
	word=${command%% *}
	rm -f "$T/up"
	mkfifo "$T/up"
	eval "exec '$AJ' $word --cgroup '$K' ${command#* }" >"$T/up" 2>&1 &
	supervisor=$!
	timeout 60 head -n 1 "$T/up" >"$T/out" || fail "$word: it came up" "$(shown)"
	leaf=$(find "$K" -mindepth 1 -type d -name "agentjail-$supervisor-*")
	check "$word: its leaf is there" test -d "$leaf"
	kill -KILL $supervisor
	wait $supervisor 2>/dev/null
	check "$word: nothing is alive soon" await empty "$leaf"
	check "$word: nor elsewhere" gone
	json "$word: the next run" 0 status=ok -- run --cgroup "$K" -- true
	check "$word: has swept the leaf" test ! -d "$leaf"
	is "$word: and left none" "" "$(leaves "$K")"
done
# The leaf that supervisors move to: empty, it is of no use to anybody.
fresh moved
WITHIN=$CG/moved json "a run that had to make room" 0 status=ok -- run --memory 64M -- true
json "the next one there" 0 status=ok -- run --cgroup "$CG/moved" --memory 64M -- true
is "leaves nothing of either" "" "$(leaves "$CG/moved")"
# A living run is not swept.
rm -f "$T/up"
mkfifo "$T/up" "$T/end"
"$AJ" run --cgroup "$K" -- sh -c 'echo up; read end; echo ended' <>"$T/end" >"$T/one" 2>&1 &
one=$!
check "a run is up" await grep -q up "$T/one"
json "another one beside it" 0 status=ok -- run --cgroup "$K" -- true
echo end >"$T/end"
wait $one
is "the first is not harmed" "0 ended" "$? $(tail -n 1 "$T/one")"

finish
