"""What the Python client costs: processor time of the client's own process for a call, beside the bare protocol's. It asserts nothing.

Usage: python3 tests/bench/sdk.py [ROUNDS]     $AGENTJAIL is the program. The ways take turns, so that other work on the machine disturbs
them alike; `above` is the median of the differences to the bare client of docs/examples/client.py in the same turn.
"""

import asyncio
import contextlib
import itertools
import json
import os
import platform
import socket
import statistics
import struct
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
BARE, STREAMS, SESSION, ASYNC = "the bare protocol", "the same by asyncio's streams", "Session.run", "AsyncSession.run"
BRIEF, WHOLE = "brief results: ", ", all members"  # where a row's name begins with the one, or ends with the other
AIM_US = 40


class Streams:
    """The least client for asyncio: its streams and json, and no care for tools, output, errors or cancellation."""

    def __init__(self, sock):
        self.socket, self.ids = sock, itertools.count(1)

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(sock=self.socket)
        await self.receive()

    async def receive(self):
        (length,) = struct.unpack(">I", await self.reader.readexactly(4))
        return json.loads(await self.reader.readexactly(length))

    async def ask(self, op, **members):
        body = json.dumps({"op": op, "id": next(self.ids), **members}).encode()
        self.writer.write(struct.pack(">I", len(body)) + body)
        return (await self.receive())["result"]


@contextlib.contextmanager
def service():
    """A socket to a service of its own."""
    ours, theirs = socket.socketpair()
    command = [os.environ["AGENTJAIL"], "serve", "--connection", str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stderr=subprocess.DEVNULL)
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.wait()


def bare(sock):
    """The example client over this socket."""
    one = client.Client.__new__(client.Client)
    one.socket, one.ids = sock, itertools.count(1)
    one.hello = one.receive()["hello"]
    return one


def per_call(cpu, wall):
    return (time.process_time() - cpu) / CALLS * 1e6, (time.perf_counter() - wall) / CALLS * 1e6


def measure(call):
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(CALLS):
        call()
    return per_call(cpu, wall)


async def measure_async(call):
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(CALLS):
        await call()
    return per_call(cpu, wall)


def take(ways, rounds):
    """way -> (processor time, all time) of a call in each turn, in microseconds."""
    taken = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, run in ways.items():
            figures = run()
            if turn:  # the first warms up
                taken[way].append(figures)
    return taken


def show(taken):
    line = "  %-40s%10s%10s%10s%10s"
    print((line % ("a session's `1+1`, read as a value", "median", "least", "above", "clock"))[2:] + "   (us of the client's processor time; clock: in all)")
    aims = []
    for way, figures in taken.items():
        base = taken[BRIEF + BARE if way.startswith(BRIEF) else BARE]
        above = statistics.median(own[0] - other[0] for own, other in zip(figures, base))
        cpu, wall = (statistics.median(column) for column in zip(*figures))
        print(line % (way, *("%.1f" % n for n in (cpu, min(f[0] for f in figures), above, wall))))
        if way in (SESSION, ASYNC):
            aims.append((way, max(above, 0.0)))
    print("\naims (medians)")
    for way, above in aims:
        print("  %-50s%8.1f, at most %d: %s" % ("%s above the bare protocol, us" % way, above, AIM_US, "met" if round(above, 1) <= AIM_US else "not met"))
    print("\n%s, %d CPUs, Python %s, as %s, load %.2f at the start" % (
        " ".join(os.uname()[i] for i in (0, 2)), os.cpu_count(), platform.python_version(), "root" if os.geteuid() == 0 else "an ordinary user", LOAD))


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    loop = asyncio.new_event_loop()
    with service() as plain, service() as streamed:
        one, other = bare(plain), Streams(streamed)
        loop.run_until_complete(other.open())
        name, theirs = one.ask("open")["session"], loop.run_until_complete(other.ask("open"))["session"]
        session = agentjail.Session()
        waiting = loop.run_until_complete(agentjail.AsyncSession().open())

        async def by_streams():
            (await other.ask("run", session=theirs, code=CODE))["value"]

        async def awaited():
            (await waiting.run(CODE)).value

        async def read_whole():
            (await waiting.run(CODE)).raw["value"]

        async def briefly():
            (await waiting.run(CODE, brief=True)).value

        show(take({
            BARE: lambda: measure(lambda: one.ask("run", session=name, code=CODE)["value"]),
            SESSION: lambda: measure(lambda: session.run(CODE).value),
            STREAMS: lambda: loop.run_until_complete(measure_async(by_streams)),
            ASYNC: lambda: loop.run_until_complete(measure_async(awaited)),
            SESSION + WHOLE: lambda: measure(lambda: session.run(CODE).raw["value"]),
            ASYNC + WHOLE: lambda: loop.run_until_complete(measure_async(read_whole)),
            BRIEF + BARE: lambda: measure(lambda: one.ask("run", session=name, code=CODE, brief=True)["value"]),
            BRIEF + SESSION: lambda: measure(lambda: session.run(CODE, brief=True).value),
            BRIEF + ASYNC: lambda: loop.run_until_complete(measure_async(briefly)),
        }, rounds))
        session.close()
        loop.run_until_complete(waiting.close())
        loop.run_until_complete(loop.shutdown_asyncgens())
        other.writer.close()
        loop.run_until_complete(other.writer.wait_closed())
    loop.close()


LOAD = os.getloadavg()[0]

if __name__ == "__main__":
    main()
