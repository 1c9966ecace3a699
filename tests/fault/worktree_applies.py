"""Kills `agentjail changes apply` at random instants while it changes the main repository of a linked worktree: afterwards the next apply ends
it or --abort takes it back, all references and the index are the old ones or the new ones, and git fsck finds nothing.
applies.sh runs it; kill_rounds.py has KILLS and SEED."""
import os, shutil, subprocess, tempfile, time

from client import AJ, FOLDER, done
from kill_rounds import kill_rounds, rng
from overlays import tree

PERSON = {"GIT_%s_%s" % (role, what): "x@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
TOLD = "git for-each-ref --format='%(refname) %(objectname)'; git rev-parse HEAD; git symbolic-ref -q HEAD; git ls-files -s; git reflog --format=%H; git stash list --format=%H"
SCRIPT = """
for i in 0 1 2 3 4 5 6 7 8 9; do mkdir d$i; echo $i >d$i/f; done; git add .; git commit -qm two; git tag v1; git checkout -qb feature/deep/x
echo more >>a; git commit -qam three; git branch other; echo stash >>a; git stash -q; git branch -f moved; rm b; git commit -qam four
"""


def git(folder, *words):
    done = subprocess.run(["git", *words], cwd=folder, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, (words, done.returncode, done.stdout)
    return done.stdout


class Repository:
    def __init__(self, number, mode):
        self.top = "%s/%d" % (TOP, number)
        self.main, self.ws, self.id = self.top + "/main", self.top + "/ws", "apply-%d" % number
        self.state = "%s/agentjail/changes/%s" % (ENV["XDG_STATE_HOME"], self.id)
        os.mkdir(self.top, 0o755)
        git(self.top, "init", "-q", "-b", "main", self.main)
        for name in "ab":
            with open("%s/%s" % (self.main, name), "w") as f:
                f.write(name + "\n")
        git(self.main, "add", ".")
        git(self.main, "commit", "-qm", "one")
        git(self.main, "branch", "moved")
        git(self.main, "worktree", "add", "-q", "-b", "topic", self.ws)
        time.sleep(0.03)
        self.before, self.before_ws, self.old = tree(self.main), tree(self.ws), self.told()
        words = [AJ, "run", "--policy-file", TOP + "/tree.toml", "--workspace", self.ws, "--workspace-mode", mode, "--id", self.id, "--env", "HOME=/tmp"]
        for name, value in PERSON.items():
            words += ["--env", "%s=%s" % (name, value)]
        ran = subprocess.run(words + ["--", "sh", "-ec", SCRIPT + TOLD], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 0, ran.stderr
        self.new = ran.stdout
        assert self.old != self.new and tree(self.main) == self.before

    def told(self):
        return subprocess.run(["sh", "-c", TOLD], cwd=self.ws, env=ENV, stdout=subprocess.PIPE, text=True).stdout

    def apply(self, *words):
        return [AJ, "changes", "apply", self.id, *words]

    def interrupted(self):
        return any(name.startswith("journal.") for name in os.listdir(self.state))

    def kill(self, seconds, *words):
        """Killed so long after its start, or, mostly, a part of that after its journal is there. True: it was killed before its end."""
        process = subprocess.Popen(self.apply(*words), env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if rng.random() < 0.7:
            while process.poll() is None and not self.interrupted():
                pass
            seconds /= 3
        try:
            said = process.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return True
        assert process.returncode == 0, (words, process.returncode, said)
        return False

    def end(self, *words):
        ended = subprocess.run(self.apply(*words), env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert ended.returncode == 0, (words, ended.stderr)

    def reads_well(self):
        """In the middle each reference is the old one or the new one, and what it names is there."""
        known = set(self.old.split("\n")) | set(self.new.split("\n"))
        for line in git(self.main, "for-each-ref", "--format=%(refname) %(objectname)").splitlines():
            assert line in known, line
            git(self.main, "rev-list", "--objects", "--quiet", line.split()[1])

    def is_sound(self):
        assert git(self.main, "fsck", "--strict", "--no-dangling") == "", git(self.main, "fsck")
        assert git(self.main, "status", "--short") == git(self.ws, "status", "--short") == ""
        left = [name for where, folders, files in os.walk(self.top) for name in folders + files if name.startswith(".agentjail-") or name.endswith(".lock")]
        assert not left, left

    def remove(self):
        subprocess.run([AJ, "changes", "discard", self.id], env=ENV, stdout=subprocess.DEVNULL, check=True)
        shutil.rmtree(self.top)


def one(number, mode, pace):
    r = Repository(number, mode)
    back = rng.random() < 0.5
    killed = r.kill(rng.uniform(0, pace))
    r.reads_well()
    began = r.interrupted()
    for _ in range(rng.randrange(3)):  # and again, on the way forward or back
        if killed and r.interrupted():
            killed = r.kill(rng.uniform(0, pace), *(["--abort"] if back else []))
            r.reads_well()
    if back and r.interrupted():
        cleaning = os.path.exists(r.state + "/journal.cleaning")
        r.end("--abort")
        r.is_sound()
        if not cleaning:
            assert tree(r.main) == r.before and tree(r.ws) == r.before_ws and r.told() == r.old, "it is not as it was"
    r.end()
    r.end()
    assert r.told() == r.new, (r.told(), r.new)
    r.is_sound()
    r.remove()
    return began


def rounds():
    times = []
    for number in range(3):
        r = Repository(number, "overlay" if OVERLAY and number == 0 else "copy")
        began = time.monotonic()
        r.end()
        times.append(time.monotonic() - began)
        assert r.told() == r.new
        r.is_sound()
        r.remove()
    kill_rounds(lambda number, *how: one(number + 3, *how), max(times), OVERLAY, "applies to a main repository", "left it whole")


def can_overlay():
    try:
        r = Repository(1000000, "overlay")
    except AssertionError as e:
        if "overlay" not in str(e):
            raise
        shutil.rmtree(TOP + "/1000000")
        return False
    r.remove()
    return True


TOP = tempfile.mkdtemp(dir=FOLDER)
ENV = dict(os.environ, XDG_STATE_HOME=TOP + "/state", LC_ALL="C", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", GIT_OPTIONAL_LOCKS="0", **PERSON)
try:
    os.chmod(TOP, 0o755)
    with open(TOP + "/tree.toml", "w") as f:
        f.write('extends = "offline-build"\n[filesystem]\nworktree = true\nworkspace_under = ["@anywhere"]\n')
    OVERLAY = can_overlay()
    rounds()
finally:
    shutil.rmtree(TOP)
done()
