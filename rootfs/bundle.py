"""Turns the Python layer into the code of one module that carries the parts every snippet needs, compiled, and runs them
in order when it is imported; the other parts stay files. It refuses files outside of a room: the layer is a package with rooms
(packages) of modules. Finding and reading six files costs half a millisecond a start."""
import os

# In the order in which they import one another. A room (a name without a dot) stands before its modules.
CORE = ("check", "check.name_rules", "check.allowed_imports", "check.guard_calls", "check.checker", "files", "rail", "rail.builtin_guards",
        "values", "values.json_reader", "values.texts", "values.json_writer", "runtime", "runtime.request", "runtime.claim",
        "runtime.compiler", "runtime.session", "runtime.main")

# Runs inside, as the module `agentjail`, after the code of __init__.py. The codes of the core take the place of one constant.
# Each module imports from `agentjail`: with a spec, whose module is not yet complete, each of these imports would take a lock.
PLACE = "the codes of the core"
LOADER = """
def _load(codes):
    import sys
    for name, code in zip(%r, codes):
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
__spec__ = None
_load(%r)
del _load
"""


def bundle(folder, package):
    """The code of `package`.py; positions and names in tracebacks are those of the parts."""
    codes = tuple([compile(read(folder, path), "%s/%s.py" % (package, path), "exec", dont_inherit=True, optimize=0)
                   for path in map(path_of, CORE)])
    text = read(folder, "__init__") + LOADER % (CORE, package, PLACE)
    code = compile(text, package + ".py", "exec", dont_inherit=True, optimize=0)
    return code.replace(co_consts=tuple([codes if const == PLACE else const for const in code.co_consts]))


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
