"""The options of `agentjail-mcp`. This file parses them and refuses addresses that other machines reach; whether a policy
loads is found out, and said, where a tool needs it.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import AgentjailError

TOKEN_VARIABLE = "AGENTJAIL_MCP_TOKEN"
TOKEN_CHARACTERS = 16

DESCRIPTION = "An MCP server whose tools run Python, commands and file access in jails. It speaks on standard input and output, or by HTTP."
EPILOG = f"""${TOKEN_VARIABLE}: with --http, the bearer token that each request must have. Every user of this machine reaches a
loopback port, so --http with --workspace is refused without it. See docs/guides/mcp.md."""


@dataclass(frozen=True)
class Options:
    """What the server was started with. workspace: a folder of this host, or None. python_workspace: how Python code sees it: `read-only`,
    `policy` (as its policy says) or None. http: address and port, or None for stdio."""

    policy: str | Path | None = None
    command_policy: str | Path | None = None
    timeout: str | None = None
    memory: str | None = None
    imports: tuple[str, ...] = ()
    env: str | None = None
    workspace: str | None = None
    python_workspace: str | None = None
    http: tuple[str, int] | None = None
    token: str | None = None


def parse(arguments: Sequence[str] | None = None) -> Options:
    """The options. SystemExit: the words are wrong, or help was asked for."""
    parser = argparse.ArgumentParser(prog="agentjail mcp", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    python = parser.add_mutually_exclusive_group()
    python.add_argument("--policy", metavar="NAME", help="the policy of Python code, see `agentjail policy list` (default snippet)")
    python.add_argument("--policy-file", metavar="FILE", type=Path, help="the same by its path; see agentjail.toml(5)")
    add = parser.add_argument
    add("--command-policy", metavar="NAME|FILE", help="the policy of commands and workspace files (offline-build; without a workspace: command)")
    add("--timeout", metavar="TIME", help="wall clock limit of a call: 500ms, 10s, 2m (default: the policy's)")
    add("--memory", metavar="SIZE", help="memory limit of a jail: 256M, 2G (default: the policy's)")
    add("--allow-import", metavar="MODULE", action="append", default=[], help="a module that Python code may import, too (repeatable)")
    add("--env", metavar="NAME", help="the environment of packages of Python code, see `agentjail env`")
    add("--workspace", metavar="DIR", help="the folder that commands see at /workspace (on stdio default: the client's first root)")
    add("--python-workspace", choices=("read-only", "policy"), help="Python code sees that folder, too: to read, or as its policy says")
    add("--http", metavar="HOST:PORT", help="serve streamable HTTP at http://HOST:PORT/mcp; HOST is a loopback address, PORT 0 any")
    given = parser.parse_args(arguments)
    token = os.environ.get(TOKEN_VARIABLE) or None
    http = None
    if given.http is not None:
        try:
            http = loopback(given.http)
        except ValueError as e:
            parser.error(f"--http {given.http}: {e}")
        if given.workspace and not token:
            parser.error(f"--http with --workspace: every user of this machine could write there; set {TOKEN_VARIABLE} to a secret")
        if token and len(token) < TOKEN_CHARACTERS:
            parser.error(f"{TOKEN_VARIABLE} is short: use {TOKEN_CHARACTERS} or more characters")
    if given.workspace is not None:
        if not os.path.isdir(given.workspace):
            parser.error(f"--workspace {given.workspace}: there is no such folder")
        given.workspace = os.path.realpath(given.workspace)
    return Options(
        policy=given.policy_file or given.policy,
        command_policy=_name_or_file(given.command_policy),
        timeout=given.timeout,
        memory=given.memory,
        imports=tuple(given.allow_import),
        env=given.env,
        workspace=given.workspace,
        python_workspace=given.python_workspace,
        http=http,
        token=token,
    )


def _name_or_file(text: str | None) -> str | Path | None:
    return Path(text) if text and ("/" in text or text.endswith(".toml")) else text


def loopback(text: str) -> tuple[str, int]:
    """An address and a port. ValueError: it is none, or one that other machines reach."""
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ValueError("write it as 127.0.0.1:8000")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        reaches_outside = not ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ValueError("the host is a loopback address: 127.0.0.1 or ::1") from None
    if reaches_outside:
        raise ValueError("other machines reach this address; use 127.0.0.1, and a proxy that asks for credentials in front of it")
    return host, int(port)


class Refused(AgentjailError):
    """A call that asks for what cannot be. The text has the fix."""
