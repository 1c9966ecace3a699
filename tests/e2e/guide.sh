#!/bin/sh
# The scenes of docs/guides/workspaces.md, with the commands as they stand there: guide.py reads them.
. "$(dirname "$0")/../lib.sh"

driver e2e/guide
finish
