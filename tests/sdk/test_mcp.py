"""agentjail.mcp with the official client: each tool by both eras of the protocol, over stdio and HTTP, cancellation, roots and hostile
workspaces, clients apart from each other, and that nothing is left when a server ends or is killed."""

import asyncio
import base64
import contextlib
import io
import json
import logging
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import urllib.error
import urllib.request
import warnings

from agentjail.mcp.options import loopback, parse
from test_service import children

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from agentjail.mcp import content, files, jails
        from agentjail.mcp.options import Options, Refused
        from agentjail.mcp.server import make_server
        from agentjail.mcp.transports import Door, serve
        from mcp import Client
        from mcp.client.stdio import StdioServerParameters
        from mcp_types import ListRootsResult, Root
except ImportError:
    Client = None

WORDS = [sys.executable, "-m", "agentjail.mcp"]
PNG = b"\x89PNG\r\n\x1a\nimage"
needs_sdk = unittest.skipIf(Client is None, "the package mcp is not installed")


def setUpModule():
    logging.disable(logging.WARNING)  # the SDK shows asyncio's remarks about slow steps, which -X dev asks for


def tearDownModule():
    logging.disable(logging.NOTSET)


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


def stdio(*options):
    env = {k: v for k, v in os.environ.items() if k not in ("AGENTJAIL_MCP_TOKEN",)}
    return StdioServerParameters(command=WORDS[0], args=[*WORDS[1:], *options], env=env)


