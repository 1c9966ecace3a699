"""Files of a session's jail and of the workspace, by one kind of path. A file of the workspace is opened by a program in a jail
that shows nothing else of the host, so a link in it leads to what the jail has at that place, and nowhere else.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Any

import anyio

from .._core import Request
from .._options import entries
from .._requests import read_part
from ..aio import AsyncSession
from ..result import Result
from .commands import Commands
from .options import Refused
from .shapes import EntryShape

WORKSPACE = "/workspace"
OF_SESSION = ("/tmp", "/input", "/output")
PART_MAX = 1_000_000  # bytes of a file in one answer: what a command's output may have
ENTRIES_MAX = 1000
TIMEOUT_S = 30.0
# Scripts for /bin/sh in the jail. The last line of their stderr is the reason for a failure.

REFUSE = 'refuse() { echo "$1" >&2; exit 44; }; '
READ = (
    REFUSE + '[ -e "$1" ] || refuse "there is no such file"; [ -f "$1" ] || refuse "it is not a regular file"; '
    'stat -L -c %s -- "$1" || exit 44; tail -c "+$2" -- "$1" | head -c "$3"'
)
WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1" || exit 44'
LIST = (
    REFUSE + '[ -d "$1" ] || refuse "there is no such folder"; '
    "cd -- \"$1\" && find . -mindepth 1 -maxdepth 1 -exec stat -c '%F/%s/%n' -- {} + || exit 44"
)
TYPES = {"regular file": "file", "regular empty file": "file", "directory": "folder", "symbolic link": "link"}


@dataclass(frozen=True)
class Part:
    data: bytes
    end: bool


def resolve(path: str, has_workspace: bool) -> tuple[str, bool]:
    """The absolute path in the jail, and whether it is the workspace's. Refused: it is neither the workspace's nor the session's."""
    if not path or "\0" in path or "\n" in path:
        raise Refused("A path has at least one character, and no line feed. Fix: name a file")
    full = posixpath.normpath(posixpath.join(WORKSPACE if has_workspace else "/tmp", path))
    full = "/" + full.lstrip("/")
    for top in (WORKSPACE, *OF_SESSION):
        if full == top or full.startswith(top + "/"):
            if top == WORKSPACE and not has_workspace:
                raise Refused("There is no workspace. Fix: the server's option --workspace DIR, or a root of the client; or a path below /tmp")
            return full, top == WORKSPACE
    where = f"{WORKSPACE}, " if has_workspace else ""
    raise Refused(f"{path} is not a path of the jail's files. Fix: use a path below {where}/tmp, /input or /output")


async def read_of_session(session: AsyncSession, path: str, offset: int, length: int) -> Part:
    data, end = await session._ask(lambda name: read_part(name, path, offset))
    return Part(data[:length], end and len(data) <= length)


async def read_of_workspace(commands: Commands, workspace: str, path: str, offset: int, length: int) -> Part:
    result = await _script(commands, workspace, READ, path, str(offset + 1), str(length))
    size, _, data = result.stdout_bytes.partition(b"\n")
    return Part(data, offset + len(data) >= int(size))


async def write_to_workspace(commands: Commands, workspace: str, path: str, data: bytes) -> None:
    await _script(commands, workspace, WRITE, path, stdin=data)


async def list_of_session(session: AsyncSession, path: str) -> tuple[list[EntryShape], bool]:
    """The entries, and whether these are all."""
    answer: dict[str, Any] = await session._ask(lambda name: Request("list_files", {"session": name, "path": path}))
    return [EntryShape(name=e.name, type=e.type, size=e.size) for e in entries(answer)], not answer["truncated"]


async def list_of_workspace(commands: Commands, workspace: str, path: str) -> tuple[list[EntryShape], bool]:
    """The same. Names are the jail's word."""
    result = await _script(commands, workspace, LIST, path)
    out: list[EntryShape] = []
    for line in result.stdout_bytes.decode("utf-8", "replace").splitlines():
        kind, _, rest = line.partition("/")
        size, _, name = rest.partition("/./")
        if size.isdecimal():
            if len(out) == ENTRIES_MAX:
                return out, False
            out.append(EntryShape(name=name, type=TYPES.get(kind, "other"), size=int(size)))
    return out, True


async def _script(commands: Commands, workspace: str, script: str, *arguments: str, stdin: bytes = b"") -> Result:
    # The clock is the server's own: an option could be refused by a policy that locks its limits.
    try:
        with anyio.fail_after(TIMEOUT_S):
            result = await commands.run(["/bin/sh", "-c", script, "sh", *arguments], workspace, stdin=stdin)
    except TimeoutError:
        raise Refused(f"{arguments[0]}: this took longer than {TIMEOUT_S:.0f} s. Fix: use run_command, whose timeout is the policy's") from None
    if not result.ok:
        said = result.stderr.strip().splitlines()
        code = result.raw.get("exit_code")
        raise Refused(f"{arguments[0]}: {said[-1] if said and code is not None else result.reason}")
    return result

