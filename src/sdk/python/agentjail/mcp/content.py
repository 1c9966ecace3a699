"""Results as answers of MCP: text for the model, structured output, images, files. All that a jail says has a bound here, so that
no snippet fills a model's context.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import quote

from mcp_types import (
    Annotations,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

from ..result import File, Result
from .shapes import CommandOutput, ErrorShape, FileShape, RunOutput, SkippedShape

TEXT_CHARACTERS = 20_000  # of stdout, stderr and a value, each
ERROR_CHARACTERS = 2000  # of a message and a hint, each
NAME_CHARACTERS, LIST_CHARACTERS = 200, 600  # of a file's name, and of a list of them in the text
FILES_MAX = 100
IMAGES_MAX = 8
EMBEDDED_BYTES = 4 << 20  # of images and files of an answer together

# By their first bytes, since a name or type that the jail gives is a claim. Models take these types and no others.
IMAGES = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"))
TEXTS = frozenset(("application/json", "application/xml", "application/yaml", "application/toml", "image/svg+xml"))
FOR_USER = Annotations(audience=["user"])


def image_type(data: bytes) -> str | None:
    """The media type of an image that models take, or None."""
    for start, media_type in IMAGES:
        if data.startswith(start):
            return media_type
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def resource(uri: str, data: bytes, media_type: str) -> EmbeddedResource:
    """A file as an embedded resource: text where it is text."""
    contents: TextResourceContents | BlobResourceContents
    try:
        if not (media_type.startswith("text/") or media_type in TEXTS):
            raise ValueError
        contents = TextResourceContents(uri=uri, mime_type=media_type, text=data.decode())
    except ValueError:
        contents = BlobResourceContents(uri=uri, mime_type=media_type, blob=b64encode(data).decode())
    return EmbeddedResource(resource=contents)


def answer(text: str, shape: BaseModel, more: list[ContentBlock] | None = None, *, failed: bool = False) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=text), *(more or [])], structured_content=shape.model_dump(mode="json", exclude_none=True), is_error=failed
    )


class Budget:
    """How many bytes of an answer's attachments are left, and what is attached already: /output has the images of a value as files, too."""

    def __init__(self) -> None:
        self.left = EMBEDDED_BYTES
        self.shown: set[bytes] = set()

    def take(self, size: int) -> bool:
        if size > self.left:
            return False
        self.left -= size
        return True


def of_run(result: Result, notes: list[str], session: str | None = None, *, in_session: bool = False) -> CallToolResult:
    """The answer for Python code: also a failed one is an answer, marked as an error."""
    budget = Budget()
    more = _pictures(result, budget)
    shapes = []
    for file in result.files[:FILES_MAX]:
        embedded = _attach(file, more, budget)
        shapes.append(FileShape(name=_cut(file.name), size=file.size, media_type=file.media_type, embedded=embedded))
    stdout, stderr, cut = _output(result)
    value = result.raw.get("value")
    fits = len(json.dumps(value)) <= TEXT_CHARACTERS
    error = result.error
    skipped = [SkippedShape(name=_cut(f["name"]), why=_cut(f["why"])) for f in result.files_skipped]
    shape = RunOutput(
        status=result.status, reason=result.reason, value=value if fits else None, repr=(result.repr or "")[:TEXT_CHARACTERS] or None,
        type=_cut(result.type or "") or None, stdout=stdout, stderr=stderr, output_cut=cut,
        error=ErrorShape(type=_cut(error.type), message=error.message[:ERROR_CHARACTERS], line=error.line, hint=error.hint[:ERROR_CHARACTERS])
        if error else None,
        files=shapes, files_more=len(result.files) - len(shapes), files_skipped=skipped, wall_ms=result.wall_ms, planted=_planted(result) or None,
        session=session, session_alive=result.session_alive if in_session else None,
    )  # fmt: skip
    text = result.for_model().rstrip("\n") or "The code ran. It has no value and no output."
    said = _planted_lines("code", shape.planted)
    return answer("\n".join([text, *_file_lines(shape), *said, *notes]), shape, more, failed=not result.ok)


def _cut(name: str) -> str:
    return name if len(name) <= NAME_CHARACTERS else f"{name[:NAME_CHARACTERS]}…"


