"""The os of the modules that open files for agent code: a copy of the module whose functions check every path and descriptor.
Agent code gets the same functions, as far as shown.py names them. The real os stays as it is, for the modules that open files of their own.
"""

import os
import posix

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.files.places import plain_path

ModuleType, FunctionType, REAL_TYPE = type(os), type(lambda: 0), type
READ, WRITE, WRITE_LINK = (False, True), (True, True), (True, False)  # (writes, follows a link at the end of the path)
FIRST = ((0, "path", "dir_fd"),)
BOTH = ((0, "src", "src_dir_fd"), (1, "dst", "dst_dir_fd"))
# Function -> its paths (position, keyword, keyword of the descriptor of the folder that the path is below), what it does.
# stat(), access() and readlink() are free: os.path tells as much of any path.
PATHS = {
    "listdir": (FIRST, READ), "scandir": (FIRST, READ),
    "mkdir": (FIRST, WRITE_LINK), "rmdir": (FIRST, WRITE_LINK), "remove": (FIRST, WRITE_LINK), "unlink": (FIRST, WRITE_LINK),
    "truncate": (FIRST, WRITE), "chmod": (FIRST, WRITE), "utime": (FIRST, WRITE), "chown": (FIRST, WRITE), "lchown": (FIRST, WRITE_LINK),
    "mkfifo": (FIRST, WRITE_LINK), "mknod": (FIRST, WRITE_LINK), "setxattr": (FIRST, WRITE), "removexattr": (FIRST, WRITE),
    "rename": (BOTH, WRITE_LINK), "replace": (BOTH, WRITE_LINK), "link": (BOTH, WRITE_LINK),
    "symlink": (((1, "dst", "dir_fd"),), WRITE_LINK),
}
# Functions of a descriptor, which comes first; those that also take that of a standard stream.
DESCRIPTORS = ("close", "lseek", "ftruncate", "pread", "pwrite", "fchmod", "fchown", "readv", "posix_fallocate")
OF_STANDARD = ("read", "write", "fstat", "isatty")
WRITING = posix.O_WRONLY | posix.O_RDWR | posix.O_CREAT | posix.O_TRUNC | posix.O_APPEND


def confine(real, paths, kind, places):
    writes, follows = kind

    def confined(*args, **keys):
        args = list(args)
        for at, name, below in paths:
            value = args[at] if at < len(args) else keys.get(name)
            if value is None and real is not posix.listdir and real is not posix.scandir:
                continue    # the function itself says what is missing
            if REAL_TYPE(value) is int:
                places.own_descriptor(value)
                continue
            path = "." if value is None else plain_path(value)
            folder = keys.get(below)
            places.check(path, writes, follows, None if folder is None else places.folder_of(folder))
            if at < len(args):
                args[at] = path if value is not None else None
            elif name in keys:
                keys[name] = path
        return real(*args, **keys)
    return like(confined, real)


def confine_descriptor(real, places, or_standard):
    def confined(fd, *args, **keys):
        return real(places.own_descriptor(fd, or_standard), *args, **keys)
    return like(confined, real)


def confine_open(places):
    def confined(path, flags, mode=0o777, *, dir_fd=None):
        if REAL_TYPE(flags) is not int:
            raise TypeError("flags must be an int")
        path = plain_path(path)
        found = places.check(path, bool(flags & WRITING), not flags & posix.O_NOFOLLOW, None if dir_fd is None else places.folder_of(dir_fd))
        fd = posix.open(path, flags, mode, dir_fd=dir_fd)
        places.note(fd, found)
        return fd
    return like(confined, posix.open)


def confine_fdopen(confined_open):
    def fdopen(fd, mode="r", buffering=-1, encoding=None, *args, **keys):
        if REAL_TYPE(fd) is not int:
            raise TypeError("invalid fd type (%s, expected integer)" % REAL_TYPE(fd))
        return confined_open(fd, mode, buffering, encoding, *args, **keys)
    return like(fdopen, os.fdopen)


def like(confined, real):
    confined.__name__ = confined.__qualname__ = real.__name__
    confined.__module__, confined.__doc__ = real.__module__, real.__doc__
    return confined


def make_os(places, confined_open):
    """(the copy of os, real function -> confined one)"""
    twin = ModuleType("os", os.__doc__)
    names = twin.__dict__
    names.update(os.__dict__)
    confined = {posix.open: confine_open(places), os.fdopen: confine_fdopen(confined_open)}
    for name, (paths, kind) in PATHS.items():
        if name in names:
            confined[names[name]] = confine(names[name], paths, kind, places)
    for name in (*DESCRIPTORS, *OF_STANDARD):
        if name in names:
            confined[names[name]] = confine_descriptor(names[name], places, name in OF_STANDARD)
    for name in ("fsync", "fdatasync"):     # a jail's filter has neither: /tmp is in memory
        confined[names[name]] = like(lambda fd: places.own_descriptor(fd if REAL_TYPE(fd) is int else fd.fileno()) and None, names[name])
    for name, value in os.__dict__.items():
        if value is os.fdopen:
            names[name] = confined[value]
        elif REAL_TYPE(value) is FunctionType and value.__globals__ is os.__dict__:     # walk(), makedirs(): they look names up in the copy
            copy = FunctionType(value.__code__, names, name, value.__defaults__, value.__closure__)
            copy.__kwdefaults__, copy.__doc__, copy.__module__ = value.__kwdefaults__, value.__doc__, "os"
            names[name] = confined[value] = copy
        elif REAL_TYPE(value) is REAL_TYPE(posix.open) and value in confined:
            names[name] = confined[value]
    return twin, confined
