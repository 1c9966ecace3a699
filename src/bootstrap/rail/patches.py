"""The exceptions to the rule that public names of allowed modules are harmless: tables of hidden names, of modules with
patched globals, and of functions with a guarded replacement. No table decides about a whole module: the policy does.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.rail.guards import REAL_GETATTR, REAL_SETATTR, ModuleType
from agentjail.rail.name_rules import FRAME_ATTRIBUTES

PUBLIC_DUNDERS = ("__version__", "__doc__", "__name__")

# Functions and classes from these modules are not shown through another module, unless they are allowed.
DANGEROUS_ORIGINS = frozenset("posix os sys subprocess _posixsubprocess importlib _frozen_importlib "
                              "_frozen_importlib_external _imp imp ctypes _ctypes gc inspect pickle _pickle marshal code "
                              "codeop runpy pty socket _socket multiprocessing linecache pkgutil zipimport signal "
                              "_signal shelve timeit trace pdb bdb faulthandler tracemalloc".split())

# (module, name) -> why the name is hidden although the module is allowed. "*": no name of the module is shown.
HIDDEN = {
    ("sys", "modules"): "it holds every module",
    ("sys", "meta_path"): "it controls every import",
    ("sys", "path_hooks"): "it controls every import",
    ("sys", "path_importer_cache"): "it holds module finders",
    ("sys", "exc_info"): "it returns tracebacks",
    ("sys", "exception"): "it returns tracebacks",
    ("sys", "settrace"): "it hands out frames",
    ("sys", "setprofile"): "it hands out frames",
    ("sys", "call_tracing"): "it hands out frames",
    ("sys", "last_traceback"): "it holds frames",
    ("sys", "monitoring"): "it hands out code objects",
    ("sys", "addaudithook"): "it sees the objects of trusted code",
    ("sys", "set_asyncgen_hooks"): "it sees the objects of other code",
    ("sys", "breakpointhook"): "it starts a debugger",
    ("sys", "unraisablehook"): "it hands out tracebacks",
    ("importlib", "reload"): "modules of the jail stay as they are",
    ("importlib", "find_loader"): "loaders read files and make modules",
    ("importlib", "invalidate_caches"): "modules of the jail stay as they are",
    ("types", "FunctionType"): "it makes functions from code objects",
    ("types", "LambdaType"): "it makes functions from code objects",
    ("types", "CodeType"): "it makes code objects",
    ("types", "new_class"): "it chooses the namespace of a class statement",
    ("types", "prepare_class"): "it chooses the namespace of a class statement",
    ("types", "FrameType"): "frames are not available",
    ("types", "TracebackType"): "tracebacks are not available",
    ("dataclasses", "FunctionType"): "it makes functions from code objects",
    ("inspect", "currentframe"): "frames are not available",
    ("inspect", "stack"): "frames are not available",
    ("inspect", "trace"): "frames are not available",
    ("inspect", "getmembers"): "it reads every attribute",
    ("inspect", "getattr_static"): "it reads every attribute",
    ("inspect", "getclosurevars"): "it reads globals of functions",
    ("inspect", "getgeneratorlocals"): "it reads locals of functions",
    ("inspect", "getcoroutinelocals"): "it reads locals of functions",
    ("inspect", "getasyncgenlocals"): "it reads locals of functions",
    ("inspect", "unwrap"): "it reads attributes by itself",
    ("enum", "global_enum"): "it writes names into any module",
    ("enum", "global_enum_repr"): "it belongs to global_enum",
    ("typing", "ForwardRef"): "it turns text into code",
    ("io", "open"): "files are not available",
    ("io", "open_code"): "files are not available",
    ("io", "FileIO"): "files are not available",
    ("io", "OpenWrapper"): "files are not available",
    ("codecs", "open"): "files are not available",
    ("gc", "get_objects"): "it returns every object",
    ("gc", "get_referrers"): "it returns every object",
    ("gc", "get_referents"): "it reads what attributes hide",
    ("asyncio", "create_subprocess_exec"): "processes are not available",
    ("asyncio", "create_subprocess_shell"): "processes are not available",
    ("logging", "FileHandler"): "files are not available",
    ("logging", "currentframe"): "frames are not available",
    ("logging", "StrFormatStyle"): "it reads attributes that a template names",
    ("copyreg", "*"): "it is the machinery of pickle",
    ("code", "*"): "it runs text as code",
    ("codeop", "*"): "it makes code objects",
}

# Names that a *library* may not read or write when a string of the agent names them (functools.update_wrapper(assigned=...),
# copy's slot state, argparse's dest). Libraries read __dict__ and __name__ this way all the time, so this set is smaller
# than the set of names that agent code may not read.
LIBRARY_DENIED = FRAME_ATTRIBUTES | {"__globals__", "__code__", "__closure__", "__builtins__", "__subclasses__", "__self__",
                                     "__func__", "__base__", "__bases__", "__mro__", "__match_args__", "__loader__", "__spec__",
                                     "__traceback__", "__reduce__", "__reduce_ex__", "__class__", "obj", "_convert_"}
STREAMS = ("stdout", "stderr", "stdin")  # the attributes of sys that contextlib may redirect


def library_getattr(o, name, *default):
    if (name in LIBRARY_DENIED and name != "__class__") or (isinstance(o, ModuleType) and name not in STREAMS):
        raise AttributeError("Reading the attribute `%s` is not allowed" % name)
    return REAL_GETATTR(o, name, *default)


def library_setattr(o, name, value):
    if name in LIBRARY_DENIED or (isinstance(o, ModuleType) and name not in STREAMS):
        raise AttributeError("Setting the attribute `%s` is not allowed" % name)
    REAL_SETATTR(o, name, value)


def annotation_compile(source, *args, **kw):
    """typing compiles string annotations and evaluates them with names of the agent's choice."""
    import _ast
    tree = compile(source, "<annotation>", "eval", _ast.PyCF_ONLY_AST, True)
    harmless = (_ast.Expression, _ast.Name, _ast.Load, _ast.Attribute, _ast.Subscript, _ast.Tuple, _ast.List,
                _ast.Constant, _ast.BinOp, _ast.BitOr, _ast.Starred, _ast.UnaryOp, _ast.USub)
    todo = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, harmless) or (isinstance(node, _ast.Attribute) and node.attr[:1] == "_") or (
                isinstance(node, _ast.Name) and node.id[:2] == "__"):
            # typing would replace a SyntaxError by one without the reason.
            raise TypeError("the string annotation %r is not allowed: it is not a plain type expression" % source)
        for field in node._fields:
            child = REAL_GETATTR(node, field, None)
            todo.extend(c for c in (child if isinstance(child, list) else (child,)) if isinstance(c, _ast.AST))
    return compile(tree, "<annotation>", "eval", 0, True)


