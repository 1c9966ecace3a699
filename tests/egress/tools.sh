#!/bin/sh
# Package managers and programs with a network by allow-list; the tests are in tools.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/tools
finish
