#!/bin/sh
# A workspace that is a linked worktree, whose changes are kept apart together with those of the main repository: what the jail commits, the
# host has after an apply, all of it or nothing; and what would run code on the host, or break the repository, is held or refused by name.
. "$(dirname "$0")/../lib.sh"

state=$T/state
kept=$state/agentjail/changes
ws=$T/ws
main=$T/main
git=$main/.git
export XDG_STATE_HOME="$state" GIT_CONFIG_GLOBAL="$T/gitconfig" GIT_CONFIG_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0 # git status leaves the index as it is
mkdir -m 755 "$state"
git config --global user.name x
git config --global user.email x@x
git config --global init.defaultBranch main
git config --global gc.auto 0
printf 'extends = "offline-build"\n[filesystem]\nworktree = true\n' >"$T/tree.toml"
printf 'extends = "offline-build"\n[filesystem]\nworktree = true\nworkspace_at = "/workspace"\n' >"$T/elsewhere.toml"

# A copy is made by the same code for every user, and root looks at it.
modes='overlay copy'
[ -z "${ROOT_TOO:-}" ] || modes=overlay

discard() {
	chmod -R u+rwx "$kept" 2>/dev/null
	rm -rf "$kept"
}
fresh() {
	discard
	chmod -R u+rwx "$ws" "$main" 2>/dev/null
	rm -rf "$ws" "$main" "$T/other"
	git init -q "$main"
	echo a >"$main/a"
	echo b >"$main/b"
	git -C "$main" add .
	git -C "$main" commit -qm one
	git -C "$main" branch old
	git -C "$main" branch -q packed
	git -C "$main" worktree add -q -b topic "$ws"
	git -C "$main" worktree add -q -b side "$T/other"
}
run() { # NAME RC REGEX MODE ID SCRIPT
	text "$4: $1" "$2" "$3" run --policy-file "$T/tree.toml" --workspace "$ws" --workspace-mode "$4" --id "$5" --env HOME=/tmp --env GIT_AUTHOR_NAME=y --env GIT_AUTHOR_EMAIL=y@y \
		--env GIT_COMMITTER_NAME=y --env GIT_COMMITTER_EMAIL=y@y -- sh -ec "$6"
}
picture() { (cd "$main" && find . -printf '%p %y %m %l\n' | sort && find . -type f -exec sha256sum {} + | sort -k 2); }
# The repository and its three working trees are whole, and nothing of ours is left in it.
sound() { # NAME
	is "$1: git fsck" "" "$(git -C "$main" fsck --strict --no-dangling 2>&1)"
	is "$1: nothing of an apply is left" "" "$(find "$main" "$ws" -name '.agentjail-*' -o -name '*.lock')"
	is "$1: the main working tree and the other one are as they were" "" "$(git -C "$main" status --short; git -C "$T/other" status --short)"
	is "$1: and on their branches" "main side" "$(git -C "$main" branch --show-current) $(git -C "$T/other" branch --show-current)"
}
value() { git -C "$main" rev-parse -q --verify "$1"; }

fresh
printf 'extends = "%s"\n[filesystem]\nworkspace_under = ["%s"]\n' "./tree.toml" "$ws" >"$T/under.toml"
text "a main repository in a folder that the policy does not allow" 2 "\`$git\` is not below .*
  fix: that is the main repository of this linked worktree: .*extend_workspace_under = ..$git" run --policy-file "$T/under.toml" --workspace "$ws" -- true
