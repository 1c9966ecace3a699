#!/bin/sh
# Policies from the outside: presets, who could have written a file, the working directory's policy, and sites; policy_texts.sh has the rest.
# The unit tests know each key and each message; here it counts that a refusal means exit 2 and that nothing ran.
. "$(dirname "$0")/../lib.sh"
. "$tests/e2e/policies"

# --- presets ---
for preset in snippet minimal smolagents data-analysis text utility science locked; do
	json "$preset runs a snippet" 0 status=ok value=42 "stdout=RAN\n" -- exec --policy $preset -c "$SAY
42"
	text "$preset refuses subprocess" 126 "not allowed" exec --policy $preset -c 'import subprocess'
	text "$preset refuses processes" 126 "not allowed" exec --policy $preset -c 'import subprocess'
done
text "minimal has no imports" 126 "not allowed" exec --policy minimal -c 'import math'
text "science has math" 0 '^3$' exec --policy science -c 'import math; math.floor(3.5)'
text "command runs a command" 0 '^RAN$' run --policy command -- echo RAN
text "offline-build runs a command in its workspace" 0 '^/workspace$' run --policy offline-build --workspace "$T/ws" -- sh -c 'touch made && pwd'
if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 "$T/roots"
	text "a bind of root's: the cause and the remedy" 1 'hint: `.*/roots` belongs to user id 0 \(mode 755\), and the jail writes as user id [0-9]+: .*chown' run --bind "$T/roots:/w:rw" -- touch /w/x
	json "as JSON, too" 1 status=error 'hint~belongs to user id 0' -- run --bind "$T/roots:/w:rw" -- touch /w/x
	text "a run that goes well" 0 '' run --bind "$T/roots:/w:rw" -- true
	silent "has no hint" 'hint'
	chown 65534 "$T/roots"
	text "after the remedy it can write" 1 '^made$' run --bind "$T/roots:/w:rw" -- sh -c 'touch /w/x && echo made; exit 1'
	silent "and has no hint" 'hint'
else
	mkdir -m 555 "$T/closed"
	printf 'extends = "command"\n[filesystem]\nworkspace = "read-write"\nprotect = []\n' >"$T/p/bare.toml"
	text "a workspace without a write bit: the cause and the remedy" 1 'hint: the workspace belongs to user id .*chmod u.w' run --policy-file "$T/p/bare.toml" --workspace "$T/closed" -- touch x
