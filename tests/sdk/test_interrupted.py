"""A connection of asyncio's whose reading is interrupted at each instant by an exception, as the handler of a signal raises it: no request
waits in vain, and no tool is run twice. The service is a socket pair here, so that hundreds of instants take a second."""

import asyncio
import dis
import json
import os
import socket
import sys
import unittest
import warnings
from unittest import mock

from agentjail import errors
from agentjail._async_link import AsyncLink
from agentjail._core import Request
from agentjail._wire import frame
from agentjail.tools import Tool

LONG_S = 60
LOOKS = "CALL", "RESUME", "JUMP_ABSOLUTE", "JUMP_BACKWARD"  # behind these instructions the interpreter looks at its signals
CLIENT = os.path.dirname(os.path.abspath(errors.__file__))


class Interrupt(Exception):
    pass


class Instants:
    """Raises Interrupt once while the client reads: when the interpreter looks at its signals for that time."""

    def __init__(self, number):
        self.left, self.raised = number, False
        self.before = {}  # by frame: its last instruction

    def read(self, link):
        sys.settrace(self.enter)
        try:
            link()
        finally:
            sys.settrace(None)

    def enter(self, where, event, argument):
        if self.raised or not where.f_code.co_filename.startswith(CLIENT):
            return None
        where.f_trace_opcodes = True
        return self.step

    def step(self, where, event, argument):
        if event == "opcode" and not self.raised:
            before, self.before[where] = self.before.get(where, ""), dis.opname[where.f_code.co_code[where.f_lasti]]
            self.left -= before.startswith(LOOKS)
            if self.left <= 0:
                self.raised = True
                raise Interrupt
        return self.step


async def service(sock):
    """Greets, calls the tool of a run once, and gives the tool's answer as the run's."""
    loop, data = asyncio.get_running_loop(), b""
    await loop.sock_sendall(sock, frame({"hello": {"protocol": 1, "limits": {"request_bytes": 1 << 20}}}))
    while more := await loop.sock_recv(sock, 1 << 16):
        data += more
        while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
            message, data = json.loads(data[4 : 4 + size]), data[4 + size :]
            if message["op"] == "run":
                await loop.sock_sendall(sock, frame({"event": "tool_call", "id": message["id"], "call": 1, "tool": "t", "args": {"x": 20}}))
            elif message["op"] == "tool_result":
                await loop.sock_sendall(sock, frame({"id": message["request"], "result": message.get("value", message.get("error"))}))


async def one(number, tool, ran):
    """Whether the exception was raised at that instant, and how the request ended."""
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    serving = asyncio.create_task(service(theirs))
    instants, read = Instants(number), AsyncLink._read
    with mock.patch.object(AsyncLink, "_read", lambda link: instants.read(lambda: read(link))):
        try:
            link = await AsyncLink.over(ours, errors.ServiceDied)
            try:
                ended = await asyncio.wait_for(link.ask(Request("run", {}, tools={"t": Tool(tool, name="t")})), LONG_S)
            finally:
                link.close(errors.ServiceClosed("the end"))
        except (errors.AgentjailError, asyncio.TimeoutError) as e:
            ended = e
    serving.cancel()
    await asyncio.wait([serving])
    theirs.close()
    return instants.raised, ended


class TestInterrupted(unittest.TestCase):
    def at_each_instant(self, tool, ran):
        warnings.simplefilter("ignore", RuntimeWarning)  # of the coroutine of a tool that was not started, the first time
        number, ends = 0, []
        while True:
            number += 1
            del ran[:]
            raised, ended = asyncio.run(one(number, tool, ran))
            self.assertNotIsInstance(ended, asyncio.TimeoutError, f"at instant {number} the request was lost")
            self.assertLessEqual(len(ran), 1, f"at instant {number} the tool was run twice")
            ends.append(type(ended))
            if not raised:
                break
        self.assertEqual((ended, ran), ({"x": 21}, [20]), "control: without an interrupt")
        self.assertGreater(ends.count(dict), 5, "the request had its answer though the start of its tool was interrupted")

    def test_a_coroutine_function(self):
        ran = []

        async def tool(x):
            ran.append(x)
            return {"x": x + 1}

        self.at_each_instant(tool, ran)

    def test_a_function(self):
        ran = []

        def tool(x):
            ran.append(x)
            return {"x": x + 1}

        self.at_each_instant(tool, ran)
