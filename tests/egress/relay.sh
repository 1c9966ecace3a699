#!/bin/sh
# The relay alone, with real sockets: what it lets pass, its walls, its bounds, and what happens when others misbehave or die.
# The policy's hosts are addresses of the relay's own namespace, so the policy writes them out.
. "$(dirname "$0")/../lib.sh"
RELAYED=$(dirname "$AJ")/relayed
why=''
command -v ip >/dev/null 2>&1 || why='ip is not installed'
[ -n "$why" ] || unshare --user --map-root-user --net true 2>/dev/null || why='no network namespace can be made'
if [ -n "$why" ]; then
	if [ "${AGENTJAIL_MUST_WORK:-0}" = 1 ]; then fail 'the tools of these tests' "$why"; else skip 'everything' "$why"; fi
	finish
fi
as_root=''
[ "$(id -u)" = 0 ] || as_root='--user --map-root-user'
# shellcheck disable=SC2086
counted relay unshare $as_root --net --mount "$PY" -s -B "$tests/egress/relay.py" "$RELAYED" "$T"
finish
