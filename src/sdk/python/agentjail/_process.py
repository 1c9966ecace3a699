"""A private service: the process `agentjail serve --connection FD`, which serves one socket pair and ends with it.
It speaks no protocol; it starts the process, keeps the end of its log, and sees to it that nothing of it is left.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from . import _toml
from ._program import find_program, find_tree
from ._verified import verify_tree
from .errors import SetupError

PolicyLike = Union[str, os.PathLike[str], Mapping[str, Any]]

LOG_BYTES = 1 << 20  # of the service's messages; older ones go
LOG_TAIL_BYTES = 2000
REQUEST_MAX = "64M"  # the most that the service allows: a private service has one client, this process
END_S = 5.0  # until a service that does not end is killed


@dataclass(frozen=True)
class Recipe:
    """The program, tree, policies and options of a private service.

    policies: names, files, texts of TOML, or dicts. options: further words for the command. env: variables for it.
    """

    program: str | os.PathLike[str] | None = None
    rootfs: str | os.PathLike[str] | None = None
    policies: tuple[PolicyLike, ...] = ()
    options: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


OPTIONS = {  # keyword of Service -> option of the command, see `agentjail serve --help`
    "timeout": "--timeout", "memory": "--memory", "pids": "--pids", "cpu_percent": "--cpu-percent", "limits": "--limits", "cgroup": "--cgroup",
    "parked": "--parked", "jails_max": "--jails-max", "sessions_max": "--sessions-max", "queue_max": "--queue-max", "pools_max": "--pools-max",
    "queue_time": "--queue-time", "tenant_sessions": "--tenant-sessions",
    "idle": "--idle", "lifetime": "--lifetime", "grace": "--grace", "request_max": "--request-max", "request_time": "--request-time",
    "unread_max": "--unread-max", "builtins": "--builtins", "imports_checked": "--imports-checked", "config": "--config",
}  # fmt: skip
TIMES = frozenset(("timeout", "queue_time", "idle", "lifetime", "grace", "request_time"))


def names_of(option: str, names: Iterable[str]) -> list[str]:
    """A list of modules. TypeError: it is one text, whose letters would be taken for modules; but for `*`."""
    if isinstance(names, str) and names != "*":
        raise TypeError(f"{option} is a list of modules: {option}=[{names!r}]")
    return list(names)


def command_options(limits: Mapping[str, Any]) -> tuple[str, ...]:
    """The command's options for keyword arguments. A time is in seconds, a size in bytes, unless it is a text such as `10s` or `512M`."""
    out: list[str] = []
    for key, value in limits.items():
        if value is None:
            continue
        if key == "allow_imports":
            out += [word for module in names_of(key, value) for word in ("--allow-import", module)]
        elif key == "layer":
            out += ["--layer", "on" if value else "off"]
        elif key not in OPTIONS:
            raise TypeError(f"a service has no option {key!r}; it has: {', '.join(sorted([*OPTIONS, 'allow_imports', 'layer']))}")
        elif key in TIMES and isinstance(value, (int, float)):
            out += [OPTIONS[key], f"{round(value * 1000)}ms" if value else "0"]
        else:
            out += [OPTIONS[key], str(value)]
    return tuple(out)


def _above_streams(one: socket.socket) -> socket.socket:
    """The socket, with a number above the standard streams': where these are closed, the service takes such a number for one of its own
    streams, and what this program prints would be in the connection."""
    if one.fileno() > 2:
        return one
    with one:
        return socket.socket(fileno=fcntl.fcntl(one.fileno(), fcntl.F_DUPFD_CLOEXEC, 3))


