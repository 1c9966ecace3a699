#!/bin/sh
# Linked worktrees under filesystem.worktree = "apart", with the real git: in each mode of the workspace git works in the jail, the host's
# repository stays as it is, and `agentjail changes` brings the commits.
. "$(dirname "$0")/../lib.sh"
command -v git >/dev/null || { skip "linked worktrees" "no git on this host"; finish; }

main=$T/main ws=$T/ws
export XDG_STATE_HOME="$T/state" GIT_CONFIG_GLOBAL="$T/gitconfig"
mkdir -m 755 "$T/state"
git config --global user.name host && git config --global user.email host@x && git config --global init.defaultBranch main
git config --global protocol.file.allow always
printf 'extends = "offline-build"\n[filesystem]\nworktree = "apart"\nworkspace_at = "same"\n' >"$T/p.toml"
IN_JAIL='export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x'

fresh() {
	aj changes discard --all
	rm -rf "$main" "$ws" "$T/second" "$T/lib"
	git init -q "$main" && echo one >"$main/a" && git -C "$main" add a && git -C "$main" commit -q -m one
	git -C "$main" worktree add -q -b topic "$ws" && git -C "$main" worktree add -q -b second "$T/second"
}
in_jail() { # MODE SCRIPT
	aj run --policy-file "$T/p.toml" --workspace "$ws" --workspace-mode "$1" -- sh -ec "$IN_JAIL; $2"
	[ "$rc" = 0 ] || fail "$1: in the jail: $2" "$(tail -n 3 "$T/err")"
	id=$(ls "$T/state/agentjail/changes")
}
picture() { (cd "$main" && find . -printf '%p %y %m %s %T@\n' | LC_ALL=C sort); }
host() { git -C "$ws" "$@"; }
refs() { git -C "$main" for-each-ref --format='%(refname)' "refs/agentjail/$id/" | sed "s#refs/agentjail/$id/##" | tr '\n' ' '; }
sound() { check "$1: fsck" git -C "$main" fsck --strict --no-dangling; }

for mode in overlay copy rw; do
	fresh
	picture >"$T/before"
	in_jail $mode 'echo two >>a; git commit -qam two; git branch more; git tag v1; echo x >x; git add x; git stash -q
		git switch -q -c other; git commit -q --allow-empty -m three; git switch -q topic; git status --porcelain >/tmp/s; test ! -s /tmp/s'
	picture >"$T/after"
	check "$mode: the main repository is as it was" cmp "$T/before" "$T/after"
	in_jail $mode 'test "$(git log --format=%s)" = "$(printf "two\none")"; echo u >u'
	check "$mode: a later run continues with the first one's" test "$(ls "$T/state/agentjail/changes" | wc -l)" = 1
	text "$mode: list" 0 "\"mode\":\"$mode\".*\"problem\":null" changes list --json
	text "$mode: show has the repository, and the commit" 0 "$main/.git" changes show "$id"
	text "$mode: fetch" 0 "refs/agentjail/$id/topic" changes fetch "$id"
	is "$mode: every reference" "HEAD more other stash/0 tags/v1 topic " "$(refs)"
	is "$mode: no branch has moved yet" "one one" "$(host log --format=%s) $(git -C "$T/second" log --format=%s)"
	text "$mode: apply" 0 'topic moved forward' changes apply "$id"
	is "$mode: the branch is the run's, and so are the files" "two one ?? u" "$(echo $(host log --format=%s; host status --porcelain))"
	is "$mode: the branches of other working trees stay" "one one" "$(git -C "$main" log --format=%s) $(git -C "$T/second" log --format=%s)"
	sound "$mode"
	text "$mode: discard" 0 '' changes discard "$id"
	is "$mode: and its references are gone" "" "$(refs)"

	fresh
	in_jail $mode 'git switch -q -c idea; echo two >a; git commit -qam idea; echo three >>a'
	text "$mode: another branch: apply says the command" 0 '' changes apply "$id"
	command=$(sed -n 's/^  \(git .*\)/\1/p' "$T/out")
	host show topic:a >"$T/topic"
	(cd "$ws" && eval "$command") >"$T/command" 2>&1 || fail "$mode: $command" "$(cat "$T/command")"
	is "$mode: which brings the branch" "idea idea one" "$(echo $(host branch --show-current; host log --format=%s))"
	is "$mode: topic has not moved" one "$(cat "$T/topic")"
	[ $mode != rw ] || is "$mode: what was not committed is still in the file" " M a two three" " $(echo $(host status --porcelain; cat "$ws/a"))"
	sound "$mode: another branch"

	fresh
	in_jail $mode 'echo two >>a; git commit -qam two'
	git -C "$main" worktree add -q -f "$T/again" topic
	text "$mode: a branch that another working tree has, too" 0 'another working tree has this branch' changes apply "$id"
	is "$mode: is not moved" one "$(git -C "$main" log --format=%s topic)"
	git -C "$main" worktree remove --force "$T/again"

	# The worktree is gone; and another one has its name and place.
	git -C "$main" worktree remove --force "$ws"
	for place in gone another; do
		[ $place = gone ] || git -C "$main" worktree add -q "$ws" topic
		text "$mode: $place: apply is an error" $([ $place = gone ] && echo 125 || echo 2) "the workspace .$ws" changes apply "$id"
		git -C "$main" update-ref -d "refs/agentjail/$id/topic"
		text "$mode: $place: the commits can be fetched" 0 'main repository alone is fetched' changes fetch "$id"
		is "$mode: $place: the branch's commit" two "$(git -C "$main" log -1 --format=%s "agentjail/$id/topic")"
	done
	sound "$mode: a worktree that is gone"
