#!/bin/sh
# Measures agentjail beside its peers as they grow, with packages from PyPI in a virtual environment below build, and writes the run as JSON.
# It installs nothing elsewhere, and changes docs/ only with --write. Usage: run.sh [--quick] [--write | --kinds]
# --kinds: one snippet of each kind alone, which takes a minute and makes no plot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
venv=$top/build/venv/scale quick='' write='' kinds=''
for word; do
	case $word in
	--quick) quick=--quick ;;
	--write) write=yes ;;
	--kinds) kinds=--kinds ;;
	*) echo "usage: run.sh [--quick] [--write | --kinds]" >&2; exit 2 ;;
	esac
done
[ ! "$write" ] || [ ! "$kinds" ] || { echo "run.sh: --kinds makes no plot that --write could write" >&2; exit 2; }
if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
	rm -rf "$venv"
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt"
	cp "$here/requirements.txt" "$venv/"
fi
export PYTHONDONTWRITEBYTECODE=1 AGENTJAIL="${AGENTJAIL:-$top/build/agentjail}" AGENTJAIL_ROOTFS="${AGENTJAIL_ROOTFS:-$top/build/rootfs/default}"
folder=${FOLDER:-$top/build/bench} # of the run; draw.py writes docs/ from it later, too
mkdir -p "$folder" "$top/build/bench"
run=$("$venv/bin/python" "$here/measure.py" "$folder" $quick $kinds)
echo "$run"
[ ! "$kinds" ] || exit 0
docs=$top/docs/internals
if [ ! "$write" ]; then # the plots and the page as they would be
	docs=$top/build/bench
	cp "$top/docs/internals/performance.md" "$docs/"
fi
"$venv/bin/python" "$here/draw.py" "$run" "$docs"
echo "$docs/latency.svg $docs/throughput.svg"
