"""Prints docs/internals/reach.md from the rows beside this file, and refuses rows that are incomplete, doubled or without a test that names them.
It runs no test: tests/run.sh does, and a test's name begins with the id of its row."""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
KEYS = ("id", "object", "from", "can", "by", "enforced", "test")
PROCESSES = {"run", "snippet", "zygote", "host"}  # host: what the host's own programs do later with what a jail left
INTRODUCTION = """\
# The reach of a jail into the host

This page is for reviewers. Namespaces, a filter and Landlock separate a jail from the host; this page lists what the
host shares with a jail all the same: inodes, sockets, terminals, counters that the kernel keeps per user or for all
users, attributes that a process inherits, and files that the host reads or runs later. Each row says from where the
object is reached (`run`: any command; `snippet`: `exec`, sessions and the service; `zygote`: the process from which
jails are born, once it has imported foreign modules; `host`: the host's own programs after the run), what a jail can
do with the object, what stops more than that, and what the result's `enforced` says. Each row has a test of the same
name in tests/reach.

Generated from tests/reach/*.rows by `make docs`.
"""


def blocks(path):
    heading, *rest = re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip())
    if not re.fullmatch(r"# \S.*(\n[^#\n].*)*", heading):
        sys.exit(f"{path}: the first block is `# Heading`, and at most a few lines of text")
    rows = []
    for block in rest:
        row = {}
        for line in block.splitlines():
            key, separator, value = line.partition(": ")
            if not separator or key not in KEYS or key in row or not value.strip():
                sys.exit(f"{path}: `{line}` is not one of {', '.join(KEYS)}, once each, with `: ` and a text")
            row[key] = value.strip()
        if tuple(row) != KEYS:
            sys.exit(f"{path}: row `{row.get('id', block[:40])}` has {', '.join(row)}; wanted, in this order: {', '.join(KEYS)}")
        rows.append(row)
    if not rows:
        sys.exit(f"{path}: no rows")
    return heading, rows


def check(path, row, seen):
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"]) or row["id"] in seen:
        sys.exit(f"{path}: id `{row['id']}` is doubled, or not of the form word-word")
    seen.add(row["id"])
    if not set(row["from"].split(", ")) <= PROCESSES:
        sys.exit(f"{path}: {row['id']}: from: some of {', '.join(sorted(PROCESSES))}")
    script = HERE / (row["test"] + ".sh")
    # A Python driver of the same name may hold the tests of a script.
    texts = [p.read_text(encoding="utf-8") for p in (script, script.with_suffix(".py")) if p.exists()]
    if not any(re.search(r"[\"'f]" + re.escape(row["id"]) + r":", text) for text in texts):
        sys.exit(f"{path}: {row['id']}: no test in {script.name} whose name begins with `{row['id']}:`")


def cell(text):
    return text.replace("|", "\\|")


def main():
    seen = set()
    pages = [(path, *blocks(path)) for path in sorted(HERE.glob("*.rows"))]
    out = [INTRODUCTION]
    for _, heading, _ in pages:
        title = heading.splitlines()[0].lstrip("# ")
        out.append("- [%s](#%s)" % (title, re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")))
    out.append("")
    for path, heading, rows in pages:
        title, _, text = heading.partition("\n")
        out.append("#" + title + "\n")
        if text:
            out.append(textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n")
        out.append("| | object | from | what a jail can do | stopped by | `enforced` |\n|---|---|---|---|---|---|")
        for row in rows:
            check(path, row, seen)
            out.append("| `%s` | %s |" % (row["id"], " | ".join(cell(row[k]) for k in ("object", "from", "can", "by", "enforced"))))
        out.append("")
    print("\n".join(out).rstrip())


main()
