#!/bin/sh
# A service of several processes: where a tenant is served, connections that are passed on, the fall of one, the end of all.
# The tests are in shards.py; this runs them, and looks whether anything is left behind.
. "$(dirname "$0")/../lib.sh"

driver e2e/shards
is "no socket is left" "" "$(find "$T" -type s)"
finish
