"""Commits of runs, fetched by the host's git: what arrives of a repository, and that nothing of a hostile one does; fetch.sh runs it."""
import contextlib, fcntl, hashlib, os, shutil, struct, subprocess, zlib

import overlays
from client import AJ, FOLDER, ROOT, main, same, skip, test
from overlays import Run

os.environ.update(GIT_CONFIG_GLOBAL=FOLDER + "/gitconfig", GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_DATE="@1700000000 +0000", GIT_COMMITTER_DATE="@1700000000 +0000")
with open(FOLDER + "/gitconfig", "w") as f:
    f.write("[user]\nname = a\nemail = a@b\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n[safe]\ndirectory = *\n[gc]\nauto = 0\n")
CANARY = FOLDER + "/canary"
LIMITS = {"git_pack": 1 << 30, "git_objects": 2000000, "git_ms": 60000}


def git(folder, *words, code=0, text=None):
    done = subprocess.run(["git", "-C", folder, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, input=text)
    assert done.returncode == code, (words, done.returncode, done.stdout)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def commit(folder, name="f", text="1\n", message="m"):
    with open(os.path.join(folder, name), "w") as f:
        f.write(text)
    git(folder, "add", name)
    git(folder, "commit", "-qm", message)


def simple(folder):
    git(folder, "init", "-q")
    for i in "12":
        commit(folder, text=i + "\n", message="c" + i)
    git(folder, "tag", "v1")


def repositories(folder):
    """The git folders, and the working trees of those that have one."""
    for where, folders, _files in os.walk(folder):
        if "HEAD" in os.listdir(where) and "objects" in folders:
            yield where


def kept(git_folder):
    """All of a repository that no fetch may change: everything but objects and references of runs."""
    found = {}
    for where, folders, files in os.walk(git_folder):
        folders[:] = [f for f in folders if not (where == git_folder and f in ("objects", "modules")) and not (where.endswith("/refs") and f == "agentjail")]
        for name in files:
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, git_folder)] = (os.lstat(path).st_mode, f.read())
    return found


class History(Run):
    """A run with limits, whose fetches leave the host's repositories as they were but for objects and refs/agentjail/ID/."""

    def __init__(self, make, script, mode="overlay", **limits):
        self.limits = dict(LIMITS, **limits)
        super().__init__(make, script, name="h", mode=mode)

    def write_record(self):
        self.record.update(self.limits)
        if "head" not in self.record and os.path.isfile(self.path(".git/HEAD")):
            self.record["head"] = self.read(".git/HEAD").decode().strip()
        super().write_record()

    def fetch(self, *words, rc=0):
        before, state = {r: kept(r) for r in repositories(self.workspace)}, self.stamps()
        answer = self.json("fetch", *words, rc=rc)
        for repository, files in before.items():
            same(kept(repository), files)
        same(self.stamps(), state)
        self.check_clean(before)
        assert not os.path.exists(CANARY), "a program of the repository was run on the host"
        return {r["path"]: r for r in answer["repositories"]}

    def stamps(self):
        """Of all that the run left: it is read, and not changed."""
        stamps = {}
        for where, folders, files in os.walk(self.state):
            for name in folders + files:
                path = os.path.join(where, name)
                stamps[os.path.relpath(path, self.state)] = os.lstat(path).st_ctime_ns
        stamps.pop("fetched", None)
        return stamps

    def check_clean(self, where):
        for repository in where:
            said = git(repository, "fsck", "--full", "--no-dangling", "--no-progress")
            assert not [l for l in said.splitlines() if not l.startswith("notice:")], said
            same([n for n in os.listdir(repository + "/objects") if "agentjail" in n], [])
            same([n for n in os.listdir(repository + "/objects/pack") if n.startswith("tmp")], [])

    def refs(self, folder="."):
        """The references of this run, without their common part."""
        prefix = "refs/agentjail/%s/" % self.id
        lines = git(self.path(folder), "for-each-ref", "--format=%(refname) %(objectname)", "refs/agentjail").splitlines()
        assert all(l.startswith(prefix) for l in lines), lines
        return dict(l[len(prefix):].split(" ") for l in lines)

    def one(self, *words, **named):
        answer = self.fetch(*words, **named)
        same(list(answer), [".git"])
        return answer[".git"]


