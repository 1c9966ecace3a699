#!/bin/sh
# Many pool hits and sessions in one supervisor, with kills at random instants, and nothing is left of them (warm.py).
# It does some hundreds; HITS=50000 SESSIONS=2000 for a soak, which says what there was before and after. SEED=N repeats the choices.
. "$(dirname "$0")/../lib.sh"

"$PY" -I -S -B "$(dirname "$0")/warm.py" "$(dirname "$AJ")" "$self" >"$T/log" 2>&1
grep -a '^  ' "$T/log"
set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$T/log")
if [ $# = 2 ]; then
	passed=$((passed + $1)) failed=$((failed + $2))
else
	fail "it came to its end" "$(tail -c 1500 "$T/log")"
fi
finish
