"""What agent code gets in place of the built-in functions: the builtin sets and the guarded few.
It refuses to hand out anything that reads files, frames or names; native functions stay native where they can.

A wrapper costs time in a loop, so only functions that take an attribute or module *name* are wrapped. The native
ones are harmless since their __self__ (the real builtins module) can be read neither in source nor by getattr.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.rail.name_rules import GUARDED, refused

ModuleType = type(sys)
REAL_IMPORT, REAL_GETATTR, REAL_SETATTR, REAL_DELATTR, REAL_TYPE = (
    builtins.__import__, builtins.getattr, builtins.setattr, builtins.delattr, type)

# tinyAgent's 21 names, the floor that existing agents are written for ...
MINIMAL = "abs all any bool dict enumerate float int len list max min print range round sorted str sum tuple type zip"
# ... and what class, def, with and try statements need to be of use; exceptions and constants come with every set.
STATEMENTS = "object super property staticmethod classmethod isinstance issubclass set frozenset repr"
# Everything else without I/O or reflection.
STANDARD = ("aiter anext ascii bin bytearray bytes callable chr complex dir divmod filter format hash hex id iter map "
            "memoryview next oct ord pow reversed slice")
# Why these are in no set but full. Also the hint after a NameError.
ABSENT = {
    "open": "files are not available; data comes in as input variables",
    "eval": "call the function itself, or use ast.literal_eval where ast is allowed",
    "exec": "write the code itself",
    "compile": "write the code itself",
    "input": "there is nobody to answer; data comes in as input variables",
    "globals": "keep the values in a dict of your own",
    "locals": "keep the values in a dict of your own",
    "vars": "name the attributes that you need",
    "breakpoint": "print what you want to see",
    "help": "print(x.__doc__) shows a documentation string",
    "exit": "call final_answer(x), or let the code end",
    "quit": "call final_answer(x), or let the code end",
    "license": "", "copyright": "", "credits": "",
}
FULL_NATIVE = "open input globals locals vars"  # needs no check; eval, exec and compile are checked, see dynamic.py


class Allowed:
    """The import patterns of the policy: `numpy` is that module, `numpy.*` it and all below, `*` is all."""

    def __init__(self, patterns):
        self.patterns = patterns
        self.exact = set()
        self.trees = []
        self.all = False
        for p in patterns:
            if p == "*":
                self.all = True
            elif p[-2:] == ".*":
                self.exact.add(p[:-2])
                self.trees.append(p[:-1])
            else:
                self.exact.add(p)

    def module(self, name):
        """May agent code import the module of this full name?"""
        if name == "agentjail" or name[:10] == "agentjail.":
            return False  # the layer itself; `*` means the modules of the agent
        return self.all or name in self.exact or (
            name == "__future__" or bool(self.trees) and name.startswith(tuple(self.trees)))

    def parent(self, name):
        """Is something below it allowed? `import a.b` needs a way through a, and gets no more than that."""
        below = name + "."
        for p in self.exact:
            if p.startswith(below):
                return True
        return False

    reaches = module

    def text(self):
        if not self.patterns:
            return "Allowed: nothing"
        shown = self.patterns[:40]
        return "Allowed: " + ", ".join(shown) + (", …" if len(self.patterns) > 40 else "")


class Guards:
    """The guarded functions of one session. Closures over it are all that agent code ever holds."""

    def __init__(self, allowed, level, module_hooks):
        self.allowed = allowed
        self.level = level
        self.module_hooks = module_hooks    # module name -> function to call once after that module was loaded
        self.imported = []      # what agent code really imported, in order
        self.views = None       # views.Views, when the first import happens
        self.namespace = None

    def builtins(self):
        """The dict that becomes __builtins__ of agent code."""
        out = dict(natives.get(self.level) or native(self.level))
        guard = self.make()
        out["__import__"] = guard["import_"]
        if self.level != "minimal":
            for name in ("getattr", "setattr", "delattr", "hasattr"):
                out[name] = guard[name]
        if self.level == "full":
            from agentjail.rail.dynamic_code import checked_dynamic
            out.update(checked_dynamic(self))
        out["__agentjail_attr__"] = guard["attr"]
        out["__agentjail_type__"] = guard["type_"]
        self.dict = out
        return out

    def make(self):
        def attribute(o, name):
            """o.name for the names of GUARDED, and the end of every guarded getattr."""
            if name in GUARDED:
                from agentjail.rail.format_guards import guarded_attribute
                return guarded_attribute(o, name)
            return REAL_GETATTR(o, name)

        def getattr(o, name, *default):
            name = exact(name)
            if refused(name) is not None or (name[:1] == "_" and REAL_TYPE(o) is ModuleType):
                if default:
                    return default[0]
                raise denied(o, name)
            if len(default) == 1:
                try:
                    return attribute(o, name)
                except AttributeError:
                    return default[0]
            if default:
                raise TypeError("getattr expected at most 3 arguments, got %d" % (2 + len(default)))
            return attribute(o, name)

        def hasattr(o, name):
            name = exact(name)
            if refused(name) is not None:
                return False
            try:
                REAL_GETATTR(o, name)
            except AttributeError:
                return False
            return True

        def setattr(o, name, value):
            name = exact(name)
            if refused(name, True) is not None:
                raise denied(o, name, "set")
            REAL_SETATTR(o, name, value)

        def delattr(o, name):
            name = exact(name)
            if refused(name, True) is not None:
                raise denied(o, name, "delete")
            REAL_DELATTR(o, name)

        def type_(*args, **kw):
            if len(args) == 3 and REAL_TYPE(args[2]) is dict:
                from agentjail.rail.name_rules import DEFINABLE
                for key in args[2]:
                    if REAL_TYPE(key) is str and key[:2] == "__" == key[-2:] and key not in DEFINABLE and (
                            key not in ("__module__", "__annotations__", "__qualname__")):
                        raise denied(args[0], key, "define")
                if "__annotations__" in args[2] or "__module__" in args[2]:
                    check_namespace(args[2])
            elif len(args) == 3:
                raise TypeError("type() argument 3 must be dict, not " + REAL_TYPE(args[2]).__name__)
            new = REAL_TYPE(*args, **kw)
            return new

        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            if name == "typing" and REAL_TYPE(fromlist) is list and not fromlist:
                # The interpreter itself, for `class A[T]`; it takes the module from sys.modules, not from our answer.
                REAL_IMPORT("typing")
                return None
            views = self.views
            if views is None:
                from agentjail.rail.module_proxy import Views
                views = self.views = Views(self)
            return views.import_(name, fromlist, level)

        return {"attr": attribute, "getattr": getattr, "hasattr": hasattr, "setattr": setattr, "delattr": delattr,
                "type_": type_, "import_": __import__}


natives = {}    # level -> its names that need no guard; never handed out


def native(level):
    out = natives[level] = {}
    real = builtins.__dict__
    words = MINIMAL + " " + STATEMENTS
    if level != "minimal":
        words += " " + STANDARD
    if level == "full":
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


def exact(name):
    """The attribute name as a plain str: a subclass could answer differently each time it is asked."""
    if REAL_TYPE(name) is str:
        return name
    if not isinstance(name, str):
        raise TypeError("attribute name must be string, not '%s'" % REAL_TYPE(name).__name__)
    return str.__getitem__(name, slice(None))


def check_namespace(namespace):
    """Annotations become source text in dataclasses; __module__ says where libraries look names up."""
    if namespace.get("__module__", "__main__") != "__main__":
        raise AttributeError("setting `__module__` is not allowed")
    notes = namespace.get("__annotations__", {})
    if REAL_TYPE(notes) is not dict or not all(REAL_TYPE(k) is str and k.isidentifier() for k in notes):
        raise AttributeError("`__annotations__` must be a dict of plain names")


def denied(o, name, what="read"):
    e = AttributeError("%s the attribute `%s` is not allowed" % (
        {"read": "Reading", "set": "Setting", "delete": "Deleting", "define": "Defining"}[what], name))
    e.agentjail = refused(name, what != "read") or "PY-PRIVATE"
    return e


def not_allowed(message, rule, allowed=None):
    e = ImportError(message)
    e.agentjail, e.allowed = rule, allowed
    return e
