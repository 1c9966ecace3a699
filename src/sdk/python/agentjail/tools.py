"""Tools: functions of this program that code in a jail may call. A declaration is made from the function's name, docstring and type hints.
The function stays here: no source goes into the jail, and of an exception only its type and its text.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import keyword
import re
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from . import _schema
from .errors import ToolError, ValueNotSent
from .values import decode_members, encode

Declaration = dict[str, Any]
Answer = dict[str, Any]  # {"value": ...} or {"error": {"type", "message"}}

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)
DESCRIPTION_BYTES = 8192
MESSAGE_CHARACTERS = 2000


class Tool:
    """A function and how the jail sees it.

    name, description, parameters: in place of those of the function; parameters is a JSON Schema of type `object`.
    returns: a schema of the value, or True for that of the function's return hint; without it any value is allowed.
    timeout: seconds that one call may take (60). asynchronous: inside it is an `async def`, also when the function is not.
    reserved: a snippet that gives the name another value is rejected.
    ToolError: the function cannot be declared.
    """

    __slots__ = ("_converts", "_positional", "_variadic", "declaration", "function", "is_async", "name")

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        returns: Mapping[str, Any] | bool = False,
        timeout: float | None = None,
        asynchronous: bool = False,
        reserved: bool = False,
    ) -> None:
        if not callable(function):
            raise ToolError(f"a tool is a function, not {function!r}")
        self.function = function
        called = function.func if isinstance(function, functools.partial) else function
        self.name: str = name or str(getattr(called, "__name__", type(called).__name__))
        if not NAME.fullmatch(self.name) or keyword.iskeyword(self.name) or self.name in ("ToolError", "type"):
            raise ToolError(f"{self.name!r} is no name for a tool: Tool(f, name=...) takes an ASCII identifier without a leading underscore")
        self.is_async = inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(type(called).__call__)
        signature, hints = _signature(function)
        self._converts: dict[str, Callable[[Any], Any]] = {}
        self._positional: list[str] = []
        self._variadic: str | None = None
        declaration: Declaration = {"name": self.name}
        text = description if description is not None else inspect.getdoc(called) or ""
        if text:
            declaration["description"] = text.encode("utf-8", "replace")[:DESCRIPTION_BYTES].decode("utf-8", "ignore")
        if parameters is not None:
            declaration["parameters"] = dict(parameters)
        elif signature is None:
            raise ToolError(f"{self.name}: the function has no signature to read; Tool(f, parameters=...) takes a JSON Schema")
        else:
            declaration.update(self._declare(signature, hints))
        if returns is True:
            returns = _schema.hoist(_schema.shape(hints.get("return", Any)).schema)
        if returns:
            declaration["returns"] = dict(returns)
        if timeout is not None:
            declaration["timeout_ms"] = max(1, round(timeout * 1000))
        if asynchronous or self.is_async:
            declaration["async"] = True
        if reserved:
            declaration["reserved"] = True
        self.declaration = declaration

    def _declare(self, signature: inspect.Signature, hints: dict[str, Any]) -> Declaration:
        properties: dict[str, Any] = {}
        required: list[str] = []
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        out: Declaration = {"parameters": schema}
        for p in signature.parameters.values():
            shape = _schema.shape(hints.get(p.name, Any))
            if p.kind is p.VAR_KEYWORD:
                schema["additionalProperties"] = shape.schema or True
                if shape.convert:
                    self._converts["**"] = shape.convert
                continue
            if not p.name.isascii() or p.name.startswith("__"):
                raise ToolError(f"{self.name}: the parameter {p.name!r} cannot be declared: names are ASCII, without two leading underscores")
            if p.kind is p.VAR_POSITIONAL:
                properties[p.name] = {"type": "array", **({"items": shape.schema} if shape.schema else {})}
                out["variadic"] = self._variadic = p.name
            else:
                properties[p.name] = dict(shape.schema)
                if p.default is p.empty:
                    required.append(p.name)
                else:
                    _set_default(properties[p.name], p.default)
            if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL) or (self._variadic is None and p.kind is p.POSITIONAL_OR_KEYWORD):
                self._positional.append(p.name)
            if shape.convert:
                self._converts[p.name] = shape.convert
        only = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_ONLY]
        if self._variadic is None:  # then all but these go by name
            self._positional = only
        out["parameters"] = _schema.hoist(schema)
        return out

    def arguments(self, args: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and named arguments for the function, from those of a call that the service has checked."""
        named = decode_members(args)
        rest = self._converts.get("**")
        known = self.declaration["parameters"].get("properties", {})
        for name, value in named.items():
            convert = self._converts.get(name) if name in known else rest
            if name == self._variadic and convert:
                named[name] = [convert(v) for v in value]
            elif convert and not (name in known and _is_default(known[name], value, args[name])):
                named[name] = convert(value)
        positional: list[Any] = []
        for name in self._positional:
            if name == self._variadic:
                positional.extend(named.pop(name, ()))
            elif name in named:
                positional.append(named.pop(name))
            else:  # left out: the function has a default for it, and takes the others by name
                named.pop(self._variadic or "", None)
                break
        return positional, named

    def answer(self, args: Mapping[str, Any], context: contextvars.Context) -> Answer:
        """Call the function."""
        try:
            positional, named = self.arguments(args)
            return finished(context.run(self.function, *positional, **named))
        except BaseException as e:
            return failed(e)

    async def answer_async(self, args: Mapping[str, Any]) -> Answer:
        """Call the function, which is a coroutine function, in the context of now."""
        try:
            positional, named = self.arguments(args)
            return finished(await self.function(*positional, **named))
        except BaseException as e:
            import asyncio  # its loop runs this

            if isinstance(e, asyncio.CancelledError):
                return {"error": {"type": "ToolFailure", "message": "the tool was cancelled"}}
            return failed(e)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"


