"""The built-in functions of agent code: the builtin sets, and guarded versions of the functions that take a name.
The sets hold no function that reads files, frames or names; native functions stay native where they can.

A wrapper costs time in a loop, so only functions that take an attribute or module *name* are wrapped. The native
ones are harmless because their __self__ (the real builtins module) can be read neither in source nor by getattr.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import DEFINABLE, GUARDED, forbidden_by, is_own_only

ModuleType, FunctionType, get_frame = type(sys), type(lambda: 0), sys._getframe
REAL_IMPORT, REAL_GETATTR, REAL_SETATTR, REAL_DELATTR, REAL_TYPE = (
    builtins.__import__, builtins.getattr, builtins.setattr, builtins.delattr, type)

# The 21 names of tinyAgent, for which existing agents are written ...
MINIMAL = "abs all any bool dict enumerate float int len list max min print range round sorted str sum tuple type zip"
# ... and the names that class, def, with and try statements need; exceptions and constants come with every set.
STATEMENTS = "object super property staticmethod classmethod isinstance issubclass set frozenset repr"
# The other functions without I/O or reflection.
STANDARD = ("aiter anext ascii bin bytearray bytes callable chr complex dir divmod filter format hash hex id input iter map "
            "memoryview next oct ord pow reversed slice")
# Functions that a set may lack -> the hint after a NameError.
ABSENT = {
    "open": "the caller shows no file; data comes in as input variables",
    "eval": "call the function itself; int() and float() read numbers",
    "exec": "write the code itself",
    "compile": "write the code itself",
    "input": "a jail has no terminal; data comes in as input variables",
    "globals": "keep the values in a dict of your own",
    "locals": "keep the values in a dict of your own",
    "vars": "name the attributes that you need",
    "breakpoint": "print the values that you want to see",
    "help": "print(x.__doc__) shows a documentation string",
    "exit": "call final_answer(x), or let the code end",
    "quit": "call final_answer(x), or let the code end",
    "license": "", "copyright": "", "credits": "",
}
FULL_NATIVE = "open globals locals vars"  # unchecked
NAMESPACES = ("globals", "locals", "vars")  # of the set standard: these show the names and attributes of agent code alone
DYNAMIC = ("eval", "exec", "compile")  # of the sets standard and full: the text is checked, see dynamic_code.py

BY_NAME = ("getattr", "setattr", "delattr", "hasattr")    # the guarded functions that take an attribute by its name

ACTIONS = {"read": "Reading", "set": "Setting", "delete": "Deleting", "define": "Defining"}


class Guards:
    """The guarded functions of one session. Agent code holds closures over this object, never the object."""

    def __init__(self, imports, builtin_set, module_hooks, files=(), folders=()):
        self.imports = imports              # AllowedImports
        self.builtin_set = builtin_set      # one of request.BUILTIN_SETS
        self.files = files                  # paths that the caller shows, for open()
        self.folders = folders              # those of the policy's python.files
        self.module_hooks = module_hooks    # module name -> function to call once after that module was loaded
        self.imported = []                  # modules that agent code imported, in order
        self.refused = {}                   # (module, line) of the imports that were tried and refused, in order
        self.proxies = None                 # module_proxy.ModuleProxies, from the first import on
        self.opens_files = builtin_set == "full" or "/" in folders  # every path that the jail shows
        self.code_files = {}                # file name of the agent's own code -> its text
        self.confined = None                # files/file_modules.ConfinedFiles, from the first open() on
        self.global_view = None             # what globals() returns, from the first call on
        self.dynamic = None                 # dynamic_code.DynamicCode, from the first eval, exec or compile on
        self.run_text = self.compile_text = None    # exec and compile for doctest and timeit, which run text in every set
        # A module, and not a dict: code can read it (exec() leaves it in a namespace), and the attribute rules keep `__import__`
        # and the like in it as they are.
        self.module = ModuleType("builtins")
        self.builtins = self.make_builtins(self.module.__dict__)

    def confined_files(self):
        """open(), os and io as agent code has them."""
        if self.confined is None:
            from agentjail.files.file_modules import ConfinedFiles
            self.confined = ConfinedFiles(self.files, self.folders if not self.opens_files else ("/",))
        return self.confined

    @staticmethod
    def namespace():
        """The names of agent code."""
        return sys.modules["__main__"].__dict__

    def make_builtins(self, out):
        """Fill the dict of the module that becomes __builtins__ of agent code."""
        out.clear()
        out.update(native_sets.get(self.builtin_set) or make_native_set(self.builtin_set))
        guarded = self.make_guarded()
        out["__import__"] = guarded["__import__"]
        if self.builtin_set != "minimal":
            for name in BY_NAME:
                out[name] = guarded[name]
            out["exit"] = out["quit"] = guarded["exit"]
        self.run_text, self.compile_text = guarded["exec"], guarded["compile"]
        if self.builtin_set in ("standard", "full"):
            for name in DYNAMIC:
                out[name] = guarded[name]
        if self.builtin_set == "standard":
            for name in NAMESPACES:
                out[name] = guarded[name]
        if self.builtin_set in ("static", "standard"):
            out["open"] = builtins.open if self.opens_files else guarded["open"]
        elif self.builtin_set == "minimal" and self.files:
            out["open"] = guarded["open"]
        out["__agentjail_attr__"] = guarded["attribute"]
        out["__agentjail_set__"] = guarded["target"]
        out["__agentjail_class__"] = guarded["class_of_pattern"]
        out["__agentjail_type__"] = guarded["type"]
        return out

    def make_guarded(self):
        def attribute(o, name):
            return read_attribute(o, name, self.code_files)

        def getattr(o, name, *default):
            name = exact_name(name)
            if forbidden_by(name) is not None and not is_own_only(name) or (name[:1] == "_" and isinstance(o, ModuleType)):
                if default:
                    return default[0]
                raise attribute_error(name)
            if len(default) == 1:
                try:
                    return attribute(o, name)
                except AttributeError:
                    return default[0]
            if default:
                raise TypeError("getattr expected at most 3 arguments, got %d" % (2 + len(default)))
            return attribute(o, name)

        def hasattr(o, name):
            name = exact_name(name)
            if forbidden_by(name) is not None and not is_own_only(name):
                return False
            try:
                attribute(o, name)
            except AttributeError:
                return False
            return True

        def setattr(o, name, value):
            name = exact_name(name)
            if is_own_only(name, True):
                target(o, name).value = value
                return
            if forbidden_by(name, True) is not None:
                raise attribute_error(name, "set")
            REAL_SETATTR(o, name, value)

        def delattr(o, name):
            name = exact_name(name)
            if forbidden_by(name, True) is not None:
                raise attribute_error(name, "delete")
            REAL_DELATTR(o, name)

        def make_type(*args, **kw):
            if len(args) == 3 and REAL_TYPE(args[2]) is dict:
                check_class_namespace(args[2])
                args = (args[0], args[1], {**args[2], "__module__": "__main__"})  # type() would take this module's name
            elif len(args) == 3:
                raise TypeError("type() argument 3 must be dict, not " + REAL_TYPE(args[2]).__name__)
            return REAL_TYPE(*args, **kw)

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            asked_by_c = False
            if REAL_TYPE(fromlist) is list and not fromlist and REAL_TYPE(name) is str:
                from agentjail.rail.lazy_imports import load_for_c
                asked_by_c = load_for_c(name, self)
                if asked_by_c and not self.imports.allows(name):
                    return None
            proxies = self.proxies
            if proxies is None:
                from agentjail.rail.module_proxy import ModuleProxies
                proxies = self.proxies = ModuleProxies(self)
            before = len(self.imported)
            found = proxies.import_statement(name, fromlist, level)
            if asked_by_c:
                del self.imported[before:]  # no import of the agent's
            return found

        def dynamic():
            if self.dynamic is None:
                from agentjail.rail.dynamic_code import DynamicCode
                self.dynamic = DynamicCode(self)
            return self.dynamic

        def eval(source, globals=None, locals=None, /):
            return dynamic().run(source, "eval", globals, locals, get_frame(1))

        def exec(source, globals=None, locals=None, /):
            dynamic().run(source, "exec", globals, locals, get_frame(1))

        def compile(source, filename="<string>", mode="exec", flags=0, dont_inherit=False, optimize=-1, **_):
            return dynamic().compile(source, mode, flags)

        def exit(code=None):
            raise SystemExit(code)

        def target(o, name):
            """What stands for o in `o.name = value`, for the names of OWN_SETTABLE."""
            from agentjail.rail.own_objects import Target
            return Target(o, name)

        def class_of_pattern(cls):
            from agentjail.rail.own_objects import checked_class
            return checked_class(cls, is_unmatchable)

        def vars(*o):
            """The attributes of an object whose class is of this code, or of this class; without an argument, locals()."""
            if not o:
                from agentjail.rail.namespaces import local_names
                return local_names(self, get_frame(1))
            from agentjail.rail.own_objects import variables_of
            return variables_of(*o)

        def globals():
            from agentjail.rail.namespaces import global_names
            return global_names(self, get_frame(1))

        def locals():
            from agentjail.rail.namespaces import local_names
            return local_names(self, get_frame(1))

        def open(*args, **keys):
            """Read a file of the caller's, or write one of /tmp or /output."""
            return self.confined_files().open(*args, **keys)

        return {"attribute": attribute, "getattr": getattr, "hasattr": hasattr, "setattr": setattr, "delattr": delattr,
                "type": make_type, "__import__": __import__, "eval": eval, "exec": exec, "compile": compile, "exit": exit, "vars": vars,
                "target": target, "class_of_pattern": class_of_pattern, "globals": globals, "locals": locals, "open": open}


