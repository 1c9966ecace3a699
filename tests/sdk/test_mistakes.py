"""Mistakes of a caller: each gets an exception that names the argument, at once, and nothing of a mistake is run or lost in silence."""

import asyncio
import copy
import functools
import math
import pickle
import subprocess
import sys
import unittest

import agentjail
from agentjail import AsyncJail, AsyncService, AsyncSession, Jail, Service, Session, SessionEnded, SetupError, errors
from agentjail.tinyagent import JailExecutor
from test_service import FEW


def add(a: int, b: int) -> int:
    return a + b


async def in_loop(code):
    async with AsyncService(policy=FEW, parked=0) as service:
        return await AsyncJail(service=service).run(code)


class TestMistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service(policy=FEW, parked=1)
        cls.jail, cls.session = Jail(service=cls.service), Session(service=cls.service)

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.service.close()

    def test_arguments(self):
        run, jail, one = self.session.run, self.jail, {"service": self.service}
        for error, words, call in (
            (TypeError, "timeout is a number of seconds, and no str", lambda: run("1", timeout="5")),
            (ValueError, "timeout of inf s", lambda: run("1", timeout=math.inf)),
            (ValueError, "timeout of nan s", lambda: run("1", timeout=math.nan)),
            (errors.ValueNotSent, "`stdin` has no form", lambda: run("1", stdin=b"x")),
            (errors.ValueNotSent, "`code` has no form", lambda: run(b"1")),
            (TypeError, "mapping of names to values, and not list", lambda: run("1", inputs=[1])),
            (TypeError, "mapping of names to values, and not list", lambda: self.session.set([1])),
            (TypeError, "the file 'x'.* and no int", lambda: run("1", files={"x": 5})),
            (TypeError, r"imports is a list of modules: imports=\['json'\]", lambda: Jail(imports="json")),
            (TypeError, "allow_imports is a list of modules", lambda: Service(allow_imports="json")),
            (TypeError, "'input' here; did you mean inputs.*stdin, .*tenant", lambda: agentjail.run("1", input=1)),
            (TypeError, r"'memory' here; .* service=Service\(memory=\.\.\.\)", lambda: agentjail.run("1", memory="1G")),
            (TypeError, "'network' here; a policy sets it: policy={'extends'", lambda: Jail(network="none")),
            (TypeError, r"'stdin' here; it is an option of run\(\)", lambda: Jail(stdin="")),
            (TypeError, r"'tenant' here; it is an option of Jail\(\) and Session", lambda: run("1", tenant="a")),
            (ValueError, "two files have the path /input/a .*'/x/a' and '/y/a'", lambda: run("1", files=["/x/a", "/y/a"])),
            (ValueError, "two files have the path /input/a .*'a' and '/input/a'", lambda: self.session.write_files({"a": "1", "/input/a": "2"})),
            (ValueError, "workers=-1", lambda: jail.map(["1"], workers=-1)),
            (ValueError, "workers=0", lambda: jail.map(["1"], workers=0)),
            (TypeError, "map takes snippets.* and not 1$", lambda: list(jail.map([1]))),
            (TypeError, "map takes snippets", lambda: list(jail.map([{"cod": "1"}]))),
            (TypeError, "imports is a list of modules", lambda: JailExecutor("json")),
            (errors.ToolError, "tools are a list of functions", lambda: Session(add, **one)),
            (errors.ToolError, "tools are a list of functions", lambda: Session("add", **one)),
            (errors.ToolError, "two tools have the name add", lambda: Session([add, add], **one)),
            (TypeError, r"service: Service\(.* str is another type", lambda: Jail(service="/run/agentjail.sock")),
            (TypeError, "AsyncService is another type", lambda: Session(service=AsyncService())),
            (TypeError, "Service is another type", lambda: AsyncSession(**one)),
            (TypeError, "Service is another type", lambda: AsyncJail(**one)),
            (SetupError, "true serve` ended with status 0, without a message", Service(program="/bin/true").ping),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()

    def test_code_that_no_request_can_hold_is_a_result(self):
        for code, line, words in (("1\n'\0'", 2, "U\\+0000 in line 2"), ("'\ud800'", 1, "U\\+D800 in line 1"), ("#" * (2 << 20), None, "2097152 bytes")):
            runs = self.session.run(code), self.jail.run(code), self.jail.run(code, on_stdout=print), next(self.jail.map([code])), asyncio.run(in_loop(code))
            for result in runs:
                self.assertEqual((result.status, result.error.type, result.error.line), ("rejected", "SourceError", line))
                self.assertRegex(result.for_model(), words)
                self.assertTrue(result.error.hint)
            self.assertTrue(runs[0].session_alive)
        self.assertEqual(self.session.run("1").value, 1)

    def test_an_adapter_without_its_package_names_the_extra(self):
        for name in ("smolagents", "ray"):
            code = f"import sys\nsys.modules['{name}'] = None\nimport agentjail.{name}"
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertIn(f"fix: pip install 'libagentjail[{name}]'", done.stderr)

    def test_nothing_to_set_is_set(self):
        self.session.set()
        self.session.set({})
        self.session.set({"a": 1}, b=2)
        self.assertEqual((self.session.get("a"), self.session.get("b")), (1, 2))

    def test_asyncio(self):
        async def mistakes():
            session = AsyncSession()
            await session.close()
            with self.assertRaises(SessionEnded):
                await session.run("1")
            async with AsyncService(policy=FEW, parked=0) as service, AsyncSession(service=service) as session:
                await session.set()
            with self.assertRaises(SessionEnded):
                await session.set()
            with self.assertRaisesRegex(ValueError, "workers=-1"):
                async for _ in AsyncJail().map(["1"], workers=-1):
                    pass

        asyncio.run(mistakes())

    def test_a_partial_function_has_the_name_of_the_whole(self):
        with Session([functools.partial(add, 1)], service=self.service) as session:
            self.assertEqual(session.run("add(b=2)").value, 3)

    def test_copies(self):
        """A copy of a session would close the session when it is collected."""
        for thing in (self.session, self.service, AsyncSession()):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    make(thing)
        with self.assertRaises(TypeError):
            pickle.dumps(self.jail)  # with its service
        self.assertEqual(self.session.run("1").value, 1)

    def test_a_jail_crosses_processes(self):
        jail = pickle.loads(pickle.dumps(Jail(imports=["math"], tools=[add], timeout=9)))
        self.assertEqual(jail.run("import math\nadd(1, math.floor(2.5))").value, 3)
        self.assertEqual(copy.copy(jail).run("1").value, 1)
        self.assertEqual(repr(jail), "<Jail imports=['math'] tools=['add'] timeout=9>")


if __name__ == "__main__":
    unittest.main()