fi
own=$T/me/.config/agentjail/policies
mkdir -p "$own" "$T/p/named"
printf 'extends = "command"\nprocess.env = ["WHOSE=mine"]\n' | tee "$own/mine.toml" >"$own/command.toml"
SHOW='echo "whose ${WHOSE:-not mine}"'
# shellcheck disable=SC2016
HOME=$T/me text "a policy of one's own by its name" 0 '^whose mine$' run --policy mine -- sh -c "$SHOW"
HOME=$T/me text "which hides no built-in one" 0 '^whose not mine$' run --policy command -- sh -c "$SHOW"
printf 'extends = "mine"\n' | tee "$own/heir.toml" "$T/p/of-mine.toml" >"$T/p/named/of-site.toml"
# shellcheck disable=SC2016
HOME=$T/me text "one's own policy extends another of one's own" 0 '^whose mine$' run --policy heir -- sh -c "$SHOW"
# shellcheck disable=SC2016
HOME=$T/me text "and a file does" 0 '^whose mine$' run --policy-file "$T/p/of-mine.toml" -- sh -c "$SHOW"
printf 'policies.path = ["%s"]\n' "$T/p/named" >"$T/named.toml"
HOME=$T/me refused "a policy of the site does not" 'there is no policy .mine.' run --config "$T/named.toml" --policy of-site -- echo RAN
printf 'extends = "command"\n' >"$T/p/named/mine.toml"
chmod 311 "$T/p/named"
# shellcheck disable=SC2016
HOME=$T/me text "one of one's own hides none in a folder that cannot be listed" 0 '^whose not mine$' run --config "$T/named.toml" --policy mine -- sh -c "$SHOW"
[ "$(id -u)" = 0 ] || text "and policy list says that it cannot be listed" 125 'list the policies in .*/p/named.: Permission denied' policy list --config "$T/named.toml"
chmod 755 "$T/p/named"
rm "$T/p/named/mine.toml"
printf 'extends = "itself"\n' >"$own/itself.toml"
HOME=$T/me refused "nor does one extend itself" 'is circular' run --policy itself -- echo RAN
rm "$own/itself.toml"
HOME=$T/me text "policy list has it" 0 '^  mine .*/me/.config/agentjail/policies/mine.toml' policy list
printf 'policies.files = false\n' >"$T/no-files.toml"
HOME=$T/me refused "a site without files has none" 'policies.files = false' run --config "$T/no-files.toml" --policy mine -- echo RAN
HOME=$T/me refused "no jail writes where they are" 'cannot be bound writable: .*/me/.config/agentjail/policies' run --bind "$T/me/.config:/c:rw" -- echo RAN
mkdir -p "$T/none/.config"
HOME=$T/none refused "or could be" 'cannot be bound writable: .*/none/.config/agentjail/policies' run --bind "$T/none/.config:/c:rw" -- echo RAN
mv "$T/me/.config" "$T/me/dotfiles" && ln -s dotfiles "$T/me/.config"
HOME=$T/me refused "one behind a symlink is not taken: that may lead into a workspace" 'a component of its path is a symlink' run --policy mine -- echo RAN
HOME=$T/me refused "a name is no path" 'not a policy.s name' run --policy ../policies/mine -- echo RAN
check "and the workspace is the folder" test -e "$T/ws/made"
refused "offline-build needs a workspace" '--workspace' run --policy offline-build -- echo RAN
text "coding-agent" 0 '^RAN$' run --policy coding-agent --workspace "$T/ws" -- echo RAN
text "coding-agent does without a network" 0 '^RAN$' run --policy coding-agent --network none --workspace "$T/ws" -- echo RAN
mkdir "$T/lower"
: >"$T/lower/there"
policy overlay <<'X'
extends = "command"
filesystem.workspace = "overlay"
X
text "an overlay takes what the command writes" 0 '^RAN$' run --policy-file "$T/p/overlay.toml" --workspace "$T/lower" -- sh -c 'rm there && echo RAN'
check "and the workspace has it still" test -e "$T/lower/there"

# --- who could have written it ---
printf 'extends = "snippet"\n' | policy mine
chmod 666 "$T/p/mine.toml"
refused "a policy that others can write" 'AJ008.*writable by others' exec --policy-file "$T/p/mine.toml" -c "$SAY"
chmod 644 "$T/p/mine.toml"
text "control: one that they cannot" 0 '^RAN$' exec --policy-file "$T/p/mine.toml" -c "$SAY"
ln -s "$T/p/mine.toml" "$T/cwd/link.toml"
refused "a link out of its folder" 'AJ008.*out of its folder' exec --policy-file "$T/cwd/link.toml" -c "$SAY"
mkfifo "$T/p/fifo.toml"
refused "a FIFO" 'AJ008.*not a regular file' exec --policy-file "$T/p/fifo.toml" -c "$SAY"
chmod 777 "$T/p"
refused "a folder that others can write" AJ008 exec --policy-file "$T/p/mine.toml" -c "$SAY"
chmod 755 "$T/p"
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$T/p/mine.toml"
	refused "a policy of somebody else" 'AJ008.*user id 12345' exec --policy-file "$T/p/mine.toml" -c "$SAY"
	chown 0:12345 "$T/p/mine.toml"
	chmod 664 "$T/p/mine.toml"
	refused "a policy that a group can write" AJ008 exec --policy-file "$T/p/mine.toml" -c "$SAY"
	chown 0:0 "$T/p/mine.toml"
else
	skip "owners and groups" "only root can give files away"
fi
hash=$(sha256sum "$T/cwd/evil.toml" | cut -d' ' -f1)
json "the bytes are named" 0 "policy.files.0.sha256=$hash" -- exec --policy-file "$T/cwd/evil.toml" -c 1
aj run --json --env AJ_CANARY_SECRET -- true # aj itself looks for the secret
is "a variable that is passed on is named without its value" 0 "$rc"
says "and named" '"--env=AJ_CANARY_SECRET"'

