"""The open() of agent code and of the modules that open files for it: every path is checked, and the result is a real file.
No object of Python's own class of files is below such a file, since that class opens any path: the descriptor is in a table that no attribute shows.
"""

import _io
import io
import posix
import sys
from stat import S_ISDIR

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.files.places import plain_path

EISDIR, REAL_TYPE = 21, type
BUFFER_BYTES = 1 << 16
READ_ONLY, WRITE_ONLY, BOTH = posix.O_RDONLY, posix.O_WRONLY, posix.O_RDWR
# The letter of a mode -> the flags of open(2) beside these.
FLAGS = {"r": 0, "w": posix.O_CREAT | posix.O_TRUNC, "a": posix.O_CREAT | posix.O_APPEND, "x": posix.O_CREAT | posix.O_EXCL}


def read_mode(mode):
    """(letter, binary, both ways), as open() reads its mode."""
    letters = sorted(mode)
    if len(set(letters)) != len(letters) or set(letters) - set("rwaxbt+"):
        raise ValueError("invalid mode: %r" % mode)
    if {"b", "t"} <= set(letters):
        raise ValueError("can't have text and binary mode at once")
    kind = [c for c in "rwax" if c in letters]
    if len(kind) != 1:
        raise ValueError("must have exactly one of create/read/write/append mode" if kind else
                         "Must have exactly one of create/read/write/append mode and at most one plus")
    return kind[0], "b" in letters, "+" in letters


def make_raw_class(descriptors):
    """descriptors: id of a file -> (its descriptor, letter, both ways, is it the file's to close)."""

    def state(self):
        found = descriptors.get(id(self))
        if found is None:
            raise ValueError("I/O operation on closed file")
        return found

    class FileIO(io.RawIOBase):
        __module__ = "_io"

        def __repr__(self):
            return "<_io.FileIO [closed]>" if self.closed else "<_io.FileIO name=%r mode=%r closefd=True>" % (self.name, self.mode)

        def fileno(self):
            return state(self)[0]

        def isatty(self):
            state(self)
            return False

        def readable(self):
            _, letter, both, _ = state(self)
            return both or letter == "r"

        def writable(self):
            _, letter, both, _ = state(self)
            return both or letter != "r"

        def seekable(self):
            try:
                posix.lseek(state(self)[0], 0, 1)
            except OSError:
                return False
            return True

        def readinto(self, buffer):
            if not self.readable():
                raise _io.UnsupportedOperation("File not open for reading")
            view = memoryview(buffer).cast("B")
            data = posix.read(state(self)[0], len(view))
            view[:len(data)] = data
            return len(data)

        def readall(self):
            if not self.readable():
                raise _io.UnsupportedOperation("File not open for reading")
            fd, parts, left = state(self)[0], [], posix.fstat(state(self)[0]).st_size
            while True:
                part = posix.read(fd, max(left, BUFFER_BYTES) + 1)
                if not part:
                    return b"".join(parts)
                parts.append(part)
                left -= len(part)

        def write(self, data):
            if not self.writable():
                raise _io.UnsupportedOperation("File not open for writing")
            return posix.write(state(self)[0], data)

        def seek(self, offset, whence=0):
            return posix.lseek(state(self)[0], offset, whence)

        def tell(self):
            return posix.lseek(state(self)[0], 0, 1)

        def truncate(self, size=None):
            if not self.writable():
                raise _io.UnsupportedOperation("File not open for writing")
            size = self.tell() if size is None else size
            posix.ftruncate(state(self)[0], size)
            return size

        def close(self):
            if not self.closed:
                try:
                    io.RawIOBase.close(self)
                finally:
                    fd, _, _, ours = descriptors.pop(id(self), (None, None, None, False))
                    if ours:
                        posix.close(fd)

    FileIO.__qualname__ = "FileIO"
    return FileIO


def make_open(places):
    descriptors = {}
    raw_class = make_raw_class(descriptors)

    def descriptor(file, flags, opener, writes):
        path = places.check(file, writes)
        if opener is None:
            fd = posix.open(file, flags | posix.O_CLOEXEC, 0o666)
        else:
            fd = places.own_descriptor(opener(file, flags | posix.O_CLOEXEC))
        try:
            if S_ISDIR(posix.fstat(fd).st_mode):
                raise IsADirectoryError(EISDIR, "Is a directory", file)
        except BaseException:
            posix.close(fd)
            raise
        places.note(fd, path)
        return fd

    def open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        """Open file and return a stream. Raise OSError upon failure."""
        if REAL_TYPE(mode) is not str:
            raise TypeError("open() argument 'mode' must be str, not " + REAL_TYPE(mode).__name__)
        if REAL_TYPE(file) is int and file == 0:  # standard input, as code has set it
            stdin = sys.stdin
            return stdin.buffer if "b" in mode else stdin
        if REAL_TYPE(file) is not int:
            file = plain_path(file)
        letter, binary, both = read_mode(mode)
        for name, value in (("encoding", encoding), ("errors", errors), ("newline", newline)) if binary else ():
            if value is not None:
                raise ValueError("binary mode doesn't take %s argument" % ("an %s" % name if name != "newline" else "a newline"))
        if buffering == 0 and not binary:
            raise ValueError("can't have unbuffered text I/O")
        if REAL_TYPE(file) is int:
            fd = places.own_descriptor(file, places.everything)
        elif not closefd:
            raise ValueError("Cannot use closefd=False with file name")
        else:
            fd = descriptor(file, (BOTH if both else READ_ONLY if letter == "r" else WRITE_ONLY) | FLAGS[letter], opener, letter != "r" or both)
        stream = raw_class()
        descriptors[id(stream)] = fd, letter, both, closefd or REAL_TYPE(file) is not int
        try:
            stream.name, stream.mode = file, letter + "b" + ("+" if both else "")
            if letter == "a":
                posix.lseek(fd, 0, 2)
            if buffering == 0:
                return stream
            size = buffering if buffering > 1 else BUFFER_BYTES
            stream = (_io.BufferedRandom if both else _io.BufferedReader if letter == "r" else _io.BufferedWriter)(stream, size)
            if binary:
                return stream
            stream = _io.TextIOWrapper(stream, encoding, errors, newline, buffering == 1)
            stream.mode = mode
            return stream
        except BaseException:
            stream.close()
            raise

    return open
