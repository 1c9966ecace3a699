"""--network-ask and its like: the connection waits, the answer counts for what it says, and everything that is no answer is a no."""

import contextlib
import json
import os
import pty
import socket
import subprocess
import threading

import world

world.enter()
from client import AJ, FOLDER, check, main, test, until  # noqa: E402

W = world.World(AJ, FOLDER)
NEW, OTHER = "api.allowed.test", "evil.test"
W.name(NEW, "203.0.113.7")
W.name(OTHER, "203.0.113.99")
W.name("inner.test", "10.0.0.7")
GET = """
import urllib.request as u
def get(name):
    try: return "internet" in u.urlopen("http://%s/" % name, None, 20).read().decode()
    except OSError: return False
"""


class Asked:
    """Answers the lines of --network-ask-fd by a function of the question, which returns the bytes to send (None: none)."""

    def __init__(self, answer):
        self.ours, self.theirs = socket.socketpair()
        self.questions, self.answer, self.lines = [], answer, self.ours.makefile("rb")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        for line in iter(self.line, b""):
            question = json.loads(line)
            self.questions.append(question)
            reply = self.answer(question)
            if reply is not None:
                with contextlib.suppress(OSError):
                    self.ours.sendall(reply)

    def line(self):
        try:
            return self.lines.readline()
        except OSError:  # the other end left with something unread
            return b""

    def run(self, code, *args, options=(), more="ask_timeout = \"20s\"\n", allow=("listed.test:80",)):
        os.set_inheritable(self.theirs.fileno(), True)
        done = subprocess.run(W.words("run", "--json", "--policy-file", W.policy(allow, more=more), "--network-ask-fd", str(self.theirs.fileno()), *options,
                                      "--", world.PYTHON, "-I", "-S", "-c", GET + code, *args),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=40, close_fds=False, check=False)
        self.theirs.close()
        return world.Run(done)


def say(word):
    return lambda q: (json.dumps({"id": q["id"], "answer": word}) + "\n").encode()


def refusals(run):
    return [(v["host"], v["port"], v["why"]) for v in run.result.get("violations", [])]


def by_command(command, code, more="", **how):
    return W.python(GET + code, allow=how.pop("allow", ("listed.test:80",)), more=more, options=("--network-ask-command", command, *how.pop("options", ())))


@test
def by_descriptor():
    asked = Asked(say("once"))
    run = asked.run("print(get('api.allowed.test'), get('api.allowed.test'))")
    check("once lets what waits through, and later ones ask again", run.stdout == "True True\n" and len(asked.questions) == 2, (asked.questions, run))
    first = asked.questions[0] if asked.questions else {}
    check("the question has id, name, port and why, and no more", list(first) == ["id", "name", "port", "why"] and (first["name"], first["port"]) == (NEW, 80), first)
    check("nothing was refused", run.result.get("violations") == [] and run.result["network"]["connections"] == 2, run)
    asked = Asked(say("run"))
    run = asked.run("print([get('api.allowed.test') for _ in range(3)], get('evil.test'))")
    check("run asks once for a name and port", run.stdout == "[True, True, True] True\n" and [q["name"] for q in asked.questions] == [NEW, OTHER], (asked.questions, run))
    asked = Asked(say("deny"))
    run = asked.run("print([get('api.allowed.test') for _ in range(3)])")
    check("deny refuses, and is remembered", run.stdout == "[False, False, False]\n" and len(asked.questions) == 1 and not W.log(kind="http", name="never"), (asked.questions, run))
    check("and is a violation", refusals(run) and all(v[:2] == (NEW, 80) and "the answer was no" in v[2] for v in refusals(run)), run)
    asked = Asked(say("run"))
    run = asked.run("print(get('inner.test'))")
    check("a private address stays refused", run.stdout == "False\n" and len(asked.questions) == 1 and any("10.0.0.7" in v[2] for v in refusals(run)), run)
    asked = Asked(say("run"))
    run = asked.run("print(get('203.0.113.7'), get('169.254.169.254'))")
    check("addresses are not asked for", run.stdout == "False False\n" and not asked.questions and len(refusals(run)) == 2, (asked.questions, run))


