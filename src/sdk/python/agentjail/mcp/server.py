"""The tools, and what each says of itself. Each call becomes one run of a jail; what is wrong with a call itself is a tool error
whose text has the fix.
"""

import asyncio
import functools
import os
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote, urlsplit

from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, ImageContent, ListRootsResult, ToolAnnotations
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import Field
from typing_extensions import ParamSpec

from .. import __version__
from ..errors import AgentjailError
from . import content, files
from .jails import Jails
from .options import Refused
from .progress import Progress
from .shapes import CommandOutput, ListOutput, ReadOutput, ResetOutput, RunOutput, WriteOutput

P = ParamSpec("P")
R = TypeVar("R")
Ctx = Context[Jails, Any]

INSTRUCTIONS = """Runs code in jails of the Linux kernel: no network, no access to the user's files beyond the workspace.
run_python starts from nothing each time; session_run keeps variables, imports and files between calls. Files for the user go to /output.
run_command runs a program of this machine, with the workspace at /workspace.
"""
PYTHON_SEES = {
    None: "Python code does not see the workspace: write_file brings it files, to /input of the session.",
    "read-only": "Python code sees the workspace at /workspace, its current folder, and can read there.",
    "policy": "Python code sees the workspace at /workspace, its current folder.",
}

NO_WORKSPACE = "There is no workspace: the command saw no file of the user. Fix: the server's option --workspace DIR, or a root of the client."
WHERE = "below /workspace, or of the session below /tmp, /input or /output; a relative path is below /workspace, where there is one"
Code = Annotated[str, Field(description="Python source; the value of its last expression is returned")]
Timeout = Annotated[float | None, Field(gt=0, description="seconds; at most what the server's policy allows")]
Stdin = Annotated[str | None, Field(description="the text that input() and sys.stdin read")]
SessionName = Annotated[
    str | None,
    Field(max_length=64, pattern=r"^[A-Za-z0-9_-]+$", description="a name that an earlier answer gave; left out: your one session"),
]


async def roots(ctx: Ctx) -> ListRoots | ListRootsResult:
    """The client's roots, where they may decide on the workspace: the client started this server, and so has its user's rights."""
    jails = ctx.request_context.lifespan_context
    capabilities = ctx.client_capabilities
    if jails.options.workspace or jails.options.http or capabilities is None or capabilities.roots is None:
        return ListRootsResult(roots=[])
    return ListRoots()


async def roots_for_python(ctx: Ctx) -> ListRoots | ListRootsResult:
    return await roots(ctx) if ctx.request_context.lifespan_context.options.python_workspace else ListRootsResult(roots=[])


Roots = Annotated[ListRootsResult, Resolve(roots)]
RootsForPython = Annotated[ListRootsResult, Resolve(roots_for_python)]


class Workspace:
    """The folder of one call, or none, and what is to be said of the choice."""

    def __init__(self, jails: Jails, listed: ListRootsResult) -> None:
        self.folder = jails.options.workspace
        self.notes: list[str] = []
        if self.folder is not None or not listed.roots:
            return
        self.folder = _folder(str(listed.roots[0].uri))
        if len(listed.roots) > 1:
            self.notes.append(f"The client has {len(listed.roots)} roots; /workspace is the first, {self.folder}.")


def _folder(uri: str) -> str:
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.startswith("/") or "\0" in path:
        raise Refused(f"The client's root {uri} is no folder of this machine. Fix: use a root file:///DIR, or the server's option --workspace")
    real = os.path.realpath(path)  # a jail binds what it shows without following links
    if not os.path.isdir(real):
        raise Refused(f"The client's root {uri} is no folder. Fix: create it, or use the server's option --workspace")
    return real


