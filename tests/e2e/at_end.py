"""The question at the end of a run at a terminal, and the changes after each answer to it.
Usage: at_end.py AGENTJAIL FOLDER; each check prints `ok NAME` or `FAIL NAME: why`."""

import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from terminal import Terminal, check  # noqa: E402

AJ, FOLDER = sys.argv[1:3]
WORK, STATE = FOLDER + "/work", FOLDER + "/state"
KEPT = STATE + "/agentjail/changes"
QUESTION = r"apply these changes to `[^`]*/work`\?\r\n  y (\d+): yes, p \d+: pick files, d: show the diff, Enter: keep them for later, x (\d+): discard them: "
WRITES = "echo changed >file"


def run(name, command, *options, asks=True):
    t = Terminal(AJ, "run", "--policy", "offline-build", "--workspace", WORK, "--workspace-mode", "overlay", "--changes", "new", *options, "--", "sh", "-c",
                 command, env={"XDG_STATE_HOME": STATE})
    t.number = ask(t, name) if asks else None
    return t


def ask(t, name):
    t.expect(name + ": there is a question", QUESTION)
    found = re.findall(QUESTION, t.text)
    return found[-1][0] if found else "0"


def content():
    with open(WORK + "/file") as f:
        return f.read()


def waiting():
    return sorted(os.listdir(KEPT)) if os.path.isdir(KEPT) else []


def forget():
    subprocess.run([AJ, "changes", "discard", "--all"], env=dict(os.environ, XDG_STATE_HOME=STATE), stdout=subprocess.DEVNULL, check=True)


def answers():
    for name, line, code, after in (("yes", "y %s\n", 3, "changed\n"), ("the whole word", "yes %s\n", 3, "changed\n"), ("Enter", "\n", 3, "before\n"),
                                    ("keep", "keep\n", 3, "before\n"), ("the end of the input", "\x04", 3, "before\n"), ("Ctrl-C", "\x03", 3, "before\n"),
                                    ("an answer without the number", "y\np\nyes\n", 3, "before\n"), ("discard", "x %s\n", 3, "before\n")):
        with open(WORK + "/file", "w") as f:
            f.write("before\n")
        t = run(name, WRITES + "; exit 3", "--id", "one")
        if name == "an answer without the number":
            for tries, word in enumerate(("yes", "p", "y")):
                t.type(word + "\n")
                if tries < 2:
                    ask(t, name)
        else:
            t.type(line % t.number if "%" in line else line)
        t.exits(name + ": the exit status is the command's", code)
        check(name + ": the folder", content() == after, repr(content()))
        check(name + ": what is kept", waiting() == ([] if name == "discard" else ["one"]), str(waiting()))
        forget()


def diff_first():
    t = run("diff", WRITES)
    t.type("d\n")
    t.expect("diff: it is shown", r"\+changed")
    number = ask(t, "diff, then")
    t.type("y %s\n" % number)
    t.expect("diff, then: applied", "1 file applied")
    t.exits("diff, then: the end", 0)
    check("diff, then: the folder", content() == "changed\n")
    forget()


def one_number():
    """The line after the run, the list above the question, what an answer does, `show` and `list` count the same files."""
    def changes(*words):
        return subprocess.run([AJ, "changes", *words], env=dict(os.environ, XDG_STATE_HOME=STATE), stdout=subprocess.PIPE, check=True).stdout.decode()
    t = run("one number", "echo changed >file; mkdir -p d/e; echo 1 >d/e/f; echo 1 >d/g; ln -s g d/h; mkdir empty; chmod 755 other", "--id", "count")
    check("one number: the line after the run", "agentjail: 5 files changed: " in t.text, t.text)
    check("one number: the list above the question", re.search(r"\r\nA  d/e/f  2 bytes\r\n.*\r\n5 files: 3 added, 1 modified, 1 with another mode\r\n\r\nagentjail: apply", t.text, re.S), t.text)
    check("one number: show", "\n5 files: 3 added, 1 modified, 1 with another mode; 3 folders\n" in changes("show", "count"), changes("show", "count"))
    check("one number: show --json", '"sum":{"files":5,' in changes("show", "count", "--json"))
    check("one number: list", "  5 files  " in changes("list") and '"files":5,' in changes("list", "--json"), changes("list"))
    t.type("y %s\n" % t.number)
    t.expect("one number: applied", "\n5 files applied\r\n")
    t.exits("one number: the end", 0)
    forget()
    os.system("rm -rf %s/d %s/empty" % (WORK, WORK))


