#!/bin/sh
# The internet that the tests of network.mode = "allow" have, without its wall; the tests are in controls.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/controls
finish
