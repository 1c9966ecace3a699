"""Checks the pages: links and anchors, pages that sources name, the index, the glossary, the tables of src/README.md and of powers, and what stands at the top.
Usage: check-pages.py [FOLDER]. Without FOLDER it checks this tree, after pages with planted mistakes. A second at most."""

import os
import re
import subprocess
import sys
import tempfile
import unicodedata

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHELVES = ("start", "guides", "reference", "internals")
NOT_PAGES = ("completions", "examples", "pictures", "systemd")
ROOT = {"src", "policies", "rootfs", "tests", "Makefile", "agentjail.toml", "docs",
        "README.md", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}  # and files that begin with a dot
WORDS_AT_MOST, README_AT_MOST, WORKSPACES_AT_MOST, SOURCE_AT_MOST = 30, 125, 120, 40
UNLISTED = ("src/sdk/", "src/packaging/")  # folders below these have no row of their own in src/README.md


def tracked(top):
    def git(*options):
        done = subprocess.run(["git", "-c", "core.quotepath=off", "-c", "safe.directory=*", "ls-files", *options], cwd=top, check=True,
                              capture_output=True, text=True)
        return [name for name in done.stdout.split("\n") if name and os.path.lexists(os.path.join(top, name))]

    if os.path.exists(os.path.join(top, ".git")):  # and new files, but for what a person keeps beside the tree's own folders
        return git() + [name for name in git("--others", "--exclude-standard") if name.split("/")[0] in ROOT]
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in ("build", "build-san", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), top) for name in files]
    return found


def without_code(text):
    """A page without its blocks of code and its code in lines."""
    text = re.sub(r"(?ms)^```.*?^```$", "", text)
    text = re.sub(r"(?m)^(    |\t).*$", "", text)
    return re.sub(r"`[^`\n]*`", lambda m: "`" if "](" in m.group() else m.group(), text)


def anchors(text):
    """The anchors of a page as GitHub makes them."""
    seen, out = {}, set()
    for title in re.findall(r"(?m)^#{1,6} (.*?) *#*$", re.sub(r"(?ms)^```.*?^```$", "", text)):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
        kept = "".join(c for c in title if c in " -_" or unicodedata.category(c)[0] in "LN")
        slug = kept.replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        out.add(slug if seen[slug] == 0 else "%s-%d" % (slug, seen[slug]))
    return out


def glossary(text):
    return re.findall(r"(?m)^\| (?!word \|)([^|]+) \|", text.partition("\n## Glossary\n")[2])


def map_mistakes(text, files, layers):
    """What is wrong with the table of src/README.md: its folders, the files it names there, and the order of its groups."""
    folders = {os.path.dirname(name) for name in files if name.startswith("src/")} - {"src"}
    named = []
    for row in re.findall(r"(?m)^\| `.*$", text):
        first, _, rest = row.strip("| ").partition(" | ")
        here = ["src/" + name for name in re.findall(r"`([^`]+)`", first)]
        named += here
        for file in re.findall(r"`([\w-]+\.(?:c|h|py))`", rest):
            if not any(folder + "/" + file in files for folder in here):
                yield "src/README.md: no %s in %s" % (file, ", ".join(here))
    for folder in sorted(set(named) - {"/".join(name.split("/")[:i]) for name in folders for i in range(2, 5)}):
        yield "src/README.md: no folder %s" % folder
    for folder in sorted(folders - set(named)):
        if not folder.startswith(UNLISTED):
            yield "src/README.md: has no row for %s" % folder
    wanted = re.findall(r"(?m)^group (\w+)$", layers)
    groups = dict.fromkeys(name.split("/")[1] for name in named)
    if [name for name in groups if name in wanted] != wanted:
        yield "src/README.md: its groups are not those of tests/check-layers.sh, in that order"


