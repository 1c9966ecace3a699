"""The standard input of one snippet: the text that its caller gave. Code with a restricted open() reads it in memory; other code finds it
on descriptor 0 too, as an unlinked file of /tmp. It gives no snippet the text of another, and takes no descriptor that is in use.
"""

import posix
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

NULL = "/dev/null"


class StandardInput:
    """From give_stdin() until take()."""

    def __init__(self, stream, before, file):
        self.stream, self.before, self.file = stream, before, file    # file: device and inode of descriptor 0; None: memory

    def take(self):
        """The next snippet has its own text, or none. A stream that the code has put into its place stays, as any variable does."""
        if getattr(sys, "stdin", None) is self.stream:
            sys.stdin = self.before
        if self.file is not None and identity(0) in (self.file, None):
            try:
                put_first(posix.open(NULL, posix.O_RDONLY | posix.O_CLOEXEC))
            except OSError:    # code has used up the descriptors
                pass


def give_stdin(text, before, by_number):
    """Make `text` sys.stdin, in place of `before`; by_number: and the content of descriptor 0, where the jail lets it. As in the interpreter's
    own stream, the ends of lines stay."""
    from _io import BufferedReader, BytesIO, FileIO, TextIOWrapper
    data = text.encode()
    file = take_first(data) if by_number else None
    raw = BytesIO(data) if file is None else FileIO(0, "rb", closefd=False)
    raw.name = "<stdin>"
    sys.stdin = TextIOWrapper(raw if file is None else BufferedReader(raw), "utf-8", newline="\n")
    sys.stdin.mode = "r"
    return StandardInput(sys.stdin, before, file)


def take_first(data):
    """Put a file with this content on descriptor 0, which is the null device's or nothing's; None where it is something else's, or there is
    no room for the file: its text is in memory then."""
    if identity(0) not in (None, identity(NULL)):
        return None
    try:
        fd = posix.open("/tmp", posix.O_TMPFILE | posix.O_RDWR | posix.O_CLOEXEC, 0o600)
    except OSError:
        return None
    kept = False
    try:
        if write_within_limit(fd, data):
            posix.lseek(fd, 0, 0)
            fd = put_first(fd)
            kept = fd == 0
    finally:
        if not kept:
            posix.close(fd)
    return identity(0) if kept else None


def write_within_limit(fd, data):
    """False: the jail's limit for a file is less. SIGXFSZ, by which the kernel would say so, ends a process."""
    import _signal
    before = _signal.signal(_signal.SIGXFSZ, _signal.SIG_IGN)
    try:
        from agentjail.values.files import write_all
        write_all(fd, data)
        return True
    except OSError:
        return False
    finally:
        _signal.signal(_signal.SIGXFSZ, before)


def put_first(fd):
    """Move the descriptor to number 0, which dup() gives when it is free: a snippet's filter has no dup2(). A thread of an earlier snippet may
    be quicker; then the file has another number."""
    if fd != 0:
        try:
            posix.close(0)
        except OSError:
            pass
        fd, old = posix.dup(fd), fd
        posix.close(old)
    if fd == 0:
        try:
            posix.set_inheritable(0, True)    # for programs that the code runs
        except OSError:
            pass    # a filter that refuses this refuses those, too
    return fd


def identity(place):
    """The file that is there: a path, or a descriptor."""
    try:
        found = posix.stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino
