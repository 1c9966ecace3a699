#!/bin/sh
# agentjail policy: what it lists, shows, checks, compares and answers, and how it exits.
# It asks the program about files of its own in $T; whether answers are true is for explain.sh.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 1
# A folder that nobody else can write, for the files of whoever runs this.
P=$T/policies
mkdir -m 755 "$P" "$T/site"
p() { aj policy "$@"; }
presets=$(aj policy list --json; "$PY" -I -S -c 'import json, sys; print(*[p["name"] for p in json.load(open(sys.argv[1]))])' "$T/out")
is "the presets are policies/*.toml" "$(cd "$tests/../policies" && ls | sed -n 's/\.toml$//p' | sort)" "$(printf '%s\n' $presets | sort)"

# --- list ---
text "list" 0 '^\* snippet +built-in +exec ' policy list
is "list: none is refused when run" 0 "$(grep -c refused "$T/out")"
text "list: the default of run" 0 '^\* command +built-in +run ' policy list
cat >"$T/site.toml" <<-E
	[default]
	exec = "mine"
	[policies]
	path = ["$T/site", "$P"]
	E
echo 'description = "first"' >"$T/site/mine.toml"
echo 'description = "second"' >"$P/mine.toml"
printf 'description = "text hidden"\nextends = "text"\n' >"$P/text.toml"
echo 'x = 1' >"$T/site/not a name.toml"
text "list: the site's folders" 0 "^\\* mine +$T/site/mine.toml +exec +first" policy list --config "$T/site.toml"
silent "a hidden one is not listed" second
text "list: a built-in policy that is hidden" 0 "^  text +$P/text.toml +text hidden" policy list --config "$T/site.toml"
printf 'description = "a\\u001b[31m\\nb"\n' >"$P/esc.toml"
p list --config "$T/site.toml"
silent "terminal control characters are not passed on" "$(printf '\033')"
rm "$P/esc.toml"
echo 'oops = 1' >"$P/broken.toml"
text "list: a broken one with its error" 2 "broken.toml:1:1: error AJ002" policy list --config "$T/site.toml"
text "list --json has it too" 2 '"name":"broken".*"ok":false' policy list --json --config "$T/site.toml"
rm "$P/broken.toml"

# --- show: loads again to the same ---
without_origins() { sed 's/ *#.*//' "$1" | grep -v '^$'; }
# A list of two origins has a line for each item.
one_line() { tr -s ' \n' ' ' <"$1" | sed 's/,* \]/ ]/g; s/\[ /[/g; s/ \]/]/g'; }
for name in $presets; do
	p show "$name"
	cp "$T/out" "$P/$name-shown.toml"
	without_origins "$T/out" >"$T/first"
	p show --policy-file "$P/$name-shown.toml"
	without_origins "$T/out" >"$T/second"
	is "show $name: loads to the same values" "$(one_line "$T/first")" "$(one_line "$T/second")"
	text "diff finds no difference, $name" 0 '^no difference$' policy diff "$name" --policy-file "$P/$name-shown.toml"
	p show --source "$name"
	check "show --source $name" cmp "$T/out" "$tests/../policies/$name.toml"
done
text "show has an origin for each value" 0 '^wall = "30s" # built-in snippet.toml:[0-9]+:1$' policy show snippet
text "show: an option" 0 '^mode = "none" # --network$' policy show coding-agent --network none
text "and the hosts go with the network" 0 '^allow = \[\] # --network$' policy show coding-agent --network none
text "show: locks" 0 '^lock = \["\*"\] # built-in locked.toml$' policy show locked
printf 'extends = "text"\nlock = ["network"]\n[python]\nextend_imports = ["numpy"]\n[process]\nenv = ["A=\\u001b\\"x"]\n' >"$P/own.toml"
text "show: a list of two origins" 0 "^  \"numpy\", # $P/own.toml:4:19$" policy show --policy-file "$P/own.toml"
says "escaped" '^env = \["A=\\u001b\\"x"\]'
odd=$P/$(printf 'a\nlimits.toml')
cp "$P/own.toml" "$odd"
p show --policy-file "$odd"
silent "a file's name is no line of its own" '^limits'
rm "$odd"
text "a name is never a path" 2 'for a file use --policy-file' policy show "$P/own.toml"
text "no such policy" 2 'did you mean `snippet`' policy show snipet
text "show --json" 0 '"limits.wall":\{"file":"built-in snippet.toml","line":[0-9]+,"column":1\}' policy show --json snippet

