"""Python values to the tagged JSON of docs/reference/values.md, and back. JSON from a jail is a claim: nothing is unpickled,
evaluated or constructed by a name that the jail chose, and a tag that makes no value here stays a plain object.
"""

from __future__ import annotations

import dataclasses
import datetime
import enum
import sys
import warnings
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from pathlib import PurePath, PurePosixPath
from typing import Any

from .errors import ValueNotSent, harmless

SAFE_INT = 1 << 53  # beyond it an int goes as a tag: a reader that holds numbers as doubles would change it
LEVELS_MAX = 120
WORK_US = 2_000_000  # of all values of a result, see Work
SAME_HASH_FREE = 8  # members with one hash: as many as -1 and -2, which have the same, make of triples
PROBED_FROM = 1024  # members of a set or dict: smaller ones cost little, whatever their hashes
SET_RUN = 9  # slots that CPython's sets try in a row before they jump


@dataclasses.dataclass(frozen=True)
class Handle:
    """The name of an object that stays in its session; passed in, the handle is that very object again. type, repr: claims of the jail."""

    id: str
    type: str = ""
    repr: str = dataclasses.field(default="", compare=False)

    def __str__(self) -> str:
        return harmless(self.repr or f"<{self.type or 'object'} {self.id}>")


@dataclasses.dataclass(frozen=True)
class Opaque:
    """A value of the jail that has no form outside: its repr, cut where it is long."""

    text: str

    def __repr__(self) -> str:
        return harmless(f"<Opaque {self.text}>")


@dataclasses.dataclass(frozen=True)
class EnumMember:
    """A member of an Enum of the jail's. Passed in, it is the member again where the class is known."""

    class_name: str
    module: str
    name: str
    value: Any


@dataclasses.dataclass(frozen=True)
class Instance:
    """An instance of a dataclass of the jail's; its fields are attributes. Passed in, it is an instance again where the class is known.

    A field is no attribute if its name begins and ends with an underscore: libraries ask any object for such attributes, and numpy reads
    memory at the address that an `__array_interface__` says.
    """

    class_name: str
    module: str
    fields: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("fields", {})
        if name not in fields or name[:1] == name[-1:] == "_":
            raise AttributeError(name)
        return fields[name]


# --- values to tags ---


def encode(value: Any) -> Any:
    """The JSON of a value. ValueNotSent: a type without a tag, or too many levels."""
    return _encode(value, 0)


def encode_members(values: Mapping[str, Any]) -> dict[str, Any]:
    """Variables by name; the error names the variable."""
    if not isinstance(values, Mapping):
        raise TypeError(f"variables are a mapping of names to values, and not {type(values).__name__}")
    out: dict[str, Any] = {}
    for name, value in values.items():
        try:
            out[name] = _encode(value, 0)
        except ValueNotSent as e:
            raise ValueNotSent(f"{name}: {e}") from None
    return out


def _encode(x: Any, level: int) -> Any:
    t = type(x)
    if t is str:
        return x if x.isascii() else _text(x)
    if x is None or t is bool:
        return x
    if t is int:
        return x if -SAFE_INT <= x <= SAFE_INT else _tag("int", hex(x))
    if t is float:
        return x if x - x == 0 else _tag("float", repr(x))
    if level > LEVELS_MAX:
        raise ValueNotSent(f"a value of more than {LEVELS_MAX} levels, or one that contains itself")
    if t is list:
        return [_encode(v, level + 1) for v in x]
    if t is dict:
        return _mapping(x, level)
    if t is tuple:
        return _tag("tuple", [_encode(v, level + 1) for v in x])
    write = _WRITERS.get(t)
    if write is not None:
        return write(x, level)
    return _rare(x, level)


_BASES: tuple[type[Any], ...] = (str, int, float, bytes, bytearray, tuple, list, frozenset, set)


def _tag(name: str, data: Any, **members: Any) -> dict[str, Any]:
    return {"__type__": name, "data": data, **members}


def _text(x: str) -> Any:
    try:
        x.encode()
        return x
    except UnicodeEncodeError:
        return _tag("str", b64encode(x.encode("utf-8", "surrogatepass")).decode())


def _mapping(x: Mapping[Any, Any], level: int) -> dict[str, Any]:
    if all(type(k) is str and (k.isascii() or _text(k) is k) and "\0" not in k for k in x) and "__type__" not in x:
        return {k: _encode(v, level + 1) for k, v in x.items()}
    return _tag("dict_with_complex_keys", [[_encode(k, level + 1), _encode(v, level + 1)] for k, v in x.items()])


def _base64(x: Any) -> str:
    return b64encode(x).decode()


