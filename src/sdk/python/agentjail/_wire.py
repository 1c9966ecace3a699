"""Frames of the protocol: 4 bytes of length, big endian, then one JSON object in UTF-8.
It knows bytes alone: no socket, and no meaning of a member.
"""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]

FRAME_MAX = 1 << 29  # bytes; above what any policy lets a result have, so that a broken stream is not taken for a long frame

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_decode = json.JSONDecoder().decode


class BrokenStream(Exception):
    """The bytes are no frames of this protocol; nothing more can be read from this connection."""


def frame(message: Message) -> bytes:
    """The bytes of one message. ValueError: a float without a JSON form; RecursionError: too many levels."""
    body = _encode(message).encode("ascii")
    return len(body).to_bytes(4, "big") + body


class Frames:
    """Bytes in, whole messages out; what is not whole waits for the next bytes."""

    __slots__ = ("_buffer",)

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        buffer = self._buffer
        buffer += data
        messages: list[Message] = []
        start, end = 0, len(buffer)
        while end - start >= 4:
            length = int.from_bytes(buffer[start : start + 4], "big")
            if length > FRAME_MAX:
                raise BrokenStream(f"a frame of {length} bytes")
            if end - start - 4 < length:
                break
            messages.append(_message(buffer[start + 4 : start + 4 + length]))
            start += 4 + length
        if start:
            del buffer[:start]
        return messages


def _message(body: bytearray) -> Message:
    try:
        message = _decode(body.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise BrokenStream(f"a frame that is no JSON ({e})") from None
    if not isinstance(message, dict):
        raise BrokenStream("a frame that is no object")
    return message
