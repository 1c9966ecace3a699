#!/bin/sh
# Every system call that the supervisor makes for a cgroup, failed in turn: an error with its step, or a fault without consequence, and
# never a jail that is said to be limited and is not. The rest of the launcher's calls are fault/run.sh's, which needs no cgroup.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"
INJECT=$(dirname "$AJ")/inject
if [ ! -x "$INJECT" ] || { "$INJECT" >/dev/null 2>&1; [ $? = 77 ]; }; then
	skip "everything" "there is no injector here"
	finish
fi
fresh f
"$PY" -I -S -B "$tests/fault/faults.py" "$INJECT" "$T/table" cgroup --role=supervisor -- \
	"$AJ" run --json --cgroup "$CG/f" --memory 64M --pids 16 --cpu-percent 50 --bind "$PROBE:/opt/probe" -- /opt/probe walls >"$T/faults" 2>&1
grep -a '^  FAIL' "$T/faults" | cut -c1-600
set -- $(tail -n 1 "$T/faults" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p')
if [ $# = 3 ]; then
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
else
	fail "the driver came to its end" "$(tail -c 1500 "$T/faults")"
fi
"$AJ" run --cgroup "$CG/f" -- true # sweeps
is "no leaf is left" "" "$(leaves "$CG/f")"
finish
