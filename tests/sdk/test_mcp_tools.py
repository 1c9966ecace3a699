"""agentjail.mcp's tools with the official client, in this process: Python, sessions, commands, files, roots, hostile workspaces, and
what is said where a call cannot be."""

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import signal
import tempfile
import unittest
import unittest.mock

import mcp_client
from mcp_client import Client, ListRootsResult, Root, needs_sdk, text_of, until
from agentjail import Result
from test_service import children

if Client:
    from agentjail.mcp import content, files, jails
    from agentjail.mcp.options import Options, Refused
    from agentjail.mcp.server import make_server

PNG = b"\x89PNG\r\n\x1a\nimage"
setUpModule, tearDownModule = mcp_client.quiet, mcp_client.loud


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
        types = [content.image_type(d) for d in (PNG, b"GIF89a..", b"RIFF0000WEBP", b"<svg/>")]
        self.assertEqual(types, ["image/png", "image/gif", "image/webp", None])


@needs_sdk
class TestAnswers(unittest.TestCase):
    RAW = {"status": "ok", "reason": "finished", "for_model": "Value: 1"}

    def test_files_that_did_not_come_are_named(self):
        skipped = [{"name": "big.bin", "why": "beyond output.files"}, {"name": "n" * 4000, "why": "no regular file"}]
        got = content.of_run(Result({**self.RAW, "files": [], "files_skipped": skipped}), [])
        self.assertIn("were not returned: big.bin (beyond output.files), nnn", text_of(got))
        self.assertEqual(got.structured_content["files_skipped"][0], skipped[0])

    def test_names_and_messages_have_a_bound(self):
        name = "n" * 4000
        files = [{"name": f"{i}{name}", "size": 1, "media_type": "text/plain", "sha256": ""} for i in range(900)]
        planted = {"changed": [{"path": f"{i}{name}"} for i in range(300)]}
        error = {"type": "E" * 99_000, "message": "m" * 99_000, "hint": "h" * 99_000}
        skipped = [{"name": name, "why": name}] * 20
        raw = {**self.RAW, "status": "error", "files": files, "workspace": planted, "error": error, "files_skipped": skipped}
        got = content.of_run(Result(raw), [])
        self.assertLess(len(text_of(got)), 3000)
        self.assertLess(len(json.dumps(got.structured_content)), 80_000)
        self.assertIn("and 898 more", text_of(got))
        self.assertEqual(got.structured_content["files_more"], 800)
        self.assertLess(len(text_of(content.of_command(Result(raw), None, []))), 3000)

    def test_only_an_image_is_an_image(self):
        for data in base64.b64encode(b"<html>").decode(), "not base64", base64.b64encode(b"GIF89a").decode():
            got = content.of_run(Result({**self.RAW, "results": [{"image/png": data}]}), [])
            self.assertEqual([b.type for b in got.content], ["text"], data)


@needs_sdk
class TestPlaces(unittest.IsolatedAsyncioTestCase):
    async def room(self, client, *keys, busy=(), **options):
        """The keys of which one makes room."""
        these = jails.Jails(Options(**options))
        for at, key in enumerate(keys):
            slot = these._slots[key] = jails.Slot(unittest.mock.AsyncMock())
            slot.used_at, slot.users = at, key in busy
        with unittest.mock.patch.multiple(jails, SESSIONS_MAX=5, CLIENT_SESSIONS_MAX=3):
            await these._make_room(client)
        return [key for key in keys if key not in these._slots]

    async def test_clients_have_places_of_their_own(self):
        http = {"http": ("127.0.0.1", 0)}
        self.assertEqual(await self.room("b", "a/1", "b/1", "b/2", "b/3", **http), ["b/1"])  # its own, though there is room
        self.assertEqual(await self.room("c", "a/1", "b/1", "b/2", "b/3", "c/1", **http), ["b/1"])  # of those who have most
        self.assertEqual(await self.room("c", "a/1", "b/1", "b/2", "b/3", "c/1", busy=("b/1", "b/3"), **http), ["b/2"])
        self.assertEqual(await self.room("stdio", *(f"stdio/{n}" for n in range(4))), [])
        self.assertEqual(await self.room("", "/1", "/2", "/3", "/4", **http), [])  # no client is told from another
        self.assertEqual(await self.room("d", "a/1", "/2", "/3", "/4", "/5", **http), ["/2"])
        with self.assertRaisesRegex(Refused, "All 3 sessions of this client"):
            await self.room("b", "a/1", "b/1", "b/2", "b/3", busy=("b/1", "b/2", "b/3"), **http)


