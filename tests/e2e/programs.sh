#!/bin/sh
# Public sets of programs with their tests, as they are, under the default policy: each in a fresh jail of one service (programs.py).
. "$(dirname "$0")/../lib.sh"
[ -z "$ROOT_TOO" ] || finish # the rules for code are the same whoever runs it, and a copy has no downloads

driver e2e/programs "$tests/../build/cache/pypi"
finish
