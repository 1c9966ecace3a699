"""Jails and sessions for asyncio: the same names and arguments as Jail and Session, to be awaited.
The requests and answers are those of _requests.py; cancelling a call ends its snippet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, TypeVar, overload

from . import _requests as rq
from . import errors
from ._async_link import AsyncLink
from ._base import NotCopyable
from ._core import Request
from ._map import workers_of
from ._options import NO_DEFAULT, Entry, Output, Variable, entries, variables
from ._process import PolicyLike
from ._progress import Bar
from ._requests import Files, JailOptions, OnText, RunOptions, Unpack
from .aservice import AsyncService, shared
from .jail import BaseJail, Job, Progress, job_of, total_of
from .result import Result
from .tools import ToolLike, collect

T = TypeVar("T")

__all__ = ["AsyncJail", "AsyncService", "AsyncSession"]


class AsyncJail(BaseJail[AsyncService]):
    """As Jail; without a service it uses the private one of the running event loop. Tools that are coroutines run in that loop."""

    _kind = AsyncService

    @property
    def service(self) -> AsyncService:
        """Where it runs; of the running loop."""
        return self._service or shared(*self._key)

    async def run(self, code: str, *, on_stdout: OnText | None = None, on_stderr: OnText | None = None, **options: Unpack[RunOptions]) -> Result:
        """Run a snippet in a jail of its own. on_stdout, on_stderr: functions or coroutine functions. options: see RunOptions."""
        return await self.service.ask(self._request(code, options, rq.handler(on_stdout, on_stderr)))

    @overload
    def map(
        self,
        codes: Iterable[Job],
        *,
        ordered: Literal[True] = True,
        workers: int | None = None,
        progress: Progress = None,
        **options: Unpack[RunOptions],
    ) -> AsyncIterator[Result]: ...

    @overload
    def map(
        self, codes: Iterable[Job], *, ordered: Literal[False], workers: int | None = None, progress: Progress = None, **options: Unpack[RunOptions]
    ) -> AsyncIterator[tuple[int, Result]]: ...

    async def map(
        self, codes: Iterable[Job], *, ordered: bool = True, workers: int | None = None, progress: Progress = None, **options: Unpack[RunOptions]
    ) -> AsyncIterator[Any]:
        """Run many snippets, as Jail.map: an async generator. Closing it, as `contextlib.aclosing` does, ends the snippets that still run."""
        service = self.service
        jobs = enumerate(codes)
        bound = workers_of(workers)
        bar = Bar(progress, total_of(codes))
        running: dict[asyncio.Task[Result], int] = {}
        ready: dict[int, Result] = {}
        given = ended = started = 0
        more = True
        try:
            while True:
                while more and len(running) < bound and started - given < 16 * bound:
                    number, job = next(jobs, (-1, ""))
                    if number < 0:
                        more = False
                        break
                    running[asyncio.ensure_future(service.ask(self._request(*job_of(job, options))))] = number
                    started += 1
                if not running:
                    break
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    number = running.pop(task)
                    ready[number] = task.result()
                    ended += 1
                    bar.show(ended)
                if ordered:
                    while given in ready:
                        yield ready.pop(given)
                        given += 1
                else:
                    for number in sorted(ready):
                        given += 1
                        yield number, ready.pop(number)
        finally:
            bar.end()
            for task in running:
                task.cancel()
            if running:
                await asyncio.gather(*running, return_exceptions=True)


class AsyncSession(NotCopyable):
    """As Session; it opens with `async with`, or with its first call, and ends with `async with` or close()."""

    def __init__(
        self,
        tools: Iterable[ToolLike] | Mapping[str, ToolLike] = (),
        *,
        service: AsyncService | None = None,
        policy: PolicyLike | None = None,
        branching: bool = False,
        timeout: float | None = None,
        files: Files | None = None,
        **options: Unpack[JailOptions],
    ) -> None:
        self.tools = collect(tools)
        self.timeout = timeout
        self.name = self.policy = ""
        self._state = "new"
        self._link: AsyncLink | None = None
        rq.same_kind(service, AsyncService)
        self._open_args = service, policy, branching, files, options
        self._opening: asyncio.Lock | None = None

    async def open(self) -> AsyncSession:
        """Open it; the other calls do it as well."""
        if self._opening is None:
            self._opening = asyncio.Lock()
        async with self._opening:
            if self._state == "new":
                service, policy, branching, files, options = self._open_args
                key, jail = rq.place(service is not None, policy, options)
                self.service = service or shared(*key)
                self._link = await self.service.link()
                request = rq.open_session(jail, self.tools, branching, files)
                self.name, self.policy = await self.service.ask(request, self._link)
                self._state = "open"
        return self

    # --- code ---

    async def run(self, code: str, *, on_stdout: OnText | None = None, on_stderr: OnText | None = None, **options: Unpack[RunOptions]) -> Result:
        """Run a snippet. on_stdout, on_stderr: functions or coroutine functions. Cancelling it interrupts the snippet."""
        return await self._ask(lambda _: self._run_request(code, options, rq.handler(on_stdout, on_stderr)))

    async def stream(self, code: str, **options: Unpack[RunOptions]) -> AsyncIterator[Output | Result]:
        """Run a snippet: an Output for each piece of output, as it comes, and at the end its Result. Closing the iterator ends the run."""
        link = await self._need()
        arrived = asyncio.Event()
        pending = link.start(self._run_request(code, options, lambda stream, text: None), arrived.set)
        try:
            while True:
                await arrived.wait()
                arrived.clear()
                over = pending.over
                for piece in link.pieces(pending):
                    yield Output(*piece)
                if over:
                    break
        finally:
            link.forget(pending)
        try:
            result = link.answer(pending)
        except errors.NoSuchSession as e:
            raise rq.why_ended(e, self.name, link.ended) from None
        yield result

    def _run_request(self, code: str, options: Mapping[str, Any], on_output: Any) -> Request[Result]:
        return rq.run(self.name, code, rq.run_members(self.timeout, options), self.tools, on_output)

    async def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the snippet that runs; the session continues."""
        await self._ask(lambda name: Request("interrupt", {"session": name}, rq.ignore_answer))

    # --- variables ---

    async def set(self, variables: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Set variables. SnippetError: the jail cannot make one of the values."""
        if variables or more:
            (await self._ask(lambda name: rq.set_variables(name, rq.merge_variables(variables, more)))).raise_for_status()
        else:
            await self._need()

    async def get(self, name: str, default: Any = NO_DEFAULT, *, timeout: float | None = None, handles: bool = False) -> Any:
        """The value of a variable. SnippetError: there is none of that name, and no default."""
        result = await self._ask(lambda session: rq.get_variable(session, name, timeout, handles))
        if default is not NO_DEFAULT and rq.variable_missing(result):
            return default
        return result.value

    async def vars(self, *, timeout: float | None = None) -> dict[str, Variable]:
        """The variables by name, without tools: their types, texts and lengths."""
        return variables(await self._ask(lambda name: rq.list_variables(name, timeout)))

    # --- files ---

    async def write_files(self, files: Files) -> None:
        """Write files, see Session.write_files."""
        link = await self._need()
        for batch in rq.batches(files, link.request_bytes):
            (await self._ask(partial(rq.write, batch=batch))).raise_for_status()

    async def read_file(self, path: str) -> bytes:
        """The bytes of a regular file below /tmp, /input or /output, also while code runs. NoSuchFile: there is none."""
        data, end = bytearray(), False
        while not end:
            part, end = await self._ask(lambda name: rq.read_part(name, path, len(data)))
            data.extend(part)
        return bytes(data)

    async def list_files(self, path: str = "/tmp") -> list[Entry]:
        """The entries of a folder of the jail, at most 1,000 and in no order."""
        return await self._ask(lambda name: Request("list_files", {"session": name, "path": path}, entries))

    async def remove_file(self, path: str) -> None:
        """Remove a file, a link or an empty folder of the jail."""
        await self._ask(lambda name: Request("remove_file", {"session": name, "path": path}, rq.ignore_answer))

    # --- tools and branches ---

    async def add_tools(self, tools: Iterable[ToolLike] | Mapping[str, ToolLike]) -> None:
        """Declare more tools, or replace some; the next run knows them."""
        added = collect(tools)
        await self._ask(lambda name: rq.declare(name, added))
        self.tools.update(added)

    async def fork(self) -> AsyncSession:
        """A second session that continues from this one: memory, open files and /tmp. Needs `branching`."""
        name, policy = await self._ask(lambda name: Request("fork", {"session": name}, rq.session_of))
        fork = AsyncSession(self.tools, timeout=self.timeout)
        fork.service, fork._link, fork.name, fork.policy, fork._state = self.service, self._link, name, policy, "open"
        return fork

    async def checkpoint(self) -> int:
        """Keep the session's present state; the number is for rollback and forget. Needs `branching`."""
        return await self._ask(lambda name: Request("checkpoint", {"session": name}, rq.checkpoint_of))

    async def rollback(self, checkpoint: int) -> None:
        """Go on from a checkpoint, which stays; also after the session's jail has ended."""
        await self._ask(lambda name: Request("rollback", {"session": name, "checkpoint": checkpoint}, rq.ignore_answer))

    async def forget(self, checkpoint: int) -> None:
        """Give a checkpoint and its memory up."""
        await self._ask(lambda name: Request("forget", {"session": name, "checkpoint": checkpoint}, rq.ignore_answer))

    # --- the end ---

    @property
    def closed(self) -> bool:
        return self._state == "closed" or (self._link is not None and self._link.gone is not None)

    async def close(self) -> None:
        """End the session and its snippet. May be called again, and after its jail or its service has ended."""
        state, self._state = self._state, "closed"
        if state == "open" and self._link is not None and self._link.gone is None:
            try:
                await self._link.ask(Request("close", {"session": self.name}, rq.ignore_answer))
            except (errors.NoSuchSession, errors.ServiceDied, errors.ServiceClosed):
                pass  # it has ended already

    async def __aenter__(self) -> AsyncSession:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_state", "") == "open" and self._link is not None and self._link.gone is None:
            self._link.orphans.put(self.name)
            rq.warn_unclosed(self.name, self)

    def __repr__(self) -> str:
        return f"<AsyncSession {self.name} {'closed' if self.closed else self.policy or 'not open yet'}>"

    async def _need(self) -> AsyncLink:
        """Its connection, open."""
        if self._state == "new":
            await self.open()
        link = self._link
        rq.check_open(self._state == "open" and link is not None, link.gone if link is not None else None)
        assert link is not None
        return link

    async def _ask(self, make: Callable[[str], Request[T]]) -> T:
        """make: the request, from the session's name, which it has once it is open."""
        link = self._link if self._state == "open" else None
        if link is None or link.gone is not None:
            link = await self._need()
        request = make(self.name)
        try:
            try:
                return await link.ask(request)
            except errors.Busy as e:
                busy = e
            return await self.service.ask_again(request, busy, link)
        except errors.NoSuchSession as e:
            raise rq.why_ended(e, self.name, link.ended) from None
