"""How clients reach the server: standard input and output, or HTTP on a loopback address. By HTTP a web page is refused by its Host
and Origin, and where there is a token everybody without it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import signal
import socket
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .jails import IDLE_S, SESSIONS_MAX, Jails
from .options import Options
from .server import make_server

GRACE_S = 2  # for requests under way, when the server is told to end


def serve(options: Options) -> int:
    """Serve until the client leaves or a signal comes; the exit status."""
    jails = Jails(options)
    server = make_server(jails)
    try:
        asyncio.run(_stdio(server, jails) if options.http is None else _http(server, jails, options.http, options.token))
    except OSError as e:
        print(f"agentjail-mcp: {e}", file=sys.stderr)
        return 1
    return 0


async def _stdio(server: MCPServer[Jails], jails: Jails) -> None:
    def leave(number: int) -> None:
        jails.close_now()
        os._exit(128 + number)  # a thread of the SDK waits for the next line, and would wait on

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, leave, number)
    await server.run_stdio_async()


async def _http(server: MCPServer[Jails], jails: Jails, address: tuple[str, int], token: str | None) -> None:
    import uvicorn

    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.create_server(address, family=family) as listener:
        host, port = listener.getsockname()[:2]
        names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        app = server.streamable_http_app(
            # No origin is allowed: what sends one is a web page.
            transport_security=TransportSecuritySettings(allowed_hosts=names, allowed_origins=[]),
            session_idle_timeout=IDLE_S, max_sessions=4 * SESSIONS_MAX, host=host,
        )  # fmt: skip
        config = uvicorn.Config(
            HttpMiddleware(app, jails, token), log_level=logging.WARNING, access_log=False, timeout_graceful_shutdown=GRACE_S,
            ws="none", lifespan="on",
        )
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        print(f"agentjail-mcp: serving http://{shown}:{port}/mcp{' with a token' if token else ''}", file=sys.stderr, flush=True)
        await uvicorn.Server(config).serve(sockets=[listener])


class HttpMiddleware:
    """Around the SDK's application: asks for the token, and ends the jails of a client that closes its session."""

    def __init__(self, app: ASGIApp, jails: Jails, token: str | None) -> None:
        self._app, self._jails = app, jails
        self._expected = f"Bearer {token}".encode() if token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if self._expected is not None and not hmac.compare_digest(headers.get(b"authorization", b""), self._expected):
            await PlainTextResponse("the bearer token is missing or wrong", 401, {"www-authenticate": "Bearer"})(scope, receive, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, watched)
        client = headers.get(b"mcp-session-id", b"").decode("latin-1")
        if scope["method"] == "DELETE" and status == 200 and client:
            await self._jails.end_of_client(client)
