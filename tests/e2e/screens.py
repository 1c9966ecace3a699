"""The screens of full-screen programs in a jail and outside, which must be equal: tmux is the terminal, and the person's keys.
Usage: screens.py AGENTJAIL; each check prints `ok NAME`, `skip NAME: why` or `FAIL NAME: why`. A program that is not there is skipped."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from screen import Screen, settle  # noqa: E402

AJ = sys.argv[1]
ENV = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": "/tmp", "PS1": "PROMPT> ", "HISTFILE": "", "SHELL": "/bin/sh", "LESSHISTFILE": "-"}
TEXT = "/usr/share/common-licenses/GPL-3"  # in the jail too, as all of /usr is

# The program, then its steps: keys as tmux names them, or a size.
PROGRAMS = {
    "bash": (["bash", "--norc", "--noprofile"],
             ["echo one two", "C-w", "C-a", "C-d", "x", "BSpace", "e", "Enter", "Up", "C-u", "printf '\\e[1;32mgr\\e[0m \\e[7min\\e[m \\u20ac\\n'", "Enter",
              "ls --color=always -C /usr/share/common-licenses", "Enter", (100, 30), "C-l", "sleep 99", "Enter", "C-z", "jobs", "Enter", "cat", "Enter", "a",
              "C-v", "C-c", "Enter", "C-c"]),
    "less": (["less", "-R", TEXT], ["Space", "/warranty", "Enter", "n", (60, 12), "G", "5", "k", "C-l", "h", "q"]),
    "vim": (["vim", "-u", "NONE", "-i", "NONE", "-N", "-R", TEXT],
            [":syntax on", "Enter", "10G", "V", "j", "j", (70, 20), "Escape", "/freedom", "Enter", ":split", "Enter", "C-f", ":set nu", "Enter"]),
    "python": (["/usr/bin/python3", "-I", "-c", "import curses, time\n"
                "def main(s):\n"
                "    curses.start_color(); curses.mousemask(-1); n = 0\n"
                "    while True:\n"
                "        s.erase(); s.border(); s.addstr(1, 2, 'key %d size %s' % (n, s.getmaxyx()), curses.A_BOLD); s.refresh(); n = s.getch()\n"
                "curses.wrapper(main)"], ["a", "Up", "F5", "C-a", (90, 15), "Escape", "z"]),
}


def compare(name, argv, steps, folder):
    jail = [AJ, "run", "--timeout", "300s"]
    for variable in ("PS1=PROMPT> ", "HISTFILE=", "SHELL=/bin/sh", "LESSHISTFILE=-"):
        jail += ["--env", variable]
    outside = Screen(folder, name + "-out", ["sh", "-c", 'cd /tmp; exec "$@"', "sh", *argv], ENV)
    inside = Screen(folder, name + "-in", [*jail, "--", *argv], ENV)
    seen = settle(inside, outside)
    for step in steps:
        if seen[0] != seen[1]:
            break
        for screen in (inside, outside):
            screen.act(step)
        seen = settle(inside, outside)
        last = step
    good = seen[0] == seen[1]
    print("ok" if good else "FAIL", "screens: %s: in a jail as outside%s" % (name, "" if good else ": after %r: %r" % (last if seen else "", seen)), flush=True)
    for screen in (inside, outside):
        screen.end()


if not shutil.which("tmux"):
    print("skip screens: tmux is not there (.ci/deps check)")
    sys.exit(0)
with tempfile.TemporaryDirectory(prefix="agentjail-screens-") as folder:
    for name, (argv, steps) in PROGRAMS.items():
        if shutil.which(argv[0]):
            last = "the start"
            compare(name, argv, steps, folder)
        else:
            print("skip screens: %s: it is not there" % name, flush=True)
