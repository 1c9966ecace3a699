#!/bin/sh
# Files that a jail can plant in a workspace for the host to run later: each attack as a user would do it, then the host's own command.
# A canary is a file that only a planted program would make; git runs on the host and in the jail.
. "$(dirname "$0")/../lib.sh"

command -v git >/dev/null || { skip "planted code" "no git on this host"; finish; }
GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$T/gitconfig
export GIT_CONFIG_NOSYSTEM GIT_CONFIG_GLOBAL
printf '[user]\nname = host\nemail = host@localhost\n[safe]\ndirectory = *\n[init]\ndefaultBranch = main\n[protocol "file"]\nallow = always\n' >"$T/gitconfig"
W=$T/ws MARK=$T/planted
PLANTED="touch $MARK"
# Both hold the same places, by the same mounts: where root tries each attack in both, a user tries it in one.
POLICIES='offline-build coding-agent'
[ -z "$ROOT_TOO" ] || POLICIES=coding-agent

# A fresh repository with one commit that the jail's id may write to.
fresh() {
	rm -rf "$W" "$MARK"
	mkdir "$W"
	furnish
}
furnish() {
	git -C "$W" init -q
	echo one >"$W/a"
	git -C "$W" add a
	git -C "$W" commit -qm one
	open_up "$W"
}
open_up() {
	[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$1"
}
# The next steps of a person: none of them may run a file that the jail planted.
host_uses_git() {
	(cd "$W" && git status && git diff && git log -1 && git add -A && git commit -qm later --allow-empty && git stash list && git checkout -q -b other) >"$T/git" 2>&1
}
jail() { # POLICY SCRIPT
	aj run --policy "$1" --network none --workspace "$W" --env GIT_AUTHOR_NAME=j --env GIT_AUTHOR_EMAIL=j@j --env GIT_COMMITTER_NAME=j \
		--env GIT_COMMITTER_EMAIL=j@j -- sh -c "$2"
}
listing() {
	find "$W" -path "$W/.git/objects" -prune -o -print | sort
}

# --- attacks on what exists and on what does not ---
attack() { # NAME SCRIPT: afterwards the host's commands run nothing of the jail's
	for policy in $POLICIES; do
		fresh
		jail $policy "$2"
		host_uses_git
		check "planted-git: $1 ($policy)" test ! -e "$MARK"
	done
}
attack "fsmonitor in config" "git config core.fsmonitor '$PLANTED'; printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>.git/config"
attack "a new config in place of the old" "printf '[core]\nfsmonitor = \"$PLANTED\"\n' >c; mv -f c .git/config; rm -f .git/config; cp c .git/config"
attack "the repository moved away and made again" "mv .git .g2; cp -r .git .g3 && rm -rf .git; mkdir .git; cp -r .g2/. .git; printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>.git/config"
attack "a hook" "printf '#!/bin/sh\n$PLANTED\n' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit; mv .git/hooks .git/h2; mkdir .git/hooks; cp .git/h2/* .git/hooks"
attack "config.worktree" "printf '[core]\nfsmonitor = \"$PLANTED\"\n' >.git/config.worktree"
attack "a common folder of its own" "cp -r .git evil; printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>evil/config; echo ../evil >.git/commondir"
attack "a link in place of the folder" "ln -sfn /workspace/x .git/hooks; ln -sfn x .git/info; rm -rf .git; ln -s x .git"
attack "attributes with a filter" "mkdir -p .git/info; echo '* filter=x' >.git/info/attributes; printf '[filter \"x\"]\nclean = \"$PLANTED\"\n' >>.git/config; echo two >>a"

fresh
git -C "$W" config extensions.worktreeConfig true
rm -rf "$W/.git/hooks" "$W/.git/info"
before=$(listing)
jail offline-build "printf '[core]\nfsmonitor = \"$PLANTED\"\n' >.git/config.worktree; mkdir -p .git/hooks; printf '#!/bin/sh\n$PLANTED\n' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit"
is "planted-placeholder: nothing is left of places that did not exist" "$before" "$(listing)"
host_uses_git
check "planted-git: hooks and config.worktree that did not exist" test ! -e "$MARK"

# An index is git's to write: a path in it that git would write into .git is told.
fresh
json "planted-git: an index with a path in .git is told" 0 workspace.repositories.0.path=.git workspace.repositories.0.runs.0.by=index -- run --policy offline-build \
	--workspace "$W" -- sh -c "h=\$(printf '#!/bin/sh\n$PLANTED\n' | git hash-object -w --stdin) && git rm -q --cached a &&
	git update-index --add --cacheinfo 100755,\$h,xgit/hooks/post-commit && sed -i s,xgit/,.git/, .git/index"
json "planted-git: and once more when it has changed" 0 workspace.repositories.0.path=.git workspace.repositories.0.runs.0.by=index -- run --policy offline-build \
	--workspace "$W" -- sh -c 'cp .git/index i && cp i .git/index'

# --- submodules and worktrees ---
fresh
git init -q "$T/sub-origin" && git -C "$T/sub-origin" commit -q --allow-empty -m sub
git -C "$W" submodule -q add "$T/sub-origin" lib/sub && git -C "$W" commit -qm sub
git -C "$W" worktree add -q "$T/linked"
open_up "$W"
open_up "$T/linked"
jail offline-build "for d in .git/modules/lib/sub .git/worktrees/linked; do
	printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>\$d/config; cp -r .git evil; printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>evil/config
	echo /workspace/evil >\$d/commondir; rm -f \$d/commondir; mv \$d \$d.2; mkdir -p \$d/hooks; printf '#!/bin/sh\n$PLANTED\n' >\$d/hooks/post-commit; chmod +x \$d/hooks/post-commit
done"
host_uses_git
git -C "$W/lib/sub" status >/dev/null 2>&1
git -C "$T/linked" status >/dev/null 2>&1
check "planted-git: a submodule and a linked worktree" test ! -e "$MARK"

# A submodule at the first level has its index where deeper ones have their folders.
fresh
git -C "$W" submodule -q add "$T/sub-origin" sub && git -C "$W" commit -qm sub
open_up "$W"
before=$(find "$W/.git/modules" | sort)
json "planted-git: a submodule at the first level" 0 workspace.held.5=.git/modules/sub/config workspace.held.8=.git/modules/sub/hooks workspace.watched.0=.envrc \
	-- run --policy offline-build --workspace "$W" -- sh -c "printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>.git/modules/sub/config; mv .git/modules/sub .git/modules/x || true"
is "planted-placeholder: nor in its logs" "$before" "$(find "$W/.git/modules" | sort)"
jail offline-build "export HOME=/tmp; git config --global safe.directory '*'; cd sub && echo x >f && git add f && git commit -qm f && git gc -q && cd .. && git add sub && git commit -qm sub"
is "planted-git: control: in which the jail's git works" "0 x" "$rc $(cat "$W/sub/f")"
rm "$W/.git/config"
jail offline-build "printf '[core]\nfsmonitor = \"$PLANTED\"\n' >.git/config"
host_uses_git
check "planted-git: a configuration that did not exist" test ! -e "$MARK" -a ! -e "$W/.git/config"

# --- other programs ---
fresh
mkdir "$W/.vscode" && echo '{}' >"$W/.vscode/tasks.json"
echo 'export A=1' >"$W/.envrc"
open_up "$W"
jail offline-build 'for d in .vscode .idea .claude .codex .cursor .husky; do mkdir -p $d; echo evil >$d/tasks.json; mv $d x$d; rm -rf $d; ln -s x $d; done
	echo evil >.envrc; rm -f .envrc; mv .envrc x; echo evil >y; mv y .envrc'
is "planted-tools: what exists keeps its text" '{} export A=1' "$(cat "$W/.vscode/tasks.json" "$W/.envrc" | tr '\n' ' ' | sed 's/ $//')"
check "planted-tools: folders that did not exist are not there afterwards" sh -c "! ls -d $W/.idea $W/.claude $W/.codex $W/.cursor $W/.husky"
silent "planted-tools: nothing is told where nothing came" 'agentjail: workspace'
json "planted-tools: files that did not exist are watched and told" 0 'workspace.watched.0=.mcp.json' 'workspace.changed.0.path=.mcp.json' 'workspace.changed.0.what=made' \
	'enforced.protect~^read-only mounts' 'workspace.changed.1.path=agentjail-policy.toml' \
	-- run --policy offline-build --workspace "$W" -- sh -c 'echo evil >.mcp.json; echo evil >agentjail-policy.toml'
rm -f "$W/.mcp.json" "$W/agentjail-policy.toml"
jail offline-build 'echo evil >.mcp.json'
says "planted-tools: and said to a person" 'workspace: `.mcp.json`: made'

# Each place of the list but git's, as a file; a star is a name. Places that exist are held, new ones are reported.
places=$("$AJ" run --policy offline-build --workspace "$W" --dry-run -- true | sed -n '/^held in/,/^[a-z]*:/s/^  //p' | grep -v '^\.git/' | sed 's|/$||; s/\*/x/')
check "planted-tools: the list has agents, editors, shells, package managers and hooks" sh -c "[ $(echo "$places" | wc -l) -gt 100 ]"
for place in .factory .amp .trae .qoder .codebuddy .openhands .github/copilot .vibe .hg/hgrc-not-shared .jj/workspace-config.toml .lazygit.yml .RData .iex.exs .ocamlinit \
	rust-toolchain.toml pnpm-workspace.yaml .mvn/jvm.config .externalToolBuilders .bsp buildServer.json grumphp.yx .rusty-hook.toml omnisharp.json .yarn/sdks tools/bazel; do
	check "planted-tools: the list has $place" sh -c "printf '%s\n' '$places' | grep -qxF '$place'"
done
fresh
for place in $places; do
	mkdir -p "$W/$(dirname "$place")"
	echo kept >"$W/$place"
done
open_up "$W"
jail offline-build "for p in $(echo $places); do { echo evil >\$p; rm -f \$p; mv \$p x; echo evil >y; mv -f y \$p; } 2>/dev/null; done; true"
is "planted-tools: each place that is there is held" "" "$(for place in $places; do grep -qx kept "$W/$place" || echo "$place"; done)"
fresh
json "planted-tools: each that is made is told" 0 workspace.complete=true -- run --policy offline-build --workspace "$W" -- \
	sh -c "for p in $(echo $places); do mkdir -p \$(dirname \$p) && echo evil >\$p; done 2>/dev/null; true"
is "planted-tools: by its name, or was held" "" "$(for place in $places; do grep -q "\"$place\"" "$T/out" || echo "$place"; done)"
check "planted-tools: and is there" test -e "$W/.yarn/releases" -a -e "$W/opencode.jsonx"

