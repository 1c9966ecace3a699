"""The requests of sessions and jails: from keyword arguments to members of the protocol, and from answers to objects.
The blocking and the asyncio classes share this module, which sends nothing.
"""

from __future__ import annotations

import math
import os
import warnings
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from ._core import Request, rejected
from ._process import OPTIONS, names_of
from ._unread import Unread
from .env import EnvLike, name_of
from .errors import NoSuchSession, SessionEnded, SetupError
from .result import Result
from .tools import Tool
from .values import encode_members

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:  # those that make a schema of a function's hints evaluate them
    try:
        from typing import Unpack
    except ImportError:  # Python 3.10

        class Unpack:
            def __class_getitem__(cls, item: Any) -> Any:
                return Any


FileContent = Union[bytes, bytearray, memoryview, str, os.PathLike[str]]
Files = Union[Mapping[str, FileContent], Iterable[Union[str, os.PathLike[str]]]]
Member = dict[str, Union[str, bool]]  # a file as the protocol has it
OnText = Callable[[str], Any]

PART_BYTES = 1 << 20  # of a file that is read: the protocol's own bound


class JailOptions(TypedDict, total=False):
    """Options of a jail or session; the names are the protocol's.

    imports: modules that the code may import, in place of the policy's: `["json", "numpy.*"]`.
    builtins: `minimal`, `static`, `standard` or `full`. layer: False switches the Python layer off. imports_checked: `before` or `run`.
    workspace: a folder of this host, under a policy that has one. tenant: on whose behalf. seed: for the code's random numbers.
    env: an environment of packages, see Env; with a service, Service(env=...) has it.
    """

    imports: Sequence[str] | None
    builtins: str | None
    layer: bool | None
    imports_checked: str | None
    workspace: str | os.PathLike[str] | None
    tenant: str | None
    seed: int | None
    env: EnvLike | None


# run-options begin: written by `make docs` from policy/plan/snippet.h
class RunOptions(TypedDict, total=False):
    """Options of one run.

    filename: the snippet's name in errors.
    inputs: variables to set before the snippet runs: name to value.
    stdin: the standard input of this run, which `sys.stdin` and `input()` read.
    timeout: when the snippet is interrupted, in seconds.
    seed: for `random` and numpy's older random functions.
    value_of: `expression` (the default): the result has a value where the last statement is an expression; `statement`: also where it is an
        assignment.
    handles: whether a value that cannot cross stays inside and its name crosses, as a handle.
    for_model: whether the result has `for_model`, a text for a model.
    brief: whether the result is brief: without the parts that each result of the policy repeats, and without members that say nothing.
    files: files to write first.
    output: `list`: the result names the files of /output that the run has made or changed; `data`: with their bytes.
    run_id: the `id` in the result and in the audit trail.
    """

    filename: str | None
    inputs: Mapping[str, Any] | None
    stdin: str | None
    timeout: float | None
    seed: int | None
    value_of: Literal["expression", "statement"] | None
    handles: bool | None
    for_model: bool | None
    brief: bool | None
    files: Files | None
    output: Literal["list", "data"] | None
    run_id: str | None


# run-options end


JAIL_OPTIONS = frozenset(JailOptions.__annotations__)
RUN_OPTIONS = frozenset(RunOptions.__annotations__)
POLICY_TABLES = frozenset(("filesystem", "limits", "network", "process", "python", "require"))


def no_option(name: str, known: Iterable[str]) -> TypeError:
    """The error for a keyword that is not in `known`, with the place where it is valid."""
    near = get_close_matches(name, known, 2)
    if name in OPTIONS or name in ("allow_imports", "address", "program", "rootfs", "env"):
        hint = f"it is an option of Service(): service=Service({name}=...)"
    elif name in JAIL_OPTIONS:
        hint = "it is an option of Jail() and Session()"
    elif name in RUN_OPTIONS:
        hint = "it is an option of run()"
    elif name in POLICY_TABLES:
        hint = f"a policy sets it: policy={{'extends': 'snippet', {name!r}: {{...}}}}, with the keys of docs/reference/policies.md"
    else:
        hint = f"did you mean {' or '.join(near)}?" if near else ""
    return TypeError(f"there is no option {name!r} here{hint and '; '}{hint}. There are: {', '.join(sorted(known))}")


