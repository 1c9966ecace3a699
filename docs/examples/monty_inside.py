"""monty in a jail: an interpreter of its own for quick code, and the walls of the kernel around it in case that it has a fault.

    pip install libagentjail pydantic-monty && python monty_inside.py
"""
import os
import shutil
import sys
import tempfile

from pydantic_monty import Monty


def jailed(program: str, folder: str) -> str:
    """A script in `folder` that starts `program` in a jail; the program's own folder is all that it sees beside /usr."""
    path = os.path.join(folder, "monty")
    agentjail = os.environ.get("AGENTJAIL", "agentjail")
    program = os.path.realpath(program)
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec "{agentjail}" run --memory 512M --bind "{os.path.dirname(program)}" -- "{program}" "$@"\n')
    os.chmod(path, 0o755)
    return path


program = os.path.join(sys.prefix, "bin", "monty")
folder = tempfile.mkdtemp()
try:
    with Monty(binary_path=jailed(program, folder)) as pool, pool.checkout() as session:
        session.feed_run("x = 40")
        print(session.feed_run("x + two()", external_lookup={"two": lambda: 2}))
finally:
    shutil.rmtree(folder)
