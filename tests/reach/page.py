"""Prints docs/reach.md from the rows beside this file, and refuses rows that are incomplete, doubled or without a test that names them.
It runs no test: tests/run.sh does, and a test's name begins with the id of its row."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
KEYS = ("id", "object", "from", "can", "by", "enforced", "test")
PROCESSES = {"run", "snippet", "zygote", "host"}  # host: what the host's own programs do later with what a jail left
INTRODUCTION = """\
# What a jail can reach of the host

Namespaces, a filter and Landlock close what they are about. This page lists what the host shares all the same: inodes, sockets, terminals,
counters that the kernel keeps per user or for everybody, attributes that a process inherits, and files that the host reads or runs later.
Each row says from where the object is reached (`run`: any command; `snippet`: `exec`, sessions and the service; `zygote`: the process from which
jails are born, once it has imported foreign modules; `host`: the host's own programs after the run), what can be done with it, what stops
more than that, and what the result's `enforced` says. Each row has a test of the same name in tests/reach.

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
    out = [INTRODUCTION]
    for path in sorted(HERE.glob("*.rows")):
        heading, rows = blocks(path)
        out.append("#" + heading + "\n")
        out.append("| | object | from | what a jail can do | stopped by | `enforced` |\n|---|---|---|---|---|---|")
        for row in rows:
            check(path, row, seen)
            out.append("| `%s` | %s |" % (row["id"], " | ".join(cell(row[k]) for k in ("object", "from", "can", "by", "enforced"))))
        out.append("")
    print("\n".join(out).rstrip())


main()
