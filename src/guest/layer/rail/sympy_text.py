"""The text that SymPy parses as an expression: sympify() and parse_expr() evaluate it as Python, with every built-in function.
A text with a private attribute, or with a function that agent code lacks or has only with a guard, is refused before that.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.annotations import every_node, is_plain_attribute
from agentjail.rail.builtin_guards import ABSENT, BY_NAME, attribute_error


def patch_parser(module, guards):
    """stringify_expr() makes of the text what parse_expr() evaluates."""
    real = module.stringify_expr

    def stringify_expr(*args, **kw):
        text = real(*args, **kw)
        try:
            tree = compile(text, "<expression>", "eval", _ast.PyCF_ONLY_AST, True)
        except SyntaxError:
            return text     # which is then told by parse_expr()
        for node in every_node(tree):
            if isinstance(node, _ast.Attribute) and not is_plain_attribute(node.attr):
                raise attribute_error(node.attr)
            if isinstance(node, _ast.Name) and (node.id in ABSENT or node.id in BY_NAME or node.id[:2] == "__"):
                raise NameError("the name `%s` is not allowed in the text of an expression" % node.id)
        return text
    module.stringify_expr = stringify_expr
