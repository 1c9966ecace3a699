"""A session on one machine of a Ray cluster: agentjail.Session over the actor of that machine, without streaming.
It never moves: when its machine has died, it has ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import errors
from ._options import NO_DEFAULT, Entry, Variable
from ._raynode import Node
from ._requests import Files, RunOptions, Unpack
from .result import Result
from .tools import ToolLike, collect


class Session:
    """A jail that lasts, on one machine: agentjail.Session over the actor of that machine, without streaming.

    It can be pickled, so another task of the cluster may go on with it; its copies are the same jail. NodeDied: the machine has died,
    and the variables with it. SessionEnded: the session is over. close() it, or use `with`.
    """

    def __init__(self, node: Node, number: int, busy_timeout: float) -> None:
        self._node, self._number, self.busy_timeout = node, number, busy_timeout
        self._open = True

    @property
    def node(self) -> str:
        """The machine."""
        return self._node.name

    def run(self, code: str, **options: Unpack[RunOptions]) -> Result:
        result: Result = self._call("run", **portable_arguments(code, dict(options)))
        return result

    def set(self, variables: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        self._call("set", {**(variables or {}), **more})

    def get(self, name: str, default: Any = NO_DEFAULT, *, timeout: float | None = None) -> Any:
        given = () if default is NO_DEFAULT else (default,)
        return self._call("get", name, *given, timeout=timeout)

    def vars(self) -> dict[str, Variable]:
        found: dict[str, Variable] = self._call("vars")
        return found

    def write_files(self, files: Files) -> None:
        self._call("write_files", contents(files))

    def read_file(self, path: str) -> bytes:
        data: bytes = self._call("read_file", path)
        return data

    def list_files(self, path: str = "/tmp") -> list[Entry]:
        found: list[Entry] = self._call("list_files", path)
        return found

    def remove_file(self, path: str) -> None:
        self._call("remove_file", path)

    def add_tools(self, tools: Iterable[ToolLike] | Mapping[str, ToolLike]) -> None:
        self._call("add_tools", collect(tools))

    def fork(self) -> Session:
        number: int = self._call("fork")
        self._node.count(1)
        return Session(self._node, number, self.busy_timeout)

    def checkpoint(self) -> int:
        number: int = self._call("checkpoint")
        return number

    def rollback(self, checkpoint: int) -> None:
        self._call("rollback", checkpoint)

    def forget(self, checkpoint: int) -> None:
        self._call("forget", checkpoint)

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the snippet that runs; another thread calls this. The session continues."""
        self._call("interrupt", control=True)

    def close(self) -> None:
        """End the session. May be called again, and after its machine has died."""
        if not self._open:
            return
        self._open = False
        self._node.count(-1)
        try:
            self._node.ask(self.busy_timeout, "call", self._number, "close", (), {}, control=True)
        except (errors.NodeDied, errors.SessionEnded):
            pass  # it has ended already

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session on {self.node}{'' if self._open else ' closed'}>"

    def _call(self, method: str, *arguments: Any, control: bool = False, **named: Any) -> Any:
        if not self._open:
            raise errors.SessionEnded("the session was closed", "open another one")
        return self._node.ask(self.busy_timeout, "call", self._number, method, arguments, named, control=control)


def portable_arguments(code: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a run that make sense on another machine."""
    arguments = {"code": code, **options}
    if arguments.get("files") is not None:
        arguments["files"] = contents(arguments["files"])
    return arguments


def contents(files: Files | None) -> Any:
    """Files with their contents: a path is one of this machine."""
    if files is None or isinstance(files, (str, bytes)):
        return files  # which the other side refuses
    pairs: Iterable[tuple[str, Any]] = files.items() if isinstance(files, Mapping) else [(os.path.basename(path), Path(path)) for path in files]
    return {name: Path(content).read_bytes() if isinstance(content, os.PathLike) else content for name, content in pairs}
