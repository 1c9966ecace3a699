"""Run in the jail by test.sh: imports every module and submodule of the packed standard library.
It refuses a failure that is not in the table below, with the cause given there."""
import importlib
import io
import os
import sys
import warnings

# Modules that import something left out on purpose (see exclude.list), with what they lack.
EXPECTED = {
    "multiprocessing.sharedctypes": ("ctypes",),
    # The interactive prompt of 3.13, kept because pydoc takes its pager from there.
    "_pyrepl.": ("ctypes", "msvcrt", "_curses", "readline"),
}

warnings.simplefilter("ignore")
top = "/usr/lib/python%d.%d" % sys.version_info[:2]
names = set(sys.builtin_module_names)
for folder, folders, files in os.walk(top):
    rel = os.path.relpath(folder, top).replace("/", ".")
    prefix = "" if rel in (".", "lib-dynload") else rel + "."
    for name in files:
        stem = name.split(".")[0]
        if name.endswith((".pyc", ".so")) and stem != "__main__":
            names.add(prefix + stem if stem != "__init__" else prefix[:-1])
names.discard("")



def expected(name, failure):
    """A key that ends in a dot stands for all submodules."""
    lacks = EXPECTED.get(name) or EXPECTED.get(name.split(".")[0] + ".", ())
    return any("No module named '%s'" % lack in failure for lack in lacks)


wrong, worked = [], 0
out, sys.stdout = sys.stdout, io.StringIO()  # "this" prints a poem
for name in sorted(names):
    try:
        importlib.import_module(name)
        worked += 1
        failure = None
    except BaseException as e:
        failure = "%s: %s" % (type(e).__name__, e)
    if failure and not expected(name, failure):
        wrong.append("%s: %s" % (name, failure))
sys.stdout = out
print(worked, "modules;", "; ".join(wrong))
sys.exit(bool(wrong))
