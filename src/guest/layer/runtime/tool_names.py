"""The names of tools among the names of the snippets' module: which text or run gives one of them another meaning.
It looks at the module's names alone: a parameter or a local variable of that name hides the tool from no other code.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime.compiler import parse
from agentjail.runtime.error_report import located, reject

MAX_LISTED = 20
SCOPES = (_ast.FunctionDef, _ast.AsyncFunctionDef, _ast.ClassDef, _ast.Lambda)
# Nodes that bind the name in one of their fields.
NAME_FIELDS = {_ast.FunctionDef: "name", _ast.AsyncFunctionDef: "name", _ast.ClassDef: "name", _ast.ExceptHandler: "name",
               _ast.MatchAs: "name", _ast.MatchStar: "name", _ast.MatchMapping: "rest"}


def find_bindings(tree, names):
    """(name, node) for each place of the text that binds or deletes one of `names` in the module, by position."""
    found, todo = [], [(tree, False)]
    while todo:
        node, inner = todo.pop()    # inner: in a scope of its own, where only `global` means the module's name
        kind = type(node)
        if kind is _ast.Global:
            found += [(name, node) for name in node.names if name in names]
        elif not inner and bound_name(node, kind) in names:
            found.append((bound_name(node, kind), node))
        inner = inner or kind in SCOPES
        for field in node._fields:
            if field == "target" and kind is _ast.comprehension:
                continue  # a variable of its own
            child = getattr(node, field, None)
            for one in child if type(child) is list else (child,):
                if isinstance(one, _ast.AST):
                    todo.append((one, inner))
    return sorted(found, key=lambda pair: (pair[1].lineno, pair[1].col_offset))


def bound_name(node, kind):
    if kind is _ast.Name:
        return node.id if type(node.ctx) is not _ast.Load else None
    if kind is _ast.alias:
        return node.asname or node.name.partition(".")[0]
    return getattr(node, NAME_FIELDS[kind]) if kind in NAME_FIELDS else None


def reject_bindings(session, tree, claim):
    """True: the text binds a reserved name, and the claim is that of a rejected snippet."""
    found = find_bindings(tree, session.reserved_names)
    if found:
        reject(session, claim, [("PY-TOOL", "Cannot assign to '%s': it is the name of %s" % (
                                     name, "a tool" if name in session.tool_functions else "a built-in function"), other_name(name),
                                 node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, {})
                                for name, node in found[:MAX_LISTED]])
    return bool(found)


def other_name(name):
    return "Use another name, such as `%s_result`." % name


def warn_of_changed(session, namespace, claim):
    """A warning for each tool in session.changed_tools, with the line that changed its name where the text shows one."""
    source = session.sources[session.filename]
    places = {}
    try:
        for name, node in find_bindings(parse(source), session.changed_tools):
            places.setdefault(name, (session.filename, node.lineno, node.col_offset))
    except Exception:
        pass  # the warning has no line then
    listed = claim.setdefault("warnings", [])
    for name in session.changed_tools[:MAX_LISTED]:
        what = "was given another value" if name in namespace else "was deleted"
        later = "" if session.last else "; the next snippet has the tool there again"
        listed.append(located(session, "RuntimeWarning", "the name '%s' of a tool %s%s" % (name, what, later), places.get(name),
                              other_name(name)))