# --- the working directory's policy ---
local_policy() { # text on stdin
	cat >"$T/cwd/agentjail-policy.toml"
}
printf '[limits]\nwall = "1s"\n' | local_policy
json "the working directory's policy tightens" 124 status=timeout 'reason~1000 ms' -- exec --local-policy -c 'while True: pass'
json "also a named one" 124 status=timeout 'reason~1000 ms' -- exec --local-policy --policy science -c 'while True: pass'
for text in '[limits]\nwall = "1h"' '[python]\nlayer = false' '[network]\nmode = "host"' '[python]\nextend_imports = ["pty"]' 'extends = "command"' \
	'[filesystem]\nbinds = ["/etc:/x"]' '[process]\nuid = 1'; do
	# shellcheck disable=SC2059
	printf "$text\n" | local_policy
	refused "and may not loosen: $text" 'agentjail-policy.toml:[12]:1: error AJ010' exec --local-policy -c "$SAY"
done
echo '[' | local_policy
refused "one that is broken is not ignored" 'agentjail-policy.toml:1:[0-9]+: error AJ001' exec --local-policy -c "$SAY"
rm "$T/cwd/agentjail-policy.toml"
ln -s nothing "$T/cwd/agentjail-policy.toml"
refused "nor one that leads to nothing" AJ008 exec --local-policy -c "$SAY"
rm "$T/cwd/agentjail-policy.toml"
if [ "$(id -u)" = 0 ]; then
	: | local_policy
	chown 12345 "$T/cwd/agentjail-policy.toml"
	refused "nor one of somebody else" AJ008 exec --local-policy -c "$SAY"
	rm "$T/cwd/agentjail-policy.toml"
fi

# --- a site ---
if [ -e /etc/agentjail/agentjail.toml ]; then
	skip "--config" "this machine has its own /etc/agentjail/agentjail.toml"
else
	mkdir "$T/site"
	cat >"$T/site.toml" <<X
