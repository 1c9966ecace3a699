#!/bin/sh
# Claude Code and codex, from npm, in jails under an allow-list; the tests are in agents.py. AGENTS names their folder node_modules.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver agents/agents
finish
