"""`agentjail changes apply` on a big repository, beside a plain `git fetch` of all references of the same: 100,000 files, 20,000 references, and a run of
50 commits that change 1,000 files. Prints the best of ROUNDS (3).
FILES and REFS make it smaller.
It leaves nothing behind; KEEP=FOLDER keeps the repositories there for the next time."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

AJ = os.environ.get("AGENTJAIL", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/agentjail"))
FILES, REFS, COMMITS, CHANGED = int(os.environ.get("FILES", 100000)), int(os.environ.get("REFS", 20000)), 50, 1000
ROUNDS = int(os.environ.get("ROUNDS", 3))
WHO = "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"
STEP = FILES // CHANGED
# A commit without a look at each of the files: the run's time is not measured.
RUN = WHO + """
i=0; for c in $(seq %d); do
	for k in $(seq %d); do f=$((i * %d)); p=d$((f / 1000))/e$((f / 100 %% 10))/f$f; echo "new $f" >>$p; echo $p; i=$((i + 1)); done | git update-index --stdin
	i=$((c * %d)); git update-ref HEAD $(git commit-tree -p HEAD -m "commit $c" $(git write-tree))
done
""" % (COMMITS, CHANGED // COMMITS, STEP, CHANGED // COMMITS)


def sh(script, folder, env=None):
    subprocess.run(["sh", "-ec", WHO + script], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL)


def repository(folder):
    for f in range(FILES):
        if f % 100 == 0:
            os.makedirs("%s/d%d/e%d" % (folder, f / 1000, f / 100 % 10), exist_ok=True)
        with open("%s/d%d/e%d/f%d" % (folder, f / 1000, f / 100 % 10, f), "w") as out:
            out.write("file %d\n" % f * 20)
    sh("git init -q -b main .; git config gc.auto 0; git add .; git commit -qm one; for i in $(seq %d); do echo \"create refs/heads/b$i HEAD\"; done | git update-ref --stdin; git gc -q" % REFS, folder)


def timed(words, folder, env):
    began = time.monotonic()
    done = subprocess.run(words, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    return time.monotonic() - began


def run(top, env, id):
    words = ["--policy", "offline-build", "--workspace", ".", "--workspace-mode", "overlay", "--changes", "new", "--id", id, "--", "sh", "-ec", RUN]
    subprocess.run([AJ, "run", *words], cwd=top + "/ws", env=env, check=True, stderr=subprocess.DEVNULL)


def one(top):
    for name in "state", "ws", "plain":
        shutil.rmtree(os.path.join(top, name), ignore_errors=True)
    env = dict(os.environ, XDG_STATE_HOME=top + "/state", GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
    sh("cp -a first ws; git -C ws status; cp -a first/.git plain", top)
    if not os.path.exists(top + "/theirs"):
        sh("cp -a first theirs; git -C theirs status", top)
        sh(RUN, top + "/theirs")
    run(top, env, "big")
    times = {"git fetch": timed(["git", "--git-dir=plain", "-c", "transfer.fsckObjects=true", "fetch", "-q", "--no-tags", "file://%s/theirs" % top, "+refs/*:refs/agentjail/big/*"], top, env)}
    for verb in "apply", "show":
        if verb == "show":
            sh("git reset -q --hard HEAD~%d" % COMMITS, top + "/ws")
            run(top, env, "again")
        times["changes " + verb] = timed([AJ, "changes", verb, "again" if verb == "show" else "big"], top + "/ws", env)
    return times


def main():
    kept = os.environ.get("KEEP")
    top = kept or tempfile.mkdtemp(prefix="agentjail-history-")
    try:
        if not os.path.exists(top + "/first"):
            os.makedirs(top + "/first")
            repository(top + "/first")
        rounds = [one(top) for _ in range(ROUNDS)]
        best = {name: min(r[name] for r in rounds) for name in rounds[0]}
        print("%d commits, %d changed files of %d, %d references  s" % (COMMITS, CHANGED, FILES, REFS))
        for name, seconds in best.items():
            print("  %-24s %7.2f" % (name, seconds))
        times = best["changes apply"] / best["git fetch"]
        print("  apply, in git fetches    %7.2f, at most 2: %s" % (times, "met" if times <= 2 else "not met"))
    finally:
        if not kept:
            shutil.rmtree(top)


main()