# --- schema ---
p schema
cp "$T/out" "$T/schema.json"
check "the schema is JSON" expect properties.network.properties.mode.enum.0=none additionalProperties=false properties.limits.properties.pids.default=32
p schema --site
cp "$T/out" "$T/site.schema.json"
check "so is that of sites" expect 'properties.ceilings.properties.limits.properties.wall.anyOf.0.type=string'
text "schema --text" 0 '^limits.memory$' policy schema --text
# One process for all files, since the package takes half a second to load: a line for each, `yes` or what is wrong.
SCHEMA='
import json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(77)
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    doc = json.load(open(path))
    print([e.message for e in validator.iter_errors(doc.get("policy", doc))] or "yes")
'
# Not a dependency: whichever Python has it.
PYS=python3
$PYS -c "import jsonschema" 2>/dev/null || PYS=$PY
for name in $presets; do
	p show --json "$name"
	cp "$T/out" "$T/$name.shown.json"
done
n=0
for bad in '{"netwrok":{}}' '{"network":{"mode":"maybe"}}' '{"limits":{"pids":0}}' '{"limits":{"wall":"30"}}' '{"limits":{"wall":30}}' \
	'{"python":{"imports":["a b"]}}' '{"python":{"imports":[],"extend_imports":[]}}' '{"process":{"uid":0}}' '{"lock":["A"]}'; do
	n=$((n + 1))
	echo "$bad" >"$T/$n.bad.json"
done
echo '{"policies":{"path":["/a"]},"ceilings":{"limits":{"wall":"1h"},"network":{"mode":"none"}}}' >"$T/good.json"
echo '{"ceilings":{"filesystem":{"rootfs":"host"}}}' >"$T/bad.json"
against() { # SCHEMA FILE...: leaves $rc and what is said of each file in $T/said
	(cd "$T" && "$PYS" -c "$SCHEMA" "$@") >"$T/said" 2>"$T/err"
	rc=$?
}
# shellcheck disable=SC2046
against schema.json $(printf '%s.shown.json ' $presets) $(seq -f %g.bad.json $n)
if [ $rc = 77 ]; then
	skip "policies against the schema" "python3-jsonschema is not there"
else
	for name in $presets $(seq -f %g.bad $n); do
		read -r said
		case $name in
		*.bad) check "and not $(cat "$T/$name.json")" test "${said#[}" != "$said" ;;
		*) is "the schema takes $name" yes "$said" ;;
		esac
	done <"$T/said"
	against site.schema.json good.json bad.json
	is "the site's schema takes a site" yes "$(head -n 1 "$T/said")"
	check "and no ceiling without an order" grep -q '^\[' "$T/said"
fi

# --- check ---
text "check: every preset is clean" 0 '^snippet: clean$' policy check
is "and no other line" "" "$(grep -v 'clean$' "$T/out")"
finds() { # NAME RC CODE, the policy on standard input
	cat >"$P/case.toml"
	text "check: $1" "$2" "case.toml:[0-9]+:[0-9]+: (error|warning) $3: " policy check --policy-file "$P/case.toml"
}
finds syntax 2 AJ001 <<-'E'
	a = = 1
	E
finds "an unknown key" 2 AJ002 <<-'E'
	[network]
	mod = "none"
	E
finds "a type" 2 AJ003 <<-'E'
	[limits]
	wall = 3
	E
finds "a value" 2 AJ004 <<-'E'
	[limits]
	wall = "1x"
	E
finds "a lock" 2 AJ005 <<-'E'
	extends = "locked"
	[limits]
	wall = "1h"
	E
finds "a contradiction" 2 AJ007 <<-'E'
	[process]
	fork = true
	E
finds "extends" 2 AJ009 <<-'E'
	extends = "nothing-of-the-kind"
	E
finds "a dangerous module" 1 AJ101 <<-'E'
	[python]
	imports = ["ctypes"]
	E
