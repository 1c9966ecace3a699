"""f.__source__: the text of a function that agent code defines, as agents' own interpreters give it: unparsed, without comments.
It reads the texts that the session keeps for error reports, and no file.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.check.plain_code import PARSE_FLAGS

DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)


def source_of(code, texts):
    """The definition that this code object was made from, or None: its text is gone, or it is a lambda's."""
    text = texts.get(code.co_filename)
    if text is None:
        return None
    import ast
    for node in ast.walk(compile(text.removeprefix("\ufeff"), "", "exec", PARSE_FLAGS, True)):
        if isinstance(node, DEFINITIONS) and node.name == code.co_name and first_line(node) == code.co_firstlineno:
            return ast.unparse(node)
    return None


def first_line(node):
    return min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
