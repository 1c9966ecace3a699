#!/bin/sh
# A network by allow-list from its caller's side: results, audit trail, what a person reads, sessions, and what is left; in run.py.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
export ROOTFS
driver egress/run
finish
