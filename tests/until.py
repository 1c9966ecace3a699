"""Waiting for a state: the one loop of the tests' Python programs. Shell scripts have `await` of lib.sh."""

import os
import time

PATIENCE_S = float(os.environ.get("PATIENCE", 60))  # no check waits for less, since the machine may be busy


def until(condition, seconds=PATIENCE_S):
    """Whether that comes to be. It looks less and less often: a look at all processes takes a processor longer than what it waits for."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < seconds:
        if condition():
            return True
        time.sleep(min(0.1, max(0.005, took / 4)))
    return bool(condition())
