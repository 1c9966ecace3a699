"""Scenes of a run that commits, and of a host that goes on working, each with the real git and a real run.

A scene is a row of shell scripts: `make` completes the user's repository, `jail` is what the agent does, `host` what the user does while the run
waits at its line PAUSE, `later` what the user does after the run. Then `agentjail changes apply` runs with the words of `apply`, and `then` says
what must hold. After each scene every repository is fsck-clean, `git status` is `status`, and the user's configuration, hooks, stash and references
are as they were, except for `moved`; no hook and no filter of the host has run. A word as argument: scenes whose name holds it."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from client import AJ, FOLDER, check, done

# For all scripts. The tests' HOME has no configuration of git's.
PRELUDE = r"""
exec 2>&1
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat GIT_ALLOW_PROTOCOL=file
eq() { [ "$1" = "$2" ] || { echo "want '$1', got '$2'"; exit 1; }; }
subject() { git log -1 --format=%s "$@"; }
commit() { git add -A && git commit -qm "$1"; }
lines() { for i in 1 2 3 4 5 6 7 8 9; do echo "$1 $i"; done; }
"""
AUTHOR = "export GIT_AUTHOR_NAME=%s GIT_AUTHOR_EMAIL=%s@example.org GIT_COMMITTER_NAME=%s GIT_COMMITTER_EMAIL=%s@example.org\n"
USER, AGENT = AUTHOR % (("user",) * 4), AUTHOR % (("agent",) * 4)
BASE = r"""
git init -q -b main .
lines a >a; lines b >b; mkdir d; lines c >d/c; printf 'ignored/\n' >.gitignore
commit one
echo more >>b; commit two
git branch other HEAD~1; git tag v0
echo stashed >>d/c; git stash -q
git config user.name user; git config user.email user@example.org
"""
HOOKS = ("applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout "
         "post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite "
         "fsmonitor-watchman post-index-change")

SCENES = []


class Scene:
    def __init__(self, name, jail, then, make="", host="", later="", apply=("",), rc=0, says="", status="", moved="refs/heads/main", base=BASE,
                 mode="overlay", own="", options=()):
        self.__dict__.update({k: v for k, v in locals().items() if k != "self"})
        SCENES.append(self)


# --- the user does nothing ---

PLAIN = "echo 2 >>a; commit work; echo new >e; commit more"
Scene("the agent commits", PLAIN, "eq more \"$(subject)\"; eq new \"$(cat e)\"; eq 2 \"$(tail -n 1 a)\"", says="main moved forward")
Scene("the agent commits, in a copy", PLAIN, "eq more \"$(subject)\"; eq new \"$(cat e)\"", mode="copy")
Scene("the agent commits, and edits more", PLAIN + "; echo 3 >>a; echo x >u", "eq more \"$(subject)\"; eq 3 \"$(tail -n 1 a)\"", status=" M a\n?? u")
Scene("the agent stages", "echo 2 >>a; git add a; echo 3 >>a", "eq two \"$(subject)\"; git cat-file -e refs/agentjail/ID/index; eq 3 \"$(tail -n 1 a)\"", status=" M a")
Scene("the agent removes, renames and makes executable", "git rm -q b; git mv a moved; chmod +x d/c; ln -s d/c link; commit work",
      "test ! -e a; test -x d/c; eq d/c \"$(readlink link)\"; eq work \"$(subject)\"")
Scene("apply twice", PLAIN, "eq more \"$(subject)\"", apply=("", "", ""))
Scene("fetch alone", PLAIN, "eq two \"$(subject)\"; eq more \"$(subject agentjail/ID/main)\"", apply=("fetch",))
Scene("discard forgets the references", PLAIN, "eq two \"$(subject)\"; eq '' \"$(git for-each-ref refs/agentjail)\"", apply=("fetch", "discard"))

# --- the user goes on in the same folder ---

Scene("git status of the user", PLAIN, "eq more \"$(subject)\"", host="touch b d/c; git status; git diff --stat", later="touch d/c; git status")
Scene("git fetch of the user", PLAIN, "eq more \"$(subject)\"; git rev-parse -q --verify origin/main", make="git clone -q --bare . ../origin; git remote add origin ../origin",
      host="git fetch -q", later="git fetch -q")
Scene("git gc of the user", PLAIN, "eq more \"$(subject)\"", host="git gc -q --prune=now", later="git repack -adq; git pack-refs --all")
Scene("a commit of the user on another branch", PLAIN, "eq more \"$(subject)\"; eq theirs \"$(subject other)\"",
      later="git worktree add -q ../beside other; cd ../beside; echo o >o; commit theirs")
Scene("a commit of the user on the same branch", PLAIN, "eq theirs \"$(subject)\"; git merge -q --no-edit agentjail/ID/main; eq 2 \"$(tail -n 1 a)\"; eq new \"$(cat e)\"; test -e t",
      later="echo t >t; commit theirs", says="git merge agentjail/ID/main", moved="refs/heads/main")
Scene("the same, and files that no commit has", PLAIN + "; echo u >u; echo 4 >>d/c", "eq u \"$(cat u)\"; eq 4 \"$(tail -n 1 d/c)\"; test ! -e e; git stash -q; git merge -q --no-edit agentjail/ID/main",
      later="echo t >t; commit theirs", says="git merge agentjail/ID/main", status=" M d/c\n?? u", own="refs/stash")
Scene("an editor refreshes the index all the time", "echo 2 >>a; commit work; echo ready; read -r x; echo 3 >>a; commit more", "eq more \"$(subject)\"",
      host="for i in 1 2 3 4 5 6 7 8 9 10; do touch b d/c; git update-index -q --refresh || :; git status -s; sleep 0.1; done")
Scene("another branch is checked out meanwhile", PLAIN, "eq one \"$(subject)\"; eq more \"$(subject agentjail/ID/main)\"; eq 'a 9' \"$(tail -n 1 a)\"; test ! -e e", later="git checkout -q other",
      says="git (switch main|merge agentjail/ID/main)")
Scene("both edited a file that no commit has", "echo 2 >>a; echo e >e", "eq host \"$(tail -n 1 a)\"; test ! -e e", later="echo host >>a", rc=1, says="conflict  a", status=" M a")
Scene("both edited a file, and it is merged", "sed -i '1s/.*/agent/' a; commit work", "eq agent \"$(head -n 1 a)\"; eq host \"$(tail -n 1 a)\"; eq work \"$(subject)\"",
      later="echo host >>a", apply=("apply --merge",), status=" M a")
Scene("both edited the same lines, and it is merged", "sed -i '1s/.*/agent/' a; commit work", "grep -q '^<<<<<<<' a; grep -q '^agent$' a; grep -q '^host$' a; eq work \"$(subject)\"",
      later="sed -i '1s/.*/host/' a", apply=("apply --merge",), status=" M a")

# --- what the user had not committed ---

Scene("the agent commits edits of the user", "commit work", "eq work \"$(subject)\"; eq mine \"$(tail -n 1 a)\"; git show --stat HEAD | grep -q ' a '", make="echo mine >>a; echo mine >m")
Scene("edits of the user stay uncommitted", "echo e >e; git add e; git commit -qm work", "eq work \"$(subject)\"; eq mine \"$(tail -n 1 a)\"", make="echo mine >>a", status=" M a")
Scene("what the user had staged stays staged", "echo e >e; git commit -qm work e 2>/dev/null || { git add e; git commit -qm work e; }",
      "eq work \"$(subject)\"; eq m \"$(cat m)\"", make="echo m >m; git add m", status="A  m")
Scene("the agent commits what the user had staged", "git commit -qm work", "eq work \"$(subject)\"", make="echo m >m; git add m; git rm -q --cached b", status="?? b")

# --- how the agent uses git ---

Scene("rebase", "git switch -q -c topic other; echo x >x; commit x; git rebase -q main; git switch -q main; git merge -q --ff-only topic", "eq x \"$(subject)\"; eq x \"$(subject agentjail/ID/topic)\"")
Scene("rebase of the branch itself", "git rebase -q other", "eq two \"$(subject)\"; git reset -q --keep agentjail/ID/main; eq theirs \"$(subject HEAD~1)\"; test -e o",
      make="git switch -q other; echo o >o; commit theirs; git switch -q main", says="git reset --keep agentjail/ID/main")
Scene("amend", "echo 2 >>a; git commit -qam amended --amend", "eq two \"$(subject)\"; eq amended \"$(subject agentjail/ID/main)\"", says="git reset --keep agentjail/ID/main")
Scene("merge", "git switch -q other; echo x >x; commit x; git switch -q main; git merge -q --no-edit other", "eq 2 $(git log -1 --format=%p | wc -w); test -e x")
Scene("reset", "git reset -q --hard HEAD~1", "eq two \"$(subject)\"; eq one \"$(subject agentjail/ID/main)\"", status=" M b")
Scene("stash", "echo 2 >>a; git stash -q; echo e >e; commit work", "eq work \"$(subject)\"; git stash apply -q refs/agentjail/ID/stash/0; eq 2 \"$(tail -n 1 a)\"; git checkout -q a")
Scene("a new branch", "git switch -q -c topic; echo t >t; commit topic", "eq two \"$(subject)\"; test ! -e t; git switch -q -c topic agentjail/ID/topic; eq t \"$(cat t)\"; git switch -q main; git branch -qD topic",
      says="git switch -c topic agentjail/ID/topic")
Scene("a detached HEAD", "git checkout -q --detach; echo t >t; commit topic", "eq two \"$(subject)\"; eq topic \"$(subject agentjail/ID/HEAD)\"; test ! -e t", says="git merge agentjail/ID/HEAD")
Scene("a detached HEAD of the host", "echo t >t; commit topic", "eq topic \"$(subject)\"; ! git symbolic-ref -q HEAD; eq t \"$(cat t)\"", make="git checkout -q --detach", moved="HEAD")
Scene("tags", PLAIN + "; git tag v1; git tag -a -m text v2; git tag -f v0", "eq two \"$(subject v0)\"; eq more \"$(subject refs/agentjail/ID/tags/v0)\"; eq tag $(git cat-file -t refs/agentjail/ID/tags/v2); ! git rev-parse -q --verify v1")
Scene("branches with names of ours", "for n in tags/x stash/y index HEAD2 heads/z deep/er/x; do git branch $n; done; " + PLAIN,
      "for n in heads/tags/x heads/stash/y heads/index HEAD2 heads/heads/z deep/er/x; do eq two \"$(subject refs/agentjail/ID/$n)\"; done")
Scene("a branch of the run's name", PLAIN, "eq two \"$(subject)\"; eq more \"$(subject agent/one)\"; test ! -e e", apply=("apply --branch agent/one",), own="refs/heads/agent/one", says="agent/one")
Scene("an unborn branch gets its first commit", "echo a >a; git add a; git commit -qm first", "eq first \"$(subject)\"; eq a \"$(cat a)\"", base="git init -q -b main .")
Scene("settings, hooks and notes of the run stay behind", PLAIN + "; git notes add -m n HEAD; git replace HEAD HEAD~1; git config core.fsmonitor 'echo x >>marker'; git config alias.x y; echo x >.git/hooks/pre-commit",
      "eq more \"$(subject)\"; ! git rev-parse -q --verify refs/notes/commits; test ! -e marker")

# --- more than one repository ---

NESTED = "mkdir n; cd n; git init -q -b main .; lines n >f; commit n; cd ..; echo /n >>.git/info/exclude"
SUB = "git init -q -b main ../sub; (cd ../sub; lines s >f; commit s); git -c protocol.file.allow=always submodule -q add ../sub s; commit sub"
Scene("a nested repository", "cd n; echo x >>f; commit inner; cd ..; " + PLAIN, "eq more \"$(subject)\"; cd n; eq inner \"$(subject)\"; eq '' \"$(git status -s)\"", make=NESTED)
Scene("a submodule", "cd s; echo x >>f; commit inner; cd ..; commit outer", "eq outer \"$(subject)\"; cd s; eq x \"$(tail -n 1 f)\"; eq inner \"$(subject)\"; eq '' \"$(git status -s)\"", make=SUB, moved="refs/heads/main")
Scene("a submodule, alone", "cd s; git checkout -q --detach; echo x >>f; commit inner", "cd s; eq s \"$(subject)\"; eq inner \"$(subject agentjail/ID/HEAD)\"", make=SUB)
Scene("one of two repositories is in conflict", "cd n; echo x >>f; commit inner; cd ..; " + PLAIN, "eq more \"$(subject)\"; cd n; eq theirs \"$(subject)\"; git merge -q --no-edit agentjail/ID/main; eq x \"$(tail -n 1 f)\"",
      make=NESTED, later="cd n; echo t >t; commit theirs", says="git -C n merge agentjail/ID/main")
Scene("a repository by git init", "mkdir r; cd r; git init -q -b trunk .; echo 1 >f; commit first; git tag v1", "cat r/f; test ! -e r/.git", says="r/\\.git", status="?? r/")
Scene("the same, by name", "mkdir r; cd r; git init -q -b trunk .; echo 1 >f; commit first; git tag v1; echo x >.git/hooks/post-checkout; git config core.sshCommand x",
      "cd r; eq first \"$(subject)\"; eq trunk \"$(git branch --show-current)\"; git rev-parse -q --verify v1; test ! -e .git/hooks/post-checkout; ! git config core.sshCommand; eq '' \"$(git status -s)\"",
      apply=("apply", "apply r/.git"), status="?? r/")
Scene("a bare repository", "git -C bare.git branch x main; git clone -q bare.git /tmp/c; cd /tmp/c; echo z >z; commit pushed; git push -q origin main", "eq two \"$(subject)\"; cd bare.git; eq pushed \"$(subject main)\"; eq two \"$(subject agentjail/ID/x)\"",
      make="git clone -q --bare . bare.git; echo /bare.git >>.git/info/exclude")

# --- kinds of repositories ---

FILTER = r"""
git config filter.lfs.clean "sh -c '(echo clean >>$MARK) 2>/dev/null; sed s/^/pointer:/'"; git config filter.lfs.smudge "sh -c '(echo smudge >>$MARK) 2>/dev/null; sed s/^pointer://'"
git config filter.lfs.required true; echo '*.bin filter=lfs' >.gitattributes; echo one >x.bin; commit bin; eq pointer:one "$(git cat-file blob HEAD:x.bin)"
"""
Scene("pointers of a filter", "echo two >x.bin; echo new >y.bin; commit work", "eq work \"$(subject)\"; eq two \"$(cat x.bin)\"; eq pointer:two \"$(git cat-file blob HEAD:x.bin)\"; eq new \"$(cat y.bin)\"", make=FILTER)
Scene("a filter that the run turns on", "echo '* filter=lfs' >.gitattributes; echo two >>a; commit work", "eq work \"$(subject)\"", make=FILTER + "git rm -q .gitattributes; git commit -qm none; echo 2 >n")
Scene("ends of lines", "printf '2\\r\\n' >>crlf; printf 'unix\\n' >>a; commit work", "eq work \"$(subject)\"; eq 2 \"$(tail -n 1 crlf | tr -d '\\r')\"; eq 1 \"$(tail -n 1 crlf | tr -dc '\\r' | wc -c)\"",
      make="echo 'crlf text eol=crlf' >.gitattributes; printf '1\\r\\n' >crlf; commit eol; git config core.autocrlf input")
Scene("a shallow clone", PLAIN, "eq more \"$(subject)\"; test -s .git/shallow", base=BASE + "mv .git ../full; rm -rf * .gitignore; git clone -q --depth 1 file://$PWD/../full .")
FULL = BASE + "mv .git ../full; rm -rf * .gitignore; git -C ../full config core.bare true; git -C ../full config uploadpack.allowFilter true; git -C ../full config uploadpack.allowAnySHA1InWant true; "
Scene("a partial clone", PLAIN, "eq more \"$(subject)\"; git rev-list --objects --missing=print HEAD | grep -q '^?'", base=FULL + "git clone -q --filter=blob:none file://$PWD/../full .")
Scene("a partial and sparse clone", PLAIN, "eq more \"$(subject)\"; test ! -e d", base=FULL + "git clone -q --filter=blob:none --sparse file://$PWD/../full .")
Scene("a SHA-256 repository", PLAIN, "eq more \"$(subject)\"; eq 64 $(($(git rev-parse HEAD | wc -c) - 1))", base=BASE.replace("git init", "git init --object-format=sha256"))
Scene("a sparse checkout", "echo 2 >>a; commit work", "eq work \"$(subject)\"; test ! -e d/c; git ls-files -t d/c | grep -q ^S", make="git sparse-checkout set --no-cone '/*' '!/d'")
Scene("packed references and objects", PLAIN, "eq more \"$(subject)\"", make="git gc -q; git pack-refs --all")
Scene("gc in the run", PLAIN + "; git gc -q --prune=now", "eq more \"$(subject)\"")
Scene("objects outside of the workspace", PLAIN, "eq two \"$(subject)\"; eq new \"$(cat e)\"",
      make="git gc -q; mkdir ../alternate; mv .git/objects/pack ../alternate/; mkdir .git/objects/pack; echo ${PWD%/ws}/alternate >.git/objects/info/alternates",
      options=("--bind", "TOP/alternate"), says="history stays in the run", status=" M a\n?? e")


# --- what a run may choose ---

HELD = "mkdir .vscode; echo '{}' >.vscode/tasks.json; commit work; "
Scene("names of branches are words of a shell", HELD + "git branch 'x;y$(z)'; git symbolic-ref HEAD 'refs/heads/x;y$(z)'", "eq two \"$(subject)\"", says=r"git merge --ff-only 'agentjail/ID/x;y\$\(z\)'\n")
Scene("a branch with the name of an option", "git update-ref refs/heads/-m HEAD; git symbolic-ref HEAD refs/heads/-m; echo 2 >>a; git commit -qam work", "eq two \"$(subject)\"", says="\\n  git merge agentjail/ID/-m\\n")
Scene("a submodule at a held place", "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),.vscode; git commit -qm work", "eq two \"$(subject)\"", says="held places \\(.vscode\\)")
Scene("a link to a held place, in a commit alone", "ln -s .git/hooks x; commit work; rm x; ln -s a x", "eq two \"$(subject)\"", says="held places \\(x\\)")
Scene("a link in a commit", "ln -s d x; commit work", "eq work \"$(subject)\"; eq d \"$(readlink x)\"")
Scene("what a merge brings of its own is counted", "git switch -q -c x other; echo x >x; commit x; git switch -q main; git merge -q --no-commit x; echo evil >>a; commit Merged", "eq two \"$(subject)\"", apply=("show",),
      says=r"Merged .*, 2 files \+2 -0\n")


# --- one scene ---

def sh(script, folder, mark, id):
    text = PRELUDE + USER + "MARK=%s\n" % mark + script.replace("ID", id)
    ran = subprocess.run(["sh", "-e"], cwd=folder, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    assert ran.returncode == 0, "`%s` gave %d: %s" % (script.strip()[-300:], ran.returncode, ran.stdout.decode("utf-8", "replace")[-600:])
    return ran.stdout.decode("utf-8", "replace")


STATE = r"""
for g in $(find . -name .git -type d; find . -name '*.git' -type d ! -name .git; find .git/modules -mindepth 1 -maxdepth 1 -type d 2>/dev/null || :); do
echo "== $g"; export GIT_DIR=$PWD/$g
cat $g/config; cat $g/hooks/* 2>/dev/null | cksum; git symbolic-ref HEAD || :; git stash list || :
git for-each-ref --format='%(refname) %(objectname)' | grep -v ' refs/agentjail/\|^refs/agentjail/' || :; git rev-parse -q --verify HEAD | sed 's/^/HEAD /' || :
done
"""
FSCK = r"""
for g in $(find . -name .git -type d; find . -name '*.git' -type d ! -name .git; find .git/modules -mindepth 1 -maxdepth 1 -type d 2>/dev/null || :); do
git --git-dir=$g fsck --full --strict --no-dangling --no-progress >$MARK.fsck || { cat $MARK.fsck; exit 1; }
test ! -e $g/index.lock; ! ls $g/objects | grep agentjail; ! find $g/refs -name '*.lock' | grep .
done
"""


def differing(scene, before, after):
    """Lines that an apply must not change."""
    free = {scene.moved, scene.own, "HEAD"} if scene.moved != "HEAD" else {"HEAD"}
    wrong = []
    for text in before.split("== ")[1:]:
        name = text.split("\n")[0]
        was, now = set(text.splitlines()), set(next(part for part in after.split("== ") if part.split("\n")[0] == name).splitlines())
        wrong += [name + ": " + line for line in was ^ now if line.split(" ")[0] not in free]
    return wrong


class Place:
    """A workspace with a state of its own."""
    number = 0

    def __init__(self, scene):
        Place.number += 1
        self.scene, self.id = scene, "r%d" % Place.number
        self.top = "%s/%d" % (FOLDER, Place.number)
        self.ws, self.mark = self.top + "/ws", self.top + "/mark"
        os.makedirs(self.ws)
        self.env = dict(os.environ, XDG_STATE_HOME=self.top + "/state", LC_ALL="C")

    def sh(self, script, folder=None):
        return sh(script, folder or self.ws, self.mark, self.id)

    def hooks(self):
        for folder in [self.ws + "/.git/hooks"]:
            os.makedirs(folder, exist_ok=True)
            for name in HOOKS.split():
                with open("%s/%s" % (folder, name), "w") as f:
                    f.write("#!/bin/sh\n(echo %s >>%s) 2>/dev/null\nexit 0\n" % (name, self.mark))
                os.chmod(f.name, 0o755)

    def run(self, jail, host="", id=None, mode="overlay", options=()):
        """At PAUSE, or before its start, the host's script runs. An image of what the agent says is the answer."""
        script = PRELUDE + AGENT + ("echo ready; read -r x\n" if host and "read -r x" not in jail else "") + jail
        options = [word.replace("TOP", self.top) for word in options]
        process = subprocess.Popen([AJ, "run", "--policy", "offline-build", "--workspace", self.ws, "--workspace-mode", mode, "--id", id or self.id, *options, "--",
                                    "sh", "-ec", script], env=self.env, cwd=self.ws, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = b""
        if host:
            while not said.endswith(b"ready\n"):
                line = process.stdout.readline()
                said += line
                assert line, said
            self.sh(host)
            process.stdin.write(b"go\n")
        said += process.communicate(timeout=120)[0]
        assert process.returncode == 0, "the run gave %d: %s" % (process.returncode, said[-600:])

    def ask(self, words, rc=0, id=None):
        words = words.split() or ["apply"]
        ran = subprocess.run([AJ, "changes", words[0], id or self.id, *words[1:]], env=self.env, cwd=self.ws, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=120)
        said = ran.stdout.decode("utf-8", "replace")
        assert ran.returncode == rc, "changes %s gave %d: %s" % (words, ran.returncode, said[-900:])
        return said


def play(scene):
    p = Place(scene)
    said = ""
    try:
        p.sh(scene.base + scene.make)
        p.hooks()
        p.run(scene.jail, scene.host, mode=scene.mode, options=scene.options)
        if scene.later:
            p.sh(scene.later)
        before = p.sh(STATE)
        if os.path.exists(p.mark):
            os.remove(p.mark)
        for words in scene.apply:
            said += p.ask(words, scene.rc)
        ran = open(p.mark).read() if os.path.exists(p.mark) else ""
        assert not ran, "the host ran " + ran
        assert re.search(scene.says.replace("ID", p.id), said), "it said: " + said
        wrong = differing(scene, before, p.sh(STATE))
        assert not wrong, "changed: %s" % wrong
        assert p.sh("git status --porcelain").rstrip("\n") == scene.status, "status: " + p.sh("git status --porcelain")
        p.sh(FSCK)
        p.sh(scene.then)
        p.sh(FSCK)
        return None, said
    except (AssertionError, subprocess.TimeoutExpired, OSError) as e:
        return str(e), said


def three_agents():
    """Side by side on one workspace: the first is taken, the second gets a branch, and the third waits for a merge."""
    p = Place(None)
    p.sh(BASE)
    ids = ["one", "two", "three"]
    for i in ids:
        p.run("echo %s >%s; commit %s" % (i, i, i), id=i, options=("--changes", "new"))
    p.ask("apply", id="one")
    p.ask("apply --branch second", id="two")
    said = p.ask("apply", id="three")
    assert "git merge agentjail/three/main" in said, said
    p.sh("eq one \"$(subject)\"; eq two \"$(subject second)\"; git merge -q --no-edit second agentjail/three/main; cat one two three; eq '' \"$(git status -s)\"")
    p.sh("MARK=$PWD/../mark\n" + FSCK)
    for i in ids:
        p.ask("discard", id=i)
    p.sh("eq '' \"$(git for-each-ref refs/agentjail)\"")


word = sys.argv[3] if len(sys.argv) > 3 else ""
chosen = [scene for scene in SCENES if word in scene.name]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    for scene, (why, said) in zip(chosen, pool.map(play, chosen)):
        check(scene.name, why is None, why)
        if os.environ.get("TEXTS"):
            print("--- %s\n%s" % (scene.name, said))
if word in "three agents":
    try:
        three_agents()
        check("three agents", True)
    except AssertionError as e:
        check("three agents", False, e)
done()
