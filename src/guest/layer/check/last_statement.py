"""The value of a last statement that is no expression: of an assignment, or of the last such statement that ran in a block.
This file changes a tree that was checked, so it adds names and reads of plain targets, and no call.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.guard_calls import copy_location

LOAD, STORE = _ast.Load(), _ast.Store()
# Fields that hold the statements of a block, or parts with a body of their own. Not `finalbody`: it runs after what counts.
BLOCKS = {_ast.If: ("body", "orelse"), _ast.For: ("body", "orelse"), _ast.AsyncFor: ("body", "orelse"),
          _ast.While: ("body", "orelse"), _ast.With: ("body",), _ast.AsyncWith: ("body",), _ast.Match: ("cases",),
          _ast.Try: ("body", "handlers", "orelse"), _ast.match_case: ("body",), _ast.ExceptHandler: ("body",)}
if hasattr(_ast, "TryStar"):  # 3.11
    BLOCKS[_ast.TryStar] = BLOCKS[_ast.Try]
PARTS = ("handlers", "cases")


def keep_statement_value(body, variable):
    """Have the last statement of `body` leave its value in `variable`. Without recursion: a chain of elif is a deep tree."""
    todo = [body]
    while todo:
        statements = todo.pop()
        if not statements:
            continue
        last = statements[-1]
        fields = BLOCKS.get(type(last))
        if fields is None:
            keep(statements, last, variable)
            continue
        for field in fields:
            inner = getattr(last, field)
            todo.extend([[part] for part in inner] if field in PARTS else [inner])


def keep(statements, last, variable):
    """A last statement without a block in it; one that is no expression and no assignment stays as it is."""
    kind = type(last)
    target = copy_location(_ast.Name(variable, STORE), last)
    if kind is _ast.Expr:
        statements[-1] = copy_location(_ast.Assign([target], last.value), last)
    elif kind is _ast.Assign:
        last.targets.insert(0, target)
    elif kind is _ast.AnnAssign and last.value is not None:
        last.value = copy_location(_ast.NamedExpr(target, last.value), last)
    elif kind is _ast.AugAssign and is_plain(last.target):
        statements.append(copy_location(_ast.Assign([target], read(last.target)), last))


def is_plain(node):
    """Can the target be read once more without a call that the code did not write? Names, attributes of names, constant indices."""
    while True:
        kind = type(node)
        if kind is _ast.Subscript:
            if type(node.slice) not in (_ast.Name, _ast.Constant):
                return False
        elif kind is not _ast.Attribute:
            return kind is _ast.Name
        node = node.value


def read(target):
    """The target as an expression. Its inner nodes are such already."""
    kind = type(target)
    if kind is _ast.Name:
        new = _ast.Name(target.id, LOAD)
    elif kind is _ast.Attribute:
        new = _ast.Attribute(target.value, target.attr, LOAD)
    else:
        new = _ast.Subscript(target.value, target.slice, LOAD)
    return copy_location(new, target)