def _listed(items: list[str], more: int = 0) -> str:
    """As many items as fit into LIST_CHARACTERS, and the number of others. more: others that are not in `items`."""
    room, shown = LIST_CHARACTERS, list[str]()
    for item in items:
        room -= len(item) + 2
        if shown and room < 0:
            break
        shown.append(item)
    more += len(items) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _file_lines(shape: RunOutput) -> list[str]:
    files = [f"{s.name} ({s.size} bytes{'' if s.embedded else ', not attached'})" for s in shape.files]
    skipped = [f"{s.name} ({s.why})" for s in shape.files_skipped]
    lines = [f"Files in /output: {_listed(files, shape.files_more)}"] if files else []
    return [*lines, f"Files that were not returned: {_listed(skipped)}"] if skipped else lines


def _pictures(result: Result, budget: Budget) -> list[ContentBlock]:
    """The images that a notebook would show. SVG is text, and a resource for the user: models take no such image."""
    out: list[ContentBlock] = []
    for number, bundle in enumerate(result.results[:IMAGES_MAX]):
        for media_type in ("image/png", "image/jpeg"):
            data = _bytes_of(bundle.get(media_type))
            if image_type(data) == media_type and budget.take(len(data)):
                out.append(ImageContent(data=b64encode(data).decode(), mime_type=media_type))
                budget.shown.add(data)
                break
        else:
            svg = bundle.get("image/svg+xml")
            if isinstance(svg, str) and budget.take(len(svg)):
                contents = TextResourceContents(uri=f"agentjail:///results/{number}.svg", mime_type="image/svg+xml", text=svg)
                out.append(EmbeddedResource(resource=contents, annotations=FOR_USER))
                budget.shown.add(svg.encode())
    return out


def _bytes_of(data: Any) -> bytes:
    """Decode base64 from a bundle; empty if invalid."""
    try:
        return b64decode("".join(data.split()), validate=True) if isinstance(data, str) else b""
    except ValueError:
        return b""


def _attach(file: File, more: list[ContentBlock], budget: Budget) -> bool:
    if file.data in budget.shown:
        return True
    if file.data is None or not budget.take(len(file.data)):
        return False
    more.append(resource(f"agentjail:///output/{quote(file.name)}", file.data, file.media_type))
    return True


def _output(result: Result) -> tuple[str, str, bool]:
    """The ends of both streams, and whether anything is missing of them."""
    stdout, stderr = result.stdout, result.stderr
    lost: Any = result.raw.get("truncated") or {}
    cut = bool(lost.get("stdout") or lost.get("stderr")) or max(len(stdout), len(stderr)) > TEXT_CHARACTERS
    return stdout[-TEXT_CHARACTERS:], stderr[-TEXT_CHARACTERS:], cut


def of_command(result: Result, workspace: str | None, notes: list[str]) -> CallToolResult:
    """The answer for a command."""
    stdout, stderr, cut = _output(result)
    planted = _planted(result)
    shape = CommandOutput(
        status=result.status, reason=result.reason, exit_code=result.raw.get("exit_code"), signal=result.raw.get("signal"),
        stdout=stdout, stderr=stderr, output_cut=cut, wall_ms=result.wall_ms, workspace=workspace, planted=planted,
    )  # fmt: skip
    code = result.raw.get("exit_code")
    ended = code is not None and result.status in ("ok", "error")
    lines = [f"Exit status {code}." if ended else f"The command was ended ({result.status}): {result.reason}"]
    for name, text in (("Output", stdout), ("Error output", stderr)):
        if text.strip():
            lines.append(f"{name}{' (its end)' if cut else ''}:\n{text.rstrip()}")
    return answer("\n".join([*lines, *_planted_lines("command", planted), *notes]), shape, failed=not result.ok)


def _planted(result: Result) -> list[str]:
    changed: Any = (result.raw.get("workspace") or {}).get("changed") or []
    return [_cut(str(c.get("path", c)) if isinstance(c, dict) else str(c)) for c in changed][:100]


def _planted_lines(maker: str, planted: list[str] | None) -> list[str]:
    if not planted:
        return []
    return [f"The {maker} created or changed files that programs of the host run or read automatically: {_listed(planted)}. Tell the user."]