def power_mistakes(text, layers):
    """Where the table of powers of docs/internals/architecture.md differs from the rows `power` and `caller` of tests/check-layers.sh."""
    where, owner, nobody, callers = "docs/internals/architecture.md", {}, set(), {}
    for kind, first, rest in re.findall(r"(?m)^(power|caller) +(\S+) +(.*)$", layers):
        if kind == "caller":
            callers[first.removesuffix("()")] = {name.rsplit(".", 1)[0] for name in rest.split()}
            continue
        for call in re.findall(r"(?:SYS_)?(\w+)(?:\(\))?(?= |$)", rest):
            nobody.add(call) if first == "-" else owner.setdefault(call, re.sub(r"\.[ch]$|\*$", "", first))
    listed = set()
    for calls, cell, by in re.findall(r"(?m)^\| (?!calls)([a-zA-Z].*?) \| (.*?) \| (?:(.*) )?\|$", text.partition("\n## The powers\n")[2].partition("\n## ")[0]):
        names = re.findall(r"\w+", calls.rpartition(": ")[2] if calls.startswith("reported") else calls)
        places, wanted = set(re.findall(r"[a-z]+(?:/[a-z_]+)+/?", cell)), set()
        for name in names:
            if name not in callers and owner.get(name) not in places and not (cell == "nobody" and name in nobody and name not in owner):
                yield "%s: the power %s is not of %s" % (where, name, cell)
            wanted |= callers.get(name, set())
        for place in places:
            wanted |= callers.get(place + ".h", set())
        if wanted - places != set(re.findall(r"[a-z]+(?:/[a-z_]+)+", by)):
            yield "%s: the callers of %s are %s" % (where, calls, ", ".join(sorted(wanted - places)))
        listed |= places
    calls = re.findall(r"(?m)^power +([\w/*]+)\S* .*(?:\(\)|SYS_)", layers)
    for place in sorted({re.sub(r"\*$", "", name) for name in calls} - listed):
        yield "%s: no row of powers for %s" % (where, place)


def mistakes(top):
    files = tracked(top)
    known = set(files) | {"/".join(name.split("/")[:i]) for name in files for i in range(1, name.count("/") + 1)}
    pages = {}
    for name in files:
        if name.endswith(".md"):
            with open(os.path.join(top, name), encoding="utf-8") as file:
                pages[name] = file.read()
    places = {name: anchors(text) for name, text in pages.items()}
    linked = {}
    for name, text in sorted(pages.items()):
        for target in re.findall(r"\]\(([^()\s]+)\)", without_code(text)):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
            linked.setdefault(name, set()).add(to)
            if to not in known:
                yield "%s: no file for the link `%s`" % (name, target)
            elif anchor and to in places and anchor not in places[to]:
                yield "%s: no title for the link `%s`" % (name, target)
    for name in sorted(pages):
        parts = name.split("/")
        if parts[0] != "docs" or name == "docs/README.md":
            continue
        if not re.match("# .+\n\nThis page ", pages[name]):
            yield "%s: does not begin with a title and `This page is for …`" % name
        if len(parts) != 3 or parts[1] not in SHELVES:
            yield "%s: pages are in docs/%s" % (name, ", docs/".join(SHELVES))
        if name not in linked.get("docs/README.md", ()):
            yield "%s: the index docs/README.md does not link to the page" % name
    for name in files:
        parts = name.split("/")
        if parts[0] not in ROOT and not (parts[0].startswith(".")):
            yield "%s: not one of the files and folders at the top of the tree" % parts[0]
        if parts[0] == "docs" and len(parts) > 2 and parts[1] not in SHELVES + NOT_PAGES:
            yield "%s: not one of the folders of docs" % name
        if parts[0] in ("src", "tests", "policies", "rootfs", "docs", "Makefile", "agentjail.toml", ".ci", ".github") and not name.endswith((".md", "check-pages.py")):
            try:
                with open(os.path.join(top, name), encoding="utf-8") as file:
                    text = file.read()
            except (UnicodeDecodeError, OSError):
                continue
            for page in re.findall(r"(?<![\w.:/-])docs/[\w/.-]+\.md\b", text):
                if page not in known:
                    yield "%s: names %s, which is not there" % (name, page)
    words = glossary(pages.get("docs/README.md", ""))
    if len(words) > WORDS_AT_MOST or words != sorted(words) or not words:
        yield "docs/README.md: the glossary has %d words in order, at most %d" % (len(words), WORDS_AT_MOST)
    with open(os.path.join(top, "tests/check-layers.sh"), encoding="utf-8") as file:
        layers = file.read().partition("\nRULES\n")[0]
    yield from map_mistakes(pages.get("src/README.md", ""), set(files), layers)
    yield from power_mistakes(pages.get("docs/internals/architecture.md", ""), layers)
    for name, most in (("README.md", README_AT_MOST), ("docs/guides/workspaces.md", WORKSPACES_AT_MOST), ("src/README.md", SOURCE_AT_MOST)):
        if pages.get(name, "").count("\n") > most:
            yield "%s: more than %d lines" % (name, most)


