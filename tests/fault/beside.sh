#!/bin/sh
# Until init is in the jail's network namespace it is in the host's: killed at any of init's calls there, a supervisor leaves neither
# init nor the process that makes the namespace, also where these are stopped and run no instruction.
. "$(dirname "$0")/../lib.sh"
INJECT=$(dirname "$AJ")/inject
"$INJECT" >/dev/null 2>&1
if [ $? = 77 ]; then
	skip "everything" "the injector knows x86-64 only"
	finish
fi
case $AJ in
*-san/*)
	skip "everything" "sanitizers do not work under ptrace"
	finish
	;;
esac

nothing_left() { # ROLE:CALL:N
	"$INJECT" "$T/trace" 20 "$1:KILL" "$AJ" run -- "$PROBE" walls >"$T/out" 2>&1
	grep -q '^failed' "$T/trace" && ! grep -E '^(hang|left|began)' "$T/trace"
}
# From the step `tie_early` on: closing the parent's end, waiting for the id maps, and the steps until the namespace is entered.
for at in init:close:1 init:fcntl:1 init:recvmsg:1 init:personality:1 init:open_tree:1 init:umask:1 init:mount:1 init:fsopen:1 \
	init:move_mount:2 init:pivot_root:1 init:umount2:1 init:recvmsg:2 init:setns:1 network:setns:1 network:unshare:1 network:openat:1; do
	check "stopped at $at" nothing_left "$at"
done
finish
