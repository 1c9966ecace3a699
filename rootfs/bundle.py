"""Turns the Python layer into the source of one module that carries the parts every snippet needs, compiled, and runs them
in order when it is imported; the other parts stay files. It refuses folders: the layer is flat. Finding and reading six
files costs half a millisecond a start."""
import marshal
import os

# In the order in which they import one another.
CORE = ("values", "names", "main", "guards", "check")

# Runs inside, as the module `agentjail`. Its own names are deleted: what is left is what __init__.py has.
LOADER = """
def _load():
    import sys
    from marshal import loads
    for name, code in zip(_CORE, loads(_CODE)):
        full = "agentjail." + name
        module = sys.modules[full] = type(sys)(full)
        module.__package__ = "agentjail"
        globals()[name] = module
        exec(code, module.__dict__)


__path__ = [%r]
_load()
del _load, _CORE, _CODE
"""


def bundle(folder, package):
    """The source text for `package`.py; positions and names in tracebacks are those of the parts."""
    codes, first = [], ""
    for name in CORE:
        codes.append(compile(read(folder, name), "%s/%s.py" % (package, name), "exec", dont_inherit=True, optimize=0))
    first = read(folder, "__init__")
    return "%s\n_CORE = %r\n_CODE = %r\n" % (first, CORE, marshal.dumps(tuple(codes))) + LOADER % package


def read(folder, name):
    with open(os.path.join(folder, name + ".py"), encoding="utf-8") as f:
        return f.read()


def rest(folder):
    """The parts that are loaded as files, when they are first needed."""
    return [name for name in sorted(os.listdir(folder)) if name.endswith(".py") and name[:-3] not in CORE + ("__init__",)]
