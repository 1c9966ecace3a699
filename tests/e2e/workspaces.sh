#!/bin/sh
# Workspaces whose changes are kept apart: overlay and copy. The host's folder stays as it was, whatever the jail does, and a state
# folder remains exactly where there are changes. How changes are shown and applied is another script's.
. "$(dirname "$0")/../lib.sh"

ws=$T/ws
state=$T/state
kept=$state/agentjail/changes
export XDG_STATE_HOME="$state"
mkdir -m 755 "$state"
printf 'extends = "offline-build"\n[limits]\nworkspace = "1M"\nworkspace_files = 100\n' >"$T/small.toml"

printf 'extends = "snippet"\n[python]\nlayer = false\n' >"$T/snippet.toml"

fresh() {
	rm -rf "$ws"
	mkdir -p "$ws/sub/deep" "$ws/.vscode"
	echo one >"$ws/one"
	echo two >"$ws/sub/two"
	echo three >"$ws/sub/deep/three"
	ln "$ws/one" "$ws/twin"
	ln -s sub/two "$ws/link"
	chmod 640 "$ws/one"
	git -C "$ws" init -q
}
picture() { (cd "$ws" && find . -printf '%p %y %m %s %i %T@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort); }
run() { # NAME RC REGEX MODE COMMAND...
	local name=$1 rc=$2 regex=$3 mode=$4
	shift 4
	text "$mode: $name" "$rc" "$regex" run --policy offline-build --workspace "$ws" --workspace-mode "$mode" "$@"
}
nothing_kept() { is "$1: no state folder" "" "$(ls -A "$kept" 2>/dev/null)"; }
newest() { ls "$kept" 2>/dev/null | head -n 1; }
discard() { # as the owner of what a jail has closed
	chmod -R u+rwx "$kept" 2>/dev/null
	rm -rf "$kept"
}

# The same for both: what the jail sees, what the host keeps, what is left.
for mode in overlay copy; do
	fresh
	picture >"$T/before"
	run "the jail sees the workspace" 0 '^one two three two$' $mode -- sh -c 'echo $(cat one sub/two sub/deep/three link)'
	nothing_kept "$mode: a run without changes"
	run "the jail writes, replaces, renames and removes" 0 '^more changed$' $mode -- sh -ec '
		echo more >new; echo changed >one; rm sub/two; mv sub/deep/three three; chmod 600 link || true
		rm -r sub/deep; mkdir sub/deep; echo again >sub/deep/other; ln new newer; ln -sf new link
		echo x >.git/hooks/pre-commit; echo y >.vscode/tasks.json; echo z >.envrc
		echo $(cat new one)'
	says "and the end of the run says how many files changed" 'agentjail: [0-9]+ files, 1 repository changed: agentjail changes show [0-9a-f]{16}$'
	picture >"$T/after"
	check "$mode: the host's folder is as it was, protected places included" cmp "$T/before" "$T/after"
	check "$mode: one state folder, closed to others" test "$(ls "$kept" | wc -l) $(stat -c %a "$kept")" = "1 700"
	check "$mode: its record says which run" grep -q "\"mode\":\"$mode\",\"workspace\":\"$ws\".*\"ended_ns\":[0-9]" "$kept/$(newest)/record.json"
	run "an earlier run's changes are the beginning of the next" 0 '^more again$' $mode --changes "$(newest)" -- sh -c 'echo $(cat new sub/deep/other); echo >later'
	check "$mode: and are the only ones" test "$(ls "$kept" | wc -l)" = 1
	run "which sees its own and theirs" 0 '^new$' $mode --changes "$(newest)" -- sh -c 'ls later >/dev/null && ls new'
	run "changes of no run" 2 'changes list' $mode --changes 0000 -- true
	run "a name that is none" 2 'not the id of a run' $mode --changes ../x -- true
	mkdir "$T/elsewhere"
	text "$mode: changes of another workspace" 2 'of another workspace' run --policy offline-build --workspace "$T/elsewhere" --workspace-mode $mode --changes "$(newest)" -- true
	rmdir "$T/elsewhere"
	[ $mode = copy ] && other=overlay || other=copy
	run "changes of another mode" 2 "use --workspace-mode $mode" $other --changes "$(newest)" -- true
	run "a writable workspace continues with no changes" 2 'for a workspace that is an overlay or a copy' rw --changes "$(newest)" -- true
	discard

	run "a command that is not found leaves nothing" 127 '' $mode -- /no/such/program
	nothing_kept "$mode: a command that is not found"
	json "$mode: the result names the changes" 0 changes.mode=$mode changes.files=2 'changes.id~^chosen$' -- \
		run --policy offline-build --workspace "$ws" --workspace-mode $mode --id chosen -- sh -c 'echo >a; echo >b'
	text "$mode: an id that is taken" 2 'another --id' run --policy offline-build --workspace "$ws" --workspace-mode $mode --id chosen -- true
	discard
	json "$mode: an id that can be no folder's name" 0 'changes.id~^[0-9a-f]{16}$' -- \
		run --policy offline-build --workspace "$ws" --workspace-mode $mode --id 'job/42' -- sh -c 'echo >a'
	discard
	json "$mode: no changes, no id" 0 changes.files=0 'changes!"id"' -- run --policy offline-build --workspace "$ws" --workspace-mode $mode -- true
	run "files that the jail closes to its owner" 0 '' $mode -- sh -c 'mkdir -p d/e && echo >d/e/f && chmod 0 d/e d'
	check "$mode: are kept" test -e "$kept/$(newest)/record.json"
	discard
	json "$mode: growth is limited" 122 status=limit 'limits_hit~workspace' -- run --policy-file "$T/small.toml" --workspace "$ws" --workspace-mode $mode -- \
		sh -c 'i=0; while [ $i -lt 3000 ]; do head -c 2000 /dev/zero >f$i; i=$((i + 1)); done; sleep 60'
	discard
	json "$mode: a snippet" 0 'value=one\n' changes.files=1 -- exec --policy-file "$T/snippet.toml" --workspace "$ws" --workspace-mode $mode \
		-c 'open("/workspace/new", "w").write("x"); open("/workspace/one").read()'
	discard
	text "$mode: git" 0 '^1 file changed|^ 1 file changed' run --policy offline-build --workspace "$ws" --workspace-mode $mode -- \
		sh -c 'git add one && git -c user.name=a -c user.email=a@b commit -qm first && echo more >>one && git diff --stat'
	discard
	text "$mode: locks are the jail's own" 0 '^locked$' run --policy offline-build --workspace "$ws" --workspace-mode $mode -- sh -c 'flock one echo locked'
	discard
	XDG_STATE_HOME=$ws/state run "the state directory may not be in the workspace" 2 'contains agentjail.s configuration' $mode -- true
	rm -rf "$ws/state"
	HOME= XDG_STATE_HOME= run "no home and no state directory" 125 'set HOME or XDG_STATE_HOME' $mode -- true
done

# --- a change of the host's just before a run is none since it ---
for mode in overlay copy; do
	for i in 1 2 3; do
		echo "$i" >"$ws/one"
		run "a change right before the run, $i" 0 '' $mode --id "before-$i" -- sh -c 'echo more >>one'
		text "$mode: is no conflict, $i" 0 '' changes apply "before-$i"
	done
	discard
done

# --- what the host writes again as it was is no conflict; anything else is ---
for mode in overlay copy; do
	rm -f "$ws/one"
	for name in one two three; do echo same >"$ws/$name"; done
	run "changes of files that the host writes later" 0 '' $mode --id "again-$mode" -- sh -c 'echo more >>one; echo more >>two; rm three'
	rm "$ws/one" "$ws/three"
	for name in one two three; do echo same >"$ws/$name"; done
	text "$mode: with the same bytes" 0 '' changes apply "again-$mode"
	is "$mode: they are applied" "same more same more" "$(echo $(cat "$ws/one" "$ws/two"))"
	check "$mode: and removed" test ! -e "$ws/three"
	echo same >"$ws/one"
	echo same >"$ws/two"
	run "and once more" 0 '' $mode --id "other-$mode" -- sh -c 'echo more >>one; echo more >>two'
	echo Same >"$ws/one"
	chmod 600 "$ws/two"
	text "$mode: with others, or another mode" 1 '2 changes are in conflict' changes apply "other-$mode"
	rm -f "$ws/two"
	discard
	echo same >"$ws/one"
	run "changes that are applied" 0 '' $mode --id "first-$mode" -- sh -c 'echo more >>one; echo >new'
	aj changes apply "first-$mode" one
	run "and made once more" 0 '' $mode --changes "first-$mode" -- sh -c 'echo more >>one'
	echo same >"$ws/one"
	text "$mode: what the host takes back meanwhile is its change" 1 '1 change is in conflict' changes apply "first-$mode"
	discard
done
fresh

# --- a run that does not see what the last one left says so ---
for mode in overlay copy; do
	run "changes that are left" 0 '' $mode --id "left-$mode" -- sh -c 'echo more >>one; echo new >new'
	run "the next run, begun afresh" 0 "the changes of run .left-$mode. wait, and this run does not see them: .--changes left-$mode. continues" $mode --changes new -- sh -c '! test -e new'
	run "one that continues with them" 0 '' $mode --changes "left-$mode" -- test -e new
	silent "$mode: does not say so" 'wait'
	text "$mode: one of them is applied" 0 '' changes apply "left-$mode" new
	run "and the person knows" 0 '' $mode --changes new -- true
	silent "$mode: really" 'wait'
	rm "$ws/new"
	discard
done

# --- what an overlay and a copy are told apart by ---
fresh
mkfifo "$ws/fifo"
truncate -s 40M "$ws/sparse"
echo data >>"$ws/sparse"
picture >"$T/before"
run "what is no file is left out, and named" 0 '^2 1$' copy -- sh -c 'echo $(stat -c %h one) $(ls fifo 2>/dev/null | wc -l | tr 0 1); cmp one twin && echo more >>one && cmp one twin'
says "before the run" '`fifo`: not in the copy'
check "copy: holes stay holes" test "$(du -k "$kept/$(newest)/copy/sparse" | cut -f1)" -lt 1024
check "copy: every file of the workspace is in the list, with its inode" grep -q "^f 640 4 [0-9]* [0-9]* $(stat -c %i "$ws/one") one$" "$kept/$(newest)/base"
discard
json "copy: the result names what was left out" 0 'changes.skipped.0=fifo' -- run --policy offline-build --workspace "$ws" --workspace-mode copy -- true
run "a FIFO of the host's folder is the jail's own" 0 '^0$' overlay -- sh -c 'timeout 1 cat fifo 2>/dev/null | wc -c'
discard
run "a folder of the host's cannot be renamed, only moved" 0 '^EXDEV three$' overlay -- sh -c '
	python3 -c "
import os
try: os.rename(\"sub\", \"sub2\")
except OSError as e: print(\"EXDEV\" if e.errno == 18 else e, end=\" \")" && mv sub sub3 2>/dev/null; cat sub3/deep/three'
discard
rm "$ws/fifo" "$ws/sparse"
run "a living run's changes" 0 '' overlay --id living -- sh -c 'echo >mine' # so that there is an id
(timeout 60 "$AJ" run --policy offline-build --workspace "$ws" --workspace-mode overlay --changes living -- sh -c 'echo >began; sleep 50' >/dev/null 2>&1 & echo $! >"$T/living"; wait)&
await test -e "$kept/living/upper/began"
run "a living run's changes are no other run's" 2 'still running' overlay --changes living -- true
run "but a second run on the workspace has its own" 0 '^0$' overlay -- sh -c 'ls began 2>/dev/null | wc -l'
kill "$(cat "$T/living")"
wait
discard

if [ "$(id -u)" = 0 ]; then
	fresh
	echo theirs >"$ws/theirs"
	chown 4242 "$ws/theirs"
	run "a file of another owner is named, with the remedy" 2 'Permission denied' overlay -- sh -c 'echo x >>theirs'
	says "before the run" '`theirs`: of another user or group.*chown 0:0.*--workspace-mode copy'
	json "overlay: and in the result" 0 'changes.unmapped.0=theirs' -- run --policy offline-build --workspace "$ws" --workspace-mode overlay -- cat theirs
	nothing_kept "overlay: a change that failed"
	run "the remedy" 0 '^theirs x$' copy -- sh -c 'echo x >>theirs && echo $(cat theirs)'
	discard
	chown -R 4242:4242 "$ws"
	run "root over the folder of another user" 0 '^more$' overlay -- sh -c 'echo more >>one && tail -n 1 one && rm sub/two'
	is "overlay: changed files belong to the folder's owner" "4242 4242" "$(stat -c '%u %g' "$kept/$(newest)/upper/one")"
	discard
fi

# --- which files a jail may read: what the folder's owner may, in whose place it is, or its own id where the folder itself is bound ---
owners() { # PATH OWNER GROUP MODE: as root alone
	[ -d "$ws/$1" ] || echo "$1" >"$ws/$1"
	[ "$(id -u)" != 0 ] || chown "$2:$3" "$ws/$1"
	chmod "$4" "$ws/$1"
}
listed() { # PATH USER BITS: an entry of an access list, beside those of the mode
	"$PY" -c 'import os, struct, sys
mode, user, bits = os.stat(sys.argv[1]).st_mode, int(sys.argv[2]), int(sys.argv[3])
rows = (1, mode >> 6 & 7, -1), (2, bits, user), (4, mode >> 3 & 7, -1), (16, 7, -1), (32, mode & 7, -1)
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows))' "$ws/$1" "$2" "$3"
}
rm -rf "$ws"
mkdir -p "$ws/own.d" "$ws/closed.d" "$ws/names.d"
for name in own.d/f closed.d/f names.d/f; do echo $name >"$ws/$name"; done
if [ "$(id -u)" = 0 ]; then
	closed_to="0:0 4242:4242" folder_owner=4141
else
	closed_to=$(id -u):$(id -g) folder_owner=$(id -u)
fi
owners own $folder_owner $folder_owner 600
owners own.d $folder_owner $folder_owner 700
owners own.d/f $folder_owner $folder_owner 600
expected="own own.d/f"
if [ "$(id -u)" = 0 ]; then
	owners group 4242 $folder_owner 640
	owners group-closed 4242 $folder_owner 604
	owners open 0 0 604
	owners own-closed $folder_owner $folder_owner 044
	chown $folder_owner:$folder_owner "$ws"
	owners listed 0 0 600
	owners listed-closed 0 0 604
	listed listed $folder_owner 4
	listed listed-closed $folder_owner 0
	expected="group listed open own own.d/f"
fi
chmod 755 "$ws"
for ids in $closed_to; do
	mode=$([ "$(id -u)" = 0 ] && echo 700 || echo 0)
	for name in closed-${ids%:*} closed.d names.d; do owners $name "${ids%:*}" "${ids#*:}" $mode; done
	[ "$(id -u)" != 0 ] || chmod 704 "$ws/names.d"
	for mode in ro overlay copy rw; do
		run "files that others alone may read, of ${ids%:*}: out of reach" 0 '' $mode -- sh -c 'for f in * */*; do [ ! -f "$f" ] || cat "$f" 2>/dev/null; done; true'
		case $mode in overlay | copy) is "$mode: and all others are read" "$expected" "$(grep -v '^agentjail' "$T/out" | sort | tr '\n' ' ' | sed 's/ $//')" ;; esac
		silent "$mode: none of them" '^(closed|names)'
	done
	run "what is left out is said" 0 '`closed' copy -- true
	chmod 755 "$ws/closed.d" "$ws/names.d"
done
rm -f "$ws/listed" "$ws/listed-closed"
discard

if [ -n "$apart" ] && [ "$(id -u)" = 0 ]; then # mounts are made
	mkdir "$ws/mounted" "$T/full" "$T/plain"
	mount -t tmpfs -o size=300k none "$T/full"
	head -c 800000 /dev/urandom >"$ws/large"
	XDG_STATE_HOME=$T/full run "a full disk" 125 'make room' copy -- true
	is "copy: nothing is left on it" "" "$(ls -A "$T/full/agentjail/changes")"
	rm "$ws/large"
	umount "$T/full"
	mount -t tmpfs none "$ws/mounted"
	echo hidden >"$ws/mounted/file"
	run "something mounted in the workspace" 125 'is mounted at .*/mounted`' overlay -- true
	nothing_kept "overlay: a workspace with a mount in it"
	run "is left out, and named" 0 '^0$' copy -- sh -c 'ls mounted 2>/dev/null | wc -l'
	says "before the run" '`mounted`: not in the copy'
	umount "$ws/mounted"
	discard
	mkdir "$T/lower" "$T/upper" "$T/work" "$T/over"
	mount -t overlay none -o "lowerdir=$T/lower,upperdir=$T/upper,workdir=$T/work" "$T/over"
	XDG_STATE_HOME=$T/over run "a state directory that can be no layer" 125 'use --workspace-mode copy' overlay -- true
	is "overlay: nothing is left in it" "" "$(ls -A "$T/over/agentjail/changes")"
	umount "$T/over"
fi

# --- git obeys only the owner of a repository, who may be nobody in the jail ---
fresh
for owner in own other; do
	[ $owner = own ] || chown -R 24000:24000 "$ws" 2>/dev/null || continue
	for mode in ro overlay copy rw; do
		text "$mode: a repository of the $owner id" 0 '^On branch' run --policy offline-build --workspace "$ws" --workspace-mode $mode -- git status
		discard
	done
	text "a bind of a repository of the $owner id" 0 '^On branch' run --bind "$ws:/repo \"\\x" -- git -C '/repo "\x' status
	text "and at its own path" 0 '^On branch' run --bind "$ws" -- git -C "$ws" status
done
[ "$(id -u)" != 0 ] || text "control: without the jail's configuration git refuses" 128 'dubious ownership' run --bind "$ws" --env GIT_CONFIG_NOSYSTEM=1 -- git -C "$ws" status
printf '[user]\nname = the caller\n' >"$T/gitconfig"
text "a configuration that the caller shows stays" 0 '^the caller$' run --bind "$ws" --bind "$T/gitconfig:/etc/gitconfig" -- git config user.name
text "nothing is trusted that is not shown" 1 '' run -- git config --get-all safe.directory

# --- killed at any instant: at most a state folder that can be listed, and nothing else ---
fresh
picture >"$T/before"
kills=0
for mode in overlay copy; do
	for delay in 0 0.002 0.004 0.008 0.012 0.016 0.024 0.032 0.048 0.1; do
		"$AJ" run --policy offline-build --workspace "$ws" --workspace-mode $mode -- sh -c 'i=0; while :; do echo $i >f$((i % 9)); rm -rf sub; i=$((i + 1)); done' >/dev/null 2>&1 &
		sleep $delay
		kill -9 $! 2>/dev/null && kills=$((kills + 1))
		wait $! 2>/dev/null
	done
done
check "kill -9: some runs were killed" test $kills -gt 10
check "kill -9: no process is left" await gone
picture >"$T/after"
check "kill -9: the workspace is as it was" cmp "$T/before" "$T/after"
unlocked() { # each folder can be locked: no run is alive
	for folder in "$kept"/*; do
		[ ! -e "$folder/lock" ] || flock -n "$folder/lock" true || return 1
	done
}
check "kill -9: no state folder is locked" await unlocked
run "kill -9: the next run" 0 '^one$' overlay -- cat one
discard
finish
