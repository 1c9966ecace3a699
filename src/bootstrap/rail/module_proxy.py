"""Imports by agent code, and the views it gets: fresh module objects with the public, allowed names of a module.
It refuses modules that the policy does not name, however they are reached; imports made by libraries it never sees.

A view is a plain module object, so reading a name from it costs what it always costs, and assigning to it
(`json.dumps = ...`) changes the view alone. Classes and functions in it are the real ones. A module in it becomes a view
when it is first asked for: numpy holds 140, and few are ever used.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.rail.guards import ABSENT, REAL_GETATTR, REAL_IMPORT, ModuleType, not_allowed
from agentjail.rail.patches import DANGEROUS_ORIGINS, HIDDEN, KEPT_DUNDERS, harden, replacement


class Views:
    """The views of one session, one per module."""

    def __init__(self, guards):
        self.guards = guards
        self.allowed = guards.allowed
        self.views = {}
        self.later = {}     # name of a view -> names in it that become views when asked for

    # --- the import statement ---

    def import_(self, name, fromlist, level):
        """What __import__ does: the top module for `import a.b`, the last one for `from a.b import c`."""
        if type(name) is not str:
            raise TypeError("module name must be a string")
        if level:
            raise not_allowed("Relative imports are not allowed: a snippet is in no package", "PY-RELIMPORT")
        names = tuple(fromlist or ())
        if not all([type(n) is str for n in names]):
            raise TypeError("names to import must be strings")
        if name == "__future__":
            return REAL_IMPORT(name, None, None, names)
        allowed = self.allowed
        if not allowed.module(name):
            wanted = [n for n in names if allowed.module(name + "." + n)]
            if not names or len(wanted) != len(names):
                raise self.refusal(name if not names or not allowed.parent(name) else name + "." + names[0])
        if name == "builtins":
            return self.builtins_view()
        real = self.load(name, names)
        self.record(name)
        if not names:
            top = name.partition(".")[0]
            view = self.view(sys.modules[top], top)
            self.link(top, name)
            return view
        view = self.view(real, name)
        for n in names:
            if n != "*":
                self.check_member(view, name, n)
            elif "__all__" not in view.__dict__:
                for key in self.later.get(name, ()):
                    REAL_GETATTR(view, key)
        return view

    def load(self, name, names):
        real = REAL_IMPORT(name, None, None, ("__name__",))
        for n in names:
            full = name + "." + n
            if full not in sys.modules and n[:1] != "_" and n != "*" and (
                    not hasattr(real, n) and hasattr(real, "__path__") and self.allowed.module(full)):
                try:
                    REAL_IMPORT(full)
                except ModuleNotFoundError as e:
                    if e.name != full:
                        raise
        harden(self.guards)
        return real

    def check_member(self, view, name, n):
        """IMPORT_FROM falls back to sys.modules when the attribute is absent: so it must not be absent."""
        full = name + "." + n
        try:
            value = REAL_GETATTR(view, n)
        except AttributeError as e:
            if self.is_module(name, n) and not self.allowed.module(full):
                raise self.refusal(full) from None
            raise ImportError("cannot import name %r from %r (%s)" % (n, name, e)) from None
        if type(value) is ModuleType:
            self.record(full)
        if n not in view.__dict__:
            view.__dict__[n] = value

    def is_module(self, name, n):
        real = sys.modules.get(name)
        return name + "." + n in sys.modules or isinstance(getattr(real, n, None), ModuleType)

    def record(self, name):
        if name not in self.guards.imported:
            self.guards.imported.append(name)

    def refusal(self, name):
        return not_allowed("Import of %s is not allowed. %s (agentjail --allow-import %s adds it)" % (
            name, self.allowed.text(), name), "PY-IMPORT", list(self.allowed.patterns))

    def builtins_view(self):
        self.record("builtins")
        view = ModuleType("builtins")
        view.__dict__.update({k: v for k, v in self.guards.dict.items() if k[:2] != "__"})
        return view

    # --- views ---

    def view(self, real, name):
        """The view of a module under the name it was asked for."""
        view = self.views.get(name)
        if view is not None:
            return view
        view = self.views[name] = ModuleType(name, getattr(real, "__doc__", None))
        view.__dict__.pop("__loader__", None)
        view.__dict__.pop("__spec__", None)
        inside, later = view.__dict__, set()
        whole = self.allowed.module(name)  # else only a way to an allowed submodule
        if whole:
            for key, value in tuple(real.__dict__.items()):
                if key[:1] != "_" or key in KEPT_DUNDERS:
                    if isinstance(value, ModuleType) and HIDDEN.get((name, key)) is None:
                        if self.named(name, key, value) is not None:
                            later.add(key)
                        continue
                    ok, value = self.filter(real, name, key, value)
                    if ok:
                        inside[key] = value
            names = real.__dict__.get("__all__")
            if names is not None:
                lazy = "__getattr__" in real.__dict__
                inside["__all__"] = [n for n in names if n in inside or n in later or (lazy and n[:1] != "_")]
        inside["__getattr__"] = self.missing(real, name, whole)
        if later:
            self.later[name] = later
            inside["__dir__"] = lambda: (set(inside) | later) - {"__dir__"}
        return view

    def missing(self, real, name, whole):
        def __getattr__(key):
            if type(key) is not str or key[:1] == "_":
                raise AttributeError("`%s.%s` is private and not allowed" % (name, key))
            if name + "." + key in sys.modules and self.allowed.module(name + "." + key):
                value = self.views[name].__dict__[key] = self.view(sys.modules[name + "." + key], name + "." + key)
                return value
            if not whole:
                raise AttributeError("`%s` is not allowed, only modules below it are" % name)
            value = REAL_GETATTR(real, key)  # PEP 562: lazily made names of packages
            ok, value = self.filter(real, name, key, value)
            if not ok:
                raise AttributeError(value)
            if type(value) is ModuleType:
                self.views[name].__dict__[key] = value
            return value
        return __getattr__

    def filter(self, real, name, key, value):
        """(True, what to show) or (False, the reason)."""
        why = HIDDEN.get((name, key)) or HIDDEN.get((name, "*"))
        if why is not None:
            return False, "`%s.%s` is not allowed: %s" % (name, key, why)
        if isinstance(value, ModuleType):
            full = self.named(name, key, value)
            if full is not None:
                return True, self.view(value, full)
            full = name + "." + key
            return False, "`%s.%s` is a module that is not allowed%s" % (name, key, (
                " (agentjail --allow-import %s adds it)" % full if sys.modules.get(full) is value else ""))
        new = replacement(value, self.guards)
        if new is not None:
            return True, new
        origin = getattr(value, "__module__", None)
        if type(origin) is str and callable(value):
            root = origin.partition(".")[0]
            if root in DANGEROUS_ORIGINS and name.partition(".")[0] not in DANGEROUS_ORIGINS and (
                    not self.allowed.module(root)):
                return False, "`%s.%s` belongs to %s, which is not allowed" % (name, key, root)
            if origin in ("builtins", "io", "_io") and self.reflective(value):
                mine = self.guards.dict.get(value.__name__)
                if mine is None:
                    return False, "`%s.%s` is not available" % (name, key)
                return True, mine
        return True, value

    def named(self, name, key, value):
        """The name under which this module is allowed, or None."""
        for full in (name + "." + key, value.__name__):
            if self.allowed.module(full) and sys.modules.get(full) is value:
                return full
        return None

    def reflective(self, value):
        """Is it one of the built-in functions that agent code gets guarded or not at all?"""
        name = getattr(value, "__name__", None)
        return (name in ABSENT or name in ("getattr", "setattr", "delattr", "hasattr", "__import__")) and (
            value is getattr(builtins, name, None))

    def link(self, top, name):
        """Make a.b.c readable from the view of a, after `import a.b.c`."""
        parts = name.split(".")
        for i in range(1, len(parts)):
            parent, full = ".".join(parts[:i]), ".".join(parts[:i + 1])
            real = sys.modules.get(full)
            if isinstance(real, ModuleType):
                child = self.view(real, full)
                self.view(sys.modules[parent], parent).__dict__[parts[i]] = child
