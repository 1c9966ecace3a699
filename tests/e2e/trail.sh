#!/bin/sh
# Runs and the audit trail: what is recorded, what happens when it cannot be, and that no jail reaches it.
# The trail's own files and their verification are e2e/audit.sh's.
. "$(dirname "$0")/../lib.sh"

mkdir -m 700 "$T/log"
LOG=$T/log/trail.jsonl
site() { # DESTINATION
	printf '[audit]\ndestination = "%s"\n' "$1" >"$T/site.toml"
}
line() { # N: that line of the trail becomes the result that field and expect look at
	sed -n "$1p" "$LOG" >"$T/out"
}
site "file:$LOG"
printf 'extends = "snippet"\n[audit]\non_failure = "flag"\n' >"$T/flag.toml"
printf 'extends = "snippet"\n[audit]\nrequired = true\n' >"$T/required.toml"

json "a snippet is recorded" 0 audit.recorded=true -- exec --config "$T/site.toml" --id one -c 'import math; math.floor(2.5)'
line 1
check "its start" expect event=start id=one command=exec policy.name=snippet "policy.sha256~^[0-9a-f]{64}$" "code_sha256~^[0-9a-f]{64}$" seq=1
line 2
check "its end" expect event=end id=one status=ok exit_code=0 'claimed.imports=["math"]' seq=2
json "a refused snippet" 126 status=rejected -- exec --config "$T/site.toml" -c 'import pty'
line 4
check "its denial" expect status=rejected denials.0.by=layer denials.0.rule=PY-IMPORT denials.0.line=1
json "a command with hostile words" 3 audit.recorded=true -- run --config "$T/site.toml" -- sh -c 'exit 3' "$(printf 'a\nb\033[2J\377"}')"
line 6
check "its words" expect status=error exit_code=3 'argv.3~^a' 'argv.3~xff' 'cwd~^/'
text "a time limit" 124 "" exec --config "$T/site.toml" --timeout 300ms -c 'while True: pass'
line 8
check "its end says so" expect status=timeout 'limits_hit=["wall_clock"]'
text "options are recorded" 0 "" exec --config "$T/site.toml" --memory 64M -c 1
line 10
check "by name and value" expect 'policy.options=["--memory=64M"]'
json "an import that is refused while the code runs" 0 status=ok -- exec --config "$T/site.toml" -c 'try: import pty
except ImportError: pass'
line 12
check "is a denial too" expect status=ok denials.0.by=layer denials.0.rule=PY-IMPORT 'denials.0.message~of pty ' denials.0.line=1
json "a clock, a longest sleep and a seed" 0 'value=[2001,0.32383276483316237]' -- exec --config "$T/site.toml" --clock 2001-01-01T00:00:00Z --sleep-max 10ms --seed 7 -c 'import datetime, random, time
time.sleep(3600); [datetime.date.today().year, random.random()]'
line 13
check "are options, and change no record" expect event=start 'time~^20[2-9]' 'policy.options=["--clock=2001-01-01T00:00:00Z","--sleep-max=10ms","request: seed = 7"]'
line 14
check "nor its end" expect event=end status=ok 'time~^20[2-9]'
text "the trail is whole" 0 'whole: records 14, runs begun 7' audit verify "$LOG"
text "a dry run is no run" 0 "" exec --config "$T/site.toml" --dry-run -c 1
text "and leaves no record" 0 'records 14' audit verify "$LOG"
text "without a destination nothing is said" 0 "" exec --json -c 1
silent "nor claimed" '"audit"'

# No caller's words make a line that a log would cut.
LOG=$T/log/long.jsonl
site "file:$LOG"
long=$(head -c 9000 /dev/zero | tr '\0' x)
text "a command with a long argument" 3 "" run --config "$T/site.toml" -- sh -c 'exit 3' "$long"
line 2
check "its end has all but the argument's end" expect event=end status=error exit_code=3 argv_count=4 'argv_sha256~^[0-9a-f]{64}$' truncated=true
set -- # long paths of binds, which are options
for i in $(seq 40); do
	mkdir -p "$T/binds/$i-$(echo "$long" | cut -c1-200)"
	set -- "$@" --bind "$T/binds/$i-$(echo "$long" | cut -c1-200):/opt/$i"
