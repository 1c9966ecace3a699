"""A session: a jail that lasts, with its variables, files and tools, from one snippet to the next.
A session's jail belongs to one connection. When the connection ends the session has ended, and raises SessionEnded.
"""

from __future__ import annotations

import queue
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from . import _requests as rq
from . import errors
from ._base import NotCopyable
from ._core import Request
from ._link import Link
from ._options import NO_DEFAULT, Entry, Output, Variable, entries, variables
from ._process import PolicyLike
from ._requests import Files, JailOptions, OnText, RunOptions, Unpack
from .result import Result
from .service import Service, shared
from .tools import ToolLike, collect

T = TypeVar("T")


class Session(NotCopyable):
    """A jail that lasts. It is open once it is made, and ends with `with`, or with close().

    tools: functions that its code may call, see Tool. service: where it runs; without it the private service of this process for
    such sessions. policy: a policy's name, or, without a service, a file or a dict too. branching: it can be forked, kept and
    rolled back. timeout: seconds for each run that says none. files: to write first, see write_files. options: see JailOptions.

    One snippet runs at a time; a second thread waits its turn. SessionEnded: the session is over, and so are its variables.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] | Mapping[str, ToolLike] = (),
        *,
        service: Service | None = None,
        policy: PolicyLike | None = None,
        branching: bool = False,
        timeout: float | None = None,
        files: Files | None = None,
        **options: Unpack[JailOptions],
    ) -> None:
        self._state = "new"
        self.tools = collect(tools)
        self.timeout = timeout
        key, jail = rq.place(rq.same_kind(service, Service), policy, options)
        self.service = service or shared(*key)
        self._link: Link = self.service.link()
        request = rq.open_session(jail, self.tools, branching, files)
        self.name, self.policy = self.service.ask(request, self._link)
        self._state = "open"

    @classmethod
    def _of_fork(cls, of: Session, name: str, policy: str) -> Session:
        fork = cls.__new__(cls)
        fork.tools, fork.timeout, fork.service, fork._link = dict(of.tools), of.timeout, of.service, of._link
        fork.name, fork.policy, fork._state = name, policy, "open"
        return fork

    # --- code ---

    def run(self, code: str, *, on_stdout: OnText | None = None, on_stderr: OnText | None = None, **options: Unpack[RunOptions]) -> Result:
        """Run a snippet. on_stdout, on_stderr: are given output as it comes, in this thread. options: see RunOptions."""
        return self._ask(self._run_request(code, options, rq.handler(on_stdout, on_stderr)))

    def stream(self, code: str, **options: Unpack[RunOptions]) -> Iterator[Output | Result]:
        """Run a snippet, from the first step of the loop on: an Output for each piece of output, as it comes, and at the end its Result.
        Leaving the loop ends the run."""
        arrived: queue.SimpleQueue[None] = queue.SimpleQueue()
        request = self._run_request(code, options, lambda stream, text: None)
        self._check_open()
        pending = self._link.start(request, lambda: arrived.put(None))
        try:
            while True:
                arrived.get()
                over = pending.over
                yield from (Output(*piece) for piece in self._link.pieces(pending))
                if over:
                    break
        finally:
            self._link.forget(pending)
        try:
            result = self._link.answer(pending)
        except errors.NoSuchSession as e:
            raise rq.why_ended(e, self.name, self._link.ended) from None
        yield result

    def _run_request(self, code: str, options: Mapping[str, Any], on_output: Any) -> Request[Result]:
        return rq.run(self.name, code, rq.run_members(self.timeout, options), self.tools, on_output)

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the snippet that runs; another thread calls this. The session continues."""
        self._ask(Request("interrupt", {"session": self.name}, rq.ignore_answer))

    # --- variables ---

    def set(self, variables: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Set variables. SnippetError: the jail cannot make one of the values."""
        if variables or more:
            self._ask(rq.set_variables(self.name, rq.merge_variables(variables, more))).raise_for_status()
        else:
            self._check_open()

    def get(self, name: str, default: Any = NO_DEFAULT, *, timeout: float | None = None, handles: bool = False) -> Any:
        """The value of a variable. SnippetError: there is none of that name, and no default."""
        result = self._ask(rq.get_variable(self.name, name, timeout, handles))
        if default is not NO_DEFAULT and rq.variable_missing(result):
            return default
        return result.value

    def vars(self, *, timeout: float | None = None) -> dict[str, Variable]:
        """The variables by name, without tools: their types, texts and lengths."""
        return variables(self._ask(rq.list_variables(self.name, timeout)))

    # --- files ---

    def write_files(self, files: Files) -> None:
        """Write files: a mapping of names to bytes, text, or paths of this host; or a list of paths of this host.

        A name is below /input, where code can only read; or it is a path below /input, /output or /tmp. A file that is larger than
        a request is sent in parts. SnippetError: the jail could not write one.
        """
        for batch in rq.batches(files, self._link.request_bytes):
            self._ask(rq.write(self.name, batch)).raise_for_status()

    def read_file(self, path: str) -> bytes:
        """The bytes of a regular file below /tmp, /input or /output, also while code runs. NoSuchFile: there is none."""
        data, end = bytearray(), False
        while not end:
            part, end = self._ask(rq.read_part(self.name, path, len(data)))
            data += part
        return bytes(data)

    def list_files(self, path: str = "/tmp") -> list[Entry]:
        """The entries of a folder of the jail, at most 1,000 and in no order."""
        return self._ask(Request("list_files", {"session": self.name, "path": path}, entries))

    def remove_file(self, path: str) -> None:
        """Remove a file, a link or an empty folder of the jail."""
        self._ask(Request("remove_file", {"session": self.name, "path": path}, rq.ignore_answer))

    # --- tools and branches ---

    def add_tools(self, tools: Iterable[ToolLike] | Mapping[str, ToolLike]) -> None:
        """Declare more tools, or replace some; the next run knows them."""
        added = collect(tools)
        self._ask(rq.declare(self.name, added))
        self.tools.update(added)

    def fork(self) -> Session:
        """A second session that continues from this one: memory, open files and /tmp. Needs `branching`."""
        name, policy = self._ask(Request("fork", {"session": self.name}, rq.session_of))
        return self._of_fork(self, name, policy)

    def checkpoint(self) -> int:
        """Keep the session's present state; the number is for rollback and forget. Needs `branching`."""
        return self._ask(Request("checkpoint", {"session": self.name}, rq.checkpoint_of))

    def rollback(self, checkpoint: int) -> None:
        """Go on from a checkpoint, which stays; also after the session's jail has ended."""
        self._ask(Request("rollback", {"session": self.name, "checkpoint": checkpoint}, rq.ignore_answer))

    def forget(self, checkpoint: int) -> None:
        """Give a checkpoint and its memory up."""
        self._ask(Request("forget", {"session": self.name, "checkpoint": checkpoint}, rq.ignore_answer))

    # --- the end ---

    @property
    def closed(self) -> bool:
        return self._state != "open" or self._link.gone is not None

    @property
    def waits_for_caller(self) -> bool:
        """Whether this is read in a tool that a run of this session waits for."""
        return self._link.waits_for_caller(self.name)

    def close(self) -> None:
        """End the session and its snippet. May be called again, and after its jail or its service has ended."""
        if self._state != "open":
            return
        self._state = "closed"
        self._link.ended.pop(self.name, None)
        if self._link.gone is None:
            try:
                self._link.ask(Request("close", {"session": self.name}, rq.ignore_answer))
            except (errors.NoSuchSession, errors.ServiceDied, errors.ServiceClosed):
                pass  # it has ended already

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_state", "") == "open" and self._link.gone is None:
            self._link.orphans.put(self.name)  # closed with the next request: here nothing may wait
            rq.warn_unclosed(self.name, self)

    def __repr__(self) -> str:
        return f"<Session {self.name} {'closed' if self.closed else self.policy}>"

    def _ask(self, request: Request[T]) -> T:
        link = self._link
        if self._state != "open" or link.gone is not None:
            self._check_open()
        try:
            try:
                return link.ask(request)
            except errors.Busy as e:
                busy = e
            return self.service.ask_again(request, busy, link)
        except errors.NoSuchSession as e:
            raise rq.why_ended(e, self.name, link.ended) from None

    def _check_open(self) -> None:
        rq.check_open(self._state == "open", self._link.gone)
