"""Turns the Python layer into the source of one module that carries the parts every snippet needs, compiled, and runs them
in order when it is imported; the other parts stay files. It refuses files outside of a room: the layer is a package with rooms
(packages) of modules. Finding and reading six files costs half a millisecond a start."""
import marshal
import os

# In the order in which they import one another. A room (a name without a dot) stands before its modules.
CORE = ("rail", "rail.name_rules", "rail.allowed_imports", "rail.guards", "rail.check", "runtime", "runtime.json_reader",
        "runtime.values", "runtime.request", "runtime.compiler", "runtime.session", "runtime.main")

# Runs inside, as the module `agentjail`. Its own names are deleted: what is left is what __init__.py has.
LOADER = """
def _load():
    import sys
    from marshal import loads
    for name, code in zip(_CORE, loads(_CODE)):
        full = "agentjail." + name
        parent, _, last = full.rpartition(".")
        module = sys.modules[full] = type(sys)(full)
        setattr(sys.modules[parent], last, module)
        module.__package__ = parent
        if "." not in name:
            module.__package__ = full
            module.__path__ = [__path__[0] + "/" + name]
        exec(code, module.__dict__)


__path__ = [%r]
_load()
del _load, _CORE, _CODE
"""


def bundle(folder, package):
    """The source text for `package`.py; positions and names in tracebacks are those of the parts."""
    codes = [compile(read(folder, path), "%s/%s.py" % (package, path), "exec", dont_inherit=True, optimize=0)
             for path in map(path_of, CORE)]
    first = read(folder, "__init__")
    return "%s\n_CORE = %r\n_CODE = %r\n" % (first, CORE, marshal.dumps(tuple(codes))) + LOADER % package


def path_of(name):
    return name.replace(".", "/") if "." in name else name + "/__init__"


def read(folder, path):
    with open(os.path.join(folder, path + ".py"), encoding="utf-8") as f:
        return f.read()


def rest(folder):
    """The parts that are loaded as files, when they are first needed: paths below the layer's folder."""
    rooms = [name for name in CORE if "." not in name]
    return [room + "/" + name for room in rooms for name in sorted(os.listdir(os.path.join(folder, room)))
            if name.endswith(".py") and name != "__init__.py" and room + "." + name[:-3] not in CORE]
