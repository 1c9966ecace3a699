"""The examples of docs/examples that need more than Python: each is run as it stands, with a stand-in for what only a user has."""

import asyncio
import contextlib
import http.server
import importlib.util
import io
import json
import os
import runpy
import shutil
import socketserver
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "docs", "examples")
AJ = os.environ.get("AGENTJAIL") or os.path.join(ROOT, "build", "agentjail")


def has(*modules):
    return all(importlib.util.find_spec(name) for name in modules)


class StandIn(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible server that says what it was told to."""

    steps = ()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        content = "Thought: next.\n<code>\n%s\n</code>" % self.server.steps.pop(0)
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 0, "model": asked["model"], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "jail"

    def log_message(self, *_):
        pass


class TestExamples(unittest.TestCase):
    def folder(self):
        folder = tempfile.mkdtemp(prefix="examples-")
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def test_rollouts(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            rewards = runpy.run_path(EXAMPLES + "/rollouts.py")["main"]()
        self.assertEqual(rewards, [1.0, 0.0, -0.5, 0.0] * 16)
        self.assertIn("64 rollouts, 16 solved, mean reward 0.125", out.getvalue())

    @unittest.skipUnless(has("fastapi"), "FastAPI is not installed")
    def test_app(self):
        app = runpy.run_path(EXAMPLES + "/app.py")
        snippet = app["Snippet"]

        async def visits():
            async with app["lifespan"](app["app"]):
                first = await app["run"](snippet(code="print('hi')\n6 * 7"))
                self.assertEqual(first, {"status": "ok", "value": "42", "output": "hi\n", "error": None})
                failed = await app["run"](snippet(code="1 / 0"))
                self.assertIn("ZeroDivisionError", failed["error"])
                await app["run_in_session"]("ada", snippet(code="x = 1"))
                await app["run_in_session"]("bob", snippet(code="x = 2"))
                self.assertEqual((await app["run_in_session"]("ada", snippet(code="x")))["value"], "1")
                self.assertEqual((await app["run_in_session"]("bob", snippet(code="x")))["value"], "2")
        asyncio.run(visits())

    @unittest.skipUnless(has("smolagents", "openai") and sys.prefix != sys.base_prefix, "smolagents and openai are not installed")
    def test_a_whole_agent_inside(self):
        folder = self.folder()
        os.chmod(folder, 0o755)
        shutil.copy(EXAMPLES + "/inside.py", folder)
        path = folder + "/model.sock"

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True
            asked = []
            steps = ["open('/home/secret').read()", "import socket", "final_answer(words('one two three'))"]
        with Server(path, StandIn) as server:
            os.chmod(path, 0o666)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            python = os.path.join(sys.prefix, "bin", "python")
            done = subprocess.run([AJ, "run", "--timeout", "100s", "--bind", sys.prefix, "--bind", folder + ":/work", "--connect", path, "--bind", path, "--env", "MODEL_SOCKET=" + path,
                                   "--env", "HOME=/tmp", "--", python, "/work/inside.py"], capture_output=True, text=True, timeout=120)
            server.shutdown()
        self.assertIn("answer: 3", done.stdout, done.stdout[-2000:] + done.stderr[-2000:])
        self.assertEqual(len(server.asked), 3)
        self.assertIn("not", server.asked[1]["messages"][-1]["content"][0]["text"])

    @unittest.skipUnless(has("pydantic_monty"), "monty is not installed")
    def test_monty_inside(self):
        done = subprocess.run([sys.executable, EXAMPLES + "/monty_inside.py"], env={**os.environ, "AGENTJAIL": AJ}, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.returncode), ("42\n", 0), done.stderr)

    @unittest.skipUnless(has("nbconvert", "ipykernel"), "nbconvert is not installed")
    def test_notebook(self):
        """Executed by nbconvert in a process of its own; the figure appears in its output."""
        program = ("import nbformat, sys\nfrom nbconvert.preprocessors import ExecutePreprocessor\nbook = nbformat.read(sys.argv[1], 4)\n"
                   "ExecutePreprocessor(timeout=100, kernel_name='python3').preprocess(book)\nnbformat.write(book, sys.argv[2])")
        folder = self.folder()
        paths = {"HOME": folder, "IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "JUPYTER_PATH": os.path.join(sys.prefix, "share", "jupyter")}
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, EXAMPLES + "/notebook.ipynb", folder + "/out.ipynb"],
                              env={**os.environ, **paths}, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        with open(folder + "/out.ipynb") as f:
            outputs = [cell["outputs"] for cell in json.load(f)["cells"] if cell["cell_type"] == "code"]
        self.assertEqual(outputs[1][0]["data"]["text/plain"], ["1.25"])
        self.assertIn("image/svg+xml", "".join(outputs[2][0]["data"]["text/html"]))
        self.assertIn("Import of socket is not allowed", "".join(outputs[3][0]["data"]["text/plain"]))


if __name__ == "__main__":
    unittest.main()
