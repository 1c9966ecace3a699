"""Gives the wheel its tags, and looks at what is packed before it is.
It refuses what a wheel cannot carry or would carry wrongly: links, empty folders, modes beside 0644 and 0755, a program with a loader."""

import os
import platform
import stat
import subprocess
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# A static program needs no libc of the host, so that the oldest tags that installers of Python 3.10 know are true.
TAG = "py3-none-manylinux_2_17_{0}.musllinux_1_1_{0}"


def check_tree(top: str) -> None:
    for folder, folders, names in os.walk(top):
        if not folders and not names:
            raise SystemExit(f"wheel: {folder} is empty: a wheel holds no folder without a file")
        for name in folders + names:
            path = os.path.join(folder, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                raise SystemExit(f"wheel: {path} is a link, which a wheel cannot hold")
            if stat.S_ISREG(mode) and stat.S_IMODE(mode) not in (0o644, 0o755):
                raise SystemExit(f"wheel: {path} has mode {stat.S_IMODE(mode):04o}; a wheel keeps 0644 and 0755 alone")


def check_program(path: str) -> None:
    headers = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout
    if "INTERP" in headers:
        raise SystemExit(f"wheel: {path} needs a loader of the host: link it statically (no STATIC= and no SAN=1)")


class Hook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        check_tree(os.path.join(self.root, "rootfs", "default"))
        check_program(os.path.join(self.root, "bin", "agentjail"))
        build_data["pure_python"] = False
        build_data["tag"] = TAG.format(platform.machine())
