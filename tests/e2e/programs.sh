#!/bin/sh
# Public sets of programs with their tests, as they are, under the default policy: each in a fresh jail of one service (programs.py).
. "$(dirname "$0")/../lib.sh"

driver e2e/programs "$tests/../build/cache/pypi"
finish
