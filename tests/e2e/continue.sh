#!/bin/sh
# A later run continues with the changes that an earlier one has left: what waits is there, what was applied or discarded is not, and what
# the host has changed meanwhile is seen or named, never overwritten.
. "$(dirname "$0")/../lib.sh"

ws=$T/ws
state=$T/state
kept=$state/agentjail/changes
export XDG_STATE_HOME="$state"
mkdir -m 755 "$state"
printf 'extends = "snippet"\n[filesystem]\nworkspace = "overlay"\n' >"$T/session.toml"
printf 'extends = "snippet"\n[python]\nlayer = false\n' >"$T/snippet.toml"

fresh() {
	rm -rf "$ws"
	mkdir -p "$ws/sub/deep"
	echo one >"$ws/one"
	echo two >"$ws/sub/two"
	echo three >"$ws/sub/deep/three"
	ln "$ws/one" "$ws/twin"
}
run() { # NAME RC REGEX MODE COMMAND...
	local name=$1 rc=$2 regex=$3 mode=$4
	shift 4
	text "$mode: $name" "$rc" "$regex" run --policy offline-build --workspace "$ws" --workspace-mode "$mode" "$@"
}
nothing_kept() { is "$1: no state folder" "" "$(ls -A "$kept" 2>/dev/null)"; }
discard() {
	rm -rf "$kept"
}

for mode in overlay copy; do
	fresh
	run "a first run" 0 '' $mode --id first -- sh -c 'echo more >>one; rm sub/two; mkdir d; echo a >d/a; echo b >d/b'
	run "the next one has its changes" 0 '^one more a b$' $mode -- sh -c 'echo $(cat one d/a d/b); ! test -e sub/two; echo c >d/c'
	says "and says so" 'this run continues the changes of run .first. \([45] files\)'
	is "$mode: under one id" first "$(ls "$kept")"
	json "$mode: the result says so" 0 changes.continued=true changes.id=first -- run --policy offline-build --workspace "$ws" --workspace-mode $mode -- true
	json "$mode: afresh on demand" 0 'changes!"continued"' -- run --policy offline-build --workspace "$ws" --workspace-mode $mode --changes new -- sh -c '! test -e d'
	json "$mode: and where the caller names the run" 0 changes.id=named 'changes!"continued"' -- run --policy offline-build --workspace "$ws" --workspace-mode $mode --id named -- sh -c '! test -e d && echo >x'
	rm -rf "$kept/named"
	text "$mode: another policy has its own" 0 '' run --policy command --workspace "$ws" --workspace-mode $mode -- sh -c '! test -e d'
	json "$mode: a snippet begins afresh" 0 value=false -- exec --policy-file "$T/snippet.toml" --workspace "$ws" --workspace-mode $mode \
		-c 'import os; os.path.exists("/workspace/d")'
	text "$mode: all of it is applied" 0 '' changes apply first
	run "and the next run is fresh" 0 '^one more$' $mode -- sh -c 'echo $(cat one)'
	silent "$mode: without a word" 'continues|wait'
	nothing_kept "$mode: what is settled"
	run "a new repository" 0 '' $mode --id made -- sh -c 'git init -q r && echo >r/f'
	text "$mode: its files are applied" 0 '' changes apply made
	run "and its git folder waits for its name" 0 'continues the changes of run .made.' $mode -- sh -c 'git -C r status -s'
	rm -r "$ws/r"
	discard
