#!/bin/sh
# An interrupt that comes together with its snippet, before the code has started: it is heeded, and the session lives.
# It looks at one session from outside; what interrupts do inside is tested in tests/layer.
. "$(dirname "$0")/../lib.sh"

# Until so many lines are there, or half a minute is over.
await() {
	for _ in $(seq 300); do
		[ "$(wc -l <"$T/said")" -lt "$1" ] || return 0
		sleep 0.1
	done
}

: >"$T/said"
{
	echo '{"do":"open","as":"a"}'
	await 1
	# In one write: the interrupt is read before the jail can have answered anything.
	printf '{"do":"run","as":"a","code":"while True: pass"}\n{"do":"interrupt","as":"a"}\n'
	await 2
	echo '{"do":"run","as":"a","code":"2+2"}'
	await 3
} | timeout 60 "$(dirname "$AJ")/sessions" snippet 0 >"$T/said" 2>"$T/err"

check "an interrupt before the code has started" grep -q '"status":"signal","reason":"the snippet was interrupted' "$T/said"
check "and the session lives" grep -q '"value":4' "$T/said"
finish
