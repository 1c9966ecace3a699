#!/bin/sh
# `agentjail changes apply`, killed at random instants (applies.py): a sample; KILLS=1000 sh tests/fault/applies.sh before a release.
. "$(dirname "$0")/../lib.sh"

driver fault/applies
finish
