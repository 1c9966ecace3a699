"""open() for the files that the caller shows to a snippet: reads the whole file, and returns it as a file in memory.
It opens nothing for writing and no other path, and hands out no descriptor: the object that it returns leads to none.
"""

import _io
import posix

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

EACCES, EROFS = 13, 30
REAL_OPEN, REAL_TYPE = _io.open, type
READING = ("r", "rt", "tr", "rb", "br")


class TextInput(_io.StringIO):
    """The text of an input file."""

    def write(self, *_):
        raise _io.UnsupportedOperation("not writable")

    writelines = truncate = write

    def writable(self):
        return False


class BytesInput(_io.BytesIO):
    """The bytes of an input file."""

    def write(self, *_):
        raise _io.UnsupportedOperation("write")

    writelines = truncate = write

    def writable(self):
        return False


def make_open(files):
    """`files`: paths of the jail, each a file or a folder."""
    shown = ", ".join(files)

    def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None):
        """Read an input file."""
        if REAL_TYPE(file) is not str or REAL_TYPE(mode) is not str:
            raise TypeError("open() takes the path of an input file and a mode, both strings")
        if mode not in READING:
            raise PermissionError(EROFS, "Input files can only be read; return a value, or print, instead of writing", file)
        path = file if file[:1] == "/" else posix.getcwd() + "/" + file
        if ".." in path.split("/") or not any([path == f or path.startswith(f + "/") for f in files]):
            raise PermissionError(EACCES, "Only the files that the caller shows can be read here: " + shown, file)
        with REAL_OPEN(path, "rb") as f:
            data = f.read()
        if "b" in mode:
            stream = BytesInput(data)
        else:
            stream = TextInput(str(data, encoding or "utf-8", errors or "strict"), newline)
        stream.name, stream.mode = file, mode
        return stream

    return open
