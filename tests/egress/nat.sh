#!/bin/sh
# The same network where the kernel has no nft_tproxy: connections are led by NAT. by_nat.py takes IP_TRANSPARENT away, so kernels with it run
# these, too.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
for program in agentjail relayed; do
	printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$PY" "$tests/egress/by_nat.py" "$(dirname "$AJ")/$program" >"$T/$program"
	chmod 755 "$T/$program"
done
whole=$AJ AJ=$T/agentjail
"$AJ" doctor >"$T/doctor" 2>&1
check "doctor names the way" grep -q 'network by list *works, by NAT' "$T/doctor"
driver egress/connections
as_root=''
[ "$(id -u)" = 0 ] || as_root='--user --map-root-user'
# shellcheck disable=SC2086
counted relay unshare $as_root --net --mount "$PY" -s -B "$tests/egress/relay.py" "$T/relayed" "$T"
AJ=$whole
finish
