#!/bin/sh
# What a result says of each wall, tried in a jail of the same options (enforced.py).
. "$(dirname "$0")/../lib.sh"
driver e2e/enforced
finish
