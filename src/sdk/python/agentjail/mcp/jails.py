"""The jails of one server: fresh ones, and a session for each client that asks for one. Sessions are told apart by keys that the
transports attest or that are secrets; a session that ended is said to be gone once, and the next call opens another.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from .._program import find_program
from ..aio import AsyncJail, AsyncService, AsyncSession
from ..errors import ServiceDied, SessionEnded
from .commands import Commands
from .options import Options, Refused

SESSIONS_MAX = 32
CLIENT_SESSIONS_MAX = 8  # by HTTP, of one client
IDLE_S = 30 * 60.0  # by HTTP: how long a session without calls is kept, as long as the SDK keeps a client's
GONE = "Its variables, imports and files are gone: run again what defines them. The next call starts a new session."


class Slot:
    """A client's place for a session. Calls of one client to one session wait for each other here."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session
        self.lock = asyncio.Lock()
        self.users = 0
        self.used_at = time.monotonic()


class Jails:
    """What the tools run in. The service starts with the first call."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.commands = Commands(options)
        self._service: AsyncService | None = None
        self._slots: dict[str, Slot] = {}
        self._why_gone: dict[str, str] = {}

    @property
    def service(self) -> AsyncService:
        if self._service is None:
            o = self.options
            policies: list[Any] = [] if o.policy is None else [o.policy]
            if o.python_workspace == "read-only":
                policies = policies or [default_policy()]
                base = os.path.realpath(policies[0]) if isinstance(policies[0], Path) else policies[0]
                policies.append({"extends": base, "filesystem": {"workspace": "read-only"}})
            self._service = AsyncService(
                policies=policies, timeout=o.timeout, memory=o.memory, allow_imports=o.imports or None, parked=1, sessions_max=SESSIONS_MAX,
                env=o.env,
            )
        return self._service

    async def place(self, workspace: str | None) -> dict[str, Any]:
        """Where Python code runs, as the arguments of AsyncJail and AsyncSession."""
        shown = workspace if self.options.python_workspace else None
        name = (await self.service.policies())[1] if shown and self.options.python_workspace == "read-only" else None
        return {"service": self.service, "policy": name, "workspace": shown}

    async def fresh(self, workspace: str | None) -> AsyncJail:
        return AsyncJail(**await self.place(workspace))

    def new_key(self) -> str:
        """A session's name for a client that its transport does not tell from others. Every client that knows the name has the session."""
        return secrets.token_urlsafe(16)

    def known(self, key: str) -> bool:
        return key in self._slots or key in self._why_gone

    @asynccontextmanager
    async def session(self, key: str, workspace: str | None) -> AsyncIterator[AsyncSession]:
        """The session of this key, opened where there is none, for one call. Refused: it ended since the last call, and why.

        workspace: that of a session that is opened; one that is there keeps its own.
        """
        why = self._why_gone.pop(key, None)
        if why is not None:
            raise Refused(f"The session has ended: {why}. {GONE}")
        place = {}
        if key not in self._slots:
            await self._make_room(_client_of(key))
            place = await self.place(workspace)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = Slot(AsyncSession(**place))
        slot.users += 1
        try:
            async with slot.lock:
                if self._slots.get(key) is not slot:
                    raise Refused(f"The session was reset while this call waited. {GONE}")
                yield slot.session
        except (SessionEnded, ServiceDied) as e:
            if self._slots.get(key) is slot:
                await self.end(key)
            raise Refused(f"The session has ended: {e}. {GONE}") from None
        finally:
            slot.users -= 1
            slot.used_at = time.monotonic()
            if slot.session._state == "new" and self._slots.get(key) is slot and not slot.users:
                del self._slots[key]  # it could not be opened

    async def end(self, key: str, why: str | None = None) -> bool:
        """End a session; True: there was one. why: what its client is told with its next call."""
        slot = self._slots.pop(key, None)
        if slot is None:
            self._why_gone.pop(key, None)
            return False
        if why is not None:
            self._why_gone[key] = why
            while len(self._why_gone) > 1000:
                self._why_gone.pop(next(iter(self._why_gone)))
        await slot.session.close()
        return True

    async def end_of_client(self, client: str) -> None:
        """End all sessions of a client that has left."""
        for key in [k for k in self._slots if _client_of(k) == client]:
            await self.end(key)

    async def sweep(self) -> None:
        """End sessions that were idle for long; runs until it is cancelled."""
        while True:
            await asyncio.sleep(min(60.0, IDLE_S / 4))
            now = time.monotonic()
            for key, slot in list(self._slots.items()):
                if not slot.users and now - slot.used_at > IDLE_S:
                    await self.end(key, f"it was idle for {IDLE_S / 60:.0f} minutes")

    async def _make_room(self, client: str) -> None:
        """Make room for a session of the client: end an idle session of its own if it has its share, else one of a client that has the most."""
        counts = Counter(map(_client_of, self._slots))
        share = CLIENT_SESSIONS_MAX if self.options.http and client else SESSIONS_MAX
        if len(self._slots) < SESSIONS_MAX and counts[client] < share:
            return
        idle = [(slot.used_at, key) for key, slot in self._slots.items() if not slot.users]
        if counts[client] >= share:
            idle = [(used_at, key) for used_at, key in idle if _client_of(key) == client]
        if not idle:
            whose, count = ("this client", counts[client]) if counts[client] >= share else ("this server", len(self._slots))
            raise Refused(f"All {count} sessions of {whose} are busy. Try again when one has finished, or use run_python.")
        most = max(counts[_client_of(key)] for _, key in idle)
        await self.end(min(i for i in idle if counts[_client_of(i[1])] == most)[1], "other sessions needed the room")

    async def close(self) -> None:
        """End everything. May be called again."""
        self.commands.end_now()
        for key in list(self._slots):
            await self.end(key)
        if self._service is not None:
            await self._service.close()

    def close_now(self) -> None:
        """The same from a signal's handler: without the loop."""
        self.commands.end_now()
        for slot in self._slots.values():
            slot.session._state = "closed"
        if self._service is not None:
            self._service.close_now()


def _client_of(key: str) -> str:
    """The client in a session's key; "" if the transport does not identify clients."""
    return key.partition("/")[0]


def default_policy() -> str:
    """The name of the policy of Python code where the server was given none: this machine may have chosen another than `snippet`."""
    said = subprocess.run([find_program(), "policy", "explain", "--json"], capture_output=True, check=False).stdout
    try:
        return str(json.loads(said)["policy"])
    except (ValueError, KeyError):
        return "snippet"  # with which the service says what is wrong
