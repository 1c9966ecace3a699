#!/bin/sh
# Ports of the host that lead to servers in a jail; in publish.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/publish
finish
