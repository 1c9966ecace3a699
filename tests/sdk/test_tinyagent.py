"""agentjail.tinyagent beside the real executor of tiny-agent-os: the same programs through both, and what only a jail can do."""

import threading
import time
import types
import unittest
from unittest import mock

from agentjail import Service
from agentjail.tinyagent import ExecutionLimits, JailExecutor, PythonExecutor

try:
    from tinyagent.agents import code_agent
except ImportError:
    code_agent = None


def add(a: int, b: int) -> int:
    return a + b


def lookup(key: str) -> int:
    return {"one": 1}[key]


# Programs whose outcome is the same in both: (output, is_final), or the class and the text of the exception.
SAME = [
    "print(2 + 2)",
    "print('  stripped  ')\nprint()",
    "x = 1",
    "print(add(2, 3))",
    "final_answer(add(2, 3))",
    "final_answer('text'); print('later')",
    "final_answer([1, 'a', None, 2.5])",
    "final_answer({'k': (1, 2)})",
    "import math\nprint(math.floor(math.pi * 100))",
    "from math import sqrt\nfinal_answer(sqrt(16))",
    "import json as j\nprint(j.dumps({'a': [1, 2]}))",
    "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(15))",
    "print(sorted([3, 1, 2]), sum(range(5)), max([1, 9]), dict(a=1), tuple([1]), list(zip([1], [2])), round(2.567, 1))",
    "print([i for i, c in enumerate('abc') if c != 'b'])",
    "1 / 0",
    "[][1]",
    "{}['missing']",
    "int('z')",
    "print(undefined_name)",
    "'a' + 1",
    "lookup('two')",
    "add(1)",
    "import os",
    "from os.path import join",
    "import subprocess, sys",
    "def f(:",
]
CLASS_ONLY = {"add(1)", "def f(:", "import os", "from os.path import join", "import subprocess, sys"}  # the texts differ, both name what is wrong


class TestBeside(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(parked=2, allow_imports=["math", "json"])

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def executor(self, kind=PythonExecutor, **options):
        options = {"service": self.service, **options} if kind is PythonExecutor else {}
        executor = kind({"math", "json"}, **options)
        executor._globals.update(add=add, lookup=lookup)
        return executor

    @unittest.skipUnless(code_agent, "tiny-agent-os is not installed")
    def test_the_same_programs(self):
        executors = self.executor(), self.executor(code_agent.PythonExecutor)
        for code in SAME:
            with self.subTest(code=code):
                ours, theirs = map(outcome, executors, (code, code))
                if code in CLASS_ONLY:
                    ours, theirs = ours[0], theirs[0]
                self.assertEqual(ours, theirs)

    @unittest.skipUnless(code_agent, "tiny-agent-os is not installed")
    def test_the_agent_itself(self):
        """TinyCodeAgent with a scripted model: an error that it mends, a tool, and a final answer."""
        replies = iter(["```python\nprint(lookup('two'))\n```", "```python\nprint(lookup('one'))\n```", "```python\nfinal_answer(add(lookup('one'), 41))\n```"])
        seen = []

        def create(messages, **_):
            seen.append(messages[-1]["content"])
            return types.SimpleNamespace(choices=[types.SimpleNamespace(message=types.SimpleNamespace(content=next(replies)))])
        with mock.patch.object(code_agent, "PythonExecutor", lambda imports: self.executor()), mock.patch.dict("os.environ", OPENAI_API_KEY="none"):
            from tinyagent import tool
            agent = code_agent.TinyCodeAgent(tools=[tool(add), tool(lookup)])
            agent.client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=types.SimpleNamespace(create=create)))
            self.assertEqual(agent.run("what is one and 41?"), "42")
        self.assertIn("two", seen[1])
        self.assertEqual(seen[2], "Observation:\n1\n")

    def test_a_boundary(self):
        """What the original lets through, although its import check is the same."""
        with self.assertRaises(Exception):
            self.executor().run("import math\nmath.__loader__.load_module('os').system('id')")
        escape = "print([c.__name__ for c in ().__class__.__base__.__subclasses__()].count('Popen'))"
        with self.assertRaises(Exception):
            self.executor().run(escape)

    def test_no_final_answer_is_left(self):
        executor = self.executor()
        self.assertEqual(executor.run("final_answer(1)"), ("1", True))
        self.assertEqual(executor.run("print('next')"), ("next", False))
        with self.assertRaises(ZeroDivisionError):
            executor.run("print('out'); 1 / 0; final_answer(1)")
        self.assertEqual(executor.run("x = 2"), ("", False))

    def test_standard_input(self):
        self.assertEqual(self.executor(builtins="standard").run("final_answer(input())", stdin="a\nb"), ("a", True))
        with self.assertRaisesRegex(NameError, "input"):
            self.executor().run("input()", stdin="a")

    def test_time_runs_out(self):
        with self.assertRaises(TimeoutError):
            self.executor(timeout=0.3).run("while True: pass")

    def test_state_of_tools_stays_on_the_host(self):
        seen = []
        executor = self.executor()
        executor._globals["note"] = seen.append
        executor.run("note('a')\nnote([1, 2])")
        self.assertEqual(seen, ["a", [1, 2]])


class TestLaterShape(unittest.TestCase):
    def test_results(self):
        executor = JailExecutor({"math"}, ExecutionLimits(timeout=1, output=20))
        executor.inject("n", 5)
        executor.inject("add", add)
        got = executor.run("import math\nprint(add(n, math.floor(2.5)))")
        self.assertEqual((got.output, got.is_final, got.error, got.timed_out, got.killed), ("7", False, None, False, False))
        got = executor.run("final_answer(n)")
        self.assertEqual((got.output, got.is_final), ("5", True))
        got = executor.run("print('x' * 100)")
        self.assertEqual(got.output, "x" * 20)
        got = executor.run("1 / 0; final_answer(1)")
        self.assertEqual((got.is_final, got.error), (False, "ZeroDivisionError: division by zero"))
        got = executor.run("while True: pass")
        self.assertEqual((got.timed_out, got.killed, got.error.partition(":")[0]), (True, False, "ExecutionTimeout"))
        self.assertGreater(got.duration, 0.9)
        self.assertIn("not allowed", executor.run("import os").error)
        self.assertEqual(executor.run("print(int(input()) + int(input()))", stdin="4\n5").output, "9")
        self.assertEqual(executor.run("input()").error.partition(":")[0], "EOFError")

    def test_kill(self):
        executor = JailExecutor({"time"})
        executor.run("1")
        timer = threading.Timer(0.3, executor.kill)
        start = time.monotonic()
        timer.start()
        got = executor.run("while True:\n    try:\n        while True: pass\n    except BaseException: pass")
        self.assertEqual((got.killed, got.error), (True, "killed"))
        self.assertLess(time.monotonic() - start, 20, "less than its limit of time")
        timer.join()
        executor.kill()  # nothing runs
        self.assertEqual(executor.run("final_answer(3)").output, "3")

    def test_a_limit_that_means_nothing(self):
        with self.assertRaises(ValueError):
            ExecutionLimits(steps=10)
        with self.assertRaises(ValueError):
            JailExecutor().inject("not a name", 1)


def outcome(executor, code):
    try:
        return executor.run(code)
    except Exception as e:
        return type(e), str(e)


if __name__ == "__main__":
    unittest.main()
