"""Why an example or a test differs in a jail: patterns of its name and of the jail's answer, each with its reason. docs/internals/python.md shows the reasons.
A difference that no row explains fails the run."""

import re

# Examples that need what a snippet lacks: files, network and processes, by its walls; or a module that no built-in policy allows.
NEEDS = [
    ("host", r"PY-IMPORT: Import of (os|pathlib|shutil|glob|tempfile|subprocess|socket|smtplib|sys|urllib\.request|http|sqlite3|threading|multiprocessing|asyncio|concurrent|ctypes)\b"
             r"|NameError: name 'open'|FileNotFoundError|OSError|PermissionError"),
    ("module", r"PY-IMPORT: "),
]
# The same for examples that a refused one left without its file or module: a pattern of NAME SOURCE ANSWER.
NEEDS_HOST = (r"^library/configparser\.rst .*value: \[\]|^library/argparse\.rst .*(@args\.txt|raw\.dat)|^tutorial/inputoutput\.rst (print\(f\)|f\.read)"
              r"|cannot import name 'request' from 'urllib'|does not have the attribute 'request'|module '__main__' has no attribute 'request'")
MODULES_NEEDED = re.compile(r"PY-IMPORT: Import of ([\w.]+)")

# (pattern of NAME SOURCE ANSWER, reason)
EXAMPLES = [
    (r"AttributeError: `[\w.]+` is a module that is not allowed", "a module that a package shows, and that the policies do not name"),
    (r"is private and not allowed|PY-PRIVATE", "private names of modules are not read"),
    (r"(numpy|np)\.lookfor", "`numpy.lookfor` looks through every module of numpy; an extension module cannot be mapped after the filter stands"),
    (r"it runs text as code", "functions of `numpy.testing` that run text as code are hidden"),
    (r"numpy\.source", "`numpy.source` prints source text: the tree has none, and an ordinary run writes to another stream"),
    (r"^doctest\b", "`doctest` shows no names that run text in the namespaces of other modules"),
    (r"^howto/isolating-extensions\.rst", "a module is not loaded a second time: `sys.modules` is no way to the modules themselves"),
    (r"^library/unittest\.mock\.rst test\(\).*<module '\w+'>", "the repr of a module proxy does not say where the module comes from"),
    (r"^library/unittest\.mock\.rst (dir\(mock\.Mock\(\)\)|mock\.(not_)?submock\.attribute2)",
     "`mock` reads `FILTER_DIR` in its own module; code sets that of the proxy, and `seal` follows `dir()`"),
    (r"^library/unittest\.mock\.rst (mock = Mock\(spec=request\.Request\)|mock\.assret_called_with)",
     "an example before it needs `urllib.request`, which no built-in policy allows"),
    (r"^library/argparse\.rst|print\(sys\.argv\)|^library/traceback\.rst", "the name of the program, the width of the terminal, and tracebacks without the layer's frames"),
    (r"^library/(gc|inspect)\.rst", "a hidden name of an allowed module"),
    (r"^numpy\.linalg\.eigvals", "the last digit differs with the place of an array in memory"),
    (r"sys\.path", "`sys.path` is that of the jail"),
    (r"^tutorial/datastructures\.rst", "the order of a set"),
    (r"MemoryError", "the error names the jail's limit of memory"),
    (r"^library/importlib\.rst", "`importlib` has `import_module` alone"),
    (r"it starts or ends processes", "`os` has no functions for processes, and no pickle gives them"),
    (r"^library/mimetypes\.rst mimetypes\.knownfiles|Path\('/etc'\)", "a file of the host, which no jail has"),
    (r"^library/sqlite3\.rst cur = con\.execute\(\"SELECT 1\"\)", "hooks of the interpreter that code sets in `sys` are not called"),
    (r"\bdir\(", "`dir()` shows `final_answer`, and of a module its public names alone"),
    (r"PY-DUNDER|PY-FRAME|(Read|Sett)ing the attribute", "attributes that lead to frames, and the insides of objects that are not the code's own"),
    (r"NameError: name '(help|breakpoint)'", "a function that the builtin set `standard` lacks"),
]

# Tests of CPython that need what a snippet lacks.
NEEDS_HOST_IN_TESTS = r"Function not implemented|can't start new thread|memory left|Operation not permitted"

# (files, pattern of CLASS.TEST MESSAGE, reason)
TESTS = [
    ("queue", r".", "the test loads a second copy of `_queue`: an extension module cannot be mapped after the filter stands"),
    ("statistics random", r"AssertionError: [\d.]+ != [\d.]+", "the test's data are random, and its last digits differ outside too"),
    ("operator decimal statistics ordered_dict functools", r"it's not the same object|is not an instance of|KeyError: 'collections'",
     "the test puts another module into `sys.modules`: a snippet has a copy of it"),
    ("random", r"'_urandom'|No module named 'random.Random'", "`mock.patch` sets no private name, and none of a class, in a module that a proxy shows"),
    ("statistics", r"DocTests", "`doctest.testmod` tests the examples of the snippet's own code alone"),
    ("fstring", r"test_ast", "`compile` takes text, and no tree"),
    ("fstring", r"test_global", "the repr of a module proxy shows no path"),
    ("grammar", r"__annotations__", "the text for `exec` binds `__annotations__`"),
    ("patma", r"PY-MATCHCLASS|__match_args__", "positional patterns read plain names alone"),
    ("patma", r"__agentjail_class", "the set `full` has Python's own `locals()`, which shows the names that the layer gives to classes of patterns"),
    ("dataclasses", r"test_generic_dynamic", "`make_dataclass` takes classes as bases, and no `Parent[int]`"),
    ("dataclasses", r"test_text_annotations", "the text annotations of a library's class are not looked up in the library's namespace"),
    ("*", r"import of module '_\w+' failed|is not allowed in a pickle: (the module is not allowed|no import statement gives it)",
     "pickle writes the name of a private module, or of a private part of a public one, which code cannot import"),
    ("*", r"is private and not allowed|Reading the attribute `_", "private names, and attributes that lead to internals, are not read"),
    ("*", r"is not allowed: ", "a hidden name of an allowed module, under an alias that the search for such tests does not see"),
]


def explained_example(name, source, why):
    """The number of the row that explains this example, or None."""
    text = "%s %s %s" % (name, source, why)
    return next((number for number, (pattern, _) in enumerate(EXAMPLES) if re.search(pattern, text, re.S)), None)


def explained(file, cls, test, why):
    """The number of the row that explains this test, or None."""
    text = "%s.%s %s" % (cls, test, why)
    return next((number for number, (files, pattern, _) in enumerate(TESTS) if (files == "*" or file in files.split()) and re.search(pattern, text, re.S)), None)