done

# The folder is the same, but its record in the main repository is another one.
fresh
in_jail overlay 'echo two >>a; git commit -qam two'
mv "$main/.git/worktrees/ws" "$T/record" && cp -a "$T/record" "$main/.git/worktrees/ws"
text "another record of the worktree" 0 '' changes apply "$id"
is "moves no branch" one "$(host log --format=%s)"

# --- submodules ---
fresh
git init -q "$T/lib" && git -C "$T/lib" commit -q --allow-empty -m lib
host submodule --quiet add "$T/lib" lib && host commit -q -m sub && host -C lib switch -q -c work
in_jail overlay 'cd lib; echo f >f; git add f; git commit -qm inner; cd ..; git commit -qam outer'
text "a submodule of a linked worktree" 0 'topic moved forward' changes apply "$id"
is "is a repository of its own" "outer inner" "$(host log -1 --format=%s) $(git -C "$ws/lib" log -1 --format=%s)"
is "and both are clean" "" "$(host status --porcelain)"
text "a submodule's checkout alone is no linked worktree" 0 '' run --policy-file "$T/p.toml" --workspace "$ws/lib" --workspace-mode overlay -- sh -c 'git status 2>/dev/null && exit 9; exit 0'
says "and a line says which workspace works" 'the workspace is a part of the git repository .*/ws., which the jail does not show'

# --- what cannot be shown ---
echo "gitdir: $T/elsewhere/.git/worktrees/ws" >"$ws/.git"
text "a file that an earlier run may have written" 0 '' run --policy-file "$T/p.toml" --workspace "$ws" -- sh -c 'git log 2>/dev/null && exit 9; exit 0'
says "leaves git without a repository, and says so" 'git finds no repository in the jail: .*no record of this worktree'
text "a policy that does not show it" 0 '' run --policy offline-build --workspace "$T/second" --workspace-mode overlay -- true
says "names the key" 'whose main repository .*/main/.git. is not in the jail: .*filesystem.worktree = "apart"'
text "a policy that does not show it, and a bind that does" 0 '' run --policy offline-build --workspace "$T/second" --bind "$main" -- true
silent "without that line" 'is not in the jail: git'
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then # an overlay of a folder with a mount in it would show what is below
	mkdir "$main/.git/mounted"
	is "rw, and no overlay can be made: the run has no repository" "wrote none" "$(unshare -m sh -c 'mount -t tmpfs none "$1/.git/mounted" && shift && exec "$@"' sh "$main" \
		"$AJ" run --policy-file "$T/p.toml" --workspace "$T/second" --workspace-mode rw -- sh -c 'echo wrote >w; git log 2>/dev/null || echo $(cat w) none' 2>"$T/err")"
	says "rw, and no overlay can be made: a line says so" "does not get the worktree's main repository, since no overlay can be made: something is mounted"
fi
if [ "$(id -u)" != 0 ]; then # root's files are another user's for the jail
	printf 'extends = "offline-build"\n[filesystem]\nworktree = true\n' >"$T/shared.toml"
	text "shared: under rw a commit is the repository's at once" 0 '' run --policy-file "$T/shared.toml" --workspace "$T/second" --workspace-mode rw -- \
		sh -ec "$IN_JAIL; git commit -q --allow-empty -m two"
	is "shared: and no state is kept" "two" "$(git -C "$T/second" log -1 --format=%s)"
fi
finish
