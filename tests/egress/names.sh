#!/bin/sh
# Attacks by names and addresses on a network by allow-list, with real servers; the tests are in names.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/names
finish