rm -rf "$W"
mkdir -m 777 "$W"
furnish
mkdir "$W/.vscode"
echo '{}' >"$W/.vscode/tasks.json"
for d in .zed .hg; do mkdir "$W/$d"; done
echo old >"$W/.hg/hgrc"
echo old >"$W/.mcp.json"
ln "$W/.mcp.json" "$W/other"
ln -s x "$W/.envrc.link"
rm -f "$W/.envrc"
mv "$W/.envrc.link" "$W/.envrc"
open_up "$W"
json "planted-tools: what changes by another name of it, or behind a symlink, is told" 0 'workspace.changed.0.path=.envrc' 'workspace.changed.0.what~^a symlink into the workspace' \
	'workspace.changed.1.path=.mcp.json' 'workspace.changed.1.what~hard link' \
	-- run --policy offline-build --workspace "$W" -- sh -c 'echo evil >other; echo evil >x; ! ln .git/config y; ! ln .hg/hgrc y; echo evil >.hg/hgrc; touch .zed/settings.json; true'
is "planted-tools: what Mercurial and other editors obey" "old " "$(cat "$W/.hg/hgrc") $(ls "$W/.zed")"
# On a tmpfs, as many a disk takes a minute to remove so many folders.
if [ "$(id -u)" = 0 ]; then
	fresh
	mount -t tmpfs tmpfs "$W"
	furnish
	json "planted-tools: too many folders for one pattern hide no other" 0 'workspace.changed.0.path~modules' 'workspace.changed.0.what~^cannot be looked at' \
		-- run --policy offline-build --workspace "$W" -- sh -c 'mkdir .git/modules; cd .git/modules; n=0; while [ $n -lt 150 ]; do mkdir $n; (cd $n; seq 150 | xargs mkdir); n=$((n + 1)); done; echo {} >../../.mcp.json'
	check "planted-tools: as the next to the last one" grep -q '"path": *".mcp.json"' "$T/out"
	jail offline-build true
	is "planted-tools: and the next run says why it does not start" 125 "$rc"
	says "planted-tools: with the pattern" 'match more than 20000 files and folders'
	umount "$W"
