"""Reads the variables of a session by name, and lists them; loaded when a request asks for that.
No text of a snippet is run, but a value's own __repr__, __str__ and __len__ are: that is code of the snippet, under its limits.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.texts import safe_repr, type_name

MAX_LISTED = 1000
LISTED_REPR_BYTES = 200
ROW_BYTES = 100     # of a row in JSON, beside its texts


def read_variable(namespace, name):
    """The value, or NameError."""
    if name[:2] == "__" or name not in namespace:
        raise NameError("name '%s' is not defined" % name)
    return namespace[name]


def list_variables(namespace, ours, max_bytes):
    """(a row for each of the snippets' variables in the order in which they were made, are rows missing?) ours: name -> value of
    what the layer put there."""
    rows, left = [], max_bytes
    for name, value in tuple(namespace.items()):
        if type(name) is not str or name[:2] == "__" or name in ours and ours[name] is value:
            continue
        row = {"name": name, "type": type_name(value), "repr": safe_repr(value, LISTED_REPR_BYTES)[0]}
        try:
            row["len"] = len(value)
        except Exception:
            pass  # it has no length
        left -= sum([len(x) * 4 for x in row.values() if type(x) is str]) + ROW_BYTES
        if left < 0 or len(rows) == MAX_LISTED:
            return rows, True
        rows.append(row)
    return rows, False
