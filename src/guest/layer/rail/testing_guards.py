"""The replacements in unittest.mock, doctest and timeit: targets by dotted names are found as an import statement finds them, and examples pass the check.
They refuse modules that the policy does not allow, names that code may not read, and examples of other modules.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import GUARDED, forbidden_by
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_SETATTR, ModuleType, attribute_error, exact_name
from agentjail.rail.main_proxy import MAIN, MainProxy
from agentjail.rail.patches import checked_getattr, library_setattr
from agentjail.rail.shown import PASSED_ON, SysProxy

# mock itself asks for these of functions and methods, by fixed names, to know a coroutine function.
ASKED_BY_MOCK = ("__code__", "__func__")
# Every class lists these, and patch.dict() reads all that a class lists, in search of its tests.
LISTED_BY_ALL = frozenset(name for name in (*object.__dict__, "__weakref__") if forbidden_by(name))


def checked_exec(guards):
    return guards.builtins.get("exec") or guards.make_guarded()["exec"]


def mock_getattr(o, name, *default):
    """Names come from the code too: configure_mock() reads along dotted ones, and create_autospec() those that an object lists."""
    plain, name = type(name) is str, exact_name(name)
    if plain and name in ASKED_BY_MOCK:
        # Whether there is one, and no way to it: inspect itself looks behind a method.
        found = REAL_GETATTR(o, name, *default)
        return o if name == "__func__" else bool(found)
    if name in LISTED_BY_ALL:
        return default[0] if default else None
    if name[:1] == "_" and isinstance(o, ModuleType) or not plain and name[:2] == "__":
        if default:
            return default[0]
        raise attribute_error(name)
    return checked_getattr(o, name, *default)


def mock_setattr(o, name, value):
    name = exact_name(name)
    if name[:1] != "_" and isinstance(o, ModuleType):   # a proxy, or a module of the code's own
        REAL_SETATTR(o, name, value)
    else:
        library_setattr(o, name, value)


class Resolver:
    """In place of the module pkgutil in unittest.mock."""

    def __init__(self, guards):
        def resolve_name(name):
            """The object of a dotted name, through import statements and attributes that code may read itself."""
            if type(name) is not str:
                raise TypeError("a dotted name must be a string")
            first, *rest = name.split(".")
            load, read = guards.builtins["__import__"], guards.builtins["getattr"]
            path, found = first, MAIN if first == "__main__" else None
            for part in rest if found is None else ():
                if not guards.imports.allows(path + "." + part) and not guards.imports.allows_below(path + "." + part):
                    break
                path += "." + part
            if found is None:
                found = load(path, None, None, ("__name__",)) if "." in path else load(path)
            for part in name[len(path) + 1:].split(".") if len(name) > len(path) else ():
                found = read(found, part)
            return found
        self.resolve_name = resolve_name


def patch_mock(mock, guards):
    resolver = Resolver(guards)
    mock.__dict__.update(getattr=mock_getattr, setattr=mock_setattr, pkgutil=resolver, _importer=resolver.resolve_name,
                         exec=lambda text, names: checked_exec(guards)(text, names))    # the text holds the __name__ of a function
    real, missing, builtin_names = mock._patch.get_original, mock.DEFAULT, frozenset(mock._builtins)

    class Once:
        """A copy of the members that get_original() reads: code can change the patch between two reads."""

        def __init__(self, target, name, create):
            self.getter, self.attribute, self.create = lambda: target, name, create

    def get_original(self):
        target, name = self.getter(), self.attribute
        if type(name) is not str or forbidden_by(name, True) is not None:
            raise attribute_error(name, "set")
        passed_on = type(target) is SysProxy and name in PASSED_ON or type(target) is MainProxy     # as of the real module, its own name
        if passed_on or name in GUARDED:
            self.create |= passed_on and name in builtin_names      # as mock does for modules, whose names hide built-in functions
            try:
                return mock_getattr(target, name), passed_on
            except AttributeError:
                if not self.create:
                    raise
                return missing, False
        once = Once(target, name, self.create)
        found = real(once)
        self.create = once.create
        return found
    mock._patch.get_original = get_original


class NoDebugger:
    """In place of the debugger that each doctest runner makes and shows: that one runs any text."""

    def __init__(self, out):
        pass

    def reset(self):
        pass

    set_continue = reset

    def set_trace(self, frame=None):
        raise RuntimeError("a jail has no debugger")


def patch_doctest(doctest, guards):
    def run(code, globs):
        guards.run_text(code, globs)

    def compile(source, filename, mode, *_):
        return guards.compile_text(source, filename, mode)
    doctest.__dict__.update(compile=compile, exec=run, _OutputRedirectingPdb=NoDebugger)


def patch_timer(timeit, guards):
    """timeit.Timer runs text with the real built-in functions, and leaves these in `globals`: text becomes a function that checks it."""
    real = timeit.Timer.__init__

    def function_of(code, namespace):
        if not isinstance(code, str) or type(code) is str and code == "pass":
            return code
        run, compiled = guards.run_text, guards.compile_text(code, "<timeit>", "exec")
        return lambda: run(compiled, namespace)

    def __init__(self, stmt="pass", setup="pass", timer=timeit.default_timer, globals=None):
        namespace = {} if globals is None else dict(globals)
        real(self, function_of(stmt, namespace), function_of(setup, namespace), timer, None)
    timeit.Timer.__init__ = __init__


def run_docstring_examples(guards, real):
    def run_docstring_examples(f, globs=None, *args, **options):
        """Like doctest.run_docstring_examples; without globs, the examples have the names of this code."""
        # doctest itself would take the names of the module that f.__module__ says.
        real(f, dict(guards.namespace()) if globs is None else globs, *args, **options)
    return run_docstring_examples


def testmod(guards, real):
    def testmod(m=None, *args, **options):
        """Like doctest.testmod, for this code's own examples."""
        main = sys.modules["__main__"]
        if m is not None and m is not MAIN:
            raise TypeError("only the examples of this code can be tested")
        return real(main, *args, **options)
    return testmod