else
	skip "planted-tools: too many folders for one pattern" "only root mounts a tmpfs to make them on"
fi

# --- a snippet ---
printf 'extends = "snippet"\n[python]\nlayer = false\n[filesystem]\nworkspace = "read-write"\n' >"$T/snippet.toml"
fresh
before=$(listing)
json "planted-git: a snippet" 0 'status=ok' 'value.0=OSError' 'value.1=OSError' 'value.2=OSError' 'value.3=OSError' -- exec --policy-file "$T/snippet.toml" --workspace "$W" -c '
import os
def tries(*calls):
    out = []
    for f, *args in calls:
        try:
            f(*args)
            out.append("done")
        except OSError as e:
            out.append("OSError")
    return out
tries((open, ".git/config", "a"), (open, ".git/hooks/post-commit", "w"), (os.rename, ".git", ".g2"), (os.mkdir, ".claude/x"))'
is "planted-placeholder: a snippet leaves none" "$before" "$(listing)"

# --- repositories that the jail makes or changes ---
fresh
mkdir "$W/old" && git init -q "$W/old" && git -C "$W/old" commit -q --allow-empty -m old
git init -q --bare "$W/same"
open_up "$W"
IN_JAIL="export HOME=/tmp; git config --global user.email j@j; git config --global user.name j; git config --global safe.directory '*'"
json "planted-repositories: each is named with what it would run" 0 workspace.complete=true \
	-- run --policy offline-build --workspace "$W" -- sh -c "$IN_JAIL
		git init -q pkg && cd pkg && git commit -q --allow-empty -m x && git config core.fsmonitor '$PLANTED' && cd .. && git add pkg
		git init -q --bare shape; printf '#!/bin/sh\n$PLANTED\n' >shape/hooks/post-commit; chmod +x shape/hooks/post-commit
		mkdir -p gf ln common; echo 'gitdir: ../shape' >gf/.git; ln -s ../shape ln/.git; cp pkg/.git/HEAD common; echo ../pkg/.git >common/commondir
		git -C old config filter.x.smudge '$PLANTED'; mkdir -p t/b/c && git init -q t/b/c; mv t moved; git -C old commit -q --allow-empty -m more"
