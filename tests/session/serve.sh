#!/bin/sh
# The service under a user's systemd: started by a connection, told ready, with cgroups for its jails, gone when it is stopped.
# It needs systemd as the first process and a session; elsewhere it says so and skips. The units are those that are installed.
. "$(dirname "$0")/../lib.sh"

docs=$tests/../docs
[ -e "$docs/systemd" ] || docs=$tests
if [ ! -d /run/systemd/system ] || ! systemctl --user is-system-running 2>/dev/null | grep -qE 'running|degraded'; then
	why="no systemd for this user: $(systemctl --user is-system-running 2>&1)"
	if [ "${AGENTJAIL_MUST_WORK:-0}" = 1 ]; then fail "a session" "$why"; else skip "everything" "$why"; fi
	finish
fi
units=$XDG_RUNTIME_DIR/systemd/user
socket=$XDG_RUNTIME_DIR/agentjail.sock
mkdir -p "$units"
for unit in service socket; do
	sed "s|^ExecStart=.*|ExecStart=$AJ serve --limits strict --rootfs $ROOTFS --parked 1|" "$docs/systemd/user/agentjail.$unit" >"$units/agentjail.$unit"
done
cat >"$T/ask.py" <<'EOS'
import json, sys
sys.path.insert(0, sys.argv[1])
from client import Client
print(json.dumps(Client(sys.argv[2]).ask("exec", code=sys.argv[3], policy="snippet")))
EOS
ask() {
	timeout -k 5 "${LIMIT:-60}" "$PY" -B -I -S "$T/ask.py" "$docs/examples" "$socket" "$1" >"$T/out" 2>"$T/err" ||
		fail "the client" "$( (tail -c 300 "$T/err"; journalctl --user -u agentjail.service -n 5 --no-pager 2>&1 | tail -n 5) | tr "\\n" " ")"
}
systemctl --user daemon-reload
check "the socket's unit starts" systemctl --user start agentjail.socket
is "nothing runs yet" inactive "$(systemctl --user is-active agentjail.service)"
is "the socket is ours alone" "srw-------" "$(stat -c %A "$socket")"
ask '6 * 7'
check "a connection starts the service" expect value=42 'enforced.memory=cgroup v2 memory.max' 'enforced.pids=cgroup v2 pids.max' warm=true
is "it said that it is ready" active "$(systemctl --user is-active agentjail.service)"
check "and what it does" sh -c 'systemctl --user show -p StatusText agentjail.service | grep -q "=..*"'
ask 'b = []
while True: b.append(bytearray(1 << 20))'
check "limits of memory hold" expect status=oom 'reason~kernel'
ask '1 + 1'
check "and the service continues" expect value=2
is "as the same one" active "$(systemctl --user is-active agentjail.service)"
check "it stops" systemctl --user stop agentjail.service
is "well" success "$(systemctl --user show -P Result agentjail.service)"
is "the socket stays" "srw-------" "$(stat -c %A "$socket")"
ask '2 + 2'
check "and starts it again" expect value=4
check "both stop" systemctl --user stop agentjail.socket agentjail.service
is "no socket is left" "" "$(ls -d "$socket" 2>/dev/null)"
check "nothing of it is left" gone
rm -f "$units/agentjail.service" "$units/agentjail.socket"
systemctl --user daemon-reload

finish
