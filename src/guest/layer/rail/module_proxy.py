"""Imports by agent code, and what they return: proxies, fresh module objects with the public, allowed names of a module.
The import guard refuses modules that the policy does not name, on every way to them; imports by libraries are not affected.

A proxy is a plain module object, so reading a name from it costs what it always costs, and assigning to it
(`json.dumps = ...`) changes the proxy alone. Classes and functions in it are the real ones. A module in it becomes a
proxy when code first reads it: numpy holds 140 modules, and few of them are ever used.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import DEFINABLE
from agentjail.rail.builtin_guards import ABSENT, BY_NAME, REAL_GETATTR, REAL_IMPORT, ModuleType, import_error
from agentjail.rail.hidden import DANGEROUS_ORIGINS, HIDDEN, NO_FILES, NO_PROCESS
from agentjail.rail.main_proxy import MAIN
from agentjail.rail.patches import LOADED_WITH, PUBLIC_DUNDERS, patch_loaded_modules
from agentjail.rail.replacements import replacement
from agentjail.rail.shown import CHANGING, MADE, PASSED_ON, SHOWN, SysProxy, hidden_reason

MAX_REFUSED, MAX_NAME = 100, 200    # refusals that the claim lists, characters of each name
OF_OS = ("posix", "os")
GUARDED_BUILTINS = BY_NAME + ("__import__",)


def hidden_text(name, key, why):
    return "`%s.%s` is not allowed: %s" % (name, key, why)


class ModuleProxies:
    """The proxies of one session, one for each module name."""

    def __init__(self, guards):
        self.guards = guards
        self.imports = guards.imports
        self.proxies = {}       # full name -> proxy
        self.submodules = {}    # full name -> names in that proxy that become proxies when code reads them
        self.table = {"__main__": MAIN}     # what agent code sees as sys.modules

    # --- the import statement ---

    def import_statement(self, name, fromlist, level):
        """The value of __import__: the top module for `import a.b`, the last one for `from a.b import c`."""
        if type(name) is not str:
            raise TypeError("module name must be a string")
        if level:
            self.record_refusal("." * min(level, 99) + name)
            raise import_error("Relative imports are not allowed: a snippet is in no package", "PY-RELIMPORT", name)
        names = tuple(fromlist or ())
        if not all([type(n) is str for n in names]):
            raise TypeError("names to import must be strings")
        if name == "__future__":
            return REAL_IMPORT(name, None, None, names)
        imports = self.imports
        if not imports.allows(name):
            allowed = [n for n in names if imports.allows(name + "." + n)]
            if not names or len(allowed) != len(names):
                raise self.import_refusal(name if not names or not imports.allows_below(name) else name + "." + names[0])
        if name == "__main__":  # the snippet itself
            return MAIN if "*" not in names else self.names_of_star(sys.modules[name], name)
        if name == "builtins":
            self.record_import(name)
            self.table[name] = self.guards.module
            return self.guards.module if "*" not in names else self.names_of_star(self.guards.module, name)
        real = self.load_module(name, names)
        self.record_import(name)
        if not names:
            top = name.partition(".")[0]
            proxy = self.proxy_of(sys.modules[top], top)
            self.link_submodules(name)
            return proxy
        proxy = self.proxy_of(real, name)
        for n in names:
            if n != "*":
                self.check_imported_name(proxy, name, n)
            else:
                return self.names_of_star(proxy, name)
        return proxy

    def names_of_star(self, proxy, name):
        """The module that `from x import *` takes its names from: no proxy, since code may have set __all__ and __getattr__ of that."""
        names = proxy.__dict__.get("__all__")
        if names is None:
            for key in self.submodules.get(name, ()):
                REAL_GETATTR(proxy, key)
            names = [key for key in proxy.__dict__ if key[:1] != "_"]
        out, names = ModuleType(name), list(names)
        if not all([type(n) is str and (n[:2] != "__" or n in DEFINABLE) for n in names]):
            raise import_error("`%s.__all__` holds names that are not allowed" % name, "PY-NAME", name)
        out.__dict__.update({n: REAL_GETATTR(proxy, n) for n in names}, __all__=names)
        return out

    def load_module(self, name, names):
        real = REAL_IMPORT(name, None, None, ("__name__",))
        for n in names:
            full = name + "." + n
            if full not in sys.modules and n[:1] != "_" and n != "*" and self.hidden_row(name, n) is None and (
                    not hasattr(real, n) and hasattr(real, "__path__") and self.imports.allows(full)):
                try:
                    REAL_IMPORT(full)
                except ModuleNotFoundError as e:
                    if e.name != full:
                        raise
        if name in LOADED_WITH:
            for other in LOADED_WITH[name]:
                REAL_IMPORT(other)
        patch_loaded_modules(self.guards)
        return real

    def check_imported_name(self, proxy, name, n):
        """IMPORT_FROM falls back to sys.modules for an absent attribute: make the attribute present, or raise."""
        full = name + "." + n
        try:
            value = REAL_GETATTR(proxy, n)
        except AttributeError as e:
            if self.is_submodule(name, n) and not self.imports.allows(full):
                raise self.import_refusal(full) from None
            absent = ImportError("cannot import name %r from %r (%s)" % (n, name, e))
            absent.agentjail_hint = e.__dict__.get("agentjail_hint")
            raise absent from None
        if type(value) is ModuleType:
            self.record_import(full)
        if n not in proxy.__dict__ and n not in CHANGING.get(name, ()):
            proxy.__dict__[n] = value

    def is_submodule(self, name, n):
        real = sys.modules.get(name)
        return name + "." + n in sys.modules or isinstance(getattr(real, n, None), ModuleType)

    def record_import(self, name):
        if name not in self.guards.imported:
            self.guards.imported.append(name)

    def record_refusal(self, name):
        """Keep the module, and the line of the agent's own code that asked for it."""
        refused, frame, line = self.guards.refused, sys._getframe(1), None
        while frame is not None and line is None:
            # Text that was passed to exec has lines of its own: the line of the call is meant.
            if frame.f_builtins is self.guards.builtins and frame.f_code.co_filename not in ("<string>", "<exec>"):
                line = frame.f_lineno
            frame = frame.f_back
        if len(refused) < MAX_REFUSED:
            refused[name[:MAX_NAME], line] = None

    def import_refusal(self, name):
        from agentjail.check.import_advice import import_hint
        self.record_refusal(name)
        e = import_error("Import of %s is not allowed" % name, "PY-IMPORT", name, list(self.imports.patterns), self.imports.error)
        e.agentjail_hint = import_hint(self.imports, name)
        return e

    # --- proxies ---

    def proxy_of(self, real, name):
        """The proxy of a module under the name by which code reached it."""
        proxy = self.proxies.get(name)
        if proxy is not None:
            return proxy
        proxy = (SysProxy if name == "sys" else ModuleType)(name, getattr(real, "__doc__", None))
        self.proxies[name] = self.table[name] = proxy
        if name == "ast":
            from agentjail.check import tree_classes  # noqa: F401 (freezes the classes before code can reach them)
        proxy.__dict__.pop("__loader__", None)
        proxy.__dict__.pop("__spec__", None)
        members, submodules = proxy.__dict__, set()
        is_allowed = self.imports.allows(name)  # else the proxy only leads to an allowed submodule
        shown, changing = SHOWN.get(name, ((),))[0], CHANGING.get(name, ())
        if is_allowed:
            for key, value in tuple(real.__dict__.items()):
                if (key[:1] != "_" or key in PUBLIC_DUNDERS or key in shown) and key not in changing:
                    if isinstance(value, ModuleType) and HIDDEN.get((name, key)) is None:
                        if self.allowed_name(name, key, value) is not None:
                            submodules.add(key)
                        continue
                    ok, value = self.filter_member(real, name, key, value)
                    if ok:
                        members[key] = value
            names = real.__dict__.get("__all__")
            if names is not None:
                lazy = "__getattr__" in real.__dict__
                members["__all__"] = [n for n in names if n in members or n in submodules or (lazy and n[:1] != "_")]
        members["__getattr__"] = self.lazy_getattr(real, name, is_allowed)
        if submodules:
            self.submodules[name] = submodules
            members["__dir__"] = lambda: (set(members) | submodules) - {"__dir__"}
        return proxy

    def lazy_getattr(self, real, name, is_allowed):
        """The proxy's __getattr__ (PEP 562): submodules, and names that a package makes when they are read."""
        def __getattr__(key):
            if type(key) is not str or key[:1] == "_":
                raise AttributeError("`%s.%s` is private and not allowed" % (name, key))
            full = name + "." + key
            if full in sys.modules and self.imports.allows(full):
                value = self.proxies[name].__dict__[key] = self.proxy_of(sys.modules[full], full)
                return value
            if not is_allowed:
                raise AttributeError("`%s` is not allowed, only modules below it are" % name)
            if name == "sys" and key in PASSED_ON:
                return REAL_GETATTR(real, key)
            why = self.hidden_row(name, key)    # before the module makes the value: that may need what a jail has not
            ok, value = (False, hidden_text(name, key, why)) if why is not None else self.filter_member(real, name, key, REAL_GETATTR(real, key))
            if not ok:
                from agentjail.check.import_advice import PARTS
                e = AttributeError(value)
                e.agentjail_hint = PARTS.get(name)
                raise e
            if type(value) is ModuleType:
                self.proxies[name].__dict__[key] = value
            return value
        return __getattr__

    def filter_member(self, real, name, key, value):
        """(True, the value to show) or (False, the reason)."""
        origin = getattr(value, "__module__", None)
        why = self.hidden_row(name, key) or HIDDEN.get((name, "*"))
        if why is None and key not in PUBLIC_DUNDERS:
            why = hidden_reason(name, key)
        if why is None and type(origin) is str and callable(value):  # shown through another module
            own = getattr(value, "__name__", None)
            why = self.hidden_row(origin, own) or hidden_reason(origin, own) if type(own) is str else None
        if why is not None:
            return False, hidden_text(name, key, why)
        if isinstance(value, ModuleType):
            if self.guards.confined is not None:
                value = self.guards.confined.real_modules.get(value, value)
            full = self.allowed_name(name, key, value)
            if full is not None:
                return True, self.proxy_of(value, full)
            return False, "`%s.%s` is a module that is not allowed" % (name, key)
        made = MADE.get((name, key))
        if made is not None:
            return True, made(self, value)
        if origin in OF_OS and callable(value):
            value = self.guards.confined_files().by_real.get(value, value)
        new = replacement(value, self.guards)
        if new is not None:
            return True, new
        if type(origin) is str and callable(value):
            top = origin.partition(".")[0]
            if top in DANGEROUS_ORIGINS and name.partition(".")[0] not in DANGEROUS_ORIGINS and (
                    not self.imports.allows(top)):
                return False, "`%s.%s` belongs to %s, which is not allowed" % (name, key, top)
            if origin in ("builtins", "io", "_io") and self.is_restricted_builtin(value):
                guarded = self.guards.builtins.get(value.__name__)
                if guarded is None:
                    return False, "`%s.%s` is not available" % (name, key)
                return True, guarded
        return True, value

    def hidden_row(self, name, key):
        why = HIDDEN.get((name, key))
        return None if why in (NO_FILES, NO_PROCESS) and self.guards.opens_files else why

    def allowed_name(self, name, key, value):
        """The full name under which the policy allows this module, or None. A package may show a module under a name that no import
        statement takes: numpy.rec was numpy.core.records. Then the policy has to say just that name."""
        if name + "." + key in self.imports.exact and name + "." + key not in sys.modules:
            return name + "." + key
        for full in (name + "." + key, value.__name__):
            if self.imports.allows(full) and sys.modules.get(full) is value:
                return full
        return None

    def is_restricted_builtin(self, value):
        """Is the value a built-in function that agent code gets with a guard or not at all?"""
        name = getattr(value, "__name__", None)
        return type(name) is str and (name in ABSENT or name in GUARDED_BUILTINS) and value is getattr(builtins, name, None)

    def link_submodules(self, name):
        """Make a.b.c readable from the proxy of a, after `import a.b.c`."""
        parts = name.split(".")
        for i in range(1, len(parts)):
            parent, full = ".".join(parts[:i]), ".".join(parts[:i + 1])
            real = sys.modules.get(full)
            if isinstance(real, ModuleType):
                child = self.proxy_of(real, full)
                self.proxy_of(sys.modules[parent], parent).__dict__[parts[i]] = child
