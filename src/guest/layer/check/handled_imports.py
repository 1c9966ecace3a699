"""The refused imports that the code handles: those below a handler of ImportError, and those that never run.
Such an import is not a violation: it raises where it stands, as under `imports_checked = "run"` each refused import does. No
import is allowed by this: the guard asks the same patterns. Loaded only for code with a refused import.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

Name, Attribute = _ast.Name, _ast.Attribute
CATCHING = frozenset(("ImportError", "ModuleNotFoundError", "Exception", "BaseException"))
TRIES = (_ast.Try, _ast.TryStar)
# Their code runs later, when no handler around it stands.
LATER = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.Lambda, _ast.GeneratorExp)


def settle(checker, tree):
    """Make violations of the imports that the code does not cope with."""
    refused = {id(node) for node, _ in checker.import_errors}
    coped, names_subclass = find_coped(tree, refused)
    if names_subclass:
        # `except ModuleNotFoundError` shall catch the refusal too, which is an ImportError either way.
        checker.imports.error = ModuleNotFoundError
    if checker.imports.checked_before:
        checker.errors += [error for node, error in checker.import_errors if id(node) not in coped]


def find_coped(tree, refused):
    """(ids of the refused nodes that are caught or never run, does the code name ModuleNotFoundError?)"""
    coped, names_subclass = set(), False
    stack = [(tree, False, False)]  # node, is an ImportError caught here, does this never run
    while stack:
        node, caught, dead = stack.pop()
        if (caught or dead) and id(node) in refused:
            coped.add(id(node))
        if type(node) is Name and node.id == "ModuleNotFoundError":
            names_subclass = True
        body, body_caught, body_dead, orelse_dead = None, caught, dead, dead
        if isinstance(node, TRIES):
            body, body_caught = "body", caught or any([catches(h.type) for h in node.handlers])
        elif isinstance(node, (_ast.With, _ast.AsyncWith)):
            body, body_caught = "body", caught or any([suppresses(item.context_expr) for item in node.items])
        elif isinstance(node, LATER):
            body, body_caught = "elt" if type(node) is _ast.GeneratorExp else "body", False
        elif type(node) is _ast.If:
            body, body_dead, orelse_dead = "body", dead or is_never(node.test), dead or is_always(node.test)
        for field in node._fields:
            child = getattr(node, field, None)
            inside = (body_caught, body_dead) if field == body else (caught, orelse_dead if field == "orelse" else dead)
            for item in child if type(child) is list else (child,):
                if isinstance(item, _ast.AST):
                    stack.append((item, *inside))
    return coped, names_subclass


def catches(what):
    """Does `except WHAT` catch an ImportError? None: a bare `except`."""
    kinds = what.elts if type(what) is _ast.Tuple else (what,)
    return what is None or any([type(kind) is Name and kind.id in CATCHING for kind in kinds])


def suppresses(manager):
    """contextlib.suppress(ImportError), or the same by the function's own name."""
    if type(manager) is not _ast.Call:
        return False
    func = manager.func
    name = func.id if type(func) is Name else func.attr if type(func) is Attribute else None
    return name == "suppress" and any([catches(arg) for arg in manager.args])


def is_never(test):
    """`if TYPE_CHECKING:`, `if False:` and the like."""
    if type(test) is _ast.Constant:
        return not test.value
    if type(test) is _ast.BoolOp and type(test.op) is _ast.And:
        return any([is_never(value) for value in test.values])
    return (test.id if type(test) is Name else test.attr if type(test) is Attribute else None) == "TYPE_CHECKING"


def is_always(test):
    """`if not TYPE_CHECKING:`: then it is the `else` that never runs."""
    if type(test) is _ast.Constant:
        return bool(test.value)
    return type(test) is _ast.UnaryOp and type(test.op) is _ast.Not and is_never(test.operand)
