#!/bin/sh
# Claude Code and codex, from npm, in jails under an allow-list; the tests are in agents.py and, of their screens, in screens.py. AGENTS names their folder node_modules.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver agents/agents
driver agents/screens
finish