@test
def one_question():
    asked = Asked(say("run"))
    run = asked.run("""
import threading
found = []
threads = [threading.Thread(target=lambda: found.append(get("api.allowed.test"))) for _ in range(20)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(found))
""")
    check("connections to one name and port share it", run.stdout == "20\n" and len(asked.questions) == 1, (asked.questions, run))


@test
def what_is_no_answer():
    rows = (("no JSON", lambda q: b"yes\n"), ("no object", lambda q: b"[1]\n"), ("another word", say("allow")), ("no word", say(None)),
            ("no id", lambda q: b'{"answer":"run"}\n'), ("an id that is no text", lambda q: ('{"id":%s,"answer":"run"}\n' % q["id"]).encode()),
            ("two answers in a line", lambda q: ('{"id":"%s","answer":"deny","answer":"run"}\n' % q["id"]).encode()),
            ("a line without an end", lambda q: b"x" * 5000))
    for n in range(len(rows)):
        W.name("n%d.test" % n, "203.0.113.7")
    asked = Asked(lambda q: rows[int(q["name"][1])][1](q))
    run = asked.run("for n in range(%d): print(get('n%%d.test' %% n))" % len(rows))
    for n, said in enumerate(run.stdout.splitlines()):
        check("%s: a no" % rows[n][0], said == "False" and any(v[0] == "n%d.test" % n for v in refusals(run)), run)
    check("control: each was asked for", len(asked.questions) == len(rows) == len(run.stdout.splitlines()), (asked.questions, run))
    sent = []

    def other(q):
        sent.append(q)
        return ('{"id":"%d","answer":"run"}\n' % (int(q["id"]) + 1)).encode()
    asked = Asked(other)
    run = asked.run("print(get('api.allowed.test'))", more='ask_timeout = "1s"\n')
    check("the answer to another question has no effect; time ends it", run.stdout == "False\n" and any("nobody has answered" in v[2] for v in refusals(run)), run)
    asked = Asked(lambda q: None)
    asked.ours.shutdown(socket.SHUT_RDWR)
    run = asked.run("print(get('api.allowed.test'))")
    check("a socket that was closed: a no", run.stdout == "False\n" and any("has gone" in v[2] for v in refusals(run)), run)


@test
def a_flood():
    asked = Asked(lambda q: None)
    run = asked.run("""
import threading
threads = [threading.Thread(target=get, args=("n%d.allowed.test" % i,)) for i in range(40)]
for t in threads: t.start()
for t in threads: t.join()
print("done")
""", more='ask_timeout = "1s"\n')
    check("some questions reach a person, the others are refused", run.stdout == "done\n" and len(asked.questions) == 8 and
          run.result["network"]["refused"] >= 40, (len(asked.questions), run))
    check("with the reason", any("too many questions" in v[2] for v in refusals(run)), run)


