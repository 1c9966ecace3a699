"""The exceptions to the rule that public names of allowed modules are harmless: tables of modules with patched globals and of
functions with a guarded replacement (hidden.py has the hidden names). Honest calls do what they do without the guards.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.check.annotations import compile_hint, eval_annotation, eval_hint, hints_function
from agentjail.check.name_rules import FRAME_ATTRIBUTES, GUARDED, forbidden_by
from agentjail.rail.guards import REAL_GETATTR, REAL_IMPORT, REAL_SETATTR, ModuleType, exact_name

PUBLIC_DUNDERS = ("__version__", "__doc__", "__name__")

# Names that a *library* may not read or write when a string of the agent names them (functools.update_wrapper(assigned=...),
# copy's slot state, argparse's dest). Libraries read __dict__ and __name__ this way all the time, so this set is smaller
# than the set of names that agent code may not read.
LIBRARY_DENIED = FRAME_ATTRIBUTES | {"__globals__", "__code__", "__closure__", "__builtins__", "__subclasses__", "__self__",
                                     "__func__", "__base__", "__bases__", "__mro__", "__match_args__", "__loader__", "__spec__",
                                     "__traceback__", "__reduce__", "__reduce_ex__", "__class__", "obj", "_convert_"}
STREAMS = ("stdout", "stderr", "stdin")  # the attributes of sys that contextlib may redirect


def is_class(o):
    return issubclass(type(o), type)


def library_getattr(o, name, *default):
    name = exact_name(name)
    if name == "__dict__" and is_class(o) or name in ("__defaults__", "__kwdefaults__"):
        from agentjail.rail.own_objects import read_own
        try:
            return read_own(o, name)
        except AttributeError:
            if default:
                return default[0]
            raise
    if (name in LIBRARY_DENIED and name != "__class__") or (isinstance(o, ModuleType) and name not in STREAMS):
        raise AttributeError("Reading the attribute `%s` is not allowed" % name)
    return REAL_GETATTR(o, name, *default)


def library_setattr(o, name, value):
    name = exact_name(name)
    if name in ("__defaults__", "__kwdefaults__") or name == "__module__" and is_class(o):
        from agentjail.rail.own_objects import is_own_class, is_own_function
        refused = not is_own_function(o) and not (is_class(o) and is_own_class(o))
    else:
        refused = name in LIBRARY_DENIED or name[:12] == "__agentjail_" or isinstance(o, ModuleType) and name not in STREAMS
    if refused:
        raise AttributeError("Setting the attribute `%s` is not allowed" % name)
    REAL_SETATTR(o, name, value)


def checked_getattr(o, name, *default):
    """For libraries that walk along dotted names of the agent's."""
    name = exact_name(name)
    if forbidden_by(name) is not None:
        if default:
            return default[0]
        raise AttributeError("Reading the attribute `%s` is not allowed" % name)
    return REAL_GETATTR(o, name, *default)


def loader_getattr(o, name, *default):
    """For unittest.loader, which reads every name of the module whose tests it looks for."""
    if o is sys.modules["__main__"] and forbidden_by(name) is not None:
        return None
    return checked_getattr(o, name, *default)


def refused_open(file, *args, **kw):
    """For libraries that open files by paths of the agent's."""
    raise PermissionError(13, "Files are not available here", file)


def keep_mode(src, dst, *, follow_symlinks=True):
    """In place of shutil.copymode and copystat: the filter of a snippet refuses chmod() and utime(), so a copy has a mode and times of its own."""


def refused_import(name, *args, **kw):
    raise ImportError("Import of %s is not allowed here: import the module by a statement" % (name,))


def refused_exec(source, *args):
    raise TypeError("text of a file is not allowed to run")


def reader_import(name, *args, **kw):
    """For xml.sax.make_parser(), which asks for a reader by the name of its module."""
    if name != "xml.sax.expatreader":
        refused_import(name)
    return REAL_IMPORT(name, None, None, ("__name__",))


def main_import(name, *args, **kw):
    """For unittest.main(), which tests the module of this name."""
    if name != "__main__":
        refused_import(name)
    return sys.modules["__main__"]


