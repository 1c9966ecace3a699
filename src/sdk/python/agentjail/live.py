"""Objects that stay in their session, and are read, called and compared there: a Handle with its session behind it.
It runs fixed texts in the jail, with the object as an input; the names of attributes are the only words that a caller adds to them.
"""

from __future__ import annotations

import keyword
import types
from collections.abc import Callable, Iterator
from typing import Any

from . import errors
from .session import Session
from .values import Handle

__all__ = ["LiveObject", "live", "plain"]

# Names of the session's that a text uses and deletes.
IT, KEY, ARGS, NAMED = "agentjail_it", "agentjail_key", "agentjail_args", "agentjail_named"
PIECE = 100  # items that one request fetches
TEXT_PIECE = 40_000  # characters at first; less if the policy's limit of a value (output.result) is smaller
TEXT_MAX = 64 << 20  # characters of a text that is fetched
# Any other name with an underscore belongs to Python, to numpy or to a notebook, which only ask whether it is there.
UNDERSCORED = frozenset(("__annotations__", "__name__", "__qualname__", "__module__", "__source__"))
# Classes of Python itself, which a caller compares by `is`. A claim chooses among them and makes none.
CLASSES = {repr(c): c for c in (object, type, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range)}
KINDS: dict[str, type] = {"type": type, "ABCMeta": type, "EnumType": type, "EnumMeta": type, "generator": types.GeneratorType}


class LiveObject:
    # What __doc__ says is the object's own. Attributes, items, len(), bool(), iteration, str(), calls and isinstance() ask the session; a
    # value that can cross arrives as such, any other as a LiveObject. AttributeError, KeyError, IndexError and TypeError are raised as
    # such, any other error as SnippetError; SessionEnded: the object is gone. Its last text survives the session.
    __slots__ = ("_handle", "_session", "_text")
    # Annotations here would be those of every class in a session.

    def __init__(self, handle: Handle, session: Session) -> None:
        object.__setattr__(self, "_handle", handle)
        object.__setattr__(self, "_session", session)
        object.__setattr__(self, "_text", str(handle))

    def __getattr__(self, name: str) -> Any:
        readable = name.isidentifier() and not keyword.iskeyword(name) and (not name.startswith("_") or name in UNDERSCORED)
        if not readable:
            raise AttributeError(name)
        return ask(self, f"{IT}.{name}")

    __doc__ = property(lambda self: ask(self, f"{IT}.__doc__"))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return KINDS.get(self._handle.type.rpartition(".")[2], LiveObject)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attributes of an object in a session are read only: {name}")

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            return ask(self, f"{IT}[{KEY}[0]:{KEY}[1]:{KEY}[2]]", **{KEY: plain([key.start, key.stop, key.step])})
        return ask(self, f"{IT}[{KEY}]", **{KEY: plain(key)})

    def __len__(self) -> int:
        return int(ask(self, f"len({IT})"))

    def __bool__(self) -> bool:
        return bool(ask(self, f"bool({IT})"))

    def __iter__(self) -> Iterator[Any]:
        iterator = ask(self, f"iter({IT})")
        while True:
            piece = ask(iterator, f"[item for _, item in zip(range({PIECE}), {IT})]")
            yield from piece
            if len(piece) < PIECE:
                return

    def __call__(self, *args: Any, **named: Any) -> Any:
        return ask(self, f"{IT}(*{ARGS}, **{NAMED})", **{ARGS: plain(args), NAMED: plain(named)})

    def __instancecheck__(self, instance: Any) -> bool:
        try:
            return bool(ask(self, f"isinstance({KEY}, {IT})", **{KEY: plain(instance)}))
        except errors.ValueNotSent:
            return False

    def __eq__(self, other: object) -> bool:
        return type(other) is LiveObject and self._handle == other._handle and self._session is other._session

    def __hash__(self) -> int:
        return hash(self._handle)

    def __str__(self) -> str:
        try:
            text = ask(self, f"str({IT})")
            object.__setattr__(self, "_text", long_text(text) if type(text) is LiveObject else str(text))
        except (errors.AgentjailError, AttributeError, LookupError, TypeError, ValueError):
            pass  # the last text, or the handle's
        return str(self._text)

    def __repr__(self) -> str:
        return str(self._handle)

    def __copy__(self) -> LiveObject:
        return self

    def __deepcopy__(self, memo: Any) -> LiveObject:
        return self

    def __reduce__(self) -> tuple[Any, ...]:  # what is kept is the handle
        return Handle, (self._handle.id, self._handle.type, self._handle.repr)


def long_text(it: LiveObject) -> str:
    """Fetch a text that exceeds the limit of a value, in pieces. ValueError: longer than TEXT_MAX characters, or not a text."""
    length, piece, parts, start = len(it), TEXT_PIECE, list[str](), 0
    if length > TEXT_MAX:
        raise ValueError(f"the text has {length} characters; the limit is {TEXT_MAX}")
    while start < length:
        part = it[start : start + piece]
        if type(part) is str and part:
            parts.append(part)
            start += len(part)
        elif piece > 1:
            piece //= 4
        else:
            raise ValueError("not a text")
    return "".join(parts)


RAISED = {e.__name__: e for e in (AttributeError, KeyError, IndexError, TypeError)}


def ask(it: Any, expression: str, **more: Any) -> Any:
    """The value of an expression of fixed text, in the object's session, whose variables stay as they are."""
    session, inputs = it._session, {IT: it._handle, **more}
    text = f"try:\n    {expression}\nfinally:\n    del {', '.join(inputs)}"
    result = session.run(text, inputs=inputs, value_of="statement", handles=True, for_model=False)
    if not result.ok:
        error = result.error
        if result.status == "rejected":
            raise AttributeError(error.message if error else result.reason)
        if error is not None and error.type in RAISED:
            raise RAISED[error.type](error.message)
        result.raise_for_status()
    return live(result.value, session)


def live(value: Any, session: Session) -> Any:
    """A value with live objects in the places of its handles. A class of Python itself is that class."""

    def object_of(handle: Handle) -> Any:
        return CLASSES[handle.repr] if handle.type == "type" and handle.repr in CLASSES else LiveObject(handle, session)

    return with_each(value, Handle, object_of)


def plain(value: Any) -> Any:
    """The value with handles in the places of live objects, as live() was given it."""
    return with_each(value, LiveObject, lambda it: it._handle)


def with_each(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The value with every part of this very type changed, in lists, tuples and dicts, too."""
    if type(value) is kind:
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(with_each(v, kind, change) for v in value)
    if type(value) is dict:
        return {k: with_each(v, kind, change) for k, v in value.items()}
    return value