class Process:
    """One running service. `socket` is this program's end of the pair."""

    def __init__(self, recipe: Recipe) -> None:
        program = find_program(recipe.program)
        tree = find_tree(recipe.rootfs)
        if tree is None:
            verify_tree(program)
        self._program, self._folder = program, None
        ours, theirs = map(_above_streams, socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
        self._log = os.memfd_create("agentjail-log")
        try:
            fcntl.fcntl(self._log, fcntl.F_SETFL, os.O_APPEND)
            command = [program, "serve", "--connection", str(theirs.fileno())]
            if tree is not None:
                command += ["--rootfs", tree]
            command += ["--request-max", REQUEST_MAX, *self._policies(recipe.policies), *recipe.options]
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log, pass_fds=(theirs.fileno(),),
                env={**os.environ, **recipe.env}, start_new_session=True,  # so that Ctrl-C at a terminal is this program's alone
            )  # fmt: skip
        except BaseException as e:
            ours.close()
            self._drop()
            if isinstance(e, OSError):
                raise SetupError(f"{program} does not start: {e}", "check the file and its rights") from None
            raise
        finally:
            theirs.close()
        self.socket = ours

    def _policies(self, policies: Sequence[PolicyLike]) -> list[str]:
        out: list[str] = []
        for i, policy in enumerate(policies):
            if isinstance(policy, Mapping):
                out += ["--policy-file", self._written(i, _toml.write(policy))]
            elif isinstance(policy, str) and ("\n" in policy or "=" in policy):
                out += ["--policy-file", self._written(i, policy)]
            elif isinstance(policy, os.PathLike) or "/" in policy or policy.endswith(".toml"):
                out += ["--policy-file", os.path.realpath(policy)]
            else:
                out += ["--policy", policy]
        return out

    def _written(self, number: int, text: str) -> str:
        if self._folder is None:
            self._folder = Folder()
        path = Path(self._folder.path) / f"{'private' if number == 0 else f'private-{number + 1}'}.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    @property
    def pid(self) -> int:
        return self.process.pid

    def log_tail(self) -> str:
        """The end of the service's stderr."""
        if self._log < 0:
            return ""
        size = os.fstat(self._log).st_size
        text = os.pread(self._log, LOG_TAIL_BYTES, max(0, size - LOG_TAIL_BYTES)).decode("utf-8", "replace")
        if size > LOG_BYTES:
            os.ftruncate(self._log, 0)
        return text.strip()

    def start_failed(self) -> SetupError:
        """Why it has ended before it served."""
        self.end()
        message, _, fix = self._last_log.partition("\n  fix: ")
        message = message.removeprefix("agentjail: ").strip()
        return SetupError(message or f"`{self._program} serve` ended with status {self.process.returncode}, without a message", fix.strip())

    _last_log = ""
    _folder: Folder | None

    def end(self, patience_s: float = END_S) -> None:
        """Close the connection, upon which the service ends, and reap the process. May be called again."""
        self.socket.close()
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._last_log = self._last_log or self.log_tail()
        self._drop()

    def leave(self) -> None:
        """In a process that was forked: give up this process's copies, and nothing of the one that started it."""
        self.socket.close()
        if self.process.returncode is None:
            self.process.returncode = 0  # it is no child of this process, so Popen must not wait for it
        if self._folder is not None:
            self._folder.disown()
        self._drop()

    def _drop(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        if self._folder is not None:
            self._folder.remove()
            self._folder = None


class Folder:
    """A private folder for policies. Those of programs that were killed are removed when the next one is made."""

    PREFIX = "agentjail-policies-"

    def __init__(self) -> None:
        base = tempfile.gettempdir()
        for name in os.listdir(base):
            if name.startswith(self.PREFIX):
                _sweep(os.path.join(base, name))
        self.path = tempfile.mkdtemp(prefix=f"{self.PREFIX}{os.getpid()}-", dir=base)
        self._end = weakref.finalize(self, shutil.rmtree, self.path, True)

    def remove(self) -> None:
        self._end()

    def disown(self) -> None:
        self._end.detach()


def _sweep(path: str) -> None:
    pid = os.path.basename(path)[len(Folder.PREFIX) :].partition("-")[0]
    try:
        if pid.isdigit() and os.lstat(path).st_uid == os.getuid() and not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass


def key_of(policy: PolicyLike | None) -> str:
    """A text that is the same for the same policy."""
    if policy is None:
        return ""
    return json.dumps(policy, sort_keys=True, default=str) if isinstance(policy, Mapping) else os.fspath(policy)
