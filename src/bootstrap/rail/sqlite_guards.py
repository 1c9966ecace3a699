"""Extensions of SQLite are native code: loading them is refused by the interpreter's audit events, which every connection meets, of whichever class.
Paths of databases are left to the walls.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)


def hook(event, args):
    if event == "sqlite3.enable_load_extension" and args[1] or event == "sqlite3.load_extension":
        raise PermissionError(1, "Extensions of SQLite are native code, which is not allowed here")


def patch_sqlite(sqlite3, guards):
    sys.addaudithook(hook)