repository() { # PATH KIND WHAT RUNS
	is "planted-repositories: $1" "$2 $3 $4" "$($PY -c 'import json, sys
for r in json.load(open(sys.argv[1]))["workspace"]["repositories"]:
    if r["path"] == sys.argv[2]:
        print(r["kind"], r["what"], ",".join(x["by"] for x in r["runs"]))' "$T/out" "$1")"
}
repository pkg/.git folder made core.fsmonitor
repository shape bare made hooks/post-commit
repository gf/.git file made .git
repository ln/.git symlink made symlink
repository common bare made commondir
repository old/.git folder changed filter.x.smudge
repository moved/b/c/.git folder made ''
is "planted-repositories: and no other" 7 "$($PY -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["workspace"]["repositories"]))' "$T/out")"
# The attack that no list of places holds off: the host's git enters what is staged as a gitlink.
host_uses_git
check "planted-repositories: (the host's git does run what is in one, so the name is all that there is)" test -e "$MARK"
jail offline-build 'mkdir x && git init -q x && git -C x config core.sshCommand evil'
says "planted-repositories: a person is told" 'repository `x/.git` \(folder\): made; review'
says "planted-repositories: with what it would run" 'core.sshcommand: evil'
fresh
mkdir "$W/.githooks" && git -C "$W" config core.hooksPath .githooks && git -C "$W" config include.path ../shared.config
open_up "$W"
json "planted-repositories: hooks and includes that an old configuration takes from the workspace" 0 workspace.repositories.0.path=.git \
	workspace.repositories.0.what=changed -- run --policy offline-build --workspace "$W" -- sh -c "echo '#!/bin/sh' >.githooks/post-commit; chmod +x .githooks/post-commit; printf '[core]\nfsmonitor = evil\n' >shared.config"
check "planted-repositories: with the hook and the variable" sh -c "grep -q '.githooks/post-commit' $T/out && grep -q core.fsmonitor $T/out"
json "planted-repositories: what a jail cannot have listed is looked into all the same, or said" 0 'workspace.repositories.0.path~d/.*.git' \
	-- run --policy offline-build --workspace "$W" -- sh -c 'mkdir d; cd d; git init -q .; cd ..; chmod 311 d'
chmod 755 "$W/d"
fresh
json "planted-repositories: a tree that is too deep is said" 0 workspace.complete=false 'workspace.why~longer than' \
	-- run --policy offline-build --workspace "$W" -- "$PY" -c 'import os
for i in range(60):
    os.mkdir("d" * 100)
    os.chdir("d" * 100)
