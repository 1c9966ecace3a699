"""What the Python client costs: processor time of the client's own process for a call, beside the bare protocol's.

Usage: python3 tests/bench/sdk.py [ROUNDS]     $AGENTJAIL is the program. The ways take turns, so that other work on the machine disturbs
them alike; the median of the turns is printed, and the difference to the bare client of docs/examples/client.py.
"""

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "docs", "examples"), os.path.join(TOP, "src", "sdk", "python")]

os.environ.setdefault("AGENTJAIL", os.path.join(TOP, "build", "agentjail"))

import agentjail  # noqa: E402
import client  # noqa: E402

CALLS = 200
CODE = "1+1"


def bare():
    """The example client over a socket pair of its own."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([os.environ["AGENTJAIL"], "serve", "--connection", str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL)
    theirs.close()
    one = client.Client.__new__(client.Client)
    one.socket, one.ids = ours, client.itertools.count(1)
    one.hello = one.receive()["hello"]
    return one, process


def measure(call):
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.process_time() - cpu) / CALLS * 1e6, (time.perf_counter() - wall) / CALLS * 1e6


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    one, process = bare()
    name = one.ask("open")["session"]
    session = agentjail.Session()
    loop = asyncio.new_event_loop()
    other = loop.run_until_complete(agentjail.AsyncSession().open())

    async def awaited():
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(CALLS):
            (await other.run(CODE)).value
        return (time.process_time() - cpu) / CALLS * 1e6, (time.perf_counter() - wall) / CALLS * 1e6

    ways = {
        "the bare protocol": lambda: measure(lambda: one.ask("run", session=name, code=CODE)["value"]),
        "Session.run": lambda: measure(lambda: session.run(CODE).value),
        "AsyncSession.run": lambda: loop.run_until_complete(awaited()),
    }
    taken = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, run in ways.items():
            figures = run()
            if turn:  # the first warms up
                taken[way].append(figures)
    base = None
    for way, figures in taken.items():
        cpu, wall = (statistics.median(column) for column in zip(*figures))
        low = min(f[0] for f in figures)
        base = (cpu, low) if base is None else base
        print("%-20s %6.1f us of a processor (%+.1f), at best %.1f (%+.1f); %.0f us in all" % (way, cpu, cpu - base[0], low, low - base[1], wall))
    session.close()
    loop.run_until_complete(other.close())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    one.socket.close()
    process.wait()


if __name__ == "__main__":
    main()
