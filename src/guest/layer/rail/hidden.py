"""The names that no proxy shows, although the policy allows their module: one table, each row with its reason.
A row hides a name from code of the agent alone: libraries use the real modules.
A test compares this file with the lint of policies (AJ101, src/policy/load/lint.c), which warns of modules that are an exit.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

# Functions and classes from these modules are not shown through another module, unless they are allowed.
DANGEROUS_ORIGINS = frozenset("posix os sys subprocess _posixsubprocess importlib _frozen_importlib "
                              "_frozen_importlib_external _imp imp ctypes _ctypes gc inspect pickle _pickle marshal code "
                              "codeop runpy pty socket _socket multiprocessing linecache pkgutil zipimport signal "
                              "_signal shelve timeit trace pdb bdb faulthandler tracemalloc".split())

NO_FILES = "files are not available"    # the reasons of rows that do not hold where a policy means all files of the jail
NO_PROCESS = "the process is not the code's"
# (module, name) -> why the name is hidden although the module is allowed. "*": no name of the module is shown.
HIDDEN = {
    ("dataclasses", "FunctionType"): "it makes functions from code objects",
    ("threading", "setprofile"): "it hands out frames and real functions",
    ("threading", "setprofile_all_threads"): "it hands out frames and real functions",
    ("threading", "settrace"): "it hands out frames and real functions",
    ("threading", "settrace_all_threads"): "it hands out frames and real functions",
    ("traceback", "walk_stack"): "frames are not available",
    ("traceback", "walk_tb"): "frames are not available",
    ("enum", "global_enum"): "it writes names into any module",
    ("enum", "global_enum_repr"): "it belongs to global_enum",
    ("typing", "ForwardRef"): "it turns text into code",
    ("os", "getpid"): NO_PROCESS,
    ("os", "getppid"): NO_PROCESS,
    ("posix", "getpid"): NO_PROCESS,
    ("posix", "getppid"): NO_PROCESS,
    ("io", "open_code"): NO_FILES,
    ("io", "FileIO"): NO_FILES,
    ("io", "OpenWrapper"): NO_FILES,
    ("asyncio", "create_subprocess_exec"): "processes are not available",
    ("asyncio", "create_subprocess_shell"): "processes are not available",
    ("ast", "main"): NO_FILES,
    ("concurrent.futures", "ProcessPoolExecutor"): "processes are not available",
    ("logging", "currentframe"): "frames are not available",
    ("logging", "StrFormatStyle"): "it reads attributes that a template names",
    ("copyreg", "*"): "it is the machinery of pickle",
    # Text as code, and frames: these modules have little else.
    ("code", "*"): "it runs text as code",
    ("codeop", "*"): "it makes code objects",
    ("runpy", "*"): "it runs whole modules",
    ("site", "*"): "it runs text as code",
    ("rlcompleter", "*"): "it runs text as code",
    ("trace", "*"): "it runs text as code, and hands out frames",
    ("profile", "*"): "it runs text as code",
    ("cProfile", "*"): "it runs text as code",
    ("bdb", "*"): "it runs text as code, and hands out frames",
    ("pdb", "*"): "it runs text as code, and hands out frames",
    ("cgitb", "*"): "it reads frames",
    # Modules and functions by dotted names.
    ("pydoc", "*"): "it finds modules by dotted names",
    ("pkgutil", "*"): "it finds modules by dotted names",
    ("modulefinder", "*"): "it finds modules by dotted names",
    ("zipimport", "*"): "loaders read files and make modules",
    ("imp", "*"): "loaders read files and make modules",
    ("importlib.util", "*"): "loaders read files and make modules",
    ("importlib.machinery", "*"): "loaders read files and make modules",
    ("importlib.abc", "*"): "loaders read files and make modules",
    ("logging.config", "*"): "it finds functions by dotted names",
    ("xmlrpc.server", "resolve_dotted_attribute"): "it reads attributes that text names",
}
