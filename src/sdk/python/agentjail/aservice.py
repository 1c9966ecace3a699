"""The service that runs the jails, for asyncio: a private one, which starts when it is first asked, or one at an address.
It belongs to the event loop that first asks it, and ends with that loop.
"""

from __future__ import annotations

import asyncio
import os
import warnings
import weakref
from collections.abc import AsyncGenerator, Sequence
from typing import Any, TypeVar

from . import errors
from ._async_link import AsyncLink
from ._base import BaseService, Pauses, found
from ._core import Request
from ._process import END_S, PolicyLike

T = TypeVar("T")


class AsyncService(BaseService):
    """As Service, with the same arguments, for one event loop.

    A private service ends with close(), with `async with`, when asyncio.run() or shutdown_asyncgens() ends the loop, and with this
    program however that ends.
    """

    _link: AsyncLink | None

    def _prepare(self) -> None:
        self._guard: AsyncGenerator[None, None] | None = None
        self._opening: asyncio.Lock | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def policies(self) -> list[str]:
        """The names of the policies that the service serves; the first is the default."""
        return [str(name) for name in (await self.link()).hello["policies"]]

    async def version(self) -> str:
        return str((await self.link()).hello["version"])

    async def ping(self) -> None:
        """Ask for nothing. ServiceDied: there is no answer."""
        await self.ask(Request("ping", {}))

    async def stats(self) -> dict[str, Any]:
        """Numbers about the service, see docs/guides/serve.md."""
        answer: dict[str, Any] = await self.ask(Request("stats", {}))
        return answer

    async def close(self) -> None:
        """End the connection, and a private service. Everything under way raises ServiceClosed. May be called again."""
        self._closed = True
        await self._end(errors.ServiceClosed("the service was closed"))
        guard, self._guard = self._guard, None
        if guard is not None:
            await guard.aclose()

    async def __aenter__(self) -> AsyncService:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        if getattr(self, "_process", None) is not None:
            warnings.warn("an AsyncService was not closed", ResourceWarning, source=self, stacklevel=2)
            self.close_now()

    # --- for the other modules of this package ---

    async def ask(self, request: Request[T], link: AsyncLink | None = None) -> T:
        """The answer to a request. While the service has no room it is sent again, for busy_timeout seconds at most."""
        try:
            return await (link or await self.link()).ask(request)
        except errors.Busy as e:
            busy = e
        return await self.ask_again(request, busy, link)

    async def ask_again(self, request: Request[T], busy: errors.Busy, link: AsyncLink | None = None) -> T:
        """The same for a request that was refused once already, with `busy`."""
        pauses = Pauses(self.busy_timeout, request)
        while True:
            await asyncio.sleep(pauses.take(busy))
            try:
                return await (link or await self.link()).ask(request)
            except errors.Busy as e:
                busy = e

    async def link(self) -> AsyncLink:
        """The connection, made anew where the last one has ended. SetupError: the service does not start."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._move(loop)
        link = self._link
        if link is not None and link.gone is None:
            return link
        assert self._opening is not None
        async with self._opening:
            if self._closed:
                raise errors.ServiceClosed("the service was closed; make another one")
            if self._link is None or self._link.gone is not None:
                await self._end(errors.ServiceClosed("the service is made anew"))
                self._link = await self._connect()
            return self._link

    def _move(self, loop: asyncio.AbstractEventLoop) -> None:
        """To another loop, if the first one is closed."""
        if self._loop is not None and not self._loop.is_closed():
            raise errors.ServiceClosed("this AsyncService belongs to another event loop; make one for each")
        self._drop("the event loop was closed")
        self._loop, self._opening, self._guard = loop, asyncio.Lock(), None

    async def _connect(self) -> AsyncLink:
        with self._line() as (sock, why_gone):
            link = await AsyncLink.over(sock, why_gone)
        if self._process is not None and self._guard is None:
            self._guard = self._until_the_loop_ends()
            await self._guard.__anext__()
        return link

    async def _until_the_loop_ends(self) -> AsyncGenerator[None, None]:
        """A generator that the loop knows: asyncio.run() closes those that are left, and so this service."""
        try:
            yield
        finally:
            await self._end(errors.ServiceClosed("the event loop ended"))

    async def _end(self, error: BaseException) -> None:
        link, process = self._detach()
        if link is not None:
            link.close(error)
        if process is not None:
            process.socket.close()
            await _ended(process.pid)
            process.end(0)


async def _ended(pid: int) -> None:
    """Until a process has ended, for END_S seconds at most."""
    loop = asyncio.get_running_loop()
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return
    ended = asyncio.Event()
    loop.add_reader(fd, ended.set)
    try:
        await asyncio.wait_for(ended.wait(), END_S)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)
        os.close(fd)


_shared: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[Any, ...], AsyncService]] = weakref.WeakKeyDictionary()


def shared(
    policy: PolicyLike | None = None, imports: Sequence[str] | None = None, builtins: str | None = None, layer: bool | None = None,
    env: str | None = None,
) -> AsyncService:  # fmt: skip
    """The private service of the running loop for such jails."""
    loop = asyncio.get_running_loop()
    return found(_shared.setdefault(loop, {}), AsyncService, policy, imports, builtins=builtins, layer=layer, env=env)
