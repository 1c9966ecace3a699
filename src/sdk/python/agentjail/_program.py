"""Where the program `agentjail` and its Python tree are: given, in the environment, packed beside this module, or on PATH.
It starts nothing, and gives paths without symlinks: what a jail binds is opened without following any.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import SetupError

HERE = Path(__file__).resolve().parent
PACKED_PROGRAM = HERE / "_bin" / "agentjail"
PACKED_TREE = HERE / "_tree"

INSTALL = "pip install libagentjail has the program; or name it: Service(program=...), or the variable AGENTJAIL"


def find_program(given: str | os.PathLike[str] | None = None) -> str:
    """The program's real path. SetupError: there is none, or it cannot be run."""
    for source, path in (("the argument program", given), ("the variable AGENTJAIL", os.environ.get("AGENTJAIL"))):
        if path:
            real = os.path.realpath(path)
            if not os.access(real, os.X_OK) or os.path.isdir(real):
                raise SetupError(f"{source} names {os.fspath(path)!r}, which is no program", INSTALL)
            return real
    if PACKED_PROGRAM.exists():
        if not os.access(PACKED_PROGRAM, os.X_OK):
            raise SetupError(f"{PACKED_PROGRAM} may not be run", f"chmod +x {PACKED_PROGRAM}, or reinstall libagentjail")
        return os.path.realpath(PACKED_PROGRAM)
    found = shutil.which("agentjail")
    if found is None:
        raise SetupError("there is no program agentjail: neither packed beside this module nor on PATH", INSTALL)
    return os.path.realpath(found)


def find_tree(program: str, given: str | os.PathLike[str] | None = None) -> str | None:
    """The Python tree's real path, or None where the program finds its own. SetupError: a tree was named that is not there."""
    for source, path in (("the argument rootfs", given), ("the variable AGENTJAIL_ROOTFS", os.environ.get("AGENTJAIL_ROOTFS"))):
        if path:
            if not os.path.isdir(path):
                raise SetupError(f"{source} names {os.fspath(path)!r}, which is no folder", "name a tree that `agentjail rootfs` or the package made")
            return os.path.realpath(path)
    if PACKED_TREE.is_dir() and program == os.path.realpath(PACKED_PROGRAM):
        return os.path.realpath(PACKED_TREE)
    return None
