"""The trusted computing base: which process reads which hostile input, with which rights, in how many lines of this tree.
Usage: trusted.py --check|--write PAGE. --write puts the table between the marks of PAGE; --check fails if a figure there is more than a tenth
off, a folder is gone, or the words differ. Lines are those of the .c, .h and .py files, blank ones and comments too."""

import glob
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- trusted begin: written by `python3 tests/trusted.py --write SECURITY.md` -->\n", "<!-- trusted end -->"

CALLER = "the caller's own"
# (process, its rights, hostile input, where it is read: files, folders with all below them and patterns, below src)
ROWS = [
    ("supervisor (`exec`, `run`, `session`)", CALLER, "messages of a snippet's runner: JSON frames, claims", ["jail/channel", "base/json", "jail/result/claim.c"]),
    ("", "", "output of the jail; what its terminal shows", ["jail/result/capture.c", "jail/result/output_buffer.c", "jail/pty"]),
    ("", "", "reported system calls: numbers, addresses, process ids", ["policy/seccomp/notify.c", "sandbox/mediate"]),
    ("", "", "files of /output", ["jail/files"]),
    ("", "", "a workspace: names, links, git's configuration", ["workspace/*.c", "workspace/git", "base/tree"]),
    ("", "", "changes that are kept apart, when they are listed and applied", ["workspace/changes"]),
    ("init, PID 1 of a jail", "in the jail's namespaces; its capabilities are dropped before the guest starts", "none: it reads no data", []),
    ("relay, for a network by allow-list", CALLER + " ids; no capabilities, a filter of its own, no files but those of name resolution",
     "DNS questions, TLS ClientHellos, HTTP heads; answers of name servers (c-ares)", ["network/egress", "network/inspect", "network/resolve"]),
    ("publisher, for published ports", "the jail's ids and network; no capabilities, a filter, no files", "none: it forwards bytes", ["network/publish"]),
    ("connector, for sockets of the host", "the jail's ids and namespaces; two capabilities in the jail's user namespace",
     "addresses in the memory of the jail's processes", ["sandbox/mediate/connector_process.c", "sandbox/mediate/endpoint.c", "sandbox/mediate/socket_holders.c"]),
    ("service (`serve`)", "the service's user", "requests of clients: JSON frames", ["service/*.c", "service/protocol", "base/frame.c"]),
    ("", "", "calls of tools, and their schemas", ["session/tools", "session/jsonschema"]),
    ("", "", "requests for metrics over HTTP", ["service/metrics/http.c"]),
    ("", "", "all that the supervisor reads, for many jails", []),
    ("your program with the Python client", "your own", "results and values of jails",
     ["sdk/python/agentjail/_wire.py", "sdk/python/agentjail/result.py", "sdk/python/agentjail/values.py", "sdk/python/agentjail/_arrays.py",
      "sdk/python/agentjail/_schema.py"]),
    ("`agentjail-scope`", CALLER, "none", ["cli/agentjail-scope.c"]),
]


def files_of(place):
    found = glob.glob(os.path.join(TOP, "src", place))
    found += [file for folder in found if os.path.isdir(folder) for file in glob.glob(os.path.join(folder, "**", "*.*"), recursive=True)]
    found = [file for file in found if file.endswith((".c", ".h", ".py"))]
    if not found:
        sys.exit("tests/trusted.py: src has no %s: correct the table" % place)
    return found


def lines(places):
    total = 0
    for file in {file for place in places for file in files_of(place)}:
        with open(file, encoding="utf-8") as text:
            total += sum(1 for _ in text)
    return total


def table():
    """Rows of (text before the figure, lines or None)."""
    for process, rights, hostile, places in ROWS:
        names = ", ".join("`%s`" % place.removeprefix("sdk/python/") for place in places)
        yield "| %s | %s | %s | %s | " % (process, rights, hostile, names), lines(places) if places else None


def text():
    out = "| process | rights | hostile input | read in (src) | lines |\n|---|---|---|---|---|\n"
    for before, count in table():
        out += before + ("" if count is None else format(round(count, -2) if count > 500 else round(count, -1), ",")) + " |\n"
    return out


def main():
    how, page = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        head, begin, rest = file.read().partition(BEGIN)
    old, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit("%s: the marks of the table are missing" % page)
    if how == "--write":
        new = head + begin + text() + end + tail
        with open(page, "w", encoding="utf-8") as file:
            file.write(new)
        return
    shown = old.split("\n")[2:-1]
    rows = list(table())
    for line, (before, count) in zip(shown, rows):
        figure = line[len(before):].removesuffix(" |").replace(",", "")
        close = figure == "" if count is None else figure.isdigit() and abs(int(figure) - count) <= max(count / 10, 50)
        if not line.startswith(before) or not close:
            sys.exit("%s: the table of trusted code says `%s`, and %s lines are counted: python3 tests/trusted.py --write %s" % (page, line, count, page))
    if len(shown) != len(rows):
        sys.exit("%s: the table of trusted code has %d rows in place of %d: python3 tests/trusted.py --write %s" % (page, len(shown), len(rows), page))


main()
