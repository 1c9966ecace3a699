"""Files of the caller's, written before a snippet runs, and the folder in which a snippet leaves its own.
The supervisor writes nothing into a jail: this code does, within the jail's limits, and its report of that is a claim.
"""

import posix

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

# /input and /output are symlinks to folders of /tmp.
FOLDERS = {"/input": "/tmp/input", "/output": "/tmp/output"}
READ_ONLY, WRITABLE, FOLDER = 0o444, 0o644, 0o755
REGULAR, KIND = 0o100000, 0o170000
NO_LINK = posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_CLOEXEC    # and open() waits for no writer of a FIFO
# The file of /input that was appended to last: path, descriptor, device and inode. Its mode lets nobody open it for writing again.
LAST = []


def make_folder(path):
    try:
        posix.mkdir(path, FOLDER)
    except FileExistsError:
        pass


def make_output():
    make_folder(FOLDERS["/output"])


def write_files(files):
    """`files`: path -> "b" and base64, or "t" and text: a file of that name is replaced. With "B" or "T" it is appended to."""
    for path, content in files.items():
        top, _, rest = path[1:].partition("/")
        names = rest.split("/")
        real = FOLDERS.get("/" + top, "/" + top)
        make_folder(real)
        for name in names[:-1]:
            real += "/" + name
            make_folder(real)
        write_file(real + "/" + names[-1], content, READ_ONLY if top == "input" else WRITABLE)


def write_file(path, content, mode):
    kind = content[:1]
    if kind in "bB":
        from binascii import a2b_base64
        data = a2b_base64(content[1:])
    else:
        data = content[1:].encode("utf-8", "surrogatepass")
    if kind in "BT":
        append_file(path, data, mode)
        return
    remove_file(path)
    create_file(path, data, mode)


def remove_file(path):
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass


def create_file(path, data, mode=WRITABLE):
    """A new file: OSError where something of that name is there, even a link."""
    fd = open_new(path, mode)
    try:
        write_all(fd, data)
    finally:
        posix.close(fd)


def open_new(path, mode):
    return posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC, mode)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[posix.write(fd, view):]


def append_file(path, data, mode):
    """A regular file gets longer, or is made."""
    if mode == READ_ONLY:
        write_all(open_input(path), data)
        return
    fd = posix.open(path, posix.O_WRONLY | posix.O_APPEND | posix.O_CREAT | NO_LINK, mode)
    try:
        check_regular(fd, path)
        write_all(fd, data)
    finally:
        posix.close(fd)


def open_input(path):
    """The descriptor stays open for the next part. A file that some other descriptor wrote is copied once."""
    if LAST:
        last, fd, file = LAST
        ours = inode(posix.fstat, fd) == file    # agent code may have closed it; in a branch it leads nowhere
        if ours and last == path and inode(posix.lstat, path) == file:
            return fd
        LAST.clear()
        if ours:
            posix.close(fd)
    fd = copy_anew(path)
    LAST[:] = path, fd, inode(posix.fstat, fd)
    return fd


def inode(stat, place):
    try:
        found = stat(place)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def copy_anew(path):
    try:
        old = posix.open(path, posix.O_RDONLY | NO_LINK)
    except FileNotFoundError:
        return open_new(path, READ_ONLY)
    try:
        check_regular(old, path)
        posix.unlink(path)
        fd = open_new(path, READ_ONLY)
        while part := posix.read(old, 1 << 16):
            write_all(fd, part)
    finally:
        posix.close(old)
    return fd


def check_regular(fd, path):
    if posix.fstat(fd).st_mode & KIND != REGULAR:
        raise OSError(22, "Not a regular file", path)
