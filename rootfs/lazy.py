"""Finds the modules that the extension modules of a tree may import while they run: a name in C code is a string of the file.
It takes no name that is not a module of the same tree, and no string of a file that cannot import."""
import os
import re

# The functions of Python's C interface that import by way of __import__; others call the import system itself.
IMPORTS = (b"PyImport_Import\0", b"PyImport_ImportModule\0", b"PyImport_ImportModuleNoBlock\0", b"PyCapsule_Import\0")
NAME = re.compile(rb"(?<=\0)[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*(?=\0)")


def write(tree, stdlib, sources, file):
    """The Python source of rail/lazy_extensions. sources: the paths in the jail of the modules that are not yet compiled."""
    with open(file, "w", encoding="utf-8") as f:
        f.write("ASKED_FOR_BY = %r\n" % asked_for(tree, stdlib, sources))


def asked_for(tree, stdlib, sources):
    """{module: (the extension modules whose C code asks for it, ...)}"""
    folders = (stdlib + "/lib-dynload/", stdlib + "/", "/usr/lib/python3/dist-packages/")
    extensions = {module_name(jail, folders): jail for _, jail in tree.objects if os.path.exists(tree.top + jail)}
    extensions.pop(None, None)
    modules = set(extensions) | {module_name(path, folders) for path in sources}
    rows = {}
    for own, jail in extensions.items():
        with open(tree.top + jail, "rb") as f:
            data = f.read()
        if any(function in data for function in IMPORTS):
            for name in {m.decode() for m in NAME.findall(data)} & (modules - {own}):
                rows.setdefault(name, set()).add(own)
    return {name: tuple(sorted(rows[name])) for name in sorted(rows)}


def module_name(path, folders):
    """.../dist-packages/numpy/core/_methods.py -> numpy.core._methods; None for a path outside of the folders."""
    for folder in folders:
        if path.startswith(folder):
            name = path[len(folder):].partition(".")[0].replace("/", ".")
            return name[:-len(".__init__")] if name.endswith(".__init__") else name
    return None