# The layer's own list of modules that are an exit, but for those of which it shows no name, or harmless names alone; the lint warns of
# exactly these. The functions of timeit have replacements.
aj exec --layer off -c 'from agentjail.rail.hidden import DANGEROUS_ORIGINS, HIDDEN
from agentjail.rail.shown import SHOWN
hidden = {module for module, name in HIDDEN if name == "*" and "." not in module}
print("imports =", sorted(DANGEROUS_ORIGINS | hidden))
for name in sorted(DANGEROUS_ORIGINS - hidden - set(SHOWN) - {"timeit"}): print(name)'
(echo '[python]' && head -n 1 "$T/out") >"$P/case.toml"
tail -n +2 "$T/out" >"$T/exits"
check "check: the layer knows exits" grep -qx subprocess "$T/exits"
aj policy check --policy-file "$P/case.toml"
is "check: the lint warns of the exits that the layer knows" "$(cat "$T/exits")" \
	"$(sed -n 's/.* warning AJ101: the module `\([a-z_]*\)`.*/\1/p' "$T/out" | LC_ALL=C sort)"
finds "a star" 1 AJ102 <<-'E'
	[python]
	imports = ["numpy.*"]
	E
finds "a secret" 1 AJ103 <<-'E'
	[process]
	env = ["API_TOKEN=abc"]
	E
finds "builtins" 1 AJ104 <<-'E'
	[python]
	builtins = "full"
	E
finds "the host's network" 1 AJ105 <<-'E'
	extends = "command"
	[network]
	mode = "host"
	E
finds "a network without a socket" 2 AJ007 <<-'E'
	[network]
	mode = "host"
	E
finds "no limit" 1 AJ107 <<-'E'
	[limits]
	memory = "none"
	E
finds "a whole folder" 1 AJ108 <<-'E'
	[filesystem]
	binds = ["/etc:/host"]
	E
finds "keys" 1 AJ109 <<-'E'
	[filesystem]
	binds = ["/home/me/.ssh:/keys"]
	E
finds "a mask in a writable bind" 1 AJ110 <<-'E'
	[filesystem]
	binds = ["/srv/work:/work:rw"]
	masks = ["/work/secret"]
	E
finds "a cloud's credentials" 1 AJ112 <<-'E'
	[network]
	mode = "allow"
	allow = ["169.254.0.0/16:80"]
	[process]
	exec = true
	E
printf 'extends = "offline-build"\n[filesystem]\nworkspace = "overlay"\n' >"$P/overlay.toml"
finds "a mask over all programs" 2 AJ007 <<-'E'
	[filesystem]
	masks = ["/usr"]
	E
says "and not of a damaged tree" 'the mask `/usr` would hide every program'
finds "a policy that extends itself" 2 AJ009 <<-'E'
	extends = "case"
	E
says "by name" 'the policy `case` extends itself'
echo 'extends = "round"' >"$P/round.toml"
text "check: so does one of the site's folders" 2 "round.toml:1:1: error AJ009: the policy .round. extends itself" policy check --config "$T/site.toml" round
rm "$P/round.toml"
for masked in /usr/bin /usr/lib/python3.11; do
	printf '[filesystem]\nmasks = ["%s"]\n' "$masked" >"$P/case.toml"
	[ ! -d "$ROOTFS/tree$masked" ] || text "a mask over $masked: no damaged tree" 125 "the policy hides .$masked. \\(filesystem.masks\\)" exec --policy-file "$P/case.toml" -c 1
	silent "nothing else is blamed, $masked" 'damaged|does not fit'
done
printf 'extends = "command"\n[filesystem]\nmasks = ["/usr/bin"]\n' >"$P/case.toml"
text "nor for a command" 127 'the policy hides ./usr/bin. ' run --policy-file "$P/case.toml" -- ls
printf '[limits]\nwall = "2h"\n' >"$P/case.toml"
printf '[ceilings.limits]\nwall = "1h"\n' >"$T/ceiling.toml"
text "check: a ceiling" 2 'case.toml:2:1: error AJ006' policy check --policy-file "$P/case.toml" --config "$T/ceiling.toml"
chmod o+w "$P/case.toml"
text "check: a file that others can write" 2 'error AJ008' policy check --policy-file "$P/case.toml"
mkdir -m 755 "$T/local"
printf '[limits]\nwall = "2h"\n' >"$T/local/agentjail-policy.toml"
(cd "$T/local" && timeout 60 "$AJ" policy show --local-policy >"$T/out" 2>"$T/err") && fail "the working directory's may only tighten"
says "AJ010 for the working directory's" 'agentjail-policy.toml:2:1: error AJ010'
p check --codes
for code in 001 002 003 004 005 006 007 008 009 010 101 102 103 104 105 107 108 109 110 112; do
	says "check --codes has AJ$code" "^AJ$code  "
