"""The two ways by which SQLite would run native code: extensions, and SQL's fts3_tokenizer(), which takes and returns addresses of functions.
Extensions are refused by the interpreter's audit events, and so is a connection of any class but the confined one. Paths are left to the walls.
"""

import sys
from _thread import get_ident

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.files.places import plain_path

REAL_TYPE = type
PLAIN_TYPES = (str, bytes, type(None))
FACTORY = 5     # its place among the arguments of connect()


def plain(value):
    """The value without code of the agent's, which must not run between the opening of a connection and its guards."""
    for number in (int, float):
        if isinstance(value, number):
            return number.__pos__(value)
    return value if REAL_TYPE(value) in PLAIN_TYPES else plain_path(value)


def refuse_tokenizer(*args):
    raise PermissionError(1, "fts3_tokenizer() takes addresses of functions, which is not allowed")


def hook_for(expected):
    """expected: id of a connection that the checked class makes -> the thread in which it does."""
    def hook(event, args):
        if event == "sqlite3.enable_load_extension" and args[1] or event == "sqlite3.load_extension":
            raise PermissionError(1, "Extensions of SQLite are native code, which is not allowed here")
        if event == "sqlite3.connect/handle" and expected.pop(id(args[0]), None) != get_ident():
            raise PermissionError(1, "Connections are made by sqlite3.connect() and the __init__() of sqlite3.Connection")
    return hook


def make_connection_class(real, expected):
    class Connection(real):
        __doc__, __module__ = real.__doc__, "sqlite3"

        def __init__(self, *args, **keys):
            args = [None if i == FACTORY else plain(value) for i, value in enumerate(args)]
            keys = {key: plain(value) for key, value in keys.items() if key != "factory"}
            expected[id(self)] = get_ident()
            try:
                real.__init__(self, *args, **keys)
            finally:
                expected.pop(id(self), None)
            try:
                for count in (1, 2):
                    real.create_function(self, "fts3_tokenizer", count, refuse_tokenizer)
            except BaseException:
                real.close(self)
                raise

    Connection.__qualname__ = "Connection"
    return Connection


def patch_sqlite(sqlite3, guards):
    expected = {}
    connection_class = make_connection_class(sqlite3.Connection, expected)

    def connect(*args, **keys):
        factory = args[FACTORY] if len(args) > FACTORY else keys.get("factory", connection_class)
        return factory(*args, **keys)

    connect.__qualname__, connect.__doc__ = "connect", sqlite3.connect.__doc__
    for module in (sqlite3, sqlite3.dbapi2):
        module.Connection, module.connect = connection_class, connect
    sys.addaudithook(hook_for(expected))