os.mkdir(".git")'
fresh
json "planted-repositories: a pipe and a loop of links in place of files do no harm" 0 workspace.complete=true -- run --policy offline-build --workspace "$W" -- \
	sh -c 'mkdir p p/.git q; mkfifo p/.git/config p/.git/HEAD q/.git; ln -s . p/loop; ln -s loop loop; head -c 3000000 /dev/zero | tr "\\0" "[" >p/.git/config.worktree'

printf 'extends = "offline-build"\n[filesystem]\nprotect = []\n' >"$T/none.toml"
fresh
aj run --policy-file "$T/none.toml" --workspace "$W" --json -- sh -c 'git init -q pkg; mkdir .claude'
check "planted-repositories: a policy that holds nothing has nothing looked at" sh -c "grep -q '\"none: filesystem.protect is empty' $T/out && ! grep -q '\"repositories\"' $T/out"
# A folder that was there long enough before the run is not listed again; files that come into it are seen all the same.
fresh
mkdir -p "$W/o/b/c" "$W/d/e" && git init -q "$W/d/e/f" && git -C "$W/d/e/f" commit -q --allow-empty -m x
open_up "$W"
sleep 2
json "planted-repositories: in folders that are old" 0 workspace.complete=true \
	-- run --policy offline-build --workspace "$W" -- sh -c "echo gitdir: x >o/b/c/.git; printf '[core]\nfsmonitor = x\n' >>d/e/f/.git/config; touch -d '10 days ago' o/b/c o/b o . d"
check "planted-repositories: both a new one and a changed one" sh -c "grep -q '\"o/b/c/.git\"' $T/out && grep -q '\"d/e/f/.git\"' $T/out"

# --- quarantine ---
printf 'extends = "offline-build"\n[filesystem]\nquarantine = true\n' >"$T/quarantine.toml"
fresh
mkdir "$W/old" && git init -q "$W/old" && git -C "$W/old" commit -q --allow-empty -m old
open_up "$W"
json "planted-repositories: quarantine moves aside what is new" 0 'workspace.repositories.0.moved_to~quarantined-' 'workspace.changed.0.moved_to~^.mcp.json.quarantined-' \
	-- run --policy-file "$T/quarantine.toml" --workspace "$W" -- sh -c "$IN_JAIL
		git init -q pkg && cd pkg && git commit -q --allow-empty -m x && git config core.fsmonitor '$PLANTED' && cd .. && git add pkg; echo x >.mcp.json; mkdir gf; echo gitdir: ../pkg/.git >gf/.git
		git -C old config user.name changed"
host_uses_git
check "planted-repositories: and the host's git runs nothing of it" test ! -e "$MARK"
check "planted-repositories: what was there before stays" git -C "$W/old" log -1
check "planted-repositories: the rest is where it was" sh -c "test -e '$W/pkg/.git/config' && ! test -e '$W/gf/.git' && ! test -e '$W/.mcp.json'"

# --- a linked worktree as the workspace ---
printf 'extends = "offline-build"\n[filesystem]\nworktree = true\nworkspace_under = ["@anywhere"]\n' >"$T/worktree.toml"
linked() { # a main repository at $T/main and its worktree as the workspace
	fresh
	rm -rf "$T/main"
	mv "$W" "$T/main"
	git -C "$T/main" worktree add -q "$W"
	open_up "$T/main"
	open_up "$W"
	before=$(find "$T/main" | grep -v /objects | sort)
}
in_worktree() {
	aj run --policy-file "$T/worktree.toml" --workspace "$W" --env HOME=/tmp -- sh -c "$IN_JAIL; $1"
}
linked
in_worktree 'set -e; echo two >>a; git commit -qam two; git switch -q -c topic; echo b >b; git add b; git commit -qm b; git rebase -q HEAD~1; git branch -q -D ws; git gc -q; git status; git config gc.auto'
is "planted-worktree: git works in it" 0 "$rc"
is "planted-worktree: and the host sees what it did" b "$(git -C "$T/main" log -1 --format=%s topic)"
check "planted-worktree: automatic garbage collection is off" grep -qx 0 "$T/out"
linked
in_worktree "m=\$(git rev-parse --git-common-dir); printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>\$m/config; echo evil >\$m/commondir; mv \$m/hooks \$m/h; mv \$m \$m.2
	mkdir -p \$m/hooks; printf '#!/bin/sh\n$PLANTED\n' >\$m/hooks/post-commit; chmod +x \$m/hooks/post-commit; cp -r \$m /tmp/evil; cp -r /tmp/evil \$m/evil; echo ../../evil >\$m/worktrees/ws/commondir
	printf '[core]\nfsmonitor = \"$PLANTED\"\n' >>\$m/worktrees/ws/config.worktree; echo gitdir: /tmp >.git; rm -f .git; mv .git x"