native_sets = {}    # builtin set -> its native functions and constants; copied for agent code, never handed out


def make_native_set(builtin_set):
    out = native_sets[builtin_set] = {}
    real = builtins.__dict__
    words = MINIMAL + " " + STATEMENTS
    if builtin_set != "minimal":
        words += " " + STANDARD
    if builtin_set == "full":
        words += " " + FULL_NATIVE
    for name in words.split():
        if name in real:
            out[name] = real[name]
    for name, value in real.items():
        if isinstance(value, REAL_TYPE) and issubclass(value, BaseException):
            out[name] = value
    out.update({"None": None, "True": True, "False": False, "Ellipsis": ..., "NotImplemented": NotImplemented,
                "__debug__": __debug__, "__name__": "builtins", "__build_class__": real["__build_class__"]})
    return out


def read_attribute(o, name, texts=None):
    """o.name, with the guards of names that can only be judged at run time. Every getattr() of agent code, and of library code with names from
    the agent, ends here. texts: sources of agent code by file name."""
    if name in GUARDED:
        from agentjail.rail.format_guards import read_guarded
        return read_guarded(o, name)
    if name[:1] == "_" and (is_own_only(name) or name[:9] == "__code__."):
        from agentjail.rail.own_objects import read_own
        return read_own(o, name, texts)
    return REAL_GETATTR(o, name)


