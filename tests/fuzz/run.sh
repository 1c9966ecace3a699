#!/bin/sh
# Runs each fuzzer over its seeds, then for FUZZ_SECONDS (20) over what it makes of them.
# It builds nothing: `make fuzz` does. What breaks a rule or crashes stays in build/fuzz/; as a seed it is never forgotten.
#
# Usage: tests/fuzz/run.sh FOLDER     the folder with the fuzzers and their dictionaries
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-build/fuzz}
seconds=${FUZZ_SECONDS:-20}
passed=0 failed=0 skipped=0

result() { # NAME STATUS
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "  FAIL  fuzz: $1: $(grep -aE '^broken:|ERROR: |SUMMARY|Test unit written|runtime error' "$work/log" | head -n 6)"
	fi
}

if [ ! -x "$folder/policy" ] || [ ! -x "$folder/tools" ] || [ ! -x "$folder/serve" ]; then
	echo "  SKIP  fuzz: no fuzzer was built: that takes clang with its libFuzzer (.ci/deps check)"
	echo "0 passed, 0 failed, 1 skipped"
	[ "${AGENTJAIL_MUST_WORK:-0}" != 1 ]
	exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' HUP INT TERM

fuzz() { # NAME MAX-BYTES WHAT: seeds are in $work/NAME
	mkdir -p "$folder/corpus/$1"
	"$folder/$1" -timeout=5 -rss_limit_mb=2048 "$work/$1"/* >"$work/log" 2>&1
	result "every seed of $3" $?
	"$folder/$1" -max_total_time="$seconds" -timeout=5 -max_len="$2" -rss_limit_mb=2048 -dict="$folder/$1.dict" -artifact_prefix="$folder/" \
		-print_final_stats=1 "$folder/corpus/$1" "$work/$1" >"$work/log" 2>&1
	result "$3 for $seconds s" $?
	[ -z "${V:-}" ] || tail -n 12 "$work/log"
	echo "  $3: $(grep -a number_of_executed_units "$work/log" || echo 'stat: none') in $seconds s"
}

mkdir -p "$work/policy" "$work/tools" "$work/serve"
cp policies/*.toml agentjail.toml tests/fuzz/seeds/*.toml "$work/policy/"
fuzz policy 4096 policies

# A line of tools.txt is a schema, a tab and a value; between the two the fuzzer has a NUL.
while IFS='	' read -r schema value; do
	printf '%s\0%s' "$schema" "$value" >"$work/tools/$((seed = ${seed:-0} + 1))"
done <tests/fuzz/seeds/tools.txt
fuzz tools 2048 schemas

# A line of serve.txt is a request: as a body, and behind its length (in octal, as printf wants it) as a frame.
while IFS= read -r line; do
	seed=$((seed + 1))
	bytes=$(printf '%s' "$line" | wc -c)
	printf '%s' "$line" >"$work/serve/$seed"
	printf "\\000\\000\\$(printf '%03o\\%03o' $((bytes / 256)) $((bytes % 256)))%s" "$line" >"$work/serve/frame-$seed"
done <tests/fuzz/seeds/serve.txt
cat "$work"/serve/frame-* >"$work/serve/all"
fuzz serve 4096 requests

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