git -C "$T/main" status >/dev/null && git -C "$T/main" commit -q --allow-empty -m host
host_uses_git
check "planted-worktree: the main repository and the worktree run nothing of the jail's" test ! -e "$MARK"
linked
in_worktree true
is "planted-worktree: nothing is left in the main repository" "$before" "$(find "$T/main" | grep -v /objects | sort)"
git init -q "$T/other" && mkdir -p "$T/other/.git/worktrees/ws" && echo ../.. >"$T/other/.git/worktrees/ws/commondir" && echo /nowhere/.git >"$T/other/.git/worktrees/ws/gitdir"
echo "gitdir: $T/other/.git/worktrees/ws" >"$W/.git"
in_worktree true
is "planted-worktree: a repository that does not know it is not shown" 2 "$rc"
says "planted-worktree: and it is said" 'has no record of this worktree'
linked
chmod 0 "$W"
if [ "$(id -u)" != 0 ]; then
	in_worktree true
	is "planted-worktree: a workspace that the caller cannot look into is not taken for one without" 125 "$rc"
	says "planted-worktree: and the error names the file" 'worktree: cannot tell whether the workspace is a linked worktree: look at `.*/.git`'
fi
chmod 755 "$W"
aj run --policy offline-build --workspace "$W" -- git status
is "planted-worktree: without filesystem.worktree nothing of it is shown" 128 "$rc"

# --- honest git ---
fresh
git init -q --bare "$T/remote.git" && git -C "$W" remote add origin "$W/../ws/remote.git" && mv "$T/remote.git" "$W/remote.git"
open_up "$W"
jail offline-build 'set -e; export HOME=/tmp; git config --global safe.directory "*"; git config --global --add protocol.file.allow always
	git switch -q -c topic; echo two >>a; git commit -qam two; git switch -q main; echo b >b; git add b; git commit -qm b; git rebase -q topic; git stash list; git tag t
	git gc -q; git worktree add -q wt; git -C wt log -1 >/dev/null; git worktree remove wt; git remote -v >/dev/null; git push -q /workspace/remote.git main; git fetch -q /workspace/remote.git
	git branch -q -d topic; git reset -q --hard HEAD; git fsck; git diff HEAD~1 >/dev/null'
is "honest git works: switch, commit, rebase, gc, worktree, push, fetch" 0 "$rc"
is "the host sees its commits" b "$(git -C "$W" log -1 --format=%s)"

# --- placeholders ---
fresh
before=$(listing)
jail offline-build 'true'
is "planted-placeholder: none is left" "$before" "$(listing)"
started() { # of a run that waits
	await test -e "$W/$1"
}
"$AJ" run --policy offline-build --workspace "$W" -- sh -c 'touch in1; while [ ! -e stop1 ]; do sleep 0.1; done; ! mkdir .claude/x' >"$T/out1" 2>&1 &
first=$!
started in1
"$AJ" run --policy offline-build --workspace "$W" -- sh -c 'touch in2; while [ ! -e stop2 ]; do sleep 0.1; done; ! mkdir .claude/x' >"$T/out2" 2>&1 &
second=$!
started in2
touch "$W/stop1"
wait $first
is "planted-placeholder: the first of two runs is held" 0 $?
check "planted-placeholder: it leaves them to the second" test -d "$W/.claude"
touch "$W/stop2"
wait $second
is "planted-placeholder: which is held to its end" 0 $?
rm -f "$W"/in? "$W"/stop?
is "planted-placeholder: the last one removes them" "$before" "$(listing)"
"$AJ" run --policy offline-build --workspace "$W" -- sh -c 'touch in1; sleep 60' >"$T/out1" 2>&1 &
first=$!
started in1
kill -9 $first
wait $first 2>/dev/null
sleep 0.3
check "planted-placeholder: a killed run leaves them" test -d "$W/.claude"
jail offline-build '! mkdir .claude/x'
is "planted-placeholder: what it left holds in the next run" 0 "$rc"
rm -f "$W/in1"
is "planted-placeholder: and is swept by it" "$before" "$(listing)"
"$AJ" run --policy offline-build --workspace "$W" --json -- sh -c 'touch in1; while [ ! -e stop1 ]; do sleep 0.1; done; mkdir .idea; touch .idea/planted; true' >"$T/out1" 2>&1 &
first=$!
started in1
echo '{}' >"$W/.vscode/settings.json"
rmdir "$W/.idea"
touch "$W/stop1"
wait $first
is "planted-placeholder: what the host's user has put there stays" '{}' "$(cat "$W/.vscode/settings.json")"
is "planted-placeholder: and its folder is an ordinary one" 755 "$(stat -c %a "$W/.vscode")"
check "planted-placeholder: a removal on the host is told" grep -q '"path": *".idea"' "$T/out1"