def commit_script(text="3", name="f", message="c3"):
    return "echo %s > %s; git add %s; git commit -qm '%s'" % (text, name, name, message)


# --- what arrives ---

@test
def everything():
    for mode in "overlay", "copy":
        run = History(simple, commit_script() + ";" + """
git branch other; git branch stash/mine; git branch tags; git tag -am v2 v2; echo st > f; git stash -q; echo new > g; git add g; git notes add -m note
            """, mode=mode)
        found = run.one()
        refs = run.refs()
        same(sorted(refs), ["HEAD", "heads/stash/mine", "heads/tags", "index", "main", "other", "stash/0", "tags/v2"])
        same((found["verdict"], found["branch"], found["run_branch"]), ("forward", "refs/heads/main", "refs/heads/main"))
        same((found["host"], found["base"], found["run"]), (git(run.workspace, "rev-parse", "main"), found["host"], refs["main"]))
        same(git(run.workspace, "show", refs["index"] + ":g"), "new")
        same(git(run.workspace, "log", "--format=%s", "-3", refs["main"]), "c3\nc2\nc1")
        same(git(run.workspace, "diff", "--name-only", refs["stash/0"] + "^", refs["stash/0"]), "f")
        same(run.one(), found) # again
        git(run.workspace, "merge", "-q", "--ff-only", "agentjail/%s/main" % run.id)
        same(run.one()["verdict"], "same")
        same(sorted(run.refs()), ["heads/stash/mine", "heads/tags", "index", "other", "stash/0", "tags/v2"])
        run.ask("discard")
        same(git(run.workspace, "for-each-ref", "refs/agentjail"), "")


VERDICTS = [  # what the run does, what the host does meanwhile, the verdict, the command
    (commit_script(), "true", "forward", None),
    (commit_script(), "git branch b; git gc -q; git status; touch f; git fetch -q .", "forward", None),
    (commit_script() + "; git checkout -q -b side", "true", "forward", None),
    (commit_script() + "; git checkout -q --detach", "true", "forward", None),
    (commit_script(), "git checkout -q -b b; " + commit_script("4", "h"), "apart", "git merge agentjail/ID/main"),
    (commit_script(), commit_script("4", "h"), "apart", "git merge agentjail/ID/main"),
    ("git commit -q --amend -m again", "true", "apart", "git reset --keep agentjail/ID/main"),
    ("git checkout -q -b side; " + commit_script(), "true", "apart", "git switch -c side agentjail/ID/side"),
    ("git checkout -q -b tags/x; " + commit_script(), "true", "apart", "git switch -c tags/x agentjail/ID/heads/tags/x"),
    ("git checkout -q --detach; " + commit_script(), "true", "apart", "git merge agentjail/ID/HEAD"),
    ("git checkout -q --detach; " + commit_script(), "git checkout -q --detach", "forward", None),
    ("git checkout -q --orphan none; " + commit_script(), "true", "apart", "git switch -c none agentjail/ID/none"),
    ("git reset -q --hard HEAD^", "true", "same", None),
    ("git branch side; git tag v3", "true", "same", None),
    ("touch f; git status", commit_script("4", "h"), "same", None),
]


@test
def verdicts():
    for script, meanwhile, verdict, command in VERDICTS:
        run = History(simple, script)
        subprocess.run(["sh", "-e"], cwd=run.workspace, input=meanwhile.encode(), check=True, stdout=subprocess.DEVNULL)
        found = run.one()
        same((script, found["verdict"], found["command"]), (script, verdict, command and command.replace("ID", run.id)))
        if command and "--orphan" not in script:
            git(run.workspace, *command.replace("ID", run.id).split()[1:])


