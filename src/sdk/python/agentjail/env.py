"""Environments of packages for jails, as `agentjail env` makes them: each is a folder of wheels' files, which snippets get read-only."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ._program import find_program, find_tree
from .errors import SetupError


@dataclass(frozen=True)
class Env:
    """An environment. packages: name to version. imports: the top-level modules that code may import, with all below them."""

    name: str
    python: str
    packages: dict[str, str]
    imports: tuple[str, ...]

    @classmethod
    def create(
        cls,
        name: str,
        packages: Iterable[str] = (),
        *,
        requirements: Sequence[str | os.PathLike[str]] = (),
        lock: str | os.PathLike[str] | None = None,
        program: str | os.PathLike[str] | None = None,
    ) -> Env:
        """Download packages into a new environment, or find the one of this name that was made by the same request.

        packages: as pip reads them, `["pandas>=2,<3", "polars"]`. requirements: requirements files. lock: requirements with hashes, or a
        pylock.toml. uv downloads them, or pip where there is no uv; what these print goes to stderr. SetupError: they cannot be had, or
        the name has other packages.
        """
        if isinstance(packages, str):
            raise TypeError(f"packages is a list: packages=[{packages!r}]")
        words = [word for file in requirements for word in ("-r", os.fspath(file))]
        words += ["--lock", os.fspath(lock)] if lock is not None else []
        listed = list(packages)
        return cls._of(_ask(program, "create", name, *words, "--json", *(["--packages", *listed] if listed else [])))

    @classmethod
    def find(cls, name: str, *, program: str | os.PathLike[str] | None = None) -> Env:
        """The environment of this name. SetupError: there is none."""
        return cls._of(_ask(program, "show", name, "--json"))

    @classmethod
    def _of(cls, text: str) -> Env:
        made: dict[str, Any] = json.loads(text)
        packages = {row.get("name", ""): row.get("version", "") for row in made["packages"]}
        return cls(made["name"], made["python"], packages, tuple(made["imports"]))

    def update(self, *, program: str | os.PathLike[str] | None = None) -> Env:
        """Make it again, with the newest packages that fit its request."""
        return self._of(_ask(program, "update", self.name, "--json"))

    def remove(self, *, program: str | os.PathLike[str] | None = None) -> None:
        """Remove it. Jails that run with it lose the files that they have not opened."""
        _ask(program, "remove", self.name)


EnvLike = Union[str, Env]


def name_of(env: EnvLike) -> str:
    return env.name if isinstance(env, Env) else env


def env_of(packages: Iterable[str]) -> str:
    """The name of the environment with these packages, which is made where it is missing."""
    if isinstance(packages, str):
        raise TypeError(f"packages is a list: packages=[{packages!r}]")
    listed = sorted(packages)
    return Env.create("auto-" + hashlib.sha256("\n".join(listed).encode()).hexdigest()[:16], listed).name


def _ask(program: str | os.PathLike[str] | None, *words: str) -> str:
    tree = find_tree()
    own = {"AGENTJAIL_PYTHON": sys.executable, **({"AGENTJAIL_ROOTFS": tree} if tree else {})}
    done = subprocess.run(
        [find_program(program), "env", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={**os.environ, **own},
    )  # fmt: skip
    if done.returncode:
        before, _, last = done.stderr.rpartition("agentjail: ")
        cause, _, fix = last.partition("\n  fix: ")
        raise SetupError("\n".join((cause.strip(), before.strip())).strip(), fix.strip() or "`agentjail env --help` has the words")
    sys.stderr.write(done.stderr)
    return done.stdout
