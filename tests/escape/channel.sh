#!/bin/sh
# A jail that lasts and lies on its control socket (channel.py).
. "$(dirname "$0")/../lib.sh"

driver escape/channel
finish
