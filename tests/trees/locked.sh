#!/bin/sh
# A tree is built again from its own lock, without a word of what it is made of, and every file of it is the same.
# Usage: locked.sh TREE; the guest and the layer are those of `make trees`.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(readlink -f "$1")
again=$(mktemp -d) || exit 1
trap 'rm -rf "$again"' EXIT
trap 'exit 130' INT TERM

if ! "$top/rootfs/build.sh" --locked "$tree/tree/usr/lib/agentjail/packages.lock" --out "$again/tree" \
	--guest "$top/build/guest.so" --layer "$top/src/guest/layer" >"$again/log" 2>&1; then
	why=$(tail -n 3 "$again/log")
elif ! why=$(diff "$tree/manifest" "$again/tree/manifest" | head -n 5) || [ -n "$why" ]; then
	: # $why says what differs
else
	echo '1 passed, 0 failed, 0 skipped'
	exit 0
fi
printf '  FAIL  trees/locked: a tree from its lock: %s\n0 passed, 1 failed, 0 skipped\n' "$why"
exit 1
