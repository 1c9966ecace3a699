"""The exceptions of this package: one class for each error code of the protocol, and a few of the client's own.
A snippet that fails is no exception but a Result; SnippetError is raised where the value of such a result is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .result import Result


# A jail's text on a terminal: an escape sequence could set the clipboard or the title, or hide lines. They are shown, and do nothing.
# So are the characters that reverse the text up to the line's end: a file's name could seem to have another suffix.
_SHOWN = {c: f"\\x{c:02x}" for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"}
_SHOWN |= {c: f"\\u{c:04x}" for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def harmless(text: str) -> str:
    """The text without control characters but line feeds and tabs, for a terminal."""
    return text.translate(_SHOWN)


class AgentjailError(Exception):
    """The base of all exceptions of this package."""


class ServiceError(AgentjailError):
    """The service could not fulfil a request, so no snippet ran to its end.

    code: for programs, see docs/reference/protocol.md. message: the cause. fix: the remedy, or empty.
    retry_ms: in how many milliseconds it makes sense to try again, or None.
    """

    code = ""

    def __init__(self, message: str, fix: str = "", retry_ms: int | None = None, code: str | None = None) -> None:
        super().__init__(f"{message}\nfix: {fix}" if fix else message)
        self.message, self.fix, self.retry_ms = message, fix, retry_ms
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.fix, self.retry_ms, self.code)


class BadRequest(ServiceError):
    """A member of the request is missing, unknown or of the wrong type; nothing was begun."""

    code = "bad_request"


class UnknownOperation(ServiceError):
    """The service is older than this client: it has no such operation."""

    code = "unknown_op"


class TooLarge(ServiceError):
    """The request is longer than the service takes (`hello.limits.request_bytes`)."""

    code = "too_large"


class RequestTimeout(ServiceError):
    """The request took too long to arrive; the service closed the connection."""

    code = "request_timeout"


class Busy(ServiceError):
    """There is no room, or the session already runs a snippet. `retry_ms` says when to try again."""

    code = "busy"


class NoSuchPolicy(ServiceError):
    """The service serves no policy of that name."""

    code = "no_such_policy"


class NoSuchSession(ServiceError):
    """This connection has no session of that name, or has it no longer."""

    code = "no_such_session"


class SessionEnded(NoSuchSession):
    """The session is over: closed, its jail ended, or its service did. Its variables are gone; open a new one."""


class NoSuchRequest(ServiceError):
    """No request of that id is under way."""

    code = "no_such_request"


class NoSuchCall(ServiceError):
    """No tool call with that number is waiting for an answer."""

    code = "no_such_call"


class NoSuchFile(ServiceError):
    """The jail has no such regular file at this path."""

    code = "no_such_file"


class Denied(ServiceError):
    """The policy lets no request ask for that, or the service serves another user."""

    code = "denied"


class SetupError(ServiceError):
    """No jail could be made, or no service started. `message` names the cause, `fix` the remedy."""

    code = "setup_error"


class RequestClosed(ServiceError):
    """The request was closed before it was done."""

    code = "closed"


class Interrupted(ServiceError):
    """The request was interrupted while it waited for a jail; nothing ran."""

    code = "interrupted"


class ShuttingDown(ServiceError):
    """The service is about to end and begins nothing new."""

    code = "shutting_down"


class ServiceDied(AgentjailError):
    """The connection to the service ended while a request was under way. Whether its snippet ran is not known.

    log: the last lines that a private service wrote to its stderr; empty for a service at an address.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(f"{message}; its last words:\n{log}" if log else message)
        self.message, self.log = message, log

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.log)


class NodeDied(AgentjailError):
    """A machine of a cluster (agentjail.ray) died or could not be reached while a call was under way. Whether its snippet ran is not known.

    node: the machine. cause: Ray's words.
    """

    def __init__(self, node: str, cause: str = "") -> None:
        super().__init__(f"the node {node} has died or cannot be reached{f': {cause}' if cause else ''}")
        self.node, self.cause = node, cause

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.node, self.cause)


class ServiceClosed(AgentjailError):
    """The service, or the event loop that it belongs to, was closed by this program."""


class ToolError(AgentjailError, TypeError):
    """A function that cannot be declared as a tool; the text says which parameter and why."""


class ValueNotSent(AgentjailError, TypeError):
    """A value that cannot go into a jail: its type has no tag (docs/reference/values.md)."""


class ReentrantCall(AgentjailError, RuntimeError):
    """A tool asked the session whose run waits for that tool. Neither could go on."""


class SnippetError(AgentjailError):
    """The value of a snippet that failed was read.

    result: the Result. type, line: of the first error, where it has them.
    """

    def __init__(self, result: Result) -> None:
        error = result.error
        if error is None:
            text = f"{result.status}: {result.reason}"
        else:
            where = f"line {error.line}: " if error.line else ""
            hint = f"\nhint: {error.hint}" if error.hint else ""
            text = f"{where}{error.type}: {error.message}{hint}"
        super().__init__(harmless(text))
        self.result = result
        self.type = error.type if error else result.status
        self.line = error.line if error else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.result,)


def _leaves(cls: type[ServiceError]) -> list[type[ServiceError]]:
    return [leaf for sub in cls.__subclasses__() for leaf in (sub, *_leaves(sub))]


BY_CODE: dict[str, type[ServiceError]] = {cls.code: cls for cls in _leaves(ServiceError) if "code" in vars(cls)}


def from_error(error: dict[str, Any]) -> ServiceError:
    """The exception for the member `error` of an answer. A code that this version does not know is a ServiceError."""
    code = str(error.get("code", ""))
    return BY_CODE.get(code, ServiceError)(str(error.get("message", "")), str(error.get("fix", "")), error.get("retry_ms"), code)