@needs_sdk
class TestTools(unittest.IsolatedAsyncioTestCase):
    """The tools, in this process: a server without a transport."""

    @contextlib.asynccontextmanager
    async def client(self, mode="auto", roots=None, **options):
        async def list_roots(ctx):
            return ListRootsResult(roots=[Root(uri=f"file://{root}") for root in roots])

        before = children()  # services that tests of other files share
        self.jails = jails.Jails(Options(**options))
        async with Client(make_server(self.jails), mode=mode, list_roots_callback=list_roots if roots is not None else None) as client:
            yield client
        self.assertEqual((set(children()) - set(before), asyncio.all_tasks()), (set(), {asyncio.current_task()}))

    def folder(self, mode=0o777):  # a jail of root's writes as another user
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        os.chmod(made.name, mode)
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
            rejected = await self.call(client, "run_python", code="import pty")
            self.assertEqual((rejected.is_error, rejected.structured_content["status"]), (True, "rejected"))
            late = await self.call(client, "run_python", code="while True: pass", timeout_s=0.3)
            self.assertEqual(late.structured_content["status"], "timeout")
            long = await self.call(client, "run_python", code="print('x' * 100_000); 'y' * 100_000")
            self.assertLess(len(long.model_dump_json()), 80_000)
            self.assertTrue(long.structured_content["output_cut"])
            for tool in ("run_python", "session_run"):
                read = await self.call(client, tool, code="import sys\n[input(), sys.stdin.read()]", stdin="a\nb\nc")
                self.assertEqual(read.structured_content["value"], ["a", "b\nc"])
                self.assertIn("EOFError", text_of(await self.call(client, tool, code="input()")))
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
                self.assertIn("other sessions needed the room", text_of(await self.call(client, "session_run", code="1", session="a")))

    async def test_policies(self):
        async with self.client(imports=("netrc",), memory="100M") as client:
            self.assertFalse((await self.call(client, "run_python", code="import netrc")).is_error)
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

    async def test_long_lists_say_that_they_are_cut(self):
        folder = self.folder()
        async with self.client(workspace=folder) as client:
            pathlib.Path(folder, "0000").touch()  # an empty folder gets no places that the policy protects
            held = (await self.call(client, "list_files")).structured_content["entries"]
            for number in range(1, 1 + files.ENTRIES_MAX - len(held)):
                pathlib.Path(folder, f"{number:04}").touch()
            whole = (await self.call(client, "list_files")).structured_content
            pathlib.Path(folder, "z").touch()
            cut = (await self.call(client, "list_files")).structured_content
            self.assertEqual([(len(x["entries"]), x["complete"]) for x in (whole, cut)], [(1000, True), (1000, False)])
            await self.call(client, "session_run", code="1")
            there = len((await self.call(client, "list_files", path="/tmp")).structured_content["entries"])
            for count, complete in ((1000, True), (1001, False)):
                await self.call(client, "session_run", code=f"for i in range({count - there}): open(f'/tmp/{{i}}', 'w').close()")
                listed = (await self.call(client, "list_files", path="/tmp")).structured_content
                self.assertEqual((len(listed["entries"]), listed["complete"]), (1000, complete))

    async def test_python_in_the_workspace(self):
        folder, other, outside = self.folder(), self.folder(), self.folder()
        pathlib.Path(folder, "rows.csv").write_text("1,2")
        pathlib.Path(outside, "secret").write_text("SECRET")
        pathlib.Path(folder, "link").symlink_to(pathlib.Path(outside, "secret"))
        read, tools = "open('rows.csv').read(), open('/workspace/rows.csv').read()", ("run_python", "session_run")
        async with self.client(workspace=folder) as client:
            self.assertIn("Python code does not see the workspace", client.instructions)
            for tool in tools:
                self.assertTrue((await self.call(client, tool, code=read)).is_error)
        async with self.client(workspace=folder, python_workspace="read-only") as client:
            self.assertIn("Python code sees the workspace", client.instructions)
            for tool in tools:
                self.assertEqual((await self.call(client, tool, code=read)).structured_content["value"]["data"], ["1,2", "1,2"])
                for code in ("open('link').read()", "open('rows.csv', 'w')", "open('new', 'w')"):
                    self.assertTrue((await self.call(client, tool, code=code)).is_error, code)
            await self.call(client, "write_file", path="later", text="yes")
            self.assertEqual((await self.call(client, "session_run", code="open('later').read()")).structured_content["value"], "yes")
            await self.call(client, "write_file", path="/input/x", text="in", session="begun")
            begun = await self.call(client, "session_run", code="open('/input/x').read() + open('later').read()", session="begun")
            self.assertEqual(begun.structured_content["value"], "inyes")
        async with self.client(roots=[folder, other], python_workspace="read-only", policy="data-analysis") as client:
            code = "import os, pathlib\ntry:\n    pathlib.Path('new').write_text('x')\nexcept OSError as e:\n    print(e.strerror)\nsorted(os.listdir())"
            listed = await self.call(client, "run_python", code=code)
            self.assertEqual((listed.structured_content["value"], listed.structured_content["stdout"]), (["later", "link", "rows.csv"], "Read-only file system\n"))
            self.assertIn("2 roots", text_of(listed))
        async with self.client(python_workspace="read-only") as client:  # there is none
            self.assertEqual((await self.call(client, "run_python", code="6 * 7")).structured_content["value"], 42)
        rules = pathlib.Path(self.folder(mode=0o755), "rules.toml")
        rules.write_text('extends = "data-analysis"\n[filesystem]\nworkspace = "read-write"\n')
        async with self.client(workspace=folder, python_workspace="policy", policy=rules) as client:
            wrote = await self.call(client, "run_python", code="open('.envrc', 'w').write('x')")
            self.assertEqual((wrote.structured_content["planted"], "Tell the user" in text_of(wrote)), ([".envrc"], True))
        self.assertEqual(pathlib.Path(folder, ".envrc").read_text(), "x")
        async with self.client(workspace=folder, python_workspace="policy") as client:
            self.assertIn("has no workspace", text_of(await self.call(client, "run_python", code="1")))
        rules.write_text('extends = "snippet"\nlock = ["filesystem.workspace"]\n')
        async with self.client(workspace=folder, python_workspace="read-only", policy=rules) as client:
            self.assertIn("locks that key", text_of(await self.call(client, "run_python", code="1")))

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
