"""Programs of this host behind `agentjail run`, in the workspace or without one. A call that is given up ends its jail; nothing
here opens a file of the workspace: those are touched from inside a jail alone, where links lead nowhere else.
"""

from __future__ import annotations

import asyncio
import codecs
import ctypes
import json
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from .._program import find_program
from .._requests import result_of
from ..errors import SetupError
from ..result import Result
from .options import Options

NO_WORKSPACE_TIMEOUT = "10m"  # the policy `command` has no end, and a client that forgot a call would not cancel it
GRACE_S = 2.0  # between a request to end and the order; the jail's own patience is longer
PR_SET_PDEATHSIG = 1

OnOutput = Callable[[str], Awaitable[None]]

_libc = ctypes.CDLL(None)


class Commands:
    """Runs commands under one policy. `running`: those under way, to be ended with the server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.running: set[asyncio.subprocess.Process] = set()

    async def run(
        self, command: Sequence[str], workspace: str | None, *, stdin: bytes = b"", timeout: float | None = None, on_output: OnOutput | None = None
    ) -> Result:
        """Run a program to its end. on_output gets both streams as they come. SetupError: there was no jail to run in, or its policy refuses."""
        ours, theirs = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words(workspace, timeout), "--json-fd", str(theirs), "--", *command, pass_fds=(theirs,),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                start_new_session=True, preexec_fn=_end_with_parent,
            )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self.running.add(process)
        said: list[str] = []

        async def errors(text: str) -> None:
            said[:] = ["".join([*said, text])[-2000:]]
            if on_output is not None:
                await on_output(text)

        assert process.stdin
        assert process.stdout
        assert process.stderr
        try:
            out, *_ = await asyncio.gather(
                _all_of(ours), _pump(process.stdout, on_output), _pump(process.stderr, errors), _feed(process.stdin, stdin), process.wait()
            )
        except BaseException:
            with anyio.CancelScope(shield=True):  # a scope that is cancelled interrupts each wait in it
                await _end(process)
            raise
        finally:
            self.running.discard(process)
        try:
            raw: dict[str, Any] = json.loads(out)
        except ValueError:
            raise SetupError(f"agentjail run ended with status {process.returncode}: {''.join(said).strip()}") from None
        return result_of(raw)

    def _words(self, workspace: str | None, timeout: float | None) -> list[str]:
        options = self._options
        words = [find_program(), "run"]
        policy = options.command_policy or ("offline-build" if workspace else "command")
        words += ["--policy-file", os.path.realpath(policy)] if isinstance(policy, Path) else ["--policy", policy]
        limit = f"{max(1, round(timeout * 1000))}ms" if timeout is not None else options.timeout
        if limit is None and not workspace:
            limit = NO_WORKSPACE_TIMEOUT
        if limit is not None:
            words += ["--timeout", limit]
        if options.memory is not None:
            words += ["--memory", options.memory]
        if workspace:
            words += ["--workspace", workspace]
        return words

    def end_now(self) -> None:
        """End all, without waiting. The second signal is the order."""
        for process in self.running:
            for _ in range(2):
                try:
                    process.send_signal(signal.SIGTERM)
                except ProcessLookupError:
                    break


async def _all_of(fd: int) -> bytes:
    """What is written to a pipe, to its end."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb"))
    try:
        return await reader.read()
    finally:
        transport.close()


async def _pump(stream: asyncio.StreamReader, hand: OnOutput | None) -> None:
    """Read a stream to its end, and hand on whole characters."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while chunk := await stream.read(65536):
        text = decoder.decode(chunk)
        if hand is not None and text:
            await hand(text)


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    try:
        stream.write(data)
        await stream.drain()
        stream.close()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a command need not read its input


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask a run to end, then order it, then kill its supervisor, with which its jail ends."""
    for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        try:
            process.send_signal(number)
            await asyncio.wait_for(process.wait(), GRACE_S)
        except ProcessLookupError:
            return
        except asyncio.TimeoutError:
            pass


def _end_with_parent() -> None:
    """In the new process: the kernel ends it with this server, also where that is killed."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
