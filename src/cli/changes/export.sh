# In the jail that reads a run: exports one of its repositories, and has git-upload-pack serve it, or prints a log of it.
# Usage: export.sh GIT_FOLDER WORKTREE HEAD pack|log
# WORKTREE: the name of the linked worktree whose HEAD and index count, "" for those of GIT_FOLDER itself, or "." for no index: the
# worktree is gone. HEAD: what is in the file HEAD, or "" for what is there now. log: of what is reachable from its references, but not
# from the revisions on standard input.
# Git serves a repository made here, whose objects are those of GIT_FOLDER: its configuration, hooks, alternates of other places,
# replacements and grafts have no part in it. What comes out is a claim all the same; the host's git checks it.
set -eu
exec 3<&0
export LC_ALL=C GIT_PROTOCOL=version=2 GIT_NO_LAZY_FETCH=1 GIT_NO_REPLACE_OBJECTS=1
repository=$(cd -- "$1" && pwd) x=/tmp/export stashes=100 stash=-1
own=$repository
case $2 in '' | .) ;; *) own=$repository/worktrees/$2 ;; esac

theirs() { git --git-dir="$own" --work-tree="$x" "$@"; } # its own may be out of the jail
ours() { git --git-dir="$x" "$@"; }

format=$(theirs rev-parse --show-object-format)
mkdir -p "$x/objects/info" "$x/objects/pack" "$x/refs"
ln -s "$repository/objects" "$x/theirs"
echo "$x/theirs" > "$x/objects/info/alternates"
cat > "$x/config" << END
[core]
	repositoryFormatVersion = 1
	bare = true
	commitGraph = false
	multiPackIndex = false
	warnAmbiguousRefs = false
[extensions]
	objectFormat = $format
END
[ ! -f "$repository/shallow" ] || cp "$repository/shallow" "$x/shallow"

if [ -n "$3" ]; then
	echo "$3" > "$x/HEAD"
elif name=$(theirs symbolic-ref -q HEAD); then
	echo "ref: $name" > "$x/HEAD"
else
	theirs rev-parse --verify HEAD > "$x/HEAD"
fi
theirs for-each-ref --format='%(objectname) %(refname)' refs/heads refs/tags > "$x/all"
if theirs rev-parse -q --verify refs/stash > /dev/null; then
	theirs reflog show --format=%H refs/stash -- > "$x/stash"
	head -n "$stashes" "$x/stash" | while read -r id; do
		echo "$id refs/agentjail/stash/$((stash += 1))"
	done >> "$x/all"
fi
# One to an object that is missing would make git refuse all.
ours cat-file --batch-check='%(objectname) %(objecttype) %(rest)' < "$x/all" > "$x/present"
sed -n 's/^\([0-9a-f]*\) [a-z]* \(refs.*\)/\1 \2/p' "$x/present" > "$x/packed-refs"

# What is staged and not committed, as a commit. Its date is that of the index, so that it has the same name each time.
if [ "$2" != . ] && [ -f "$own/index" ]; then
	cp "$own/index" "$x/index"
	for shared in "$own"/sharedindex.*; do
		[ ! -f "$shared" ] || cp "$shared" "$x/"
	done
	date="@$(stat -c %Y "$own/index") +0000"
	export GIT_AUTHOR_NAME=agentjail GIT_AUTHOR_EMAIL=agentjail@localhost GIT_AUTHOR_DATE="$date"
	export GIT_COMMITTER_NAME=agentjail GIT_COMMITTER_EMAIL=agentjail@localhost GIT_COMMITTER_DATE="$date"
	head=$(ours rev-parse -q --verify 'HEAD^{commit}') || head=
	if tree=$(GIT_INDEX_FILE=$x/index ours write-tree --missing-ok 2> /dev/null) && [ "$tree" != "$(ours rev-parse -q --verify "$head^{tree}")" ]; then
		index=$(ours commit-tree "$tree" ${head:+-p "$head"} -m 'Staged in the run, and not committed')
		echo "$index refs/agentjail/index" >> "$x/packed-refs"
	fi
fi
[ "$4" = log ] || exec git upload-pack --strict "$x"
{
	ours for-each-ref --format='%(objectname)' refs/heads refs/tags
	ours rev-parse -q --verify HEAD || true
	cat <&3
} | ours log --ignore-missing --stdin --max-count=101 --date-order --decorate=full --no-show-signature --no-ext-diff --no-textconv \
	--diff-merges=first-parent --no-renames --shortstat --format='%x01%H%x00%an%x00%aI%x00%D%x00%s%x00'
ours for-each-ref --format='%01%(objectname)%00%(authorname)%00%(authordate:iso-strict)%00%(refname)%00%(subject)%00' refs/agentjail
