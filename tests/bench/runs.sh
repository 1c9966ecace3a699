#!/bin/sh
# The runs from which docs/internals/performance.md is written: each is kept as JSON below build/bench/runs, and `page` writes their figures into the page.
# It changes docs/ only with `page`. Usage: runs.sh start|warm|sdk|scale|kinds|page [COUNT]   (1 run; `page` takes all that
# are there: delete the folder before the runs of another version)
set -eu
cd "$(dirname "$0")/../.."
runs=build/bench/runs
mkdir -p "$runs"
step=${1:-} count=${2:-1}
case $step in
start) set -- start sh tests/bench/bench.sh 48 ;; # from 50 on its flows take five times as long
warm) set -- warm sh tests/bench/warm.sh 120 ;;
sdk) set -- sdk python3 tests/bench/sdk.py 60 ;;
scale | kinds | page) ;;
*) echo "usage: runs.sh start|warm|sdk|scale|kinds|page [COUNT]" >&2; exit 2 ;;
esac
while [ "$count" -gt 0 ]; do
	case $step in
	page) exec python3 tests/bench/page.py docs/internals "$runs"/*.json ;;
	scale) FOLDER=$runs sh tests/bench/scale/run.sh ;;
	kinds) FOLDER=$runs sh tests/bench/scale/run.sh --kinds ;;
	*) python3 tests/bench/record.py "$runs" "$@" ;;
	esac
	count=$((count - 1))
done
