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
QUESTION = r"apply these changes to `[^`]*/work`\?\r\n  y (\d+): yes, d: show the diff, Enter: keep them for later, x (\d+): discard them: "
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


def answers():
    for name, line, code, after in (("yes", "y %s\n", 3, "changed\n"), ("the whole word", "yes %s\n", 3, "changed\n"), ("Enter", "\n", 3, "before\n"),
                                    ("keep", "keep\n", 3, "before\n"), ("the end of the input", "\x04", 3, "before\n"), ("Ctrl-C", "\x03", 3, "before\n"),
                                    ("an answer without the number", "y\ny\nyes\n", 3, "before\n"), ("discard", "x %s\n", 3, "before\n")):
        with open(WORK + "/file", "w") as f:
            f.write("before\n")
        t = run(name, WRITES + "; exit 3", "--id", "one")
        if name == "an answer without the number":
            for tries in range(3):
                t.type("yes\n")
                if tries < 2:
                    ask(t, name)
        else:
            t.type(line % t.number if "%" in line else line)
        t.exits(name + ": the exit status is the command's", code)
        check(name + ": the folder", content() == after, repr(content()))
        check(name + ": what is kept", waiting() == ([] if name == "discard" else ["one"]), str(waiting()))
        os.system("rm -rf " + KEPT)


def diff_first():
    t = run("diff", WRITES)
    t.type("d\n")
    t.expect("diff: it is shown", r"\+changed")
    number = ask(t, "diff, then")
    t.type("y %s\n" % number)
    t.expect("diff, then: applied", "1 change applied")
    t.exits("diff, then: the end", 0)
    check("diff, then: the folder", content() == "changed\n")
    os.system("rm -rf " + KEPT)


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
    os.system("rm -rf " + KEPT)


def held_changes():
    t = run("held", WRITES + "; mkdir -p .vscode; echo x >.vscode/tasks.json")
    t.type("y %s\n" % t.number)
    t.expect("held: named apart", "held .*tasks.json")
    t.exits("held: the end", 0)
    check("held: not applied", content() == "changed\n" and not os.path.exists(WORK + "/.vscode/tasks.json"))
    os.system("rm -rf " + KEPT)


def a_signal():
    t = run("a signal", WRITES)
    os.kill(t.pid, signal.SIGTERM)
    t.expect("a signal: kept", "kept: ")
    t.exits("a signal: the exit status is the command's", 0)
    check("a signal: the folder", content() == "before\n")
    os.system("rm -rf " + KEPT)


def linked_worktree():
    """The question names the main repository, too."""
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
    os.system("rm -rf " + KEPT)


def no_question():
    for name, command, options in (("nothing changed", "true", ()), ("--changes-end keep", WRITES, ("--changes-end", "keep")),
                                   ("a writable workspace", WRITES, ("--workspace-mode", "rw"))):
        if options == ("--workspace-mode", "rw"):
            t = Terminal(AJ, "run", "--policy", "offline-build", "--workspace", WORK, "--", "true", env={"XDG_STATE_HOME": STATE})
        else:
            t = run(name, command, *options, asks=False)
        t.exits(name + ": it ends", 0)
        check(name + ": without a question", "apply these" not in t.text, t.text)
        os.system("rm -rf " + KEPT)


os.makedirs(STATE, mode=0o755)
os.makedirs(WORK)
os.chmod(WORK, 0o755)
for test in (answers, diff_first, what_was_typed_before, held_changes, a_signal, linked_worktree, no_question):
    with open(WORK + "/file", "w") as f:
        f.write("before\n")
    test()
