#!/bin/sh
# Runs each fuzzer over its seeds, then for FUZZ_SECONDS (20) over what it makes of them.
# It builds nothing: `make fuzz` does. An input that breaks a rule or crashes stays in build/fuzz/; as a seed it is never forgotten.
#
# Usage: tests/fuzz/run.sh FOLDER     the folder with the fuzzers and their dictionaries
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-build/fuzz}
seconds=${FUZZ_SECONDS:-20}
patience=${PATIENCE:-60} # seconds for one input: one that hangs takes longer, also on a busy machine
passed=0 failed=0 skipped=0

result() { # NAME STATUS
	if [ "$2" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "  FAIL  fuzz: $1: $(grep -aE '^broken:|ERROR: |SUMMARY|Test unit written|runtime error' "$work/log" | head -n 6)"
	fi
}

if [ ! -x "$folder/policy" ] || [ ! -x "$folder/tools" ] || [ ! -x "$folder/serve" ] || [ ! -x "$folder/channel" ] || [ ! -x "$folder/gitconfig" ] || [ ! -x "$folder/gitindex" ] || [ ! -x "$folder/inspect" ] || [ ! -x "$folder/escapes" ] || [ ! -x "$folder/changes" ]; then
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
	"$folder/$1" -timeout="$patience" -rss_limit_mb=2048 "$work/$1"/* >"$work/log" 2>&1
	result "every seed of $3" $?
	dict=$folder/$1.dict
	[ -e "$dict" ] || dict=tests/fuzz/seeds/$1.dict
	"$folder/$1" -max_total_time="$seconds" -timeout="$patience" -max_len="$2" -rss_limit_mb=2048 -dict="$dict" -artifact_prefix="$folder/" \
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

# Acts of channel.c, each a byte, and for a frame its length in two and its kind: a whole snippet, two of a session, calls and their answers.
act() { # ACT [BODY]
	# shellcheck disable=SC2059
	printf "\\$(printf %03o "$1")"
	# shellcheck disable=SC2059
	[ $# = 1 ] || printf "\\$(printf %03o $((${#2} % 256)))\\$(printf %03o $((${#2} / 256)))%s" "$2"
}
mkdir -p "$work/channel"
claim='{"status":"ok","value":["\u0000"],"repr":"1","type":"int","error":null,"errors":[],"final_answer":null,"is_final":false,"imports":["re"],"truncated":{}}'
{ act 0 A; act 4; act 7; act 5; act 0 S; act 4; act 2 "$claim"; act 4; } >"$work/channel/one"
error='{"status":"error","error":{"type":"E","message":"m","line":1,"frames":[{"file":"f","line":1,"column":1,"function":"g","source":""}]}}'
chain='{"status":"error","error":{"type":"E","message":"","chain":[{"type":"E","message":"","line":1,"column":1,"source":"","relation":"cause"}]}}'
{ act 0 A; act 4; act 6; act 5; act 0 S; act 4; act 2 "$error"; act 4; act 6; act 5; act 0 S; act 2 "$chain"; act 4; } >"$work/channel/errors"
{ act 0 A; act 4; for turn in 1 2 3; do act 6; act 5; act 0 S; act 2 "$claim"; act 4; done; act 0 R12345678{}; act 4; } >"$work/channel/session"
{ act 0 A; act 4; act 6; act 0 S; act 0 'C{"call":1,"tool":"t","args":{"n":1}}'; act 0 'C{"call":2,"tool":"none","args":{}}'; act 0 'C{"call":3,"tool":"t","args":{"n":"x"}}'
	act 4; act 8; act 5; act 10 "  "; act 2 '{"status":"rejected"}'; act 4; } >"$work/channel/calls"
{ act 9; act 4; act 11; act 0 A; act 4; act 1 "$claim"; act 3 '   '; act 4; act 0 'Eno'; act 4; } >"$work/channel/refused"
fuzz channel 8192 "what a jail says"
# A line of serve.txt is a request: as a body, and behind its length (in octal, as printf wants it) as a frame.
while IFS= read -r line; do
	seed=$((seed + 1))
	bytes=$(printf '%s' "$line" | wc -c)
	printf '%s' "$line" >"$work/serve/$seed"
	printf "\\000\\000\\$(printf '%03o\\%03o' $((bytes / 256)) $((bytes % 256)))%s" "$line" >"$work/serve/frame-$seed"
done <tests/fuzz/seeds/serve.txt
cat "$work"/serve/frame-* >"$work/serve/all"
fuzz serve 4096 requests

mkdir -p "$work/gitconfig"
cp tests/fuzz/seeds/gitconfig/* "$work/gitconfig/"
fuzz gitconfig 4096 "git's configurations"

mkdir -p "$work/gitindex"
cp tests/fuzz/seeds/gitindex/* "$work/gitindex/"
fuzz gitindex 600 "git's indexes"

mkdir -p "$work/inspect"
cp tests/fuzz/seeds/inspect/* "$work/inspect/"
fuzz inspect 4096 "what a jail sends"

# A line of escapes.txt is a seed, as printf writes it.
mkdir -p "$work/escapes"
while IFS= read -r line; do
	# shellcheck disable=SC2059
	printf "$line" >"$work/escapes/$((seed = seed + 1))"
done <tests/fuzz/seeds/escapes.txt
fuzz escapes 8192 "what a jail writes to a terminal"

mkdir -p "$work/changes"
cp tests/fuzz/seeds/changes/* "$work/changes/"
fuzz changes 4096 "what a run's state folder holds"

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
