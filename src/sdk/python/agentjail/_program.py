"""Where the program `agentjail` and its Python tree are: given, in the environment, installed with this package, or on PATH.
It starts nothing, and gives paths without symlinks: a jail's binds are opened without following any.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .errors import SetupError

INSTALL = "pip install --force-reinstall libagentjail has the program; or name it: Service(program=...), or the variable AGENTJAIL"


def _beside() -> list[Path]:
    """Where the program is when it was installed with this package, or built with this source."""
    folders = Path(__file__).absolute().parents
    if folders[3].name == "src":
        return [folders[4] / "build" / "agentjail"]
    # PREFIX/lib/python3.X/site-packages/agentjail; with `pip install --target DIR`: DIR/agentjail
    return [folders[4] / "bin" / "agentjail", folders[1] / "bin" / "agentjail"]


def find_program(given: str | os.PathLike[str] | None = None) -> str:
    """The program's real path. SetupError: there is none, or it cannot be run."""
    for source, path in (("the argument program", given), ("the variable AGENTJAIL", os.environ.get("AGENTJAIL"))):
        if path:
            real = os.path.realpath(path)
            if not os.access(real, os.X_OK) or os.path.isdir(real):
                raise SetupError(f"{source} names {os.fspath(path)!r}, which is no program", INSTALL)
            return real
    for beside in _beside():
        if beside.is_file():
            if not os.access(beside, os.X_OK):
                raise SetupError(f"{beside} may not be run", f"chmod +x {beside}, or reinstall libagentjail")
            return os.path.realpath(beside)
    found = shutil.which("agentjail")
    if found is None:
        raise SetupError("there is no program agentjail: neither installed with this package nor on PATH", INSTALL)
    return os.path.realpath(found)


def find_tree(given: str | os.PathLike[str] | None = None) -> str | None:
    """The real path of a Python tree that was named, or None where the program finds its own. SetupError: the tree is not there."""
    for source, path in (("the argument rootfs", given), ("the variable AGENTJAIL_ROOTFS", os.environ.get("AGENTJAIL_ROOTFS"))):
        if path:
            if not os.path.isdir(path):
                raise SetupError(f"{source} names {os.fspath(path)!r}, which is no folder", "name a tree that `agentjail rootfs` or the package made")
            return os.path.realpath(path)
    return None


def missing_package(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error for an adapter whose package is not installed."""
    return ModuleNotFoundError(f"agentjail.{extra}: {error}\nfix: pip install 'libagentjail[{extra}]'", name=error.name)
