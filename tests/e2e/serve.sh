#!/bin/sh
# The service, over its socket: requests good and bad, limits, policies that change, its end, systemd's ways, numbers.
# The tests are in serve.py and serve_life.py; this runs them, counts their lines, and looks whether anything is left behind.
. "$(dirname "$0")/../lib.sh"

EXAMPLES=$tests/../docs/examples
[ -e "$EXAMPLES/client.py" ] || EXAMPLES=$tests/examples

lines() { # SCRIPT
	local kind rest
	mkdir -m 755 "$T/$1"
	timeout -k 5 400 "$PY" -B -I -S "$tests/e2e/$1.py" "$AJ" "$T/$1" "$EXAMPLES" >"$T/lines" 2>"$T/err"
	is "$1: the script ran to its end" "0 " "$? $(tail -c 500 "$T/err")"
	while read -r kind rest; do
		case $kind in
		ok) ok "$rest" ;;
		SKIP) skip "${rest%%: *}" "${rest#*: }" ;;
		*) fail "$rest" "$(tail -c 300 "$T/err")" ;;
		esac
	done <"$T/lines"
	check "$1: there were tests" test "$(grep -c ^ok "$T/lines")" -gt 20
	check "$1: nothing is left of it" gone
}

lines serve
lines serve_life
is "no socket is left" "" "$(find "$T" -type s)"
finish