# --- a folder without a project: programs that begin one want it empty ---
for entries in "" ".gitignore LICENSE.md"; do
	rm -rf "$W"
	mkdir -m 777 "$W"
	[ -z "$entries" ] || (cd "$W" && touch $entries)
	json "planted-placeholder: there are none in a folder that holds '$entries'" 0 "stdout=$entries" 'workspace.changed.0.path=.vscode' 'workspace.changed.0.what=made' 'workspace.held!vscode' \
		-- run --policy offline-build --workspace "$W" -- sh -c 'echo -n $(ls -A); mkdir .vscode'
done
fresh
git clone -q --bare "$W" "$T/origin.git"
open_up "$T/origin.git"
rm -rf "$W"
mkdir -m 777 "$W"
text "planted-placeholder: git clones into it" 0 '^one$' run --policy offline-build --workspace "$W" --bind "$T/origin.git" -- sh -c "git clone -q '$T/origin.git' . && cat a"
text "planted-placeholder: and the next run holds the places" 0 '^\.claude' run --policy offline-build --workspace "$W" -- sh -c 'ls -d .claude && ! mkdir .claude/x'
rm -rf "$T/origin.git"

# --- repositories that are hard to see ---
fresh
mkdir "$W/hk"
git -C "$W" config core.hooksPath "$W/hk"
git -C "$W" config include.path "$W/inc"
open_up "$W"
json "planted-repositories: hooks and an included file by an absolute path" 0 workspace.repositories.0.path=.git 'workspace.repositories.0.runs.2.by=core.fsmonitor' \
	'workspace.repositories.0.runs.3.by=hk/post-commit' \
	-- run --policy offline-build --workspace "$W" -- sh -c "printf '[core]\nfsmonitor = x\n' >inc; echo x >hk/post-commit; chmod +x hk/post-commit"
fresh
json "planted-repositories: below a HEAD and a folder objects" 0 workspace.repositories.0.path=objects/evil/.git \
	-- run --policy offline-build --workspace "$W" -- sh -c "touch HEAD; mkdir objects; git init -q objects/evil"
fresh
json "planted-repositories: a rebase whose rest runs programs" 0 workspace.repositories.0.path=.git 'workspace.repositories.0.runs.0.by=rebase-merge/git-rebase-todo' \
	'workspace.repositories.0.runs.0.value~^exec touch' \
	-- run --policy offline-build --workspace "$W" -- sh -c "mkdir .git/rebase-merge; printf 'pick 1\n\n  exec $PLANTED\n' >.git/rebase-merge/git-rebase-todo"

fresh
git -C "$W" worktree add -q "$T/second"
open_up "$W"
json "planted-repositories: and that of a linked worktree" 0 'workspace.repositories.0.path=.git/worktrees/second' 'workspace.repositories.0.runs.1.value~^x touch' \
	-- run --policy offline-build --workspace "$W" -- sh -c "mkdir .git/worktrees/second/rebase-merge; printf 'x $PLANTED\n' >.git/worktrees/second/rebase-merge/git-rebase-todo"
rm -rf "$T/second"
linked
json "planted-worktree: a rebase that was begun in the main repository, and in the worktree itself" 0 workspace.complete=true \
	-- run --policy-file "$T/worktree.toml" --workspace "$W" -- sh -c "cd $T/main/.git && mkdir rebase-merge worktrees/ws/rebase-merge && printf 'exec $PLANTED\n' | tee rebase-merge/git-rebase-todo >worktrees/ws/rebase-merge/git-rebase-todo"
