"""The service that runs the jails, for threads: a private one, which starts when it is first asked, or one at an address.
It holds no session and no snippet; session.py and jail.py ask it.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar

from . import errors
from ._base import BaseService, Pauses, close_all, found
from ._core import Request
from ._link import Link
from ._process import PolicyLike, Process

T = TypeVar("T")

SHARED_MAX = 4  # shared services that stay although nothing uses them


class Service(BaseService):
    """A service of this program's own, or a connection to one that runs.

    address: the path of a running service's socket. Without it `agentjail serve` is started for this program alone when the first
    request is made; it ends with close(), with this program however that ends, and is started again when it has died.

    program, rootfs: the program and its Python tree; without them $AGENTJAIL and $AGENTJAIL_ROOTFS, those installed with this
    package, and PATH are tried. policy, policies: of the private service, the first is the default: names, files, texts of
    TOML, or dicts. busy_timeout: seconds for which a request that is refused for lack of room is tried again, 2 at most in a tool that a run
    waits for; before, the service keeps it waiting for a jail for up to `queue_time` (60 seconds). options: further words for the
    command; env: variables for it, or an environment of packages (Env, or its name) for its jails. limits: as keywords, `memory="1G"`, `timeout=10`,
    `sessions_max=64`, `allow_imports=["numpy.*"]`; the names are those of the options of `agentjail serve`, times are in seconds.

    Any number of threads may use a Service. In a process that was forked it starts, or connects, anew.
    """

    _link: Link | None

    def _prepare(self) -> None:
        self._lock = threading.Lock()

    # --- for programs ---

    @property
    def policies(self) -> list[str]:
        """The names of the policies that the service serves; the first is the default."""
        return [str(name) for name in self.link().hello["policies"]]

    @property
    def version(self) -> str:
        return str(self.link().hello["version"])

    def ping(self) -> None:
        """Ask for nothing. ServiceDied: there is no answer."""
        self.ask(Request("ping", {}))

    def stats(self) -> dict[str, Any]:
        """Numbers about the service, see docs/guides/serve.md."""
        answer: dict[str, Any] = self.ask(Request("stats", {}))
        return answer

    def close(self) -> None:
        """End the connection, and a private service. Everything under way raises ServiceClosed. May be called again."""
        self.close_now()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_link", None) is not None:
            self.close()

    # --- for the other modules of this package ---

    def ask(self, request: Request[T], link: Link | None = None) -> T:
        """The answer to a request. While the service has no room it is sent again, for busy_timeout seconds at most.

        link: the connection that the request belongs to, as a session's; without it that of the moment.
        """
        try:
            return (link or self.link()).ask(request)
        except errors.Busy as e:
            busy = e
        return self.ask_again(request, busy, link)

    def ask_again(self, request: Request[T], busy: errors.Busy, link: Link | None = None) -> T:
        """The same for a request that was refused once already, with `busy`."""
        pauses = Pauses(self.busy_timeout, request)
        while True:
            time.sleep(pauses.take(busy))
            try:
                return (link or self.link()).ask(request)
            except errors.Busy as e:
                busy = e

    def link(self) -> Link:
        """The connection, made anew where the last one has ended. SetupError: the service does not start."""
        link = self._link
        if link is not None and link.gone is None:
            return link
        with self._lock:
            if self._closed:
                raise errors.ServiceClosed("the service was closed; make another one")
            if self._link is not None and self._link.gone is not None:
                self._link.close(self._link.gone)
                self._link = None
                if self._process is not None:
                    self._process.end(0)
                    self._process = None
            if self._link is None:
                self._link = self._connect()
            return self._link

    def _connect(self) -> Link:
        with self._line() as (sock, why_gone):
            return Link(sock, why_gone)

    def _detach(self) -> tuple[Link | None, Process | None]:
        with self._lock:
            return super()._detach()


# --- the services that are shared ---

_shared: weakref.WeakValueDictionary[tuple[Any, ...], Service] = weakref.WeakValueDictionary()
_kept: list[Service] = []  # those that were used last
_registry = threading.Lock()


def shared(
    policy: PolicyLike | None = None, imports: Sequence[str] | None = None, builtins: str | None = None, layer: bool | None = None,
    env: str | None = None,
) -> Service:  # fmt: skip
    """The private service of this process for such jails: one for each policy and list of imports that is in use."""
    global _kept
    with _registry:
        service = found(_shared, Service, policy, imports, builtins=builtins, layer=layer, env=env)
        before, _kept = _kept, [*(s for s in _kept if s is not service and not s._closed), service][-SHARED_MAX:]
    del before  # which ends one that nothing uses
    return service


def _new_registry() -> None:
    global _registry
    _registry = threading.Lock()


os.register_at_fork(after_in_child=_new_registry)

__all__ = ["Service", "close_all", "shared"]
