"""compile and eval for typing and inspect, which evaluate the text of string annotations: only plain type expressions.
Such a text reaches neither built-in functions that are not types nor the names of a library's module.
"""

import _ast
import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import GUARDED, forbidden_by

HARMLESS = (_ast.Expression, _ast.Name, _ast.Load, _ast.Attribute, _ast.Subscript, _ast.Tuple, _ast.List,
            _ast.Constant, _ast.BinOp, _ast.BitOr, _ast.Starred, _ast.UnaryOp, _ast.USub)
CHECKED = "<annotation>"    # the file of code objects that were checked
TYPES = {name: value for name, value in builtins.__dict__.items() if isinstance(value, type) and name[:2] != "__"}
CodeType = type((lambda: 0).__code__)


class OfSys:
    """What the signatures of built-in functions name of sys."""
    maxsize = sys.maxsize


OF_SIGNATURES = {"sys": OfSys}


def every_node(tree):
    """The nodes of a syntax tree, each once; without recursion."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for field in node._fields:
            child = getattr(node, field, None)
            todo.extend(c for c in (child if isinstance(child, list) else (child,)) if isinstance(c, _ast.AST))


def is_plain_attribute(name):
    return name[:1] != "_" and forbidden_by(name) is None and name not in GUARDED


def is_harmless(node):
    if isinstance(node, _ast.Attribute):
        return is_plain_attribute(node.attr)
    return isinstance(node, HARMLESS) and not (isinstance(node, _ast.Name) and node.id[:2] == "__")


def compile_annotation(source, *args, **kw):
    """In place of compile(): the code object of a plain type expression."""
    tree = compile(source, CHECKED, "eval", _ast.PyCF_ONLY_AST, True)
    if not all(is_harmless(node) for node in every_node(tree)):
        # typing would replace a SyntaxError by one without the reason.
        raise TypeError("the string annotation %r is not allowed: it is not a plain type expression" % source)
    return compile(tree, CHECKED, "eval", 0, True)


def is_of_library(namespace):
    """The globals of a module that is not the agent's: `__wrapped__` leads typing and inspect there, with the agent's text."""
    if type(namespace) is not dict:
        return False
    found = namespace.get("__builtins__")
    if found is builtins or found is builtins.__dict__:
        return True
    module = sys.modules.get(namespace.get("__name__"))     # modules in C have no __builtins__
    return module is not None and module is not sys.modules["__main__"] and vars(module) is namespace


def compile_hint(source, *args, **kw):
    """In place of compile() in typing: the text that a library's own file holds may be any; no agent code evaluates it."""
    try:
        return compile_annotation(source)
    except TypeError:
        if not library_is_loading():
            raise
        return compile(source, *args, **kw)


def library_is_loading():
    """Did the body of a library's module ask for this, and no function that agent code may have called with a text of its own?"""
    frame = sys._getframe(2)
    while frame is not None and is_of_library(frame.f_globals):
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False


def eval_annotation(source, globals=None, locals=None, /):
    """In place of eval(): with types as the only built-in names."""
    code = source if isinstance(source, CodeType) else compile_annotation(source)
    if code.co_filename != CHECKED:
        raise TypeError("the string annotation of a library is not allowed: it is not a plain type expression")
    if globals is not None and globals.get("sys") is sys:
        globals = OF_SIGNATURES     # inspect looks for the default of a signature, as a documentation string writes it, in sys.modules
    names = {} if globals is None or is_of_library(globals) else dict(globals)
    names["__builtins__"] = TYPES
    return eval(code, names, names if locals is None or is_of_library(locals) else locals)


def eval_hint(source, globals=None, locals=None, /):
    """In place of eval() in typing: a library reads the annotations of its own classes as ever. Agent code comes through
    hints_function() below, or through functools.singledispatch."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == "typing":
        frame = frame.f_back
    if frame.f_globals.get("__name__") in (__name__, "functools"):
        return eval_annotation(source, globals, locals)
    return eval(source, globals, locals)


def hints_function(real):
    def get_type_hints(obj, globalns=None, localns=None, include_extras=False):
        """Like typing.get_type_hints; string annotations are plain type expressions."""
        return real(obj, globalns=globalns, localns=localns, include_extras=include_extras)
    return get_type_hints
