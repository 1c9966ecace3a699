#!/bin/sh
# The cgroups of a zygote and its jails: who is in which, what their limits are, and that nothing is left of them, however they end (nursery.py).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../delegated.sh"

fresh house
mkdir "$T/bin"
printf '#!/bin/sh\necho 0 >%s/cgroup.procs && exec %s/sessions "$@"\n' "$CG/house" "$(dirname "$AJ")" >"$T/bin/sessions"
chmod 755 "$T/bin/sessions"
export AGENTJAIL_ROOTFS="$ROOTFS"
counted "it" "$PY" -I -S -B "$tests/cgroup/nursery.py" "$T/bin" "$self" "$CG/house" "$AJ"
finish
