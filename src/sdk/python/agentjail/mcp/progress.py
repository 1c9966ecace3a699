"""Output as progress messages, while a call runs, and a sign of life where there is none. Clients that asked for no progress get
nothing, and nobody gets more than a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from mcp.server.mcpserver import Context

BEAT_S = 5.0  # clients end calls that are silent for long; many of them count from the last progress
MESSAGE_CHARACTERS = 4000
MESSAGES_MAX = 500  # then the sign of life alone


class Progress:
    """Around a call. `output` is for on_stdout and on_stderr, and None where the client asked for nothing."""

    def __init__(self, ctx: Context[Any, Any]) -> None:
        self._ctx = ctx
        self._wanted = (ctx.request_context.meta or {}).get("progress_token") is not None
        self._sent = 0
        self._beat: asyncio.Task[None] | None = None
        self.output = self._output if self._wanted else None

    async def _output(self, text: str) -> None:
        if self._sent < MESSAGES_MAX:
            await self._send(text[-MESSAGE_CHARACTERS:])

    async def _send(self, text: str) -> None:
        self._sent += 1
        await self._ctx.report_progress(self._sent, None, text)

    async def _beats(self) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(BEAT_S)
            await self._send(f"running, {time.monotonic() - began:.0f} s")

    async def __aenter__(self) -> Progress:
        if self._wanted:
            self._beat = asyncio.create_task(self._beats())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._beat is not None:
            self._beat.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._beat
