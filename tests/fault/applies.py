"""Kills `agentjail changes apply` at random instants: nothing may be lost, and the next apply ends it or --abort takes it back.
applies.sh runs it; kill_rounds.py has KILLS and SEED."""
import os, shutil, subprocess, time

from client import AJ, done
from kill_rounds import kill_rounds, rng
from overlays import ENV, Run, can_overlay, locked, tree as whole_tree

GIT = """export HOME=/ GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
"""

SCRIPT = GIT + r"""
for i in 0 1 2 3 4 5 6 7 8 9; do echo new >m$i; rm g$i; echo new >d/m$i; rm d/g$i; mkdir n$i; echo new >n$i/f; ln -s f n$i/l; chmod 700 n$i; done
chmod 755 mode; chmod 500 folder; rm -r tree; rm to-folder; mkdir to-folder; echo in >to-folder/in; rm -r to-file; echo f >to-file; ln -sf m2 link
head -c 300000 /dev/zero >big; echo new >folder/deep/f || true
git add d; git commit -qm two d; git branch side; echo newer >d/m1
cd inner; echo new >f; git commit -qam two; cd ..
"""


def make(top):
    for folder in ("d", "folder/deep", "tree/a/b", "to-file/x"):
        os.makedirs(top + "/" + folder)
    names = ["%s%s%d" % (where, kind, i) for where in ("", "d/") for kind in "mg" for i in range(10)]
    names += ["mode", "tree/a/b/1", "tree/a/2", "tree/3", "to-folder", "to-file/x/1", "to-file/2", "big", "folder/deep/f", "untouched"]
    for name in names:
        with open(top + "/" + name, "w") as f:
            f.write("old " + name)
    os.symlink("m1", top + "/link")
    subprocess.run(["sh", "-ec", GIT + "git init -q -b main .; git add d link; git commit -qm one; git add mode; echo /inner >.git/info/exclude; "
                    "git init -q -b main inner; cd inner; echo old inner >f; git add f; git commit -qm one"], cwd=top, check=True)


def tree(folder):
    """Without git's data: what git makes of its own is asked of git."""
    return {path: entry for path, entry in whole_tree(folder).items() if b".git" not in path.split(b"/")}


def history(workspace):
    """Of both repositories: the commits, and how the index differs from HEAD. Each is whole at any time."""
    def git(folder, *words):
        done = subprocess.run(["git", "-c", "safe.directory=*", *words], cwd=workspace + folder, env=dict(ENV, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null"),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
        return done.stdout.decode().split()
    for folder in "", "/inner":
        assert git(folder, "fsck", "--strict", "--no-dangling") == [], git(folder, "fsck", "--strict")
    return [(git(folder, "log", "--format=%s"), git(folder, "diff", "--cached", "--name-only")) for folder in ("", "/inner")]


BEFORE = [(["one"], ["mode"]), (["one"], [])]
AFTER = [(["two", "one"], ["mode"]), (["two", "one"], [])]


def await_git(run):
    """A git that the killed apply had started goes on to its end, with the lock of the state folder."""
    while True:
        try:
            with locked(run):
                return
        except BlockingIOError:
            time.sleep(0.01)


def run_for(seconds, run, *words):
    """Killed so long after its start, or, mostly, a part of that after its journal is there. True: it was killed before its end."""
    process = subprocess.Popen([AJ, "changes", "apply", run.id, *words], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if rng.random() < 0.6:
        while process.poll() is None and not interrupted(run):
            pass
        seconds /= 4
    try:
        said = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        await_git(run)
        return True
    assert process.returncode == 0, (words, process.returncode, said)
    return False


def remove(folder):
    subprocess.run(["chmod", "-R", "u+rwx", folder], check=True)
    shutil.rmtree(folder)


def interrupted(run):
    return any(name.startswith("journal.") for name in os.listdir(run.state))


def not_lost(run, before, after):
    """After a kill each file has its old or its new content, and none that stays is missing."""
    now = tree(run.workspace)
    for path, was in before.items():
        is_ = after.get(path)
        if is_ and was[0] == is_[0] == "file":
            assert path in now and now[path][0] == "file" and now[path][-1] in (was[-1], is_[-1]), (path, now.get(path))
    for path, was in now.items():
        own = b".agentjail-" in path
        if not own and was[0] == "file":
            assert was[-1] in [t[path][-1] for t in (before, after) if t.get(path, "?")[0] == "file"], (path, was)
    here = {was[-1] for was in now.values() if was[0] == "file"}
    if interrupted(run) and not os.path.exists(run.state + "/journal.cleaning"):
        assert all(was[-1] in here for was in before.values() if was[0] == "file"), "an old file is gone"


def one(number, mode, pace):
    run = Run(make, SCRIPT, mode=mode, name="kill")
    before, kinds = tree(run.workspace), run.kinds()
    want = Run(make, "true", mode="copy", name="want")
    subprocess.run(["sh", "-e"], cwd=want.workspace, input=SCRIPT.encode(), check=True)
    after = tree(want.workspace)
    back = rng.random() < 0.4
    killed = run_for(rng.uniform(0, pace), run)
    not_lost(run, before, after)
    began = interrupted(run)
    for (commits, _), was, will in zip(history(run.workspace), BEFORE, AFTER):
        assert commits in (was[0], will[0]), commits
    for _ in range(rng.randrange(3)):  # and again, on the way forward or back
        if killed and interrupted(run):
            killed = run_for(rng.uniform(0, pace), run, *(["--abort"] if back else []))
            if not back:
                not_lost(run, before, after)
    if back and interrupted(run):
        cleaning = os.path.exists(run.state + "/journal.cleaning")
        run.ask("apply", "--abort")
        if not cleaning:
            assert tree(run.workspace) == before, "it is not as it was: %s" % differing(before, tree(run.workspace))
            assert history(run.workspace) == BEFORE, history(run.workspace)
            assert run.kinds() == kinds and not any(r["conflict"] for r in run.rows().values()), run.rows()
    run.ask("apply")
    if interrupted(run) or run.kinds():
        run.ask("apply")
    assert tree(run.workspace) == after, differing(after, tree(run.workspace))
    assert history(run.workspace) == AFTER, history(run.workspace)
    assert run.kinds() == {}, run.kinds()
    run.ask("discard")
    want.ask("discard")
    remove(run.workspace)
    remove(want.workspace)
    return began


def differing(a, b):
    return {path: (a.get(path), b.get(path)) for path in set(a) | set(b) if a.get(path) != b.get(path)}


def rounds():
    overlay = can_overlay()
    times = []
    for _ in range(3):
        run = Run(make, SCRIPT, mode="copy")
        began = time.monotonic()
        run_for(60, run)
        times.append(time.monotonic() - began)
        run.ask("discard")
    kill_rounds(one, max(times), overlay, "applies", "lost nothing")


rounds()
done()
