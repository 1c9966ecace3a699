#!/bin/sh
# Coding agents from npm and PyPI in jails under an allow-list; the tests are in agents.py and, of two screens, in screens.py.
# AGENTS names the folder that holds node_modules and site.
. "$(dirname "$0")/../lib.sh"
. "$tests/egress/needs"
driver agents/agents
driver agents/screens
finish