PLANTED = {
    "README.md": "# A\n[x](docs/none.md) [y](docs/README.md#none) [z](#a) `[q](none.md)`\n\n    [r](none.md)\n" + "\n" * README_AT_MOST,
    "docs/README.md": "# B\n## B\n[b](#b-1) [c](start/one.md#c--d-e) [d](#b-2) [g](internals/architecture.md)\n## Glossary\n| word | meaning |\n|---|---|\n| b | x |\n| a | x |\n",
    "docs/start/one.md": "# `C` & D e\n\nThis page is for x.\n",
    "docs/start/two.md": "# D\n\nFor x.\n",
    "docs/old.md": "# E\n\nThis page is for x.\n",
    "docs/more/a.txt": "",
    "extra/a.txt": "",
    "src/README.md": "# F\n| folder | what |\n|---|---|\n| `b`, `none` | `a.c`, `none.c` |\n| `a` | `a.c` |\n" + "\n" * SOURCE_AT_MOST,
    "src/a/a.c": "", "src/b/a.c": "", "src/c/a.c": "", "src/sdk/a/a.py": "",
    "tests/check-layers.sh": "group a\ngroup b\npower a/one.c fork()\npower b/two.c SYS_x\npower - y()\ncaller a/one.h b/a.c b/b.c\n",
    "docs/internals/architecture.md": "# G\n\nThis page is for x.\n\n## The powers\n| calls | file | callers |\n|---|---|---|\n"
                                      "| fork | a/one | b/a (it) |\n| x, y | nobody | |\n",
    "src/a.c": "/* docs/start/none.md and docs/start/one.md, https://x.test/docs/none.md */\n",
}
WANTED = {
    "README.md: no file for the link `docs/none.md`", "README.md: no title for the link `docs/README.md#none`",
    "docs/README.md: no title for the link `#b-2`", "docs/start/two.md: the index docs/README.md does not link to the page",
    "docs/old.md: pages are in docs/start, docs/guides, docs/reference, docs/internals",
    "docs/old.md: the index docs/README.md does not link to the page", "docs/more/a.txt: not one of the folders of docs",
    "extra: not one of the files and folders at the top of the tree", "src/a.c: names docs/start/none.md, which is not there",
    "docs/start/two.md: does not begin with a title and `This page is for …`",
    "docs/README.md: the glossary has 2 words in order, at most 30", "README.md: more than 125 lines", "src/README.md: more than 40 lines",
    "docs/internals/architecture.md: the callers of fork are b/a, b/b", "docs/internals/architecture.md: the power x is not of nobody",
    "docs/internals/architecture.md: no row of powers for b/two",
    "src/README.md: no folder src/none", "src/README.md: no none.c in src/b, src/none", "src/README.md: has no row for src/c",
    "src/README.md: its groups are not those of tests/check-layers.sh, in that order",
}


def planted():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED.items():
            os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        found = set(mistakes(folder))
    return ["planted, not seen: %s" % text for text in sorted(WANTED - found)] + ["seen, not planted: %s" % text for text in sorted(found - WANTED)]


def main():
    found = list(mistakes(sys.argv[1])) if len(sys.argv) > 1 else planted() + list(mistakes(TOP))
    for text in found:
        print("check-pages: %s" % text)
    if found:
        sys.exit(1)
    print("check-pages: ok, and %d planted mistakes are seen" % len(WANTED))


main()
