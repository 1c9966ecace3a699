"""From a policy in a dict to the text of a TOML file. Values that no policy can hold are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def write(table: Mapping[str, Any], path: str = "") -> str:
    """TOML of a table of plain values and of tables. TypeError names the key whose value has no such form."""
    lines = [f"{_key(k)} = {_value(v, path + k)}" for k, v in table.items() if not isinstance(v, Mapping)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{path}{_key(key)}]", write(value, f"{path}{_key(key)}.").rstrip("\n")]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() and key.isascii() else json.dumps(key)


def _value(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return json.dumps(value, allow_nan=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v, f'{where}.{k}')}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value) if isinstance(value, (set, frozenset)) else value
        return "[" + ", ".join(_value(v, where) for v in items) + "]"
    raise TypeError(f"a policy cannot hold {value!r} at {where}")
