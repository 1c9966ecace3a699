"""Files of the caller's, written before a snippet runs, and the folder in which a snippet leaves its own.
The supervisor writes nothing into a jail: this code does, within the jail's limits, and what it says of that is a claim.
"""

import posix

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

# /input and /output are symlinks to folders of /tmp.
FOLDERS = {"/input": "/tmp/input", "/output": "/tmp/output"}
READ_ONLY, WRITABLE, FOLDER = 0o444, 0o644, 0o755


def make_folder(path):
    try:
        posix.mkdir(path, FOLDER)
    except FileExistsError:
        pass


def make_output():
    make_folder(FOLDERS["/output"])


def write_files(files):
    """`files`: path -> "b" and base64, or "t" and text. A file of that name is replaced."""
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
    if content[:1] == "b":
        from binascii import a2b_base64
        data = a2b_base64(content[1:])
    else:
        data = content[1:].encode("utf-8", "surrogatepass")
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass
    create_file(path, data, mode)


def create_file(path, data, mode=WRITABLE):
    """A new file: OSError where something of that name is there, even a link."""
    fd = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[posix.write(fd, view):]
    finally:
        posix.close(fd)
