"""The standard input of one snippet, where the caller gave its text: a stream in memory, which has no descriptor.
It reads no other input. Loaded only where a text is given.
"""

import sys
from _io import BytesIO, TextIOWrapper

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.runtime.session import STDIN


def give_stdin(session, text):
    """As the interpreter's own stream, this one leaves the ends of lines as they are."""
    data = BytesIO(text.encode())
    data.name = "<stdin>"
    sys.stdin = session.stdin = TextIOWrapper(data, "utf-8", newline="\n")


def take_stdin(session):
    """The next snippet has its own, or an empty one. A stream of the code's stays, as any variable does."""
    if getattr(sys, "stdin", None) is session.stdin:
        sys.stdin = STDIN
    session.stdin = None
