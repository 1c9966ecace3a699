#!/bin/sh
# Runs folders of test scripts inside the test machine, with limits of time that suit its slowness.
# It leaves nothing out by itself: what is not to run there is not named by whoever starts it, see check.sh.
#
# Usage: suites.sh FOLDER|FOLDER/SCRIPT...    in /agentjail
LIMIT=300 PART_LIMIT=1500 PATIENCE=200 KILLS=60 KILL_WITHIN=0.3 NO_USER=1 JOBS=1 SUITES=$*
export JOBS LIMIT PART_LIMIT PATIENCE KILLS KILL_WITHIN NO_USER SUITES
exec sh tests/run.sh
