"""A command at a terminal: job control, sizes, pipelines and the end of a run, as a person at a shell sees them.
Usage: terminal.py AGENTJAIL; each check prints `ok NAME` or `FAIL NAME: why`. It looks at the screen and at the terminal's modes only."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from procfs import alive, below as processes_below, numbers  # noqa: E402
from terminal import Terminal, check  # noqa: E402
from until import until  # noqa: E402

AJ = sys.argv[1]
RUN = AJ + " run --timeout 60s "


def shell():
    """An interactive shell with job control, which echoes what is typed."""
    t = Terminal("/bin/bash", "--norc", "--noprofile", "--noediting", "-i", env={"PS1": "READY$ ", "HISTFILE": "", "LANG": "C.UTF-8"})
    t.expect("a shell is there", r"READY\$ ")
    return t


def modes(t):
    """Does the terminal edit lines, and echo?"""
    local = termios.tcgetattr(t.fd)[3]
    return bool(local & termios.ICANON), bool(local & termios.ECHO)


def below(pid, name):
    """The first process of this name below `pid`."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True).stdout.split("\n")
    rows = [line.split(None, 2) for line in found if line]
    family = {str(pid)}
    for _ in range(6):
        family |= {row[0] for row in rows if row[1] in family}
    return next((int(row[0]) for row in rows if row[0] in family and row[2] == name), None)


def job_control():
    t = shell()
    t.type(RUN + "-- sh -c 'echo up; exec cat'\n")
    t.expect("stop: the command is up", r"up\r\n")
    check("raw: keys go to the jail as they are", until(lambda: modes(t) == (False, False)))
    t.type("hello\n")
    t.expect("stop: it reads and writes", r"hello\r\nhello\r\n")
    t.type("\x1a")
    t.expect("stop: Ctrl-Z stops the command, and agentjail with it", r"Stopped.*READY\$ ")
    check("stop: the terminal is as the shell wants it", modes(t) == (True, True))
    t.type("echo out$((1+1))\n")
    t.expect("stop: the shell has the terminal", r"out2\r\n")
    t.type("fg\n")
    t.expect("stop: fg", r"fg\r\n.*cat'\r\n")
    until(lambda: modes(t) == (False, False))
    t.type("again\n")
    t.expect("stop: fg continues both", r"again\r\nagain\r\n")
    t.type("\x1a")
    t.expect("stop: a second time", r"Stopped.*READY\$ ")
    t.type("bg\n")
    t.expect("background: bg", r"READY\$ ")
    t.type("echo typed$((2+2))\n")
    t.expect("background: keys are the shell's", r"typed4\r\n.*READY\$ ")
    t.type("fg\n")
    t.expect("background: fg", r"cat'\r\n")
    check("background: the foreground's keys are the jail's again", until(lambda: modes(t) == (False, False)))
    t.type("once more\n\x04")
    t.expect("background: and are read", r"once more\r\nonce more\r\n.*READY\$ ")
    t.type("echo status=$?; exit\n")
    t.expect("stop: the exit status passes", r"status=0\r\n")
    t.exits("stop: the shell leaves", 0)


def inner_shell():
    t = shell()
    t.type(RUN + "--env PS1='INNER> ' --env HISTFILE= -- bash --norc --noprofile --noediting -i\n")
    t.expect("inner: a shell in the jail", r"INNER> ")
    check("inner: no complaint about job control", "job control" not in t.text)
    t.type("sleep 77\n")
    t.expect("inner: it runs a job", r"sleep 77\r\n")
    time.sleep(0.3)
    t.type("\x1a")
    t.expect("inner: Ctrl-Z stops the job of the inner shell alone", r"Stopped\s+sleep 77\r\nINNER> ")
    t.type("fg\n")
    t.expect("inner: fg in the jail", r"fg\r\nsleep 77\r\n")
    time.sleep(0.3)  # the shell prints the job before it gives that job the terminal
    t.type("\x03")
    t.expect("inner: Ctrl-C ends that job alone", r"INNER> ")
    t.type("tty; echo dev=$(test -w /dev/tty && echo yes); ls /dev/pts\n")
    t.expect("inner: the terminal has a name in the jail", r"/dev/pts/0\r\ndev=yes\r\n0\s+ptmx")
    t.type("suspend -f\n")
    t.expect("inner: suspend stops both", r"Stopped.*READY\$ ")
    t.type("fg\n")
    t.type("\n")
    t.expect("inner: and fg continues both", r"INNER> ")
    t.type("stty raw -echo; kill -9 $$\n")
    t.expect("inner: a killed shell", r"READY\$ ")
    check("inner: leaves the terminal as it was", modes(t) == (True, True))
    t.type("exit 5\n")
    t.exits("inner: the outer shell leaves", 5)