ToolLike = Union[Tool, Callable[..., Any]]


def tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorator: makes a Tool of a function, with the options of Tool."""
    return Tool(function, **options) if function is not None else lambda f: Tool(f, **options)


def collect(tools: Iterable[ToolLike] | Mapping[str, ToolLike]) -> dict[str, Tool]:
    """The tools by their names. A mapping gives the names."""
    if isinstance(tools, (str, Tool)) or not isinstance(tools, Iterable):
        raise ToolError(f"tools are a list of functions, or a mapping of names to functions, and not {tools!r:.100}")
    if isinstance(tools, Mapping):
        made = [_named(t, name) for name, t in tools.items()]
    else:
        made = [t if isinstance(t, Tool) else Tool(t) for t in tools]
    out = {t.name: t for t in made}
    if len(out) < len(made):
        twice = next(t.name for i, t in enumerate(made) if any(t.name == other.name for other in made[:i]))
        raise ToolError(f"two tools have the name {twice}: Tool(f, name=...) gives another")
    return out


def _named(tool: ToolLike, name: str) -> Tool:
    if not isinstance(tool, Tool):
        return Tool(tool, name=name)
    if tool.name != name:
        raise ToolError(f"the tool {tool.name} is listed under the name {name}")
    return tool


def failed(error: BaseException) -> Answer:
    """An exception as the jail sees it: the name of its type, and its text without control characters."""
    try:
        text = str(error)
    except Exception:
        text = ""
    clean = "".join(c if c >= " " or c in "\n\t" else " " for c in text[:MESSAGE_CHARACTERS])
    return {"error": {"type": type(error).__name__[:64], "message": clean.encode("utf-8", "replace").decode()}}


def finished(value: Any) -> Answer:
    """A tool's value, for the jail."""
    try:
        return {"value": encode(value)}
    except ValueNotSent as e:
        return {"error": {"type": "ResultError", "message": str(e)}}


def _signature(function: Callable[..., Any]) -> tuple[inspect.Signature | None, dict[str, Any]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None, {}
    target: Any = function
    if isinstance(target, functools.partial):
        target = target.func
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        target = target.__init__ if inspect.isclass(target) else type(target).__call__
    try:
        hints = typing.get_type_hints(target, include_extras=True)
    except Exception:  # a name that is only there for type checkers
        hints = {p.name: p.annotation for p in signature.parameters.values() if not isinstance(p.annotation, str)}
    return signature, hints


def _set_default(schema: dict[str, Any], default: Any) -> None:
    """The default as the jail shows it; one that has no JSON form, or is of another type than the hint says, is left to the function."""
    try:
        value = encode(default)
    except ValueNotSent:
        return
    if value is None and schema and not _fits(schema, None):
        _allow_null(schema)
    if _fits(schema, value):
        schema["default"] = value


def _allow_null(schema: dict[str, Any]) -> None:
    """`x: int = None` means a parameter that may be None."""
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
    for key, also in (("enum", None), ("anyOf", {"type": "null"})):
        if key in schema:
            schema[key] = [*schema[key], also]


JSON_TYPES: dict[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array", dict: "object"
}  # fmt: skip


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a default surely fits: a declaration with one that does not is refused as a whole."""
    if not schema:
        return True
    if "enum" in schema:
        return any(value == v and type(value) is type(v) for v in schema["enum"])
    if "anyOf" in schema:
        return any(_fits(part, value) for part in schema["anyOf"])
    names = schema.get("type")
    wanted = [names] if isinstance(names, str) else names or []
    have = JSON_TYPES[type(value)]
    if have not in wanted and not (have == "integer" and "number" in wanted):
        return False
    if isinstance(value, (list, dict)):
        return not value and set(schema) <= {"type", "description", "items", "additionalProperties"}
    return value is None or set(schema) <= {"type", "description", "items", "additionalProperties", "properties", "required"}


def _is_default(schema: Mapping[str, Any], value: Any, sent: Any) -> bool:
    """A None that stands for an argument that was left out is not converted."""
    return value is None and "default" in schema and schema["default"] == sent
