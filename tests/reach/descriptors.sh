#!/bin/sh
# One jail fills the count of descriptors in flight that all processes of its host uid share: who else still starts, and sends?
# The count is the uid's: a test that runs beside it as the same user can only fill it more.
. "$(dirname "$0")/../lib.sh"
ulimit -Sn 1024 2>/dev/null # as a shell has it: an own limit above the attacker's would hide everything

printf 'extends = "command"\n[limits]\nopen_files = 4096\n' >"$T/many.toml"
printf 'extends = "command"\n[process]\ndeny_syscalls = ["sockets"]\n' >"$T/denied.toml"
# Descriptors in flight from a jail, until released.
fill() { # OPTION...
	"$AJ" run "$@" --bind "$PROBE:/opt/probe" -- /opt/probe inflight 4000 60 >"$T/filled" 2>&1 &
	filler=$!
	await grep -q inflight "$T/filled"
}
release() {
	kill "$filler"
	wait "$filler" 2>/dev/null
}
trap 'kill $filler 2>/dev/null; end_canaries; rm -rf "$T"' EXIT
# A program of the host with the jail's uid: 65534, if root started it. It has no capability either way.
program() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all "$PROBE" inflight 1
	else
		"$PROBE" inflight 1
	fi
}
chmod 755 "$T"

# --- a policy that gives many ---
fill --policy-file "$T/many.toml"
is "inflight-start: control: 4,000 are in flight" "inflight 4000 OK" "$(cat "$T/filled")"
is "inflight-program: control: and a program of that uid, with a limit of 1024, cannot send one" "inflight 0 ETOOMANYREFS" "$(program)"
json "inflight-start: a command starts" 0 status=ok violations_seen=true -- run --json -- true
json "inflight-start: one without sockets" 0 status=ok violations_seen=true -- run --json --policy-file "$T/denied.toml" -- true
json "inflight-relay: one with a network by allow-list" 0 status=ok violations_seen=true -- run --json --allow-host a.test:80 -- sh -c 'ulimit -Sn'
is "inflight-relay: its own limit is not raised" 768 "$(field stdout | tr -d '\n')"
json "inflight-start: a snippet" 0 status=ok value=2 violations_seen=true -- exec -c '1+1'
json "inflight-start: its refusals are counted" 0 violations.0.syscall=clone -- exec --layer off -c 'import os
try: os.fork()
except PermissionError: pass'
release

# --- the presets ---
for policy in command snippet locked; do
	limit=$("$AJ" policy show "$policy" | sed -n 's/^ *open_files = \([0-9]*\).*/\1/p')
	check "inflight-program: $policy leaves room below 1024" test "${limit:-9999}" -le 771
done
fill
check "inflight-program: the preset for commands: what one jail can send" grep -qx 'inflight [0-9]* ETOOMANYREFS' "$T/filled"
is "inflight-program: a program of that uid can still send" "inflight 1 OK" "$(program)"
fill2=$filler
"$AJ" run --bind "$PROBE:/opt/probe" -- /opt/probe inflight 4000 >"$T/second" 2>&1
check "inflight-program: a second jail adds nothing to it" grep -qx 'inflight 0 ETOOMANYREFS' "$T/second"
is "inflight-program: and the program sends" "inflight 1 OK" "$(program)"
filler=$fill2
release
is "inflight-program: control: when the jail is gone the count is" "inflight 1 OK" "$(program)"

# --- no sockets, no descriptors ---
text "inflight-denied: a command" 0 '^inflight 0 EPERM$' run --policy-file "$T/denied.toml" --bind "$PROBE:/opt/probe" -- /opt/probe inflight 1
runner_rootfs
text "inflight-denied: a snippet" 0 '^inflight 0 (EPERM|ENOSYS)$' exec --rootfs "$T/runner" -c 'inflight 1'

# --- the supervisor may not take a listener: a filter above it says so ---
cat >"$T/without.py" <<'EOS'
import ctypes, errno, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
insns = [(0x20, 0, 0, 0), (0x15, 0, 1, 438), (0x06, 0, 0, 0x00050000 | errno.EPERM), (0x06, 0, 0, 0x7fff0000)]  # pidfd_getfd
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in insns))
class prog(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(prog(len(insns), ctypes.addressof(code)))) != 0:
    sys.exit("no filter: %d" % ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
EOS
without() {
	"$PY" -I -S "$T/without.py" "$AJ" "$@" >"$T/out" 2>"$T/err"
}
without run --json --bind "$PROBE:/opt/probe" -- /opt/probe denied 3
check "inflight-untaken: a command is refused with the errors of the list" expect status=ok 'stdout=EPERM 3\n' violations_seen=false 'violations=[]'
without exec --json --layer off -c 'import os
try: os.fork()
except OSError as e: print(e.errno)'
check "inflight-untaken: a snippet" expect status=ok 'stdout=1\n' violations_seen=false 'violations=[]'

finish