def signals():
    for name, number in (("SIGTSTP", signal.SIGTSTP), ("SIGTERM", signal.SIGTERM), ("SIGHUP", signal.SIGHUP), ("SIGINT", signal.SIGINT),
                         ("SIGSEGV", signal.SIGSEGV), ("SIGABRT", signal.SIGABRT)):
        t = shell()
        t.type(RUN + "-- sh -c 'echo up; exec cat'\n")
        t.expect(name + ": a command runs", r"up\r\n")
        until(lambda: modes(t) == (False, False))
        os.kill(below(t.pid, "agentjail"), number)
        t.expect(name + ": to agentjail gives the shell its terminal back", r"READY\$ ")
        check(name + ": as it was", modes(t) == (True, True))
        if number == signal.SIGTSTP:
            t.type("fg\n")
            check(name + ": fg makes it raw again", until(lambda: modes(t) == (False, False)))
            t.type("still\n")
            t.expect(name + ": and the command continues", r"still\r\nstill\r\n")
            t.type("\x04")
            t.expect(name + ": to its end", r"READY\$ ")
        t.type("exit 3\n")
        t.exits(name + ": the shell leaves", 3)


def sizes():
    t = Terminal(AJ, "run", "--", "/usr/bin/python3", "-I", "-S", "-c",
                 "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGWINCH})\nprint('up', flush=True)\n"
                 "while True:\n    signal.sigwait({signal.SIGWINCH})\n    print('size', *os.get_terminal_size(), flush=True)\n")
    t.expect("size: the command is up", r"up\r\n")
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    t.expect("size: a new one reaches the command, with SIGWINCH", r"size 99 33\r\n")
    t.type("\x1c")
    t.exits("size: Ctrl-\\ ends it", 128 + signal.SIGQUIT)


def pipelines():
    t = shell()

    def says(name, line, answer, keys=None):
        t.type(line + "; echo END\n")
        if keys:
            t.expect(name + ": it asks", keys[0])
            time.sleep(0.2)
            t.type(keys[1])
        t.expect(name, answer + r"(?:\r\n)?END\r\nREADY\$ ")

    who = "for f in 0 1 2; do test -t $f && printf t || printf n; done"
    says("pipeline: each descriptor that is the terminal is the jail's", RUN + "-- sh -c '%s'" % who, r"\nttt")
    says("pipeline: a file as input", RUN + "-- sh -c '%s' </dev/null" % who, r"\nntt")
    says("pipeline: a pipe as output", RUN + "-- sh -c '%s' | cat" % who, r"\ntnt")
    says("pipeline: errors alone", RUN + "-- sh -c 'test -t 2 && echo E >&2; %s' 2>&1 >/dev/null </dev/null" % who, r"\nE\r\n")
    says("pipeline: standard input all the same", RUN + "-- sh -c 'read a; echo got $a' | cat", r"got this one\r\n(?:this one\r\n)?", (r"\| cat; echo END\r\n", "this one\n"))
    says("pipeline: lines end as they should", RUN + "-- printf 'a\\nb\\r\\n' </dev/null", r"\na\r\nb\r\r\n")
    says("pipeline: /dev/tty beside a pipe", "echo x | " + RUN + "-- sh -c 'cat; read k </dev/tty; echo key=$k'", r"key=yes\r\n", (r"\nx\r\n", "yes\n"))
    check("pipeline: the terminal is as it was", modes(t) == (True, True))
    t.type(RUN + "-- sleep 50 | cat\n")
    until(lambda: below(t.pid, "sleep"))
    t.type("\x03")
    t.expect("pipeline: Ctrl-C ends all of it", r"READY\$ ")
    t.type("exit\n")
    t.exits("pipeline: the shell leaves", 130)


def bulk():
    t = Terminal(AJ, "run", "--timeout", "60s", "--", "sh", "-c", "seq 1 60000; printf '\\342\\202\\254 end'")
    t.expect("bulk: all of a long output comes, to the last byte", r"60000\r\n\u20ac end", 60)
    check("bulk: whole and in order", t.text.replace("\r\n", "\n") == "".join("%d\n" % i for i in range(1, 60001)) + "\u20ac end")
    t.exits("bulk: and ends", 0)


