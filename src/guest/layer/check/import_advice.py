"""The hints after a refused import, for a model to read: one table, module -> what to use instead.
A hint names only modules that the policy allows, and neither an option nor a command line: the reader cannot use them.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

DEFAULT = "Use an allowed module or write the code without it."
NETWORK = "This code has no network: call a tool, or work on the data that is given."
PROCESSES = "This code starts no processes: do the work in Python, or call a tool."
FILES = ("No module for files is allowed here: data comes in as input variables, or from open() where the caller shows a file; "
         "open() writes below /tmp, and results go out as values.")
THREADS = "This code starts no threads of its own: write a loop."
REFLECTION = "Frames, live objects and evaluated text are not available: call functions and name attributes directly."
IMPORTS = "Modules cannot be looked up by name here: write an import statement."

# Module (with all below it) -> the hint, and modules that would do: the hint names those that the policy allows.
ADVICE = {
    "requests": (NETWORK, ""), "httpx": (NETWORK, ""), "urllib": (NETWORK, ""), "urllib3": (NETWORK, ""),
    "aiohttp": (NETWORK, ""), "http": (NETWORK, ""), "socket": (NETWORK, ""), "ssl": (NETWORK, ""),
    "ftplib": (NETWORK, ""), "smtplib": (NETWORK, ""), "imaplib": (NETWORK, ""), "socketserver": (NETWORK, ""),
    "selenium": (NETWORK, ""), "websocket": (NETWORK, ""), "websockets": (NETWORK, ""), "boto3": (NETWORK, ""),
    "html": ("", "re"), "bs4": ("", "re"), "lxml": ("", "re"), "xml": ("", "re"),
    "subprocess": (PROCESSES, ""), "pty": (PROCESSES, ""), "pexpect": (PROCESSES, ""), "sh": (PROCESSES, ""),
    "os": ("No module for files, processes or environment variables is allowed here: data comes in as input variables, "
           "and a tool does what else is needed.", ""),
    "pathlib": (FILES, ""), "shutil": (FILES, ""), "glob": (FILES, ""), "tempfile": (FILES, ""), "io": (FILES, ""),
    "fileinput": (FILES, ""), "zipfile": (FILES, ""), "tarfile": (FILES, ""), "sqlite3": (FILES, ""),
    "gzip": (FILES, "zlib"), "mmap": ("This code maps no files.", "pathlib"), "linecache": ("open() reads the files that the caller shows.", ""),
    "pickle": ("Unpickling runs code.", "json"), "cloudpickle": ("", "pickle json"), "dill": ("", "pickle json"), "joblib": ("", "pickle json"),
    "shelve": ("", "sqlite3 pickle json"), "marshal": ("", "json struct"), "yaml": ("", "json"), "tomllib": ("", "json"),
    "threading": (THREADS, ""), "concurrent": (THREADS, ""), "_thread": ("", "threading"),
    "multiprocessing": ("This code starts no processes of its own.", "concurrent.futures"), "atexit": ("Call the function at the end of the code.", ""),
    "signal": ("This code gets no signals, and its time is limited from outside: let it end.", ""),
    "asyncio": ("`await` works at the top level without it, for tools and for coroutines of your own.", ""),
    "sys": ("There is no command line to read: data comes in as input variables; call final_answer(x), or let the code end.",
            ""),
    "argparse": ("There is no command line to read: data comes in as input variables.", ""),
    "importlib": (IMPORTS, ""), "pkgutil": (IMPORTS, ""), "runpy": (IMPORTS, ""), "pip": (IMPORTS, ""),
    "builtins": ("Call the built-in functions by their names.", ""),
    "ctypes": ("This code calls no C functions.", "struct array"), "cffi": ("This code calls no C functions.", "struct array"),
    "inspect": (REFLECTION, ""), "gc": (REFLECTION, ""), "traceback": (
        "The traceback is part of the result; use str(e) or repr(e) here.", ""),
    "ast": ("This code evaluates no text: int() and float() read numbers.", "json"),
    "operator": ("Write a lambda: lambda x: x.name, lambda x: x[key].", ""),
    "typing": ("Write annotations with built-in types (list[int], int | None), or leave them out.", "collections.abc"),
    "timeit": ("Read a clock before and after the code.", "time"), "logging": ("Use print().", ""), "logging.config": ("", "logging"),
    "numpy": ("", "math statistics array"), "pandas": ("", "csv statistics"), "scipy": ("", "math statistics"),
    "secrets": ("", "random"), "uuid": ("", "random"), "hashlib": ("", "zlib"), "abc": ("", "collections.abc"),
    "matplotlib": ("This code draws nothing: return the numbers.", ""), "dateutil": ("", "datetime"),
    "pytz": ("", "zoneinfo datetime"), "simplejson": ("", "json"), "orjson": ("", "json"),
}


def import_hint(imports, name):
    """The hint for this refused module; imports: the AllowedImports of the policy."""
    while name not in ADVICE and "." in name:
        name = name.rpartition(".")[0]
    why, others = ADVICE.get(name, ("", ""))
    allowed = [m for m in others.split() if imports.allows(m)]
    if allowed:
        why += "%sUse %s." % (" " if why else "", " or ".join(allowed))
    if not why:
        from agentjail.check.near_names import nearest
        near = nearest(name, [p for p in imports.exact if "." not in p or "." in name])
        why = near and "Did you mean `%s`?" % near
    return why or DEFAULT


# Modules that start processes, shown in part -> the hint after a name of theirs that is not shown.
PARTS = {"os": PROCESSES, "posix": PROCESSES, "concurrent.futures": "Functions run beside each other in threads: use ThreadPoolExecutor.",
         "asyncio": PROCESSES}


def name_hint(imports, name):
    """The hint after a NameError: the name is that of a module which the code never imported, or `__file__`. None: any other name."""
    if name == "__file__":
        return "This code is no file: paths start in the current folder, as open(\"data.csv\") does."
    if name in imports.exact or name in ADVICE and imports.allows(name):
        return "Write `import %s` first." % name
    if name in ADVICE:
        return "The module %s is not allowed. %s" % (name, import_hint(imports, name))
    return None