def below(pid):
    """The processes below this one, as far as /proc knows parents."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(name)] = int(pathlib.Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
    found, more = set(), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in found} - found
    return found - {pid}


async def until(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise AssertionError("it did not come about in time")
        await asyncio.sleep(0.02)


def alive(pids):
    """Those of the processes that run still; a zombie does not."""
    out = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                out.add(pid)
    return out


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


@needs_sdk
class TestPaths(unittest.TestCase):
    def test_a_path_is_of_the_workspace_or_the_session(self):
        for path, workspace, expected in (
            ("a/b", True, ("/workspace/a/b", True)), ("a", False, ("/tmp/a", False)), (".", True, ("/workspace", True)),
            ("/output/x", True, ("/output/x", False)), ("/workspace/../tmp/x", True, ("/tmp/x", False)), ("//tmp//x", True, ("/tmp/x", False)),
        ):  # fmt: skip
            self.assertEqual(files.resolve(path, workspace), expected)
        for path in ("", "/etc/passwd", "../../etc/passwd", "/workspace/../etc", "/tmpx", "a\0b", "a\nb", "/"):
            with self.subTest(path), self.assertRaises(Refused):
                files.resolve(path, True)
        with self.assertRaisesRegex(Refused, "no workspace"):
            files.resolve("/workspace/a", False)

    def test_images_are_told_by_their_bytes(self):
        self.assertEqual([content.image_type(d) for d in (PNG, b"GIF89a..", b"RIFF0000WEBP", b"<svg/>")], ["image/png", "image/gif", "image/webp", None])


@needs_sdk
class TestTools(unittest.IsolatedAsyncioTestCase):
    """The tools, in this process: a server without a transport."""

    @contextlib.asynccontextmanager
    async def client(self, mode="auto", roots=None, **options):
        async def list_roots(ctx):
            return ListRootsResult(roots=[Root(uri=f"file://{root}") for root in roots])

        self.jails = jails.Jails(Options(**options))
        async with Client(make_server(self.jails), mode=mode, list_roots_callback=list_roots if roots is not None else None) as client:
            yield client
        self.assertEqual((children(), asyncio.all_tasks()), ([], {asyncio.current_task()}))

    def folder(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        os.chmod(made.name, 0o777)  # a jail of root's writes as another user
        return os.path.realpath(made.name)

    async def call(self, client, tool, **arguments):
        return await client.call_tool(tool, arguments)

    async def test_what_is_listed(self):
        async with self.client() as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        self.assertEqual(
            sorted(tools), ["list_files", "read_file", "run_command", "run_python", "session_reset", "session_run", "write_file"]
        )
        for tool in tools.values():
            self.assertEqual((tool.annotations.open_world_hint, tool.output_schema["type"]), (False, "object"))
            self.assertNotIn("roots", tool.input_schema["properties"])
            self.assertTrue(tool.description and tool.title)
        self.assertEqual([n for n, t in sorted(tools.items()) if t.annotations.read_only_hint], ["list_files", "read_file"])
        self.assertEqual([n for n, t in sorted(tools.items()) if t.annotations.destructive_hint], ["run_command", "session_reset", "write_file"])

    async def test_python(self):
        async with self.client() as client:
            good = await self.call(client, "run_python", code="print('out')\n{'a': [1, 2]}")
            self.assertEqual((good.is_error, good.structured_content["value"], good.structured_content["stdout"]), (False, {"a": [1, 2]}, "out\n"))
            bad = await self.call(client, "run_python", code="rows = [1]\nrows[2]")
            self.assertTrue(bad.is_error)
            self.assertIn("Line 2: IndexError", text_of(bad))
            self.assertEqual(bad.structured_content["error"]["line"], 2)
            rejected = await self.call(client, "run_python", code="import os")
            self.assertEqual((rejected.is_error, rejected.structured_content["status"]), (True, "rejected"))
            late = await self.call(client, "run_python", code="while True: pass", timeout_s=0.3)
            self.assertEqual(late.structured_content["status"], "timeout")
            long = await self.call(client, "run_python", code="print('x' * 100_000); 'y' * 100_000")
            self.assertLess(len(long.model_dump_json()), 80_000)
            self.assertTrue(long.structured_content["output_cut"])
            wrong = await self.call(client, "run_python", code="1", timeout_s=-1)
            self.assertTrue(wrong.is_error)
            self.assertIn("greater than 0", text_of(wrong))

    async def test_images_and_files(self):
        code = (
            "class Shown:\n    def __init__(self, mime, data): self.bundle = {mime: data}\n"
            "    def _repr_mimebundle_(self, include=None, exclude=None): return self.bundle\n"
            "open('/output/table.csv', 'w').write('a,b')\nopen('/output/raw.bin', 'wb').write(bytes(5))\n"
        )
        async with self.client() as client:
            png = await self.call(client, "run_python", code=code + f"Shown('image/png', {base64.b64encode(PNG).decode()!r})")
            svg = await self.call(client, "run_python", code=code + "Shown('image/svg+xml', '<svg/>')")
            many = await self.call(client, "session_run", code="for n in 'abc': open('/output/' + n, 'wb').write(bytes(2_000_000))")
            part = await self.call(client, "read_file", path="/output/a", offset=1_999_990)
        self.assertEqual(([f["embedded"] for f in many.structured_content["files"]].count(True), "not attached" in text_of(many)), (2, True))
        self.assertEqual((part.structured_content["bytes"], part.structured_content.get("next_offset")), (10, None))
        images = [b for b in png.content if b.type == "image"]
        self.assertEqual([(i.mime_type, base64.b64decode(i.data)) for i in images], [("image/png", PNG)])
        held = {b.resource.uri: b.resource for b in png.content if b.type == "resource"}
        self.assertEqual(sorted(held), ["agentjail:///output/raw.bin", "agentjail:///output/table.csv"])
        self.assertEqual(held["agentjail:///output/table.csv"].text, "a,b")
        self.assertEqual(base64.b64decode(held["agentjail:///output/raw.bin"].blob), bytes(5))
        self.assertTrue(all(f["embedded"] for f in png.structured_content["files"]))
        drawn = [b for b in svg.content if b.type == "resource" and b.resource.mime_type == "image/svg+xml"]
        self.assertEqual([(b.resource.text, b.annotations.audience) for b in drawn], [("<svg/>", ["user"])])

    async def test_session(self):
        async with self.client() as client:
            await self.call(client, "session_run", code="x = 41; open('/tmp/kept', 'w').write('here')")
            self.assertEqual((await self.call(client, "session_run", code="x + 1")).structured_content["value"], 42)
            self.assertEqual((await self.call(client, "read_file", path="/tmp/kept")).structured_content["text"], "here")
            other = await self.call(client, "session_run", code="x", session="other")
            self.assertEqual(other.structured_content["error"]["type"], "NameError")
            await self.call(client, "session_run", code="seen = []")
            await asyncio.gather(*[self.call(client, "session_run", code=f"seen.append({n})") for n in range(5)])
            self.assertEqual((await self.call(client, "session_run", code="sorted(seen)")).structured_content["value"], [0, 1, 2, 3, 4])
            await self.call(client, "write_file", path="/input/in.txt", text="in")
            self.assertEqual((await self.call(client, "session_run", code="open('/input/in.txt').read()")).structured_content["value"], "in")
            self.assertTrue((await self.call(client, "session_reset")).structured_content["ended"])
            self.assertFalse((await self.call(client, "session_reset")).structured_content["ended"])
            self.assertEqual((await self.call(client, "session_run", code="x")).structured_content["error"]["type"], "NameError")

    async def test_a_session_that_ended_is_said_once(self):
        async with self.client(mode="legacy") as client:
            await self.call(client, "session_run", code="x = 1")
            os.kill(self.jails.service.pid, signal.SIGKILL)
            await until(lambda: self.jails.service._link.gone is not None)
            said = await self.call(client, "session_run", code="x")
            self.assertTrue(said.is_error)
            self.assertIn("The session has ended", text_of(said))
            self.assertEqual((await self.call(client, "session_run", code="2")).structured_content["value"], 2)
            self.assertEqual((await self.call(client, "run_python", code="3")).structured_content["value"], 3)
            seen = []

            async def progress(number, total, message):
                seen.append(message)

            endless = {"code": "print('go')\nwhile True: pass"}
            calls = [asyncio.create_task(client.call_tool(t, endless, progress_callback=progress)) for t in ("run_python", "session_run")]
            await until(lambda: seen.count("go\n") == 2)
            os.kill(self.jails.service.pid, signal.SIGKILL)
            alone, going = await asyncio.gather(*calls)
            self.assertIn("died", text_of(alone))
            self.assertIn("The session has ended", text_of(going))
            self.assertEqual((await self.call(client, "session_run", code="5")).structured_content["value"], 5)
            await self.jails.end("stdio/", "it was idle for 30 minutes")
            self.assertIn("idle", text_of(await self.call(client, "session_run", code="x")))
            self.assertEqual((await self.call(client, "session_run", code="4")).structured_content["value"], 4)

    async def test_sessions_have_a_bound(self):
        with unittest.mock.patch.object(jails, "SESSIONS_MAX", 2):
            async with self.client() as client:
                for name in "abc":
                    await self.call(client, "session_run", code="1", session=name)
                self.assertEqual(sorted(self.jails._slots), ["stdio/b", "stdio/c"])
                self.assertIn("other sessions needed its place", text_of(await self.call(client, "session_run", code="1", session="a")))

    async def test_policies(self):
        async with self.client(imports=("os",), memory="100M") as client:
            self.assertFalse((await self.call(client, "run_python", code="import os")).is_error)
        async with self.client(policy="no-such-policy", command_policy="neither") as client:
            for tool, arguments in (("run_python", {"code": "1"}), ("session_run", {"code": "1"}), ("run_command", {"command": ["true"]})):
                refused = await self.call(client, tool, **arguments)
                self.assertTrue(refused.is_error)
                self.assertRegex(text_of(refused), r"(?s)(no-such-policy|neither).*fix: ")
        async with self.client(timeout="300ms") as client:
            self.assertEqual((await self.call(client, "run_python", code="while True: pass")).structured_content["status"], "timeout")
            self.assertEqual((await self.call(client, "run_command", command=["sleep", "60"])).structured_content["status"], "timeout")

    async def test_commands(self):
        folder = self.folder()
        async with self.client(workspace=folder) as client:
            made = await self.call(client, "run_command", command=["sh", "-c", "pwd; cat > made; echo no >&2; exit 3"], stdin="input")
            self.assertEqual((made.is_error, made.structured_content["exit_code"], made.structured_content["stdout"]), (True, 3, "/workspace\n"))
            self.assertIn("Exit status 3.", text_of(made))
            self.assertEqual(pathlib.Path(folder, "made").read_text(), "input")
            planted = await self.call(client, "run_command", command=["sh", "-c", "echo > .envrc"])
            self.assertEqual((planted.structured_content["planted"], ".envrc" in text_of(planted)), ([".envrc"], True))
            missing = await self.call(client, "run_command", command=["no-such-program"])
            self.assertIn("No such file", text_of(missing))
            self.assertTrue((await self.call(client, "run_command", command=[])).is_error)
        async with self.client() as client:
            alone = await self.call(client, "run_command", command=["sh", "-c", "ls -A /workspace"])
            self.assertIn("There is no workspace", text_of(alone))

    async def test_files_of_the_workspace(self):
        folder = self.folder()
        odd = "a b'\"$(x)\\é"
        async with self.client(workspace=folder) as client:
            written = await self.call(client, "write_file", path=f"new/{odd}", text="häl\n")
            self.assertEqual(written.structured_content, {"path": f"/workspace/new/{odd}", "bytes": 5})
            self.assertEqual(pathlib.Path(folder, "new", odd).read_text(), "häl\n")
            await self.call(client, "write_file", path="-raw", text=base64.b64encode(PNG).decode(), encoding="base64")
            listed = (await self.call(client, "list_files", path="/workspace")).structured_content["entries"]
            self.assertLessEqual({("-raw", "file", len(PNG))}, {(e["name"], e["type"], e["size"]) for e in listed})
            self.assertEqual([e["name"] for e in (await self.call(client, "list_files", path="new")).structured_content["entries"]], [odd])
            picture = await self.call(client, "read_file", path="-raw")
            self.assertEqual([base64.b64decode(b.data) for b in picture.content if b.type == "image"], [PNG])
            part = await self.call(client, "read_file", path=f"new/{odd}", length=2)  # ends within a character
            self.assertEqual((part.structured_content["text"], part.structured_content["next_offset"]), ("h", 1))
            rest = await self.call(client, "read_file", path=f"new/{odd}", offset=1)
            self.assertEqual((rest.structured_content["text"], rest.structured_content.get("next_offset")), ("äl\n", None))
            for tool, arguments in (("read_file", {"path": "none"}), ("list_files", {"path": "none"}), ("read_file", {"path": "new"}),
                                    ("read_file", {"path": "/etc/passwd"}), ("write_file", {"path": "/usr/x", "text": ""}),
                                    ("write_file", {"path": "x", "text": "?", "encoding": "base64"})):  # fmt: skip
                with self.subTest(tool=tool, **arguments):
                    self.assertTrue((await self.call(client, tool, **arguments)).is_error)

    async def test_a_hostile_workspace_leads_nowhere(self):
        folder, outside = self.folder(), self.folder()
        secret = pathlib.Path(outside, "secret")
        secret.write_text("SECRET")
        pathlib.Path(folder, "file").symlink_to(secret)
        pathlib.Path(folder, "up").symlink_to(f"../{os.path.basename(outside)}")
        pathlib.Path(folder, "folder").symlink_to(outside)
        pathlib.Path(folder, "new").symlink_to(pathlib.Path(outside, "made"))
        os.mkfifo(pathlib.Path(folder, "fifo"))
        async with self.client(workspace=folder) as client:
            for path in ("file", "up/secret", "folder/secret", "fifo"):
                with self.subTest(path):
                    read = await self.call(client, "read_file", path=path)
                    self.assertTrue(read.is_error)
                    self.assertNotIn("SECRET", read.model_dump_json())
            for path in ("file", "up/secret", "folder/made", "new"):
                await self.call(client, "write_file", path=path, text="CHANGED")
            self.assertNotIn("secret", (await self.call(client, "list_files", path="folder")).model_dump_json())
            self.assertTrue((await self.call(client, "write_file", path=".vscode/tasks.json", text="{}")).is_error)  # editors run it
        self.assertEqual((secret.read_text(), os.listdir(outside)), ("SECRET", ["secret"]))

    async def test_roots(self):
        folder, other = self.folder(), self.folder()
        for mode in ("auto", "legacy"):
            async with self.client(mode=mode, roots=[folder, other]) as client:
                result = await self.call(client, "run_command", command=["touch", mode])
                self.assertFalse(result.is_error, text_of(result))
                self.assertIn("2 roots", text_of(result))
        self.assertLessEqual({"auto", "legacy"}, set(os.listdir(folder)))
        self.assertEqual(os.listdir(other), [])
        async with self.client(roots=[folder], workspace=other) as client:
            self.assertEqual((await self.call(client, "run_command", command=["true"])).structured_content["workspace"], other)
        for root in ("/nowhere", "/", "/etc"):
            async with self.client(roots=[root]) as client:
                refused = await self.call(client, "run_command", command=["true"])
                self.assertTrue(refused.is_error, root)


@needs_sdk
class TestStdio(unittest.IsolatedAsyncioTestCase):
    async def test_calls_progress_and_cancellation(self):
        await asyncio.gather(*[self.one_client(mode) for mode in ("legacy", "auto")])

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
                # The session that was interrupted goes on with its variables.
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
        await asyncio.gather(*[self.one_killed(number) for number in (signal.SIGKILL, signal.SIGTERM)])

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


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


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

        door = Door(app, unittest.mock.AsyncMock(), token)
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
