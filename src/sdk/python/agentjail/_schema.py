"""Type hints to the part of JSON Schema that docs/reference/tools.md lists, and from checked arguments to objects of the hinted types.
The service checks a call against the schema; this module only converts. A hint without a schema allows any value.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import pathlib
import sys
import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Union

from .errors import ToolError

Schema = dict[str, Any]
Convert = Callable[[Any], Any]

LEVELS_MAX = 24  # of types in types; one that contains itself allows any value at that depth

PLAIN: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.MutableSequence, collections.abc.Collection)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


@dataclasses.dataclass(slots=True)
class Shape:
    """The meaning of a hint: the schema of its values as they cross, and the function that makes an object of the hinted type; None: values stay
    as they are."""

    schema: Schema
    convert: Convert | None = None


ANY = Shape({})


def shape(hint: Any, level: int = 0) -> Shape:
    """The shape of one type hint."""
    if level > LEVELS_MAX or hint is Any or hint is inspect.Parameter.empty or isinstance(hint, (str, typing.TypeVar)):
        return ANY
    if hint is None:
        hint = type(None)
    if isinstance(hint, typing.NewType):
        return shape(hint.__supertype__, level + 1)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _annotated(args, level)
    if origin is typing.Literal:
        return _literal(args)
    if origin in (Union, types.UnionType):
        return _union(args, level)
    if hint in PLAIN:
        return Shape({"type": PLAIN[hint]}, float if hint is float else None)
    kind = origin or hint
    if kind in LISTS:
        return _list(args, level)
    if kind in DICTS:
        return _dict(args, level)
    if kind is tuple:
        return _tuple(args, level)
    if isinstance(kind, type):
        return _class(kind, level)
    return ANY


def _annotated(args: tuple[Any, ...], level: int) -> Shape:
    inner = shape(args[0], level + 1)
    words = [a for a in args[1:] if isinstance(a, str)]
    extra = [a for a in args[1:] if isinstance(a, dict)]  # keywords of JSON Schema, as they are
    schema = {**inner.schema, **({"description": words[0]} if words else {})}
    for keywords in extra:
        schema.update(keywords)
    return Shape(schema, inner.convert)


def _literal(values: tuple[Any, ...]) -> Shape:
    plain = [v.value if isinstance(v, enum.Enum) else v for v in values]
    if not all(v is None or isinstance(v, (str, int, bool)) for v in plain):
        return ANY
    members = {v.value: v for v in values if isinstance(v, enum.Enum)}
    return Shape({"enum": plain}, (lambda x: members.get(x, x)) if members else None)


def _union(args: tuple[Any, ...], level: int) -> Shape:
    shapes = [shape(a, level + 1) for a in args]
    others = [s for a, s in zip(args, shapes) if a is not type(None)]
    if len(others) == 1 and others[0].convert:
        return Shape(_any_of(shapes), _unless_none(others[0].convert))
    if any(not s.schema for s in shapes):
        only = [s for s in shapes if s.convert]
        return Shape({}, only[0].convert if len(only) == 1 else None)
    # Of the parts at most one is made from an object and one from an array: then it is known which conversion is meant.
    by_type: dict[Any, Convert] = {s.schema.get("type"): s.convert for s in shapes if s.convert and isinstance(s.schema.get("type"), str)}

    def convert(x: Any) -> Any:
        name = "object" if isinstance(x, dict) else "array" if isinstance(x, list) else None
        found = by_type.get(name)
        return found(x) if found else x

    return Shape(_any_of(shapes), convert if {"object", "array"} & set(by_type) else None)


def _any_of(shapes: list[Shape]) -> Schema:
    if any(not s.schema for s in shapes):
        return {}
    if all(set(s.schema) == {"type"} and isinstance(s.schema["type"], str) for s in shapes):
        return {"type": [s.schema["type"] for s in shapes]}
    return {"anyOf": [s.schema for s in shapes]}


def _unless_none(convert: Convert) -> Convert:
    return lambda x: None if x is None else convert(x)


def _list(args: tuple[Any, ...], level: int) -> Shape:
    inner = shape(args[0], level + 1) if args else ANY
    each = inner.convert
    schema: Schema = {"type": "array", **({"items": inner.schema} if inner.schema else {})}
    return Shape(schema, (lambda x: [each(v) for v in x]) if each else None)


def _dict(args: tuple[Any, ...], level: int) -> Shape:
    if args and args[0] not in (str, Any):
        return ANY  # other keys cross as a tag, which has no type
    inner = shape(args[1], level + 1) if len(args) > 1 else ANY
    each = inner.convert
    schema: Schema = {"type": "object", **({"additionalProperties": inner.schema} if inner.schema else {})}
    return Shape(schema, (lambda x: {k: each(v) for k, v in x.items()}) if each else None)


def _tuple(args: tuple[Any, ...], level: int) -> Shape:
    if not args:
        return Shape({"type": "array"}, tuple)
    if len(args) == 2 and args[1] is Ellipsis:
        inner = _list(args[:1], level)
        each = inner.convert
        return Shape(inner.schema, lambda x: tuple(each(x) if each else x))
    parts = [shape(a, level + 1) for a in args if a != ()]
    schema: Schema = {"type": "array", "prefixItems": [p.schema for p in parts], "minItems": len(parts), "maxItems": len(parts)}
    if not parts:
        del schema["prefixItems"]
    return Shape(schema, lambda x: tuple(p.convert(v) if p.convert else v for p, v in zip(parts, x)))


def _from_text(read: Convert) -> Shape:
    """A type whose values cross as a tag, or as a text that names one."""
    return Shape({}, lambda x: read(x) if isinstance(x, str) else x)


def _class(kind: type, level: int) -> Shape:
    if issubclass(kind, enum.Enum):
        values = [m.value for m in kind]
        if all(isinstance(v, (str, int, float, bool)) for v in values):
            return Shape({"enum": values}, kind)
        return ANY
    if kind in (set, frozenset, collections.abc.Set):
        make: Callable[[Any], Any] = frozenset if kind is frozenset else set
        return Shape({}, lambda x: make(x) if isinstance(x, list) else x)
    if kind in (datetime.datetime, datetime.date, datetime.time):
        return _from_text(getattr(kind, "fromisoformat"))
    if kind is Decimal:
        return Shape({}, lambda x: Decimal(str(x)) if isinstance(x, (int, float, str)) else x)
    if issubclass(kind, pathlib.PurePath):
        return Shape({}, lambda x: kind(str(x)) if isinstance(x, (str, pathlib.PurePath)) else x)
    if typing.is_typeddict(kind):
        return _object(_hints(kind), set(kind.__required_keys__), None, level)  # type: ignore[attr-defined,unused-ignore]
    if dataclasses.is_dataclass(kind):
        fields = [f for f in dataclasses.fields(kind) if f.init]
        hints = _hints(kind)
        required = {f.name for f in fields if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING}
        return _object({f.name: hints.get(f.name, Any) for f in fields}, required, kind, level)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = _hints(kind)
        named = _tuple(tuple(hints.get(name, Any) for name in kind._fields), level)
        inner = named.convert
        return Shape(named.schema, lambda x: kind(*(inner(x) if inner else x)))
    if hasattr(kind, "model_validate") and "pydantic" in sys.modules:
        return _model(kind)
    return ANY


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception:
        return {}


def _object(hints: dict[str, Any], required: set[str], make: Callable[..., Any] | None, level: int) -> Shape:
    shapes = {name: shape(_bare(hint), level + 1) for name, hint in hints.items()}
    schema = {
        "type": "object", "properties": {name: s.schema for name, s in shapes.items()},
        "required": [name for name in hints if name in required], "additionalProperties": False,
    }  # fmt: skip

    def convert(x: Any) -> Any:
        if not isinstance(x, dict):
            return x
        found = {k: s.convert(v) if (s := shapes[k]).convert else v for k, v in x.items()}
        return make(**found) if make else found

    return Shape(schema, convert)


def _bare(hint: Any) -> Any:
    """Without Required[...] and NotRequired[...] around it."""
    if getattr(typing.get_origin(hint), "__qualname__", getattr(typing.get_origin(hint), "_name", "")) in ("Required", "NotRequired"):
        return typing.get_args(hint)[0]
    return hint


# --- pydantic ---

KEPT = frozenset((
    "type", "enum", "const", "required", "minProperties", "maxProperties", "properties", "additionalProperties", "minItems", "maxItems",
    "prefixItems", "items", "uniqueItems", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "multipleOf", "$ref", "allOf", "anyOf", "oneOf", "$defs", "title", "description", "default", "examples", "deprecated",
))  # fmt: skip


def _model(kind: Any) -> Shape:
    """A pydantic model: its own schema without the keywords that a declaration may not have; the model checks those itself."""
    return Shape(_kept(kind.model_json_schema()), kind.model_validate)


def _kept(schema: Any) -> Any:
    if isinstance(schema, bool):
        return schema
    out: Schema = {}
    for key, value in schema.items():
        if key not in KEPT:
            continue
        if key in ("properties", "$defs"):
            value = {name: _kept(s) for name, s in value.items()}
        elif key in ("items", "additionalProperties"):
            value = _kept(value)
        elif key in ("prefixItems", "allOf", "anyOf", "oneOf"):
            value = [_kept(s) for s in value]
        out[key] = value
    return out


def hoist(schema: Schema) -> Schema:
    """A declaration has `$defs` at its root alone: those of the models in it are moved there."""
    found: Schema = {}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(v) for v in node]
        if not isinstance(node, dict):
            return node
        for name, definition in (node.get("$defs") or {}).items():
            if found.setdefault(name, definition) != definition:
                raise ToolError(f"two models of the name {name} have different schemas")
        return {k: walk(v) for k, v in node.items() if k != "$defs"}

    out: Schema = walk(schema)
    while True:  # definitions may hold definitions
        before = len(found)
        cleaned = {name: walk(d) for name, d in list(found.items())}
        if len(found) == before:
            break
    if cleaned:
        out["$defs"] = cleaned
    return out
