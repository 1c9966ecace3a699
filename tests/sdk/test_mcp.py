"""How clients reach agentjail.mcp: its options, `agentjail mcp`, stdio and HTTP with the official client in both eras of the protocol,
cancellation, clients apart from each other, who is refused, and that nothing is left when a server ends or is killed."""

import asyncio
import contextlib
import io
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import urllib.error
import urllib.request

import mcp_client
from agentjail.mcp.options import Options, loopback, parse
from mcp_client import WHOLE, WORDS, Client, ListRootsResult, Root, alive, below, command, needs_sdk, stdio, text_of, until

if Client:
    from agentjail.mcp.transports import HttpMiddleware, serve

setUpModule, tearDownModule = mcp_client.quiet, mcp_client.loud


class TestOptions(unittest.TestCase):
    def refused(self, *words, **env):
        with contextlib.ExitStack() as stack:
            err = stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            stack.enter_context(unittest.mock.patch.dict(os.environ, env))
            with self.assertRaises(SystemExit):
                parse(words)
            return err.getvalue()

    def test_an_address_is_this_machines(self):
        self.assertEqual([loopback(a) for a in ("127.0.0.1:0", "[::1]:80", "localhost:8000")], [("127.0.0.1", 0), ("::1", 80), ("127.0.0.1", 8000)])
        for address in ("0.0.0.0:80", "192.168.0.1:80", "[::]:80", "example.org:80", "127.0.0.1", "127.0.0.1:x", ":80", "127.0.0.1:70000"):
            with self.subTest(address), self.assertRaises(ValueError):
                loopback(address)
        self.assertIn("other machines reach", self.refused("--http", "0.0.0.0:80"))

    def test_http_with_a_workspace_needs_a_token(self):
        words = ["--http", "127.0.0.1:0", "--workspace", "/tmp"]
        self.assertIn("AGENTJAIL_MCP_TOKEN", self.refused(*words))
        self.assertIn("short", self.refused(*words, AGENTJAIL_MCP_TOKEN="x"))
        with unittest.mock.patch.dict(os.environ, AGENTJAIL_MCP_TOKEN="x" * 16):
            self.assertEqual(parse(words).workspace, os.path.realpath("/tmp"))

    def test_words(self):
        self.assertIn("no such folder", self.refused("--workspace", "/nowhere"))
        self.assertIn("not allowed with", self.refused("--policy", "a", "--policy-file", "b"))
        given = parse(["--policy-file", "a.toml", "--command-policy", "./b", "--allow-import", "x", "--allow-import", "y"])
        self.assertEqual((given.policy, given.command_policy, given.imports), (pathlib.Path("a.toml"), pathlib.Path("./b"), ("x", "y")))
        self.assertEqual(parse(["--command-policy", "b"]).command_policy, "b")

    def test_without_the_sdk_the_error_names_the_extra(self):
        code = "import sys; sys.modules['mcp'] = None; from agentjail.mcp import main; sys.exit(main([]))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 125)
        self.assertIn("pip install 'libagentjail[mcp]'", done.stderr)