_WRITERS: dict[type, Callable[[Any, int], Any]] = {
    set: lambda x, n: _tag("set", [_encode(v, n + 1) for v in x]),
    frozenset: lambda x, n: _tag("frozenset", [_encode(v, n + 1) for v in x]),
    bytes: lambda x, n: _tag("bytes", _base64(x)),
    bytearray: lambda x, n: _tag("bytearray", _base64(x)),
    memoryview: lambda x, n: _tag("bytes", _base64(x)),
    complex: lambda x, n: {"__type__": "complex", "real": _encode(x.real, n), "imag": _encode(x.imag, n)},
    datetime.datetime: lambda x, n: _tag("datetime", x.isoformat()),
    datetime.date: lambda x, n: _tag("date", x.isoformat()),
    datetime.time: lambda x, n: _tag("time", x.isoformat()),
    datetime.timedelta: lambda x, n: {"__type__": "timedelta", "total_seconds": x.total_seconds()},
    Decimal: lambda x, n: _tag("Decimal", str(x)),
    Handle: lambda x, n: {"__type__": "handle", "id": x.id},
    Opaque: lambda x, n: x.text,
    EnumMember: lambda x, n: {
        "__type__": "Enum", "class_name": x.class_name, "module": x.module, "name": x.name, "value": _encode(x.value, n + 1)
    },
    Instance: lambda x, n: {
        "__type__": "dataclass", "class_name": x.class_name, "module": x.module, "data": _mapping(x.fields, n)
    },
}  # fmt: skip


def _rare(x: Any, level: int) -> Any:
    """Types that are known by a base class, or by the module that they come from; that module is loaded if such a value exists."""
    if isinstance(x, enum.Enum):  # its class is not in the jail
        return _encode(x.value, level + 1)
    if isinstance(x, PurePath):
        return _tag("Path", _text(str(x)))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return _mapping({f.name: getattr(x, f.name) for f in dataclasses.fields(x)}, level)
    if isinstance(x, Mapping):
        return _mapping(x, level)
    module = type(x).__module__.partition(".")[0]
    if module in ("numpy", "pandas", "PIL") or "PIL.Image" in sys.modules:
        from ._arrays import write

        out = write(x, lambda v: _encode(v, level + 1))
        if out is not NotImplemented:
            return out
    if hasattr(type(x), "model_dump") and "pydantic" in sys.modules:
        return _encode(x.model_dump(), level + 1)
    for base in _BASES:
        if isinstance(x, base):
            return _encode(base(x), level)
    kind = f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")
    instead = "docs/reference/values.md lists the types that can"
    if isinstance(x, (Fraction, Iterable)):
        instead = "pass float(x)" if isinstance(x, Fraction) else "pass list(x)"
    raise ValueNotSent(f"a value of type {kind} cannot go into a jail; {instead}")


# --- from tags to values ---


