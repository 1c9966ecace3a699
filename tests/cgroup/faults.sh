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
counted "the driver" "$PY" -I -S -B "$tests/fault/faults.py" "$INJECT" "$T/table" cgroup --role=supervisor -- \
	"$AJ" run --json --cgroup "$CG/f" --memory 64M --pids 16 --cpu-percent 50 --bind "$PROBE:/opt/probe" -- /opt/probe walls
"$AJ" run --cgroup "$CG/f" -- true # sweeps
is "no leaf is left" "" "$(leaves "$CG/f")"
finish
