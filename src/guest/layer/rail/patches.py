"""The exceptions to the rule that public names of allowed modules are harmless: tables of modules with patched globals (hidden.py has
the hidden names, replacements.py the functions with a guarded replacement). Honest calls do what they do without the guards.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.annotations import compile_hint, eval_annotation, eval_hint
from agentjail.check.name_rules import forbidden_by, is_own_only
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_IMPORT, REAL_SETATTR, FunctionType, ModuleType, attribute_error, exact_name, read_attribute
from agentjail.rail.main_proxy import MAIN, MainProxy

PUBLIC_DUNDERS = ("__version__", "__doc__", "__name__")

# Names that a library may set and agent code may not: @no_type_check sets the first, update_wrapper() copies the second.
LIBRARY_SETS = frozenset(("__no_type_check__", "__type_params__"))
STREAMS = ("stdout", "stderr", "stdin")  # the attributes of sys that contextlib may redirect
WRAPPERS_SET = ("__module__", "__annotations__")     # by functools.update_wrapper(), of anything but a class


def is_class(o):
    return issubclass(type(o), type)


def checked_getattr(o, name, *default):
    """getattr() for library code that reads names from the agent, with the rules for agent code."""
    name = exact_name(name)
    try:
        if name == "__dict__":
            return names_to_copy(o)
        if forbidden_by(name) is not None and not is_own_only(name):
            raise attribute_error(name)
        return read_attribute(o, name)
    except AttributeError:
        if default:
            return default[0]
        raise


def names_to_copy(o):
    """o.__dict__, which functools.update_wrapper() copies; rejected for classes and for callables whose __dict__ has a forbidden name."""
    if type(o) is not FunctionType and (is_class(o) or not callable(o) or any(
            [type(key) is not str or forbidden_by(key) is not None for key in REAL_GETATTR(o, "__dict__", ())])):
        from agentjail.rail.own_objects import read_own
        return read_own(o, "__dict__")
    return REAL_GETATTR(o, "__dict__")


def library_getattr(o, name, *default):
    """checked_getattr() that rejects modules."""
    if isinstance(o, ModuleType) and exact_name(name) not in STREAMS:
        if default:
            return default[0]
        raise attribute_error(exact_name(name))
    return checked_getattr(o, name, *default)


def library_setattr(o, name, value):
    """setattr() for library code that sets names from the agent."""
    name = exact_name(name)
    if is_own_only(name, True) and (name not in WRAPPERS_SET or is_class(o)):
        from agentjail.rail.own_objects import may_set
        refused = not may_set(o, name, value)
    else:
        refused = (forbidden_by(name, True) is not None and name not in LIBRARY_SETS and name not in WRAPPERS_SET
                   or isinstance(o, ModuleType) and name not in STREAMS)
    if refused:
        raise attribute_error(name, "set")
    REAL_SETATTR(o, name, value)


def loader_getattr(o, name, *default):
    """For unittest.loader, which reads every name of the module whose tests it looks for."""
    if type(o) is MainProxy and forbidden_by(name) is not None:
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
    return MAIN


BY_NAME = {"getattr": library_getattr, "setattr": library_setattr}
# Pure-Python modules that get safe versions of built-in functions: globals of a module come before builtins. tests/layer/test_names.py finds
# modules that read or set attributes by variable names: each has a row here or in PATCHES, or a reason in the test.
PATCHED_GLOBALS = {
    "copy": {"setattr": library_setattr},
    **{"pandas.core." + name: {"getattr": checked_getattr} for name in (
        "accessor apply computation.expr computation.pytables groupby.generic groupby.groupby resample window.rolling").split()},
    **{name: BY_NAME for name in (
        "argparse ast configparser contextlib functools pprint unittest.case unittest.runner xml.dom.minicompat "
        "xml.dom.xmlbuilder xml.sax.saxutils").split()},
    "mimetypes": {"knownfiles": []},    # of the host
    "platform": {"open": refused_open},
    "shutil": {"copymode": keep_mode, "copystat": keep_mode},
    "unittest.main": {"__import__": main_import, "getattr": checked_getattr},
    "optparse": {**BY_NAME, "__import__": refused_import, "exec": refused_exec},
    "tarfile": {**BY_NAME, "pwd": None, "grp": None},     # a jail has no names of users
    "xml.sax": {"__import__": reader_import},
    "typing": {"compile": compile_hint, "eval": eval_hint},
    "inspect": {"eval": eval_annotation},
    "unittest.loader": {"__import__": refused_import, "getattr": loader_getattr},
    "xmlrpc.server": {"getattr": checked_getattr},
    "importlib.metadata": {"import_module": refused_import},
}
# Modules that open files by paths of the agent's, which get the confined open() and os (files/file_modules.py) -> the module by which agent code reaches them.
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
    "codecs": ("agentjail.rail.format_guards", "patch_codecs"),
    "copy": ("agentjail.rail.copy_guards", "patch_copy"),
    "email._policybase": ("agentjail.rail.copy_guards", "patch_policy"),
    "gettext": ("agentjail.rail.copy_guards", "patch_gettext"),
    "typing": ("agentjail.rail.format_guards", "patch_typing"),
    "enum": ("agentjail.rail.copy_guards", "patch_enum"),
    "functools": ("agentjail.rail.copy_guards", "patch_functools"),
    "logging": ("agentjail.rail.format_guards", "patch_logging"),
    "string": ("agentjail.rail.format_guards", "patch_string"),
    "dataclasses": ("agentjail.rail.dataclass_guards", "patch_dataclasses"),
    "tarfile": ("agentjail.files.file_modules", "patch_tarfile"),
    "unittest.mock": ("agentjail.rail.testing_guards", "patch_mock"),
    "xml.dom.xmlbuilder": ("agentjail.rail.xml_guards", "patch_builder"),
    "xml.sax.saxutils": ("agentjail.rail.xml_guards", "patch_saxutils"),
    "linecache": ("agentjail.rail.source_text", "patch_lines"),
    "doctest": ("agentjail.rail.testing_guards", "patch_doctest"),
    "tempfile": ("agentjail.rail.format_guards", "patch_tempfile"),
    "timeit": ("agentjail.rail.testing_guards", "patch_timer"),
    "pandas.core.computation.scope": ("agentjail.rail.array_guards", "patch_scope"),
    "pickle": ("agentjail.rail.pickle_guards", "patch_pickle"),
    "sqlite3": ("agentjail.rail.sqlite_guards", "patch_sqlite"),
    "traceback": ("agentjail.rail.traceback_guards", "patch_traceback"),
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
            guards.confined_files().patch(sys.modules[name])
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
