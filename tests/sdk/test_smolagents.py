"""agentjail.smolagents with the real package: its agent with a scripted model in both executors, tools and managed agents that stay on
the host, and what its users have reported: limits of time that hold, threads, errors that a model can mend, nothing left behind."""

import contextlib
import io
import os
import runpy
import threading
import time
import unittest
from unittest import mock

import agentjail
from agentjail import Service

try:
    import smolagents
    from smolagents.local_python_executor import LocalPythonExecutor
except ImportError:
    smolagents = None
else:
    from agentjail.smolagents import AgentjailExecutor
    from smolagents.local_python_executor import ExecutionTimeoutError, InterpreterError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECRET = "a key that no code of an agent sees"

# (task, the model's steps): each step is code; the last calls final_answer. One executor's outcome is the other's.
TASKS = [
    ("sum", ["x = [i * i for i in range(5)]", "final_answer(sum(x))"]),
    ("state", ["total = 0\nfor i in range(4):\n    total += i\nprint(total)", "total *= 2", "final_answer(total)"]),
    ("tools", ["a = lookup('apple')", "b = lookup('pear')\nprint(a, b)", "final_answer({'both': a + b})"]),
    ("mends an import", ["import os", "import math", "final_answer(math.floor(math.pi))"]),
    ("mends an error", ["1 / 0", "x = 'mended'", "final_answer(x)"]),
    ("mends a tool's error", ["lookup('plum')", "final_answer(lookup('pear'))"]),
    ("catches a tool's error", ["try:\n    v = lookup('plum')\nexcept KeyError:\n    v = -1", "final_answer(v)"]),
    ("functions", ["def twice(n):\n    return n * 2", "ys = list(map(twice, [1, 2]))", "final_answer(ys)"]),
    ("classes", ["class Point:\n    def __init__(self, x):\n        self.x = x\np = Point(4)", "final_answer(p.x)"]),
    ("values", ["from datetime import date\nd = date(2026, 1, 2)", "final_answer((d, {'k': {1, 2}}))"]),
    ("base functions", ["r = sqrt(16) + ceil(1.2)", "final_answer(round(r, 1))"]),
    ("output alone", ["print('line one')", "print('line two')", "final_answer(None)"]),
]


class Script:
    """A model that says what it was told to, and keeps what it was shown."""

    def __init__(self, steps):
        class Model(smolagents.Model):
            def generate(model, messages, **_):
                self.shown.append(text_of(messages[-1]))
                step = next(self.steps)
                return smolagents.ChatMessage(role="assistant", content="Thought: next.\n<code>\n%s\n</code>" % step)
        self.steps, self.shown, self.model = iter(steps), [], Model()


def text_of(message):
    content = message.content if hasattr(message, "content") else message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def shop():
    """A tool with state and a secret of the host's."""
    class Lookup(smolagents.Tool):
        name, description, output_type = "lookup", "The price of a fruit.", "integer"
        inputs = {"fruit": {"type": "string", "description": "its name"}}
        calls = 0

        def forward(self, fruit):
            Lookup.calls += 1
            return {"apple": 3, "pear": 4}[fruit] if SECRET else None
    return Lookup()


def agent(executor, steps, **options):
    script = Script(steps)
    options = {"tools": [shop()], "verbosity_level": -1, "max_steps": len(steps) + 1, **options}
    return smolagents.CodeAgent(model=script.model, executor=executor, **options), script