@test
def by_a_command():
    run = by_command("cat >/dev/null; echo '{\"answer\":\"run\"}'", "print(get('api.allowed.test'), get('api.allowed.test'))")
    check("its line is the answer", run.stdout == "True True\n", run)
    script = FOLDER + "/ask.sh"
    with open(script, "w", encoding="utf-8") as f:
        f.write('read -r q\ncase $q in *\'"name":"api.allowed.test","port":80,\'*) echo \'{"answer":"once"}\' ;; *) echo \'{"answer":"deny"}\' ;; esac\n')
    run = by_command("sh " + script, "print(get('api.allowed.test'), get('evil.test'))")
    check("it gets the question", run.stdout == "True False\n" and [v[:2] for v in refusals(run)] in ([(OTHER, 80)], [(OTHER, 80)] * 2), run)
    rows = (("fails", "exit 1"), ("says nothing", "true"), ("says something else", "echo yes"), ("is not there", "exec /no/such/command"),
            ("says too much", "head -c 9000 /dev/zero"), ("has another id", "echo '{\"id\":\"99\",\"answer\":\"run\"}'"))
    with open(script, "w", encoding="utf-8") as f:
        f.write("read -r q\ncase $q in\n%sesac\n" % "".join("*n%d.test*) %s ;;\n" % (n, row[1]) for n, row in enumerate(rows)))
    run = by_command("sh " + script, "for n in range(%d): print(get('n%%d.test' %% n))" % len(rows))
    for n, said in enumerate(run.stdout.splitlines()):
        check("a command that %s: a no" % rows[n][0], said == "False" and any(v[0] == "n%d.test" % n and "gave no answer" in v[2] for v in refusals(run)), run)
    check("control: six answers", len(run.stdout.splitlines()) == len(rows), run)
    mark = FOLDER + "/late"
    run = by_command("echo $$ >%s; sleep 600 & sleep 600; echo x" % mark, "print(get('api.allowed.test'))", more='ask_timeout = "1s"\n')
    check("a command that is late: a no", run.stdout == "False\n" and any("nobody has answered" in v[2] for v in refusals(run)), run)
    with open(mark, encoding="ascii") as f:
        group = int(f.read())
    check("and none of its processes is left", until(lambda: not group_lives(group)), group)


@test
def ends():
    mark = FOLDER + "/open"
    run = by_command("echo $$ >%s; sleep 600" % mark, "print(get('api.allowed.test'))", options=("--timeout", "2s"))
    with open(mark, encoding="ascii") as f:
        group = int(f.read())
    check("a run that ends does not wait for an answer", run.result.get("status") == "timeout", run)
    check("and ends the command", until(lambda: not group_lives(group)), group)
    os.unlink(mark)
    words = W.words("run", "--policy-file", W.policy(("listed.test:80",)), "--network-ask-command", "sleep 600 & echo $! $(cut -d' ' -f5 /proc/$$/stat) >%s.new; mv %s.new %s; sleep 600" % (mark, mark, mark),
                    "--", world.PYTHON, "-I", "-S", "-c", GET + "get('api.allowed.test')")
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as supervisor:
        check("control: the command was started", until(lambda: os.path.exists(mark)))
        supervisor.kill()
    with open(mark, encoding="ascii") as f:
        background, group = map(int, f.read().split())
    check("a supervisor that is killed leaves no process of the command", until(lambda: not group_lives(group) and not os.path.exists("/proc/%d" % background)), (background, group))
    asked = Asked(say("run"))
    run = asked.run("import os; print(sorted(os.listdir('/proc/self/fd')))")
    check("the jail has no descriptor of the questions'", run.stdout == "['0', '1', '2', '3']\n", run)


def group_lives(group):
    try:
        os.killpg(group, 0)
        return True
    except PermissionError:
        return True
    except ProcessLookupError:
        return False


