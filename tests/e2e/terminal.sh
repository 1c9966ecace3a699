#!/bin/sh
# A command at a terminal: what a person at a shell sees of it. The checks are terminal.py's, and screens.py compares screens with tmux.
. "$(dirname "$0")/../lib.sh"
# A sanitizer handles SIGSEGV by itself, and the launcher leaves a handler that it finds.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0"

for checks in terminal screens; do
	timeout -k 5 280 "$PY" -I -S -B "$(dirname "$0")/$checks.py" "$AJ" >"$T/lines" 2>"$T/err"
	while read -r verdict name; do
		case $verdict in
		ok) ok "$name" ;;
		skip) skip "${name%: *}" "${name##*: }" ;;
		*) fail "$name" ;;
		esac
	done <"$T/lines"
	is "$checks: nothing went wrong in the test itself" "" "$(head -c 800 "$T/err")"
done
finish