def many_files():
    """At most twenty lines, and a count of the rest."""
    t = run("many files", "for i in $(seq 30); do echo 1 >n$i; done")
    lines = re.findall(r"\r\nA  n\d+", t.text)
    check("many files: twenty are listed", len(lines) == 20, t.text)
    check("many files: the others are counted", re.search(r"and 10 more lines of `agentjail changes show \S+`\r\n30 files: 30 added\r\n", t.text), t.text)
    t.type("x %s\n" % t.number)
    t.exits("many files: the end", 0)


PROMPT = r"apply this change \[y,n,a,d,q,\?\]\? "


def pick(name, command, *options):
    t = run(name, command, *options)
    t.type("p %s\n" % t.number)
    return t


def picked_files():
    made = "echo changed >file; mkdir d; echo 1 >d/a; echo 1 >d/b; rm -r gone; mkdir -p .vscode; echo x >.vscode/tasks.json; mkdir empty"
    def begin():
        os.makedirs(WORK + "/gone", exist_ok=True)
        for name, text in (("gone/x", "1\n"), ("gone/y", "1\n"), ("file", "before\n")):
            with open(WORK + "/" + name, "w") as f:
                f.write(text)
    def there():
        found = [folder + "/" + name for folder, _, names in os.walk(WORK) for name in names] + [folder for folder, folders, names in os.walk(WORK) if not folders + names]
        return sorted(path[len(WORK) + 1:] for path in found if not path.endswith("/other"))
    for name, answers, after in (("y and n", "nynynnn", ["d/a", "empty", "file", "gone/x", "gone/y"]), ("a", "na", ["d/a", "d/b", "empty", "file"]),
                                 ("d", "nyd", ["d/a", "file", "gone/x", "gone/y"]), ("a held one", "ynnnnnn", [".vscode/tasks.json", "file", "gone/x", "gone/y"])):
        begin()
        t = pick("pick, " + name, made)
        for key in answers:
            t.expect("pick, %s: %s" % (name, key), PROMPT)
            t.type(key + "\n")
        t.expect("pick, %s: applied" % name, "applied\r\n")
        t.exits("pick, %s: the end" % name, 0)
        check("pick, %s: the folder" % name, there() == after, str(there()))
        forget()
        os.system("rm -rf %s/d %s/empty %s/.vscode %s/gone" % (WORK, WORK, WORK, WORK))
    # q, and the end of the input: nothing is applied. Keys that were typed before a change is shown are dropped.
    begin()
    t = pick("pick, q", made)
    t.expect("pick, q: the first is held", r"\(1/7\) A  \.vscode/tasks\.json .*held: .*\+x.*" + PROMPT)
    t.type("?\n")
    t.expect("pick, q: help", "y: take this change.*" + PROMPT)
    t.type("y\n")
    t.expect("pick, q: the next", r"\(2/7\) .*d/a.*" + PROMPT)
    t.type("q\n")
    ask(t, "pick, q: again")
    t.type("p %s\n" % re.findall(QUESTION, t.text)[-1][0])
    t.expect("pick, q: from the first on", r"\(1/7\).*" + PROMPT)
    t.type("\x04")
    ask(t, "pick, q: the end of the input")
    t.type("\n")
    t.exits("pick, q: the end", 0)
    check("pick, q: the folder", content() == "before\n" and there() == ["file", "gone/x", "gone/y"], str(there()))
    check("pick, q: all of it waits", len(waiting()) == 1)
    forget()
    os.system("rm -rf %s/gone" % WORK)


