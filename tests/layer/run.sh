#!/bin/sh
# Tests of the Python layer, run natively: no jail is needed, nothing is installed.
# Usage: tests/layer/run.sh [WORD | --groups | --group NAME]   (only cases whose name holds WORD; the groups of cases; one of them, or a file such as test_values. PYTHON= chooses the interpreter, LAYER_PATH= adds folders of packages)
here=$(cd "$(dirname "$0")" && pwd) || exit 1
exec "${PYTHON:-/usr/bin/python3}" -I -S -B "$here/run.py" "$@"