def exact_name(name):
    """The attribute name as a plain str: a subclass could answer each comparison differently."""
    if REAL_TYPE(name) is str:
        return name
    if not isinstance(name, str):
        raise TypeError("attribute name must be string, not '%s'" % REAL_TYPE(name).__name__)
    return str.__getitem__(name, slice(None))


def is_unmatchable(name):
    """May a positional class pattern not read this attribute?"""
    return forbidden_by(name) is not None or name in GUARDED or name[:2] == "__" or not name.isidentifier()


def check_class_namespace(namespace):
    """The dict of a class made by type(): annotations become source text in dataclasses, and libraries look names up in
    the module that __module__ names."""
    for key in namespace:
        if REAL_TYPE(key) is str and key[:2] == "__" == key[-2:] and key not in DEFINABLE and (
                key not in ("__module__", "__annotations__", "__qualname__")):
            raise attribute_error(key, "define")
    if namespace.get("__module__", "__main__") != "__main__":
        raise AttributeError("setting `__module__` is not allowed")
    notes = namespace.get("__annotations__", {})
    if REAL_TYPE(notes) is not dict or not all(REAL_TYPE(k) is str and k.isidentifier() for k in notes):
        raise AttributeError("`__annotations__` must be a dict of plain names")


def attribute_error(name, action="read"):
    e = AttributeError("%s the attribute `%s` is not allowed" % (ACTIONS[action], name))
    e.agentjail = forbidden_by(name, action != "read") or "PY-PRIVATE"
    return e


def import_error(message, rule, name, allowed=None, kind=ImportError):
    e = kind(message, name=name)
    e.agentjail, e.allowed = rule, allowed
    return e
