#!/bin/sh
# Runs the test scripts in machines of their own: every kernel that was fetched, as an ordinary user, as root, and in a login session.
# It judges nothing itself: each machine's counts are added up, and a machine that brings no result counts as a failure.
#
# Usage: tests/vm/check.sh [--quick] [WORD]     WORD: only the variants whose name holds it
#        --quick: only what another kernel or a cgroup makes different: cgroups, sessions, ends, walls
#        JOBS=2: machines at a time, each with one CPU.  KEEP=DIR: the logs stay there.  V=1: all of each log
#        VM_LIMIT=7200: seconds until a machine is given up
set -u
here=$(cd "$(dirname "$0")" && pwd)
folders='cgroup e2e escape reach' quick=''
if [ "${1:-}" = --quick ]; then
	quick=1 folders='cgroup escape/killtree escape/kernel escape/resources reach/zygote'
	shift
fi

# The limit is for a machine that hangs. A machine needs up to twenty minutes for everything, and a session a minute; where the
# processors are shared with other work, several times that.
: "${VM_LIMIT:=7200}"

# One machine: KERNEL WHO FOLDER...
if [ "${1:-}" = one ]; then
	log=$KEEP/$2-$3.log
	started=$(date +%s)
	name="$2 $3" kernel=$2 who=$3
	shift 3
	if [ "$who" = apparmor ]; then
		AGENTJAIL_VM_MORE=$(sh "$here/apparmor.sh" 2>"$log.more") || { cat "$log.more"; exit 1; }
		rm "$log.more"
		export AGENTJAIL_VM_MORE
		who=root
	fi
	sh "$here/run.sh" --kernel "$kernel" "--$who" --limit "$VM_LIMIT" "$here/suites.sh" "$@" >"$log" 2>&1
	status=$?
	counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
	# shellcheck disable=SC2086
	set -- $counts
	if [ $# -ne 3 ] || [ $status -gt 1 ] || { [ $status = 1 ] && [ "$2" = 0 ]; }; then
		echo "  FAIL  no result (status $status): $(tail -n 40 "$log")" >>"$log.more"
		set -- "${1:-0}" $((${2:-0} + 1)) "${3:-0}"
	fi
	echo "$1 $2 $3" >"$log.counts"
	{
		if [ -n "${V:-}" ]; then cat "$log"; else sed -n '/^failures:$/q; /^  FAIL\|^  SKIP\|^[a-z0-9_/-]* .* passed .* failed /p' "$log"; fi
		[ ! -e "$log.more" ] || cat "$log.more"
		printf '%-24s %5d passed %3d failed %3d skipped  %4d s\n' "kernel $name:" "$1" "$2" "$3" "$(($(date +%s) - started))"
	} >"$log.block"
	exec cat "$log.block"
fi

word=${1:-}
cache=$(sh "$here/fetch.sh") || exit 1
AGENTJAIL_VM=$(mktemp -d) || exit 1
archive=$AGENTJAIL_VM
trap 'rm -rf "$archive" ${own:-}' EXIT
trap 'exit 130' HUP INT TERM
if [ -z "${KEEP:-}" ]; then KEEP=$(mktemp -d) && own=$KEEP; fi
mkdir -p "$KEEP"
AGENTJAIL_VM=$archive/agentjail.cpio
export AGENTJAIL_VM KEEP
sh "$here/image.sh" "$cache" "$AGENTJAIL_VM" || exit 1
rm -f "$KEEP"/*.log.*

# The longest first.
variants() {
	newest=$(ls "$cache/kernel" | sort -V | tail -n 1)
	for kernel in $(ls "$cache/kernel" | sort -V); do
		echo "$kernel user $folders"
		# Root is no other path through another kernel, where time is short.
		[ -n "$quick" ] && [ "$kernel" = "$newest" ] || echo "$kernel root $folders"
	done
	for kernel in $(ls "$cache/kernel" | sort -V); do echo "$kernel session session"; done
	echo "$newest loose cgroup/zygote_cgroups reach/zygote"
	echo "$newest apparmor apparmor"
}
variants | grep -F -e "$word" | xargs -P "${JOBS:-2}" -L 1 sh "$0" one
set -- "$KEEP"/*.log.counts
[ -e "$1" ] || { echo "tests/vm/check.sh: no variant is called $word" >&2; exit 1; }
cat "$@" | awk '{ p += $1; f += $2; s += $3 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }'
