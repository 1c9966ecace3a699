"""Frames of the protocol: 4 bytes of length, big endian, then one JSON object in UTF-8.
It knows bytes alone: no socket, and no meaning of a member.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from typing import Any

Message = dict[str, Any]

FRAME_MAX = 1 << 29  # bytes; above what any policy lets a result have, so that a broken stream is not taken for a long frame

READ_BYTES = 1 << 16  # of the buffer that frames arrive in; it grows with a longer one, and shrinks after it

_length = struct.Struct(">I").unpack_from
_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
# The text and a position -> the value there, and the position after it. ValueError or StopIteration: no JSON is there.
_decoder = json.JSONDecoder()
scan: Callable[[str, int], tuple[Any, int]] = getattr(_decoder, "scan_once", _decoder.raw_decode)


def _made_once() -> Callable[[Message, int], Iterable[str]]:
    """The encoder's iterencode() with its C part made once, where this Python has that part: iterencode() itself makes it for each message."""
    e = _encoder
    try:
        make: Any = vars(json.encoder)["c_make_encoder"]
        parts = make(None, e.default, json.encoder.encode_basestring_ascii, None, e.key_separator, e.item_separator, False, False, False)
        if "".join(parts({"a": [1, "b", None]}, 0)) == '{"a":[1,"b",null]}':
            made: Callable[[Message, int], Iterable[str]] = parts
            return made
    except (KeyError, TypeError):
        pass
    return lambda message, _: e.iterencode(message)


_pieces = _made_once()


class BrokenStream(Exception):
    """The bytes are no frames of this protocol; nothing more can be read from this connection."""


def frame(message: Message) -> bytes:
    """The bytes of one message. ValueError: a float without a JSON form; RecursionError: too many levels."""
    body = "".join(_pieces(message, 0)).encode("ascii")
    return len(body).to_bytes(4, "big") + body


class Frames:
    """The buffer for arriving bytes, and the texts of the messages in it.

    The reader writes into space() and passes the number of bytes to filled(), which returns the texts that are whole. An
    incomplete one waits for the next bytes.
    """

    __slots__ = ("_buffer", "_end", "_view")

    def __init__(self) -> None:
        self._resize(READ_BYTES)
        self._end = 0

    def space(self) -> memoryview:
        """The place for the next bytes; never empty."""
        return self._view[self._end :] if self._end else self._view

    def filled(self, count: int) -> list[str]:
        """`count` bytes were written there. Returns the texts of the messages that are whole. BrokenStream: the bytes are no frames."""
        buffer, start, end = self._buffer, 0, self._end + count
        texts: list[str] = []
        while end - start >= 4:
            (length,) = _length(buffer, start)
            if length > FRAME_MAX:
                raise BrokenStream(f"a frame of {length} bytes")
            if end - start - 4 < length:
                break
            try:
                texts.append(str(self._view[start + 4 : start + 4 + length], "utf-8"))
            except ValueError as e:
                raise BrokenStream(f"a frame that is no UTF-8 ({e})") from None
            start += 4 + length
        if start == end:
            self._end = 0
            if len(buffer) > READ_BYTES:
                self._resize(READ_BYTES)
        else:
            self._keep(start, end)
        return texts

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


def message_of(text: str) -> Message:
    """The message. BrokenStream: the text is no object of JSON."""
    try:
        message, end = scan(text, 0)
    except (ValueError, StopIteration, RecursionError) as e:
        raise BrokenStream(f"a frame that is no JSON ({e})") from None
    if not isinstance(message, dict) or end != len(text):
        raise BrokenStream("a frame that is no object")
    return message