check "planted-worktree: both are told" sh -c "grep -q '\"$T/main/.git\"' $T/out && grep -q '\"$T/main/.git/worktrees/ws\"' $T/out"
# The log of references gets lines from the host's user, about commits of the jail's.
fresh
echo : >"$T/startup"
jail offline-build 'git -c user.name=j -c user.email=j@j commit -q --allow-empty -m "\$('"$PLANTED"')"; rm -rf .git/logs/HEAD .git/objects/00; ln -s '"$T/startup"' .git/logs/HEAD; ln -s /x .git/objects/00; mkdir -p .git/refs/heads/a; ln -s /y .git/refs/heads/a/b; echo /z/objects >.git/objects/info/alternates'
says "planted-repositories: a symlink that git writes through" "logs/HEAD: a symlink, which git writes through: $T/startup"
says "planted-repositories: among objects" 'objects/00: a symlink, which git writes through: /x'
says "planted-repositories: among references" 'refs/heads/a/b: a symlink'
says "planted-repositories: objects of another repository" 'objects/info/alternates: /z/objects'
rm "$W/.git/objects/info/alternates"
git -C "$W" commit -q --allow-empty -C HEAD >"$T/git" 2>&1
sh "$T/startup" >/dev/null 2>&1
check "planted-repositories: (it runs at the next start of that shell, so the name is all that there is)" test -e "$MARK"
jail offline-build true
silent "planted-repositories: and are not told again" 'logs/HEAD'
fresh
git -C "$W" config include.path "$W/one.inc"
printf '[include]\npath = conf/two.inc\n' >"$W/one.inc"
mkdir "$W/conf"
printf '[include]\npath = three.inc\npath = ../one.inc\n' >"$W/conf/two.inc"
open_up "$W"
json "planted-repositories: the third file of a chain of includes, which is also a loop" 0 workspace.repositories.0.path=.git \
	-- run --policy offline-build --workspace "$W" -- sh -c "printf '[core]\nfsmonitor = $PLANTED\n' >conf/three.inc"
check "planted-repositories: with what it would run" grep -q core.fsmonitor "$T/out"
# A held folder holds names: a file in it that the host's user gave another name is changed by that.
fresh
mkdir -p "$W/.vscode/deep"
echo '{}' >"$W/.vscode/deep/tasks.json"
printf '#!/bin/sh\n' >"$W/.git/hooks/post-commit"
chmod 777 "$W/.git/hooks/post-commit"
ln "$W/.git/hooks/post-commit" "$W/hook"
ln "$W/.vscode/deep/tasks.json" "$W/tasks"
open_up "$W"
json "planted-tools: a file in a held folder by another name of it" 0 workspace.repositories.0.path=.git workspace.changed.1.what~'hard link' \
	-- run --policy offline-build --workspace "$W" -- sh -c "echo '$PLANTED' >>hook; echo evil >tasks; ! ln .git/hooks/post-commit y"
check "planted-tools: which is named" sh -c "grep -q '\".vscode/deep/tasks.json\"' $T/out && grep -q '\".git/hooks/post-commit\"' $T/out"
host_uses_git
check "planted-tools: (such a hook runs, so the name is all that there is)" test -e "$MARK"

# --- binds ---
fresh
mkdir -p "$T/hooks" "$W/deep/er"
echo kept >"$T/hooks/x"
open_up "$W"
aj run --policy command --bind "$W:/mnt/ws:rw" -- true
says "planted-bind-rw: a writable bind of a project is not held, which is said" '`/mnt/ws` is bound writable, and programs of the host obey `.git/config` there'
mkdir -m 777 -p "$T/plain"
aj run --bind "$T/plain:/mnt/ws:rw" -- true
is "planted-bind-rw: of another folder nothing is" "" "$(cat "$T/err")"
json "planted-bind-rw: enforced says it in any case" 0 'enforced.protect~^none: `/mnt/ws` is a writable bind' -- run --bind "$T/plain:/mnt/ws:rw" -- true
json "planted-bind-rw: beside a workspace, too" 0 'enforced.protect~only reported; `/mnt/ws` is a writable bind' -- run --policy offline-build --workspace "$W" --bind "$T/plain:/mnt/ws:rw" -- true
aj run --bind "$W:/mnt/ws:rw" --bind "$T/hooks:/mnt/ws/deep/er:ro" -- sh -c 'cd /mnt/ws && mv deep gone || mv deep/er gone || { rm -rf deep; mkdir -p deep/er && echo evil >deep/er/x; }; cat deep/er/x'
is "planted-bind: a read-only bind inside a writable one stays where it is" kept "$(cat "$T/out")"
finish