printf 'extends = "./under.toml"\n[filesystem]\nextend_workspace_under = ["%s"]\n' "$git" >"$T/under2.toml"
text "and the fix works" 0 '^one$' run --policy-file "$T/under2.toml" --workspace "$ws" -- git log --format=%s
discard
for mode in $modes; do
	fresh
	picture >"$T/before"
	run "git works as in a repository" 0 '^two one$' $mode commit 'echo c >c; echo more >>a; rm b; git add -A; git commit -qm two; git checkout -qb feature/x; git tag v1; git tag -a v2 -m v2
		echo d >d; git stash -qu; echo e >e; git add e; git commit -qm three; git checkout -q topic; echo $(git log --format=%s); git status --short'
	silent "$mode: without a line about a repository that is read-only" 'read-only for this run|not in the jail'
	picture >"$T/after"
	check "$mode: the main repository is as it was" cmp "$T/before" "$T/after"
	is "$mode: and the worktree" "" "$(git -C "$ws" status --short)"
	text "$mode: list counts them" 0 '^commit .* changes ' changes list
	text "$mode: show names them by absolute paths" 0 "^M  $git/refs/heads/topic  " changes show commit
	says "$mode: those of the worktree" "^M  $git/worktrees/ws/index  "
	says "$mode: none is held or refused" '0 in conflict, 0 held, 0 refused'
	text "$mode: a patch leaves them out" 0 'in repositories: left out of the patch' changes diff commit
	silent "$mode: really" 'refs/heads'
	text "$mode: unless the repository is named" 0 "^\+\+\+ b/$git/refs/heads/topic" changes diff commit "$git"
	text "$mode: for programs" 0 "\"path\":\"$git/refs/heads/topic\",.*\"repository\":\"$git\"" changes show commit "$git/refs" --json
	text "$mode: no part of it is applied alone" 2 "name the $git\$" changes apply commit "$git/refs/heads/topic"
	text "$mode: nor is a path elsewhere" 2 'not a path in the workspace' changes apply commit "$main/a"
	picture >"$T/after"
	check "$mode: the main repository is as it was, still" cmp "$T/before" "$T/after"
	text "$mode: all of it is applied" 0 'changes applied' changes apply commit
	is "$mode: the host has the commit" "two one" "$(echo $(git -C "$ws" log --format=%s))"
	is "$mode: the worktree is clean" "" "$(git -C "$ws" status --short)"
	is "$mode: its branch" topic "$(git -C "$ws" branch --show-current)"
	is "$mode: branch, tags and stash" "three commit tag 1" "$(git -C "$main" log -1 --format=%s feature/x) $(git -C "$main" cat-file -t v1) $(git -C "$main" cat-file -t v2) $(git -C "$main" stash list | wc -l)"
	is "$mode: and the log of HEAD" "commit: two" "$(git -C "$ws" reflog --format=%gs | grep -m 1 two)"
	sound "$mode"
	text "$mode: nothing waits" 0 'no changes are left' changes show commit
	text "$mode: a run that changes nothing" 0 '' run --policy-file "$T/tree.toml" --workspace "$ws" --workspace-mode $mode --changes new -- git log -1
	is "$mode: leaves nothing" commit "$(ls "$kept")"
	git -C "$ws" commit -q --allow-empty -m four
	is "$mode: the host's git goes on" "four two one" "$(echo $(git -C "$ws" log --format=%s))"

	# --- a later run goes on, and what is discarded is gone ---
	fresh
	run "a first run" 0 '' $mode first 'echo c >c; git add c; git commit -qm two'
	text "$mode: the next one goes on with both" 0 '^two one$' run --policy-file "$T/tree.toml" --workspace "$ws" --workspace-mode $mode --env HOME=/tmp --env GIT_AUTHOR_NAME=y \
		--env GIT_AUTHOR_EMAIL=y@y --env GIT_COMMITTER_NAME=y --env GIT_COMMITTER_EMAIL=y@y -- sh -ec 'echo $(git log --format=%s); git commit -q --allow-empty -m three'
	says "$mode: and says so" 'continues the changes of run .first.'
	is "$mode: under one id" first "$(ls "$kept")"
	text "$mode: a policy that does not show the repository begins afresh" 0 'wait, and this run does not see them' run --policy offline-build --workspace "$ws" --workspace-mode $mode -- sh -c '! test -e c'
	text "$mode: and cannot go on with it" 2 'with another view of the main repository' run --policy offline-build --workspace "$ws" --workspace-mode $mode --changes first -- true
	text "$mode: both are applied" 0 '' changes apply first
	is "$mode: the host has both commits" "three two one" "$(echo $(git -C "$ws" log --format=%s))"
	sound "$mode: two runs"
	text "$mode: after that a run is fresh" 0 '^three two one$' run --policy-file "$T/tree.toml" --workspace "$ws" --workspace-mode $mode -- sh -c 'echo $(git log --format=%s)'
	is "$mode: and leaves nothing, nor does the first" "" "$(ls -A "$kept")"
	run "a run to discard" 0 '' $mode gone 'git commit -q --allow-empty -m four'
	text "$mode: is discarded" 0 '' changes discard gone
	is "$mode: nothing is left" "" "$(ls -A "$kept")"
	is "$mode: the branch is where it was" three "$(git -C "$ws" log -1 --format=%s)"

	# --- paths: the workspace alone, or the repository alone ---
	fresh
	run "a commit, and a file beside it" 0 '' $mode paths 'echo c >c; git add c; git commit -qm two; echo d >d'
	text "$mode: the workspace alone is applied" 0 '^2 changes applied' changes apply paths .
	is "$mode: its files are there" "?? c ?? d" "$(echo $(git -C "$ws" status --short))"
	is "$mode: the branch has not moved" one "$(git -C "$ws" log -1 --format=%s)"
	text "$mode: then the repository" 0 '' changes apply paths "$git"
	is "$mode: the file is committed" "?? d" "$(git -C "$ws" status --short)"
	sound "$mode: in two parts"

	# --- conflicts ---
	fresh
	run "a commit on a branch" 0 '' $mode conflict 'echo c >c; git add c; git commit -qm two'
	git -C "$ws" commit -q --allow-empty -m host
	tip=$(value topic)
	picture >"$T/before"
	text "$mode: the host has committed on it meanwhile" 1 "conflict  $git/refs/heads/topic  the host has changed it since" changes apply conflict
	picture >"$T/after"
	check "$mode: nothing is applied" cmp "$T/before" "$T/after"
	check "$mode: not a file of the workspace" test ! -e "$ws/c"
	text "$mode: show says so" 0 "refs/heads/topic .*CONFLICT" changes show conflict
	text "$mode: by force the run's branch is taken" 0 '' changes apply conflict --force
	is "$mode: its commit is there" two "$(git -C "$ws" log -1 --format=%s)"
	check "$mode: and the host's is not lost" git -C "$main" cat-file -e "$tip"
	sound "$mode: by force"

	fresh
	run "a commit on a branch again" 0 '' $mode beside 'echo c >c; git add c; git commit -qm two'
	git -C "$main" commit -q --allow-empty -m host
	git -C "$T/other" commit -q --allow-empty -m host
	git -C "$main" branch fresh
	text "$mode: commits of the host's on other branches are no conflict" 0 '' changes apply beside
	is "$mode: all of them are there" "two host host host" "$(git -C "$main" log -1 --format=%s topic) $(git -C "$main" log -1 --format=%s main) $(git -C "$main" log -1 --format=%s side) $(git -C "$main" log -1 --format=%s fresh)"
	sound "$mode: beside the host's"

	fresh
	git -C "$main" gc -q
	run "branches at a packed commit" 0 '' $mode at-packed 'git branch fresh; git tag v1 HEAD; git update-ref refs/heads/old HEAD; git commit -q --allow-empty -m two'
	text "$mode: are applied" 0 '' changes apply at-packed
	is "$mode: all of them" "two one one" "$(git -C "$main" log -1 --format=%s topic) $(git -C "$main" log -1 --format=%s fresh) $(git -C "$main" log -1 --format=%s v1)"
	sound "$mode: at a packed commit"

	for what in "worktrees/ws/index.lock" "worktrees/ws/HEAD.lock" "packed-refs.lock" "refs/heads/topic.lock"; do
		[ $mode = overlay ] || [ $what = packed-refs.lock ] || continue # what is judged does not depend on the mode
		fresh
		run "a commit" 0 '' $mode locked 'echo c >c; git add c; git commit -qm two'
		echo >"$git/$what"
		picture >"$T/before"
		text "$mode: $what of the host's git" 1 "conflict  $git/.*  the host's git is at work in it" changes apply locked
		picture >"$T/after"
		check "$mode: $what: nothing is applied, and it stays" cmp "$T/before" "$T/after"
		text "$mode: $what is not forced" 125 "git is at work, or has left its lock: .$git/$what" changes apply locked --force
		picture >"$T/after"
		check "$mode: $what: all is as it was" cmp "$T/before" "$T/after"
		rm "$git/$what"
		text "$mode: $what is gone" 0 '' changes apply locked
		sound "$mode: after $what"
	done
	for what in "git -C $main pack-refs --all" "git -C $ws checkout -q old" "git -C $main branch -D old packed; git -C $main pack-refs"; do
		[ $mode = overlay ] || [ "$what" = "git -C $ws checkout -q old" ] || continue
		fresh
		run "a commit" 0 '' $mode moved 'echo c >c; git add c; git commit -qm two'
		sh -c "$what" >/dev/null
		picture >"$T/before"
		text "$mode: $what meanwhile" 1 "conflict  $git/" changes apply moved
		picture >"$T/after"
		check "$mode: $what: nothing is applied" cmp "$T/before" "$T/after"
	done
	fresh
	run "a commit, and the worktree goes" 0 '' $mode removed 'echo c >c; git add c; git commit -qm two'
	mv "$git/worktrees/ws" "$git/worktrees/x" && cp -a "$git/worktrees/x" "$git/worktrees/ws" # in the place of the other inode
	text "$mode: another worktree by that name" 0 'refused  .*refs/heads/topic  the repository has this working tree no more' changes apply removed
	is "$mode: its branch stays" one "$(git -C "$main" log -1 --format=%s topic)"

	# --- held: by name alone ---
	fresh
	run "what would run code" 0 '' $mode held "echo '[core] fsmonitor = /tmp/evil' >>$git/config; echo evil >$git/hooks/post-commit; chmod +x $git/hooks/post-commit
		mkdir -p $git/info $git/modules/m; echo '* filter=x' >$git/info/attributes; echo x >$git/modules/m/config; echo x >$git/config.worktree; echo x >$git/worktrees/ws/config.worktree
		git commit -q --allow-empty -m two; git replace -f HEAD HEAD~1; mkdir -p $git/lfs; echo x >$git/lfs/x"
	text "$mode: all of it is held" 0 "^held +$git/config  git runs programs by it" changes apply held
	for what in config config.worktree hooks/post-commit info/attributes modules/m/config worktrees/ws/config.worktree lfs/x "refs/replace/[0-9a-f]*"; do
		says "$mode: $what" "^held +$git/$what  "
	done
	check "$mode: the host has none of it" sh -c "! grep -q evil $git/config && ! test -e $git/hooks/post-commit && ! test -e $git/info/attributes && ! test -e $git/modules && ! test -e $git/config.worktree && ! test -e $git/lfs && ! test -e $git/refs/replace"
	is "$mode: but the commit" two "$(git -C "$main" log -1 --format=%s topic)"
	sound "$mode: held"
	text "$mode: the name of the repository is not theirs" 0 "held  " changes apply held "$git"
	check "$mode: really not" test ! -e "$git/hooks/post-commit"
	text "$mode: a hook by its name" 0 '' changes apply held "$git/hooks"
	check "$mode: is there" test -x "$git/hooks/post-commit"
	rm "$git/hooks/post-commit"

	fresh
	run "a branch that is deleted" 0 '' $mode deleted 'git branch -D old; git commit -q --allow-empty -m two'
	text "$mode: is held" 0 "^held +$git/refs/heads/old  it deletes a reference" changes apply deleted
	check "$mode: and stays" value old
	is "$mode: the commit is there" two "$(git -C "$main" log -1 --format=%s topic)"
	text "$mode: until it is named" 0 '' changes apply deleted "$git/refs/heads/old" "$git/logs/refs/heads/old"
	check "$mode: it is gone" sh -c "! git -C $main rev-parse -q --verify refs/heads/old"
	sound "$mode: a deleted branch"

	fresh
	git -C "$main" pack-refs --all
	run "a packed branch that is deleted" 0 '' $mode unpacked 'git branch -D old; git commit -q --allow-empty -m two'
	text "$mode: holds the repository" 0 "^held +$git/packed-refs  it packs, moves or deletes references" changes apply unpacked
	is "$mode: nothing of it is applied" one "$(git -C "$main" log -1 --format=%s topic)"
	check "$mode: the branch stays" value old
	text "$mode: until it is named" 0 '' changes apply unpacked "$git"
	check "$mode: it is gone" sh -c "! git -C $main rev-parse -q --verify refs/heads/old"
	is "$mode: and the commit is there" two "$(git -C "$main" log -1 --format=%s topic)"
	sound "$mode: a packed branch"

	fresh
	run "garbage is collected" 0 '' $mode packs 'echo c >c; git add c; git commit -qm two; git -c gc.pruneExpire=now gc -q; git commit -q --allow-empty -m three; git fsck --no-dangling'
	text "$mode: a pack holds the repository" 0 "^held +$git/objects/pack/pack-.*  git may read objects of a new pack in place of those" changes apply packs
	is "$mode: nothing of it is applied" one "$(git -C "$main" log -1 --format=%s topic)"
	text "$mode: by name all goes, but what the repository keeps" 0 "refused +$git/objects/.*  the repository keeps the objects that it has" changes apply packs "$git"
	is "$mode: the commits are there" "three two one" "$(echo $(git -C "$ws" log --format=%s))"
	is "$mode: and all branches" "main old packed side topic" "$(echo $(git -C "$main" for-each-ref --format='%(refname:short)' refs/heads))"
	sound "$mode: packs"

	fresh
	run "the branches of other working trees" 0 '' $mode taken "git commit -q --allow-empty -m two; git update-ref refs/heads/main HEAD; git update-ref refs/heads/side HEAD; echo 'ref: refs/heads/side' >$git/HEAD; echo x >$git/index
		echo x >$git/worktrees/other/index; rm -r $git/worktrees/other/logs; echo x >$git/ORIG_HEAD"
	text "$mode: wait for their objects" 0 "^refused +$git/refs/heads/main  it names no object that the repository has now" changes apply taken
	says "$mode: their state is refused" "^refused +$git/worktrees/other/index  it is a part of another working tree"
	says "$mode: of the main one, too" "^refused +$git/HEAD  it is a part of the main working tree"
	is "$mode: the commit is there" two "$(git -C "$main" log -1 --format=%s topic)"
	is "$mode: the other branches are where they were" "one one" "$(git -C "$main" log -1 --format=%s main) $(git -C "$main" log -1 --format=%s side)"
	sound "$mode: other working trees"
	text "$mode: then they are held" 0 "^held +$git/refs/heads/main  another working tree has that branch checked out" changes apply taken
	says "$mode: each of them" "^held +$git/refs/heads/side  another working tree"
	is "$mode: the branches are where they were, still" "one one" "$(git -C "$main" log -1 --format=%s main) $(git -C "$main" log -1 --format=%s side)"
	text "$mode: until one is named" 0 '1 change applied' changes apply taken "$git/refs/heads/side"
	is "$mode: that one has moved" "one two" "$(git -C "$main" log -1 --format=%s main) $(git -C "$main" log -1 --format=%s side)"

	fresh
	echo x >"$main/a"
	git -C "$main" stash -q
	run "the host's stash" 0 '' $mode stash 'git stash drop -q; git commit -q --allow-empty -m two'
	text "$mode: is dropped by name alone" 0 "^held +$git/refs/stash  it deletes a reference" changes apply stash
	is "$mode: it is there" 1 "$(git -C "$main" stash list | wc -l)"
	is "$mode: the commit as well" two "$(git -C "$main" log -1 --format=%s topic)"

	# --- refused ---
	fresh
	object=$(value HEAD:a)
	object=objects/$(echo "$object" | cut -c1-2)/$(echo "$object" | cut -c3-)
	run "objects of the host's" 0 '' $mode objects "git commit -q --allow-empty -m two; chmod u+w $git/$object; echo evil >$git/$object; rm $git/objects/\$(git rev-parse HEAD~1 | sed 's,^..,&/,'); touch $git/objects/pack/tmp_pack_x; mkdir -p $git/objects/info; echo x >$git/objects/info/packs"
	text "$mode: one that is replaced" 0 "^refused +$git/$object  the repository has something else of that name" changes apply objects
	says "$mode: one that is deleted" "^refused +$git/objects/../[0-9a-f]*  the repository keeps the objects that it has"
	says "$mode: one that is unfinished" "^refused +$git/objects/pack/tmp_pack_x  git has left it unfinished"
	says "$mode: a list of packs" "^refused +$git/objects/info/packs  git makes it anew"
	is "$mode: the commit is there" two "$(git -C "$main" log -1 --format=%s topic)"
	sound "$mode: objects"
	for what in "mkdir -p $git/objects/info; echo /tmp >$git/objects/info/alternates" "rm $git/refs/heads/topic; ln -s old $git/refs/heads/topic" "echo junk >$git/refs/heads/topic" "echo 0123456789012345678901234567890123456789 >$git/refs/heads/topic" \
		"echo ref: refs/heads/main >$git/refs/heads/sym" "echo ref: ../../x >$git/worktrees/ws/HEAD" "rm $git/worktrees/ws/HEAD" "mkfifo $git/refs/heads/fifo" "cp $git/refs/heads/topic $git/refs/heads/-x" \
		"rm $git/refs/heads/old; mkdir $git/refs/heads/old; cp $git/refs/heads/topic $git/refs/heads/old/new" "rm -rf $git/refs" "ln -sf /etc/passwd $git/worktrees/ws/index" "mkdir $git/reftable; echo >$git/reftable/tables.list" "mkdir -p $git/objects/ab; cp $git/objects/\$(git rev-parse HEAD | sed 's,^..,&/,') $git/objects/ab/cdef0123456789abcdef0123456789abcdef01"; do
		[ $mode = overlay ] || [ "$what" = "rm -rf $git/refs" ] || continue
		fresh
		run "a commit, and $what" 0 '' $mode spoiled "echo c >c; git add c; git commit -qm two; $what"
		picture >"$T/before"
		text "$mode: $what: refuses the repository" 0 "^refused +$git/objects/../[0-9a-f]*  the repository is applied as a whole, and a part of it is never applied" changes apply spoiled
		picture >"$T/after"
		check "$mode: $what: the repository is as it was" cmp "$T/before" "$T/after"
		text "$mode: $what: also by name and force" 0 '^refused' changes apply spoiled "$git" --force
		picture >"$T/after"
		check "$mode: $what: the repository is as it was, still" cmp "$T/before" "$T/after"
		check "$mode: $what: the workspace has its file" test -e "$ws/c"
	done
	fresh
	run "locks of the jail's git" 0 '' $mode locks "git commit -q --allow-empty -m two; touch $git/worktrees/ws/index.lock $git/refs/heads/x.lock $git/packed-refs.lock $git/config.lock"
	text "$mode: are refused" 0 "^refused +$git/packed-refs.lock  git has left this lock file" changes apply locks
	is "$mode: without them the commit is there" two "$(git -C "$main" log -1 --format=%s topic)"
	sound "$mode: locks"
	fresh
	run "an index with paths of a repository" 0 '' $mode index "git commit -q --allow-empty -m two; python3 - $git/worktrees/ws/index <<'END'
