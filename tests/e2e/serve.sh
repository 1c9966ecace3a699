#!/bin/sh
# The service, over its socket: requests good and bad, limits, policies that change, its end, systemd's ways, numbers.
# The tests are in serve.py and serve_life.py; this runs them, and looks whether anything is left behind.
. "$(dirname "$0")/../lib.sh"

# What is asked and what is answered is the same for every user; how a service begins and ends is not.
[ -n "$ROOT_TOO" ] || driver e2e/serve
driver e2e/serve_life
is "no socket is left" "" "$(find "$T" -type s)"
finish
