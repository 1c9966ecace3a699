"""`python -m agentjail.mcp`: the program `agentjail-mcp`, for an interpreter whose scripts are not on PATH. It adds nothing."""

import sys

from . import main

sys.exit(main())