import hashlib, struct, sys
path = b'.git/hooks/pre-commit'
entry = struct.pack('>10I', *[0] * 6, 0o100755, 0, 0, 0) + b'\\0' * 20 + struct.pack('>H', len(path)) + path
data = b'DIRC' + struct.pack('>II', 2, 1) + entry + b'\\0' * (8 - len(entry) % 8)
open(sys.argv[1], 'wb').write(data + hashlib.sha1(data).digest())
END"
	text "$mode: holds the repository" 0 "^held +$git/worktrees/ws/index  by its paths git may write into a repository" changes apply index
	is "$mode: nothing of it is applied" one "$(git -C "$main" log -1 --format=%s topic)"
	fresh
	text "$mode: a workspace at another path" 0 '^two$' run --policy-file "$T/elsewhere.toml" --workspace "$ws" --workspace-mode $mode --id at --env HOME=/tmp --env GIT_AUTHOR_NAME=y --env GIT_AUTHOR_EMAIL=y@y \
		--env GIT_COMMITTER_NAME=y --env GIT_COMMITTER_EMAIL=y@y -- sh -ec "touch -d '3 days ago' $git/worktrees/ws/gitdir; git commit -q --allow-empty -m two; git log -1 --format=%s"
	text "$mode: its commit is applied" 0 '' changes apply at
	is "$mode: to the right branch" two "$(git -C "$main" log -1 --format=%s topic)"
	is "$mode: and the host's git finds the worktree" "$ws/.git" "$(cat "$git/worktrees/ws/gitdir")"
	sound "$mode: another path"
