#!/bin/sh
# From a login session: a transient scope of the user's systemd gives a run its cgroup, with limits that hold.
# It needs systemd as the first process and a session; elsewhere it says so and skips.
. "$(dirname "$0")/../lib.sh"

if [ ! -d /run/systemd/system ] || ! systemctl --user is-system-running 2>/dev/null | grep -qE 'running|degraded'; then
	why="no systemd for this user: $(systemctl --user is-system-running 2>&1)"
	if [ "${AGENTJAIL_MUST_WORK:-0}" = 1 ]; then fail "a session" "$why"; else skip "everything" "$why"; fi
	finish
fi
check "this is a session, which is root's" grep -q '^0::/user.slice/user-[0-9]*.slice/session-' /proc/self/cgroup
# The same, in a scope that is asked for.
scoped() {
	timeout -k 5 "${LIMIT:-60}" systemd-run --user --scope --quiet -p Delegate=yes "$AJ" "$@" >"$T/out" 2>"$T/err"
	rc=$?
}
scopes() {
	systemctl --user list-units --type=scope --no-legend --plain 'run-*' | awk '{ print $1 }'
}
scoped exec --json --memory 64M --limits strict -c '6 * 7'
check "systemd-run gives a snippet its limits" expect value=42 'enforced.memory=cgroup v2 memory.max' 'enforced.pids=cgroup v2 pids.max'
scoped exec --json --memory 64M --limits strict -c 'b = []
while True: b.append(bytearray(1 << 20))'
check "and they hold" expect status=oom 'limits_hit=["memory"]' 'reason~kernel'
is "with the exit code of memory" 137 "$rc"
scoped run --json --memory 64M --bind "$PROBE:/opt/probe" -- sh -c '/opt/probe memhog 500; echo outlived'
check "for a child of a command as well" expect status=oom 'stdout!outlived'
is "no scope is left" "" "$(scopes)"

# Without systemd-run: agentjail asks by itself.
json "a snippet from the session itself" 0 value=42 'enforced.memory=cgroup v2 memory.max' 'enforced.pids=cgroup v2 pids.max' -- exec --memory 64M --limits strict -c '6 * 7'
json "a command from the session itself" 137 status=oom 'reason~kernel' -- run --memory 64M --limits strict --bind "$PROBE:/opt/probe" -- /opt/probe memhog 500
check "nothing of it is left" gone
is "nor a scope" "" "$(scopes)"
check "this shell is where it was" grep -q '/session-' /proc/self/cgroup

finish
