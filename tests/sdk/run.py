"""Runs the tests of the Python client that are beside this file, with unittest, and ends with the line that tests/run.sh adds up.

Usage: run.py [WORD...]    only tests whose name holds one of the words. AGENTJAIL and AGENTJAIL_ROOTFS say what the client starts,
without them it is build/agentjail.
$ROOT_TOO: root runs these tests as well, so of the files only those in USER_TOO are run: what starts and ends a service, and the examples.
"""

import gc
import io
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CLIENT = os.path.join(TOP, "src", "sdk", "python")
USER_TOO = "test_docs", "test_ends", "test_examples", "test_service"
os.environ.setdefault("AGENTJAIL", os.path.join(TOP, "build", "agentjail"))
sys.path[:0] = [CLIENT, HERE, os.path.dirname(HERE)]
os.environ["PYTHONPATH"] = os.pathsep.join([CLIENT, HERE])  # for the programs that tests start


def cases(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from cases(item)
        else:
            yield item


def main():
    words = sys.argv[1:]
    loader = unittest.TestLoader()
    found = list(cases(loader.discover(HERE, "test_*.py", HERE)))
    if os.environ.get("ROOT_TOO"):
        found = [t for t in found if type(t).__module__ in USER_TOO]
    chosen = unittest.TestSuite(t for t in found if not words or any(word in t.id() for word in words))
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0, warnings="error").run(chosen)
    bad = result.failures + result.errors + [(t, "passes, and was expected to fail") for t in result.unexpectedSuccesses]
    for test, text in bad:
        print("  FAIL  sdk: %s: %s" % (test.id(), " | ".join(text.strip().splitlines()[-6:])[:800]))
        if os.environ.get("V"):
            print(text)
    for test, why in result.skipped:
        print("  SKIP  sdk: %s: %s" % (test.id(), why))
    count = chosen.countTestCases() if words else len(found)
    del found, chosen
    gc.collect()
    print("%d passed, %d failed, %d skipped" % (count - len(bad) - len(result.skipped), len(bad), len(result.skipped)))
    return bool(bad) or not count


if __name__ == "__main__":
    sys.exit(main())
