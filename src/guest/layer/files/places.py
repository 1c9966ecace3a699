"""The paths that the code's own file functions reach: below /tmp and /output, the files that the caller shows, and the folders of the policy.
A rail: the mounts of the jail are the wall. It opens nothing, and counts only the descriptors that it has recorded as the code's own.
"""

import posix
from stat import S_ISDIR, S_ISREG
from posixpath import dirname, isdir, join, lexists, realpath, split

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

EACCES, EPERM, ENOENT, EROFS = 13, 1, 2, 30
REAL_TYPE = type
OWN_FOLDERS = ("/output", "/tmp")
DEVICES = ("/dev/null",)
STANDARD = (0, 1, 2)


def within(path, folders):
    return any([path == f or path.startswith(f if f == "/" else f + "/") for f in folders])


def plain_path(path):
    """The path as a plain str or bytes: each object is asked for its path once."""
    path = posix.fspath(path)
    if isinstance(path, str):
        return path if REAL_TYPE(path) is str else str.__getitem__(path, slice(None))
    return path if REAL_TYPE(path) is bytes else bytes.__getitem__(path, slice(None))


class Places:
    """`files`: the caller's files and folders of the jail. `folders`: those of the policy, where the mounts alone say what is writable."""

    def __init__(self, files, folders):
        self.everything = "/" in folders
        self.own = [f for f in OWN_FOLDERS if f in files or f == "/tmp"]
        self.shown = [*files, *folders]
        self.writable = [realpath(f) for f in (*self.own, *folders, *DEVICES)]
        self.readable = [realpath(f) for f in files] + self.writable
        self.inputs = [realpath("/input")] if "/input" in files else []  # below /tmp
        self.opened = {}    # descriptor -> (device, inode, path) of the file

    def check(self, path, writes, follows=True, below=None):
        """The resolved path, or an error. follows: the function follows a link at the end of the path. below: the folder of a relative path."""
        text = path if REAL_TYPE(path) is str else str(path, "utf-8", "surrogateescape")
        if "\0" in text:
            raise ValueError("embedded null byte")
        if not text:
            raise FileNotFoundError(ENOENT, "No such file or directory", path)  # as the kernel says it; realpath() would make it the working directory
        if self.everything:
            return text
        full = join(below if below is not None else posix.getcwd(), text)
        head, tail = split(full.rstrip("/") or "/")
        found = realpath(full) if follows or tail in ("", ".", "..") else join(realpath(head), tail)
        if within(found, self.readable):
            if not writes or within(found, self.writable) and not within(found, self.inputs):
                return found
        elif not lexists(found) and (not writes or not isdir(dirname(found))):
            raise FileNotFoundError(ENOENT, "No such file or directory", path)
        if writes:
            where = "write below " + " or ".join(self.own)
            raise PermissionError(EROFS, ("Input files can only be read; " if within(found, self.readable) else "Writing here is not allowed: ") + where, path)
        names = ", ".join([*self.shown, *[f for f in self.own if f not in self.shown]])
        raise PermissionError(EACCES, ("Only the files that the caller shows can be read here: " if len(self.shown) else
                                       "Only files of this code's own are allowed here, below ") + names, path)

    def note(self, fd, path):
        """The code's own functions opened this descriptor."""
        found = posix.fstat(fd)
        self.opened[fd] = found.st_dev, found.st_ino, path

    def own_descriptor(self, fd, or_standard=False):
        """This number, if it is a descriptor of a file that the code opened, or of a standard stream; or an error."""
        if REAL_TYPE(fd) is not int:
            raise TypeError("a descriptor must be an int")
        found = posix.fstat(fd)
        if self.opened.get(fd, ())[:2] == (found.st_dev, found.st_ino) or or_standard and fd in STANDARD or (
                self.everything and fd > 3 and (S_ISREG(found.st_mode) or S_ISDIR(found.st_mode))):
            return fd
        raise PermissionError(EPERM, "Only descriptors of files that this code opened are allowed here, and those of standard streams", fd)

    def folder_of(self, fd):
        """The path of the folder that this descriptor is of."""
        self.own_descriptor(fd)
        return self.opened[fd][2] if fd in self.opened else None