@unittest.skipUnless(smolagents, "smolagents is not installed")
class TestSmolagents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(parked=2, allow_imports=["*"], sessions_max=48)

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def executor(self, *args, **options):
        executor = AgentjailExecutor(*args, **{"service": self.service, **options})
        self.addCleanup(executor.cleanup)
        return executor

    def test_tasks_end_as_in_the_local_executor(self):
        for task, steps in TASKS:
            with self.subTest(task=task):
                outcomes = []
                for executor in (self.executor(), LocalPythonExecutor([])):
                    one, script = agent(executor, steps)
                    answer = one.run(task)
                    # The value of a step that ends with a definition or a block is told in other words.
                    logs = [step.observations.partition("Last output")[0] for step in one.memory.steps if getattr(step, "observations", None)]
                    failed = [bool(getattr(step, "error", None)) for step in one.memory.steps]
                    outcomes.append((answer, logs, failed))
                self.assertEqual(*outcomes)

    def test_errors_tell_a_model_what_to_do(self):
        executor = self.executor(["json"])
        executor.send_tools({"lookup": shop()})
        for code, *words in (
            ("import os", "Import of os is not allowed", "json", "math"),
            ("x = 1\nprint('before')\nimport requests", "Import of requests is not allowed", "import requests"),
            ("1 / 0", "line '1 / 0'", "ZeroDivisionError"),
            ("def f(:", "SyntaxError", "def f(:"),
            ("lookup('plum')", "KeyError", "plum"),
            ("lookup = 3", "lookup", "name of a tool"),
            ("!echo x", "SyntaxError", "!echo x"),
            ("import random\nrandom._os.system('id')", "random._os.system"),
        ):
            with self.subTest(code=code):
                with self.assertRaises(InterpreterError) as caught:
                    executor(code)
                for word in words:
                    self.assertIn(word, str(caught.exception))
        self.assertEqual(str(executor.state["_print_outputs"]), "")
        with self.assertRaises(InterpreterError):
            executor("print('seen')\n1 / 0")
        self.assertEqual(str(executor.state["_print_outputs"]), "seen\n")

    def test_imports(self):
        executor = self.executor(["os.*", "json"])
        self.assertEqual(executor("import os.path, json\nos.path.join('a', 'b')").output, "a/b")
        self.assertEqual(self.executor(["*"])("import tempfile, string\nstring.digits").output, "0123456789")

    def test_limits_of_time_hold(self):
        """Each of these outlasts LocalPythonExecutor's limit, or never ends there."""
        for code in ("import time\ntime.sleep(60)", "sum(range(3 * 10**9))", "10 ** (10 ** 8) % 7", "while True: pass", "[x for x in iter(int, 1)]"):
            with self.subTest(code=code):
                executor = self.executor(timeout_seconds=0.5)
                executor("1")
                start = time.monotonic()
                with self.assertRaises((ExecutionTimeoutError, InterpreterError)):
                    executor(code)
                self.assertLess(time.monotonic() - start, 20)
                self.assertEqual(executor("1 + 1").output, 2)

    def test_variables_survive_a_timeout(self):
        executor = self.executor(timeout_seconds=0.5)
        executor("x = 41")
        with self.assertRaises(ExecutionTimeoutError):
            executor("while True: pass")
        self.assertEqual(executor("x + 1").output, 42)

    def test_a_session_that_ends_says_so(self):
        executor = self.executor()
        executor.send_variables({"n": 5})
        executor("x = 1")
        executor.session.close()
        with self.assertRaises(InterpreterError) as caught:
            executor._opened = lambda: executor.session
            executor("x")
        self.assertIn("gone", str(caught.exception))
        del executor._opened
        self.assertEqual(executor("n").output, 5)

    def test_secrets_and_state_stay_on_the_host(self):
        executor, tool = self.executor(["*"]), shop()
        executor.send_tools({"lookup": tool})
        self.assertEqual(executor("lookup('apple')").output, 3)
        self.assertEqual(type(tool).calls, 1)
        self.assertNotIn(SECRET, executor("repr((lookup, lookup.__doc__, dir()))").output)

    def test_managed_agents(self):
        inner, _ = agent(self.executor(), ["final_answer(lookup('pear') * 10)"], name="buyer", description="Buys fruit.")
        outer, _ = agent(self.executor(), ["text = buyer(task='buy')", "final_answer('40' in text)"], managed_agents=[inner])
        self.assertIs(outer.run("go"), True)

    def test_tools_with_objects_images_and_tables(self):
        class Connection:
            def __str__(self):
                return "a connection"
        connection = Connection()

        def connect(): return connection
        def use(c, *more, **named): return c is connection, len(more), sorted(named)
        executor = self.executor(additional_functions={"connect": connect, "use": use})
        self.assertEqual(executor("use(connect(), 1, 2, k=3)").output, (True, 2, ["k"]))
        self.assertIs(executor("connect()").output, connection)
        self.assertIn("a connection", executor("print(connect())").logs)
        executor.send_variables({"given": [connection, 1]})
        self.assertEqual(executor("use(given[0])").output, (True, 0, []))
        self.assertEqual(executor("use({'__host_object__': 99})").output, (False, 0, []))
        try:
            from PIL import Image
        except ImportError:
            return
        functions = {"draw": lambda: Image.new("RGB", (3, 2)), "width": lambda image: image.width}
        executor = self.executor(additional_functions=functions)  # no PIL in the jail: the image stays here
        self.assertEqual(executor("image = draw()\nwidth(image)").output, 3)
        self.assertEqual(executor("image").output.size, (3, 2))

    def test_a_final_answer_of_the_callers(self):
        class Final(smolagents.Tool):
            name, description, output_type = "final_answer", "Ends.", "any"
            inputs = {"answer": {"type": "any", "description": "it"}, "sure": {"type": "boolean", "description": "it", "nullable": True}}

            def forward(self, answer, sure=None):
                return answer, sure
        executor = self.executor()
        executor.send_tools({"final_answer": Final()})
        got = executor("final_answer('x', sure=True)\nprint('not reached')")
        self.assertEqual((got.output, got.is_final_answer, got.logs), (("x", True), True, ""))

    def test_state_is_read_from_the_session(self):
        executor = self.executor()
        executor("x = {'a': (1, 2)}\ny = object()")
        self.assertEqual(executor.state["x"], {"a": (1, 2)})
        self.assertIsInstance(executor.state["y"], agentjail.Handle)
        self.assertIn("object object", str(executor.state["y"]))
        with self.assertRaises(KeyError):
            executor.state["z"]

    def test_twelve_agents_in_threads(self):
        answers, lock = {}, threading.Lock()

        def one(i):
            single, _ = agent(self.executor(), ["x = %d" % i, "y = lookup('pear')", "final_answer(x * 100 + y)"])
            answer = single.run("go")
            with lock:
                answers[i] = answer
        threads = [threading.Thread(target=one, args=(i,)) for i in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
        self.assertEqual(answers, {i: i * 100 + 4 for i in range(12)})

    def test_cleanup(self):
        before = self.service.stats()["sessions"]
        with self.executor() as executor:
            executor("1")
            self.assertEqual(self.service.stats()["sessions"], before + 1)
        self.assertEqual(self.service.stats()["sessions"], before)
        one, _ = agent(self.executor(), ["final_answer(1)"])
        with one:
            one.run("go")
        self.assertEqual(self.service.stats()["sessions"], before)

    def test_the_example(self):
        script = Script(["final_answer(price('apple') * 2 + price('pear'))"])
        with mock.patch.object(smolagents, "InferenceClientModel", lambda: script.model), contextlib.redirect_stdout(io.StringIO()) as out:
            runpy.run_path(os.path.join(ROOT, "docs", "examples", "codeagent.py"))
        self.assertIn("1.75", out.getvalue())

    def test_output_is_bounded(self):
        executor = self.executor(max_print_outputs_length=100)
        logs = executor("for i in range(1000): print(i)").logs
        self.assertLess(len(logs), 250)
        self.assertIn("truncated", logs)


if __name__ == "__main__":
    unittest.main()
