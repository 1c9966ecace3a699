#!/bin/sh
# Policies whose text alone decides: locks, unknown and misspelt keys, contradictions, names that are no paths, and texts that are bombs.
# The unit tests know each key and each message; here it counts that a refusal means exit 2 and that nothing ran. No user id changes these.
. "$(dirname "$0")/../lib.sh"
. "$tests/e2e/policies"

# --- locked: every option that loosens ---
echo data >"$T/data"
for option in '--timeout 11s' '--timeout 1h' '--memory 257M' '--memory 4G' '--pids 9' '--builtins full' '--layer off' '--imports-checked run' '--allow-import pty' '--env A=1' \
	"--file $T/data" "--rootfs $ROOTFS"; do
	# shellcheck disable=SC2086
	refused "locked: $option" 'AJ005.*locked.toml locks that key' exec --policy locked $option -c "$SAY"
done
refused "locked: several at once, each is named" '--memory' exec --policy locked --memory 4G --timeout 1h --pids 100 -c "$SAY"
says "and the second" '--timeout: error AJ005'
says "and the third" '--pids: error AJ005'
for option in '--timeout 10s' '--timeout 1s' '--memory 128M' '--pids 8' '--builtins minimal' '--layer on' '--imports-checked before' '--allow-import json' '--limits best-effort'; do
	# shellcheck disable=SC2086
	text "locked: $option tightens" 0 '^RAN$' exec --policy locked $option -c "$SAY"
done
policy locked-command <<'X'
extends = "command"
lock = ["*"]
X
for option in '--network loopback' '--network host' "--bind $T/data:/data" '--env A=1'; do
	# shellcheck disable=SC2086
	refused "a locked command: $option" AJ005 run --policy-file "$T/p/locked-command.toml" $option -- echo RAN
done
text "control: the same command" 0 '^RAN$' run --policy-file "$T/p/locked-command.toml" --network none --timeout 10s -- echo RAN

# --- O30: weakening, unknown keys, misspelt keys, wrong types ---
policy weaker <<'X'
extends = "locked"
[limits]
wall = "1h"
X
refused "O30 a child of a locked policy" 'weaker.toml:3:1: error AJ005' exec --policy-file "$T/p/weaker.toml" -c "$SAY"
policy errors <<'X'
extends = "snippet"
netwrok = "none"
[limits]
wall = 30
memroy = "1G"
pids = 0
[python]
imports = ["json", "os; x", 7]
[process]
fork = true
X
refused "O30 every error is shown: an unknown key" 'errors.toml:2:1: error AJ002.*netwrok' exec --policy-file "$T/p/errors.toml" -c "$SAY"
says "O30 with a suggestion" 'did you mean `network`'
says "O30 a wrong type" 'errors.toml:4:1: error AJ003'
says "O30 what it may have meant" '"30s"'
says "O30 a misspelt key in a section" 'errors.toml:5:1: error AJ002'
says "O30 a value out of range" 'errors.toml:6:1: error AJ004'
says "O30 a bad item" 'errors.toml:8:20: error AJ004'
says "O30 an item of a wrong type" 'errors.toml:8:29: error AJ003'
says "O30 a contradiction" 'errors.toml:10:1: error AJ007'
says "O30 how many" '[0-9]+ errors: the run was refused'
printf '"limits.wall" = "1h"\n' | policy quoted
refused "O30 a quoted key is another key" AJ002 exec --policy-file "$T/p/quoted.toml" -c "$SAY"
printf '[limits]\nwall = "1s"\n[limits]\nwall = "1h"\n' | policy twice
refused "O30 a section twice" AJ001 exec --policy-file "$T/p/twice.toml" -c "$SAY"
printf 'extends = "./circle.toml"\n' | policy circle
refused "O30 a circle" 'AJ009.*circular' exec --policy-file "$T/p/circle.toml" -c "$SAY"

# --- O31: no variable is expanded, nor another user's home ---
# shellcheck disable=SC2016
for bind in '${HOME}/../..:/x' '$UNSET/x:/x' '~root/x:/x' '/a/../../etc:/x'; do
	printf 'extends = "command"\n[filesystem]\nbinds = ["%s"]\n' "$bind" | policy expand
	refused "O31 a bind of $bind" 'expand.toml:3:10: error AJ004' run --policy-file "$T/p/expand.toml" -- echo RAN