done

# --- packed references: what a line of theirs would move, hide or replace is judged like a file ---
for what in "sed -i '/heads.main/d' $git/packed-refs" "sed -i '/heads.side/s/^[0-9a-f]*/'\$(git rev-parse HEAD)/ $git/packed-refs" "rm $git/packed-refs" "rm -rf $git/packed-refs; mkdir $git/packed-refs" \
	"echo \$(git rev-parse HEAD) refs/replace/\$(git rev-parse HEAD~1) >>$git/packed-refs" "sed -i '/heads.old/d; /heads.side/p' $git/packed-refs" "echo x >>$git/packed-refs" \
	"mkdir $git/refs/heads/old; git rev-parse HEAD >$git/refs/heads/old/x" "git rev-parse HEAD >$git/refs/heads/deep"; do
	fresh
	git -C "$main" branch deep/er
	git -C "$main" pack-refs --all
	run "a commit, and $what" 0 '' overlay packs "git commit -q --allow-empty -m two; $what"
	picture >"$T/before"
	for named in "" "$git"; do
		text "overlay: $what: refuses the repository${named:+, also by name}" 0 "^refused +$git/objects/../[0-9a-f]*  the repository is applied as a whole, and a part of it is never applied" changes apply packs $named
	done
	picture >"$T/after"
	check "overlay: $what: the repository is as it was" cmp "$T/before" "$T/after"
