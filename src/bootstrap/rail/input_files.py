"""open() for the files that the caller shows to a snippet, and for the snippet's own in /tmp and /output: each is
a file in memory, read as a whole at the start and written as a whole by flush() and close().
It opens no other path, and hands out no descriptor: the object that it returns leads to none.
"""

import _io
import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

EACCES, EROFS = 13, 30
REAL_OPEN, REAL_TYPE = _io.open, type
WRITABLE = ("/output", "/tmp")
# The letter of a mode -> (a file of that name must be there, must not be there, is emptied).
KINDS = {"r": (True, False, False), "w": (False, False, True), "a": (False, False, False), "x": (False, True, True)}


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


def make_output(base, refuse_reading):
    """A class of files in memory whose content `store` writes."""
    class Output(base):
        _store = None
        _appends = False

        def flush(self):
            if self._store is not None and not self.closed:
                self._store(self.getvalue())

        def close(self):
            if not self.closed:
                try:
                    self.flush()
                finally:
                    base.close(self)

        def write(self, data):
            if self._appends:
                self.seek(0, 2)
            return base.write(self, data)

        def writelines(self, lines):
            for line in lines:
                self.write(line)

    class WriteOnly(Output):
        def read(self, *_):
            raise _io.UnsupportedOperation(refuse_reading)

        readline = readlines = __next__ = read

        def readable(self):
            return False

    Output.__name__, WriteOnly.__name__ = base.__name__, base.__name__
    return Output, WriteOnly


def within(path, folders):
    return any([path == f or path.startswith(f + "/") for f in folders])


def read_mode(mode):
    """(letter, binary, both ways), as open() reads its mode."""
    letters = sorted(mode)
    if len(set(letters)) != len(letters) or set(letters) - set("rwaxbt+") or {"b", "t"} <= set(letters):
        raise ValueError("invalid mode: %r" % mode)
    kind = [c for c in "rwax" if c in letters]
    if len(kind) != 1:
        raise ValueError("must have exactly one of create/read/write/append mode")
    return kind[0], "b" in letters, "+" in letters


def make_open(files):
    """`files`: paths of the jail, each a file or a folder."""
    shown = ", ".join(files)
    writable = [f for f in WRITABLE if f in files]
    text_output, bytes_output = make_output(_io.StringIO, "not readable"), make_output(_io.BytesIO, "read")

    def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None):
        """Read an input file, or write a file of /output or /tmp."""
        if REAL_TYPE(file) is int and file == 0:  # standard input, as code has set it
            stdin = sys.stdin
            return stdin.buffer if "b" in mode else stdin
        if hasattr(file, "__fspath__") and REAL_TYPE(file).__module__ == "pathlib":
            file = str(file)
        if REAL_TYPE(file) is not str or REAL_TYPE(mode) is not str:
            raise TypeError("open() takes the path of an input file and a mode, both strings")
        letter, binary, both = read_mode(mode)
        path = file if file[:1] == "/" else posix.getcwd() + "/" + file
        dots = ".." in path.split("/")
        writes = letter != "r" or both
        if writes and (dots or not within(path, writable)):
            where = "write below " + " or ".join(writable)
            raise PermissionError(EROFS, ("Input files can only be read; " if within(path, files) else "Writing here is not allowed: ") + where, file)
        if dots or not within(path, files):
            raise PermissionError(EACCES, ("Only the files that the caller shows can be read here: " if len(files) > 1 else
                                           "Only files of this code's own are allowed here, below ") + shown, file)
        must, must_not, emptied = KINDS[letter]
        data = b""
        if must or letter == "a":
            try:
                with REAL_OPEN(path, "rb") as f:
                    data = f.read()
            except FileNotFoundError:
                if must:
                    raise
        if not binary:
            data = str(data, encoding or "utf-8", errors or "strict")
        if not writes:
            stream = BytesInput(data) if binary else TextInput(data, newline)
        else:
            # Made, emptied or found to be closed to us now, as open() does.
            with REAL_OPEN(path, "xb" if must_not else "wb" if emptied else "ab"):
                pass
            stream = (bytes_output if binary else text_output)[not both](*((data,) if binary else (data, newline)))
            stream._appends = letter == "a"
            if stream._appends:
                stream.seek(0, 2)

            def store(content):
                with REAL_OPEN(path, "wb") as f:
                    f.write(content if binary else content.encode(encoding or "utf-8", errors or "strict"))

            stream._store = store
        stream.name, stream.mode = file, mode
        return stream

    return open
