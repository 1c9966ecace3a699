#!/bin/sh
# Asks the kernel about every system call number, under both filters, without executing any: what is open is what the plan lists.
# It reads no filter and trusts no table; names come from the system's headers, numbers from the kernel's answers.
. "$(dirname "$0")/../lib.sh"
runner_rootfs

names() { # NUMBER... as names, sorted, one a line
	tr ' ' '\n' | awk -v file="$T/names" 'BEGIN { while ((getline line < file) > 0) { split(line, w, " "); name[w[1]] = w[2] } }
		NF { print ($1 in name) ? name[$1] : "nr" $1 }' | sort
}
planned() {
	sed -n '/^syscalls:/,$p' "$T/out" | sed -n 's/^  \([a-z0-9_]*\).*/\1/p' | sort -u
}
if ! call_numbers >"$T/names"; then
	skip "names of system calls" "no C compiler"
	finish
fi

timeout 60 "$PROBE" marked "$AJ" exec --rootfs "$T/runner" -c sweep >"$T/sweep" 2>&1
sed -n 's/^allowed: //p' "$T/sweep" | names >"$T/open"
aj exec --dry-run -c 1
planned >"$T/planned"
is "snippet: open is what the plan lists" "" "$(diff "$T/planned" "$T/open" | tr '\n' ' ')"
check "snippet: at most 60 calls" test "$(wc -l <"$T/open")" -le 60
check "snippet: and not nothing" test "$(wc -l <"$T/open")" -gt 30
for network in none loopback host; do
	timeout 60 "$PROBE" marked "$AJ" run --network $network --bind "$PROBE:/opt/probe" -- /opt/probe sweep >"$T/sweep" 2>&1
	sed -n 's/^allowed: //p' "$T/sweep" | names >"$T/open"
	aj run --network $network --dry-run -- true
	planned >"$T/planned"
	cp "$T/planned" "$T/planned.open"
	# Answered and not made, and held: the plan's last lists say so. A sweep's own listener leaves none for locks, so they are refused.
	for call in sync syncfs flock ptrace process_vm_readv process_vm_writev; do
		check "run, $network: $call is in a list of calls that are not made, held or denied" \
			awk -v call="$call" '/^(not made|reported|denied)/ { on = 1 } on && $1 == call { seen = 1 } END { exit !seen }' "$T/out"
		sed -i "/^$call\$/d" "$T/planned.open"
	done
	# Calls that exist on other architectures or in newer headers only have no number here.
	awk 'NR == FNR { known[$2]; next } $1 in known' "$T/names" "$T/planned.open" >"$T/known"
	sed -i '/^nr[0-9]*$/d' "$T/open"
	is "run, $network: open is what the plan lists" "" "$(diff "$T/known" "$T/open" | tr '\n' ' ')"
	says "run, $network: the count is right" "^syscalls: profile command, $(wc -l <"$T/planned") allowed"
done
timeout 60 "$PROBE" marked "$PROBE" sweep >"$T/sweep" 2>&1
check "control: without a jail every number is open" grep -q '^refused: 0$' "$T/sweep"

finish