# Pure-Python modules that get safe versions of built-in functions: their code looks names up in its own globals first.
PATCHED_GLOBALS = {
    "functools": {"getattr": library_getattr, "setattr": library_setattr},
    "contextlib": {"getattr": library_getattr, "setattr": library_setattr},
    "copy": {"setattr": library_setattr},
    "argparse": {"getattr": library_getattr, "setattr": library_setattr},
    "ast": {"getattr": library_getattr, "setattr": library_setattr},
    "configparser": {"getattr": library_getattr, "setattr": library_setattr},
    "mimetypes": {"knownfiles": []},    # of the host
    "platform": {"open": refused_open},
    "shutil": {"copymode": keep_mode, "copystat": keep_mode},
    "unittest.main": {"__import__": main_import, "getattr": checked_getattr},
    "optparse": {"getattr": library_getattr, "setattr": library_setattr, "__import__": refused_import, "exec": refused_exec},
    "tarfile": {"getattr": library_getattr, "setattr": library_setattr, "pwd": None, "grp": None},     # a jail has no names of users
    "xml.sax": {"__import__": reader_import},
    "xml.dom.minicompat": {"getattr": library_getattr, "setattr": library_setattr},
    "typing": {"compile": compile_hint, "eval": eval_hint},
    "inspect": {"eval": eval_annotation},
    "unittest.loader": {"__import__": refused_import, "getattr": loader_getattr},
    "xmlrpc.server": {"getattr": checked_getattr},
    "importlib.metadata": {"import_module": refused_import},
}
# Modules that open files by paths of the agent's, which get a held open() and os (files/file_modules.py) -> the module by which agent code reaches them.
FILE_MODULES = {
    **{name: name for name in (
        "argparse bz2 codecs configparser filecmp fileinput getpass gettext glob gzip logging logging.handlers lzma mimetypes pathlib "
        "shlex shutil tarfile tempfile tokenize wave xml.etree.ElementTree zipfile").split()},
    "pathlib._local": "pathlib", "pathlib._os": "pathlib", "pathlib.types": "pathlib", "zipfile._path": "zipfile",
    "xml.dom.expatbuilder": "xml.dom.minidom", "xml.sax.saxutils": "xml.sax", "urllib.request": "xml.sax",
    "_pyio": "io",
}
# Modules whose patch is more than other globals -> the file and its function(module, guards), loaded with the module.
PATCHES = {
    "copy": ("agentjail.rail.copy_guards", "patch_copy"),
    "enum": ("agentjail.rail.copy_guards", "patch_enum"),
    "functools": ("agentjail.rail.copy_guards", "patch_functools"),
    "logging": ("agentjail.rail.format_guards", "patch_logging"),
    "string": ("agentjail.rail.format_guards", "patch_string"),
    "dataclasses": ("agentjail.rail.dataclass_guards", "patch_is_type"),
    "tarfile": ("agentjail.files.file_modules", "patch_tarfile"),
    "unittest.mock": ("agentjail.rail.testing_guards", "patch_mock"),
    "xml.dom.xmlbuilder": ("agentjail.rail.xml_guards", "patch_builder"),
    "xml.sax.saxutils": ("agentjail.rail.xml_guards", "patch_saxutils"),
    "linecache": ("agentjail.rail.source_text", "patch_lines"),
    "doctest": ("agentjail.rail.testing_guards", "patch_doctest"),
    "timeit": ("agentjail.rail.testing_guards", "patch_timer"),
    "pickle": ("agentjail.rail.pickle_guards", "patch_pickle"),
    "sqlite3": ("agentjail.rail.sqlite_guards", "patch_sqlite"),
    "sympy.parsing.sympy_parser": ("agentjail.rail.sympy_text", "patch_parser"),
}
# Modules that these import in the course of a call: loaded with them, so that they are patched before the call.
LOADED_WITH = {"warnings": ("linecache",), "unittest": ("linecache",), "tarfile": ("gzip",), "fileinput": ("gzip",), "xml.dom.minidom": ("xml.dom.expatbuilder",),
               "xml.sax": ("xml.sax.saxutils",)}
patched = set()     # modules with patched globals or whose hook was called, and functions of PATCHES that were called, over all sessions


def patch_loaded_modules(guards):
    """Patch the modules that were loaded since the last call, and call the runtime's hooks for them."""
    for name, names in PATCHED_GLOBALS.items():
        if name not in patched and name in sys.modules:
            sys.modules[name].__dict__.update(names if not guards.opens_files else {
                key: value for key, value in names.items() if value is not refused_open})
            patched.add(name)
    for name, by in FILE_MODULES.items() if not guards.opens_files else ():
        if ("files", name) not in patched and name in sys.modules and guards.imports.allows(by):
            guards.held_files().patch(sys.modules[name])
            patched.add(("files", name))
    for name, hook in guards.module_hooks.items():
        if name not in patched and name in sys.modules:
            patched.add(name)
            hook()
    for name, (file, function) in PATCHES.items():
        if function not in patched and name in sys.modules:
            # Noted last: code may run out of stack in the middle, and the next import begins again.
            REAL_GETATTR(REAL_IMPORT(file, None, None, (function,)), function)(sys.modules[name], guards)
            patched.add(function)


def get_ready():
    """In a zygote: load what patches of its modules need, and find what they replace. The patches themselves are a jail's own: they
    hold the guards of its session, and a request may have the layer off."""
    from agentjail.files.file_modules import find_ahead
    for name, (file, _) in PATCHES.items():
        if name in sys.modules:
            REAL_IMPORT(file)
    find_ahead(FILE_MODULES)


def replacement(value, guards):
    """The guarded replacement of this object, whichever module shows it; None for an object that needs none."""
    name = REAL_GETATTR(value, "__name__", None) if callable(value) else None
    row = REPLACEMENTS.get(name) if type(name) is str else None
    if row is None:
        return None
    module, make = row
    real = sys.modules.get(module)
    if real is None or REAL_GETATTR(real, name, None) is not value:
        return None
    return make(guards, value)


