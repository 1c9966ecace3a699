"""agentjail: run what an AI agent wrote in a jail, so that it can harm nothing.

    >>> import agentjail
    >>> agentjail.run("sum(range(10))").value
    45

Jail: a fresh jail for each run. Session: a jail that lasts, with variables, files and tools. Service: the service that they
share, private to this process or at an address.
"""

from __future__ import annotations

from ._options import Entry, Output, Variable
from .errors import AgentjailError, Busy, ServiceDied, ServiceError, SessionEnded, SetupError, SnippetError
from .jail import Jail, run
from .result import ErrorInfo, File, Result
from .service import Service
from .session import Session
from .tools import Tool, tool
from .values import EnumMember, Handle, Instance, Opaque

__version__ = "0.1.0"

__all__ = [
    "AgentjailError", "Busy", "Entry", "EnumMember", "ErrorInfo", "File", "Handle", "Instance",
    "Jail", "Opaque", "Output", "Result", "Service", "ServiceDied", "ServiceError", "Session", "SessionEnded", "SetupError", "SnippetError",
    "Tool", "Variable", "run", "tool",
]  # fmt: skip