@test
def a_run_continues_and_old_references_go():
    run = History(simple, "git branch a; git branch gone; " + commit_script())
    run.one()
    same(sorted(run.refs()), ["HEAD", "a", "gone", "main"])
    run.run("git branch -D gone a; git branch a/b")
    run.one()
    same(sorted(run.refs()), ["HEAD", "a/b", "main"])


def with_others(folder):
    git(FOLDER, "init", "-q", "sub") if not os.path.exists(FOLDER + "/sub") else None
    if not os.path.exists(FOLDER + "/sub/f"):
        commit(FOLDER + "/sub")
    simple(folder)
    git(folder, "submodule", "-q", "add", FOLDER + "/sub", "libs/mod")
    git(folder, "commit", "-qam", "sub")
    for name, how in ("nested", []), ("two", ["--object-format=sha256"]), ("bare.git", ["--bare"]):
        git(folder, "init", "-q", *how, name)
        if name != "bare.git":
            commit(folder + "/" + name)


@test
def other_repositories():
    run = History(with_others, """
        git -C libs/mod checkout -q -B work; (cd libs/mod; %(c)s); git commit -qam moved; (cd nested; %(c)s); (cd two; %(c)s); git push -q bare.git HEAD:refs/heads/main
        git init -q -b trunk lib/new; (cd lib/new; %(c)s; git tag t; git branch b; git config remote.x.url ext::sh; printf 'exit 1\\n' > .git/hooks/post-checkout)
        git init -q --object-format=sha256 lib/wide; (cd lib/wide; %(c)s; git checkout -q --detach)
        git clone -q --bare --no-hardlinks nested clone.git
        git init -q --separate-git-dir=elsewhere lib/file; ln -s ../../nested/.git lib/.git
        """ % {"c": commit_script()})
    found = run.fetch(rc=1)
    same({p: r["verdict"] for p, r in found.items()},
         {".git": "forward", ".git/modules/libs/mod": "apart", "nested/.git": "forward", "two/.git": "forward", "bare.git": "forward", "lib/new/.git": "new",
          "lib/wide/.git": "new", "clone.git": "new", "elsewhere": "new", "lib/file/.git": "unreadable", "lib/.git": "unreadable"})
    same(found[".git/modules/libs/mod"]["command"], "git -C libs/mod switch -c work agentjail/%s/work" % run.id)
    same(sorted(run.refs("libs/mod")), ["HEAD", "work"])
    same(len(run.refs("two")["main"]), 64)
    same(sorted(run.refs("bare.git")), ["HEAD", "main"])
    for name in "new", "wide":
        os.makedirs(run.path("lib/" + name))
    same({r["verdict"] for r in run.fetch("lib/new/.git", "lib/wide/.git", "clone.git").values()}, {"made"})
    same(git(run.path("lib/new"), "for-each-ref", "--format=%(refname)").split(), ["refs/heads/b", "refs/heads/trunk", "refs/tags/t"])
    same(git(run.path("lib/new"), "status", "--porcelain"), "D f")
    same(git(run.path("lib/wide"), "rev-parse", "HEAD^{tree}"), git(run.path("two"), "rev-parse", run.refs("two")["main"] + "^{tree}"))
    git(run.path("lib/wide"), "symbolic-ref", "-q", "HEAD", code=1)
    assert "ext::" not in run.read("lib/new/.git/config").decode() and not os.path.exists(run.path("lib/new/.git/hooks"))
    same(git(run.path("clone.git"), "rev-parse", "--is-bare-repository"), "true")
    run.check_clean([run.path(p) for p in ("lib/new/.git", "lib/wide/.git", "clone.git")])
    same([n for n in os.listdir(run.path("lib")) if n.startswith(".agent")], [])


