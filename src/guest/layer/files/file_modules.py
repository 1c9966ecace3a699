"""The modules of the standard library that open files by paths of the agent's: each gets the confined open(), io and os instead of its own.
patches.py has the table of these modules; it changes no module that opens files for itself alone.
"""

import _io
import builtins
import io
import os
import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.files.confined_open import make_open
from agentjail.files.confined_os import make_os
from agentjail.files.places import Places

ModuleType, FunctionType, REAL_TYPE = type(sys), type(lambda: 0), type

FOUND = {}  # name of a module -> what ConfinedFiles.find() found in it before agent code ran


class ConfinedFiles:
    """open() and os of one session, and the copies of modules that hold them."""

    def __init__(self, files, folders):
        self.places = Places(files, folders)
        self.open = make_open(self.places)
        self.io = copy_of(io, self.open)
        self.os, self.by_real = make_os(self.places, self.open)
        self.in_place_of = {
            io: self.io, _io: copy_of(_io, self.open), builtins: copy_of(builtins, self.open), os: self.os, posix: self.os,
            builtins.open: self.open, **self.by_real}
        self.real_modules = {self.os: os, self.io: io}

    def patch(self, module):
        """Give the module the confined functions, in its names, in those of its classes, and in the defaults of its functions."""
        names = module.__dict__
        found = FOUND.get(module.__name__) or self.find(module)
        for key in found[0]:
            names[key] = self.replacement(names[key]) or names[key]
        for cls, key in found[1]:
            confined = self.replacement(inner_of(cls.__dict__[key]))
            if confined is not None:
                setattr(cls, key, staticmethod(confined))
        for function in found[2]:
            function.__defaults__ = tuple([self.replacement(value) or value for value in function.__defaults__])
        names.setdefault("open", self.open)

    def find(self, module):
        """What patch() replaces: the names of the module, (class, name) of its classes, and functions with such defaults. Looking at every
        value of a module copies, in a jail, the pages of all of them: a zygote looks ahead of time (find_ahead)."""
        keys, of_classes, functions = [], [], []
        for key, value in module.__dict__.items():
            if self.replacement(value) is not None:
                keys.append(key)
            elif isinstance(value, REAL_TYPE) and value.__module__ == module.__name__:
                of_classes += [(value, key) for key, inner in value.__dict__.items() if self.replacement(inner_of(inner)) is not None]
                functions += [inner for inner in value.__dict__.values() if self.has_defaults(inner)]
            elif self.has_defaults(value) and value.__module__ == module.__name__:
                functions.append(value)
        return keys, of_classes, functions

    def has_defaults(self, value):
        return REAL_TYPE(value) is FunctionType and any([self.replacement(default) is not None for default in value.__defaults__ or ()])

    def replacement(self, value):
        if REAL_TYPE(value) is ModuleType or REAL_TYPE(value) is REAL_TYPE(builtins.open) or REAL_TYPE(value) is FunctionType:
            return self.in_place_of.get(value)
        return None


def inner_of(value):
    return value.__func__ if REAL_TYPE(value) is staticmethod else value


def find_ahead(names):
    """In a zygote: which of their names the modules that are loaded will have replaced. The same for all sessions: the objects that are
    replaced are the interpreter's own."""
    files = ConfinedFiles((), ())
    for name in names:
        if name in sys.modules:
            FOUND[sys.modules[name].__name__] = files.find(sys.modules[name])


def copy_of(module, confined_open):
    copy = ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update(module.__dict__, open=confined_open)
    return copy


def patch_tarfile(tarfile, guards):
    """The filter of a snippet refuses chmod(), utime() and chown(): what comes out of an archive has a mode and times of its own."""
    for name in ("chmod", "utime", "chown"):
        setattr(tarfile.TarFile, name, lambda self, *args, **keys: None)
