#!/bin/sh
# A jail that lasts and lies on its control socket (channel.py).
. "$(dirname "$0")/../lib.sh"

counted channel "$PY" -I -S -B "$tests/escape/channel.py" "$(dirname "$AJ")" "$self/channel"
finish
