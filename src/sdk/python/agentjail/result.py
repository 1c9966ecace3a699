"""How a snippet ended: the fields of docs/reference/result.md as attributes, and its values as Python objects.
A Result holds data alone: it can be pickled, and reading it asks the service nothing.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from ._unread import Unread, all_of, value_of
from .errors import SnippetError, harmless
from .values import decode

FOR_MODEL_BYTES = 2000
_UNREAD: Any = object()  # in the place of a value


@dataclass(frozen=True)
class ErrorInfo:
    """One error of a snippet. It is the jail's word, but for status `setup_error`.

    line, column: from 1, or None. source: that line. hint: the way to do it instead, or "". raw: all members.
    """

    type: str
    message: str
    line: int | None = None
    column: int | None = None
    source: str = ""
    hint: str = ""
    traceback: str = ""
    rule: str = ""
    raw: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, raw: dict[str, Any]) -> ErrorInfo:
        text = {k: str(raw.get(k) or "") for k in ("type", "message", "source", "traceback", "rule")}
        return cls(**text, hint=str(raw.get("hint") or raw.get("fix") or ""), line=raw.get("line"), column=raw.get("column"), raw=raw)

    def __str__(self) -> str:
        return harmless(f"{f'line {self.line}: ' if self.line else ''}{self.type}: {self.message}")


@dataclass(frozen=True)
class File:
    """A file that the run left in /output. Its name and contents are the jail's own.

    name: its path below /output. size: bytes. data: its bytes, or None where the request asked for a list alone. obeyed: programs of this
    host would obey a file of that name, as git does a `.git/config` and direnv an `.envrc`.
    """

    name: str
    size: int
    media_type: str
    sha256: str
    data: bytes | None = field(default=None, repr=False)
    obeyed: bool = False

    @classmethod
    def of(cls, raw: dict[str, Any]) -> File:
        data = b64decode(raw["data"]) if "data" in raw else None
        return cls(raw["name"], raw["size"], raw["media_type"], raw["sha256"], data, raw.get("obeyed", False))

    def save(self, folder: str | Path) -> Path:
        """Write it into a folder of this host under the last part of its name, which has no say in where that is. Returns the path.

        ValueError: the result has no data, or programs of this host would obey a file of that name. FileExistsError: there is such a
        file; none is overwritten.
        """
        if self.data is None:
            raise ValueError("the result lists this file without its data: run with output='data'")
        if self.obeyed:
            raise ValueError(f"programs of this host would obey a file called {self.name!r}: write its data under another name")
        path = Path(folder) / (self.name.rpartition("/")[2] or "file")
        if path.name in ("", ".", ".."):
            raise ValueError(f"{self.name!r} is no name for a file")
        with open(path, "xb") as f:
            f.write(self.data)
        return path


class Result:
    """How one snippet ended.

    raw: the service's answer, unchanged, see docs/reference/result.md. The other attributes are read from it.
    """

    def __init__(self, raw: dict[str, Any] | Unread[str]) -> None:
        self._raw = raw
        self._value: Any = _UNREAD

    @property
    def raw(self) -> dict[str, Any]:
        raw = self._raw
        if isinstance(raw, Unread):
            self._raw = raw = all_of(raw)
        return raw

    # --- attested by the supervisor ---

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def status(self) -> str:
        """`ok`, `error`, `rejected`, `timeout`, `oom`, `limit`, `signal` or `protocol_error`."""
        raw = self._raw
        return "ok" if isinstance(raw, Unread) else str(raw["status"])

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def reason(self) -> str:
        """The status in a sentence."""
        return str(self.raw.get("reason", ""))

    @property
    def wall_ms(self) -> int:
        return int(self.raw.get("wall_ms", 0))

    @property
    def cpu_ms(self) -> int:
        return int(self.raw.get("cpu_ms", 0))

    @property
    def peak_memory_bytes(self) -> int:
        return int(self.raw.get("peak_memory_bytes", 0))

    @property
    def limits_hit(self) -> list[str]:
        return list(self.raw.get("limits_hit", ()))

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The first 100 calls of tools: `tool`, `args_bytes`, `wall_ms`, `outcome`."""
        return list(self.raw.get("tool_calls", ()))

    @property
    def session_alive(self) -> bool:
        """Whether the session is still alive; also False without a session."""
        return self.raw.get("session") == "alive"

    # --- claims of the jail ---

    @property
    def value(self) -> Any:
        """The value of the last statement, as a Python object. SnippetError: the snippet failed."""
        value = self._value
        if value is _UNREAD:
            raw = self._raw
            sent = value_of(raw) if isinstance(raw, Unread) else self.raise_for_status().raw.get("value")
            self._value = value = decode(sent) if isinstance(sent, (dict, list)) else sent  # others are what they are
        return value

    @cached_property
    def final_answer(self) -> Any:
        """The argument of final_answer(); None without a call."""
        return decode(self.raw.get("final_answer"))

    @property
    def is_final(self) -> bool:
        """Whether final_answer() was called."""
        return bool(self.raw.get("is_final", False))

    @property
    def repr(self) -> str | None:
        """repr() of the value or of the final answer."""
        return self.raw.get("repr")

    @property
    def text(self) -> str | None:
        """str() of the value or of the final answer."""
        value = self.raw.get("value")
        return self.raw.get("str", value if isinstance(value, str) else self.raw.get("repr"))

    @property
    def type(self) -> str | None:
        """The name of the value's type."""
        return self.raw.get("type")

    @property
    def stdout(self) -> str:
        return str(self.raw.get("stdout", ""))

    @property
    def stderr(self) -> str:
        return str(self.raw.get("stderr", ""))

    @property
    def stdout_bytes(self) -> bytes:
        """The same as bytes, also where they are not UTF-8."""
        raw = self.raw.get("stdout_base64")
        return b64decode(raw) if raw is not None else self.stdout.encode()

    @cached_property
    def error(self) -> ErrorInfo | None:
        """The first error, or None."""
        raw = self.raw.get("error")
        return ErrorInfo.of(raw) if raw else None

    @cached_property
    def errors(self) -> list[ErrorInfo]:
        """All errors: a rejected snippet can have several."""
        found = [ErrorInfo.of(raw) for raw in self.raw.get("errors", ())]
        return found or ([self.error] if self.error else [])

    @cached_property
    def warnings(self) -> list[ErrorInfo]:
        return [ErrorInfo.of(raw) for raw in self.raw.get("warnings", ())]

    @property
    def imports(self) -> list[str]:
        """Modules that the snippet imported."""
        return list(self.raw.get("imports", ()))

    @property
    def results(self) -> list[dict[str, Any]]:
        """Rich output as in a notebook: MIME bundles, see docs/reference/values.md."""
        return list(self.raw.get("results", ()))

    @cached_property
    def files(self) -> list[File]:
        """The files of /output that the run made or changed, where the request asked for them."""
        return [File.of(raw) for raw in self.raw.get("files", ())]

    @property
    def files_skipped(self) -> list[dict[str, str]]:
        """Files in /output that were not returned: `name` and `why` of the first 20."""
        return list(self.raw.get("files_skipped", ()))

    # --- uses ---

    def raise_for_status(self) -> Result:
        """SnippetError unless the status is `ok`."""
        if not self.ok:
            raise SnippetError(self)
        return self

    def for_model(self) -> str:
        """A text for a model, of at most 2000 bytes: the outcome, the place, the remedy, the value and the end of the output."""
        text = self.raw.get("for_model")
        return str(text) if text is not None else self._summary()

    def _summary(self) -> str:
        """The same in short, where the request did not ask the service for it."""
        parts = [] if self.ok else ["The code failed." if self.status == "error" else f"The code failed ({self.status}): {self.reason}"]
        for e in self.errors[:5]:
            parts += [str(e)] + ([f"    {e.source.strip()}"] if e.source else []) + ([f"hint: {e.hint}"] if e.hint else [])
        if self.raw.get("repr"):
            parts.append(f"{'Final answer' if self.is_final else 'Value'}: {self.raw['repr'][:600]}")
        for name, output in (("Output", self.stdout), ("Error output", self.stderr)):
            if output.strip():
                parts.append(f"{name}:\n{output[-600:]}")
        return "\n".join(parts).encode("utf-8", "replace")[:FOR_MODEL_BYTES].decode("utf-8", "ignore")

    def __repr__(self) -> str:
        if self.ok:
            return harmless(f"<Result ok: {(self.raw.get('repr') or 'None')[:200]}>")
        return harmless(f"<Result {self.status}: {str(self.error or self.reason)[:200]}>")

    def __getstate__(self) -> dict[str, Any]:
        return {"raw": self.raw}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._raw, self._value = state["raw"], _UNREAD

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The display of this result in a notebook: its last rich value, else its output and value as text."""
        bundle = dict(self.results[-1]) if self.results else {}
        if self.ok:
            lines = [self.stdout.rstrip("\n"), str(bundle.get("text/plain") or self.raw.get("repr") or "")]
        else:
            lines = [self.stdout.rstrip("\n"), (self.error.traceback if self.error else "").rstrip("\n"), str(self.error or self.reason)]
        shown = {k: v for k, v in bundle.items() if k in SHOWN}
        if isinstance(bundle.get("image/svg+xml"), str):
            data = b64encode(bundle["image/svg+xml"].encode("utf-8", "replace")).decode()
            shown["text/html"] = f'<img src="data:image/svg+xml;base64,{data}">'  # as an image it runs nothing and loads nothing
        elif isinstance(bundle.get("text/html"), str):
            shown["text/html"] = FRAME % escape(PAGE_POLICY + UNASKED.sub("&lt;", bundle["text/html"]), quote=True)
        return {**shown, "text/plain": harmless("\n".join(line for line in lines if line))}


SHOWN = frozenset(("image/png", "image/jpeg", "text/latex", "application/json"))
# HTML of a snippet would run in the notebook's page, with the user's rights. The frame has no scripts, and loads nothing from
# anywhere: a request for an image could carry data of the snippet to another machine.
FRAME = '<iframe sandbox srcdoc="%s" style="width:100%%;height:24em;border:0"></iframe>'
PAGE_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
    '<meta http-equiv="x-dns-prefetch-control" content="off">'
)
# No policy of a page keeps a browser from looking up the host of a `dns-prefetch` or connecting to that of a `preconnect`, which carries data
# too: a tag that asks for such things, or holds another page, becomes text. Its name follows `<` at once in every page that has it.
UNASKED = re.compile(r"<(?=link|meta|base|iframe|frame|object|embed|portal)", re.IGNORECASE)
