"""The modules that C code imports while it runs: `datetime.strptime` asks for _strptime, an array's sum() for numpy.core._methods.
C code asks through the __import__ of the code that called it, which is the agent's. A row lets a module be loaded; no row hands one out.

C code passes an empty list of names, ignores the result and takes the module from sys.modules. Agent code can pass the same
arguments: it then loads a module that an allowed module's own code loads anyway, and gets None.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.rail.builtin_guards import REAL_IMPORT
from agentjail.rail.patches import patch_loaded_modules

# Module -> the modules of the interpreter's program whose C code asks for it. `builtins` stands for the interpreter itself.
ASKED_FOR_BY = {
    "_strptime": ("time", "_datetime"),     # strptime()
    "time": ("_datetime",),                 # date.today(), timetuple(), strftime()
    "struct": ("builtins",),                # memoryviews of two formats that are compared
    "unicodedata": ("builtins",),           # \N{NAME} in text that is decoded or encoded
    "typing": ("builtins",),                # class A[T]
    "_pylong": ("builtins",),               # integers of thousands of digits, as text
    "copyreg": ("builtins",),               # object.__reduce_ex__()
    "warnings": ("builtins",),              # a warning that is shown
    "io": ("builtins",),                    # the source line of a warning
    "functools": ("_operator",),            # copies of methodcaller()
    "sqlite3.dump": ("_sqlite3",),          # Connection.iterdump()
}

# The same of each extension module of this tree: rootfs/lazy.py wrote it when the tree was built.
try:
    from agentjail.rail.lazy_extensions import ASKED_FOR_BY as BY_EXTENSIONS
except ImportError:
    BY_EXTENSIONS = {}

# Modules of which pickle writes names for built-in types and for protocols before 4.
FOUND_BY_PICKLE = ("builtins", "copyreg", "_codecs", "__main__")


def load_for_c(name, guards):
    """Load the module of this name if C code that is loaded may ask for it. Returns whether it may."""
    for table in (ASKED_FOR_BY, BY_EXTENSIONS):
        for asking in table.get(name, ()):
            if asking in sys.modules:
                REAL_IMPORT(name)
                patch_loaded_modules(guards)
                return True
    # pickle finds what it writes by the names of modules; which other modules a zygote happens to have loaded makes no difference.
    allows = guards.imports.allows
    return name in sys.modules and allows("pickle") and (
        name in FOUND_BY_PICKLE or allows(name) or allows(name.partition(".")[0]))