done
fresh
as="-c user.name=x -c user.email=x@x"
git -C "$ws" init -q
git -C "$ws" add one
git -C "$ws" $as commit -qm one
run "a commit, and a file that is held" 0 '' overlay --id commit -- sh -c "echo more >>one; git $as commit -qam two; echo x >.envrc"
run "a later run continues in its repository" 0 '^two one$' overlay -- sh -c 'echo $(git log --format=%s)'
text "overlay: the branch is taken" 0 'main|master moved forward' changes apply commit
git -C "$ws" $as commit -q --allow-empty -m three
run "the next one continues, and has the host's commits" 0 '^three two one$' overlay -- sh -c 'test -e .envrc && echo $(git log --format=%s)'
says "and says so" 'continues the changes of run .commit.'
rm -r "$ws/.git"
discard
run "changes of every kind" 0 '' overlay --id kinds -- sh -c 'echo more >>one; echo more >>sub/two; rm -rf sub/deep; mkdir -p sub/deep/new new; echo a >new/a; echo b >new/b; echo f >sub/deep/new/f'
text "overlay: some are applied" 0 '' changes apply kinds one new/a
text "overlay: and some discarded" 0 '' changes discard kinds sub/deep/new/f
echo host >"$ws/one"
echo host >"$ws/sub/two"
echo host >"$ws/host"
echo host >"$ws/new/host"
run "what was applied is the host's again, and so is what the host made" 0 '^host host host a b$' overlay -- sh -c 'echo $(cat one host new/host new/a new/b); echo mine >>host; echo mine >>one; cat sub/two'
says "what both have changed is named" 'the jail continues with its own: .sub/two.$'
says "and is the jail's" '^more$'
text "overlay: and it stays a conflict" 1 'conflict  sub/two' changes apply kinds
says "alone" '1 change is in conflict'
text "overlay: what the jail changed in the host's later version is none" 0 '' changes apply kinds one host new sub/deep
is "overlay: all of it is there" "host mine host mine b" "$(cd "$ws" && echo $(cat one host new/b))"
is "overlay: the host's change was not overwritten" host "$(cat "$ws/sub/two")"
check "overlay: what was discarded is not" test ! -e "$ws/sub/deep/new/f" -a ! -e "$ws/sub/deep/three"
run "what waits" 0 '^two more$' overlay -- sh -c 'echo $(cat sub/two)'
is "overlay: is all that is in the layer" "sub sub/two" "$(cd "$kept/kinds/upper" && echo $(find . -mindepth 1 -printf '%P\n' | sort))"
text "overlay: forced" 0 '' changes apply kinds --force
run "nothing waits any more" 0 '^two more$' overlay -- sh -c 'echo $(cat sub/two)'
nothing_kept "overlay: all is settled"
run "a folder that was replaced" 0 '' overlay --id replaced -- sh -c 'rm -rf sub; mkdir -p sub/deep; echo 4 >sub/deep/four; echo 5 >sub/five'
text "overlay: a part of it is applied" 0 '' changes apply replaced sub/five
echo host >"$ws/sub/six"
run "still hides what it hid" 0 '^sub/deep/four sub/five$' overlay -- sh -c 'echo $(find sub -type f | sort)'
says "and names what the host has made there" 'the jail continues with its own: .sub/six.$'
discard
rm "$ws/sub/six" "$ws/sub/five"
run "a half applied run" 0 '' overlay --id half -- sh -c 'echo >half'
: >"$kept/half/journal.1"
run "is not gone on with" 2 'half applied' overlay -- true
rm "$kept/half/journal.1"
discard

# --- a policy's own overlay becomes a copy where none can be made; one that was asked for, or that is locked, does not ---
printf 'extends = "offline-build"\n[filesystem]\nworkspace = "overlay"\n' >"$T/apart.toml"
fresh
text "an overlay by the policy" 0 '^one$' run --policy-file "$T/apart.toml" --workspace "$ws" -- cat one
silent "is one" 'copy'
json "rw in one word" 0 'result!"changes"' -- run --policy-file "$T/apart.toml" --workspace "$ws" --workspace-mode rw -- true
if [ -n "$apart" ] && [ "$(id -u)" = 0 ]; then # mounts are made
	mkdir "$ws/mounted"
	mount -t tmpfs none "$ws/mounted"
	text "a policy's overlay that cannot be made" 0 '^more$' run --policy-file "$T/apart.toml" --workspace "$ws" -- sh -c 'echo more >>one; tail -n 1 one'
	says "becomes a copy, and says why" 'the jail gets a copy of the folder, since no overlay can be made: something is mounted at .*/mounted'
	is "the folder is as it was" one "$(cat "$ws/one")"
	json "the result says which" 0 changes.mode=copy changes.continued=true -- run --policy-file "$T/apart.toml" --workspace "$ws" -- true
	discard
	text "an overlay that was asked for is one or an error" 125 'is mounted at .*/mounted' run --policy-file "$T/apart.toml" --workspace "$ws" --workspace-mode overlay -- true
	cp "$T/apart.toml" "$T/locked.toml"
	sed -i '1i lock = ["filesystem.workspace"]' "$T/locked.toml"
	text "so is one that is locked" 125 'is mounted at .*/mounted' run --policy-file "$T/locked.toml" --workspace "$ws" -- true
	nothing_kept "an overlay that could not be made"
	umount "$ws/mounted"
	mkdir "$T/lower" "$T/upper" "$T/work" "$T/over"
	mount -t overlay none -o "lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/work" "$T/over"
	XDG_STATE_HOME=$T/over text "a state directory that can be no layer" 0 '^one$' run --policy-file "$T/apart.toml" --workspace "$ws" -- cat one
	says "becomes a copy, too" 'the jail gets a copy'
	umount "$T/over"
fi
echo 1 >"$T/one"
aj session --policy-file "$T/session.toml" --workspace "$ws" <"$T/one"
says "a session has no overlay, and says what to do" 'filesystem.workspace = "read-only" or "read-write"'
finish
