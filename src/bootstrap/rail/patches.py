"""The exceptions to "public names of allowed modules are fine": one table of hidden names, one of mended modules.
It refuses to grow into a list of modules: which modules agent code may import is the policy's business.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.rail.name_rules import FRAMES, GUARDED, refused

ModuleType = type(sys)
KEPT_DUNDERS = ("__version__", "__doc__", "__name__")

# Functions and classes from these modules are not shown through another module, unless they are allowed.
DANGEROUS_ORIGINS = frozenset("posix os sys subprocess _posixsubprocess importlib _frozen_importlib "
                              "_frozen_importlib_external _imp imp ctypes _ctypes gc inspect pickle _pickle marshal code "
                              "codeop runpy pty socket _socket multiprocessing linecache pkgutil zipimport signal "
                              "_signal shelve timeit trace pdb bdb faulthandler tracemalloc".split())

# (module, name) -> why it is hidden although the module is allowed. "*": nothing of it is shown.
HIDDEN = {
    ("sys", "modules"): "it holds every module",
    ("sys", "meta_path"): "it decides about every import",
    ("sys", "path_hooks"): "it decides about every import",
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

# Names that a *library* may not be talked into reading or writing by a string of the agent
# (functools.update_wrapper(assigned=...), copy's slot state, argparse's dest). Libraries read __dict__ and
# __name__ this way all the time, so this list is shorter than what agent code itself may not read.
LIBRARY_DENIED = FRAMES | {"__globals__", "__code__", "__closure__", "__builtins__", "__subclasses__", "__self__",
                           "__func__", "__base__", "__bases__", "__mro__", "__match_args__", "__loader__", "__spec__",
                           "__traceback__", "__reduce__", "__reduce_ex__", "__class__", "obj", "_convert_"}
STREAMS = ("stdout", "stderr", "stdin")  # the attributes of sys that contextlib may redirect

real_getattr, real_setattr = getattr, setattr


def library_getattr(o, name, *default):
    if (name in LIBRARY_DENIED and name != "__class__") or (isinstance(o, ModuleType) and name not in STREAMS):
        raise AttributeError("Reading the attribute `%s` is not allowed" % name)
    return real_getattr(o, name, *default)


def library_setattr(o, name, value):
    if name in LIBRARY_DENIED or (isinstance(o, ModuleType) and name not in STREAMS):
        raise AttributeError("Setting the attribute `%s` is not allowed" % name)
    real_setattr(o, name, value)


def annotation_compile(source, *args, **kw):
    """typing compiles string annotations and evaluates them with names that we do not control."""
    import _ast
    tree = compile(source, "<annotation>", "eval", 0x400, True)
    fine = (_ast.Expression, _ast.Name, _ast.Load, _ast.Attribute, _ast.Subscript, _ast.Tuple, _ast.List,
            _ast.Constant, _ast.BinOp, _ast.BitOr, _ast.Starred, _ast.UnaryOp, _ast.USub)
    todo = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, fine) or (isinstance(node, _ast.Attribute) and node.attr[:1] == "_") or (
                isinstance(node, _ast.Name) and node.id[:2] == "__"):
            # No SyntaxError: typing would replace it by one that does not say why.
            raise TypeError("the string annotation %r is not allowed: it is no plain type expression" % source)
        for field in node._fields:
            child = real_getattr(node, field, None)
            todo.extend(c for c in (child if isinstance(child, list) else (child,)) if isinstance(c, _ast.AST))
    return compile(tree, "<annotation>", "eval", 0, True)


# Pure-Python modules whose code resolves these built-in names in its own globals first: there the safe ones go.
MENDED = {
    "functools": {"getattr": library_getattr, "setattr": library_setattr},
    "contextlib": {"getattr": library_getattr, "setattr": library_setattr},
    "copy": {"setattr": library_setattr},
    "argparse": {"getattr": library_getattr, "setattr": library_setattr},
    "optparse": {"getattr": library_getattr, "setattr": library_setattr},
    "typing": {"compile": annotation_compile},
}
mended = set()


def harden(guards):
    """Mend what is loaded by now. Cheap when nothing new is."""
    for name, names in MENDED.items():
        if name not in mended and name in sys.modules:
            mended.add(name)
            sys.modules[name].__dict__.update(names)
    for name, hook in guards.module_hooks.items():
        if name not in mended and name in sys.modules:
            mended.add(name)
            hook()
    if "string" not in mended and "string" in sys.modules:
        mended.add("string")
        from agentjail.rail.format_guards import harden_formatter
        harden_formatter(sys.modules["string"].Formatter)


def replacement(value, guards):
    """A guarded stand-in for this very object, whatever module shows it; None where none is needed."""
    find = REPLACED.get(real_getattr(value, "__name__", None) if callable(value) else None)
    if find is None:
        return None
    module, make = find
    real = sys.modules.get(module)
    if real is None or real_getattr(real, value.__name__, None) is not value:
        return None
    return make(guards, value)


def attrgetter(guards, real):
    read = guards.dict.get("getattr") or guards.make()["getattr"]

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
    read = guards.dict.get("getattr") or guards.make()["getattr"]

    def methodcaller(name, /, *args, **kwargs):
        """Like operator.methodcaller; the name is checked."""
        return lambda o: read(o, name)(*args, **kwargs)
    return methodcaller


def import_module(guards, real):
    load = guards.dict["__import__"]

    def import_module(name, package=None):
        """Like importlib.import_module, with the import rules of agent code."""
        return load(name, None, None, ("__name__",)) if "." in name else load(name)
    return import_module


def single_dispatch(guards, real):
    """functools loads typing only when a function is registered by its annotations: it must be mended by then."""
    def load(func):
        import typing  # noqa: F401
        harden(guards)
        return real(func)
    load.__name__ = load.__qualname__ = real.__name__
    return load


def special(name):
    """No name for a field: a pattern or a format would read what the name stands for elsewhere."""
    return refused(name) is not None or name in GUARDED or name[:2] == "__" == name[-2:]


def dataclass(guards, real):
    def dataclass(cls=None, /, **options):
        """dataclasses.dataclass; field names become source text there, so they must be plain names."""
        def wrap(cls):
            names = []
            for c in cls.__mro__:
                own = c.__dict__.get("__annotations__", {})
                for f in c.__dict__.get("__dataclass_fields__", {}).values():
                    names.append(f.name)
                if c is cls:
                    names.extend(own)
            for name in names:
                if type(name) is not str or not name.isidentifier() or special(name):
                    raise TypeError("field names must be plain names, not %r" % (name,))
            if sys.modules.get(cls.__module__) is not sys.modules.get("__main__"):
                raise TypeError("only classes of this code can be made dataclasses")
            return real(cls, **options)
        return wrap if cls is None else wrap(cls)
    dataclass.__doc__ = real.__doc__
    return dataclass


def make_dataclass(guards, real):
    def make_dataclass(cls_name, fields, *, bases=(), namespace=None, **options):
        fields = list(fields)
        for b in bases:
            for c in b.__mro__:
                for f in c.__dict__.get("__dataclass_fields__", {}).values():
                    if type(f.name) is not str or not f.name.isidentifier():
                        raise TypeError("field names must be plain names, not %r" % (f.name,))
        for i, item in enumerate(fields):
            name = item if isinstance(item, str) else item[0]
            if type(name) is not str or not name.isidentifier() or special(name):
                raise TypeError("field names must be plain names, not %r" % (name,))
            fields[i] = item if isinstance(item, str) else tuple(item)
        if namespace is not None and any(type(k) is not str or refused(k, True) for k in namespace):
            raise TypeError("the namespace holds names that are not allowed")
        options.pop("module", None)
        return real(cls_name, fields, bases=tuple(bases), namespace=namespace, **options)
    return make_dataclass


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


# name -> (module that owns it, maker of the stand-in)
REPLACED = {
    "attrgetter": ("operator", attrgetter),
    "methodcaller": ("operator", methodcaller),
    "import_module": ("importlib", import_module),
    "catch_warnings": ("warnings", catch_warnings),
    "singledispatch": ("functools", single_dispatch),
    "singledispatchmethod": ("functools", single_dispatch),
    "dataclass": ("dataclasses", dataclass),
    "make_dataclass": ("dataclasses", make_dataclass),
}