class TestCommand(unittest.TestCase):
    """`agentjail mcp` of the program."""

    def run_it(self, path, *words):
        env = {**os.environ, "PATH": path}
        return subprocess.run([os.environ["AGENTJAIL"], "mcp", *words], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)

    def test_it_starts_the_packages_program(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(folder, "agentjail-mcp")
            script.write_text('#!/bin/sh\necho "$AGENTJAIL" "$@"\nexit 7\n')
            script.chmod(0o755)
            done = self.run_it(f"{folder}:/usr/bin:/bin", "--http", "a b")
        self.assertEqual((done.returncode, done.stdout), (7, f"{os.environ['AGENTJAIL']} --http a b\n"))

    def test_it_names_the_package_where_that_is_missing(self):
        done = self.run_it("/nowhere")
        self.assertEqual(done.returncode, 127)
        self.assertIn("fix: pip install 'libagentjail[mcp]'", done.stderr)

    def test_its_help_says_there_what_it_is_and_how_to_install_it(self):
        done = self.run_it("/nowhere", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("Usage: agentjail mcp ", "An MCP server", "\n  pip install 'libagentjail[mcp]'\n"):
            self.assertIn(words, done.stdout)


@needs_sdk
class TestStdio(unittest.IsolatedAsyncioTestCase):
    async def test_calls_progress_and_cancellation(self):
        # The import of the SDK is most of what a server takes, so `make check` starts one, and TestHttp has clients of the other era.
        await asyncio.gather(*[self.one_client(mode) for mode in ("auto", "legacy")[: 2 if WHOLE else 1]])

    async def one_client(self, mode):
        nap = "1234.5" if mode == "auto" else "1234.25"
        seen = []

        async def progress(number, total, message):
            seen.append(message)

        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            async with Client(stdio("--workspace", folder), mode=mode) as client:
                code = "import time\nfor i in range(3):\n    print(i)\n    time.sleep(0.05)\nx = 'kept'"
                result = await client.call_tool("session_run", {"code": code}, progress_callback=progress)
                self.assertEqual(result.structured_content["stdout"], "0\n1\n2\n")
                self.assertEqual("".join(m for m in seen if not m.startswith("running")), "0\n1\n2\n")
                self.assertEqual((await client.call_tool("run_python", {"code": "x"})).structured_content["error"]["type"], "NameError")
                seen.clear()
                steps = {"command": ["sh", "-c", "echo first; sleep 0.1; echo second >&2"]}
                built = await client.call_tool("run_command", steps, progress_callback=progress)
                self.assertEqual("".join(m for m in seen if not m.startswith("running")), "first\nsecond\n")
                self.assertEqual([built.structured_content[k] for k in ("stdout", "stderr")], ["first\n", "second\n"])
                for tool, arguments in (
                    ("run_python", {"code": "print('go')\nwhile True: pass"}),
                    ("session_run", {"code": "print('go')\nwhile True: pass"}),
                    ("run_command", {"command": ["sh", "-c", f"trap '' TERM; echo go > going; sleep {nap} & wait; sleep {nap}"]}),
                ):
                    with self.subTest(tool=tool, mode=mode):
                        await self.cancelled(client, tool, arguments, folder)
                await until(lambda: not any(nap in command(pid) for pid in below(os.getpid())))
                # The session that was interrupted continues with its variables.
                self.assertEqual((await client.call_tool("session_run", {"code": "x"})).structured_content["value"], "kept")
                started = {pid for pid in below(os.getpid()) if folder in command(pid) or "agentjail.mcp" in command(pid)}
                started |= {pid for parent in started for pid in below(parent)}
                self.assertLess(1, len(started))
        await until(lambda: not alive(started))

    async def cancelled(self, client, tool, arguments, folder):
        going = asyncio.Event()
        mark = pathlib.Path(folder, "going")

        async def progress(number, total, message):
            if "go" in message:
                going.set()

        call = asyncio.create_task(client.call_tool(tool, arguments, progress_callback=progress))
        await until(lambda: going.is_set() or mark.exists())
        self.assertFalse(call.done())
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        mark.unlink(missing_ok=True)

    async def test_a_killed_server_leaves_nothing(self):
        await asyncio.gather(*[self.one_killed(number) for number in (signal.SIGKILL, signal.SIGTERM)[: 2 if WHOLE else 1]])  # TestHttp.end() has SIGTERM

    async def one_killed(self, number):
        process = await asyncio.create_subprocess_exec(
            *WORDS, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        calls = [
            {"method": "tools/call", "params": {"name": "session_run", "arguments": {"code": "while True: pass"}}},
            {"method": "tools/call", "params": {"name": "run_command", "arguments": {"command": ["sleep", "1000"]}}},
        ]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        requests = [{"id": 1, "method": "initialize", "params": hello}, {"method": "notifications/initialized"}]
        requests += [{"id": n + 2, **call} for n, call in enumerate(calls)]
        process.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **r}).encode() + b"\n" for r in requests))
        await until(lambda: any("sleep" in command(pid) for pid in below(process.pid)) and len(below(process.pid)) > 4)
        started = below(process.pid)
        process.send_signal(number)
        await process.wait()
        await until(lambda: not alive(started))
        process._transport.close()
        await asyncio.sleep(0)