def exc_info(guards, real):
    def exc_info():
        """Like sys.exc_info; the traceback is without the frames of the layer."""
        kind, value, traceback = real()
        if traceback is not None:
            from agentjail.rail.own_objects import without_layer
            traceback = without_layer(traceback)
        return kind, value, traceback
    return exc_info


def getmembers(guards, real):
    read = guarded_getattr(guards)
    of_inspect = [f for name, f in sys.modules["inspect"].__dict__.items() if name[:2] == "is"]

    def getmembers(object, predicate=None):
        """Like inspect.getmembers, without the attributes that code may not read."""
        out = []
        for name in dir(object):
            if type(name) is str and forbidden_by(name) is None:
                try:
                    value = read(object, name)
                    # inspect's own predicates look at the object that a guard stands for, and hand it to nobody.
                    seen = REAL_GETATTR(object, name) if predicate in of_inspect and name in GUARDED else value
                except AttributeError:
                    continue
                if predicate is None or predicate(seen):
                    out.append((name, value))
        return sorted(out, key=lambda pair: pair[0])
    return getmembers


def guarded_getattr(guards):
    return guards.builtins.get("getattr") or guards.make_guarded()["getattr"]


def attrgetter(guards, real):
    read = guarded_getattr(guards)

    class attrgetter:
        """Like operator.attrgetter; every step is checked."""
        def __init__(self, *names):
            if not names:
                raise TypeError("attrgetter expected 1 argument, got 0")
            for n in names:
                if not isinstance(n, str):
                    raise TypeError("attribute name must be a string")
            self._paths = tuple([str(n).split(".") for n in names])

        def __call__(self, o):
            out = []
            for path in self._paths:
                x = o
                for name in path:
                    x = read(x, name)
                out.append(x)
            return out[0] if len(out) == 1 else tuple(out)
    return attrgetter


def methodcaller(guards, real):
    read = guarded_getattr(guards)

    def methodcaller(name, /, *args, **kwargs):
        """Like operator.methodcaller; the name is checked."""
        return lambda o: read(o, name)(*args, **kwargs)
    return methodcaller


def import_module(guards, real):
    load = guards.builtins["__import__"]

    def import_module(name, package=None):
        """Like importlib.import_module, with the import rules of agent code. A module that it may not import is one that is not found."""
        try:
            return load(name, None, None, ("__name__",)) if "." in name else load(name)
        except ImportError as e:
            if type(e) is not ImportError or e.__dict__.get("agentjail") != "PY-IMPORT":
                raise
            absent = ModuleNotFoundError(*e.args, name=e.name)
            absent.__dict__.update(e.__dict__)
            raise absent from None
    return import_module


def archive_function(guards, real):
    """shutil loads the module of an archive's format in the call: it must be patched by then."""
    def function(*args, **keys):
        import tarfile  # noqa: F401
        import zipfile  # noqa: F401
        patch_loaded_modules(guards)
        return real(*args, **keys)
    function.__name__ = function.__qualname__ = real.__name__
    return function


def single_dispatch(guards, real):
    """functools loads typing when a function is registered by its annotations: typing must be patched by then."""
    def decorate(func):
        import typing  # noqa: F401
        patch_loaded_modules(guards)
        return real(func)
    decorate.__name__ = decorate.__qualname__ = real.__name__
    return decorate


def dataclass(guards, real):
    from agentjail.rail.dataclass_guards import guarded_dataclass
    return guarded_dataclass(real)


def make_dataclass(guards, real):
    from agentjail.rail.dataclass_guards import guarded_make_dataclass
    return guarded_make_dataclass(real)


def get_type_hints(guards, real):
    return hints_function(real)


def of_testing(name):
    def make(guards, real):
        return REAL_GETATTR(REAL_IMPORT("agentjail.rail.testing_guards", None, None, (name,)), name)(guards, real)
    return make


def catch_warnings(guards, real):
    class catch_warnings:
        """Like warnings.catch_warnings, which keeps the real module in an attribute."""
        def __init__(self, *, record=False, **filters):
            filters.pop("module", None)
            manager = real(record=record, **filters)
            self._enter, self._exit = lambda: manager.__enter__(), lambda: manager.__exit__()

        def __enter__(self):
            return self._enter()

        def __exit__(self, *_):
            self._exit()
    return catch_warnings


# name -> (module that owns it, maker of the replacement)
REPLACEMENTS = {
    "attrgetter": ("operator", attrgetter),
    "methodcaller": ("operator", methodcaller),
    "get_type_hints": ("typing", get_type_hints),
    "import_module": ("importlib", import_module),
    "catch_warnings": ("warnings", catch_warnings),
    "make_archive": ("shutil", archive_function),
    "unpack_archive": ("shutil", archive_function),
    "singledispatch": ("functools", single_dispatch),
    "singledispatchmethod": ("functools", single_dispatch),
    "dataclass": ("dataclasses", dataclass),
    "make_dataclass": ("dataclasses", make_dataclass),
    "exc_info": ("sys", exc_info),
    "getmembers": ("inspect", getmembers),
    "testmod": ("doctest", of_testing("testmod")),
    "run_docstring_examples": ("doctest", of_testing("run_docstring_examples")),
}
