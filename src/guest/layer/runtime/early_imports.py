"""Imports that failed before the walls were in place: the first exception of each package, as text, for the error of the snippet that imports it.
It keeps no exception, whose frames would keep objects alive, and decides nothing. Loaded only where such an import has failed.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.texts import truncate

MAX_FAILED, TEXT_BYTES = 100, 300
FAILED = {}     # top-level module -> "importing `a.b` before the walls stood failed: TYPE: MESSAGE"


def note(name, e):
    """Keep why the import of this module (bytes) failed, and return it. A module that is not there is no failure: the snippet's own
    import says the same."""
    if isinstance(e, ModuleNotFoundError):
        return None
    try:
        why = str(e)
    except BaseException as inner:
        why = "<str failed: %s>" % type(inner).__name__
    name = name.decode("utf-8", "replace")
    text = truncate("importing `%s` before the walls stood failed: %s" % (
        name, type(e).__name__ + (": " + why if why else "")), TEXT_BYTES)[0]
    if len(FAILED) < MAX_FAILED:
        return FAILED.setdefault(name.partition(".")[0], text)
    return text


def hint_for(e, line):
    """The text of a module that the exception names, or that this line of the snippet imports; or None."""
    name = getattr(e, "name", None) if isinstance(e, ImportError) else None
    if type(name) is str and name.partition(".")[0] in FAILED:
        return FAILED[name.partition(".")[0]]
    words = "".join([c if c.isalnum() or c == "_" else " " for c in line]).split()
    if "import" in words:
        for word in words:
            if word in FAILED:
                return FAILED[word]
    return None