@needs_sdk
class TestHttp(unittest.IsolatedAsyncioTestCase):
    """One server for all tests here."""

    @staticmethod
    def start(*options, **env):
        words = [*WORDS, "--http", "127.0.0.1:0", *options]
        process = subprocess.Popen(words, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env={**os.environ, **env})
        return process, process.stderr.readline().split()[2]

    def end(self, process):
        """A signal ends it, and all that it started."""
        started = below(process.pid)
        process.terminate()
        process.communicate()
        self.assertLess(0, len(started))
        asyncio.run(until(lambda: not alive(started)))

    @classmethod
    def setUpClass(cls):
        cls.process, cls.url = cls.start()

    @classmethod
    def tearDownClass(cls):
        cls.end(cls(), cls.process)

    async def test_clients_have_sessions_of_their_own(self):
        url = self.url
        async with Client(url, mode="legacy") as a, Client(url, mode="legacy") as b, Client(url) as c:
            self.assertEqual((a.protocol_version, c.protocol_version), ("2025-11-25", "2026-07-28"))
            for client, code in ((a, "x = 'a'"), (b, "x = 'b'")):
                self.assertNotIn("session", (await client.call_tool("session_run", {"code": code})).structured_content)
            self.assertEqual([(await k.call_tool("session_run", {"code": "x"})).structured_content["value"] for k in (a, b)], ["a", "b"])
            # Requests of the later protocol have no client: there a name that the answer gives is the session.
            first = (await c.call_tool("session_run", {"code": "x = 'c'"})).structured_content["session"]
            second = (await c.call_tool("session_run", {"code": "x = 'd'"})).structured_content["session"]
            values = [(await c.call_tool("session_run", {"code": "x", "session": s})).structured_content["value"] for s in (first, second)]
            self.assertEqual(values, ["c", "d"])
            for tool, arguments in (("list_files", {"path": "/tmp"}), ("session_reset", {})):
                self.assertIn("Which session?", text_of(await c.call_tool(tool, arguments)))
            self.assertTrue((await c.call_tool("session_reset", {"session": second})).structured_content["ended"])
            guessed = await c.call_tool("session_run", {"code": "x", "session": "guessed"})
            self.assertIn("There is no session guessed", text_of(guessed))
            stolen = await b.call_tool("session_run", {"code": "x", "session": first})
            self.assertEqual(stolen.structured_content["error"]["type"], "NameError")

            seen = []

            async def progress(number, total, message):
                seen.append(message)

            await a.call_tool("run_python", {"code": "print('out')"}, progress_callback=progress)
            self.assertEqual(seen, ["out\n"])

    async def test_a_client_that_leaves_ends_its_session(self):
        async with Client(self.url, mode="legacy") as a, Client(self.url) as other:
            await a.call_tool("session_run", {"code": "x = 1"})
            await other.call_tool("run_python", {"code": "1"})
            before = below(self.process.pid)
            await a.call_tool("session_run", {"code": "x"})
        await until(lambda: before - alive(before))

    async def test_web_pages_are_refused(self):
        for headers, status in (
            ({}, 200), ({"Origin": "http://evil.example"}, 403), ({"Origin": "http://localhost:3000"}, 403), ({"Host": "evil.example"}, 421)
        ):  # fmt: skip
            self.assertEqual(await asyncio.to_thread(self.status, self.url, **headers), status, headers)

    @staticmethod
    def status(url, **headers):
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode()
        plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body, {**plain, **headers}), timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as e:
            with e:
                return e.code

    async def test_roots_do_not_choose_the_workspace(self):
        async def list_roots(ctx):
            return ListRootsResult(roots=[Root(uri="file:///tmp")])

        async with Client(self.url, mode="legacy", list_roots_callback=list_roots) as client:
            result = await client.call_tool("run_command", {"command": ["true"]})
            self.assertIn("There is no workspace", text_of(result))


@needs_sdk
class TestDoor(unittest.IsolatedAsyncioTestCase):
    async def asked(self, token, *headers, method="POST"):
        """The status of a request, and whether it got through."""
        got, said = [], []

        async def app(scope, receive, send):
            got.append(scope)
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message):
            said.append(message)

        door = HttpMiddleware(app, unittest.mock.AsyncMock(), token)
        await door({"type": "http", "method": method, "headers": list(headers)}, None, send)
        return said[0]["status"], len(got)

    async def test_strangers_are_refused_where_there_is_a_token(self):
        token = "a secret of this test"
        self.assertEqual(await self.asked(None), (200, 1))
        self.assertEqual(await self.asked(token), (401, 0))
        self.assertEqual(await self.asked(token, (b"authorization", b"Bearer wrong")), (401, 0))
        self.assertEqual(await self.asked(token, (b"authorization", token.encode())), (401, 0))
        self.assertEqual(await self.asked(token, (b"authorization", b"Bearer " + token.encode())), (200, 1))

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken, contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(serve(Options(http=taken.getsockname())), 1)
        self.assertIn("in use", said.getvalue())
