#!/bin/sh
# Configuration of a run from outside of its command line: a variable, a file of the working directory. Neither loosens what is locked.
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
	timeout -k 5 60 "$@" >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ "$rc" = 2 ] && grep -qaE -e "$regex" "$T/err" && ! grep -qa RAN "$T/out"; then ok "$name"; else fail "$name" "want exit 2 and \`$regex\`: $(shown)"; fi
}

# --- AGENTJAIL_ROOTFS ---
printf 'extends = "command"\nlock = ["filesystem"]\n[filesystem]\nrootfs = "default"\n' >"$T/command.toml"
VARIABLE="env AGENTJAIL_ROOTFS=$T/elsewhere"
WHY='AGENTJAIL_ROOTFS: .*filesystem.rootfs.*locks that key'
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
	LD_LIBRARY_PATH=$B timeout 60 "$B/library-test" tree >"$T/out" 2>"$T/err"
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

# --- agentjail-policy.toml ---
mkdir -m 777 "$T/project"
mkdir "$T/project/tests" "$T/project/sub"
echo fails >"$T/project/tests/test"
chmod -R a+rwX "$T/project"
cd "$T/project" || exit 1
printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\n' >"$T/work.toml"
# One run leaves a policy behind that hides a test from the next one.
plant() { # TEXT: by a jail, with the rights that it has
	rm -f agentjail-policy.toml
	aj run --policy-file "$T/work.toml" --workspace "$T/project" -- sh -c 'printf "$1" >agentjail-policy.toml' sh "$1"
	[ "$(id -u)" != 0 ] || chown 0:0 agentjail-policy.toml # the worst case: nothing tells whose it is
	chmod 755 .
}
TEST='test ! -s /workspace/tests/test && echo ALL PASS'
hidden() { # the next run, by somebody who trusts the policy
	aj run "$@" --policy-file "$T/work.toml" --workspace "$T/project" -- sh -c "$TEST"
}
plant '[filesystem]\nmasks = ["/workspace/tests"]\n'
if [ -e agentjail-policy.toml ]; then ok "policy-planted: control: a jail can write one"; else fail "policy-planted: control: a jail can write one" "$(shown)"; fi
hidden
silent "policy-planted: it hides no test" 'ALL PASS'
is "policy-planted: the test fails as it should" 1 "$rc"
says "policy-planted: and is named as not used" "^agentjail: policy: not using $(pwd -P)/agentjail-policy.toml"
hidden --local-policy
is "policy-planted-asked: in the run's own workspace it is refused" 2 "$rc"
says "policy-planted-asked: with the file's name and the folder's" "$(pwd -P)/agentjail-policy.toml. lies below .*project., which the jail may write"
aj run --local-policy --bind "$T/project:/p:rw" -- true
is "policy-planted-asked: also below a writable bind" 2 "$rc"
refused "policy-planted-asked: masks are refused by name" "$(pwd -P)/agentjail-policy.toml:2:1: error AJ010.*filesystem.masks" "$AJ" run --local-policy -- echo RAN
for text in '[filesystem]\nmasks = ["/usr/bin"]\n' '[process]\nenv = []\n' '[filesystem]\nproc = false\n'; do
	# shellcheck disable=SC2059
	printf "$text" >agentjail-policy.toml
	printf 'extends = "command"\n[process]\nenv = ["STRICT=1"]\n' >"$T/strict.toml"
	refused "policy-planted-asked: what the jail finds there is not its business: $text" 'AJ010.*could hide a test' "$AJ" run --local-policy --policy-file "$T/strict.toml" -- echo RAN
done
for text in '[' 'extends = "command"' '\377\000' '[limits]\nwall = "9h"'; do
	# shellcheck disable=SC2059
	printf "$text\n" >agentjail-policy.toml
	text "policy-planted: not read: $text" 0 '^RAN$' exec -c "$SAY"
	refused "policy-planted-asked: refused: $text" "$(pwd -P)/agentjail-policy.toml.*(error AJ0|AJ009)" "$AJ" exec --local-policy -c "$SAY"
done
rm agentjail-policy.toml
mkfifo agentjail-policy.toml
text "policy-planted: a FIFO is not opened" 0 '^RAN$' exec -c "$SAY"
refused "policy-planted-asked: a FIFO is refused at once" 'agentjail-policy.toml. is not a regular file' "$AJ" exec --local-policy -c "$SAY"
rm agentjail-policy.toml
ln -s tests/test agentjail-policy.toml
text "policy-planted: a link is not followed" 0 '^RAN$' exec -c "$SAY"
rm agentjail-policy.toml
refused "policy-planted-asked: one that is not there" 'agentjail-policy.toml' "$AJ" exec --local-policy -c "$SAY"
printf '[limits]\nwall = "1s"\n' >agentjail-policy.toml
json "policy-planted: without being asked for it limits nothing" 0 status=ok 'policy.files!agentjail-policy' -- exec -c 'import time
time.sleep(1.3)'
json "policy-planted-asked: a limit of it holds" 124 status=timeout 'reason~1000 ms' 'policy.files~project/agentjail-policy.toml' -- exec --local-policy -c 'while True: pass'
says "policy-planted-asked: and it is named" "^agentjail: policy: using $(pwd -P)/agentjail-policy.toml"
printf 'import time\ntime.sleep(1.3)\n"d" + "one"\n' >"$T/sleep.py"
timeout 60 "$AJ" session <"$T/sleep.py" >"$T/out" 2>"$T/err"
says "policy-planted: a session does not read it" "^'done'"
timeout 60 "$AJ" session --local-policy <"$T/sleep.py" >"$T/out" 2>"$T/err"
silent "policy-planted-asked: a session that asks for it has its limit" "^'done'"
text "policy-planted: policy show does not use it" 0 'not using .*agentjail-policy.toml' policy show
silent "policy-planted: and shows what a run has" 'wall = "1s"'
text "policy-planted-asked: policy show with the option" 0 'wall = "1s"' policy show --local-policy
text "policy-planted-asked: policy explain, too" 0 'limits.wall = "1s"' policy explain --local-policy
printf '[' >agentjail-policy.toml
if [ ! -e /etc/agentjail/agentjail.toml ]; then
	printf 'policies.local = true\n' >"$T/local-site.toml"
	timeout 60 "$AJ" serve --config "$T/local-site.toml" --socket "$T/socket.local" --parked 0 >"$T/out" 2>"$T/err" &
	serve=$!
	await test -S "$T/socket.local"
	check "policy-planted: the service does not read it, whatever the site says" test -S "$T/socket.local"
	kill "$serve"
	wait "$serve"
	refused "policy-planted-asked: by the site" 'agentjail-policy.toml:1:.*AJ001' "$AJ" exec --config "$T/local-site.toml" -c "$SAY"
	printf '[limits]\nwall = "1s"\n' >agentjail-policy.toml
	aj run --config "$T/local-site.toml" --policy-file "$T/work.toml" --workspace "$T/project" -- sh -c 'sleep 1.2; echo RAN'
	is "policy-planted-asked: by the site, in the run's own workspace it is left out" 0 "$rc"
	says "policy-planted-asked: and that is said" 'not using .*agentjail-policy.toml: it lies below .*project, which the jail may write'
else
	skip "policy-planted-asked: by the site" "this machine has its own /etc/agentjail/agentjail.toml"
fi
cd /
finish
