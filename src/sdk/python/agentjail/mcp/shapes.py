"""The structured output of each tool, as models: the SDK publishes their schemas and checks each answer against them."""

from typing import Any

from pydantic import BaseModel, Field


class ErrorShape(BaseModel):
    """What was raised, or why the code was rejected."""

    type: str
    message: str
    line: int | None = None
    hint: str = ""


class FileShape(BaseModel):
    """A file that the code left in /output."""

    name: str = Field(description="its path below /output")
    size: int = Field(description="bytes")
    media_type: str
    embedded: bool = Field(description="whether the answer has its content as a resource")


class SkippedShape(BaseModel):
    """A file in /output that was not returned."""

    name: str
    why: str


class RunOutput(BaseModel):
    """How Python code ended."""

    status: str = Field(description="ok, error, rejected, timeout, oom, limit, signal or protocol_error")
    reason: str = Field(description="the status in a sentence")
    value: Any = Field(default=None, description="the last expression's value as JSON, types without a JSON form tagged; null where it is long")
    repr: str | None = Field(default=None, description="repr() of the value, cut where it is long")
    type: str | None = None
    stdout: str = ""
    stderr: str = ""
    output_cut: bool = Field(default=False, description="whether stdout or stderr was longer; its end is here")
    error: ErrorShape | None = None
    files: list[FileShape] = []
    files_more: int = Field(default=0, description="number of further files in /output")
    files_skipped: list[SkippedShape] = Field(default=[], description="files in /output that were not returned")
    wall_ms: int = 0
    planted: list[str] | None = Field(default=None, description="changed files that host programs run or read automatically: tell the user")
    session: str | None = Field(default=None, description="the session's name, if it has one, for the next call")
    session_alive: bool | None = Field(default=None, description="of session_run: whether the session still exists")


class CommandOutput(BaseModel):
    """How a command ended."""

    status: str = Field(description="ok (exit status 0), error, timeout, oom, limit or signal")
    reason: str
    exit_code: int | None = None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    output_cut: bool = Field(default=False, description="whether stdout or stderr was longer; its end is here")
    wall_ms: int = 0
    workspace: str | None = Field(default=None, description="the folder of the host at /workspace")
    planted: list[str] = Field(default=[], description="changed files that host programs run or read automatically: tell the user")


class ResetOutput(BaseModel):
    """Whether there was a session to end."""

    ended: bool


class ReadOutput(BaseModel):
    """A file, or a part of one."""

    path: str
    offset: int
    bytes: int = Field(description="how many bytes this part has")
    next_offset: int | None = Field(default=None, description="where to go on; null: this is the end")
    text: str | None = Field(default=None, description="the part, where it is UTF-8")
    base64: str | None = Field(default=None, description="the part, where it is not")


class WriteOutput(BaseModel):
    path: str
    bytes: int


class EntryShape(BaseModel):
    name: str
    type: str = Field(description="file, folder, link or other")
    size: int


class ListOutput(BaseModel):
    """The entries of a folder, sorted by name."""

    path: str
    entries: list[EntryShape]
    complete: bool = Field(default=True, description="false: there are more")
