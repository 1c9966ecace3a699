#!/bin/sh
# Attacks on a network by allow-list, with real servers; the tests are in attacks.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/attacks
finish