done
odd=$P/$(printf 'a\377.toml')
echo 'oops' >"$odd"
text "check --json: a file whose name is not UTF-8 is not left out" 2 '"file":"[^"]*a\\\\xff.toml","ok":false' policy check --json --policy-file "$odd"
rm "$odd"
text "errors win over warnings" 2 '' policy check snippet --policy-file "$P/case.toml"
chmod o-w "$P/case.toml"
text "check --json" 0 '^\[\{"name":"snippet","file":"built-in","sha256":"[0-9a-f]{64}","ok":true,"findings":\[\]\}\]$' policy check --json snippet
text "a broken site" 2 'AJ002' policy check --config "$P/own.toml"

# --- diff ---
for name in claude codex aider opencode gemini python-dev node-dev rust-dev go-dev; do
	aj policy diff coding-agent $name
	case $name in
	*-dev) is "diff: $name works in place" "" "$(grep 'filesystem.workspace:' "$T/out")" ;;
	*) is "diff: $name has an overlay" '  filesystem.workspace: "read-write" -> "overlay"' "$(grep -o '  filesystem.workspace: "read-write" -> "overlay"' "$T/out")" ;;
	esac
	is "diff: $name changes the network and the variables of coding-agent" "" "$(sed -n 's/^  \([a-z_.]*\).*/\1/p' "$T/out" | grep -vxE '|network.allow|process.env|process.pass_env|filesystem.workspace|filesystem.worktree|filesystem.home|filesystem.home_import|description')"
done
text "diff: looser" 1 'limits.memory: "512M" -> "2G"' policy diff snippet science
text "diff: tighter only" 0 'limits.wall: "30s" -> "10s"' policy diff snippet minimal
says "items that are gone" '^    - json$'
text "diff: and back" 1 '^    \+ json$' policy diff minimal snippet
text "diff: locks gone" 1 '^looser, no longer locked: everything' policy diff locked snippet
text "diff: locks come" 0 '^tighter, now locked: everything' policy diff snippet locked
text "diff: a rail is no wall" 1 'python.imports +\[rail;' policy diff minimal snippet
text "diff: a list is a wall" 1 'network.mode: "none" -> "allow" +\[kernel wall' policy diff command coding-agent
text "diff: an overlay is looser than none" 1 'filesystem.workspace: "none" -> "overlay" +\[kernel wall' policy diff command --policy-file "$P/overlay.toml"
text "diff: and tighter than the folder itself" 0 'filesystem.workspace: "read-write" -> "overlay"' policy diff offline-build --policy-file "$P/overlay.toml"
text "diff: none is looser than a number" 1 'limits.wall: "30s" -> "none"' policy diff snippet command
printf 'extends = "command"\n[filesystem]\nbinds = ["/srv:/x", "/mnt:/x/y"]\n' >"$P/covered.toml"
printf 'extends = "command"\n[filesystem]\nbinds = ["/srv:/x"]\n' >"$P/uncovered.toml"
text "diff: without a bind what it hid is seen" 1 '^different:$' policy diff --policy-file "$P/covered.toml" --policy-file "$P/uncovered.toml"
text "diff: the same" 0 '^no difference$' policy diff text text
text "diff --json" 1 '"looser":true,"changes":\[.*"key":"limits.wall","change":"looser","kind":"supervisor"' policy diff --json snippet data-analysis
text "diff takes two" 2 'too few' policy diff text
printf 'extends = "snippet"\n[process]\nuid = 1001\n' >"$P/case.toml"
text "diff: no order is to be looked at" 1 '^different:$' policy diff snippet --policy-file "$P/case.toml"

