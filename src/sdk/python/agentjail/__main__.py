"""`python -m agentjail doctor` and `version`: the parts of this installation, and whether jails work here.
The commands change nothing.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from . import __version__
from ._program import find_program, find_tree
from .errors import AgentjailError
from .jail import Jail
from .service import Service

SETUP_STATUS = 125  # as the program's own, where no jail can be made


def version() -> str:
    """The versions of this package and of the program."""
    program = find_program()
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    return f"libagentjail {__version__}\n{said or program}"


def doctor() -> int:
    """Print the parts that were found, the report of the program's own doctor, and one run. 0: jails work here in full; 1: in part."""
    try:
        program = find_program()
        tree = find_tree()
        print(f"ok    python package     libagentjail {__version__}, Python {sys.version.split()[0]}")
        print(f"ok    program            {program}")
        print(f"ok    python tree        {tree or 'the one that the program finds'}", flush=True)
        environment = {**os.environ, "AGENTJAIL_ROOTFS": tree} if tree else None
        status = subprocess.run([program, "doctor"], env=environment, check=False).returncode
        began = time.monotonic()
        with Service(parked=0) as service:
            result = Jail(service=service).run("sum(range(10))").raise_for_status()
            took_ms = (time.monotonic() - began) * 1000
            print(f"ok    one run            a private service of version {service.version}, value {result.value}, {took_ms:.0f} ms with its start")
    except AgentjailError as e:
        print(f"FAIL  one run            {str(e).replace(chr(10), chr(10) + ' ' * 25)}")
        return SETUP_STATUS
    return status


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m agentjail", description="The Python client of agentjail, see docs/start/client.md.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("doctor", help="the installation, the walls of this host, and one run; status 0: in full, 1: in part, 125: no jail")
    commands.add_parser("version", help="the versions of this package and of the program")
    chosen = parser.parse_args(arguments)
    if chosen.command == "doctor":
        return doctor()
    try:
        print(version())
    except AgentjailError as e:
        print(f"libagentjail {__version__}\n{e}", file=sys.stderr)
        return SETUP_STATUS
    return 0


if __name__ == "__main__":
    sys.exit(main())
