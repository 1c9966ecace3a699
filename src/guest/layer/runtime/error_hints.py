"""Hints for a model after an error: existing names, keys and files that are similar to the missing one.
Runs no agent code: reads exact built-in types, and other objects only through the slots of `type`.
"""

import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.near_names import nearest
from agentjail.values.texts import truncate

MAX_SHOWN, SHOWN_BYTES = 12, 60
SIMPLE = (str, int, float, bool, bytes, type(None))
ModuleType = type(sys)
mro_of, names_of_class, module_of = (type.__dict__[name].__get__ for name in ("__mro__", "__dict__", "__module__"))
names_of_module = ModuleType.__dict__["__dict__"].__get__
object_of, name_of = AttributeError.obj.__get__, AttributeError.name.__get__


def show(values):
    """Format a list: `'a', 'b', … (7 more)`."""
    values = list(values)
    texts = [truncate(repr(v), SHOWN_BYTES)[0] if type(v) in SIMPLE else "<%s>" % type(v).__name__ for v in values[:MAX_SHOWN]]
    return ", ".join(texts) + (", … (%d more)" % (len(values) - MAX_SHOWN) if len(values) > MAX_SHOWN else "")


# --- names ---

def hint_of_name(name, frame, builtins):
    """After a NameError."""
    near = nearest(name, [*frame.f_locals, *frame.f_globals, *builtins] if frame is not None else builtins)
    return near and near[:2] != "__" and "Did you mean `%s`?" % near


def hint_of_attribute(e):
    """After an AttributeError of a module, or of an object of an agent's or a built-in class."""
    o, name = object_of(e), name_of(e)
    if issubclass(type(o), ModuleType):
        names = [n for n in names_of_module(o) if type(n) is str and n[:1] != "_"]
    else:
        names = []
        for cls in mro_of(type(o)):
            if module_of(cls) in ("builtins", "__main__"):
                names += names_of_class(cls)
        if module_of(type(o)) == "__main__":
            names += vars(o) if "__dict__" in dir(type(o)) and type(vars(o)) is dict else ()
    near = nearest(name, [n for n in names if type(n) is str and n[:1] != "_"])
    return near and "Did you mean `%s`?" % near


# --- keys ---

def hint_of_key(e, frame, expression):
    """After a KeyError of an expression such as `x[key]` or `x.pop(key)`, where x is a name or an item of one."""
    import _ast
    if frame is None or not expression or len(e.args) != 1:
        return None
    tree = compile(expression, "", "eval", _ast.PyCF_ONLY_AST, True).body
    if type(tree) is _ast.Call and type(tree.func) is _ast.Attribute:
        tree = tree.func
    if type(tree) not in (_ast.Subscript, _ast.Attribute):
        return None
    holder = find_value(tree.value, frame, _ast)
    if type(holder) is not dict:
        holder = columns_of(holder)
    if holder is None:
        return None
    if not holder:
        return "There are no keys."
    near = nearest(e.args[0], holder)
    return (("Did you mean %r? " % near) if near else "") + "The keys are: %s." % show(holder)


def find_value(node, frame, _ast):
    """The value of `a`, `a["b"]`, `a[0]["b"]`; only of dicts and lists, since reading these runs no code."""
    if type(node) is _ast.Name:
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if type(node) is not _ast.Subscript:
        return None
    of, key = find_value(node.value, frame, _ast), node.slice
    if type(key) is _ast.Name:
        key = find_value(key, frame, _ast)
    elif type(key) is _ast.Constant:
        key = key.value
    if type(of) is dict and type(key) in SIMPLE:
        return of.get(key)
    if type(of) is list and type(key) is int and -len(of) <= key < len(of):
        return of[key]
    return None


def columns_of(o):
    """The columns of a pandas DataFrame, or None."""
    pandas = sys.modules.get("pandas")
    if pandas is None or type(o) is not pandas.DataFrame:
        return None
    return list(o.columns)


# --- files ---

def hint_of_file(path, files, keeps_files):
    """After FileNotFoundError. files: paths from the caller, with /input if it has files. keeps_files: the code's own files are kept below /tmp."""
    if type(path) is not str or not path:
        return None
    base = path.rpartition("/")[2]
    inputs = ["/input/" + name for name in sorted(posix.listdir("/input"))] if "/input" in files else []
    shown = inputs + [f for f in files if f not in ("/input", "/output")]
    where = [f for f in ("/input/" + path, "/" + path) if f in shown]
    if path[0] != "/" and where:
        return "A relative path starts at the current folder, but the caller's files are in /input: use %.300r." % where[0]
    for other in shown:
        if other != path and other.rpartition("/")[2] == base:
            return "The caller's file with this name is %.300r." % other
    near = nearest(base, [f.rpartition("/")[2] for f in shown])
    if near:
        return "Did you mean %.300r?" % [f for f in shown if f.rpartition("/")[2] == near][0]
    if path[:5] == "/tmp/":
        return None
    return " ".join((["The caller's files are: %s." % show(shown)] if shown else []) + (
        ["Files of this code are below /tmp, the start of relative paths."] if keeps_files else []))