def _explained(tool: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """A tool whose refusals reach the model with their text; the SDK keeps that of other exceptions to itself."""

    @functools.wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await tool(*args, **kwargs)
        except AgentjailError as e:
            raise ToolError(str(e)) from None
        except TimeoutError:
            raise ToolError("the jail's service did not answer in time; try again") from None

    return call


def _session_key(jails: Jails, ctx: Ctx, name: str | None, *, begin: bool = False) -> tuple[str, str | None]:
    """The key of the session that a call means, and the name to be given back where the client has to remember it. begin: the call may begin one.

    A client of stdio is this process's own, one of the handshake's HTTP has the id that the SDK gave it and checks. By later HTTP there is no
    client but requests: there the name is a secret that this server made.
    """
    if jails.options.http is None:
        return f"stdio/{name or ''}", None
    client = (ctx.headers or {}).get("mcp-session-id") if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else None
    if client is not None:
        return f"{client}/{name or ''}", None
    if name is None:
        if not begin:
            raise Refused("Which session? Fix: pass as `session` the name that session_run or write_file gave")
        name = jails.new_key()
    elif not jails.known(f"/{name}"):
        raise Refused(f"There is no session {name}: it was reset, or idle for long. Fix: leave `session` out, and the answer names another")
    return f"/{name}", name


@_explained
async def run_python(
    code: Code, ctx: Ctx, roots: RootsForPython, stdin: Stdin = None, timeout_s: Timeout = None
) -> Annotated[CallToolResult, RunOutput]:
    """Run Python code in a fresh jail: no variables or files of earlier calls, no network. Returns the last expression's value, the output,
    images that were shown, and the files that the code wrote to /output."""
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    jail = await jails.fresh(workspace.folder)
    async with Progress(ctx) as progress:
        result = await jail.run(code, stdin=stdin, timeout=timeout_s, output="data", on_stdout=progress.output, on_stderr=progress.output)
    return content.of_run(result, workspace.notes)


@_explained
async def session_run(
    code: Code, ctx: Ctx, roots: RootsForPython, stdin: Stdin = None, timeout_s: Timeout = None, session: SessionName = None
) -> Annotated[CallToolResult, RunOutput]:
    """Run Python code in a session: variables, imports and files in /tmp and /output last until session_reset."""
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    key, name = _session_key(jails, ctx, session, begin=True)
    async with jails.session(key, workspace.folder) as jail, Progress(ctx) as progress:
        result = await jail.run(code, stdin=stdin, timeout=timeout_s, output="data", on_stdout=progress.output, on_stderr=progress.output)
    notes = [*workspace.notes, *([] if name is None else [f"Session: {name} (pass it as `session` with the next call)"])]
    if not result.session_alive:
        await jails.end(key)
        notes = ["The session has ended with this run: its variables and files are gone. The next call starts a new one."]
    return content.of_run(result, notes, name if result.session_alive else None, in_session=True)


@_explained
async def session_reset(ctx: Ctx, session: SessionName = None) -> Annotated[CallToolResult, ResetOutput]:
    """End the session, with its variables, imports and files, and what it runs. The next call starts a new one."""
    jails = ctx.request_context.lifespan_context
    key, _ = _session_key(jails, ctx, session)
    ended = await jails.end(key)
    return content.answer("The session was ended." if ended else "There was no session.", ResetOutput(ended=ended))


@_explained
async def run_command(
    command: Annotated[list[str], Field(min_length=1, description='the program and its arguments, e.g. ["sh", "-c", "make test"]')],
    ctx: Ctx,
    roots: Roots,
    stdin: Annotated[str, Field(description="what the program reads from its standard input")] = "",
    timeout_s: Timeout = None,
) -> Annotated[CallToolResult, CommandOutput]:
    """Run a program of this machine in a jail: the workspace at /workspace is its current folder and its to change, the machine's tools are
    read-only, /tmp is private and ends with the call, and there is no network."""
    if any("\0" in word for word in command):
        raise Refused("A command has no NUL character.")
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    given = stdin.encode("utf-8", "surrogatepass")
    async with Progress(ctx) as progress:
        result = await jails.commands.run(command, workspace.folder, stdin=given, timeout=timeout_s, on_output=progress.output)
    if workspace.folder is None:
        workspace.notes.append(NO_WORKSPACE)
    return content.of_command(result, workspace.folder, workspace.notes)


Path = Annotated[str, Field(description=WHERE)]


@_explained
async def read_file(
    path: Path,
    ctx: Ctx,
    roots: Roots,
    offset: Annotated[int, Field(ge=0, description="bytes to skip")] = 0,
    length: Annotated[int, Field(ge=1, le=files.PART_MAX, description="bytes to read at most")] = 65536,
    session: SessionName = None,
) -> Annotated[CallToolResult, ReadOutput]:
    """Read a file of the workspace or of the session. An image is returned as an image, other binary data as base64."""
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    full, of_workspace = files.resolve(path, workspace.folder is not None)

    async def part(length: int) -> files.Part:
        if of_workspace:
            return await files.read_of_workspace(jails.commands, workspace.folder or "", full, offset, length)
        key, _ = _session_key(jails, ctx, session)
        async with jails.session(key, workspace.folder) as jail:
            return await files.read_of_session(jail, full, offset, length)

    got = await part(length)
    image = content.image_type(got.data) if offset == 0 else None
    if image and not got.end:
        got = await part(files.PART_MAX)
    shape = ReadOutput(path=full, offset=offset, bytes=len(got.data), next_offset=None if got.end else offset + len(got.data))
    rest = [] if got.end else [f"[there is more: go on with offset {shape.next_offset}]"]
    if image and got.end:
        picture = ImageContent(data=b64encode(got.data).decode(), mime_type=image)
        return content.answer(f"{full}: {image}, {len(got.data)} bytes", shape, [picture])
    try:
        shape.text = got.data.decode() if got.end else _whole_characters(got.data, shape)
    except UnicodeDecodeError:
        shape.base64 = b64encode(got.data).decode()
        blob = content.resource(f"agentjail://{full}", got.data, image or "application/octet-stream")
        return content.answer("\n".join([f"{full}: binary, {len(got.data)} bytes", *rest]), shape, [blob])
    return content.answer("\n".join([shape.text, *rest, *workspace.notes]), shape)


def _whole_characters(data: bytes, shape: ReadOutput) -> str:
    """The text of a part that ends within a file, without the bytes of a character that continues in the next part."""
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode()
        except UnicodeDecodeError:
            if cut == 3:
                raise
            continue
        shape.bytes, shape.next_offset = len(data) - cut, shape.offset + len(data) - cut
        return text
    raise AssertionError


@_explained
async def write_file(
    path: Path,
    text: Annotated[str, Field(description="the whole content; with encoding base64, the base64 of it")],
    ctx: Ctx,
    roots: Roots,
    encoding: Literal["utf-8", "base64"] = "utf-8",
    session: SessionName = None,
) -> Annotated[CallToolResult, WriteOutput]:
    """Write a file of the workspace or of the session, with the folders above it; an existing file is replaced."""
    try:
        data = b64decode(text, validate=True) if encoding == "base64" else text.encode("utf-8", "surrogatepass")
    except ValueError:
        raise Refused("The text is no base64. Fix: encode the bytes, or leave `encoding` out") from None
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    full, of_workspace = files.resolve(path, workspace.folder is not None)
    notes = workspace.notes
    if of_workspace:
        await files.write_to_workspace(jails.commands, workspace.folder or "", full, data)
    else:
        key, name = _session_key(jails, ctx, session, begin=True)
        async with jails.session(key, workspace.folder) as jail:
            await jail.write_files({full: data})
        notes = [] if name is None else [f"Session: {name} (pass it as `session` with the next call)"]
    return content.answer("\n".join([f"{len(data)} bytes written to {full}", *notes]), WriteOutput(path=full, bytes=len(data)))


@_explained
async def list_files(ctx: Ctx, roots: Roots, path: Path = ".", session: SessionName = None) -> Annotated[CallToolResult, ListOutput]:
    """List a folder of the workspace or of the session."""
    jails = ctx.request_context.lifespan_context
    workspace = Workspace(jails, roots)
    full, of_workspace = files.resolve(path, workspace.folder is not None)
    if of_workspace:
        entries, complete = await files.list_of_workspace(jails.commands, workspace.folder or "", full)
    else:
        key, _ = _session_key(jails, ctx, session)
        async with jails.session(key, workspace.folder) as jail:
            entries, complete = await files.list_of_session(jail, full)
    shown = sorted(entries, key=lambda e: e.name)
    marks = {"folder": "/", "link": " (link)", "file": "", "other": " (special file)"}
    lines = [f"{e.name}{marks.get(e.type, '')}{f'  {e.size} bytes' if e.type == 'file' else ''}" for e in shown] or ["The folder is empty."]
    shape = ListOutput(path=full, entries=shown, complete=complete)
    return content.answer("\n".join([*lines, *([] if complete else ["[there are more]"]), *workspace.notes]), shape)


# Nothing here reaches another machine. Code in a jail of its own cannot harm; a command and a file of the workspace change the user's files.
CONFINED = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
REPLACES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

TOOLS: tuple[tuple[Callable[..., Any], str, ToolAnnotations], ...] = (
    (run_python, "Run Python in a fresh jail", CONFINED),
    (session_run, "Run Python in a session", CONFINED),
    (session_reset, "End the session", REPLACES),
    (run_command, "Run a command in the workspace", CHANGES),
    (read_file, "Read a file", READS),
    (write_file, "Write a file", REPLACES),
    (list_files, "List a folder", READS),
)


def make_server(jails: Jails) -> MCPServer[Jails]:
    """The server, which ends the jails with itself."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[Jails]) -> AsyncIterator[Jails]:
        sweep = asyncio.create_task(jails.sweep()) if jails.options.http else None
        try:
            yield jails
        finally:
            if sweep is not None:
                sweep.cancel()
            await jails.close()

    instructions = INSTRUCTIONS + PYTHON_SEES[jails.options.python_workspace]
    server = MCPServer[Jails](
        "agentjail", title="agentjail", instructions=instructions, version=__version__, lifespan=lifespan, log_level="WARNING"
    )
    for function, title, annotations in TOOLS:
        server.add_tool(function, title=title, annotations=annotations)
    return server