done
fresh
git -C "$main" update-ref refs/remotes/o/main HEAD
git -C "$main" pack-refs --all
run "references whose short names are others'" 0 '' overlay short 'git commit -q --allow-empty -m two; git tag side; git branch o/main; git update-ref refs/old HEAD; git tag v3'
text "overlay: refs/tags/side waits for its object" 0 "^refused +$git/refs/tags/side  it names no object that the repository has now" changes apply short
text "overlay: are held" 0 "^held +$git/refs/tags/side  git would take its short name" changes apply short
says "overlay: a branch called as a remote one" "^held +$git/refs/heads/o/main  git would take its short name"
says "overlay: one that is neither branch nor tag" "^held +$git/refs/old  "
is "overlay: all other ones are there" "two two one one" "$(git -C "$main" log -1 --format=%s topic) $(git -C "$main" log -1 --format=%s v3) $(git -C "$main" log -1 --format=%s side) $(git -C "$main" log -1 --format=%s o/main)"
sound "overlay: short names"
fresh
echo x >"$main/a"
git -C "$main" stash -q
run "another stash, and no logs" 0 '' overlay logs "git commit -q --allow-empty -m two; git rev-parse HEAD >$git/refs/stash; rm -rf $git/logs/refs; mkdir $git/logs/refs"
text "overlay: refs/stash waits for its object" 0 "^refused +$git/refs/stash  it names no object that the repository has now" changes apply logs
text "overlay: the host's stash waits for its name" 0 "^held +$git/refs/stash  it drops stashes of the host's" changes apply logs
is "overlay: the host has it" x "$(git -C "$main" show stash@{0}:a)"

