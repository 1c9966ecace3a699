# Sourced by bench.sh and walls.sh: reads their options into $runs and $json, builds build/bench/bench, collects its input lines in $lines.
# It measures nothing by itself.
for argument; do
	case $argument in
	--json) json=--json ;;
	*[!0-9]* | '') echo "usage: ${0##*/} [RUNS] [--json]" >&2; exit 2 ;;
	*) runs=$argument ;;
	esac
done

here=$(pwd)
agentjail=${AGENTJAIL:-$here/build/agentjail}
case $agentjail in /*) ;; *) agentjail=$here/$agentjail ;; esac
out=$here/build/bench
python=/usr/bin/python3 # the distribution's: what comes first in PATH may be a script that looks for another one
tab=$(printf '\t')
mkdir -p "$out"
: "${CC:=cc}"

$CC -std=gnu11 -O2 -Wall -Wextra -D_GNU_SOURCE -o "$out/bench" tests/bench/bench.c
echo 'int main(void) { return 0; }' | $CC -O2 -static -x c -o "$out/true" -

lines=$(mktemp)
trap 'rm -f -- "$lines"' EXIT
trap 'exit 130' HUP INT TERM

# put KIND FIELD...: one line of bench's input.
put() {
	first=1
	for f; do
		[ "$first" ] || printf '\t'
		first=''
		printf '%s' "$f"
	done >> "$lines"
	echo >> "$lines"
}
join() { printf '%s' "$1"; shift; for f; do printf '\t%s' "$f"; done; }
