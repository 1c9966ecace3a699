#!/bin/sh
# A tree with numpy, pandas, matplotlib, PIL, scipy, sympy, sklearn and seaborn: what a data agent writes works in it, cold and warm.
# The tree is $TREE; `make check-trees` builds it. Nothing here measures time.
AGENTJAIL_ROOTFS=${TREE:?}
export AGENTJAIL_ROOTFS
. "$(dirname "$0")/../lib.sh"

check 'the tree is what its manifest says' "$AJ" rootfs verify "$ROOTFS"
driver trees/results "$ROOTFS"
driver trees/programs "$ROOTFS"
json 'text that libraries evaluate leads no further than code' 0 status=ok "stdout=$(printf 'refused\\n%.0s' $(seq 24))" -- \
	exec --json --policy data-analysis "$tests/trees/refusals.py"

finish