def picked_commits():
    """A repository is one of the changes, shown with its commits; without it the files come alone."""
    folder = FOLDER + "/repository"
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-C", folder)
    subprocess.run(("git", "init", "-q", "-b", "main", folder), check=True)
    subprocess.run((*git, "commit", "-q", "--allow-empty", "-m", "one"), check=True)
    for key, log in (("n", "one\n"), ("y", "two\none\n")):
        t = Terminal(AJ, "run", "--policy", "offline-build", "--workspace", folder, "--workspace-mode", "overlay", "--changes", "new", "--", "sh", "-c",
                     "echo 1 >new; git add new; git -c user.name=x -c user.email=x@x commit -qm two", env={"XDG_STATE_HOME": STATE})
        t.expect("picked commits: the list has them", r"\r\n\.git: 1 commit that the host does not have\r\n  \w{12}  two  \(main\)  x, 1 file \+1 -0\r\n.*y (\d+): yes")
        t.type("p %s\n" % re.findall(r"y (\d+): yes", t.text)[-1])
        t.expect("picked commits: of the repository", r"\(1/2\) M  \.git/.*  two  \(main\).*" + PROMPT)
        t.type(key + "\n")
        t.expect("picked commits: the file", r"\(2/2\) A  new.*" + PROMPT)
        t.type("y\n")
        t.exits("picked commits, %s: the end" % key, 0)
        got = subprocess.run((*git, "log", "--format=%s"), stdout=subprocess.PIPE, check=True).stdout.decode()
        check("picked commits, %s: the branch" % key, got == log and os.path.exists(folder + "/new"), got)
        forget()
        os.unlink(folder + "/new")


def diff_on_a_terminal():
    """Through the pager that git would use, with its colours; what a file holds is no header and no control sequence."""
    state = dict(os.environ, XDG_STATE_HOME=STATE)
    subprocess.run([AJ, "run", "--policy", "offline-build", "--workspace", WORK, "--workspace-mode", "overlay", "--id", "painted", "--", "sh", "-c",
                    r"printf 'after\n++ x\n-- y\n\033[31mred\n@@ -1 +1 @@\n' >file; chmod 755 other"], env=state, stderr=subprocess.DEVNULL, check=True)
    git = FOLDER + "/gitconfig"
    with open(git, "w") as f:
        f.write("[core]\n\tpager = sed s/^/core:/\n")
    bold, red, green, cyan, end = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[m"
    lines = [bold + "--- a/file" + end, bold + "+++ b/file" + end, cyan + "@@ -1 +1,5 @@" + end, red + "-before" + end, green + "+after" + end, green + "+++ x" + end,
             green + "+-- y" + end, green + "+\\x1b[31mred" + end, green + "+@@ -1 +1 @@" + end, bold + "diff --git a/other b/other" + end, bold + "old mode 100644" + end, bold + "new mode 100755" + end]
    plain = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "XDG_STATE_HOME": STATE}
    for name, env, begin in (("none", {"PAGER": "cat"}, ""), ("$PAGER", {"PAGER": "sed s/^/any:/"}, "any:"), ("$GIT_PAGER first", {"GIT_PAGER": "sed s/^/own:/", "PAGER": "false"}, "own:"),
                             ("core.pager", {"GIT_CONFIG_GLOBAL": git, "PAGER": "false"}, "core:"), ("one that is missing", {"PAGER": "no-such-pager"}, "")):
        t = Terminal(AJ, "changes", "diff", "painted", env={**plain, "NO_COLOR": "", **env})
        t.exits("the pager, %s: it ends" % name, 0)
        check("the pager, %s: each line" % name, "\r\n".join(begin + line for line in lines) in t.text, repr(t.text))
    t = Terminal(AJ, "changes", "diff", "painted", env={**plain, "PAGER": "cat"})
    t.exits("no colours: it ends", 0)
    check("no colours: with NO_COLOR", "+after\r\n" in t.text and "\x1b" not in t.text, repr(t.text))
    piped = subprocess.run([AJ, "changes", "diff", "painted"], env={**state, "PAGER": "false", "TERM": "xterm"}, stdout=subprocess.PIPE, check=True).stdout
    check("no colours: in a pipe each byte is as it is", b"+after\n" in piped and b"+\x1b[31mred\n" in piped and b"\x1b[m" not in piped, repr(piped))
    # The person leaves the pager before the end of the patch: no error.
    subprocess.run([AJ, "run", "--policy", "offline-build", "--workspace", WORK, "--workspace-mode", "overlay", "--id", "long", "--", "sh", "-c", "seq 200000 >file"],
                   env=state, stderr=subprocess.DEVNULL, check=True)
    t = Terminal(AJ, "changes", "diff", "long", env={**plain, "PAGER": "head -n 3"})
    t.exits("the pager that is left: it ends", 0)
    check("the pager that is left: nothing more", t.text.count("\n") == 3, repr(t.text[:500]))
    forget()


