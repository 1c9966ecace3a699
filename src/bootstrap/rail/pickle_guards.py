"""Unpickling, by agent code and by libraries for it: names in a pickle are found under the rules of imports and of attributes.
It refuses modules that the policy does not allow, and public functions of modules that no import statement reaches.

The classes of a package's inner modules, and their private functions, build its own values again: numpy's `_reconstruct`, pandas' `_new_Index`.
Python's own Unpickler does the work: C code would set any attribute that a pickle names.
"""

import struct
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.rail.guards import REAL_GETATTR, REAL_IMPORT, ModuleType
from agentjail.rail.shown import SHOWN

# Functions whose names pickle itself writes, for types without a module of their own and in protocols before 4.
OF_PICKLE = (("copyreg", "_reconstructor"), ("_codecs", "encode"), ("re", "_compile"), ("array", "_array_reconstructor"))
# Public functions of inner modules that rebuild values.
REBUILDING = (("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"))


def patch_pickle(module, guards):
    unpickler = module._Unpickler
    mapping = module._compat_pickle

    def find_class(self, where, name):
        if self.proto < 3 and self.fix_imports:
            where, name = mapping.NAME_MAPPING.get((where, name)) or (mapping.IMPORT_MAPPING.get(where, where), name)
        try:
            return find(guards, where, name)
        except (AttributeError, ImportError) as e:
            raise module.UnpicklingError("`%s.%s` is not allowed in a pickle: %s" % (where, name, e)) from None

    def load(file, *, fix_imports=True, encoding="ASCII", errors="strict", buffers=None):
        """Read and return an object from the pickle data stored in a file."""
        try:
            return unpickler(file, fix_imports=fix_imports, encoding=encoding, errors=errors, buffers=buffers).load()
        except struct.error as e:
            raise module.UnpicklingError("pickle data was truncated") from e
        except IndexError as e:     # of the stack, and not of the code's own __setstate__()
            at = e.__traceback__
            while at.tb_next is not None:
                at = at.tb_next
            if at.tb_frame.f_globals is not module.__dict__:
                raise
            raise module.UnpicklingError("unpickling stack underflow") from None

    def loads(data, /, *, fix_imports=True, encoding="ASCII", errors="strict", buffers=None):
        """Read and return an object from the given pickle data."""
        if isinstance(data, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        return load(module.io.BytesIO(data), fix_imports=fix_imports, encoding=encoding, errors=errors, buffers=buffers)

    from agentjail.rail.copy_guards import no_module
    from agentjail.rail.patches import library_setattr

    class Dispatch(dict):
        def __missing__(self, key):
            raise module.UnpicklingError("invalid load key, %r." % chr(key))

    real_build = unpickler.load_build

    def load_build(self):
        if len(self.stack) > 1:
            no_module(self.stack[-2])
        real_build(self)

    unpickler.find_class, unpickler.dispatch = find_class, Dispatch(unpickler.dispatch)
    unpickler.load_build = unpickler.dispatch[module.BUILD[0]] = load_build
    module.setattr = library_setattr
    module.Unpickler, module.load, module.loads = unpickler, load, loads


def find(guards, where, name):
    """The object of this module and this name, as agent code may have it."""
    read = guards.builtins.get("getattr") or guards.make_guarded()["getattr"]
    first, *rest = name.split(".")
    imports = guards.imports
    if where == "__main__":
        value = read_own(sys.modules[where], first)
    elif where == "builtins":
        value = read_own(guards.module, first)
    elif (where, name) in OF_PICKLE:
        value = REAL_GETATTR(REAL_IMPORT(where), name)
    elif imports.allows(where) and first[:1] != "_":
        before = len(guards.imported)
        value = read(guards.builtins["__import__"](where, None, None, (first,)), first)
        del guards.imported[before:]    # no import statement of the agent's
    elif imports.allows(where) or imports.allows(where.partition(".")[0]):
        value = inner(where, first)
    else:
        raise AttributeError("the module is not allowed")
    for part in rest:
        value = read(value, part)
    return value


def read_own(module, name):
    if name[:2] == "__" or name not in module.__dict__:
        raise AttributeError("there is no such name")
    return module.__dict__[name]


def inner(where, name):
    """A class or a private function of an allowed package, which the module itself defines or its package. Python's own modules have private
    helpers that run text, and need none of them for pickles but those of OF_PICKLE."""
    if name[:1] == "_" and where.partition(".")[0] in sys.stdlib_module_names:
        raise AttributeError("it is private")
    value = REAL_GETATTR(REAL_IMPORT(where, None, None, ("__name__",)), name)
    own = isinstance(value, type) or (where, name) in REBUILDING or name[:1] == "_" and callable(value)
    if not own or isinstance(value, ModuleType) or where in SHOWN or REAL_GETATTR(value, "__module__", where).partition(".")[0] != where.partition(".")[0]:
        raise AttributeError("it is no class of an allowed module")
    return value
