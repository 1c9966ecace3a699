"""globals() and locals() of agent code: views of the namespace, in which the names that the layer relies on stay as they are.
They lead to no other dict: a function of a library that calls them gets the snippet's own namespace.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import DEFINABLE

CO_NEWLOCALS = 2    # of the code of a function, as inspect.CO_NEWLOCALS
MISSING = object()


def is_ours(name):
    return type(name) is str and name[:12] == "__agentjail_"


def make_view(names):
    """A dict by type alone: each method reads and writes `names`, which no attribute of the view holds."""
    def check(key):
        # Not only a subclass of str: any object may be equal to a reserved name, and a dict keeps the name and takes the value.
        if type(key) is not str or key[:2] == "__" == key[-2:] and key not in DEFINABLE:
            e = AttributeError("Setting the name `%s` is not allowed" % (key if type(key) is str else type(key).__name__))
            e.agentjail = "PY-NAME"
            raise e
        return key

    def plain():
        return {key: value for key, value in names.items() if not is_ours(key)}

    class Names(dict):
        __slots__ = ()

        def __getitem__(self, key):
            return names[key]

        def __setitem__(self, key, value):
            names[check(key)] = value

        def __delitem__(self, key):
            del names[check(key)]

        def __contains__(self, key):
            return key in names

        def __iter__(self):
            return iter(plain())

        def __reversed__(self):
            return reversed(plain())

        def __len__(self):
            return len(plain())

        def __repr__(self):
            return repr(plain())

        def __eq__(self, other):
            return self is other or plain() == other

        def __or__(self, other):
            return plain() | dict(other)

        def __ror__(self, other):
            return dict(other) | plain()

        def __ior__(self, other):
            self.update(other)
            return self

        def get(self, key, default=None):
            return names.get(key, default)

        def keys(self):
            return plain().keys()

        def values(self):
            return plain().values()

        def items(self):
            return plain().items()

        def copy(self):
            return plain()

        def update(self, *args, **more):
            for key, value in dict(*args, **more).items():
                self[key] = value

        def setdefault(self, key, default=None):
            if key not in names:
                self[key] = default
            return names[key]

        def pop(self, key, default=MISSING):
            return names.pop(check(key)) if default is MISSING else names.pop(check(key), default)

        def popitem(self):
            raise KeyError("a namespace gives away no name that was not asked for")

        clear = popitem

    Names.__name__ = Names.__qualname__ = "dict"
    Names.__module__ = "builtins"
    return Names()


def global_names(guards, frame):
    """globals(): the view of the snippet's namespace, or the dict that the code passed to exec() itself."""
    main = guards.namespace()
    if "__agentjail_attr__" in frame.f_builtins and frame.f_globals is not main:
        return frame.f_globals
    if guards.global_view is None:
        guards.global_view = make_view(main)
    return guards.global_view


def local_names(guards, frame):
    """locals(): of a function a copy, of a class body and of the top level a view."""
    # Text that libraries run in the snippet's namespace, as dataclasses do, has locals of its own: its file is <string>.
    if "__agentjail_attr__" not in frame.f_builtins or frame.f_locals is frame.f_globals or frame.f_code.co_filename == "<string>":
        return global_names(guards, frame)
    if frame.f_code.co_flags & CO_NEWLOCALS:
        return {key: value for key, value in frame.f_locals.items() if not is_ours(key)}
    return make_view(frame.f_locals)