fresh
git -C "$T/other" commit -q --allow-empty -m three
! git -C "$T/other" -c sequence.editor='sed -i s/^pick/edit/' rebase -q -i --root 2>"$T/rebased" && cat "$T/rebased"
run "a branch that another working tree rebases" 0 '' overlay rebased 'git commit -q --allow-empty -m two; git update-ref refs/heads/side HEAD'
text "overlay: refs/heads/side waits for its object" 0 "^refused +$git/refs/heads/side  it names no object that the repository has now" changes apply rebased
text "overlay: is held" 0 "^held +$git/refs/heads/side  another working tree has that branch checked out" changes apply rebased
git -C "$T/other" rebase --quit 2>/dev/null || rm -rf "$git/worktrees/other/rebase-merge"
fresh
ln -sf refs/heads/main "$git/HEAD" # core.preferSymlinkRefs
run "the branch of a HEAD that is a link" 0 '' overlay link 'git commit -q --allow-empty -m two; git update-ref refs/heads/main HEAD'
text "overlay: refs/heads/main waits for its object" 0 "^refused +$git/refs/heads/main  it names no object that the repository has now" changes apply link
text "overlay: is held" 0 "^held +$git/refs/heads/main  another working tree has that branch checked out" changes apply link

# --- a bare repository, whose HEAD names a branch that no working tree has but this one ---
rm -rf "$T/bare.git" "$ws"
git clone -q --bare "$main" "$T/bare.git" 2>/dev/null
git -C "$T/bare.git" worktree add -q "$ws" main
run "a bare main repository" 0 '' overlay bare 'git commit -q --allow-empty -m two'
text "overlay: the branch that its HEAD names" 0 '' changes apply bare
silent "overlay: is no other working tree's" held
is "overlay: it has the commit" two "$(git -C "$T/bare.git" log -1 --format=%s main)"
discard

