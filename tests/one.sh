#!/bin/sh
# Builds and runs one test: a unit test, a script, a Python test, or the parts of tests/run.sh whose name holds WORD (`make test T=WORD`).
# Usage: MAKE=make B=build tests/one.sh WORD     and what tests/run.sh reads. A path such as tests/e2e/exec.sh is a WORD, too.
set -u
cd "$(dirname "$0")/.." || exit 1
word=${1#tests/}
word=${word%.*}
build() { "$MAKE" --no-print-directory "-j$(nproc)" "$@" || exit; }

# Python tests are parts of a script's run.
if [ -f "tests/$word.py" ]; then
	case $word in
	sdk/test_*)
		build test-programs build/venv/sdk/made
		ONLY_TEST=${word#sdk/} exec sh tests/sdk/run.sh
		;;
	layer/test_*)
		build rootfs
		exec sh tests/layer/run.sh --group "${word#layer/}"
		;;
	esac
	[ -f "tests/$word.sh" ] || word=$(grep -l "driver $word\b\|/${word##*/}\.py" "tests/${word%/*}"/*.sh | sed -n '1s|tests/\(.*\)\.sh|\1|p')
fi

units=$(for file in tests/unit/*/test_*.c; do echo "$file"; done | sed 's|^tests/||; s|\.c$||' | grep -F -e "$word")
parts=$(LIST=1 sh tests/run.sh | grep -F -e "$word")
if [ -z "$word$1" ] || [ -z "$units$parts" ]; then
	echo "make test: no test has \`$1\` in its name; near names:" >&2
	{ LIST=1 sh tests/run.sh; ls tests/unit/*/test_*.c tests/sdk/test_*.py tests/layer/test_*.py; } | python3 -c '
import difflib, sys
word, names = sys.argv[1], {line.strip().removeprefix("tests/").rsplit(".", 1)[0] for line in sys.stdin}
def likeness(name):
    return max(difflib.SequenceMatcher(None, word, part).ratio() for part in (name, name.split("/")[-1], name.split("/")[-1].removeprefix("test_")))
print(*("  " + name for name in sorted(names, key=lambda name: (-likeness(name), name))[:8]), sep="\n")' "${word##*/}" >&2
	exit 2
fi

# A unit test needs no jail, nor the programs of those that do.
if [ -z "$parts" ]; then
	# shellcheck disable=SC2046
	build $(echo "$units" | sed "s|^|$B/|")
	failed=0
	for unit in $units; do timeout -k 10 600 "$B/$unit" || failed=1; done
	exit $failed
fi
needs=test-programs
case $parts in *fuzz*) needs="$needs fuzzers" ;; esac
case $parts in *wheel*) needs="$needs wheel-file" ;; esac
case $parts in *sdk/*) needs="$needs build/venv/sdk/made" ;; esac
case $parts in *e2e/library*) needs="$needs strangers" ;; esac
# shellcheck disable=SC2046,SC2086
build $needs $(echo "$units" | sed "s|^unit|$B/unit|")
# shellcheck disable=SC2046
ONLY=$word exec sh tests/run.sh $(echo "$units" | sed "s|^unit|$B/unit|")
