"""The modules of the standard library that open files by paths of the agent's: each gets the held open(), io and os in place of its own.
patches.py has the table of these modules; it changes no module that opens files for itself alone.
"""

import _io
import builtins
import io
import os
import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.files.held_open import make_open
from agentjail.files.held_os import make_os
from agentjail.files.places import Places

ModuleType, FunctionType, REAL_TYPE = type(sys), type(lambda: 0), type

class HeldFiles:
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
        """Give the module the held functions, in its names and in those of its classes."""
        names = module.__dict__
        for key, value in list(names.items()):
            held = self.held(value)
            if held is not None:
                names[key] = held
            elif isinstance(value, REAL_TYPE) and value.__module__ == module.__name__:
                self.patch_class(value)
        names.setdefault("open", self.open)

    def patch_class(self, cls):
        for key, value in list(cls.__dict__.items()):
            inner = value.__func__ if REAL_TYPE(value) is staticmethod else value
            held = self.held(inner)
            if held is not None:
                setattr(cls, key, staticmethod(held))

    def held(self, value):
        if REAL_TYPE(value) is ModuleType or REAL_TYPE(value) is REAL_TYPE(builtins.open) or REAL_TYPE(value) is FunctionType:
            return self.in_place_of.get(value)
        return None


def copy_of(module, held_open):
    copy = ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update(module.__dict__, open=held_open)
    return copy


def patch_tarfile(tarfile, guards):
    """The filter of a snippet refuses chmod(), utime() and chown(): what comes out of an archive has a mode and times of its own."""
    for name in ("chmod", "utime", "chown"):
        setattr(tarfile.TarFile, name, lambda self, *args, **keys: None)
