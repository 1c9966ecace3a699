"""Makes the classes of syntax trees immutable, before agent code can reach them: the check and the compiler read every node through them, and
a thread could change a class between the two.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.plain_code import freeze_type

for cls in _ast.__dict__.values():
    if isinstance(cls, type) and issubclass(cls, _ast.AST) and not freeze_type(cls):
        raise ImportError("ast.%s cannot be made immutable in this Python" % cls.__name__)
