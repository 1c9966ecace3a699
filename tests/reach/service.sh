#!/bin/sh
# What jails and clients can take of the service: its thread, its connections, its memory. The tests are in service.py, which this runs as
# e2e/serve.sh runs others: a line for each.
. "$(dirname "$0")/../lib.sh"

EXAMPLES=$tests/../docs/examples
[ -e "$EXAMPLES/client.py" ] || EXAMPLES=$tests/examples

mkdir -m 755 "$T/service"
timeout -k 5 300 "$PY" -B -I -S "$tests/reach/service.py" "$AJ" "$T/service" "$EXAMPLES" >"$T/lines" 2>"$T/err"
is "service: the script ran to its end" "0 " "$? $(tail -c 500 "$T/err")"
while read -r kind rest; do
	case $kind in
	ok) ok "$rest" ;;
	SKIP) skip "${rest%%: *}" "${rest#*: }" ;;
	*) fail "$rest" "$(tail -c 300 "$T/err")" ;;
	esac
done <"$T/lines"
check "service: there were tests" test "$(grep -c ^ok "$T/lines")" -gt 6
check "service: nothing is left of it" gone
finish
