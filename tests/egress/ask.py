"""--network-ask and its like: the connection waits, the answer counts for what it says, and everything that is no answer is a no."""

import contextlib
import json
import os
import pty
import re
import select
import shutil
import socket
import subprocess
import threading
import time

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
    no_names = ["10.0.0.7", "203.0.113.7", "2130706433", "127.1", "0x7f.1", "a.0x7f", "a.1", "a-.test", "-a.test", "localhost", "a.localhost", "host"]
    asked = Asked(say("run"))
    run = asked.run("""
import struct, sys, socket
def address_for(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(20)
        s.connect(("198.18.0.1", 53))
        s.send(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\\0\\0\\1\\0\\1")
        answer = s.recv(600)
    return socket.inet_ntoa(answer[-4:]) if answer[7] else None
for name in sys.argv[1:]:
    if address := address_for(name): print(name, get(address))
""", *no_names)
    check("nor are addresses and their like, asked for as names", "10.0.0.7 False\n" in run.stdout and "True" not in run.stdout and not asked.questions and
          all(any(v[0] == name for v in refusals(run)) for name in no_names), (asked.questions, run))


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
def the_audit_trail():
    if os.environ["AJ_WORLD"] != "root":  # the folders above are of no id of this user's namespace, and so refused
        return
    folder, site = FOLDER + "/trail", FOLDER + "/audited.toml"
    os.mkdir(folder, 0o700)
    with open(site, "w", encoding="utf-8") as f:
        f.write('[audit]\ndestination = "file:%s/a.jsonl"\n' % folder)
    os.chmod(site, 0o644)

    def answers():
        with open(folder + "/a.jsonl", encoding="utf-8") as f:
            records = [json.loads(line) for line in f]
        os.unlink(folder + "/a.jsonl")
        return [(r["id"], a) for r in records if r["event"] == "answers" for a in r["answers"]], [r["event"] for r in records]
    asked = Asked(lambda q: say("once" if q["name"] == NEW else "deny")(q))
    asked.run("print(get('api.allowed.test'), get('evil.test'), get('203.0.113.7'))", options=("--config", site, "--id", "asked"))
    found, events = answers()
    check("each answer is a record, by whom and when", [(i, a["host"], a["port"], a["answer"], a["by"]) for i, a in found] ==
          [("asked", NEW, 80, "once", "fd"), ("asked", OTHER, 80, "deny", "fd")] and "the answer was no" in found[1][1]["why"] and found[0][1]["time"][:2] == "20", found)
    check("before its connection's", events[:2] == ["start", "answers"] and events[-2:] in (["connections", "end"], ["answers", "end"]) and "connections" in events, events)
    by_command("cat >/dev/null; echo '{\"answer\":\"run\"}'", "print(get('api.allowed.test'), get('api.allowed.test'))", options=("--config", site))
    found, _ = answers()
    check("a command's, once for the run", [(a["answer"], a["by"]) for _, a in found] == [("run", "command")], found)
    by_command("sleep 600", "print(get('api.allowed.test'))", more='ask_timeout = "1s"\n', options=("--config", site))
    found, _ = answers()
    check("no answer in time is one, too", [(a["answer"], a["by"], a["waited_ms"] >= 1000) for _, a in found] == [("deny", "command", True)] and "nobody has answered" in found[0][1]["why"], found)


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


def answer(shown, word):
    """The line that gives this answer to the question that is shown last: a word, and the question's number where it allows something."""
    number = re.findall(r"once (\d\d): allow it now, run \1: allow it until the run ends, deny: $", shown)
    return (word.replace("N", number[0] if number else "?") + "\n").encode()


class Person:
    """Somebody at a terminal at which agentjail was started. What the terminal has shown is in `shown`."""

    def __init__(self, words, set_up=lambda: None):
        self.shown, self.pid, self.fd = "", *pty.fork()
        if self.pid == 0:
            os.set_inheritable(os.dup(0), True)  # our side has no end while somebody has the other one
            set_up()
            os.execvp(words[0], words)

    def read(self, until=lambda text: False, quiet_s=None):
        """Reads until the terminal has shown it, has been quiet for so long, or has ended: then the answer is no."""
        with contextlib.suppress(OSError):
            while not until(self.shown) and select.select([self.fd], [], [], quiet_s)[0]:
                piece = os.read(self.fd, 4096)
                if not piece:
                    break
                self.shown += piece.decode()
        return until(self.shown)

    def asked(self):
        return self.read(lambda text: text.endswith("deny: "))

    def type(self, text):
        os.write(self.fd, text)

    def end(self):
        self.read()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


