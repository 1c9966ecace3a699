"""The tables of guest/plain_code.c, which compiles the code that the checker would accept as it stands.
They are cut out of name_rules.py: what C accepts by them, checker.py accepts without a guard. The runner sets the two functions that are None here.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import DEFINABLE, FRAME_ATTRIBUTES, GUARDED, OWN_ONLY, PRIVATE_DENIED, READABLE

compile = __builtins__["compile"]
VALUE_NAME = "__agentjail_value__"  # the variable that receives the value of the last statement
CODE_FLAGS = 0x2000         # _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT; _ast is imported where a snippet needs a tree: that takes long
PARSE_FLAGS = 0x400 | CODE_FLAGS    # _ast.PyCF_ONLY_AST
DONT_INHERIT = True

REFUSED_ATTRIBUTES = FRAME_ATTRIBUTES | GUARDED | OWN_ONLY | frozenset(PRIVATE_DENIED)
READ_SPECIALS = READABLE - GUARDED - OWN_ONLY
BOUND_SPECIALS = DEFINABLE
LOADED_SPECIALS = frozenset(("__name__", "__doc__", "__debug__", "__class__"))
LOOKED_AT_CALLS = frozenset(("type", "getattr", "setattr", "delattr", "__import__"))

# (source, filename, set of allowed modules, kind of binding -> names): the code, or None if it is declined. An expression's code has its
# value; other code assigns that of a last expression to VALUE_NAME.
compile_plain = None
# class -> is it immutable now? See tree_classes.py.
freeze_type = None

KINDS = ("variable", "argument", "function", "class", "except", "global", "match", "type parameter", "import", "from")


def new_assignment():
    """The statement that keeps the value of a last expression, with any value in it."""
    return compile(VALUE_NAME + " = None", "", "exec", PARSE_FLAGS, DONT_INHERIT).body[0]


def new_bindings():
    """Kind of binding -> the names that code binds in this way, over all scopes (a coarse but safe view)."""
    return {kind: set() for kind in KINDS}
