#!/bin/sh
# The scripts of limits by cgroup once more, with jails that are born from a zygote: born inside their leaf, or as root moved there.
# It tests nothing of its own; a driver whose `exec` is warm takes the program's place.
here=$(cd "$(dirname "$0")" && pwd)
: "${AGENTJAIL:=$here/../../build/agentjail}"
AGENTJAIL_COLD=$AGENTJAIL AGENTJAIL=$(dirname "$AGENTJAIL")/warm
export AGENTJAIL AGENTJAIL_COLD
[ -x "$AGENTJAIL" ] || { echo "  FAIL  cgroup/warm: $AGENTJAIL is missing"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
for script in memory counts; do sh "$here/$script.sh"; done >"$log" 2>&1
sed '/^[0-9]* passed, [0-9]* failed, [0-9]* skipped$/d' "$log"
awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { n++; p += $1; f += $3; s += $5 }
	END { f += 2 - n; printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 }' "$log"
