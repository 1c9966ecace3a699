#!/bin/sh
# What `agentjail changes` does with the history of a repository, in scenes with the real git: the table is in history.py.
. "$(dirname "$0")/../lib.sh"

if command -v git >/dev/null; then
	driver e2e/history "$@"
else
	skip "scenes with git" "git is not installed"
fi
finish