# --- one in the other: read-only, which a line before the run says ---
fresh
git -C "$main" worktree remove -f "$ws"
git -C "$main" worktree add -q "$git/inside" topic 2>/dev/null
text "a worktree in the main repository" 0 'Read-only file system' run --policy-file "$T/tree.toml" --workspace "$git/inside" --workspace-mode overlay -- \
	sh -c 'export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="*"; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m two 2>&1; exit 0'
says "is told before the run" 'whose main repository .*/main/.git. is read-only for this run, since one of the two lies in the other'
discard

# --- a submodule, whose `.git` is a file, too, and a worktree whose path is relative ---
fresh
git -C "$main" -c protocol.file.allow=always submodule --quiet add "$main/.git" sub
text "a workspace that is a submodule" 0 '^a$' run --policy-file "$T/tree.toml" --workspace "$main/sub" --workspace-mode overlay -- cat a
echo gitdir: ../main/.git/worktrees/ws >"$ws/.git"
text "a worktree that names its repository by a relative path" 2 'by a plain absolute path' run --policy-file "$T/tree.toml" --workspace "$ws" --workspace-mode overlay -- cat a
discard

# --- a workspace in a folder `worktrees`, in which a run has written what names the folder above as a repository ---
mkdir -p "$T/proj/worktrees/feature" "$T/proj/worktrees/beside" "$T/proj/private"
echo secret >"$T/proj/private/key"
planted() { # NAME FOLDER: the record of a worktree lies there
	echo "gitdir: $2" >"$T/proj/worktrees/feature/.git"
	echo ../.. >"$2/commondir"
	echo "$T/proj/worktrees/feature/.git" >"$2/gitdir"
	for mode in rw overlay copy; do
		text "$mode: $1 is no record of a worktree" 2 'is not in a git repository' run --policy-file "$T/tree.toml" --workspace "$T/proj/worktrees/feature" --workspace-mode $mode -- cat "$T/proj/private/key"
		silent "$mode: $1: the folder above is not shown" '^secret'
	done
}
planted "a file in the workspace" "$T/proj/worktrees/feature"
planted "a file in another workspace" "$T/proj/worktrees/beside"
mkdir "$T/proj/objects" "$T/proj/refs"
echo 'ref: refs/heads/main' >"$T/proj/HEAD"
planted "a file in the workspace, below a repository," "$T/proj/worktrees/feature"
finish
