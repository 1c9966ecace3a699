#!/bin/sh
# The Python client (src/sdk/python): what needs no service, what a service answers, how both end, and whether anything is left behind.
# The tests are in test_*.py; this runs them. Types and style are checked by `make check-sdk` alone.
. "$(dirname "$0")/../lib.sh"

# Packages whose values the client knows; without them their tests are skipped. No user id changes these tests.
packages=$tests/../build/venv/sdk/bin/python
[ -n "$ROOT_TOO" ] || [ ! -x "$packages" ] || PY=$packages
export AGENTJAIL="$AJ" AGENTJAIL_ROOTFS="$ROOTFS"
# What -X dev shows, without its allocator: the client is Python alone, and the allocator costs a tenth of all.
counted sdk env TMPDIR="$T" PYTHONASYNCIODEBUG=1 "$PY" -s -B -W default -X faulthandler "$tests/sdk/run.py" ${ONLY_TEST:-}
check "sdk: nothing is left of it" gone
is "sdk: no file is left" "" "$(find "$T" -name 'agentjail-*')"
finish
