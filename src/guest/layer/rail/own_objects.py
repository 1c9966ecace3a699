"""The guard behind x.__dict__, x.__mro__, x.__traceback__ and similar attributes: it reads and sets them only on objects of agent code.
It shows none of a module, a library's class, or a function of a library or of the layer: these lead to real functions and modules.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import CODE_FACTS, GUARDED, forbidden_by, is_mangled
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_SETATTR, REAL_TYPE, ModuleType, attribute_error

FunctionType, MethodType, MappingProxyType = type(lambda: 0), type(attribute_error.__get__(0)), type(type.__dict__)
# The slots of the class `type` itself: no metaclass of agent code answers in their place.
SLOTS = {name: type.__dict__[name].__get__ for name in ("__module__", "__mro__", "__bases__", "__base__", "__dict__")}
real_subclasses, builtins_of = type.__subclasses__, FunctionType.__dict__["__builtins__"].__get__
names_of_module = ModuleType.__dict__["__dict__"].__get__
traceback_of = BaseException.__dict__["__traceback__"].__get__
WITHOUT_DATA = (type, ModuleType, super)    # the attributes of their instances are not data of code's own
# Classes of libraries whose instances are bags of attributes: (module, class).
BAGS = frozenset((("argparse", "Namespace"), ("types", "SimpleNamespace"), ("logging", "LogRecord")))
NOT_SHOWN = ("__dict__", "__weakref__")     # in the dict of a class: they read attributes of its instances
HINTS = {
    "__dict__": "`__dict__` is that of this code's own classes and objects alone: name the attributes that you need.",
    "__subclasses__": "`__subclasses__` is that of this code's own classes alone: keep a list of the classes that you need.",
    "__source__": "`__source__` is that of functions that this session's latest snippets define with `def`.",
    "__traceback__": "This exception was raised by the jail's own functions: use str(e), repr(e) or traceback.format_exc().",
}
MARK = "__agentjail_attr__"                 # a name that the built-in functions of agent code alone have


def read_own(o, name, texts=None):
    """o.name for a name of name_rules.OWN_ONLY, or AttributeError. texts: those of agent code by file name."""
    kind = REAL_TYPE(o)
    if is_mangled(name):
        if has_own_private(o, kind, name):
            return REAL_GETATTR(o, name)
    elif name == "__traceback__":
        if issubclass(kind, BaseException):
            found = traceback_of(o)
            shown = without_layer(found)
            if shown is not None or found is None:
                return shown
    elif name[:9] == "__code__.":
        while kind is MethodType:
            o = o.__func__
            kind = REAL_TYPE(o)
        if kind is FunctionType and name[9:] in CODE_FACTS:
            return REAL_GETATTR(o.__code__, name[9:])
    elif is_class(kind):
        module = SLOTS["__module__"](o)
        if name in ("__mro__", "__bases__", "__base__"):
            if module == "__main__" or __builtins__.get(o.__name__) is o and name != "__base__":
                return SLOTS[name](o)
        elif name == "__dict__":
            if module == "__main__":
                return MappingProxyType({k: v for k, v in SLOTS[name](o).items() if k not in NOT_SHOWN})
            if __builtins__.get(o.__name__) is o:   # `name in C.__dict__` for each class C of an __mro__
                return MappingProxyType({k: v for k, v in SLOTS[name](o).items() if forbidden_by(k) is None and k not in GUARDED})
        elif module == "__main__":
            if name == "__subclasses__":
                return lambda: real_subclasses(o)
    elif name == "__dict__":
        if has_own_data(kind) or is_own_function(o) or kind is ModuleType and is_own_module(o):
            return REAL_GETATTR(o, name)
    elif name in ("__self__", "__func__"):
        if kind is MethodType and is_own_function(o.__func__):
            return REAL_GETATTR(o, name)
    elif name in ("__defaults__", "__kwdefaults__"):
        if kind is MethodType:
            o = o.__func__
        if is_own_function(o):
            return REAL_GETATTR(o, name)
    elif name == "__source__" and texts and is_own_function(o):
        from agentjail.rail.source_text import source_of
        found = source_of(o.__code__, texts)
        if found is not None:
            return found
    raise refusal(name.partition(".")[0], "read")


def refusal(name, action):
    e = attribute_error(name, action)
    e.agentjail_hint = HINTS.get(name) or "`%s` is %s of classes, functions and objects of this code's own alone." % (name, action)
    return e


def variables_of(o):
    """vars(o): of an object whose class is of this code, or of such a class; functions keep theirs."""
    if REAL_TYPE(o) is not FunctionType:
        try:
            return read_own(o, "__dict__")
        except AttributeError:
            pass
    raise TypeError("vars() is not allowed for %r: it takes objects and classes of this code" % REAL_TYPE(o).__name__)


def is_class(kind):
    return type in SLOTS["__mro__"](kind)


def is_own_class(o):
    return is_class(REAL_TYPE(o)) and SLOTS["__module__"](o) == "__main__"


def is_own_module(o):
    """Is this a module that code made with types.ModuleType()? Those of the import system have a __spec__, and the proxies have no such name."""
    names = names_of_module(o)
    return names.get("__spec__", o) is None and names is not sys.modules["__main__"].__dict__


def has_own_private(o, kind, name):
    """Is `_Class__name` private to a class of agent code?"""
    owner = name[1:].partition("__")[0]
    return any([SLOTS["__module__"](c) == "__main__" and c.__name__.lstrip("_") == owner
                for c in SLOTS["__mro__"](o if is_class(kind) else kind)])


def is_own_function(o):
    return REAL_TYPE(o) is FunctionType and MARK in builtins_of(o)


def has_own_data(kind):
    """Are the attributes of an instance of this class data of agent code?"""
    above, module = SLOTS["__mro__"](kind), SLOTS["__module__"](kind)
    if any([base in above for base in WITHOUT_DATA]):
        return False
    return module == "__main__" or (module, kind.__name__) in BAGS or module == "builtins" and BaseException in above


def without_layer(tb):
    """The traceback without the frames of the layer: code that calls a guarded function does not see the guard's frame."""
    kept, at = [], tb
    while at is not None:
        kept.append(at)
        at = at.tb_next
    if all([at.tb_frame.f_builtins is not __builtins__ for at in kept]):
        return tb
    out = None
    for at in reversed(kept):
        if at.tb_frame.f_builtins is not __builtins__:
            out = REAL_TYPE(at)(out, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return out


# --- setting ---

class Target:
    """What stands for x in `x.__class__ = value`: the check turns this statement into `Target(x, "__class__").value = value`."""
    __slots__ = ("_o", "_name")

    def __init__(self, o, name):
        self._o, self._name = o, name

    def _set(self, value):
        o, name = self._o, self._name
        if not may_set(o, name, value):
            raise refusal(name, "set")
        REAL_SETATTR(o, name, value)

    value = property(None, _set)


def may_set(o, name, value):
    kind = REAL_TYPE(o)
    if is_mangled(name):
        return has_own_private(o, kind, name)
    if name == "__class__":     # from one class of the code's own to another; a mock has a property of this name
        if SLOTS["__module__"](kind) == "unittest.mock":
            return is_class(REAL_TYPE(value))
        return has_own_data(kind) and is_own_class(kind) and is_own_class(value) and has_own_data(value)
    if name == "__dict__":
        return (has_own_data(kind) or is_own_function(o)) and isinstance(value, dict)
    if name == "__module__":    # of a class it says where libraries look names up
        return REAL_TYPE(value) is str and (is_own_function(o) or value == "__main__" and is_own_class(o))
    if name == "__annotations__":
        return (is_own_function(o) or is_own_class(o)) and REAL_TYPE(value) is dict and all(
            [REAL_TYPE(k) is str and k.isidentifier() for k in value])
    return is_own_function(o)   # __defaults__, __kwdefaults__


# --- positional class patterns ---

class Matching(type):
    """The class of stand-ins for classes whose metaclass, which code may change at any time, could answer for their __match_args__."""

    def __instancecheck__(cls, o):
        return isinstance(o, cls.stands_for)


def checked_class(cls, forbidden):
    """The class for the pattern `case C(a, b)`, which reads the attributes that C.__match_args__ names: plain names alone."""
    kind = REAL_TYPE(cls)
    if not is_class(kind):
        return cls
    names = REAL_GETATTR(cls, "__match_args__", None)
    if names is None:
        return cls if kind is type else Matching(cls.__name__, (), {"__match_args__": (), "stands_for": cls})
    if REAL_TYPE(names) is not tuple or any([REAL_TYPE(n) is not str or forbidden(n) for n in names]):
        e = TypeError("the `__match_args__` of %s are not allowed in a pattern: they must be plain names" % cls.__name__)
        e.agentjail = "PY-MATCHCLASS"
        raise e
    for above in SLOTS["__mro__"](cls) if kind is type else ():
        if "__match_args__" in SLOTS["__dict__"](above):
            if SLOTS["__dict__"](above)["__match_args__"] is names:
                return cls  # the pattern will find the same: no metaclass and no descriptor answers
            break
    return Matching(cls.__name__, (), {"__match_args__": names, "stands_for": cls})
