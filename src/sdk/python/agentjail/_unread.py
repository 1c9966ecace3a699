"""The answer of a run that ended well, as text: its value is parsed when the value is read, the other members when one of these is read.
It knows one beginning, as the service writes it; a text that begins in another way is left to the parser of whole messages.
"""

from __future__ import annotations

import re
from typing import Any

from . import errors
from ._wire import scan

UNREAD_MAX = 1 << 16  # characters; a longer answer is parsed at once, since its text and its members would take room for both

Unread = re.Match  # of head(), which finds an answer at the beginning of a message's text

head = re.compile(r'\{"id":([0-9]{1,18}),"result":(\{"id":"[^"\\]*","status":"ok","reason":"[^"\\]*","value":)').match


def value_of(answer: Unread[str]) -> Any:
    """The member `value`."""
    try:
        return scan(answer.string, answer.end())[0]
    except (ValueError, StopIteration):
        raise _broken() from None


def all_of(answer: Unread[str]) -> dict[str, Any]:
    """All members."""
    members: dict[str, Any]
    try:
        members, end = scan(answer.string, answer.start(2))
    except (ValueError, StopIteration):
        raise _broken() from None
    if answer.string[end:] != "}":
        raise _broken()
    return members


def _broken() -> errors.ServiceError:
    return errors.ServiceError("the service's answer is no JSON")
