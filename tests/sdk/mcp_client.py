"""What the tests of agentjail.mcp share: the official client where it is installed, and the processes below this one."""

import asyncio
import logging
import os
import sys
import unittest
import warnings

import procfs
import until as waiting

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mcp.server.mcpserver  # noqa: F401
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters
        from mcp_types import ListRootsResult, Root
except ImportError:
    Client = ListRootsResult = Root = None

WHOLE = bool(os.environ.get("WHOLE"))  # make check-whole: no samples
WORDS = [sys.executable, "-m", "agentjail.mcp"]
needs_sdk = unittest.skipIf(Client is None, "the package mcp is not installed")


def quiet():
    logging.disable(logging.WARNING)  # the SDK shows asyncio's remarks about slow steps, which its debug mode asks for


def loud():
    logging.disable(logging.NOTSET)


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def stdio(*options):
    env = {k: v for k, v in os.environ.items() if k not in ("AGENTJAIL_MCP_TOKEN",)}
    return StdioServerParameters(command=WORDS[0], args=[*WORDS[1:], *options], env=env)


def below(pid):
    return set(procfs.below(pid))


async def until(what):
    if not await asyncio.to_thread(waiting.until, what):
        raise AssertionError("it did not come about in time")


def alive(pids):
    """Those of the processes that have not ended."""
    return set(filter(procfs.alive, pids))


def command(pid):
    try:
        return procfs.read(f"/proc/{pid}/cmdline", "rb").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