class Work:
    """Work limit for the values of one result, in microseconds of a slow processor: hostile tags could make a megabyte take a minute. A tag that
    exceeds the rest of the limit stays a plain object."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = WORK_US

    def take(self, us: int) -> None:
        self.left -= us
        if self.left < 0:
            raise ValueError("the values of this result take too much work")

    def take_collisions(self, items: Sequence[Any], run: int = 0) -> None:
        """Charge for hash collisions in a set or dict, which cost a comparison for each pair: a jail can choose any number of colliding numbers,
        and tuples and sets of them. run: as for take_probes()."""
        if len(items) >= PROBED_FROM and not all(type(item) in (str, bytes) for item in items):  # whose hashes are randomised
            self.take_probes([hash(item) for item in items], run)
        for _, same in groupby(sorted(items, key=hash), hash):  # a dict of hashes would collide itself
            group = list(same)
            if len(group) > SAME_HASH_FREE:
                self.take(len(group) ** 2 * max(map(_leaves, group)) // 10)

    def take_probes(self, hashes: list[int], run: int) -> None:
        """Charge a quarter of a microsecond for each occupied slot that CPython visits while these hashes fill a dict (run 0) or a set (run SET_RUN).
        Numbers are their own hashes: a jail can choose many that differ and follow one path through the table."""
        size, full = 8, False
        while not full:
            room, mask = (size * 3 // 5 if run else size * 2 // 3), size - 1
            table: list[int | None] = [None] * size
            visits, most = 0, 4 * self.left + 4
            for h in hashes[:room]:
                perturb, at = h & 0xFFFF_FFFF_FFFF_FFFF, h & mask
                start, last = at, at + run if at + run <= mask else at
                while table[at] is not None and table[at] != h:
                    visits += 1
                    if at < last:
                        at += 1
                        continue
                    perturb >>= 5
                    start = at = (start * 5 + 1 + perturb) & mask
                    last = at + run if at + run <= mask else at
                table[at] = h
                if visits > most:
                    break
            self.take(visits // 4)
            full = len(hashes) <= room
            size *= 4 if run and size < 1 << 17 else 2  # as dicts and sets grow


def _leaves(x: Any) -> int:
    return 1 + sum(map(_leaves, x)) if isinstance(x, (tuple, frozenset)) else 1


def decode(x: Any) -> Any:
    """The Python value of JSON from a jail. A tag that is unknown or has invalid members stays a plain dict, as does, with a warning, a tag that
    exceeds the work limit (WORK_US)."""
    return _decoded(x, _decode)


def decode_members(values: Mapping[str, Any]) -> dict[str, Any]:
    """Decode values by name; all share one work limit."""
    made: dict[str, Any] = _decoded(values, lambda x, work: {name: _decode(v, work) for name, v in x.items()})
    return made


def _decoded(x: Any, make: Callable[[Any, Work], Any]) -> Any:
    work = Work()
    value = make(x, work)
    if work.left < 0:
        warnings.warn("a value from the jail exceeds the work limit: some of its parts stay tagged JSON (docs/reference/values.md)", stacklevel=4)
    return value


def _decode(x: Any, work: Work) -> Any:
    t = type(x)
    if t is list:
        return [_decode(v, work) for v in x]
    if t is not dict:
        return x
    kind = x.get("__type__")
    if kind is None:
        return {k: _decode(v, work) for k, v in x.items()}
    read = _READERS.get(kind) if type(kind) is str else None
    if read is not None:
        try:
            return read(x, work)
        except Exception:  # a claim may say anything
            return x
    return x


def _items(x: dict[str, Any], work: Work) -> list[Any]:
    if type(x["data"]) is not list:
        raise TypeError("data")
    return [_decode(v, work) for v in x["data"]]


def _members(x: dict[str, Any], work: Work) -> list[Any]:
    items = _items(x, work)
    work.take_collisions(items, SET_RUN)
    return items


def _pairs(x: dict[str, Any], work: Work) -> dict[Any, Any]:
    pairs = [(_decode(k, work), _decode(v, work)) for k, v in x["data"]]
    work.take_collisions([k for k, _ in pairs])
    return dict(pairs)


def _bytes(x: dict[str, Any]) -> bytes:
    return b64decode(x["data"], validate=True)


def _array(x: dict[str, Any], work: Work) -> Any:
    from ._arrays import read

    return read(x, work, _decode)


def _string(x: Any) -> str:
    if type(x) is not str:
        raise TypeError("text")
    return x


_READERS: dict[str, Callable[[dict[str, Any], Work], Any]] = {
    "tuple": lambda x, w: tuple(_items(x, w)),
    "set": lambda x, w: set(_members(x, w)),
    "frozenset": lambda x, w: frozenset(_members(x, w)),
    "dict_with_complex_keys": _pairs,
    "int": lambda x, w: int(_string(x["data"]), 0),
    "float": lambda x, w: float(_string(x["data"])),
    "complex": lambda x, w: complex(_decode(x["real"], w), _decode(x["imag"], w)),
    "str": lambda x, w: _bytes(x).decode("utf-8", "surrogatepass"),
    "bytes": lambda x, w: _bytes(x),
    "bytearray": lambda x, w: bytearray(_bytes(x)),
    "datetime": lambda x, w: datetime.datetime.fromisoformat(x["data"]),
    "date": lambda x, w: datetime.date.fromisoformat(x["data"]),
    "time": lambda x, w: datetime.time.fromisoformat(x["data"]),
    "timedelta": lambda x, w: datetime.timedelta(seconds=x["total_seconds"]),
    "Decimal": lambda x, w: Decimal(_string(x["data"])),
    "Path": lambda x, w: PurePosixPath(_string(_decode(x["data"], w))),
    "Enum": lambda x, w: EnumMember(_string(x["class_name"]), _string(x["module"]), _string(x["name"]), _decode(x["value"], w)),
    "dataclass": lambda x, w: Instance(_string(x["class_name"]), _string(x["module"]), {k: _decode(v, w) for k, v in x["data"].items()}),
    "handle": lambda x, w: Handle(_string(x["id"]), _string(x.get("type", "")), _string(x.get("repr", ""))),
    "repr": lambda x, w: Opaque(_string(x["data"])),
    **dict.fromkeys(("ndarray", "Series", "DataFrame", "Timestamp", "Timedelta", "PIL.Image"), _array),
}
