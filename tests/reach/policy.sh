#!/bin/sh
# What configures a run from outside of its command line: a variable, a file of the working directory. Neither loosens what is locked.
# It changes nothing of the machine's own configuration, and is skipped where there is one that would take precedence.
. "$(dirname "$0")/../lib.sh"
mkdir -p "$T/cwd" "$T/elsewhere/tree/usr/bin"
cd "$T/cwd" || exit 1
cp "$PROBE" "$T/elsewhere/tree/usr/bin/python3"
chmod -R a+rX "$T/elsewhere"
B=$(dirname "$AJ")
SAY='print("R" + "AN")'

# refused NAME REGEX COMMAND...: exit 2, a reason, and nothing ran.
refused() {
	local name=$1 regex=$2
	shift 2
	timeout -k 5 20 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ "$rc" = 2 ] && grep -qaE -e "$regex" "$T/err" && ! grep -qa RAN "$T/out"; then ok "$name"; else fail "$name" "want exit 2 and \`$regex\`: $(shown)"; fi
}

# --- AGENTJAIL_ROOTFS ---
printf 'extends = "command"\nlock = ["filesystem"]\n[filesystem]\nrootfs = "default"\n' >"$T/command.toml"
VARIABLE="env AGENTJAIL_ROOTFS=$T/elsewhere"
WHY='AGENTJAIL_ROOTFS: .*filesystem.rootfs.*locks it'
# shellcheck disable=SC2086
{
	refused "policy-tree-variable: exec, locked by the policy" "$WHY" $VARIABLE "$AJ" exec --policy locked -c "$SAY"
	refused "policy-tree-variable: run, locked by the policy" "$WHY" $VARIABLE "$AJ" run --policy-file "$T/command.toml" -- echo RAN
	refused "policy-tree-variable: session, locked by the policy" "$WHY" $VARIABLE "$AJ" session --policy locked
	refused "policy-tree-variable: serve, locked by the policy" "$WHY" $VARIABLE "$AJ" serve --policy locked --socket "$T/socket.new"
	refused "policy-tree-variable: policy show says so too" "$WHY" $VARIABLE "$AJ" policy show locked
	check "policy-tree-variable: serve has made no socket" test ! -e "$T/socket.new"
}
if [ -x "$B/library-test" ]; then
	LD_LIBRARY_PATH=$B timeout 20 "$B/library-test" tree >"$T/out" 2>"$T/err"
	is "policy-tree-variable: the library" "0 0" "$? $(grep -c FAIL "$T/out")"
else
	skip "policy-tree-variable: the library" "this machine has no programs that use the library"
fi
if [ -e /etc/agentjail/agentjail.toml ]; then
	skip "policy-tree-variable: locked by the site" "this machine has its own /etc/agentjail/agentjail.toml"
else
	printf 'policies.lock = ["filesystem.rootfs"]\n' >"$T/site.toml"
	# shellcheck disable=SC2086
	{
		refused "policy-tree-variable: exec, locked by the site" "$WHY" $VARIABLE "$AJ" exec --config "$T/site.toml" -c "$SAY"
		refused "policy-tree-variable: session, locked by the site" "$WHY" $VARIABLE "$AJ" session --config "$T/site.toml"
		refused "policy-tree-variable: serve, locked by the site" "$WHY" $VARIABLE "$AJ" serve --config "$T/site.toml" --socket "$T/socket.new"
	}
fi
if [ "$ROOTFS" = "$(readlink -f "$B/rootfs/default")" ]; then
	text "policy-tree-variable: control: locked, without the variable" 0 '^RAN$' exec --policy locked -c "$SAY"
fi
AGENTJAIL_ROOTFS=$ROOTFS json "policy-tree-variable: control: not locked, and the result names it" 0 status=ok 'policy.options.0~^AGENTJAIL_ROOTFS=/' -- exec -c 1

finish
