#!/bin/sh
# Runs every test there is, as this user and, when that is root, what needs a jail also as an unprivileged user.
# It builds nothing and judges nothing: each part prints `N passed, N failed, N skipped`, and this adds them up.
#
# Usage: tests/run.sh [UNIT-TEST-BINARY...]     AGENTJAIL=build/agentjail, whose folder holds the test programs: probe, jail, inject, warm, sessions, toml-check
#        AGENTJAIL_MUST_WORK=1: where no jail can be made the tests fail instead of skipping. V=1: print what passes.
#        ONLY=WORD: only the parts whose name holds WORD. SUITES='e2e cgroup/memory': only these folders of scripts, or scripts; warm: those that run once more with jails from a zygote.
#        PART_LIMIT=600: seconds until a part is ended.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
: "${AGENTJAIL:=$tests/../build/agentjail}"
AGENTJAIL=$(readlink -f "$AGENTJAIL")
AGENTJAIL_ROOTFS=$(readlink -f "${AGENTJAIL_ROOTFS:-$tests/../build/rootfs/default}")
export AGENTJAIL AGENTJAIL_ROOTFS
USER_ID=65534

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
total_passed=0 total_failed=0 total_skipped=0 parts=0

for need in "$AGENTJAIL" "$(dirname "$AGENTJAIL")/probe" "$(dirname "$AGENTJAIL")/warm" "$(dirname "$AGENTJAIL")/sessions" "$(dirname "$AGENTJAIL")/jail" "$(dirname "$AGENTJAIL")/inject" "$(dirname "$AGENTJAIL")/toml-check" "$AGENTJAIL_ROOTFS/manifest"; do
	case $need in */toml-check | */inject | */jail) [ -z "${SUITES:-}" ] || continue ;; esac
	[ -e "$need" ] || { echo "tests/run.sh: $need is missing; make all build/probe build/jail build/warm build/sessions build/inject build/toml-check" >&2; exit 1; }
done

# The counts of a part's closing line; criterion's is a synthesis.
counts() {
	sed -n 's/^\(.*: \)\{0,1\}\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\2 \3 \4/p
		s/.*Synthesis: Tested: *\([0-9]*\) *| *Passing: *\([0-9]*\) *| *Failing: *\([0-9]*\) *| *Crashing: *\([0-9]*\).*/\2 \1-\2 0/p' "$1" | tail -n 1
}

# part NAME COMMAND...
part() {
	name=$1
	shift
	case $name in *"${ONLY:-}"*) ;; *) return ;; esac
	parts=$((parts + 1))
	started=$(date +%s)
	timeout -k 10 "${PART_LIMIT:-600}" "$@" >"$work/log" 2>&1 </dev/null
	status=$?
	set -- $(counts "$work/log")
	if [ $# -ne 3 ]; then
		echo "  FAIL  $name: no closing line, exit $status: $(tail -c 1500 "$work/log")" >"$work/more"
		set -- 0 1 0
	elif [ "$status" -ne 0 ] && [ "$(($2))" -eq 0 ]; then
		echo "  FAIL  $name: exit $status although no test failed: $(tail -c 1500 "$work/log")" >"$work/more"
		set -- "$1" 1 "$3"
	else
		: >"$work/more"
	fi
	if [ -n "${V:-}" ]; then cat "$work/log"; else grep -aE '^  (FAIL|SKIP)|^\[(FAIL|CRASH)\]|^\[----\]|: (FAIL|ERROR)' "$work/log"; fi
	{ grep -aE '^  FAIL|^\[(FAIL|CRASH)\]|^(FAIL|ERROR)' "$work/log"; cat "$work/more"; } | sed "s|^|[$name] |" >>"$work/failures"
	cat "$work/more"
	total_passed=$((total_passed + $1))
	total_failed=$((total_failed + $2))
	total_skipped=$((total_skipped + $3))
	printf '%-36s %5d passed %3d failed %3d skipped  %3d s\n' "$name" "$(($1))" "$(($2))" "$(($3))" "$(($(date +%s) - started))"
}

scripts() { # FOLDER PREFIX [COMMAND...]: the scripts of all groups in FOLDER
	folder=$1 prefix=$2
	shift 2
	for suite in ${SUITES:-e2e escape reach fault cgroup}; do
		for script in "$folder/$suite"/*.sh "$folder/$suite.sh"; do
			name=${script#"$folder/"}
			[ ! -e "$script" ] || part "$prefix${name%.sh}" "$@" sh "$script"
		done
	done
}

# What is as true of a jail from a zygote: the same scripts once more, with a program whose `exec` is warm. The layer's own are run by
# one user only: to them it makes no difference who.
WARM_WALLS='e2e/exec escape/kernel escape/resources escape/syscalls escape/violations escape/killtree' WARM_LAYER='e2e/language escape/python escape/extra'
warm() { # FOLDER BUILD PREFIX 'SCRIPT...' [COMMAND...]
	folder=$1 build=$2 prefix=$3 list=$4
	shift 4
	case " ${SUITES:-warm} " in *" warm "*) ;; *) return ;; esac
	for name in $list; do
		part "${prefix}warm/$name" "$@" env AGENTJAIL="$build/warm" AGENTJAIL_COLD="$build/agentjail" sh "$folder/$name.sh"
	done
}

for unit; do
	part "unit/$(basename "$unit")" "$unit"
done
if [ -z "${SUITES:-}" ]; then
	part layer sh "$tests/layer/run.sh"
	part golden sh "$tests/golden/run.sh"
	part fuzz env FUZZ_SECONDS="${FUZZ_SECONDS:-10}" sh "$tests/fuzz/run.sh" "$tests/../build/fuzz"
	part policy/toml-suite sh "$tests/policy/toml-suite.sh" "$(dirname "$AGENTJAIL")/toml-check"
fi
scripts "$tests" ""
warm "$tests" "$(dirname "$AGENTJAIL")" "" "$WARM_WALLS $WARM_LAYER"

# The same as somebody who owns nothing. The repository may lie where that user cannot go.
if [ "$(id -u)" = 0 ] && [ -z "${NO_USER:-}" ]; then
	copy=$work/copy
	build=$copy/$(basename "$(dirname "$AGENTJAIL")") # its name says whether there are sanitizers
	chmod 755 "$work"
	mkdir -p "$build/rootfs"
	for program in agentjail probe jail inject warm sessions branch raw.so; do cp "$(dirname "$AGENTJAIL")/$program" "$build/"; done
	for file in "$(dirname "$AGENTJAIL")"/library-* "$(dirname "$AGENTJAIL")/libagentjail.so.0"; do
		[ ! -f "$file" ] || cp "$file" "$build/"
	done
	cp -R --no-preserve=ownership "$AGENTJAIL_ROOTFS" "$build/rootfs/default"
	cp -R --no-preserve=ownership "$tests" "$copy/tests"
	cp -R --no-preserve=ownership "$tests/../docs/examples" "$copy/tests/examples"
	cp -R --no-preserve=ownership "$tests/../docs" "$copy/docs"
	chmod -R a+rX "$copy"
	unset AGENTJAIL AGENTJAIL_ROOTFS
	set -- setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env HOME=/nonexistent TMPDIR=/tmp AGENTJAIL="$build/agentjail"
	scripts "$copy/tests" user/ "$@"
	warm "$copy/tests" "$build" user/ "$WARM_WALLS" "$@"
fi

if [ -s "$work/failures" ]; then
	echo
	echo "failures:"
	cat "$work/failures"
fi
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ "$parts" -gt 0 ] && [ "$((total_passed + total_skipped))" -gt 0 ]