def at_a_terminal(code, *typed, more="", out=None):
    """Runs code in a jail whose standard input and output are elsewhere, by an agentjail whose terminal is a pseudoterminal; `typed`: what is
    typed when the terminal shows another question. What the terminal showed, and what the code printed."""
    policy, out = W.policy(("listed.test:80",), more=more), out or FOLDER + "/terminal.out"
    pid, terminal = pty.fork()
    if pid == 0:
        os.set_inheritable(os.dup(0), True)  # our side has no end while somebody has the other one
        null, file = os.open("/dev/null", os.O_RDONLY), os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(null, 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        words = W.words("run", "--policy-file", policy, "--network-ask", "--", world.PYTHON, "-I", "-S", "-c", GET + code)
        os.execvp(words[0], words)
    shown, answers = b"", list(typed)
    with contextlib.suppress(OSError):  # the terminal's end
        while piece := os.read(terminal, 4096):
            shown += piece
            if shown.endswith(b"deny: ") and answers:
                os.write(terminal, answers.pop(0))
    os.waitpid(pid, 0)
    os.close(terminal)
    with open(out, encoding="utf-8") as f:
        return shown.decode(), f.read()


@test
def at_the_terminal():
    ask = "print(get('api.allowed.test'), get('evil.test'), get('api.allowed.test'))"
    shown, out = at_a_terminal(ask, b"run\n", b"deny\n")
    check("run, and deny", out.startswith("True False True\n") and shown.count("the jail wants to connect to") == 2 and "evil.test:80, which is not on its list (60 s to answer)" in shown, (shown, out))
    shown, out = at_a_terminal(ask, b"once\n", b"no\n", b"once\n")
    check("once is asked again", out.startswith("True False True\n") and shown.count("connect to api.allowed.test:80") == 2, (shown, out))
    shown, out = at_a_terminal("print(get('api.allowed.test'))", b"y\n", b"\n", b"x" * 300 + b"\n")
    check("three lines that are no answer: a no", out.startswith("False\n") and shown.count("deny: ") == 3, (shown, out))
    shown, out = at_a_terminal("print(get('api.allowed.test'))", b"yes\n", b"run\n")
    check("a word that is no answer is asked again", out.startswith("True\n"), (shown, out))
    shown, out = at_a_terminal("print(get('api.allowed.test'))", more='ask_timeout = "1s"\n')
    check("nobody types: a no", out.startswith("False\n") and "no answer: denied" in shown, (shown, out))
    shown, out = at_a_terminal("""
import threading
found = []
threads = [threading.Thread(target=lambda name=name: found.append((name, get(name)))) for name in ("api.allowed.test", "evil.test")]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(found))
""", b"run\n", b"run\n")
    check("two at a time are shown one after the other", out.startswith("[('api.allowed.test', True), ('evil.test', True)]\n") and shown.count("deny: ") == 2, (shown, out))
    done = subprocess.run(["setsid", "-w", *W.words("run", "--network-ask", "--", "true")], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    check("without a terminal: nothing runs, and the fix", done.returncode == 2 and "--network-ask-command" in done.stderr, done)


@test
def at_the_commands_own_terminal():
    """The command's terminal is relayed to ours: while a question is shown neither its output nor its keys are."""
    code = r"""
print("\x1b[?1049h\x1b[?1000hbegins", flush=True)
found = get("api.allowed.test")
print("found", found, flush=True)
print("read", input().upper(), flush=True)
"""
    policy = W.policy(("listed.test:80",))
    pid, terminal = pty.fork()
    if pid == 0:
        words = W.words("run", "--policy-file", policy, "--network-ask", "--", world.PYTHON, "-I", "-S", "-c", GET + code)
        os.execvp(words[0], words)
    shown, answered, typed = "", False, False
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            shown += piece.decode()
            if shown.endswith("deny: ") and not answered:
                answered = True
                os.write(terminal, b"run\n")
            if "found" in shown and not typed:
                typed = True
                os.write(terminal, b"hello\r")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(terminal)
    check("the question is asked and answered there", code == 0 and answered and "found True" in shown, (code, shown))
    front = shown.split("the jail wants to connect")[0]
    check("on a screen as it was before the command", "\x1b[?1049l" in front.split("begins")[-1] and "\x1b[?1000l" in front.split("begins")[-1], shown)
    check("and afterwards the command has its modes and its keys back", "\x1b[?1049h" in shown.split("deny: ")[-1] and "read HELLO" in shown, shown)


@test
def what_is_kept():
    folder = FOLDER + "/kept"
    os.mkdir(folder)
    kept = folder + "/mine.toml"
    once = "print(get('api.allowed.test'), get('evil.test'))"
    asked = Asked(lambda q: say("run" if q["name"] == NEW else "once")(q))
    run = asked.run(once, options=("--network-ask-save", kept))
    with open(kept, encoding="utf-8") as f:
        text = f.read()
    check("a new policy has what was allowed for the run, alone", run.stdout == "True True\n" and '"%s:80"' % NEW in text and OTHER not in text, (text, run))
    done = W.agent("run", "--policy-file", kept, "--", world.PYTHON, "-I", "-S", "-c", GET + "print(get('api.allowed.test'))")
    check("and is used as it is", done.stdout == "True\n", done)
    own = folder + "/own.toml"
    with open(own, "w", encoding="utf-8") as f:
        f.write('# mine\nextends = "command"\n[network]\nmode = "allow"\nallow = ["listed.test:80"] # ours\n')
    os.chmod(own, 0o640)
    asked = Asked(say("run"))
    words = W.words("run", "--policy-file", own, "--network-ask-fd", str(asked.theirs.fileno()), "--network-ask-save", own, "--", world.PYTHON, "-I", "-S", "-c", GET + once)
    os.set_inheritable(asked.theirs.fileno(), True)
    if os.environ["AJ_WORLD"] == "root":
        subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, close_fds=False, timeout=120, check=False)
        with open(own, encoding="utf-8") as f:
            text = f.read()
        check("a policy of one's own gets items, and keeps all else", text == '# mine\nextends = "command"\n[network]\nmode = "allow"\nallow = ["evil.test:80", "api.allowed.test:80", "listed.test:80"] # ours\n', text)
        check("its permissions, too", os.stat(own).st_mode & 0o777 == 0o640 and sorted(os.listdir(folder)) == ["mine.toml", "own.toml"], os.listdir(folder))
    for what, path, why in (("a link", "link.toml", "Too many levels"), ("a file without a list", "bare.toml", "no list of hosts"), ("a folder", "", "open the folder")):
        if path == "link.toml":
            os.symlink(own, folder + "/link.toml")
        elif path:
            with open(folder + "/" + path, "w", encoding="utf-8") as f:
                f.write("[limits]\nallow = [1]\n")
        done = W.agent("run", "--network-ask-command", "true", "--network-ask-save", folder + "/" + path, "--", "true")
        check("%s: nothing runs" % what, done.returncode == 2 and why in done.stderr, done)
    done = W.agent("run", "--network-ask-command", "true", "--bind", folder + ":/mnt:rw", "--network-ask-save", folder + "/new.toml", "--", "true")
    check("a file where the jail may write: nothing runs", done.returncode == 2 and "where the jail may write" in done.stderr and not os.path.exists(folder + "/new.toml"), done)


@test
def who_may():
    run = W.python(GET + "print(get('api.allowed.test'))", allow=("listed.test:80",), more="ask = true\n")
    check("a policy that asks, and nobody to ask: a no", run.stdout == "False\n" and any("nobody to ask" in v[2] for v in refusals(run)), run)
    run = W.python(GET + "print(get('api.allowed.test'))", allow=("listed.test:80",))
    check("control: without asking", run.stdout == "False\n" and any("not on the jail's list" in v[2] for v in refusals(run)), run)
    run = by_command("echo '{\"answer\":\"run\"}'", "print(get('api.allowed.test'))", allow=())
    check("the list may be empty", run.stdout == "True\n", run)
    done = W.agent("run", "--network-ask-command", "echo '{\"answer\":\"run\"}'", "--", world.PYTHON, "-I", "-S", "-c", GET + "print(get('api.allowed.test'))")
    check("the option is enough", done.stdout == "True\n", done)
    site = FOLDER + "/site.toml"
    with open(site, "w", encoding="utf-8") as f:
        f.write('[policies]\nlock = ["network.ask"]\n')
    os.chmod(site, 0o644)
    done = W.agent("run", "--config", site, "--network-ask-command", "true", "--", "true")
    check("a site can lock it", done.returncode == 2 and "locks that key" in done.stderr, done)
    done = W.agent("run", "--network-ask-command", "true", "--network", "host", "--", "true")
    check("of no use with the host's network", done.returncode == 2 and "no connection is looked at" in done.stderr, done)
    done = W.agent("run", "--network-ask-fd", "0", "--", "true")
    check("standard input is no such descriptor", done.returncode == 2, done)
    done = W.agent("run", "--network-ask-command", "true", "--network-ask-save", "", "--", "true")
    check("a file without a name", done.returncode == 2, done)
    done = W.agent("run", "--network-ask-save", FOLDER + "/x.toml", "--", "true")
    check("a file, and nobody to ask", done.returncode == 2 and "nobody is asked" in done.stderr, done)


main()
