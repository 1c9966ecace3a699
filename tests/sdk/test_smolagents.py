"""agentjail.smolagents with the real package: its agent with a scripted model in both executors, tools and managed agents that stay on
the host, and what its users have reported: limits of time that hold, threads, errors that a model can mend, nothing left behind."""

import contextlib
import copy
import gc
import io
import os
import pickle
import runpy
import threading
import time
import traceback
import types
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

    def test_a_long_text_is_a_text(self):
        executor = self.executor()
        text = executor("text = 'é' * 700_000 + 'z'\ntext").output
        self.assertEqual((type(text), len(text), text[-2:]), (str, 700_001, "éz"))
        inside = executor("[text]").output  # a list that is too long stays in the session, and its text with it
        self.assertEqual((inside[0][-2:], len(str(inside[0])), inside[0:1][0][1:3]), ("éz", 700_001, "éé"))
        shown = executor("class Long:\n    def __str__(self): return 'y' * 600_000\nLong()").output
        self.assertEqual(len(str(shown)), 600_000)

    def test_files(self):
        executor = self.executor(files={"a.txt": "of each session"})
        executor.open().write_files({"b.txt": "of this one"})
        read = "open('/input/a.txt').read() + ', ' + open('/input/b.txt').read()"
        self.assertEqual(executor(read).output, "of each session, of this one")
        executor.cleanup()
        self.assertEqual(executor("open('/input/a.txt').read()").output, "of each session")

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
        # A module's own imports are its own business, and a module below another is allowed alone.
        executor = self.executor(["email.utils"])
        self.assertEqual(executor("import statistics\nfrom email.utils import quote\n(statistics.mean([1, 2]), quote('a'))").output, (1.5, "a"))
        with self.assertRaises(InterpreterError):
            executor("import fractions")

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
        caught = []

        def step():  # not in the main thread, which alone gets signals
            try:
                executor("while True: pass")
            except ExecutionTimeoutError as e:
                caught.append(str(e))
        thread = threading.Thread(target=step)
        thread.start()
        thread.join(60)
        self.assertEqual(len(caught), 1)
        self.assertIn("0.5 seconds", caught[0])
        self.assertEqual(executor("x + 1").output, 42)

    def test_a_session_that_ends_says_so(self):
        """Once, and the next step has a new one: after a jail that ended, a service that died, and a fork."""
        def dies(executor):
            executor.session.service._process.process.kill()
            executor.session._link._reader.join(60)

        def in_a_child(executor, *checks):
            pid = os.fork()
            if pid == 0:
                try:
                    for check in checks:
                        check()
                    executor.cleanup()
                    os._exit(0)
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
            self.assertEqual(os.waitpid(pid, 0)[1], 0)

        with Service(parked=0) as service:
            executor = self.executor(service=service)
            executor.send_variables({"n": 5})

            def tells():
                with self.assertRaises(InterpreterError) as caught:
                    executor("x")
                self.assertIn("gone", str(caught.exception))

            def goes_on():
                self.assertEqual(executor("x = 1\nn").output, 5)
            goes_on()
            in_a_child(executor, tells, goes_on)
            self.assertEqual(executor("x").output, 1)
            for end in (lambda e: e.session.close(), dies):
                end(executor)
                tells()
                goes_on()
            executor.cleanup()
            goes_on()

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

    def test_input_is_this_programs_where_it_is_given(self):
        code = "name = input('name? \\x1b]52;c;AAAA\\a')\nname"
        for executor, shown in ((self.executor(additional_functions={"input": input}), "name? \\x1b]52;c;AAAA\\x07"),
                                (LocalPythonExecutor([], additional_functions={"input": input}), "name? \x1b]52;c;AAAA\a")):
            executor.send_tools({})
            with mock.patch("sys.stdin", io.StringIO("Ada\n")), mock.patch("sys.stdout", io.StringIO()) as out:
                self.assertEqual(executor(code).output, "Ada")
            self.assertEqual(out.getvalue(), shown)
        executor = self.executor()
        with mock.patch("sys.stdin", io.StringIO("Ada\n")), self.assertRaisesRegex(InterpreterError, "EOFError"):
            executor(code)

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
        executor.send_variables({"n": 1, "class": 2, "a name": 3})
        executor("x = {'a': (1, 2)}\ny = object()\nn += 1\n_ = 5")
        state = executor.state
        self.assertEqual(state["x"], {"a": (1, 2)})
        self.assertEqual((state["n"], state["class"], state["a name"], state.get("_")), (2, 2, 3, 5))
        self.assertIn("object object", str(state["y"]))
        self.assertTrue("x" in state and "z" not in state)
        with self.assertRaises(KeyError):
            state["z"]

    def test_objects_of_the_session_are_live(self):
        executor = self.executor(["enum"])
        executor("from enum import Enum\nclass Colour(Enum):\n    RED = 1\n"
                 "class Box:\n    'A box.'\n    size: int = 5\n    def grow(self, by, *, times=1):\n        self.size += by * times\n        return self\n"
                 "    def __str__(self):\n        return f'box of {self.size}'\n    def __getitem__(self, key):\n        return {'k': 1}[key]\n"
                 "box, numbers = Box(), (n for n in range(250))")
        box, Box, numbers = (executor.state[name] for name in ("box", "Box", "numbers"))
        self.assertEqual((box.size, box.__doc__, str(box), box["k"], bool(box)), (5, "A box.", "box of 5", 1, True))
        self.assertEqual(box.grow(2, times=3).size, 11)
        self.assertEqual(executor("box.size").output, 11)
        self.assertTrue(isinstance(box, Box) and isinstance(Box, type) and not isinstance(5, Box))
        self.assertEqual((Box.__annotations__, Box.__name__, executor.state["Colour"].RED.value), ({"size": int}, "Box", 1))
        self.assertIsInstance(numbers, types.GeneratorType)
        self.assertEqual(list(numbers), list(range(250)))
        for error, wrong in ((AttributeError, lambda: box.none), (KeyError, lambda: box["none"]), (TypeError, lambda: len(box)),
                             (AttributeError, lambda: box.__dict__), (AttributeError, lambda: setattr(box, "size", 3)),
                             (AttributeError, lambda: getattr(box, "size; import os"))):
            with self.assertRaises(error):
                wrong()
        self.assertEqual(executor("sorted(n for n in dir() if 'agentjail' in n)").output, [])
        self.assertEqual((box, copy.deepcopy(box)), (executor.state["box"], box))
        self.assertEqual(pickle.loads(pickle.dumps(box)), object.__getattribute__(box, "_handle"))
        executor.send_variables({"again": [box]})
        self.assertTrue(executor("again[0] is box").output)
        self.assertEqual(str(box), "box of 11")
        executor.cleanup()
        self.assertEqual((str(box), "Box object" in repr(box)), ("box of 11", True))
        with self.assertRaises(agentjail.SessionEnded):
            box.size

    def test_functions_have_their_source(self):
        """As in LocalPythonExecutor, so that the caller can make a tool of one."""
        code = "def twice(n: int) -> int:\n    'Doubles.'  # a comment\n    return n * 2\ntwice"
        local = LocalPythonExecutor([])
        local.send_tools({})
        executor = self.executor()
        function = executor(code).output
        executor("x = 1")
        self.assertEqual(function.__source__, local(code).output.__source__)
        self.assertEqual(smolagents.utils.get_source(function), function.__source__)
        for other in ("lambda: 1", "import math\nmath.sin"):
            with self.assertRaises(AttributeError):
                executor(other).output.__source__

    def test_pythons_own_functions(self):
        """Those that run text are there for who gives them, and no step gives the commonest functions another meaning."""
        executor = self.executor(["builtins"])
        for name in ("eval", "exec", "compile", "globals", "locals"):
            for code in (name, f"import builtins\nbuiltins.{name}"):
                with self.subTest(code=code), self.assertRaises(InterpreterError):
                    executor(code)
        for code in ("print = 3", "for list in [1]: pass", "sum = 0"):
            with self.subTest(code=code), self.assertRaisesRegex(InterpreterError, "Cannot assign to .* built-in function"):
                executor(code)
        self.assertEqual(executor("id, input = 1, 2\nsum([id, input])").output, 3)
        self.assertEqual(self.executor(additional_functions={"eval": eval})("eval('1 + 1')").output, 2)
        executor = self.executor()
        executor.send_tools({"exec": exec})
        self.assertEqual(executor("exec('x = 5')\nx").output, 5)
        self.assertEqual(self.executor(builtins="standard")("max = 3\neval('max')").output, 3)

    def test_packages_that_the_first_step_imports(self):
        """Beside `*` these are named to the session, which loads their C code ahead."""
        from agentjail.smolagents import packages_imported
        code = "import numpy as np, json\nfrom scipy.stats import norm; import pandas\n  import os.path\nx = 'import'\nimport é, a..b, -x\nfrom . import y"
        self.assertEqual(packages_imported(code) - {"np"}, {"numpy", "scipy.stats", "pandas"})
        self.assertLessEqual(len(packages_imported("\n".join(f"import m{n}" for n in range(5000)))), 100)
        for imports, want in ((["*"], True), (["json"], False)):
            with mock.patch("agentjail.smolagents.Session", side_effect=agentjail.SetupError("asked", "")) as session:
                with self.assertRaises(InterpreterError):
                    self.executor(imports)("import not_a_package")
            self.assertEqual("not_a_package" in session.call_args.kwargs["imports"], want)

    def test_tools_fail_in_every_way(self):
        class Odd(Exception):
            def __str__(self):
                raise ValueError("no text")

        class NoText:
            __str__ = __repr__ = lambda self: 1 / 0

        def odd(): raise Odd
        def leave(): raise SystemExit(3)
        def huge(): return "x" * (2 << 20)
        def itself(a=[]): return a.append(a) or a
        def again(): return executor("1")
        def by_another(): return other("again()").output
        def reads(): return executor.state.get("x", "the step is in the way")
        executor = self.executor(additional_functions={"odd": odd, "leave": leave, "huge": huge, "itself": itself, "again": again, "reads": reads, "by_another": by_another,
                                                       "least": min, "print": print, "eval": eval, "no_text": NoText})
        other = self.executor(additional_functions={"again": again})
        for code, words in (("odd()", "Odd"), ("leave()", "SystemExit"), ("huge()", "bytes"), ("itself()", "Recursion"), ("again()", "waits for the tool"),
                            ("by_another()", "waits for the tool")):
            with self.subTest(code=code), self.assertRaises(InterpreterError) as caught:
                executor(code)
            self.assertIn(words, str(caught.exception))
        got = executor("x = 1\nprint(reads())\n[least(3, 2), eval('2 + 2')]")
        self.assertEqual((got.output, got.logs), ([2, 4], "the step is in the way\n"))  # print and eval are the jail's own
        self.assertIn("<NoText>", executor("str(no_text())").output)

    def test_a_tool_that_is_taken_back_is_gone(self):
        executor = self.executor()
        executor.send_tools({"one": lambda: 1, "two": lambda: 2})
        self.assertEqual(executor("one() + two()").output, 3)
        executor.send_tools({"one": lambda: 10})
        self.assertEqual(executor("one()").output, 10)
        for _ in range(2):
            with self.assertRaises(InterpreterError) as caught:
                executor("two()")
            self.assertIn("two", str(caught.exception))
            executor.cleanup()
        executor.send_variables({"one": 5})  # the tool's name stays the tool's
        self.assertEqual((executor("one()").output, executor.state["one"]), (10, 5))

    def test_a_module_that_the_tree_lacks(self):
        for modules in (["i_do_not_exist"], ["json", "i_do_not_exist.*"]):
            with self.assertRaises(InterpreterError) as caught:
                self.executor(modules)
            for word in ("Non-installed authorized modules: i_do_not_exist.", "Env.create('data', packages=['i_do_not_exist'])"):
                self.assertIn(word, str(caught.exception))
        self.assertEqual(self.executor(["*", "json.decoder"])("1").output, 1)

    def test_a_module_that_is_no_list(self):
        with self.assertRaisesRegex(TypeError, r"additional_authorized_imports=\['numpy'\]"):
            AgentjailExecutor("numpy")
        self.assertIn("*", AgentjailExecutor("*").authorized_imports)

    def test_the_prompt_names_what_the_executor_allows(self):
        executor = self.executor(["json", "email.*"])
        one, _ = agent(executor, [], additional_authorized_imports=["json", "email.*"])
        self.assertEqual(sorted(one.authorized_imports), executor.authorized_imports)
        with self.assertRaises(InterpreterError) as caught:
            executor("import os")
        self.assertIn("Authorized imports are: %s" % sorted(one.authorized_imports), str(caught.exception))

    def test_an_end_for_memory_says_so(self):
        executor = self.executor()
        executor.send_variables({"n": 5})
        with self.assertRaises(InterpreterError) as caught:
            executor("x = [bytes(1 << 20) for _ in range(10**6)]")
        self.assertRegex(str(caught.exception).lower(), "memory")
        self.assertEqual(executor("n").output, 5)

    def test_one_executor_in_threads(self):
        executor, got = self.executor(additional_functions={"slow": lambda: time.sleep(0.05)}), []

        def one(i):
            step = executor("slow()\nprint(%d)\nx%d = %d" % (i, i, i))
            got.append((step.output, step.logs))
        threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(60)
        self.assertEqual(sorted(got), [(i, "%d\n" % i) for i in range(6)])
        self.assertEqual(executor("[x0, x1, x2, x3, x4, x5]").output, [0, 1, 2, 3, 4, 5])

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
        dropped = AgentjailExecutor(service=self.service)
        dropped("1")
        del dropped  # nobody called cleanup()
        gc.collect()
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
