#!/bin/sh
# Runs every test there is, as this user and, when that is root, what needs a jail also as an unprivileged user.
# It builds nothing and judges nothing: each part prints `N passed, N failed, N skipped`, and this adds them up.
#
# Parts run beside each other, each with mounts of its own (apart.sh) and, where no root is needed, with a user id of its own: the
# kernel's counters of that user are then the part's. Parts that measure the whole host come last, one at a time, beside a part without jails.
#
# Usage: tests/run.sh [UNIT-TEST-BINARY...]     AGENTJAIL=build/agentjail, whose folder holds the test programs: probe, inject, warm, raw.so, toml-check
#        AGENTJAIL_MUST_WORK=1: where no jail can be made the tests fail instead of skipping. V=1: print what passes.
#        ONLY=WORD: only the parts whose name holds WORD. SUITES='e2e cgroup/memory': only these folders of scripts, or scripts; warm: those that run once more with jails from a zygote.
#        WHOLE=1: what `make check` takes samples of whole, and everything as a user too, also what no user id changes.
#        LIST=1: only print the names of the parts.
#        JOBS=N: so many parts beside each other (four times as many as there are processors, since many of them wait). PART_LIMIT=600: seconds until a part is ended.
#        AGAIN=N: up to N parts that failed run once more, alone, at the end (5); the second run counts, and what failed in the first one is shown. 0: none.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
: "${AGENTJAIL:=$tests/../build/agentjail}"
AGENTJAIL=$(readlink -f "$AGENTJAIL")
AGENTJAIL_ROOTFS=$(readlink -f "${AGENTJAIL_ROOTFS:-$tests/../build/rootfs/default}")
export AGENTJAIL AGENTJAIL_ROOTFS
build=$(dirname "$AGENTJAIL")
: "${JOBS:=$(($(nproc) * 4))}" "${AGAIN:=5}"
USER_IDS=$((20000 + $$ % 130 * 300)) # and the ones above it, one a part: two runs beside each other share none, as a rule

# Parts that count things of the whole host, or fill a counter that all jails of root share; and a part that makes no jail and holds
# a few processes and files at a time, fewer than the counts may differ by: it runs beside those.
ALONE='fault/soak fault/warm reach/descriptors'
BESIDE_ALONE='layer/values'
# Scripts that must hold for a jail from a zygote too run once more, with a program whose `exec` is warm. The owner of the jail
# makes no difference to scripts of the Python layer: root runs them cold, and the other user warm. The command line is parsed before
# there is a jail, and what a warm one answers to it e2e/serve and e2e/library ask: its warm run is for WHOLE alone.
WARM_WALLS='escape/kernel escape/resources escape/syscalls escape/violations escape/killtree'
# Scripts of which root's run alone says what they say: the owner of a jail makes no difference to how a command line or a terminal is
# read, what a policy's text decides, how snippets' results are printed, how a service takes turns or shares out its tenants, how packets are
# led where there is no tproxy, what a package manager says to the relay, what a release is made of, or which question
# reaches a person. The jails that a user makes are
# looked at by the other scripts.
ROOT_ALONE='e2e/measures e2e/release e2e/exec e2e/policy_texts e2e/session e2e/shards egress/ask egress/nat egress/tools reach/service'
WARM_LAYER='e2e/language escape/python escape/extra'
WARM_COMMAND='e2e/exec'

work=$(mktemp -d) || exit 1
# Whoever interrupts this does not wait for what runs.
end_all() {
	for pid in "$work"/*/pid; do
		[ ! -e "$pid" ] || [ -e "${pid%pid}status" ] || kill "$(cat "$pid")" 2>/dev/null
	done
	wait
}
trap 'rm -rf "$work"' EXIT
trap 'end_all; exit 130' INT TERM
mkfifo "$work/ended"
exec 3<>"$work/ended"
total_passed=0 total_failed=0 total_skipped=0 parts=0 running=0 failed_parts='' began=$(date +%s)

for need in "$AGENTJAIL" "$build/probe" "$build/warm" "$build/raw.so" "$build/relayed" "$build/inject" "$build/toml-check" "$AGENTJAIL_ROOTFS/manifest"; do
	case $need in */toml-check | */inject) [ -z "${SUITES:-}" ] || continue ;; esac
	[ -n "${LIST:-}" ] || [ -e "$need" ] || { echo "tests/run.sh: $need is missing; make all build/probe build/warm build/raw.so build/relayed build/inject build/toml-check" >&2; exit 1; }
done

# --- one part ---

# The counts of a part's closing line; criterion's is a synthesis.
counts() {
	sed -n 's/^\(.*: \)\{0,1\}\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\2 \3 \4/p
		s/.*Synthesis: Tested: *\([0-9]*\) *| *Passing: *\([0-9]*\) *| *Failing: *\([0-9]*\) *| *Crashing: *\([0-9]*\).*/\2 \1-\2 0/p' "$1" | tail -n 1
}