[policies]
path = ["$T/site"]
lock = ["network", "limits.memory"]
[ceilings.limits]
wall = "20s"
pids = 64
[ceilings.python]
imports = ["json", "math"]
X
	printf '[ceilings.limits]\nwall = "300ms"\n' >"$T/low.toml"
	printf 'extends = "snippet"\n[limits]\nmemory = "700M"\n[python]\nimports = ["json"]\n' >"$T/site/ours.toml"
	cp "$T/site/ours.toml" "$T/p/ours.toml"
	text "a policy of the site may loosen what the site locks" 0 '^RAN$' exec --config "$T/site.toml" --policy ours -c "$SAY"
	refused "a file with the same bytes may not" 'ours.toml:3:1: error AJ005' exec --config "$T/site.toml" --policy-file "$T/p/ours.toml" -c "$SAY"
	refused "nor an option" '--memory: error AJ005' exec --config "$T/site.toml" --memory 1G -c "$SAY"
	refused "nor the network of a command" '--network: error AJ005' run --config "$T/site.toml" --network host -- echo RAN
	refused "an option beyond a ceiling" '--timeout: error AJ006' exec --config "$T/site.toml" --timeout 21s -c "$SAY"
	text "control: up to it" 0 '^RAN$' exec --config "$T/site.toml" --timeout 20s -c "$SAY"
	text "an import of the ceiling" 0 '^RAN$' exec --config "$T/site.toml" --allow-import json -c "$SAY"
	text "one beyond it is no longer there" 126 'not allowed' exec --config "$T/site.toml" -c 'import re'
	refused "and cannot be added" '--allow-import: error AJ006' exec --config "$T/site.toml" --allow-import re -c "$SAY"
	printf '[ceilings.network]\nallow = ["*.docker.internal:5432", "0.0.0.0/1:5432", "host:80"]\n' >"$T/hosts.toml"
	refused "no wildcard and no network of a ceiling has the host's loopback" '--allow-host: error AJ006' run --config "$T/hosts.toml" --allow-host host:5432 -- echo RAN
	refused "nor by its other name" '--allow-host: error AJ006' run --config "$T/hosts.toml" --allow-host host.docker.internal:5432 -- echo RAN
	text "its own item has it" 0 '^RAN$' run --config "$T/hosts.toml" --allow-host host:80 -- echo RAN
	printf '[limits]\nwall = "1h"\n' | policy long
	refused "a file beyond a ceiling" 'long.toml:2:1: error AJ006' exec --config "$T/site.toml" --policy-file "$T/p/long.toml" -c "$SAY"
	json "a command is lowered" 124 status=timeout 'reason~ 300 ms' -- run --config "$T/low.toml" -- sleep 20
	printf '[policies]\nlokc = ["*"]\n' >"$T/bad-site.toml"
	refused "a misspelt site lets nothing run" 'bad-site.toml:2:1: error AJ002' exec --config "$T/bad-site.toml" -c "$SAY"
	chmod 666 "$T/bad-site.toml"
	refused "nor one that others can write" AJ008 exec --config "$T/bad-site.toml" -c "$SAY"
	refused "nor one that is not there" AJ008 exec --config "$T/absent.toml" -c "$SAY"

	printf 'policies.lock = ["filesystem"]\n' >"$T/tree.toml"
	AGENTJAIL_ROOTFS=$ROOTFS refused "a variable is no way around the lock of the tree" 'AGENTJAIL_ROOTFS: error AJ005' exec --config "$T/tree.toml" -c "$SAY"
	printf 'policies.lock = ["filesystem"]\nrootfs.path = "%s"\n' "$(dirname "$ROOTFS")" >"$T/tree.toml"
	mkdir "$T/default"
	ln -s "$ROOTFS/tree" "$T/default/tree"
	cd "$T" || exit 1
	refused "nor is a folder that is called like the tree" '--rootfs: error AJ005' exec --config "$T/tree.toml" --rootfs default -c "$SAY"
	refused "under a policy that locks it neither" '--rootfs: error AJ005' exec --policy locked --rootfs default -c "$SAY"
	text "control: without a lock it is a folder" 0 '^RAN$' exec --rootfs default -c "$SAY"
	cd "$OLDPWD" || exit 1
	text "control: the site names its trees" 0 '^RAN$' exec --config "$T/tree.toml" -c "$SAY"

	# /etc/agentjail/agentjail.toml, in a mount namespace with an /etc of its own
	cat >"$T/etc.sh" <<'X'
set -eu
mount -t tmpfs -o mode=755 etc /etc
mkdir /etc/agentjail
cat >/etc/agentjail/agentjail.toml
shift
exec "$@"
X
	LOCK='policies.lock = ["limits"]'
	site_of_machine() { # CONFIGURATION ARGS...
		printf '%s\n' "$1" >"$T/etc.toml"
		shift
		timeout -k 5 60 unshare --user --map-root-user --mount sh "$T/etc.sh" - "$AJ" "$@" <"$T/etc.toml" >"$T/out" 2>"$T/err"
		rc=$?
	}
	site_of_machine "$LOCK" exec --dry-run --timeout 5s -c 1
	if [ "$rc" != 0 ]; then
		skip "/etc/agentjail/agentjail.toml" "no /etc of its own can be made here: $(shown)"
	else
		ok "the machine's site is read"
		site_of_machine "$LOCK" exec --dry-run --timeout 1h -c 1
		is "and obeyed" 2 "$rc"
		says "by name" '/etc/agentjail/agentjail.toml:1:[0-9]+ locks that key'
		site_of_machine "$LOCK" exec --dry-run --config "$T/site.toml" -c 1
		is "--config does not replace it" 2 "$rc"
		says "and it says so" 'AJ005.*no option replaces that file'
		site_of_machine '[' exec --dry-run -c 1
		is "a broken one is no site without rules" 2 "$rc"
		says "its place is shown" '/etc/agentjail/agentjail.toml:1:'
	fi
fi
cd /
finish
