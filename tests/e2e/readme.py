"""Follows README.md, docs/start/first-steps.md and docs/reference/policies.md literally, in an empty folder: every command gives what the page shows.
Usage: readme.py AGENTJAIL FOLDER-WITH-THE-PAGES. Prints what fails and `N passed, N failed, N skipped`. It knows no command of the
pages: a block is indented by four spaces, `$ ` begins a command, and the lines after it are its output, both streams together."""

import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from terminal import SLOW, Terminal  # noqa: E402

PAGES = ("README.md", "docs/start/first-steps.md", "docs/reference/policies.md")
# Commands that cannot be run here, by how they begin, with the reason. Each must be in a page.
NOT_RUN = {
    "git clone <this repository>": "there is no network; the folder `agentjail` is there instead",
    "make -C agentjail run": "installs packages, and builds what runs here already",
}
ANY = "…"  # on a page: text that was left out
MARK = "=== command %d ends with %s ==="

passed = failed = 0
used = set()


def check(name, good, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("  FAIL  e2e/readme: %s: %s" % (name, why))


def blocks(text):
    """The indented blocks of a page, without their indentation."""
    block = []
    for line in text.split("\n") + [""]:
        if line.startswith("    "):
            block.append(line[4:])
        elif block and not line.strip():
            yield block
            block = []
        else:
            block = []


def is_whole(command):
    done = subprocess.run(["bash", "-n", "-c", command], capture_output=True, env={"LC_ALL": "C"})
    return done.returncode == 0 and b"here-document" not in done.stderr  # of one without its end there is only a warning


def commands(page, text):
    """(command, lines that are shown): of transcripts, and of lists of commands, which show nothing but what they are for. A block
    that begins with `# NAME.toml` is that file."""
    for block in blocks(text):
        name = re.fullmatch(r"# (\w+\.toml)", block[0])
        if name:
            yield "cat >%s <<'END'\n%s\nEND" % (name.group(1), "\n".join(block)), []
        if not any(line.startswith("$ ") for line in block):
            if all(re.match("agentjail |git |make |export ", line) for line in block):
                yield from ((line.split("    ")[0], None) for line in block)
            continue
        found = []
        for line in block:
            if found and not is_whole(found[-1][0]):
                found[-1][0] += "\n" + line
            elif line.startswith("$ "):
                found.append([line[2:], []])
            elif found:
                found[-1][1].append(line)
        yield from found


def pattern(shown):
    """What the page shows, as a regular expression; a line that is too long for it goes on after its `…`, indented."""
    text = re.sub(r"%s\n +" % ANY, ANY, "\n".join(shown))
    text = re.sub(r"\n?%s\n?" % ANY, ANY, text) if re.search(r"(^|\n)%s(\n|$)" % ANY, text) else text
    return "(?s:%s)\n?" % ".*".join(re.escape(part) for part in re.split(" *%s *" % ANY, text))


def why_not(command):
    for start, reason in NOT_RUN.items():
        if command.startswith(start):
            used.add(start)
            return reason
    return None


class Shell:
    """One shell for a page, as a reader has one."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(["bash", "--norc", "-s"], cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.count = 0

    def run(self, command, shown):
        self.count += 1
        said = ""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        # Of a service in the background the reader sees what is shown, and types the next command then.
        while command.endswith("&") and not re.fullmatch(pattern(shown), said):
            line = self.process.stdout.readline()
            if not line:
                return said, None
            said += line
        self.process.stdin.write("echo \"%s\"\n" % (MARK % (self.count, "$?")))
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            end = re.search("(.*)" + MARK % (self.count, r"(\d+)"), line, re.S)
            if end:
                return said + end.group(1), int(end.group(2))
            if not line:
                return said, None
            said += line

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def session(command, shown, folder, environment):
    """A conversation at a terminal: what stands behind a prompt is typed, and what follows it is expected."""
    prompt = re.compile(r"(>>>|\.\.\.)( |$)")
    parts = [["", []]]
    for line in shown:
        if prompt.match(line):
            parts.append([line[4:], []])
        else:
            parts[-1][1].append(line)
    terminal = Terminal("/usr/bin/env", "-C", folder, "sh", "-c", command, env=environment)

    def heard(typed, lines):
        terminal.text, terminal.seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.text).replace("\r", ""), 0
        want = pattern(lines) if lines else ""
        found = re.match(re.escape(typed) + (r"\n" if i > 0 else "") + want + r"(>>> |\.\.\. |$)", terminal.text)
        return found if found and (found.group(found.lastindex) or terminal.ended()) else None

    for i, (typed, lines) in enumerate(parts):
        terminal.text, terminal.seen = "", 0
        if i > 0:
            terminal.type(typed + "\n")
        if lines and lines[0].startswith("^C"):
            time.sleep(2 * SLOW)  # the snippet runs
            terminal.type("\x03")
        end = time.monotonic() + 60 * SLOW
        while time.monotonic() < end and not heard(typed, lines):
            terminal.read(0.2)
        check("session: %r" % typed, heard(typed, lines), "shown %r, said %r" % ("\n".join(lines), terminal.text))
    terminal.exits("", 0)


def follow(page, text, folder, environment):
    shell = Shell(folder, environment)
    for command, shown in commands(page, text):
        name = "%s: %s" % (page, command.split("\n")[0])
        if why_not(command):
            continue
        if shown and shown[-1].startswith(">>>"):
            session(command, shown, folder, environment)
            continue
        said, code = shell.run(command, shown)
        if code is None:
            check(name, False, "the shell has ended: %r" % said)
            return
        if shown is None:
            check(name, code in (0, 1), "exit %d: %r" % (code, said))  # 1: the answer to a question is no
        else:
            check(name, re.fullmatch(pattern(shown), said), "shown %r, said %r" % ("\n".join(shown), said))
    shell.end()


def main(aj, root):
    counts = {}
    for page in PAGES:
        with open(os.path.join(root, page), encoding="utf-8") as file:
            text = file.read()
        before = passed + failed
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(root, os.path.join(folder, "agentjail"))
            environment = dict(os.environ, PATH=os.path.dirname(aj) + ":" + os.environ["PATH"], LC_ALL="C.UTF-8", HOME=folder)
            environment["PYTHONPATH"] = os.path.join(root, "src", "sdk", "python")  # as the wheel would have it; tests/wheel installs that
            follow(page, text, folder, environment)
        counts[page] = passed + failed - before
    least = {"README.md": 8, "docs/start/first-steps.md": 20, "docs/reference/policies.md": 8}
    check("the pages' commands are found", all(counts[page] >= least[page] for page in PAGES), counts)
    check("nothing is left out that no page shows", used == set(NOT_RUN), set(NOT_RUN) - used)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))


main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
