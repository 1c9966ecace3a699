#!/bin/sh
# What becomes of a run's changes at its end, at a terminal: the checks are at_end.py's.
. "$(dirname "$0")/../lib.sh"

mkdir -m 755 "$T/at_end"
timeout -k 5 280 "$PY" -I -S -B "$(dirname "$0")/at_end.py" "$AJ" "$T/at_end" >"$T/lines" 2>"$T/err"
while read -r verdict name; do
	case $verdict in
	ok) ok "$name" ;;
	*) fail "$name" ;;
	esac
done <"$T/lines"
is "nothing went wrong in the test itself" "" "$(head -c 800 "$T/err")"
check "all of it was run" grep -q 'a writable workspace: without a question' "$T/lines"
finish
