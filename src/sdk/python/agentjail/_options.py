"""Small shapes that sessions give: a piece of output, a variable, an entry of a folder. It holds no logic but their making."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from .result import Result


class _NoDefault:
    def __repr__(self) -> str:
        return "no default"


NO_DEFAULT: Any = _NoDefault()


@dataclass(frozen=True)
class Output:
    """A piece of output. stream: `stdout` or `stderr`. text: whole characters."""

    stream: Literal["stdout", "stderr"] | str
    text: str


@dataclass(frozen=True)
class Variable:
    """A variable of a session. repr: at most 200 bytes. len: of the value, or None where it has no length."""

    type: str
    repr: str
    len: int | None = None


@dataclass(frozen=True)
class Entry:
    """An entry of a folder of a jail. type: `file`, `folder`, `link` or `other`. size: bytes."""

    name: str
    type: str
    size: int


def variables(result: Result) -> dict[str, Variable]:
    rows = cast("list[dict[str, Any]]", result.value)
    return {row["name"]: Variable(row["type"], row["repr"], row.get("len")) for row in rows}


def entries(answer: Any) -> list[Entry]:
    return [Entry(row["name"], row["type"], int(row.get("size", 0))) for row in answer["files"]]