# --- explain ---
printf '[ceilings.limits]\nopen_files = 1024\n' >"$T/ceiling-files.toml"
text "explain: the rail is a rail" 0 'from built-in snippet.toml:10:1; rail: the Python layer \(a rail, not a wall\)' policy explain snippet
text "explain: a lock" 0 'from built-in locked.toml:[0-9]+:1; supervisor: the supervisor, outside the jail; locked by built-in locked.toml$' policy explain locked
text "explain: a ceiling" 0 "ceiling \"1h\" \\($T/ceiling.toml:2:1\\)" policy explain --config "$T/ceiling.toml"
text "explain: places of a workspace that is an overlay" 0 'no wall: no wall: the jail.s changes to these places are kept apart' policy explain --all --policy-file "$P/overlay.toml"
text "explain: no limit" 0 'no wall: no limit' policy explain command
text "explain: the host's network" 0 'no wall: no wall enforces this value' policy explain command --network host
text "explain: what the policy sets" 0 '^limits.wall = "30s"$' policy explain snippet
silent "and no key at the default" '^process.exec'
says "which it counts" '^[0-9]+ more keys are at the default; --all shows the whole policy$'
text "explain --all: those, too" 0 '^process.exec = false$' policy explain snippet --all
silent "then nothing is left" 'more keys'
text "explain: what an option sets" 0 '^network.mode = "host"$' policy explain command --network host
text "explain: a ceiling is shown on a key at the default" 0 "^limits.open_files" policy explain --config "$T/ceiling-files.toml"
text "explain --json" 0 '"key":"python.imports".*"enforcer_kind":"rail"' policy explain --json snippet
for name in $presets; do
	text "explain $name" 0 '^On this host' policy explain "$name"
	text "explain $name: /etc/shadow" 1 '^denied +path /etc/shadow' policy explain "$name" --path /etc/shadow
	text "explain $name: /tmp" 0 '^allowed +path /tmp/x \(write\)' policy explain "$name" --path /tmp/x --write
	text "explain $name: ptrace" 1 '^denied +syscall ptrace: EPERM' policy explain "$name" --syscall ptrace
	text "explain $name: read" 0 '^allowed +syscall read' policy explain "$name" --syscall read
	text "explain $name: a host" 1 '^denied +host metadata.internal:80' policy explain "$name" --host metadata.internal:80
done
text "several questions, one answer each" 1 '^denied +import pty' policy explain --import json --import pty
is "in their order" "allowed denied" "$(cut -d' ' -f1 "$T/out" | tr '\n' ' ' | sed 's/ $//')"
text "an item's own place" 0 'python.imports: "json", built-in snippet.toml:[0-9]+:[0-9]+' policy explain --import json
text "what the tree lacks" 0 'but the tree does not have it' policy explain science --import numpy
printf 'extends = "command"\n[filesystem]\nmasks = ["/etc"]\n' >"$P/etc.toml"
mkdir -m 755 "$T/real" "$T/proj"
echo x >"$T/real/file"
ln -s real "$T/link"
printf 'extends = "command"\n[filesystem]\nbinds = ["%s:/opt/x"]\n' "$T/link" >"$P/linked.toml"
text "a bind that no run would make" 1 'denied.*a symlink in the path' policy explain --policy-file "$P/linked.toml" --path /opt/x/file
text "indeed" 125 'a symlink in the path' run --policy-file "$P/linked.toml" -- true
text "a workspace with a relative name" 1 'denied.*not on the host' policy explain offline-build --workspace proj --path /workspace/none
text "a mask lies over mounts below it" 1 'denied.*hidden' policy explain --policy-file "$P/etc.toml" --path /etc/passwd
text "indeed" 1 "" run --policy-file "$P/etc.toml" -- cat /etc/passwd
text "not plain" 2 'not an absolute path' policy explain --path /usr/../etc
text "not absolute" 2 'not an absolute path' policy explain --path etc
text "no such call" 2 'did you mean `ptrace`' policy explain --syscall ptrac
text "no port" 2 'not host:port' policy explain --host a.b
text "no module" 2 'not the name of a module' policy explain --import 'a.*'
text "an unknown option" 2 'no option `--write`' policy show --write
text "an unknown subcommand" 2 'no subcommand `lst`' policy lst
text "--help" 0 'Exit status: 0 clean, 1 with warnings' policy check --help
text "questions as JSON" 1 '"verdict":"denied".*"enforcer_kind":"kernel wall"' policy explain --json --syscall ptrace

finish