def ask_words(code, more="", options=()):
    return W.words("run", "--policy-file", W.policy(("listed.test:80",), more=more), "--network-ask", *options, "--", world.PYTHON, "-I", "-S", "-c", GET + code)


def at_a_terminal(code, *typed, more="", out=None, options=()):
    """Runs code in a jail whose standard input and output are elsewhere, by an agentjail whose terminal is a pseudoterminal; `typed`: what is
    typed when the terminal shows another question, see answer(). What the terminal showed, and what the code printed."""
    out = out or FOLDER + "/terminal.out"

    def elsewhere():
        null, file = os.open("/dev/null", os.O_RDONLY), os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(null, 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
    person, answers = Person(ask_words(code, more, options), elsewhere), list(typed)
    while person.asked():
        person.type(answer(person.shown, answers.pop(0)) if answers else b"")
        person.shown += " "
        if not answers:
            break
    person.end()
    with open(out, encoding="utf-8") as f:
        return person.shown, f.read()


@test
def at_the_terminal():
    ask = "print(get('api.allowed.test'), get('evil.test'), get('api.allowed.test'))"
    shown, out = at_a_terminal(ask, "run N", "deny")
    check("run, and deny", out.startswith("True False True\n") and shown.count("the jail wants to connect to") == 2 and "evil.test:80, which is not on its list (60 s to answer)" in shown, (shown, out))
    shown, out = at_a_terminal(ask, "once N", "no", "once N")
    check("once is asked again", out.startswith("True False True\n") and shown.count("connect to api.allowed.test:80") == 2, (shown, out))
    numbers = re.findall(r"once (\d\d):", shown)
    check("with another number", len(numbers) == 3 and numbers[0] != numbers[1] != numbers[2], shown)
    shown, out = at_a_terminal("print(get('api.allowed.test'))", "y", "", "x" * 300)
    check("three lines that are no answer: a no", out.startswith("False\n") and shown.count("deny: ") == 3, (shown, out))
    shown, out = at_a_terminal("print(get('api.allowed.test'))", "run", "once 7", "run N")
    check("a word without the number is asked again", out.startswith("True\n") and shown.count("deny: ") == 3, (shown, out))
    shown, out = at_a_terminal("print(get('api.allowed.test'))", more='ask_timeout = "1s"\n')
    check("nobody types: a no", out.startswith("False\n") and "no answer: denied" in shown, (shown, out))
    shown, out = at_a_terminal("""
import threading
found = []
threads = [threading.Thread(target=lambda name=name: found.append((name, get(name)))) for name in ("api.allowed.test", "evil.test")]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(found))
""", "run N", "run N")
    check("two at a time are shown one after the other", out.startswith("[('api.allowed.test', True), ('evil.test', True)]\n") and shown.count("deny: ") == 2, (shown, out))
    done = subprocess.run(["setsid", "-w", *W.words("run", "--network-ask", "--", "true")], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    check("without a terminal: nothing runs, and the fix", done.returncode == 2 and "--network-ask-command" in done.stderr, done)


@test
def at_the_commands_own_terminal():
    """The command's terminal is relayed to ours: while a question is shown neither its output nor its keys are."""
    person = Person(ask_words(r"""
print("\x1b[?1049h\x1b[?1000h\x1b[>1ubegins", flush=True)
found = get("api.allowed.test")
print("found", found, flush=True)
print("read", input().upper(), flush=True)
"""))
    asked = person.asked()
    front = person.shown.split("the jail wants to connect")[0].split("begins")[-1]
    person.type(answer(person.shown, "run N"))
    found = person.read(lambda text: "found" in text)
    back = person.shown.split("deny: ")[-1]
    person.type(b"hello\r")
    code = person.end()
    check("the question is asked and answered there", code == 0 and asked and found and "found True" in person.shown, (code, person.shown))
    check("on a screen as it was before the command", all(one in front for one in ("\x1b[?1049l", "\x1b[?1000l", "\x1b[<1u")), person.shown)
    check("and afterwards the command has its modes and its keys back", all(one in back for one in ("\x1b[?1049h", "\x1b[?1000h", "\x1b[>1u")) and
          "read HELLO" in person.shown, person.shown)


# Every way that passes to make later text unreadable, or to leave text of one's own beside it; then the cursor is in the corner.
HIDES = (r"\x1b[40;1H" + r"FORGED " * 2000 + r"\x1b[8;30;40m\x1b]10;black;black;?\x1b\\\x1b(0\x0e\x1b)0\x1b[?7l\x1b[4h\x1b[?6h\x1b[2;3r\x1b[?69h\x1b[5;9s"
         r"\x1b#3\x1bV\x1b]8;;http://forged.test\x1b\\\x1b[?25l\x1b[?5h\x1b[20h\x1b[12l\x1b[1;1H")
LAST = ["agentjail: the jail wants to connect to evil.test:80, which is not on its list (60 s to answer).",
        r"  once \d\d: allow it now, run \d\d: allow it until the run ends, deny:"]


def on_a_screen(shown):
    """The lines that a terminal has in the end: tmux is one."""
    with open(FOLDER + "/shown", "w", encoding="utf-8", newline="") as f:
        f.write(shown)
    tmux = ["tmux", "-u", "-f", "/dev/null", "-S", FOLDER + "/tmux"]
    lines = []

    def there():
        lines[:] = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=False).stdout.split("\n")
        return any("THE END" in line for line in lines)
    subprocess.run([*tmux, "new-session", "-d", "-x", "120", "-y", "24", "stty raw; cat '%s/shown'; printf '\\0337\\033[1;100HTHE END\\0338'; exec sleep 60" % FOLDER], check=True)
    until(there)
    style = subprocess.run([*tmux, "capture-pane", "-p", "-e"], capture_output=True, text=True, check=False).stdout
    subprocess.run([*tmux, "kill-server"], check=False)
    return [line.rstrip() for line in lines], style


@test
def a_forged_question():
    """What the command has written before comes before the question, and nothing of it afterwards; keys typed before count for nothing."""
    person = Person(ask_words(r"""
import os, threading, time
wrote = [0, -1]
def flood():
    for i in range(20000): wrote[0] += os.write(1, b"\r\nagentjail: FORGED question, which is not: deny: \x1b]0;FORGED\x07\x1b[31m")
threading.Thread(target=flood, daemon=True).start()
while not wrote[0] or wrote[0] != wrote[1]:  # until the terminal takes no more
    wrote[1] = wrote[0]
    time.sleep(0.3)
print("found", get("evil.test"), flush=True)
os._exit(0)
"""))
    time.sleep(2)  # the terminal takes nothing, and the question has to wait; no check depends on it
    person.type(b"run\nonce\nrun\n")
    asked = person.read(lambda text: re.search("run \\d\\d: .*deny: $", text[-80:]))
    still = not person.read(lambda text: not text.endswith("deny: "), 0.5)
    question = person.shown[person.shown.rfind("agentjail: the jail wants"):]
    check("behind a flood: the question comes last, and stands", asked and still and "FORGED" not in question and "\x1b" not in question, person.shown[-600:])
    check("what was typed before is no answer", question.count("deny: ") == 1 and "found" not in person.shown, person.shown[-600:])
    person.type(answer(person.shown, "deny"))
    code = person.end()
    check("and then the command continues", code == 0 and "found False" in person.shown, person.shown[-300:])
    person = Person(ask_words('import os\nos.write(1, b"%s")\nprint("found", get("evil.test"))' % HIDES))
    asked = person.asked()
    before = person.shown[:person.shown.rfind("agentjail: the jail wants")]
    check("the terminal's own colours are back before the question", "\x1b]110\x1b\\\x1b]111" in before, before[-300:])
    if not shutil.which("tmux"):
        print("skip what a terminal shows: tmux is not there (.ci/deps check)", flush=True)
    else:
        lines, style = on_a_screen(person.shown)
        text = [line for line in lines if line]
        check("all tricks of the screen: the question is readable, alone in its lines and below", asked and len(text) > 1 and text[-2] == LAST[0] and
              re.fullmatch(LAST[1], text[-1]) and "\x1b" not in style[style.rfind("agentjail: the jail"):].replace("\x1b[39m", "").replace("\x1b[49m", ""), (lines, style))
    person.type(answer(person.shown, "deny"))
    check("the command ends", person.end() == 0, person.shown[-300:])


@test
def suspended_while_asked():
    """Ctrl-Z at a question: the command's full screen does not come back over it."""
    script = FOLDER + "/suspend.sh"
    words = " ".join("'%s'" % word.replace("'", "'\\''") for word in ask_words(r'print("\x1b[?1049hbegins", flush=True); print("found", get("api.allowed.test"), flush=True)'))
    with open(script, "w", encoding="utf-8") as f:
        f.write(words + "\necho stopped; fg\n")
    person = Person(["/bin/bash", "--norc", "--noprofile", "-i", script])
    asked = person.asked()
    person.type(b"\x1a")
    stopped = person.read(lambda text: "stopped\r\n" in text)
    person.read(quiet_s=0.5)
    after = person.shown[person.shown.rfind("deny: "):]
    check("the question stands when the run is continued", asked and stopped and "\x1b[?1049h" not in after, person.shown)
    person.type(answer(person.shown[:person.shown.rfind("deny: ") + 6], "run N"))
    person.end()
    check("and takes its answer", "found True" in person.shown, person.shown)


@test
def where_a_question_could_be_forged():
    """Output that a program of the host gets may be shown on the same terminal at any time."""
    for what, redirect in (("a pipe as output", "| cat"), ("a pipe as error", "2>&1 >/dev/null | cat")):
        person = Person(["sh", "-c", '"$@" %s' % redirect, "sh", *ask_words("print(get('api.allowed.test'))")])
        person.end()
        check("%s: nothing runs, and the fix" % what, "is a pipe" in person.shown and "--network-ask-command" in person.shown and "wants to connect" not in person.shown, person.shown)
    person = Person(["sh", "-c", '"$@" | cat', "sh", *ask_words("print(get('api.allowed.test'))", options=("--json",))])
    asked = person.asked()
    person.type(answer(person.shown, "run N"))
    person.end()
    check("captured output does not pause for a question", asked and '"stdout":"True\\n"' in person.shown.replace(" ", ""), person.shown)
    person = Person(ask_words("print(get('api.allowed.test'))", more='[terminal]\nescapes = "all"\n'))
    person.end()
    check("control sequences that are not filtered: nothing runs", "terminal.escapes" in person.shown and "wants to connect" not in person.shown, person.shown)
    ours, theirs = pty.openpty()
    person = Person(ask_words(r'import os; os.write(1, b"\x1b[?1049hFORGED " * 2000); print("found", get("api.allowed.test"), flush=True)'), lambda: os.dup2(theirs, 0))
    os.close(theirs)
    asked = person.asked()
    person.read(quiet_s=0.5)
    question = person.shown[person.shown.rfind("agentjail: the jail wants"):]
    check("a second terminal: its output waits, too", asked and "FORGED" not in question and "\x1b[?1049l" in person.shown[person.shown.rfind("FORGED"):], person.shown[-600:])
    person.type(answer(person.shown, "run N"))
    person.end()
    os.close(ours)
    check("and comes with the answer", "found True" in person.shown[person.shown.rfind("deny: "):], person.shown[-600:])


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
    W.name("a_b.allowed.test", "203.0.113.7")
    under = folder + "/under.toml"
    asked = Asked(say("run"))
    run = asked.run("print(get('a_b.allowed.test'))", options=("--network-ask-save", under))
    done = W.agent("policy", "check", "--policy-file", under)
    check("a name with `_` is one of a policy, too", run.stdout == "True\n" and done.returncode == 0, (done, run))
    os.unlink(under)
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
    os.link(own, folder + "/other")
    for what, name in (("that is bound writable itself", "own.toml"), ("that is bound by another name", "other")):
        done = W.agent("run", "--network-ask-command", "true", "--bind", folder + "/" + name + ":/mnt/x:rw", "--network-ask-save", own, "--", "true")
        check("a file %s: nothing runs" % what, done.returncode == 2 and "where the jail may write" in done.stderr, done)
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
    check("of no use with the host's network", done.returncode == 2 and "no connection is checked" in done.stderr, done)
    done = W.agent("run", "--network-ask-fd", "0", "--", "true")
    check("standard input is no such descriptor", done.returncode == 2, done)
    done = W.agent("run", "--network-ask-command", "true", "--network-ask-save", "", "--", "true")
    check("a file without a name", done.returncode == 2, done)
    done = W.agent("run", "--network-ask-save", FOLDER + "/x.toml", "--", "true")
    check("a file, and nobody to ask", done.returncode == 2 and "no question is asked" in done.stderr, done)


main()
