"""Patches of copy, email, enum, functools and gettext, whose functions read and write `x.__dict__` and attributes of any argument x.
They reject modules, and classes where a class is not a useful argument: no reserved name gets into a namespace that the check relies on.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import forbidden_by
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_TYPE, ModuleType, attribute_error, exact_name


def no_module(o):
    if issubclass(REAL_TYPE(o), ModuleType):
        raise TypeError("the state of a module is not allowed to be set")
    return o


def patch_copy(copy, guards):
    """copy.copy() and deepcopy() set the state that __reduce_ex__ returns; reject modules. deepcopy() copies methods in C by getattr(), with
    arguments that its memo can replace."""
    from agentjail.rail.patches import checked_getattr
    real = copy._reconstruct
    if real.__module__ != "copy":
        return

    def _reconstruct(x, memo, func, args, state=None, *rest, **keys):
        if func is REAL_GETATTR:
            func = checked_getattr
        if state is None:
            return real(x, memo, func, args, None, *rest, **keys)
        return real(x, memo, lambda *args: no_module(func(*args)), args, state, *rest, **keys)
    copy._reconstruct = _reconstruct


def patch_functools(functools, guards):
    """functools.cached_property reads and writes instance.__dict__ under any name, of any object."""
    cls = functools.cached_property
    real = cls.__get__
    if real.__module__ != "functools":
        return

    def __get__(self, instance, owner=None):
        if instance is not None:
            name = self.attrname
            if issubclass(REAL_TYPE(instance), (REAL_TYPE, ModuleType)):
                raise TypeError("a cached_property is not allowed for modules and classes")
            if name is not None:
                self.attrname = name = exact_name(name)
                if forbidden_by(name) is not None:
                    raise attribute_error(name)
        return real(self, instance, owner)
    cls.__get__ = __get__


def patch_enum(enum, guards):
    """enum.property of Python 3.12 and later reads an attribute of an object, both of which code may set."""
    cls = enum.property
    real = cls.__get__
    if real.__module__ != "enum" or "_attr_type" not in real.__code__.co_names:
        return

    def __get__(self, instance, ownerclass=None):
        if self.fget is None:
            self.name = exact_name(self.name)
            if forbidden_by(self.name) is not None or self.name == "obj":
                raise attribute_error(self.name)
        return real(self, instance, ownerclass)
    cls.__get__ = __get__


def patch_policy(module, guards):
    """email's Policy.clone() sets attributes of the object that self.__class__.__new__() returns."""
    base, real = module._PolicyBase, object.__setattr__

    class ForPolicies:
        """Replaces `object`."""

        @staticmethod
        def __setattr__(o, name, value):
            name = exact_name(name)
            if not issubclass(REAL_TYPE(o), base) or forbidden_by(name, True) is not None:
                raise attribute_error(name, "set")
            real(o, name, value)
    module.object = ForPolicies


def patch_gettext(gettext, guards):
    """install() writes `_` into builtins: use those of agent code."""
    from agentjail.rail.patches import library_getattr

    def install(self, names=None):
        own, names = guards.module.__dict__, [exact_name(name) for name in names or ()]
        own["_"] = self.gettext
        own.update({name: library_getattr(self, name) for name in ("gettext", "ngettext", "npgettext", "pgettext") if name in names})
    gettext.NullTranslations.install = install
