"""Runs every test of the Python layer and prints `N passed, N failed, N skipped`.
It refuses to pass in silence: a filter that matches nothing fails, a skip is printed.
"""

import os
import shutil
import sys

if os.environ.pop("PYTHONUNBUFFERED", ""):  # a jail's streams have buffers, and tests look into them
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402
import test_claims  # noqa: E402
import test_escapes  # noqa: E402
import test_examples  # noqa: E402
import test_files  # noqa: E402
import test_hints  # noqa: E402
import test_imports  # noqa: E402
import test_language  # noqa: E402
import test_names  # noqa: E402
import test_plain  # noqa: E402
import test_programs  # noqa: E402
import test_rich  # noqa: E402
import test_session  # noqa: E402
import test_strings  # noqa: E402
import test_tools  # noqa: E402
import test_twins  # noqa: E402
import test_values  # noqa: E402
import test_warm  # noqa: E402


# Parts that tests/run.sh runs beside each other. test_examples is the last of its group: other tests compare the modules that are loaded.
GROUPS = {
    "rail": (test_escapes, test_files, test_names, test_plain, test_imports, test_twins, test_examples),
    "values": (test_language, test_programs, test_claims, test_hints, test_values, test_rich, test_strings),
    "session": (test_session, test_tools, test_warm),
}


def main():
    words, sys.argv[1:] = sys.argv[1:], []  # as in a jail: a snippet that reads its arguments (fileinput) finds none
    if words == ["--groups"]:
        print(*GROUPS)
        return 0
    modules = [module for group in reversed(GROUPS.values()) for module in group]
    if words[:1] == ["--group"]:
        modules = GROUPS.get(words[1]) or [module for module in modules if module.__name__ == words[1]]
    score = harness.Score(words[0] if len(words) == 1 else "")
    folder = harness.package()
    sys.path += [path for path in os.environ.get("LAYER_PATH", "").split(":") if path]  # of packages that this Python lacks
    try:
        for module in modules:
            module.test(score)
    finally:
        shutil.rmtree(folder)
        harness.remove_files()
    print("%d passed, %d failed, %d skipped" % (score.passed, score.failed, score.skipped))
    return 1 if score.failed or not score.passed else 0


if __name__ == "__main__":
    sys.exit(main())
