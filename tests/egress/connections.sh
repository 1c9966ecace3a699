#!/bin/sh
# Connections of a network by allow-list, with real servers; the tests are in connections.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/connections
finish
