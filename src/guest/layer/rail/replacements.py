"""Functions of allowed modules that agent code gets with a guard in their place, and the table of these.
A replacement changes no module: a library still calls the real function.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.annotations import hints_function
from agentjail.check.name_rules import GUARDED, forbidden_by
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_IMPORT
from agentjail.rail.patches import patch_loaded_modules


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
                    # inspect's own predicates look at the object that a guard stands for, and hand it to nobody. By identity: another
                    # predicate may say that it is equal to one of them.
                    seen = REAL_GETATTR(object, name) if name in GUARDED and any([predicate is f for f in of_inspect]) else value
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


def as_strided(guards, real):
    from agentjail.rail.array_guards import as_strided
    return as_strided(guards, real)


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
    "as_strided": ("numpy.lib.stride_tricks", as_strided),
    "testmod": ("doctest", of_testing("testmod")),
    "run_docstring_examples": ("doctest", of_testing("run_docstring_examples")),
}
