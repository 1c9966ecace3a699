"""Unpickling, by agent code and by libraries for it: what a pickle names is found under the rules of imports and of attributes.
It hands out no class and no function that an import statement would refuse, but those of the tables in pickle_names.py, and classes that a
package derives from its public ones: matplotlib's axes, sklearn's estimators.

Python's own Unpickler does the work: C code would set any attribute that a pickle names.
"""

import struct
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_IMPORT, ModuleType
from agentjail.rail.pickle_names import OF_CYTHON, OF_PICKLE, PARTS_OF, is_listed

FunctionType = type(is_listed)


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
    module.dump, module.dumps = writers(module, guards)


def writers(module, guards):
    """dump() and dumps(), which C code of pickle carries out with the built-in functions of the frame that called it: it writes `getattr` for
    a method, and looks into the module that an object names as its own. With the guards of agent code there, neither is found."""
    real_dump, real_dumps, main_import = module.dump, module.dumps, guards.builtins["__import__"]

    def dump(obj, file, protocol=None, *, fix_imports=True, buffer_callback=None):
        """Write a pickled representation of obj to the open file object file."""
        return real_dump(obj, file, protocol, fix_imports=fix_imports, buffer_callback=buffer_callback)

    def dumps(obj, protocol=None, *, fix_imports=True, buffer_callback=None):
        """Return the pickled representation of the object as a bytes object."""
        return real_dumps(obj, protocol, fix_imports=fix_imports, buffer_callback=buffer_callback)

    def find_loaded(name, *rest):
        """No object needs a module that is not loaded; an object can name any."""
        return sys.modules[name] if name in sys.modules else main_import(name, *rest)

    def with_builtins(function, namespace):
        made = FunctionType(function.__code__, namespace, None, function.__defaults__, function.__closure__)
        made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
        return made

    namespace = {"__name__": __name__, "__builtins__": {**__builtins__, "__import__": find_loaded}}
    return with_builtins(dump, namespace), with_builtins(dumps, namespace)


def find(guards, where, name):
    """The object of this module and this name, as agent code may have it."""
    read = guards.builtins.get("getattr") or guards.make_guarded()["getattr"]
    first, *rest = name.split(".")
    if where == "__main__":
        value = read_own(sys.modules[where], first)
    elif where == "builtins":
        value = read_own(guards.module, first)
    elif (where, name) in OF_PICKLE:
        return REAL_GETATTR(REAL_IMPORT(where), name)
    elif guards.imports.allows(where) and first[:1] != "_":
        value = import_from(guards, where, first)
    else:
        listed = is_listed(where, name, None)
        value = find_inner(guards, where, name if listed else first)
        if listed:
            return value
    for part in rest:
        value = read(value, part)
    return value


def read_own(module, name):
    if name[:2] == "__" or name not in module.__dict__:
        raise AttributeError("there is no such name")
    return module.__dict__[name]


def import_from(guards, where, name):
    """What `from where import name` gives."""
    before = len(guards.imported)
    try:
        return REAL_GETATTR(guards.builtins["__import__"](where, None, None, (name,)), name)
    finally:
        del guards.imported[before:]    # no import statement of the agent's


def find_inner(guards, where, name):
    """An object of a module that the policy allows as a part of its package alone, or a private one."""
    package = where.partition(".")[0]
    if not any([guards.imports.allows(p) for p in (package, *PARTS_OF.get(package, ()))]) and not guards.imports.allows(where):
        raise AttributeError("the module is not allowed")
    if "__" in where or where == "agentjail" or where[:10] == "agentjail.":
        raise AttributeError("it is no module of a package")
    of_python = package in sys.stdlib_module_names
    module = REAL_IMPORT(where, None, None, ("__name__",)) if not of_python else REAL_IMPORT(package) and sys.modules.get(where)
    if module is None:
        raise AttributeError("the module is not allowed")
    value = module
    for part in name.split("."):
        value = REAL_GETATTR(value, part)
    if not isinstance(value, ModuleType):
        for public in public_places(guards, package, name, value):
            return import_from(guards, public, name)
        of_cython = name[:len(OF_CYTHON)] == OF_CYTHON and module.__file__[-3:] == ".so"
        if not of_python and (of_cython or is_listed(where, name, value) or derives_from_public(guards, package, value)):
            return value
    raise AttributeError("no import statement gives it")


def public_places(guards, package, name, value):
    """The allowed modules of the package that show this object under this name."""
    if name[:1] == "_":
        return
    for where in guards.imports.exact:
        if (where == package or where.startswith(package + ".")) and where in sys.modules and sys.modules[where].__dict__.get(name) is value:
            yield where


def derives_from_public(guards, package, value):
    """Is this a class of the package whose base is one that agent code can import from it?"""
    if not isinstance(value, type) or value.__module__.partition(".")[0] != package:
        return False
    for base in value.__mro__[1:]:
        if base.__module__.partition(".")[0] == package:
            for where in public_places(guards, package, base.__name__, base):
                if import_from(guards, where, base.__name__) is base:
                    return True
    return False