done
text "a command with long options" 0 "" run --config "$T/site.toml" --id options "$@" -- true
line 3
check "its start has further lines" expect event=start 'policy.name=command' 'parts~^[1-9]$'
line 4
check "of its id, with the options" expect event=more of=start part=1 id=options 'policy.options.0~^--bind=.*/binds/1-x'
is "all options are in them" 40 "$(grep -c '"event":"more","id":"options","of":"start"' "$LOG" >/dev/null && grep '"of":"start"' "$LOG" | grep -o -- '--bind=' | wc -l)"
is "no line is longer than 8 KiB" 0 "$(awk 'length > 8191' "$LOG" | wc -l)"
text "the trail is whole" 0 'runs begun 2' audit verify "$LOG"
says "and no run is open" '^ +open +0$'

# Snippets of a session are runs like others.
LOG=$T/log/session.jsonl
site "file:$LOG"
printf '20 + 22\n# %%%%\n1 / 0\n' | timeout 60 "$AJ" session --config "$T/site.toml" >"$T/out" 2>"$T/err"
is "a session that is recorded ends as one that is not" 1 $?
says "its snippets ran" '^42$'
text "a session's trail is whole" 0 'whole: records 4, runs begun 2' audit verify "$LOG"
sum=$(printf '20 + 22\n' | hash_of)
line 1
check "its first snippet" expect event=start command=exec "code_sha256=$sum"
line 2
check "and its end" expect event=end status=ok "code_sha256=$sum"
line 4
check "the second one's end" expect event=end status=error 'code_sha256~^[0-9a-f]{64}$'
LOG=$T/log/trail.jsonl
site "file:$LOG"

# The jail cannot reach it.
text "a bind of its folder" 125 'the jail would see the audit trail' run --config "$T/site.toml" --bind "$T/log" -- true
text "a bind from above" 125 'the jail would see the audit trail' run --config "$T/site.toml" --bind "$T:/opt/x" -- true
text "control: another folder" 0 "" run --config "$T/site.toml" --bind "$T/home:/opt/x" -- true

# It cannot be written: refuse, or flag.
before=$(wc -l <"$LOG")
chmod 0666 "$LOG"
printf 'extends = "command"\n[audit]\non_failure = "flag"\n' >"$T/flagged.toml"
text "no policy lets a jail see one that cannot be written" 125 'the jail would see the audit trail' run --config "$T/site.toml" --policy-file "$T/flagged.toml" --bind "$T/log:/opt/x" -- true
text "nor lets it write there" 2 'cannot be bound writable' run --config "$T/site.toml" --policy-file "$T/flagged.toml" --bind "$T/log:/opt/x:rw" -- true
text "a trail that others write is no trail" 125 'is writable by other users' exec --config "$T/site.toml" -c 'print("ran")'
silent "nothing ran" '^ran$'
text "the policy may want the run all the same" 0 'warning: the audit trail.s record of this run is not complete' exec --config "$T/site.toml" --policy-file "$T/flag.toml" -c 'print("ran")'
says "it ran" '^ran$'
json "the result is flagged" 0 audit.recorded=false 'audit.error~is writable by other users' -- exec --config "$T/site.toml" --policy-file "$T/flag.toml" -c 1
chmod 0600 "$LOG"
is "nothing was written meanwhile" "$before" "$(wc -l <"$LOG")"
printf '{"half' >>"$LOG"
text "a broken trail is not continued" 125 'audit verify' exec --config "$T/site.toml" -c 1
site "file:$T/none/trail.jsonl"
text "a folder that is not there" 125 'audit: ' run --config "$T/site.toml" -- true
site "file:relative"
text "a relative path" 2 'site.toml:2:1: error AJ004: .*destination' run --config "$T/site.toml" -- true
site none
text "a policy that needs a trail" 125 'requires a record of every run' exec --config "$T/site.toml" --policy-file "$T/required.toml" -c 1
site "file:$T/log/second.jsonl"
text "control: and has one" 0 "" exec --config "$T/site.toml" --policy-file "$T/required.toml" -c 1
i=0
while [ $i -lt 12 ]; do
	"$AJ" exec --config "$T/site.toml" -c "$i" >/dev/null 2>&1 &
	i=$((i + 1))
done
wait
text "runs side by side share it" 0 'whole: records 26, runs begun 13' audit verify "$T/log/second.jsonl"
finish
