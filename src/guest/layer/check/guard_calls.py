"""The calls of guards that the check puts into a tree: of an attribute that only run time can judge, and of type() with bases.
A guard's name has underscores at both ends: code can neither bind it nor write it, and no class body mangles it.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import CODE_FACTS, GUARDED, OWN_ONLY, OWN_SETTABLE, forbidden_by, is_mangled

ATTR_GUARD = "__agentjail_attr__"
TYPE_GUARD = "__agentjail_type__"
SET_GUARD = "__agentjail_set__"

Name, Attribute, Call, Constant = _ast.Name, _ast.Attribute, _ast.Call, _ast.Constant
Load, Store = _ast.Load, _ast.Store
LOAD = Load()
# A literal is no object of the code's own classes: it is refused before the code runs.
LITERALS = (Constant, _ast.Tuple, _ast.List, _ast.Dict, _ast.Set, _ast.JoinedStr)


def insert_guard(node):
    """The node, or the guard call that takes its place; the walk then visits the new node."""
    if type(node) is Attribute:
        name, value = node.attr, node.value
        mangled = name[:1] == "_" and is_mangled(name)
        if type(node.ctx) is Store and (mangled or name in OWN_SETTABLE):
            call = guard_call(SET_GUARD, node, [value, copy_location(Constant(name), node)])
            return copy_location(Attribute(call, "value", node.ctx), node)
        if type(node.ctx) is not Load:
            return node
        if name in CODE_FACTS and type(value) is Attribute and value.attr == "__code__":
            name, value = "__code__." + name, value.value
        elif (mangled or name in OWN_ONLY) and not is_of_literal(value) or name in GUARDED and not forbidden_by(name):
            pass
        else:
            return node
        return guard_call(ATTR_GUARD, node, [value, copy_location(Constant(name), node)])
    func = node.func
    if type(func) is not Name or func.id != "type" or (len(node.args) < 2 and not node.keywords):
        return node
    return guard_call(TYPE_GUARD, node, node.args, node.keywords)


def is_of_literal(node):
    while type(node) is Attribute:
        node = node.value
    return isinstance(node, LITERALS)


def guard_call(name, node, args, keywords=()):
    return copy_location(Call(guard_name(name, node), args, list(keywords)), node)


def guard_name(name, node, ctx=LOAD):
    new = copy_location(Name(name, ctx), node)
    new.is_guard = True  # source text cannot set this
    return new


def copy_location(new, node):
    new.lineno, new.col_offset = node.lineno, node.col_offset
    new.end_lineno, new.end_col_offset = node.end_lineno, node.end_col_offset
    return new
