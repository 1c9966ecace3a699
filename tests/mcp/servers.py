"""MCP servers of other authors in jails: `agentjail run --mcp -- SERVER` with the official client, each initialised and its tools called.
The jails have no network, and show of this host what a server's row names. It installs nothing: `make check-mcp` does.

Usage: servers.py AGENTJAIL FOLDER      FOLDER holds python/ (a virtual environment) and node/ (node_modules)
"""

import asyncio
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

failed = 0
LOG = tempfile.NamedTemporaryFile("w", prefix="agentjail-mcp-")


def check(name, right, said=""):
    global failed
    failed += not right
    print(f"  {'ok  ' if right else 'FAIL'}  {name}{'' if right else f': {str(said)[:600]}'}")


async def serve(name, options, words, calls, *, env=()):
    """Start a server in a jail and make the calls: (tool, arguments, what the answer holds; `!` before it: an error with this text)."""
    program = os.path.abspath(sys.argv[1])
    jail = [program, "run", "--mcp", *options, *[word for e in env for word in ("--env", e)], "--"]
    server = StdioServerParameters(command=jail[0], args=[*jail[1:], *words])
    try:
        async with Client(stdio_client(server, errlog=LOG)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            check(f"{name}: version {client.protocol_version} of the protocol, {len(tools)} tools", tools)
            for tool, arguments, holds in calls:
                answer = await client.call_tool(tool, arguments)
                text = "\n".join(getattr(block, "text", "") for block in answer.content)
                refused = holds.startswith("!")
                check(f"{name}: {tool}{' is refused' if refused else ''}", bool(answer.is_error) == refused and holds.lstrip("!") in text, text)
    except BaseException as e:
        check(f"{name}: starts", False, f"{e!r}; the servers said {pathlib.Path(LOG.name).read_text()[-2000:]}")


def git(folder, *words):
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "safe.directory=*"]
    subprocess.run(["git", "-C", folder, *who, *words], check=True, capture_output=True)


async def main(installed, work):
    python, node = f"{installed}/python", f"{installed}/node"
    script = f"{node}/node_modules/@modelcontextprotocol/server-%s/dist/index.js"
    secret = pathlib.Path(work, "secret")
    secret.write_text("SECRET")
    shown, repository = f"{work}/shown", f"{work}/repository"
    for folder in (shown, repository):
        os.mkdir(folder)
        os.chmod(folder, 0o777)  # a jail of root's is another user
    pathlib.Path(shown, "link").symlink_to(secret)
    pathlib.Path(shown, "notes.txt").write_text("a note")
    git(repository, "init", "-q", "-b", "main")
    git(repository, "commit", "-q", "--allow-empty", "-m", "the first commit")
    subprocess.run(["chmod", "-R", "a+rwX", repository], check=True)

    environment = ["--bind", python]
    await serve("mcp-server-time", environment, [f"{python}/bin/mcp-server-time", "--local-timezone", "UTC"], [
        ("get_current_time", {"timezone": "Europe/Oslo"}, "Europe/Oslo"),
        ("convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "21:00"),
        ("get_current_time", {"timezone": "Nowhere/None"}, "!Nowhere"),
    ])  # fmt: skip
    await serve("mcp-server-git", [*environment, "--bind", f"{repository}:{repository}"], [f"{python}/bin/mcp-server-git"], [
        ("git_log", {"repo_path": repository}, "the first commit"),
        ("git_status", {"repo_path": repository}, "On branch main"),
        ("git_status", {"repo_path": work}, "!"),
    ], env=["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"])  # fmt: skip

    if not shutil.which("node"):
        print("  SKIP  servers of npm: there is no node on this host")
        return
    # It is told that it may serve the whole machine: the jail decides.
    options = ["--bind", node, "--bind", f"{shown}:{shown}:rw"]
    await serve("server-filesystem", options, ["node", script % "filesystem", "/"], [
        ("read_text_file", {"path": f"{shown}/notes.txt"}, "a note"),
        ("write_file", {"path": f"{shown}/made.txt", "content": "made inside"}, "Successfully wrote"),
        ("read_text_file", {"path": str(secret)}, "!ENOENT"),
        ("read_text_file", {"path": f"{shown}/link"}, "!"),
        ("list_directory", {"path": "/root"}, "!"),
    ])  # fmt: skip
    check("server-filesystem: the file is on the host", pathlib.Path(shown, "made.txt").read_text() == "made inside")
    await serve("server-memory", ["--bind", node, "--bind", f"{shown}:/memory:rw"], ["node", script % "memory"], [
        ("create_entities", {"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}]}, "Ada"),
        ("search_nodes", {"query": "programs"}, "Ada"),
    ], env=["MEMORY_FILE_PATH=/memory/memory.jsonl"])  # fmt: skip
    check("server-memory: the memory is on the host", json.loads(pathlib.Path(shown, "memory.jsonl").read_text())["name"] == "Ada")
    await serve("server-everything", ["--bind", node], ["node", script % "everything"], [
        ("echo", {"message": "hello"}, "hello"),
        ("get-sum", {"a": 20, "b": 22}, "42"),
    ])  # fmt: skip


with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    asyncio.run(main(os.path.abspath(sys.argv[2]), os.path.realpath(folder)))
print(f"{'FAILED: ' + str(failed) if failed else 'all passed'}")
sys.exit(bool(failed))
