"""Frames of the protocol: 4 bytes of length, big endian, then one JSON object in UTF-8.
It knows bytes alone: no socket, and no meaning of a member.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

FRAME_MAX = 1 << 29  # bytes; above what any policy lets a result have, so that a broken stream is not taken for a long frame

READ_BYTES = 1 << 16  # of the buffer that frames arrive in; it grows with a longer one, and shrinks after it

_length = struct.Struct(">I").unpack_from
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
_decode = json.JSONDecoder().raw_decode


def _made_once() -> Callable[[Message], str]:
    """The encoder's encode() with its C part made once, where this Python has that part: encode() itself makes it anew for each message."""
    e = _encoder
    try:
        make: Any = vars(json.encoder)["c_make_encoder"]
        parts = make(None, e.default, json.encoder.encode_basestring_ascii, None, e.key_separator, e.item_separator, False, False, False)
        if "".join(parts({"a": [1, "b", None]}, 0)) == '{"a":[1,"b",null]}':
            return lambda message: "".join(parts(message, 0))
    except (KeyError, TypeError):
        pass
    return e.encode


_encode = _made_once()


class BrokenStream(Exception):
    """The bytes are no frames of this protocol; nothing more can be read from this connection."""


def frame(message: Message) -> bytes:
    """The bytes of one message. ValueError: a float without a JSON form; RecursionError: too many levels."""
    body = _encode(message).encode("ascii")
    return len(body).to_bytes(4, "big") + body


class Frames:
    """The buffer for arriving bytes, and the messages in it.

    The reader writes into space() and passes the number of bytes to filled(), which returns the messages that are whole. An
    incomplete message waits for the next bytes.
    """

    __slots__ = ("_buffer", "_end", "_view")

    def __init__(self) -> None:
        self._resize(READ_BYTES)
        self._end = 0

    def space(self) -> memoryview:
        """The place for the next bytes; never empty."""
        return self._view[self._end :] if self._end else self._view

    def filled(self, count: int) -> list[Message]:
        """`count` bytes were written there. Returns the messages that are whole. BrokenStream: the bytes are no frames."""
        buffer, start, end = self._buffer, 0, self._end + count
        messages: list[Message] = []
        while end - start >= 4:
            (length,) = _length(buffer, start)
            if length > FRAME_MAX:
                raise BrokenStream(f"a frame of {length} bytes")
            if end - start - 4 < length:
                break
            messages.append(_message(self._view[start + 4 : start + 4 + length]))
            start += 4 + length
        if start == end:
            self._end = 0
            if len(buffer) > READ_BYTES:
                self._resize(READ_BYTES)
        else:
            self._keep(start, end)
        return messages

    def _keep(self, start: int, end: int) -> None:
        """The beginning of a frame moves to the front. The buffer grows with the bytes that came, not with the length that a frame claims."""
        rest = bytes(self._view[start:end])
        self._end = len(rest)
        if self._end * 2 > len(self._buffer):
            self._resize(len(self._buffer) * 2)
        self._view[: self._end] = rest

    def _resize(self, size: int) -> None:
        self._buffer = bytearray(size)
        self._view = memoryview(self._buffer)


def _message(body: memoryview) -> Message:
    try:
        text = str(body, "utf-8")
        message, end = _decode(text)
    except (ValueError, RecursionError) as e:
        raise BrokenStream(f"a frame that is no JSON ({e})") from None
    if not isinstance(message, dict) or end != len(text):
        raise BrokenStream("a frame that is no object")
    return message
