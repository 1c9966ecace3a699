#!/bin/sh
# Attacks by TLS and HTTP on a network by allow-list, with real servers; the tests are in first_bytes.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver egress/first_bytes
finish