done
# shellcheck disable=SC2016
for env in 'X=${HOME}/../..' 'X=$UNSET' 'X=~root' 'X=$(id)' 'HOME'; do
	printf 'extends = "command"\n[process]\nenv = ["%s"]\n' "$env" | policy expand
	refused "O31 a variable of $env" 'expand.toml:3:8: error AJ004' run --policy-file "$T/p/expand.toml" -- echo RAN
done

# --- O32: contradictions ---
contradiction() { # NAME LINE, text on stdin
	policy contradiction
	refused "O32 $1" "contradiction.toml:$2:[0-9]+: error AJ007" run --policy-file "$T/p/contradiction.toml" -- echo RAN
}
contradiction "a bind uncovers a mask" 3 <<X
extends = "command"
[filesystem]
binds = ["$T/ws:/w/keys"]
masks = ["/w"]
X
contradiction "no network and an allow-list" 4 <<'X'
extends = "command"
[network]
mode = "none"
allow = ["pypi.org:443"]
X
contradiction "the host's network and its wall" 3 <<'X'
extends = "command"
[network]
mode = "host"
[require]
walls = ["network"]
X
printf 'extends = "command"\n[limits]\npids = 0\n' | policy zero
refused "O32 a limit of 0" 'zero.toml:3:1: error AJ004' run --policy-file "$T/p/zero.toml" -- echo RAN
policy lint <<X
extends = "command"
[filesystem]
binds = ["$T/ws:/w:rw"]
masks = ["/w/a/keys"]
X
text "O32 a mask below a writable bind is lint" 1 'AJ110' policy check --policy-file "$T/p/lint.toml"

# --- O34: a name is never a path ---
for name in ../p/weaker ../../tmp/evil "$T/p/quoted" "$T/cwd/evil.toml" evil.toml ./evil http://example.org/x file:///etc/passwd 'a b' '' . .. -x \
	'snippet/' '~/x' "$(printf 'a\nb')"; do
	refused "O34 --policy '$name'" '.' exec --policy "$name" -c "$SAY"
done
refused "O34 a file of that name in the working directory is no policy" 'AJ009' exec --policy evil -c "$SAY"
refused "O34 a file that is a URL" 'No such file' exec --policy-file http://example.org/x -c "$SAY"
refused "O34 a suggestion" 'did you mean `snippet`' exec --policy snippt -c "$SAY"
refused "O34 a name and a file" '--policy' exec --policy snippet --policy-file "$T/cwd/evil.toml" -c "$SAY"
text "control: the file by its path" 0 '^RAN$' exec --policy-file "$T/cwd/evil.toml" -c "$SAY"
text "control: and from here" 0 '^RAN$' exec --policy-file evil.toml -c "$SAY"
for extends in ../p/x ./../p/x http://example.org/x ./a/../../x; do
	printf 'extends = "%s"\n' "$extends" | policy names
	refused "O34 extends $extends" 'names.toml:1:1: error AJ009' exec --policy-file "$T/p/names.toml" -c "$SAY"
done

# --- bombs: an error, before any limit of time ends it ---
bomb() { # NAME FILE
	refused "a bomb: $1" 'error AJ0' exec --policy-file "$2" -c "$SAY"
}
truncate -s 100M "$T/p/big.toml"
bomb "100 MB" "$T/p/big.toml"
"$PY" -I -S - "$T/p" <<'X'
import sys
def put(name, text):
    with open(sys.argv[1] + "/" + name + ".toml", "w") as f:
        f.write(text)
put("arrays", "a = " + "[" * 200000)
put("tables", "a = " + "{a = " * 40000)
put("dots", "[" + "a." * 100000 + "a]")
put("nul", "a = 1\n\0\n")
put("keys", "".join("k%x=1\n" % i for i in range(15000)))
put("sections", "".join("[limits%x]\n" % i for i in range(18000)))
put("items", "[python]\nimports = [" + "'a'," * 60000 + "]")
for i in range(10000):
    put("chain%d" % i, 'extends = "./chain%d.toml"\n# %d\n' % (i + 1, i))
X
for bomb in arrays tables dots nul keys sections items chain0; do
	bomb $bomb "$T/p/$bomb.toml"
done
cp "$T/p/keys.toml" "$T/cwd/agentjail-policy.toml"
refused "a bomb in the working directory" 'and [0-9]+ more' exec --local-policy -c "$SAY"
rm "$T/cwd/agentjail-policy.toml"
printf 'a = "\033[2J\033]0;x\007\302\233\n' | policy escape
refused "what a file says does not reach the terminal" AJ001 exec --policy-file "$T/p/escape.toml" -c "$SAY"
silent "no escape is printed" "$(printf '\033')"
cd /
finish
