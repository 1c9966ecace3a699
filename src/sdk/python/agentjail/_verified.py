"""Compares the Python tree that a wheel installed with its manifest, once for each installation and user.
It repairs nothing, and writes nothing but one line in the user's cache.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from .errors import SetupError

# Where a wheel has the tree, from the program's folder. Other installations have a package manager that verifies theirs.
PACKED_TREE = "../libexec/agentjail/rootfs/default"
REINSTALL = "pip install --force-reinstall --no-deps libagentjail"
SHOWN = 3  # differences in the exception's text


def verify_tree(program: str) -> None:
    """SetupError, which names the files, if the tree of this program is not what was packed.

    The tree is read as a whole at the first use (a tenth of a second), and again when it was installed again.
    """
    tree = os.path.realpath(os.path.join(os.path.dirname(program), PACKED_TREE))
    try:
        manifest = os.stat(os.path.join(tree, "manifest"))
    except OSError:
        return
    verified = f"{tree} {manifest.st_dev} {manifest.st_ino} {manifest.st_size} {manifest.st_mtime_ns} {manifest.st_ctime_ns}\n"
    note = _cache() / f"verified-{hashlib.sha256(os.fsencode(tree)).hexdigest()[:16]}"
    try:
        if note.read_bytes() == os.fsencode(verified):
            return
    except OSError:
        pass
    run = subprocess.run([program, "rootfs", "verify", tree], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode != 0:
        wrong = run.stdout.splitlines() or run.stderr.splitlines()[:1]
        more = f" (and {len(wrong) - SHOWN} more)" if len(wrong) > SHOWN else ""
        raise SetupError(f"the Python tree {tree} is not what was installed: {'; '.join(wrong[:SHOWN])}{more}", REINSTALL)
    try:
        note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = note.with_name(f"{note.name}.{os.getpid()}")
        written.write_bytes(os.fsencode(verified))
        written.replace(note)
    except OSError:
        pass  # a home that cannot be written: the next process reads the tree again


def _cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given if os.path.isabs(given) else os.path.expanduser("~/.cache")) / "agentjail"
