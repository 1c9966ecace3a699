#!/bin/sh
# `agentjail changes fetch` of real git repositories, whole and hostile: the tests are in fetch.py.
. "$(dirname "$0")/../lib.sh"

command -v git > /dev/null || { skip "fetch: git is missing" && finish; }
driver e2e/fetch
finish