@test
def clones_that_lack_objects():
    origin = FOLDER + "/origin"
    git(FOLDER, "init", "-q", "origin")
    for i in range(4):
        commit(origin, "f%d" % i, "%d\n" % i * 100)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    for how in ["--depth=2"], ["--filter=blob:none"], ["--filter=tree:0"], ["--filter=blob:none", "--no-checkout"]:
        def make(folder):
            git(folder, "clone", "-q", *how, "file://" + origin, ".")
        # Without a working tree git would fetch what the index has.
        run = History(make, "git config remote.origin.url /nowhere; " + (commit_script("x", "new") if "--no-checkout" not in how else """
            b=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tnew\\n' $b | git mktree); git update-ref refs/heads/main $(git commit-tree -p HEAD -m c3 $t)"""))
        git(run.workspace, "config", "remote.origin.url", "ext::sh -c touch% " + CANARY)
        found = run.one()
        same((how, found["verdict"], found["why"]), (how, "forward", None))
        same(git(run.workspace, "show", run.refs()["main"] + ":new"), "x")


@test
def another_owner():
    """A real run of root's on a repository of another user: what arrives is that user's."""
    if not ROOT:
        return
    for mode in "overlay", "copy":
        folder = "%s/owned-%s" % (FOLDER, mode)
        os.mkdir(folder)
        simple(folder)
        subprocess.run(["chown", "-R", "26103:26104", folder], check=True)
        script = "git config --global user.email a@b; git config --global user.name a; %s; mkdir lib; cd lib; git init -q; %s" % (commit_script(), commit_script())
        done = subprocess.run([AJ, "run", "--policy", "coding-agent", "--workspace", folder, "--workspace-mode", mode, "--id", "o-" + mode, "--changes-end", "keep", "--", "sh", "-ec", script],
                              env=overlays.ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        same((done.returncode, done.stdout[-300:] if done.returncode else b""), (0, b""))
        os.mkdir(folder + "/lib")
        os.chown(folder + "/lib", 26103, 26104)
        for words in [], ["lib/.git"]:
            done = subprocess.run([AJ, "changes", "fetch", "o-" + mode, *words], env=overlays.ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            same((done.returncode, done.stdout[-300:] if done.returncode else b""), (0, b""))
        same(git(folder, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/agentjail").split(), ["HEAD", "main"])
        same(git(folder + "/lib", "log", "--format=%s"), "c3")
        for where, folders, files in os.walk(folder):
            for name in folders + files:
                st = os.lstat(os.path.join(where, name))
                same((name, st.st_uid, st.st_gid), (name, 26103, 26104))


@test
def a_run_under_way():
    folder = FOLDER + "/live"
    os.mkdir(folder)
    simple(folder)
    if ROOT:
        subprocess.run(["chown", "-R", "26103:26104", folder], check=True)
    script = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; %s; echo ready; read go; %s; git status --short" % (commit_script(), commit_script("4", message="c4"))
    run = subprocess.Popen([AJ, "run", "--policy", "coding-agent", "--workspace", folder, "--workspace-mode", "overlay", "--id", "live", "--changes-end", "keep", "--", "sh", "-ec", script],
                           env=overlays.ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    same(run.stdout.readline(), b"ready\n")
    for subject in "c3", "c4":
        done = subprocess.run([AJ, "changes", "fetch", "live"], env=overlays.ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        same((done.returncode, done.stdout[-300:] if done.returncode else b""), (0, b""))
        same(git(folder, "log", "-1", "--format=%s", "agentjail/live/main"), subject)
        if run.poll() is None:
            run.communicate(b"go\n", timeout=60)
    same(run.returncode, 0)


@test
def fetches_side_by_side():
    run = History(simple, commit_script())
    objects = run.path(".git/objects")
    left, busy = objects + "/tmp_objdir-agentjail-left", objects + "/tmp_objdir-agentjail-busy"
    for folder in left, busy:
        os.makedirs(folder + "/pack")
    at_work = os.open(busy, os.O_RDONLY)
    fcntl.flock(at_work, fcntl.LOCK_SH)
    run.json("fetch")
    same((os.path.exists(left), os.path.exists(busy)), (False, True))
    same(git(run.workspace, "log", "-1", "--format=%s", run.refs()["main"]), "c3")
    os.close(at_work)
    git(run.workspace, "prune", "--expire=now")
    same(os.path.exists(busy), False)


@test
def owners_on_the_way():
    """Root runs git where nobody but root and the repository's owner can put another one in its place, or write its configuration."""
    if not ROOT:
        return
    for change, word in (lambda ws: os.chown(ws, 26105, 26105), "a folder around it"), (lambda ws: os.chmod(ws + "/.git", 0o1777), "every user"):
        run = History(simple, commit_script())
        change(run.workspace)
        found = run.json("fetch", rc=1)["repositories"][0]
        same((found["verdict"], run.refs()), ("unreadable", {}))
        assert word in found["why"], found


# --- hostile repositories ---

CONFIG = """
[core]
    repositoryformatversion = 1
    fsmonitor = touch CANARY
    hooksPath = /tmp/hooks
    alternateRefsCommand = touch CANARY
    sshCommand = touch CANARY
    pager = touch CANARY
    worktree = /
    gitProxy = touch CANARY
[uploadpack]
    packObjectsHook = touch CANARY
    hideRefs = refs
[include]
    path = /etc/shadow
[remote "origin"]
    url = ext::sh -c touch% CANARY
    promisor = true
    uploadpack = touch CANARY
    fetch = +refs/*:refs/*
[filter "x"]
    clean = touch CANARY
    smudge = touch CANARY
[receive]
    procReceiveRefs = refs
""".replace("CANARY", CANARY)

HARMLESS = {  # nothing but the commit of the run arrives
    "a configuration that runs programs": "cat > .git/config << 'END'\n" + CONFIG + "END\nmkdir -p .git/hooks; printf '#!/bin/sh\\ntouch %s\\n' > .git/hooks/reference-transaction; chmod 755 .git/hooks/*" % CANARY,
    "alternates": "printf '%s\\n' /etc OTHER/.git/objects ../../../../../etc > .git/objects/info/alternates; echo OID > .git/refs/heads/other; echo http://x > .git/objects/info/http-alternates",
    "replacements and grafts": "git replace HEAD HEAD~1; git rev-parse HEAD > .git/info/grafts",
    "links in refs": "ln -s /etc/passwd .git/refs/heads/link; printf 'ref: ../../../../etc/passwd\\n' > .git/refs/heads/out; printf 'ref: refs/remotes/x\\n' > .git/refs/heads/dangling",
    "odd files": "rm -rf .git/hooks; mkfifo .git/hooks; rm .git/description; mkfifo .git/description; ln -sf /dev/zero .git/COMMIT_EDITMSG; printf 'x\\033]0;y\\007' > .git/MERGE_MSG",
    "an attributes file and a filter": "printf '* filter=x\\n' > .git/info/attributes",
    "a shallow boundary of its own": "git rev-parse HEAD~1 > .git/shallow",
    "missing objects of other branches": "echo 1234567890123456789012345678901234567890 > .git/refs/heads/missing; echo not > .git/refs/heads/broken",
}

UNREADABLE = {  # nothing arrives, and the message has this word
    "a name that is dangerous": ("printf '%s refs/heads/../../x\\n' $(git rev-parse HEAD) >> .git/packed-refs", "refname"),
    "a HEAD elsewhere": ("echo 'ref: ../../../etc/passwd' > .git/HEAD", "not a git repository"),
    "a corrupt object": ("o=.git/objects/$(git rev-parse HEAD^{tree} | sed 's,..,&/,'); chmod 644 $o; echo x > $o", ""),
    "an object of another name": ("o=.git/objects/$(git rev-parse HEAD:f | sed 's,..,&/,'); chmod 644 $o; cp .git/objects/$(git rev-parse HEAD~1:f | sed 's,..,&/,') $o", ""),
    "a missing object": ("rm -f .git/objects/$(git rev-parse HEAD:f | sed 's,..,&/,')", ""),
    "a hook in a commit": ("""
        b=$(echo 'touch CANARY' | git hash-object -w --stdin); h=$(printf '100755 blob %s\\tpost-checkout\\n' $b | git mktree)
        g=$(printf '040000 tree %s\\thooks\\n' $h | git mktree)
        t=$(printf '40000 .git\\0%b' "$(echo $g | sed 's/../\\\\x&/g')" | git hash-object -w -t tree --stdin --literally)
        git update-ref HEAD $(git commit-tree -m evil $t)""".replace("printf '40000", "/usr/bin/printf '40000"), "hasDotgit"),
    "submodules that run programs": ("printf '[submodule \"-x\"]\\npath = x\\nurl = --upload-pack=touch\\n' > .gitmodules; git add .gitmodules; git commit -qm m", "gitmodules"),
    "a FIFO for a reference": ("mkfifo .git/refs/heads/fifo", ""),
    "a configuration with control characters": ("printf '[core\\033]0;evil\\007\\n' > .git/config", "bad config"),
}


@test
def hostile_but_harmless():
    other = FOLDER + "/other"
    git(FOLDER, "init", "-q", "other")
    commit(other, "secret", "secret\n")
    secret = git(other, "rev-parse", "HEAD")
    if ROOT:
        subprocess.run(["chown", "-R", "26199:26199", other], check=True)
        os.chmod(other, 0o700)
    for name, script in HARMLESS.items():
        run = History(simple, commit_script() + "\n" + script.replace("OTHER", other).replace("OID", secret))
        found = run.one()
        same((name, found["verdict"], found["why"], set(run.refs()) - {"index"}), (name, "forward", None, {"HEAD", "main"}))
        same(git(run.workspace, "log", "--format=%s", run.refs()["main"]), "c3\nc2\nc1")
        git(run.workspace, "cat-file", "-e", secret, code=1)


@test
def hostile_and_refused():
    for name, (script, word) in UNREADABLE.items():
        run = History(simple, commit_script() + "\n" + script.replace("CANARY", CANARY), git_ms=1500 if "FIFO" in name else 60000)
        found = run.one(rc=1)
        same((name, found["verdict"], found["refs"], run.refs()), (name, "unreadable", [], {}))
        assert word in found["why"] and not any(ord(c) < 32 for c in found["why"]), (name, found["why"])
        assert b"\033" not in run.ask("fetch", rc=1).stdout, name


@test
def odd_names():
    run = History(simple, commit_script() + ";" + """
        h=$(git rev-parse HEAD)
        for n in -x 'a"b' "a'b" 'a;b$(c)' a.b @ HEAD index/x stash/0 heads/y; do mkdir -p "$(dirname ".git/refs/heads/$n")"; echo $h > ".git/refs/heads/$n"; done
        for n in 'a b' 'c~' 'd.lock' 'e@{1}' '.f' "$(printf 'g\\001')" "$(printf 'h\\177')"; do echo $h > ".git/refs/heads/$n"; done
        l=$(printf '%0250d' 0); mkdir -p .git/refs/heads/l; printf '%s refs/heads/l/%s\\n' $h $l >> .git/packed-refs
        printf '%s refs/heads/%send\\n' $h $(printf '%0200d/' $(seq 20)) >> .git/packed-refs
        """)
    found = run.one()
    same(sorted(run.refs()), sorted(["-x", 'a"b', "a'b", "a;b$(c)", "a.b", "heads/HEAD", "heads/index/x", "heads/stash/0", "heads/heads/y", "HEAD", "main"] + (["@"] if "@" in run.refs() else [])))
    same(found["left_out"], 2)


@test
def limits():
    for limit, value, script, word in (("git_pack", 1 << 16, "head -c 300000 /dev/urandom > big; git add big; git commit -qm big", "limits.git_pack"),
                                       ("git_objects", 5, "for i in 1 2 3 4 5; do echo $i > n$i; done; git add .; git commit -qm many", "limits.git_objects")):
        run = History(simple, script, **{limit: value})
        found = run.one(rc=1)
        same((found["verdict"], run.refs()), ("unreadable", {}))
        assert word in found["why"], found


def entry(kind, size, data):
    """An object of a pack."""
    first, rest = size & 15, size >> 4
    out = bytearray([kind << 4 | first | (0x80 if rest else 0)])
    while rest:
        out.append((rest & 127) | (0x80 if rest >> 7 else 0))
        rest >>= 7
    return bytes(out) + data


def number(n):
    out = bytearray()
    while True:
        out.append((n & 127) | (0x80 if n >> 7 else 0))
        n >>= 7
        if not n:
            return bytes(out)


def pack_of(objects):
    """A pack and its index, of (name, entry) with names that nobody verified."""
    pack, places = bytearray(b"PACK" + struct.pack(">II", 2, len(objects))), {}
    for name, data in objects:
        places[name] = (len(pack), zlib.crc32(data))
        pack += data
    pack += hashlib.sha1(pack).digest()
    names = sorted(places)
    index = b"\377tOc" + struct.pack(">I", 2) + b"".join(struct.pack(">I", sum(n[0] <= i for n in names)) for i in range(256))
    index += b"".join(names) + b"".join(struct.pack(">I", places[n][1]) for n in names) + b"".join(struct.pack(">I", places[n][0]) for n in names)
    index += bytes(pack[-20:])
    return bytes(pack), index + hashlib.sha1(index).digest()


@test
def bombs():
    base, size = b"0" * 0x10000, 1 << 37
    base_name = hashlib.sha1(b"blob %d\0" % len(base) + base).digest()
    delta = number(len(base)) + number(size) + b"\x80" * 4096 # each copies 64 KiB of the base
    bomb = b"\xbb" * 20
    pack, index = pack_of([(base_name, entry(3, len(base), zlib.compress(base))), (bomb, entry(7, len(delta), base_name + zlib.compress(delta)))])
    def make(folder):
        simple(folder)
    run = History(make, "p=.git/objects/pack/pack-%s; cp %s/bomb.pack $p.pack; cp %s/bomb.idx $p.idx\n" % ("b" * 40, FOLDER, FOLDER) +
                  "t=$(printf '100644 blob %s\\tx\\n100644 blob %s\\ty\\n' | git mktree --missing); git update-ref HEAD $(git commit-tree -p HEAD -m bomb $t)" % (bomb.hex(), base_name.hex())) \
        if write_bomb(pack, index) else None
    found = run.one(rc=1)
    same((found["verdict"], run.refs()), ("unreadable", {}))
    # A file of one byte that is repeated, and a folder of many entries: small packs, which are what they say.
    run = History(simple, """
        head -c 67108864 /dev/zero > zeros; git add zeros; git commit -qm zeros
        b=$(git rev-parse HEAD:f); t=$(seq -f "100644 blob $b%tn%07.0f" 1 2 | tr % '\\t' > /dev/null; seq -f "n%07.0f" 1 200000 | sed "s/^/100644 blob $b\\t/" | git mktree)
        git update-ref HEAD $(git commit-tree -p HEAD -m wide $t)""")
    same(run.one()["verdict"], "forward")


def write_bomb(pack, index):
    for name, data in ("pack", pack), ("idx", index):
        with open(FOLDER + "/bomb." + name, "wb") as f:
            f.write(data)
    return True


@test
def many_references():
    run = History(simple, commit_script() + "; h=$(git rev-parse HEAD); seq -f \"$h refs/heads/b%06.0f\" 1 100000 >> .git/packed-refs")
    found = run.one(rc=1)
    same((found["verdict"], run.refs()), ("unreadable", {}))
    assert "100" in found["why"], found
    run = History(simple, commit_script() + "; h=$(git rev-parse HEAD); seq -f \"$h refs/heads/b%06.0f\" 1 2000 >> .git/packed-refs")
    same((run.one()["verdict"], len(run.refs())), ("forward", 2002))


main()
