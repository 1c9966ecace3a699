#!/bin/sh
# Attacks by TLS and HTTP on a network by allow-list, with real servers; the tests are in name_check.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/name_check
finish