def members(given: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Keyword arguments as members. TypeError: one that is not known."""
    out: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise no_option(name, known)
        if value is None:
            continue
        if name == "inputs":
            out[name] = encode_members(value)
        elif name == "files":
            out[name] = files_of(value)
        elif name == "timeout":
            out["timeout_ms"] = milliseconds(value)
        elif name == "workspace":
            out[name] = os.path.realpath(value)
        elif name == "imports":
            out[name] = names_of(name, value)
        elif name == "env":
            out[name] = name_of(value)
        else:
            out[name] = value
    return out


def run_members(timeout: float | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """A run's members. The text for a model is asked for, unless the caller says otherwise: it costs less than a line of output."""
    if timeout is None and not options:
        return {"for_model": True}
    return members({"timeout": timeout, "for_model": True, **options}, RUN_OPTIONS)


def place(own_service: bool, policy: Any, options: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The key of a shared service for a jail, and the members of the jail's requests.

    own_service: the caller named a service. Then a policy is the name of one that it serves.
    """
    jail = members(options, JAIL_OPTIONS)
    env = jail.pop("env", None)
    if own_service and env is not None:
        raise TypeError("with a service, its jails have its environment: Service(env=...)")
    if own_service and policy is not None:
        if not isinstance(policy, str) or "/" in policy or "\n" in policy:
            raise TypeError("with a service, policy is the name of one that it serves: Service(policy=...) takes a file or a dict")
        jail["policy"] = policy
    return (policy, options.get("imports"), options.get("builtins"), options.get("layer"), env), jail


def same_kind(service: object, kind: type) -> bool:
    """Whether the caller named a service. TypeError: it is none of this kind."""
    if service is not None and not isinstance(service, kind):
        raise TypeError(f"service: {kind.__name__}(...) makes one that fits here, and {type(service).__name__} is another type")
    return service is not None


def milliseconds(seconds: float) -> int:
    if not isinstance(seconds, Real):
        raise TypeError(f"a timeout is a number of seconds, and no {type(seconds).__name__}")
    if not 0 < seconds < math.inf:
        raise ValueError(f"a timeout of {seconds} s: it is more than 0 and has an end")
    return max(1, round(seconds * 1000))


def files_of(files: Files) -> list[Member]:
    """Files for a jail: a mapping of names to bytes, text or paths of this host, or a list of paths, whose last parts are the names."""
    if isinstance(files, Mapping):
        pairs: Iterable[tuple[str, FileContent]] = files.items()
    elif isinstance(files, (str, bytes)):
        raise TypeError("files are a mapping of names to contents, or a list of paths")
    else:
        pairs = [(os.path.basename(os.fspath(path)), Path(path)) for path in files]
    given: dict[str, tuple[str, FileContent]] = {}
    for name, content in pairs:
        key = name.removeprefix("/input/")
        if key in given:
            which = [repr(str(n) if isinstance(files, Mapping) else str(c)) for n, c in (given[key], (name, content))]
            raise ValueError(f"two files have the path /input/{key} in the jail: {' and '.join(which)}; pass a mapping with other names")
        given[key] = name, content
    return [_file(name, content) for name, content in given.values()]


def _file(name: str, content: FileContent) -> Member:
    if isinstance(content, str):
        if content.isascii() and "\0" not in content:
            return {"name": name, "text": content}
        content = content.encode("utf-8", "surrogatepass")
    elif isinstance(content, os.PathLike):
        content = Path(content).read_bytes()
    elif not isinstance(content, (bytes, bytearray, memoryview)):
        raise TypeError(f"the file {name!r}: its content is bytes, text or a path, and no {type(content).__name__}")
    return {"name": name, "data": b64encode(content).decode()}


# --- answers ---


def result_of(answer: Any) -> Result:
    """A Result. SetupError: there was no jail to run in."""
    if not isinstance(answer, Unread) and answer.get("status") == "setup_error":
        error = answer.get("error") or {}
        raise SetupError(str(error.get("message") or answer.get("reason")), str(error.get("fix") or ""))
    return Result(answer)


def session_of(answer: Any) -> tuple[str, str]:
    return str(answer["session"]), str(answer["policy"])


def part_of(answer: Any) -> tuple[bytes, bool]:
    return b64decode(answer["data"]), bool(answer["end"])


def ignore_answer(_: Any) -> None:
    return None


# --- requests ---


def handler(on_stdout: OnText | None, on_stderr: OnText | None) -> Callable[[str, str], Any] | None:
    """One function for both streams, or None. Its result is that of the caller's function, which asyncio's side awaits if it is a coroutine."""
    if on_stdout is None and on_stderr is None:
        return None
    by_name = {"stdout": on_stdout, "stderr": on_stderr}

    def hand(stream: str, text: str) -> Any:
        function = by_name[stream]
        return function(text) if function is not None else None

    return hand


OnOutput = Union[Callable[[str, str], Any], None]


def execute(code: str, jail: dict[str, Any], run: dict[str, Any], tools: Mapping[str, Tool], on_output: OnOutput) -> Request[Result]:
    """A snippet in a jail of its own."""
    message = {"code": code, **jail, **run}
    if tools:
        message["tools"] = [t.declaration for t in tools.values()]
    if on_output:
        message["stream"] = True
    return Request("exec", message, result_of, tools, on_output, True, refused_source("exec", code, run.get("run_id")))


def open_session(jail: dict[str, Any], tools: Mapping[str, Tool], branching: bool, files: Files | None) -> Request[tuple[str, str]]:
    message = dict(jail)
    if tools:
        message["tools"] = [t.declaration for t in tools.values()]
    if branching:
        message["branching"] = True
    if files is not None:
        message["files"] = files_of(files)
    return Request("open", message, session_of)


def run(session: str, code: str, options: dict[str, Any], tools: Mapping[str, Tool], on_output: OnOutput) -> Request[Result]:
    message = {"session": session, "code": code, **options}
    if on_output:
        message["stream"] = True
    return Request("run", message, result_of, tools, on_output, True, refused_source("run", code, options.get("run_id")))


def refused_source(op: str, code: str, run_id: str | None) -> dict[str, Any] | None:
    """The `rejected` result for code that cannot be sent in a request; None: it can."""
    if not isinstance(code, str):
        return None  # wrong type: reported elsewhere
    at = code.find("\0")
    if at < 0:
        if code.isascii():
            return None
        try:
            code.encode()
            return None
        except UnicodeEncodeError as e:
            at = e.start
    line = code.count("\n", 0, at) + 1
    message = f"source: the code is not UTF-8 text: the character U+{ord(code[at]):04X} in line {line}"
    fix = "write the character as an escape in a string: '\\0' or '\\ud800'"
    return rejected(op, run_id, message, fix, line=line)


def merge_variables(variables: Mapping[str, Any] | None, more: dict[str, Any]) -> Mapping[str, Any]:
    """All variables that set() was given."""
    return {**variables, **more} if variables and more else variables or more


def set_variables(session: str, variables: Mapping[str, Any]) -> Request[Result]:
    return Request("set", {"session": session, "variables": encode_members(variables)}, result_of)


def get_variable(session: str, name: str, timeout: float | None, handles: bool) -> Request[Result]:
    message: dict[str, Any] = {"session": session, "name": name}
    if timeout is not None:
        message["timeout_ms"] = milliseconds(timeout)
    if handles:
        message["handles"] = True
    return Request("get", message, result_of)


def list_variables(session: str, timeout: float | None) -> Request[Result]:
    message: dict[str, Any] = {"session": session}
    if timeout is not None:
        message["timeout_ms"] = milliseconds(timeout)
    return Request("vars", message, result_of)


def read_part(session: str, path: str, offset: int) -> Request[tuple[bytes, bool]]:
    return Request("read_file", {"session": session, "path": path, "offset": offset, "bytes": PART_BYTES}, part_of)


def batches(files: Files, limit: int) -> list[list[Member]]:
    """Files in groups, each of which fits into a request of `limit` bytes. A file that fits into none comes in parts."""
    room = max(limit - 4096, limit // 2)
    groups: list[list[Member]] = [[]]
    used = 0
    for file in files_of(files):
        for part in [file] if _length(file) <= room else _parts(file, room):
            length = _length(part)
            if groups[-1] and used + length > room:
                groups.append([])
                used = 0
            groups[-1].append(part)
            used += length
    return groups


def _length(file: Member) -> int:
    """At most so many bytes does a file need in a request."""
    text = str(file.get("text", ""))
    return len(str(file.get("data", ""))) + 6 * len(str(file["name"])) + sum(len(c) if c >= " " else 6 for c in text) + 64


def _parts(file: Member, room: int) -> Iterator[Member]:
    """An empty file and what is appended to it: the jail copies the first part of a file in /input when the second one comes. Each part
    but the last fills a request, so that no request has two."""
    name = file["name"]
    data = str(file["data"]) if "data" in file else b64encode(str(file["text"]).encode()).decode()
    yield {"name": name, "text": ""}
    step = max(room - _length({"name": name}), 1024) // 4 * 4  # base64 comes in fours
    for start in range(0, len(data), step):
        yield {"name": name, "data": data[start : start + step], "append": True}


def write(session: str, batch: list[Member]) -> Request[Result]:
    return Request("write_files", {"session": session, "files": batch}, result_of)


def declare(session: str, tools: Mapping[str, Tool]) -> Request[None]:
    return Request("tools", {"session": session, "tools": [t.declaration for t in tools.values()]}, ignore_answer)


def checkpoint_of(answer: Any) -> int:
    return int(answer["checkpoint"])


def variable_missing(result: Result) -> bool:
    return result.error is not None and result.error.type == "NameError"


# --- how a session ends ---


def why_ended(error: NoSuchSession, session: str, ended: Mapping[str, str]) -> SessionEnded:
    """The service does not know the session any more: the error that says why. ended: what the connection knows of sessions."""
    if isinstance(error, SessionEnded):
        return error
    return SessionEnded(f"the session's jail has ended: {ended.get(session) or error.message}", "open another one")


def check_open(is_open: bool, gone: BaseException | None) -> None:
    """SessionEnded: it was closed, or its connection is gone."""
    if not is_open:
        raise SessionEnded("the session was closed", "open another one")
    if gone is not None:
        raise SessionEnded(f"the session has ended with its service: {gone}", "open another one")


def warn_unclosed(session: str, source: object) -> None:
    warnings.warn(f"the session {session} was not closed", ResourceWarning, source=source, stacklevel=3)
