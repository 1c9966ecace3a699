#!/bin/sh
# Several services behind the real HAProxy, as docs/guides/machines.md says; the tests are in haproxy.py.
. "$(dirname "$0")/../lib.sh"

if ! command -v haproxy >/dev/null 2>&1; then
	if [ "${AGENTJAIL_MUST_WORK:-0}" = 1 ]; then fail "HAProxy" "it is not installed"; else skip "everything" "HAProxy is not installed"; fi
	finish
fi
driver e2e/haproxy
finish
