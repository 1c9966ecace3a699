#!/bin/sh
# Runs smolagents' own tests of its Python executor in jails, and compares what fails with differences.tsv and docs/internals/python.md.
# Its packages come from PyPI and its tree from the distribution, below build/smolagents; it installs nothing elsewhere.
# Usage: tests/smolagents/run.sh [PYTEST-ARGUMENT...]   (with arguments: only runs pytest; PYTHON= chooses the host's Python)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
out=$top/build/smolagents
python=${PYTHON:-python3}
mkdir -p "$out"
if ! cmp -s "$here/requirements.txt" "$out/site/requirements.txt"; then
	rm -rf "$out/site" "$out/source"
	"$python" -m pip install -q --disable-pip-version-check --target "$out/site" -r "$here/requirements.txt"
	"$python" -m pip download -q --disable-pip-version-check --no-deps --no-binary :all: -d "$out/source" "$(grep ^smolagents= "$here/requirements.txt")"
	tar -xf "$out"/source/smolagents-*.tar.gz -C "$out/source" --strip-components 1
	cp "$here/requirements.txt" "$out/site/"
fi
# The layer in the tree must be the present one.
if [ ! -e "$out/tree" ] || [ -n "$(find "$top/src/guest/layer" "$top/build/guest.so" -newer "$out/tree" -type f | head -1)" ]; then
	"$top/rootfs/build.sh" --out "$out/tree" --with numpy,pandas,scipy,sklearn --from packages --guest "$top/build/guest.so" --layer "$top/src/guest/layer" >"$out/tree.log" 2>&1 || {
		cat "$out/tree.log"
		exit 1
	}
	touch "$out/tree"
fi
export AGENTJAIL="${AGENTJAIL:-$top/build/agentjail}" AGENTJAIL_ROOTFS="$out/tree" PYTHONPATH="$out/site:$here" PYTHONDONTWRITEBYTECODE=1

run() {
	(cd "$out/source/tests" && TEXTS=$texts "$python" -s -m pytest -q --tb=line -p adapter -p no:cacheprovider --noconftest -c /dev/null \
		--rootdir . -r f test_local_python_executor.py "$@")
}

if [ $# -gt 0 ]; then
	texts=${TEXTS:-any}
	run "$@"
	exit
fi
for texts in any exact; do
	run >"$out/$texts.log" 2>&1 || true
	tail -1 "$out/$texts.log"
	sed -n 's/^FAILED [^:]*::\(.*\)/\1/p' "$out/$texts.log" | sed 's/ - .*//' | sort >"$out/$texts.failed"
done
# A test about the words of an error alone passes to the letter, one about values without the words.
comm -12 "$out/any.failed" "$out/exact.failed" >"$out/failed"
cut -f 2 "$here/differences.tsv" | sort >"$out/known"
passed=$(sed -n 's/.* \([0-9]*\) passed.*/\1/p;s/^\([0-9]*\) passed.*/\1/p' "$out/any.log" | tail -1)
differing=$(wc -l <"$out/failed")
total=$((passed + $(wc -l <"$out/any.failed")))
failed=0
diff "$out/known" "$out/failed" || failed=1
cut -f 1 "$here/differences.tsv" | sort | uniq -c | while read -r count why; do
	grep -qxF "| $why | $count |" "$top/docs/internals/python.md" || {
		echo "docs/internals/python.md lacks: | $why | $count |"
		exit 1
	}
done || failed=1
grep -qF "has $total tests" "$top/docs/internals/python.md" && grep -qF "**$((total - differing)) pass by value:**" "$top/docs/internals/python.md" || {
	echo "docs/internals/python.md does not say that $((total - differing)) of $total pass"
	failed=1
}
letter=$((total - $(wc -l <"$out/exact.failed")))
grep -qF "$letter pass to the letter" "$top/docs/internals/python.md" || {
	echo "docs/internals/python.md does not say that $letter pass to the letter"
	failed=1
}
# The layer's own tests of numpy's and pandas' values, which `make check` skips where the host's Python has neither.
LAYER_PATH="$out/site" PYTHON=$("$python" -c 'import sys; print(sys.executable)') "$top/tests/layer/run.sh" array >"$out/arrays.log" 2>&1 || {
	cat "$out/arrays.log"
	failed=1
}
tail -1 "$out/arrays.log"
echo "smolagents: $((total - differing)) of $total pass, $differing differ"
exit $failed
