"""Turns the modules of the Python layer into the source of one module that carries them all, compiled, and hands each out
when it is first imported. It refuses folders: the layer is flat. One file instead of thirteen saves a millisecond a start."""
import marshal
import os

# Runs inside, as the module `agentjail`: a package without a folder, whose modules come out of CODES.
LOADER = """
import sys as _sys
from marshal import loads as _loads

__path__ = []
_Spec = _sys.modules["_frozen_importlib"].ModuleSpec


class _Bundle:
    def find_spec(self, name, path=None, target=None):
        if name[:10] == "agentjail." and name[10:] in CODES:
            return _Spec(name, self)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(_loads(CODES.pop(module.__name__[10:])), module.__dict__)


_sys.meta_path.insert(0, _Bundle())
"""


def bundle(folder, package):
    """The source text for `package`.py; positions and names in tracebacks are those of the modules in it."""
    codes, first = {}, ""
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".py"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = f.read()
        code = compile(text, package + "/" + name, "exec", dont_inherit=True, optimize=0)
        if name == "__init__.py":
            first = text
        else:
            codes[name[:-3]] = marshal.dumps(code)
    return first + "\nCODES = " + repr(codes) + LOADER
