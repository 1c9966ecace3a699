#!/bin/sh
# agentjail.ray on a cluster of real Ray processes on this machine: the tests of test_ray.py, or those whose names are given.
# What Ray says meanwhile, of nodes that the tests kill, is shown only when a test fails.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
export AGENTJAIL="${AGENTJAIL:-$top/build/agentjail}" AGENTJAIL_ROOTFS="${AGENTJAIL_ROOTFS:-$top/build/rootfs/default}"
export PYTHONPATH="$top/src/sdk/python:$top/tests" PYTHONDONTWRITEBYTECODE=1
RAY_TMPDIR=$(mktemp -d) # Ray leaves its logs and sockets
export RAY_TMPDIR
log=$RAY_TMPDIR/log
trap 'rm -rf "$RAY_TMPDIR"' EXIT
cd "$here"
if "$top/build/venv/ray/bin/python" -m unittest "${@:-test_ray}" >"$log" 2>&1; then
	echo "ray: $(grep '^Ran ' "$log"), all passed"
else
	cat "$log"
	exit 1
fi