# Pure-Python modules that get safe versions of built-in functions: their code looks names up in its own globals first.
PATCHED_GLOBALS = {
    "functools": {"getattr": library_getattr, "setattr": library_setattr},
    "contextlib": {"getattr": library_getattr, "setattr": library_setattr},
    "copy": {"setattr": library_setattr},
    "argparse": {"getattr": library_getattr, "setattr": library_setattr},
    "optparse": {"getattr": library_getattr, "setattr": library_setattr},
    "typing": {"compile": annotation_compile},
}
patched = set()     # modules that were patched or whose hook was called, over all sessions


def patch_loaded_modules(guards):
    """Patch the modules that were loaded since the last call, and call the runtime's hooks for them."""
    for name, names in PATCHED_GLOBALS.items():
        if name not in patched and name in sys.modules:
            patched.add(name)
            sys.modules[name].__dict__.update(names)
    for name, hook in guards.module_hooks.items():
        if name not in patched and name in sys.modules:
            patched.add(name)
            hook()
    if "string" not in patched and "string" in sys.modules:
        patched.add("string")
        from agentjail.rail.format_guards import patch_formatter
        patch_formatter(sys.modules["string"].Formatter)


def replacement(value, guards):
    """The guarded replacement of this object, whichever module shows it; None for an object that needs none."""
    row = REPLACEMENTS.get(REAL_GETATTR(value, "__name__", None) if callable(value) else None)
    if row is None:
        return None
    module, make = row
    real = sys.modules.get(module)
    if real is None or REAL_GETATTR(real, value.__name__, None) is not value:
        return None
    return make(guards, value)


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
        """Like importlib.import_module, with the import rules of agent code."""
        return load(name, None, None, ("__name__",)) if "." in name else load(name)
    return import_module


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
    "import_module": ("importlib", import_module),
    "catch_warnings": ("warnings", catch_warnings),
    "singledispatch": ("functools", single_dispatch),
    "singledispatchmethod": ("functools", single_dispatch),
    "dataclass": ("dataclasses", dataclass),
    "make_dataclass": ("dataclasses", make_dataclass),
}
