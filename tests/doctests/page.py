"""Writes into docs/internals/python.md what doctests.py and unittests.py counted: page.py EXAMPLES TESTS PAGE.
It leaves out no example and no test that differs."""

import collections
import contextlib
import io
import json
import sys

from explained import EXAMPLES, MODULES_NEEDED, TESTS, explained, explained_example

BEGIN, END = "<!-- doctests begin: written by `make doctests` -->\n", "<!-- doctests end -->\n"
HEAD = """## Documented examples

The Python layer is a rail: it refuses what leads out of the snippet's own objects, and honest code must not notice it.
`make doctests` runs the documented examples of the modules that built-in policies allow, and CPython's own tests of these
modules, twice: in a jail with the layer on, and as an ordinary program of the same interpreter without it. It
compares output, values and errors, and writes this part of the page. `make check` runs the examples in the
documentation strings of the standard library's modules.
"""
EXAMPLES_HEAD = """
Python %(python)s, %(packages)s; under the import list of `snippet` and the modules of packages that `science` and
`data-analysis` name, with the builtin set `standard`. Of the %(counted)d examples that need no file, no network, no
process and no further module, %(equal)d are equal: %(percent).2f %%.

| module | examples | equal | chance | needs the host | needs another module | differ |
|---|---|---|---|---|---|---|
"""
EXAMPLES_NOTES = """
- **equal**: output, the value's repr, and the error's type and message are the same.
- **chance**: two ordinary runs differ as well (random numbers, times, the order of sets); the example ends in the
  same way.
- **needs the host**: a file, the network, a process, or a module for these (os, sys, socket and so on).
- **needs another module**: one that these policies do not allow: %(modules)s.
- An example counts with the one that it builds on: after a refused import those that use the module's name.
- Not counted are %(incomplete)d examples that fail in the ordinary run too and are not meant to: they use names that
  the documentation does not define.

Examples that differ, and why:

| examples | why |
|---|---|
"""
TESTS_HEAD = """
## CPython's own tests

The tests of CPython %(python)s for what the built-in policies allow, with unittest in the jail and every module that
the tests import allowed. %(equal)d of %(counted)d tests that pass outside and need no process, thread or other file
pass in the jail: %(percent).2f %%. Test methods that the layer's check refuses as source (they read `__dict__`, frames
or `sys.modules`) are left out on both sides, and counted.

| tests | run | equal | not passed outside | need the host | left out | differ |
|---|---|---|---|---|---|---|
"""
TESTS_NOTES = """
Tests that differ, and why:

| tests | why |
|---|---|
"""
TAIL = """
### How the counts are made

tests/doctests/examples.py finds the examples in documentation strings and runs them as an ordinary program;
tests/doctests/doctests.py takes those of CPython's documentation, runs all of them in sessions of `agentjail serve`,
and compares; tests/doctests/unittests.py does the same with tests. The ordinary program runs under `agentjail run`,
since examples write and remove files: without the layer, and with another filter of system calls. A difference that
tests/doctests/explained.py does not explain makes `make doctests` fail.

Two facts are not visible in the tables. The codecs of Chinese, Japanese and Korean character sets (`gbk`,
`big5`, `shift_jis`, `euc_kr` and so on) are C modules, which cannot be loaded after the filter stands: `exec` loads
them before where the code names the encoding; in a session encoding with them is a LookupError. And C code of a module imports by way of the calling code: a table, made when the tree is
built, says which module may load which ([decisions.md](decisions.md)).
"""


def row(name, *numbers):
    print("| %s | %s |" % (name, " | ".join(str(n or "") for n in numbers)))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        examples = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        tests = json.load(f)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        print(HEAD, end="")
        wrong = write_examples(examples) + write_tests(tests, examples["python"]["python"])
        print(TAIL, end="")
    with open(sys.argv[3], encoding="utf-8") as f:
        page = f.read()
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write(page[:page.index(BEGIN) + len(BEGIN)] + text.getvalue() + page[page.index(END):])
    for line in wrong:
        print("not explained: " + line, file=sys.stderr)
    sys.exit(bool(wrong))


def write_examples(found):
    table, total = found["table"], collections.Counter()
    for counts in table.values():
        total.update(counts)
    counted = total["equal"] + total["varies"] + total["differs"]
    equal = total["equal"] + total["varies"]
    packages = found["python"]["packages"]
    print(EXAMPLES_HEAD % {"python": found["python"]["python"], "packages": ", ".join("%s %s" % (n, packages[n]) for n in ("numpy", "pandas") if n in packages),
                           "counted": counted, "equal": equal, "percent": 100 * equal / counted}, end="")
    for name, c in [*sorted(table.items()), ("all", total)]:
        shown = "**all**" if name == "all" else name if " " in name else "`%s`" % name
        row(shown, sum(n for verdict, n in c.items() if verdict != "incomplete"), c.get("equal"), c.get("varies"), c.get("host"), c.get("module"), c.get("differs"))
    needed = collections.Counter(MODULES_NEEDED.match(why)[1] for verdict, _, _, why in found["different"] if verdict == "module" and MODULES_NEEDED.match(why))
    print(EXAMPLES_NOTES % {"incomplete": total["incomplete"], "modules": ", ".join("`%s`" % n for n, _ in needed.most_common(12)) + " and so on" * (len(needed) > 12)}, end="")
    reasons, wrong = collections.Counter(), []
    for verdict, name, source, why in found["different"]:
        if verdict == "differs":
            number = explained_example(name, source, why)
            reasons[number] += 1
            if number is None:
                wrong.append("%s: %s: %s" % (name, source.strip(), why[:200]))
    for number, count in sorted(reasons.items(), key=lambda item: -item[1]):
        if number is not None:
            row(count, EXAMPLES[number][1])
    return wrong


def write_tests(found, python):
    table, total = found["table"], collections.Counter()
    for counts in table.values():
        total.update(counts)
    counted = total["equal"] + total["differs"]
    print(TESTS_HEAD % {"python": python, "equal": total["equal"], "counted": counted, "percent": 100 * total["equal"] / counted}, end="")
    for name, c in [*sorted(table.items()), ("**all**", total)]:
        row(name, c.get("tests"), c.get("equal"), c.get("not passed outside"), c.get("host"), c.get("left_out"), c.get("differs"))
    print(TESTS_NOTES, end="")
    reasons, wrong = collections.Counter(), []
    for name, cls, test, why in found["different"]:
        number = explained(name, cls, test, why)
        reasons[number] += 1
        if number is None:
            wrong.append("%s: %s.%s: %s" % (name, cls, test, why[:200]))
    for number, count in sorted(reasons.items(), key=lambda item: -item[1]):
        if number is not None:
            row(count, TESTS[number][2])
    return wrong


main()
