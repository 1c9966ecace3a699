"""agentjail as an MCP server: `agentjail-mcp`, which `agentjail mcp` starts. The official SDK speaks the protocol (transports,
schemas, versions); the modules here say which tools there are and run each call in a jail. See docs/guides/mcp.md.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

INSTALL = "pip install 'libagentjail[mcp]'"
SETUP_STATUS = 125  # as the program's own, where no jail can be made


def main(arguments: Sequence[str] | None = None) -> int:
    """The program `agentjail-mcp`. It serves until its client leaves."""
    from .options import parse

    options = parse(arguments)
    try:
        import mcp.server.mcpserver  # noqa: F401
    except ImportError as e:
        print(f"agentjail-mcp: the MCP SDK is not installed: {e}\n  fix: {INSTALL}", file=sys.stderr)
        return SETUP_STATUS
    from .transports import serve

    return serve(options)
