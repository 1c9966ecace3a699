"""The classes of syntax trees, as they were before agent code could reach them: the check and the compiler read every node through them.
It refuses to check a tree when code has changed one of the classes.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

read_dict = type.__dict__["__dict__"].__get__
SAVED = tuple([(cls, dict(read_dict(cls))) for cls in _ast.__dict__.values() if isinstance(cls, type) and issubclass(cls, _ast.AST)])


def verify():
    for cls, saved in SAVED:
        now = read_dict(cls)
        if len(now) != len(saved) or not all([now.get(key) is value for key, value in saved.items()]):
            e = AttributeError("ast.%s was changed: the check of code is not allowed to rely on it" % cls.__name__)
            e.agentjail = "PY-PRIVATE"
            raise e
