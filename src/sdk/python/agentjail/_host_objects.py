"""Objects of this program in the values of a jail: a tool returns one, the code passes it on, another tool gets the very object.
The jail gets its number, its type and the beginning of its text, and never the object.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from .errors import ValueNotSent
from .live import plain
from .values import encode

HOST_OBJECT = "__host_object__"
HELD_MAX = 10_000  # objects that code in a jail can name; the oldest go first


class HostObjects:
    """Objects that tools return and that have no form in a jail. There they are a dict with their number, type and text; passed to a
    tool they are the object again. Code can name any object of its own executor by its number, and no other.

    imports: what the code may import. An array, a table or an image goes in as itself only where its module is among them.
    """

    def __init__(self, imports: Iterable[str] = ("*",)) -> None:
        self._roots = {name.partition(".")[0] for name in imports}
        self._lock = threading.Lock()
        self._objects: dict[int, Any] = {}
        self._numbers: dict[int, int] = {}  # by id(); an object that is held keeps its own
        self._next = 0

    def outgoing(self, value: Any) -> Any:
        """The value as it goes into the jail."""
        value = plain(value)
        if type(value) in (list, tuple):
            return type(value)(self.outgoing(v) for v in value)
        if type(value) is dict:
            return {k: self.outgoing(v) for k, v in value.items()}
        root = type(value).__module__.partition(".")[0]
        if root == "numpy" and getattr(value, "ndim", 1) == 0:
            value, root = value.item(), "builtins"
        if root not in ("numpy", "pandas", "PIL") or self._roots & {root, "*"}:
            try:
                encode(value)
                return value
            except ValueNotSent:
                pass
        return {HOST_OBJECT: self._hold(value), "type": type(value).__name__, "text": text_of(value)}

    def _hold(self, value: Any) -> int:
        with self._lock:
            if id(value) not in self._numbers:
                self._numbers[id(value)], self._objects[self._next] = self._next, value
                self._next += 1
                if len(self._objects) > HELD_MAX:
                    del self._numbers[id(self._objects.pop(next(iter(self._objects))))]
            return self._numbers[id(value)]

    def incoming(self, value: Any) -> Any:
        """A value of the jail's, with the objects in the places of their dicts."""
        if type(value) is dict:
            number = value.get(HOST_OBJECT)
            if type(number) is int and number in self._objects:
                return self._objects[number]
            return {k: self.incoming(v) for k, v in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self.incoming(v) for v in value)
        return value


def text_of(value: Any) -> str:
    """The beginning of an object's text; its class may have any __str__."""
    try:
        return str(value)[:200]
    except Exception:
        return f"<{type(value).__name__}>"
