#!/bin/sh
# The TOML project's own test-suite against base/toml/toml: every valid text must be taken, every invalid one refused.
# It keeps no copy of the suite here: apt fetches the Go library that carries it into a cache, and without it this skips.
#
# Usage: tests/policy/toml-suite.sh TOML-CHECK-BINARY     V=1: print what passes, and why what is refused was refused.
#        TOML_SUITE=FOLDER: cases from there (`valid`, `invalid`, and perhaps `files-toml-1.0.0`). AGENTJAIL_CACHE=FOLDER.
set -u
check=${1:?usage: tests/policy/toml-suite.sh TOML-CHECK-BINARY}
check=$(readlink -f "$check")
package=golang-github-burntsushi-toml-dev
cache=${AGENTJAIL_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/agentjail}/toml-suite

# Cases that go the other way, with the reason. toml++ 3 reads TOML 1.0, and the older suite does not list what is newer.
exceptions='
valid/key/quoted-unicode            a key with U+0000, which we refuse: keys become C strings
valid/string/escape-esc             TOML 1.1
valid/string/hex-escape             TOML 1.1
valid/datetime/no-seconds           TOML 1.1
valid/inline-table/newline          TOML 1.1
valid/inline-table/newline-comment  TOML 1.1
'

work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM

skip() {
	printf '  SKIP  toml-suite: %s\n' "$1"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
}

# apt-get download needs no root. The package is unpacked next to its place and moved, so that a half one is never used.
fetch() {
	mkdir -p "$cache" 2>"$work/log" || return
	(cd "$work" && apt-get -qq download "$package" && dpkg-deb -x ./*.deb unpacked) >"$work/log" 2>&1 || return
	suite=$(find "$work/unpacked" -type d -path '*/toml-test/tests' | head -n 1)
	[ -d "$suite/valid" ] && [ -d "$suite/invalid" ] && mv "$suite" "$work/tests" && mv -T "$work/tests" "$cache/tests"
}

if [ -z "${TOML_SUITE:-}" ]; then
	TOML_SUITE=$cache/tests
	[ -d "$TOML_SUITE" ] || fetch || skip "$package cannot be fetched: $(tail -n 1 "$work/log" 2>/dev/null)"
fi
cd "$TOML_SUITE" || exit 1

# A newer suite lists what belongs to TOML 1.0; the older one has nothing else.
if [ -e files-toml-1.0.0 ]; then
	grep '\.toml$' files-toml-1.0.0
else
	find valid invalid -name '*.toml' | LC_ALL=C sort
fi >"$work/cases"
xargs "$check" <"$work/cases" >"$work/answers" 2>"$work/errors"
status=$?

printf '%s\n' "$exceptions" | awk -v verbose="${V:-}" -v status="$status" -v cases="$(wc -l <"$work/cases")" '
NR == FNR {
	if ($1 != "") { name = $1; $1 = ""; odd[name] = $0 }
	next
}
{
	name = $2; sub(/\.toml(:.*)?$/, "", name)
	want = name ~ /^valid\// ? "ok" : "no"
	answers++
	if (name in odd) {
		if ($1 == want) { failed++; print "  FAIL  toml-suite: " name ": is listed as an exception and is none" }
		else { passed++; print "  odd   toml-suite: " name ":" odd[name]; odds++ }
	} else if ($1 != want) { failed++; print "  FAIL  toml-suite: " name ": " (want == "ok" ? $0 : "taken, and is invalid") }
	else { passed++; if (verbose) print "  ok    " $0 }
}
END {
	if (answers != cases || status != 0) {
		failed++
		print "  FAIL  toml-suite: " answers + 0 " answers to " cases " cases, exit " status
	}
	if (cases < 200) { failed++; print "  FAIL  toml-suite: only " cases " cases: is this the suite?" }
	if (odds) print odds " of them known exceptions"
	printf "%d passed, %d failed, 0 skipped\n", passed, failed
	exit failed > 0
}' - "$work/answers"
status=$?
cat "$work/errors" >&2
exit $status
