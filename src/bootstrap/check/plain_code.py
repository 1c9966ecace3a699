"""The tables of guest/plain_code.c, which compiles the code that the checker would accept as it stands.
They are cut out of name_rules.py: what C accepts by them, checker.py accepts without a guard. compile_plain is None where no runner sets it.
"""

import _ast
from sys import modules  # noqa: F401

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.check.name_rules import DEFINABLE, FRAME_ATTRIBUTES, GUARDED, OWN_ONLY, PRIVATE_DENIED, READABLE

compile = __builtins__["compile"]
Name, Load, Expr = _ast.Name, _ast.Load, _ast.Expr
VALUE_NAME = "__agentjail_value__"  # the variable that receives the value of the last statement
CODE_FLAGS = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
PARSE_FLAGS = _ast.PyCF_ONLY_AST | CODE_FLAGS
DONT_INHERIT = True
ASSIGN = compile(VALUE_NAME + " = None", "", "exec", PARSE_FLAGS, DONT_INHERIT).body[0]

REFUSED_ATTRIBUTES = FRAME_ATTRIBUTES | GUARDED | OWN_ONLY | frozenset(PRIVATE_DENIED)
READ_SPECIALS = READABLE - GUARDED - OWN_ONLY
BOUND_SPECIALS = DEFINABLE
LOADED_SPECIALS = frozenset(("__name__", "__doc__", "__debug__", "__class__"))
LOOKED_AT_CALLS = frozenset(("type", "getattr", "setattr", "delattr", "__import__"))

compile_plain = None    # (source, filename, set of allowed modules, kind of binding -> names): the code, or None if it is declined

KINDS = ("variable", "argument", "function", "class", "except", "global", "match", "type parameter", "import", "from")


def new_bindings():
    """Kind of binding -> the names that code binds in this way, over all scopes (a coarse but safe view)."""
    return {kind: set() for kind in KINDS}