def escapes():
    passes = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\ \x1b[6n \x1b[?2004h\x1b[?2004l \u20ac"
    acts = "\x1b]52;c;aGk=\x07\x1b[21t\x1b[5i\x1bP+q544e\x1b\\\x1b_Gx\x1b\\\x05\x1b]777;notify;a;b\x07\xc2\x9b21t"
    code = "import sys; sys.stdout.buffer.write(bytes.fromhex('%s'))" % (passes.encode() + b"<" + acts.encode("latin-1") + b">").hex()
    t = Terminal(AJ, "run", "--", "/usr/bin/python3", "-I", "-S", "-c", code)
    t.expect("escapes: output is there", r">")
    check("escapes: what draws passes unchanged", passes in t.text, repr(t.text))
    check("escapes: what acts on the person's terminal does not", "<21t>" in t.text, repr(t.text))
    t.exits("escapes: end", 0)
    check("escapes: agentjail says what it left out", "clipboard" in t.text and "terminal.escapes" in t.text, repr(t.text[-300:]))
    t = Terminal(AJ, "run", "--timeout", "1s", "--", "/usr/bin/python3", "-I", "-S", "-c",
                 "import time; print('\\x1b[?1049h\\x1b[?1003h\\x1b[?25l\\x1b[31mup', flush=True); time.sleep(60)")
    t.exits("escapes: a command is killed in a full screen", 124)
    last = t.text[t.text.find("up"):]
    check("escapes: the screen, mouse, cursor and colours are given back",
          all(one in last for one in ("\x1b[?1049l", "\x1b[?1003l", "\x1b[?25h", "\x1b[m")), repr(last))


def limits():
    """A terminal's output goes through the supervisor, which finds the signs of a limit in it where no cgroup counts refusals."""
    told = subprocess.run([AJ, "run", "--json", "--", "true"], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    enforced = json.loads(told)["enforced"]
    for wall, option, said, hint in (("memory", "--memory=64M", "x: Cannot allocate memory", "the memory limit may have been reached"),
                                     ("pids", "--pids=50", "sh: 0: Cannot fork", "the process limit may have been reached")):
        if enforced[wall].startswith("cgroup"):
            print(f"skip limits: a hint at {wall}: a cgroup attests it")
            continue
        t = Terminal(AJ, "run", option, "--", "/usr/bin/python3", "-I", "-S", "-c", f"print({said!r}); raise SystemExit(1)")
        t.exits(f"limits: a command that {wall} may have ended", 1)
        check(f"limits: a hint at {wall}", f"hint: {hint}" in t.text and f"`{said.split(': ')[-1]}`" in t.text, repr(t.text[-500:]))
        t = Terminal(AJ, "run", option, "--", "sh", "-c", f"echo '{said}'")
        t.exits(f"limits: a command that succeeds has its words of {wall}", 0)
        check(f"limits: no hint at {wall}", "hint:" not in t.text, repr(t.text[-500:]))


def stops_by_itself():
    t = Terminal(AJ, "run", "--", "sh", "-c", "kill -TSTP $$; echo went on; kill -STOP $$; echo still")
    t.expect("unasked: a command at which no person has typed does not stop its supervisor", r"went on\r\nstill\r\n")
    t.exits("unasked: end", 0)


def nobody_reads():
    """A terminal that takes nothing, as one in a window that hangs or that a person has stopped with Ctrl-S, when the time of a run is over."""
    for stopped in False, True:
        pid, master = pty.fork()
        if pid == 0:
            os.execv(AJ, [AJ, "run", "--timeout", "1s", "--", "sh", "-c", "echo up; yes"])
        if stopped:
            while b"up" not in os.read(master, 1000):
                pass
            termios.tcflow(master, termios.TCOOFF)
        check("a run ends although nobody reads its output", until(lambda: os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)))
        os.kill(pid, signal.SIGKILL)
        check("nobody reads: by its time", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 124)
        last = b""
        try:
            while piece := os.read(master, 65536):
                last += piece
        except OSError:
            pass
        check("nobody reads: what was lost is said", b" bytes were not shown" in last, last[-300:])
        os.close(master)


def hang_up():
    # The kernel's SIGHUP for the jail's terminal and the supervisor's may reach init as one: made likely by an init that waits for a processor.
    busy = "while :; do :; done & " * (2 * os.cpu_count())
    words = [AJ, "run", "--", "sh", "-c", "trap 'exit 9' HUP; " + busy + "echo up; while :; do sleep 0.1; done"]
    for shell_between in (False, True, True, True):
        pid, master = pty.fork()
        if pid == 0:
            os.execv(*("/bin/sh", ["sh", "-c", '"$@"; exit $?', "sh", *words]) if shell_between else (AJ, words))
        while b"up" not in os.read(master, 1000):
            pass
        jail = processes_below(pid)
        os.setpriority(os.PRIO_PROCESS, next(one for one in jail if numbers(one)[1:] == ["1"]), 19)
        os.close(master)
        check("hang-up: the jail ends with its terminal", until(lambda: not any(map(alive, jail))))
        for one in filter(alive, jail):
            os.kill(one, signal.SIGKILL)
        os.waitpid(pid, 0)


for part in (job_control, inner_shell, signals, sizes, pipelines, bulk, escapes, limits, stops_by_itself, nobody_reads, hang_up):
    part()
