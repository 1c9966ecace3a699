#!/bin/sh
# Measures agentjail beside the executors that it replaces, with their packages from PyPI in a virtual environment below build.
# It installs nothing elsewhere; docs/internals/performance.md and docs/internals/executors.svg are rewritten. Usage: run.sh [ROUNDS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
venv=$top/build/venv/executors
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt"
	cp "$here/requirements.txt" "$venv/"
fi
export PYTHONPATH="$top/src/sdk/python:$top/tests" PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" "$here/bench.py" "$top/docs" "$top/build/executors.json" "$@"
