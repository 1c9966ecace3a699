"""agentjail: run what an AI agent wrote in a jail, so that it can harm nothing.

    >>> import agentjail
    >>> agentjail.run("sum(range(10))").value
    45

Jail: a fresh jail for each run. Session: a jail that lasts, with variables, files and tools. AsyncJail and AsyncSession: the
same for asyncio. Service, AsyncService: the service that they share, private to this process or at an address. Env: packages for jails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._options import Entry, Output, Variable
from .env import Env
from .errors import AgentjailError, Busy, ServiceDied, ServiceError, SessionEnded, SetupError, SnippetError
from .jail import Jail, run
from .result import ErrorInfo, File, Result
from .service import Service
from .session import Session
from .tools import Tool, tool
from .values import EnumMember, Handle, Instance, Opaque

if TYPE_CHECKING:
    from .aio import AsyncJail, AsyncService, AsyncSession

__version__ = "0.1.0"

__all__ = [
    "AgentjailError", "AsyncJail", "AsyncService", "AsyncSession", "Busy", "Entry", "EnumMember", "Env", "ErrorInfo", "File", "Handle", "Instance",
    "Jail", "Opaque", "Output", "Result", "Service", "ServiceDied", "ServiceError", "Session", "SessionEnded", "SetupError", "SnippetError",
    "Tool", "Variable", "run", "tool",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The asyncio classes are loaded when they are used: asyncio is large."""
    if name in ("AsyncJail", "AsyncService", "AsyncSession"):
        from . import aio

        return getattr(aio, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