# Runs COMMAND in the background of this script; its folder then holds log, status, and what it took.
start() { # FOLDER COMMAND...
	into=$1
	shift
	started=$(date +%s)
	# A background process of sh ignores SIGINT, and so would every launcher of the part.
	env --default-signal=INT,QUIT timeout -k 10 "${PART_LIMIT:-600}" "$@" >"$into/log" 2>&1 </dev/null 3<&- &
	echo $! >"$into/pid"
	wait $!
	echo $? >"$into/status"
	# Processor time of what was waited for: user and system, in minutes and seconds.
	times >"$into/times"
	tail -n 1 "$into/times" | sed 's/[ms]/ /g' | awk -v wall=$(($(date +%s) - started)) -v at=$((started - began)) \
		'{ printf "%d s, %.1f s of a processor, begun at %d s\n", wall, $1 * 60 + $2 + $3 * 60 + $4, at }' >"$into/took"
	echo "${into##*/}" >&3
}

# Waits until some part ends, and says how it ended. What a part failed with counts when no second run of the part is to come.
collect() {
	read -r number <&3
	running=$((running - 1))
	into=$work/$number
	ended=$(cat "$into/name")
	status=$(cat "$into/status")
	: >"$into/more"
	# shellcheck disable=SC2046
	set -- $(counts "$into/log")
	if [ $# -ne 3 ]; then
		echo "  FAIL  $ended: no closing line, exit $status: $(tail -c 1500 "$into/log")" >"$into/more"
		set -- 0 1 0
	elif [ "$status" -ne 0 ] && [ "$(($2))" -eq 0 ]; then
		echo "  FAIL  $ended: exit $status although no test failed: $(tail -c 1500 "$into/log")" >"$into/more"
		set -- "$1" 1 "$3"
	fi
	if [ -n "${V:-}" ]; then cat "$into/log"; else grep -aE '^  (FAIL|SKIP)|^\[(FAIL|CRASH)\]|^\[----\]|: (FAIL|ERROR)' "$into/log"; fi
	{ grep -aE '^  FAIL|^\[(FAIL|CRASH)\]|^(FAIL|ERROR)' "$into/log"; cat "$into/more"; } | sed "s|^|[$ended] |" >"$into/failures"
	cat "$into/more"
	printf '%-36s %5d passed %3d failed %3d skipped  (%s)\n' "$ended" "$(($1))" "$(($2))" "$(($3))" "$(cat "$into/took")"
	cat "$into/took" >>"$work/took"
	case " $BESIDE_ALONE " in *" $ended "*) JOBS=1 ;; esac
	if [ "$(($2))" -gt 0 ] && [ "$turn" != again ]; then
		echo "$(($1)) $(($2)) $(($3))" >"$into/counts"
		failed_parts="$failed_parts $into"
	else
		settle "$into" "$1" "$2" "$3"
		rm -r "$into"
	fi
}

# Adds a part's counts and failures to those of the whole run.
settle() { # FOLDER PASSED FAILED SKIPPED
	total_passed=$((total_passed + $2))
	total_failed=$((total_failed + $3))
	total_skipped=$((total_skipped + $4))
	cat "$1/failures" >>"$work/failures"
}

# Runs the parts that failed once more, one at a time, unless they are so many that the machine's load cannot be the reason.
run_again() {
	turn=again
	# shellcheck disable=SC2086
	set -- $failed_parts
	[ $# -le "$AGAIN" ] || set --
	for into in $failed_parts; do
		# shellcheck disable=SC2046
		[ $# -gt 0 ] || settle "$into" $(cat "$into/counts")
	done
	for again; do
		echo "again, alone: $(cat "$again/name")"
		mkdir "$again.2"
		cp "$again/name" "$again/command" "$again.2/"
		running=1 failed_before=$total_failed
		start "$again.2" xargs -0 -a "$again/command" env &
		collect
		[ "$total_failed" -gt "$failed_before" ] || cat "$again/failures" >>"$work/unsteady"
	done
}

part() { # NAME COMMAND...
	name=$1
	shift
	case $name in *"${ONLY:-}"*) ;; *) return ;; esac
	case " $ALONE $BESIDE_ALONE " in *" ${name#user/} "*) [ $turn = alone ] ;; *) [ $turn = beside ] ;; esac || return
	[ -z "${LIST:-}" ] || { echo "$name" && return; }
	while [ $running -ge "$JOBS" ]; do collect; done
	case " $BESIDE_ALONE " in *" $name "*) JOBS=$at_end ;; esac
	parts=$((parts + 1)) running=$((running + 1))
	mkdir "$work/$parts"
	echo "$name" >"$work/$parts/name"
	printf '%s\0' "$@" >"$work/$parts/command"
	start "$work/$parts" "$@" &
}

# --- the list of parts ---

as_user=''
export WHOLE="${WHOLE:-}"
root_too=1 # tells a script of a user that root runs the script, too
if [ -n "$WHOLE" ]; then root_too='' ROOT_ALONE=''; else WARM_COMMAND=''; fi
run_script() { # NAME COMMAND...: as the user whose turn it is
	name=$1
	shift
	if [ -n "$as_user" ]; then
		id=$((USER_IDS + parts))
		part "user/$name" sh "$tests/apart.sh" setpriv --reuid $id --regid $id --clear-groups env -C "$copy" -u AGENTJAIL_ROOTFS ROOT_TOO=$root_too HOME=/nonexistent TMPDIR=/tmp "$@"
	else
		part "$name" "$@"
	fi
}

