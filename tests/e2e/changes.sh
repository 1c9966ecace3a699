#!/bin/sh
# `agentjail changes` over real overlays: the tests are in changes.py; kills at random instants are in ../fault/applies.sh.
. "$(dirname "$0")/../lib.sh"

driver e2e/changes
finish
