"""A proxy of the module `__main__` for agent code and libraries: reading and setting an attribute reaches the snippet's namespace.
Its `__dict__` is not that namespace, since libraries can write any name into an object's `__dict__` without a guard.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import DEFINABLE, forbidden_by
from agentjail.rail.builtin_guards import ModuleType, attribute_error, exact_name


def namespace():
    return sys.modules["__main__"].__dict__


def settable(name, action):
    name = exact_name(name)
    if name[:2] == "__" == name[-2:] and name not in DEFINABLE:
        raise attribute_error(name, action)
    return name


class MainProxy(ModuleType):
    """The module that `import __main__` returns."""

    def __getattr__(self, name):
        name, names = exact_name(name), namespace()
        if forbidden_by(name) is not None:
            raise attribute_error(name)
        if name in names:
            return names[name]
        if "__getattr__" in names:
            return names["__getattr__"](name)
        raise AttributeError("module '__main__' has no attribute %r" % name)

    def __setattr__(self, name, value):
        namespace()[settable(name, "set")] = value

    def __delattr__(self, name):
        if namespace().pop(settable(name, "delete"), self) is self:
            raise AttributeError("module '__main__' has no attribute %r" % name)

    def __dir__(self):
        return [name for name in namespace() if name[:12] != "__agentjail_"]


MAIN = MainProxy("__main__")