scripts() { # FOLDER BUILD: the scripts of all groups in FOLDER; those that take longest begin first
	for suite in ${SUITES:-sdk fault e2e escape reach egress cgroup}; do
		for script in "$1/$suite"/*.sh "$1/$suite.sh"; do
			[ -e "$script" ] || continue
			name=${script#"$1/"}
			name=${name%.sh}
			case "$as_user $WARM_LAYER $ROOT_ALONE " in yes*" $name "*) continue ;; esac
			run_script "$name" env AGENTJAIL="$2/agentjail" sh "$script"
		done
	done
}

warm() { # FOLDER BUILD 'SCRIPT...'
	case " ${SUITES:-warm} " in *" warm "*) ;; *) return ;; esac
	for name in $3; do
		run_script "warm/$name" env AGENTJAIL="$2/warm" AGENTJAIL_COLD="$2/agentjail" sh "$1/$name.sh"
	done
}

# A user that owns no file. The repository may lie where that user cannot go.
copy_for_user() {
	copy=$work/copy
	copied=$copy/$(basename "$build") # its name says whether there are sanitizers
	chmod 755 "$work"
	mkdir -p "$copied/rootfs"
	for program in agentjail probe inject warm raw.so relayed; do cp "$build/$program" "$copied/"; done
	for file in "$build"/library-* "$build/libagentjail.so.0"; do
		[ ! -f "$file" ] || cp "$file" "$copied/"
	done
	cp -R --no-preserve=ownership "$AGENTJAIL_ROOTFS" "$copied/rootfs/default"
	cp -R --no-preserve=ownership "$tests" "$copy/tests"
	for folder in docs policies; do cp -R --no-preserve=ownership "$tests/../$folder" "$copy/$folder"; done
	cp "$tests/../README.md" "$copy/README.md"
	mkdir "$copy/src"
	cp -R --no-preserve=ownership "$tests/../src/sdk" "$copy/src/sdk"
	# What was downloaded, for the scripts that are root's alone without WHOLE.
	[ -z "$WHOLE" ] || [ ! -e "$tests/../build/cache/pypi" ] || { mkdir -p "$copy/build/cache" && cp -R "$tests/../build/cache/pypi" "$copy/build/cache/"; }
	chmod -R a+rX "$copy"
}

both=''
if [ "$(id -u)" = 0 ] && [ -z "${NO_USER:-}${LIST:-}" ]; then
	both=yes
	copy_for_user
fi
for turn in beside alone; do
	if [ $turn = alone ]; then
		while [ $running -gt 0 ]; do collect; done
		at_end=$((JOBS > 1 ? 2 : 1)) JOBS=1 # two while BESIDE_ALONE runs
	fi
	if [ -z "${SUITES:-}" ]; then
		for group in $(sh "$tests/layer/run.sh" --groups); do part "layer/$group" sh "$tests/layer/run.sh" --group "$group"; done
		part fuzz env FUZZ_SECONDS="${FUZZ_SECONDS:-1}" sh "$tests/fuzz/run.sh" "$tests/../build/fuzz"
		part golden sh "$tests/golden/run.sh"
		part policy/toml-suite sh "$tests/policy/toml-suite.sh" "$build/toml-check"
		# Sanitizers do not link statically. As a user this script runs what it installs itself.
		case $build in *-san) ;; *) part wheel sh "$tests/wheel/wheel.sh" ;; esac
	fi
	scripts "$tests" "$build"
	warm "$tests" "$build" "$WARM_WALLS$([ -n "$both" ] || echo " $WARM_COMMAND $WARM_LAYER")"
	if [ -n "$both" ]; then
		as_user=yes
		# The layer's scripts take longest of these, and the short parts at the end fill up what processors are left.
		warm "$copy/tests" "$copied" "$WARM_LAYER $WARM_COMMAND $WARM_WALLS"
		scripts "$copy/tests" "$copied"
		as_user=''
	fi
	for unit; do
		part "unit/${unit##*/unit/}" "$unit"
	done
done
[ -z "${LIST:-}" ] || exit 0
while [ $running -gt 0 ]; do collect; done
run_again

if [ -s "$work/unsteady" ]; then
	echo
	echo "failed beside other parts, and passed alone:"
	cat "$work/unsteady"
fi
if [ -s "$work/failures" ]; then
	echo
	echo "failures:"
	cat "$work/failures"
fi
[ "$parts" -eq 0 ] || echo "$parts parts in $(($(date +%s) - began)) s, $(awk '{ sum += $3 } END { printf "%.0f", sum }' "$work/took") s of a processor"
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ] && [ "$parts" -gt 0 ] && [ "$((total_passed + total_skipped))" -gt 0 ]
