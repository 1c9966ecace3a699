"""The commands of docs/guides/workspaces.md, in the order of the page. An agent is a script here, under a policy without a network; all else is
what a reader types."""
import json, os, re, shutil, subprocess, time

from client import AJ, EXAMPLES, FOLDER, main, same, skip, test
from overlays import can_overlay

GUIDE = os.path.join(os.path.dirname(EXAMPLES), "guides", "workspaces.md")
ENV = dict(os.environ, XDG_STATE_HOME=FOLDER + "/state", HOME=FOLDER + "/home", GIT_CONFIG_NOSYSTEM="1", PAGER="cat", LC_ALL="C")
PERSON = {"GIT_%s_%s" % (role, what): "ann@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
POLICY = FOLDER + "/agent.toml"
BEGIN = "int parse(void)\n{\n\treturn 0;\n}\n\nint last(void)\n{\n\treturn 9;\n}\n"


def blocks(heading):
    """The commands below a heading of the guide, as one text for each block; blocks of output are left out."""
    with open(GUIDE) as f:
        section = re.search(r"\n## %s\n(.*?)\n## " % heading, f.read(), re.S).group(1)
    texts = [re.sub(r"(?m)^    ", "", part) + "\n" for part in section.strip("\n").split("\n\n") if part.startswith("    ")]
    return [text for text in texts if re.match(r"(cd|agentjail changes|agentjail run|git) ", text)]


def typed(text, folder, agent="true", id="", rc=0):
    """What a shell prints for the commands."""
    text = text.replace("cd my-project\n", "")
    text = re.sub(r"agentjail run --policy claude (?:--id (\w+) )?(.*?)-- claude(?: -p '[^']*')?", lambda m: 'agentjail run --policy-file "$POLICY" %s %s %s -- sh -ec "$AGENT" %s' % (
        m.group(1) and "--id " + m.group(1) or "", m.group(2), " ".join("--env %s=agent@x" % name for name in PERSON), m.group(1) or "agent"), text)
    assert "claude" not in text, text
    text = "agentjail() { \"$AJ\" \"$@\"; }\n" + text.replace("/ID/", "/%s/" % id)
    done = subprocess.run(["bash", "-ec", text], cwd=folder, env={**ENV, **PERSON, "AJ": AJ, "POLICY": POLICY, "AGENT": agent}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    said = done.stdout.decode()
    assert done.returncode == rc, "%s: ...%s" % (text[-200:], said[-1500:])
    return said


def git(folder, *words, ago_s=0):
    env = {**ENV, **PERSON, "GIT_COMMITTER_DATE": "%d +0000" % (time.time() - ago_s)}
    return subprocess.run(["git", *words], cwd=folder, env=env, stdout=subprocess.PIPE, check=True).stdout.decode()


def project(name):
    folder = "%s/%s/my-project" % (FOLDER, name)
    os.makedirs(folder)
    write(folder, "parser.c", BEGIN)
    write(folder, ".gitignore", "*.o\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "begin", ago_s=120)
    return folder


def write(folder, name, text):
    with open(folder + "/" + name, "w") as f:
        f.write(text)


def read(folder, name):
    with open(folder + "/" + name) as f:
        return f.read()


def runs(folder):
    return json.loads(subprocess.run([AJ, "changes", "list", "--json"], env=ENV, cwd=folder, stdout=subprocess.PIPE, check=True).stdout)["runs"]


def newest(folder):
    return next(run for run in runs(folder) if run["workspace"] == folder)


@test
def you_and_an_agent():
    folder = project("edit")
    run, review, merge = blocks("You and an agent edit one project")
    said = typed(run, folder, "sed -i 's/return 0/return 1/' parser.c; echo test >test_parser.c; for i in 1 2 3; do echo >$i.o; done")
    same(re.search(r"agentjail: (.*) changed: agentjail changes show \w{16}\n", said).group(1), "5 files")
    same(git(folder, "status", "--short"), "")
    said = typed(review, folder)
    for line in ("M  parser.c  62 bytes (+0)", "A  test_parser.c  5 bytes", "i  ./  3 files that git ignores by *.o: 3 added, 3 bytes", "5 files: 4 added, 1 modified; --all lists the ignored ones, too",
                 "-\treturn 0;", "+\treturn 1;", "1 file applied", "4 files applied"):
        assert "\n" + line + "\n" in said, (line, said)
    same((read(folder, "parser.c"), read(folder, "test_parser.c")), (BEGIN.replace("0", "1"), "test\n"))
    # Both edit one file: a conflict, then a merge. HEAD is taken as it was a second before the run.
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "parser", ago_s=60)
    typed(run, folder, "sed -i 's/return 1/return 2/' parser.c")
    write(folder, "parser.c", read(folder, "parser.c").replace("9", "10"))
    assert "parser.c  the host has changed it since" in typed("agentjail changes apply", folder, rc=1)
    typed(merge, folder)
    same(read(folder, "parser.c"), BEGIN.replace("0", "2").replace("9", "10"))


@test
def the_agent_commits():
    folder = project("commits")
    run, merge = blocks("The agent commits")
    agent = "sed -i 's/return %d/return %d/' parser.c; git commit -qam 'return %d'; echo staged >staged; git add staged"
    said = typed(run, folder, agent % (0, 1, 1))
    assert "\n.git: 1 commit that the host does not have\n" in said and re.search(r"\n  \w{12}  return 1  \(main\)  agent@x, 1 file \+1 -1\n", said), said
    assert re.search(r"\n  \w{12}  Staged in the run, and not committed  \(index\)", said), said
    same((git(folder, "log", "--format=%s"), git(folder, "diff", "HEAD"), git(folder, "status", "--short")), ("return 1\nbegin\n", "", "?? staged\n"))
    id = newest(folder)["id"]
    same(git(folder, "ls-tree", "--name-only", "agentjail/%s/index" % id), ".gitignore\nparser.c\nstaged\n")
    # The person commits in the same time: nothing moves, and the merge is the command of the page.
    typed(run.split("agentjail changes  ")[0], folder, agent % (1, 2, 2))
    write(folder, "other", "1\n")
    git(folder, "add", "other")
    git(folder, "commit", "-q", "-m", "of the person")
    said = typed("agentjail changes apply", folder)
    id = newest(folder)["id"]
    assert merge.replace("ID", id) in said, said
    same(git(folder, "log", "--format=%s"), "of the person\nreturn 1\nbegin\n")
    typed(merge, folder, id=id)
    same(read(folder, "parser.c"), BEGIN.replace("0", "2"))
    same(git(folder, "fsck", "--strict"), "")


@test
def three_agents():
    folder = project("three")
    agent = """case $0 in one) sed -i 's/return 0/return 1/' parser.c ;; two) sed -i 's/return 0/return 2/' parser.c ;; three) echo 3 >three; git add three ;; esac
git commit -qam "by $0" """
    [text] = blocks("Three agents side by side")
    said = typed(text, folder, agent)
    tree = re.search(r"\non \w{12} \S+ begin, in (.*)\n((?:[|` ].*\n){6})", said)
    assert tree and tree.group(1) == folder, said
    lines = tree.group(2).splitlines()
    same([line[:3] for line in lines], ["|- ", "|  ", "|- ", "|  ", "`- ", "   "])
    same(sorted(re.findall(r"agentjail/(\w+)/main  \w{12} by (\w+)", tree.group(2))), [("one", "one"), ("three", "three"), ("two", "two")])
    assert "parser.c | 2 +-" in said and "main moved forward" in said, said
    same(sorted(git(folder, "log", "--format=%s", "--no-merges").splitlines()), ["begin", "by three", "by two"])
    same((git(folder, "show", "--format=%s", "-s", "HEAD^2"), git(folder, "show", "--format=%s", "-s", "try-one")), ("by three\n", "by one\n"))
    same((git(folder, "for-each-ref", "refs/agentjail"), git(folder, "status", "--short"), [r for r in runs(folder) if r["workspace"] == folder]), ("", "", []))


@test
def commits_are_claims():
    """Their texts control no terminal, their number is bounded, and a repository that git cannot read is named; the host's stays as it is."""
    folder = project("claims")
    git(folder, "stash", "list")
    before = git(folder, "for-each-ref") + git(folder, "count-objects")
    run = "agentjail run --policy claude --changes new -- claude\nagentjail changes\nagentjail changes --json"
    said = typed(run, folder, """git commit -q --allow-empty --author="$(printf 'e\033[2J\001\002v') <a>" -m "$(printf 's\033[31m\001\002t\n\n\001body')"; git tag "v\xc2\x9b1"
echo 2 >>parser.c; git stash -q; git branch side""")
    at = said.index("\n{\"id\"")
    text, doc = said[:at + 1], json.loads(said[at:])
    assert re.search(r"\n  \w{12}  s\\x1b\[31m\\x01.*\n", text) and "\x1b" not in text and "\x01" not in text and "\x9b" not in text, text
    assert re.search(r"\n  \w{12}  WIP on main.*  \(stash/0\)", text) and "\n.git: 1 commit that the host does not have\n" in text, text
    [repository] = doc["repositories"]
    same((repository["path"], repository["error"], len(repository["commits"])), (".git", None, 2))
    said = typed(run.split("\nagentjail changes --json")[0], folder, "for i in $(seq 120); do git commit -q --allow-empty -m n$i; done")
    assert "\n.git: more than 100 commits that the host does not have\n" in said and "\n  and 50 more\n" in said and "  n120  (main)  " in said, said
    said = typed(run.split("\nagentjail changes --json")[0], folder, "rm -rf .git/objects; echo x >.git/HEAD")
    assert "\n.git: its commits cannot be read: " in said, said
    same(git(folder, "for-each-ref") + git(folder, "count-objects"), before)


@test
def runs_that_begin_together():
    """None meets the folder of another one that is being made or removed."""
    folder = project("together")
    started = [subprocess.Popen([AJ, "run", "--policy-file", POLICY, "--id", "together-%d" % i, "--changes", "new", "--json", "--", "true"], cwd=folder, env=ENV,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(12)]
    for process in started:
        out, err = process.communicate(timeout=120)
        same((process.returncode, json.loads(out)["changes"]), (0, {"mode": "overlay", "files": 0}), err[-300:])
    same([r for r in runs(folder) if r["workspace"] == folder], [])


@test
def the_page_is_short():
    with open(GUIDE) as f:
        lines = f.read().splitlines()
    assert len(lines) <= 120, len(lines)


if can_overlay() and shutil.which("git") and shutil.which("bash"):
    with open(POLICY, "w") as f:
        f.write('extends = "offline-build"\n[filesystem]\nworkspace = "overlay"\nworkspace_here = true\nworkspace_repository = true\nworkspace_at = "same"\n')
    os.makedirs(FOLDER + "/home", exist_ok=True)
    main()
else:
    skip("the guide", "no overlay for this user, no git, or no bash")
    print("0 passed, 0 failed, 1 skipped")