def what_was_typed_before():
    """The command reads nothing; what is typed while it runs would be the answer, if it knew the number."""
    t = run("typed before", "echo up; read line; " + WRITES, asks=False)
    t.expect("typed before: it is up", "up\r\n")
    t.type("go\ny 10\ny 11\ny 12\n\n")
    number = ask(t, "typed before")
    check("typed before: it is no answer", content() == "before\n")
    t.type("y %s\n" % number)
    t.exits("typed before: the end", 0)
    check("typed before: the answer counts", content() == "changed\n")
    forget()


def held_changes():
    t = run("held", WRITES + "; mkdir -p .vscode; echo x >.vscode/tasks.json")
    t.type("y %s\n" % t.number)
    t.expect("held: named apart", "held .*tasks.json")
    t.exits("held: the end", 0)
    check("held: not applied", content() == "changed\n" and not os.path.exists(WORK + "/.vscode/tasks.json"))
    forget()


def a_signal():
    t = run("a signal", WRITES)
    os.kill(t.pid, signal.SIGTERM)
    t.expect("a signal: kept", "kept: ")
    t.exits("a signal: the exit status is the command's", 0)
    check("a signal: the folder", content() == "before\n")
    forget()


def linked_worktree():
    """The question names the main repository, too, and a yes takes the commit."""
    main, ws, policy = FOLDER + "/main", FOLDER + "/linked", FOLDER + "/tree.toml"
    person = {"GIT_%s_%s" % (role, what): "x@x" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1", **person)

    def git(*words):
        return subprocess.run(("git", *words), env=env, stdout=subprocess.PIPE, check=True).stdout.decode()

    git("init", "-q", main)
    git("-C", main, "commit", "-q", "--allow-empty", "-m", "one")
    git("-C", main, "worktree", "add", "-q", "-b", "topic", ws)
    with open(policy, "w") as f:
        f.write('extends = "offline-build"\n[filesystem]\nworktree = true\n')
    words = [word for name, value in person.items() for word in ("--env", "%s=%s" % (name, value))]
    t = Terminal(AJ, "run", "--policy-file", policy, "--workspace", ws, "--workspace-mode", "overlay", *words, "--", "git", "commit", "-q", "--allow-empty", "-m", "two",
                 env={"XDG_STATE_HOME": STATE})
    t.expect("a linked worktree: the question names both", r"apply these changes to `[^`]*/linked` and `[^`]*/main/\.git`\?\r\n  y (\d+): yes")
    t.type("y %s\n" % re.findall(r"y (\d+): yes", t.text)[-1])
    t.exits("a linked worktree: the end", 0)
    check("a linked worktree: the host has the commit", git("-C", main, "log", "--format=%s", "topic") == "two\none\n", t.text)
    forget()


def no_question():
    for name, command, options in (("nothing changed", "true", ()), ("--changes-end keep", WRITES, ("--changes-end", "keep")),
                                   ("a writable workspace", WRITES, ("--workspace-mode", "rw"))):
        if options == ("--workspace-mode", "rw"):
            t = Terminal(AJ, "run", "--policy", "offline-build", "--workspace", WORK, "--", "true", env={"XDG_STATE_HOME": STATE})
        else:
            t = run(name, command, *options, asks=False)
        t.exits(name + ": it ends", 0)
        check(name + ": without a question", "apply these" not in t.text, t.text)
        forget()


os.makedirs(STATE, mode=0o755)
os.makedirs(WORK)
os.chmod(WORK, 0o755)
for test in (answers, diff_first, one_number, many_files, picked_files, picked_commits, diff_on_a_terminal, what_was_typed_before, held_changes, a_signal, linked_worktree, no_question):
    for name in "file", "other":
        with open(WORK + "/" + name, "w") as f:
            f.write("before\n")
        os.chmod(WORK + "/" + name, 0o644)
    test()
