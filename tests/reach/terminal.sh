#!/bin/sh
# The caller's terminal: what a command can do to it while it has it, and that it comes back as it was. The checks are terminal.py's.
. "$(dirname "$0")/../lib.sh"

timeout -k 5 280 "$PY" -I -S -B "$(dirname "$0")/terminal.py" "$AJ" >"$T/lines" 2>"$T/err"
while read -r verdict name; do
	case $verdict in
	ok) ok "$name" ;;
	*) fail "$name" ;;
	esac
done <"$T/lines"
is "terminal-stopped: nothing went wrong in the test itself" "" "$(head -c 800 "$T/err")"
finish
