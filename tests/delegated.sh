# A delegated cgroup v2 for the tests of real cgroups, or a loud skip; read after lib.sh.
# It makes cgroups in that one only, removes them, and never touches a process that it did not start.
#
#   $CG                  a cgroup of this script's own: memory and pids for its children, no process in it
#   fresh NAME           makes $CG/NAME, marked as delegated, as systemd marks its scopes
#   WITHIN=DIR aj ...    (and text, json, probe) the launcher starts as the only process of that cgroup
#   leaves DIR           what agentjail made and left there; sed "$supervisors" takes away the leaves that supervisors moved to:
#                        who is in one cannot remove it, the next start does
#   number PATH / between NAME LOW HIGH VALUE
#
# Where: AGENTJAIL_TEST_CGROUP=DIR, delegated to us, no process in it, and this shell in a child: then nothing is skipped.
# Else a scope that the user's systemd makes. Else the root of the hierarchy, for root.

no_cgroup() {
	if [ -n "${AGENTJAIL_TEST_CGROUP:-}" ]; then fail "a delegated cgroup v2" "$1"; else skip "everything" "$1"; fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}
OWN=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
if [ -z "${AGENTJAIL_TEST_CGROUP:-}" ]; then
	grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null || no_cgroup "no cgroup v2 with the memory controller on this host"
	if [ -n "${AJ_SCOPE:-}" ]; then
		{ mkdir "$OWN/shell" && echo 0 >"$OWN/shell/cgroup.procs"; } || no_cgroup "the scope $OWN cannot be divided"
		base=$OWN
	elif [ "$(id -u)" = 0 ]; then
		base=/sys/fs/cgroup
	elif [ -n "${XDG_RUNTIME_DIR:-}" ] && systemd-run --user --scope --quiet -p Delegate=yes true 2>/dev/null; then
		rm -rf "$T"
		AJ_SCOPE=1 exec systemd-run --user --scope --quiet -p Delegate=yes sh "$0"
	else
		no_cgroup "no delegated cgroup v2: neither AGENTJAIL_TEST_CGROUP nor a systemd of this user"
	fi
else
	base=$AGENTJAIL_TEST_CGROUP
fi
CG=$base/test-$$
controllers() { # DIR: for its children
	local one
	for one in memory pids cpu; do echo "+$one" >"$1/cgroup.subtree_control" 2>/dev/null; done
	grep -qw memory "$1/cgroup.subtree_control" && grep -qw pids "$1/cgroup.subtree_control"
}
controllers "$base" || no_cgroup "memory and pids cannot be enabled in $base"
{ mkdir "$CG" && controllers "$CG"; } || no_cgroup "$base is not ours"
end_cgroups() {
	find "$CG" -depth -type d -exec rmdir {} + 2>/dev/null
}
trap 'end_canaries; end_cgroups; rm -rf "$T"' EXIT

fresh() {
	mkdir "$CG/$1"
	"$PY" -I -S -c 'import os, sys; os.setxattr(sys.argv[1], "trusted.delegate" if os.getuid() == 0 else "user.delegate", b"1")' "$CG/$1" 2>/dev/null
	return 0
}
enter='echo 0 >"$0/cgroup.procs" && exec "$@"'
aj() {
	if [ -n "${WITHIN:-}" ]; then
		timeout -k 5 "${LIMIT:-60}" sh -c "$enter" "$WITHIN" "$AJ" "$@" >"$T/out" 2>"$T/err"
	else
		timeout -k 5 "${LIMIT:-60}" "$AJ" "$@" >"$T/out" 2>"$T/err"
	fi
	rc=$?
}
supervisors='s#\./agentjail-[0-9-]*supervisor ##g'
leaves() {
	(cd "$1" && find . -mindepth 1 -type d | tr '\n' ' ')
}
number() {
	field "$1" | sed 's/[^0-9].*//'
}
between() {
	if [ "${4:-0}" -ge "$2" ] && [ "${4:-0}" -le "$3" ]; then ok "$1"; else fail "$1" "\`$4\` is not between $2 and $3: $(shown)"; fi
}
# In place of lib.sh's, which looks at the whole hierarchy: others may be at work there.
cgroups() {
	find "$CG" -type d -name 'agentjail-[0-9]*' ! -name '*-supervisor'
}
