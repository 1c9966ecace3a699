#!/bin/sh
# The pages with transcripts (README.md and two more), followed literally by an ordinary user in an empty folder: each command gives what is shown.
# It is no test of what the commands do beside that; commands that cannot be run here stand in readme.py, with the reason.
. "$(dirname "$0")/../lib.sh"
if [ "$(id -u)" = 0 ]; then
	skip "the README" "it is for ordinary users, and root's jails have another id: run.sh runs this as a user, too"
elif [ ! -e "$tests/../README.md" ] || ! command -v bash >/dev/null || ! command -v git >/dev/null; then
	skip "the README" "README.md, bash or git is not here"
else
	counted "the README" "$PY" -B "$tests/e2e/readme.py" "$AJ" "$tests/.."
fi
finish
