"""The text that SymPy takes for an expression: sympify() and parse_expr() evaluate it as Python, with every built-in function.
A text with a private attribute, or with a function that agent code has not or has guarded, is refused before that.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.rail.guards import ABSENT, attribute_error
from agentjail.rail.name_rules import GUARDED, forbidden_by


GUARDED_FUNCTIONS = ("getattr", "setattr", "delattr", "hasattr")


def patch_parser(module):
    """stringify_expr() makes of the text what parse_expr() evaluates."""
    real = module.stringify_expr

    def stringify_expr(*args, **kw):
        text = real(*args, **kw)
        try:
            todo = [compile(text, "<expression>", "eval", _ast.PyCF_ONLY_AST, True)]
        except SyntaxError:
            return text     # which is then told by parse_expr()
        while todo:
            node = todo.pop()
            if isinstance(node, _ast.Attribute) and (node.attr[:1] == "_" or forbidden_by(node.attr) is not None or node.attr in GUARDED):
                raise attribute_error(node.attr)
            if isinstance(node, _ast.Name) and (node.id in ABSENT or node.id in GUARDED_FUNCTIONS or node.id[:2] == "__"):
                raise NameError("the name `%s` is not allowed in the text of an expression" % node.id)
            for field in node._fields:
                child = getattr(node, field, None)
                todo.extend(c for c in (child if isinstance(child, list) else (child,)) if isinstance(c, _ast.AST))
        return text
    module.stringify_expr = stringify_expr
