"""Jails and sessions, as a program uses them: code, values, variables, files, tools, output as it comes, branches."""

import hashlib
import io
import os
import pathlib
import tempfile
import threading
import time
import unittest
from typing import Optional

import agentjail
from agentjail import Jail, Service, Session, SessionEnded, SnippetError, errors
from agentjail._unread import Unread
from test_pure_tools import HINTS, Color, Point


class Shared(unittest.TestCase):
    """One private service for the tests of a class."""

    service: Service

    @classmethod
    def setUpClass(cls):
        cls.service = Service(parked=1)

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def session(self, *tools, **options):
        session = Session(tools, service=self.service, **options)
        self.addCleanup(session.close)
        return session


class TestJail(Shared):
    def test_one_line(self):
        result = Jail(service=self.service).run("print('hello')\nsum(range(10))")
        self.assertEqual((result.value, result.stdout, result.status, result.ok, result.is_final), (45, "hello\n", "ok", True, False))

    def test_failure_is_a_result(self):
        result = Jail(service=self.service).run("x = 1\nx / 0")
        self.assertEqual((result.ok, result.status, result.error.type, result.error.line), (False, "error", "ZeroDivisionError", 2))
        with self.assertRaises(SnippetError) as caught:
            result.value
        self.assertEqual((caught.exception.type, caught.exception.line, caught.exception.result), ("ZeroDivisionError", 2, result))
        self.assertIn("line 2", str(caught.exception))

    def test_each_run_is_fresh(self):
        jail = Jail(service=self.service)
        jail.run("x = 1").raise_for_status()
        self.assertEqual(jail.run("x").error.type, "NameError")

    def test_imports_are_the_only_ones(self):
        jail = Jail(service=self.service, imports=["json"])
        self.assertEqual(jail.run("import json; json.dumps(1)").value, "1")
        self.assertEqual(jail.run("import math").status, "rejected")

    def test_timeout(self):
        result = Jail(service=self.service, timeout=0.2).run("while True: pass")
        self.assertEqual(result.status, "timeout")

    def test_final_answer(self):
        result = Jail(service=self.service).run("final_answer((1, 2))")
        self.assertEqual((result.is_final, result.final_answer), (True, (1, 2)))

    def test_files(self):
        code = "open('/output/a.txt', 'w').write(open('/input/in.txt').read().upper())"
        result = Jail(service=self.service).run(code, files={"in.txt": "text"}, output="data")
        (file,) = result.files
        self.assertEqual((file.name, file.size, file.media_type, file.data), ("a.txt", 4, "text/plain", b"TEXT"))
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(file.save(folder).read_bytes(), b"TEXT")
            self.assertRaises(FileExistsError, file.save, folder)

    def test_a_file_that_programs_of_the_host_obey(self):
        result = Jail(service=self.service).run("open('/output/.envrc', 'x').write('touch /tmp/x')", output="data")
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaisesRegex(ValueError, "obey", result.files[0].save, folder)
            self.assertEqual(os.listdir(folder), [])

    def test_unknown_option(self):
        with self.assertRaisesRegex(TypeError, "timeout_s"):
            Jail(service=self.service).run("1", timeout_s=1)

    def test_map(self):
        jail = Jail(service=self.service)
        done = []
        values = [r.value for r in jail.map([f"{i} * 2" for i in range(30)], workers=4, progress=lambda n, of: done.append((n, of)))]
        self.assertEqual(values, [i * 2 for i in range(30)])
        self.assertEqual(done[-1], (30, 30))
        jobs = ({"code": "x + 1", "inputs": {"x": i}} for i in range(5))
        self.assertEqual(sorted((i, r.value) for i, r in jail.map(jobs, ordered=False)), [(i, i + 1) for i in range(5)])

    def test_brief_results(self):
        """They read as the others do, but for the figures of each run."""
        shown = ("status", "ok", "reason", "limits_hit", "tool_calls", "session_alive", "final_answer", "is_final", "repr", "text", "type",
                 "stdout", "stderr", "stdout_bytes", "errors", "warnings", "imports", "results", "files")
        jail = Jail(service=self.service)
        for code in ("import math\nprint(1)\n(2, 'a')", "None", "1 / 0", "import os", "final_answer([])"):
            whole, brief = jail.run(code), jail.run(code, brief=True)
            for name in shown:
                self.assertEqual(getattr(whole, name) or None, getattr(brief, name) or None, (code, name))
            self.assertEqual((whole.for_model(), repr(whole)), (brief.for_model(), repr(brief)))
            self.assertLess(len(brief.raw), len(whole.raw))
            self.assertNotIn("enforced", brief.raw)
        with Session(service=self.service) as s:
            self.assertTrue(s.run("1", brief=True).session_alive)
            for result in (s.run("1"), s.run("[1, 2]", brief=True), jail.run("'é'"), jail.run("print(1)")):
                self.assertIsInstance(result._raw, Unread)  # the service writes it in the form that the client leaves unread

    def test_stdin(self):
        jail = Jail(service=self.service)
        self.assertEqual(jail.run("[int(x) for x in input().split()]", stdin="1 2\n").value, [1, 2])
        self.assertEqual([r.value for r in jail.map({"code": "int(input()) * 2", "stdin": f"{i}\n"} for i in range(3))], [0, 2, 4])
        with Session(service=self.service) as s:
            self.assertEqual(s.run("input()", stdin="a\nb").value, "a")
            self.assertEqual(s.run("input()").error.type, "EOFError")

    def test_map_left_early(self):
        results = Jail(service=self.service).map(["1", *["while True: pass"] * 8], workers=3)
        self.assertEqual(next(results).value, 1)
        results.close()
        self.assertEqual(Jail(service=self.service).run("2").value, 2)


class TestSession(Shared):
    def test_state_stays(self):
        with Session(service=self.service) as s:
            s.run("x = [1]")
            self.assertEqual(s.run("x.append(2); x").value, [1, 2])
            self.assertTrue(s.run("1").session_alive)
        self.assertTrue(s.closed)
        with self.assertRaisesRegex(SessionEnded, "closed"):
            s.run("1")

    def test_variables(self):
        s = self.session()
        s.set({"a": {1, 2}}, b=b"x")
        self.assertEqual((s.get("a"), s.get("b"), s.get("c", None)), ({1, 2}, b"x", None))
        self.assertEqual({k: (v.type, v.len) for k, v in s.vars().items()}, {"a": ("set", 2), "b": ("bytes", 1)})
        with self.assertRaisesRegex(SnippetError, "NameError"):
            s.get("c")

    def test_files(self):
        s = self.session()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "host.bin")
            path.write_bytes(bytes(range(256)))
            s.write_files([path])
            s.write_files({"a/b.txt": "é", "/tmp/c": path})
        self.assertEqual(s.read_file("/input/host.bin"), bytes(range(256)))
        self.assertEqual(s.read_file("/input/a/b.txt").decode(), "é")
        self.assertIn(("c", "file", 256), [(e.name, e.type, e.size) for e in s.list_files("/tmp")])
        s.remove_file("/tmp/c")
        self.assertRaises(errors.NoSuchFile, s.read_file, "/tmp/c")

    def test_large_file_out(self):
        s = self.session()
        s.run("open('/tmp/big', 'wb').write(bytes(3_000_000) + b'end')").raise_for_status()
        data = s.read_file("/tmp/big")
        self.assertEqual((len(data), data[-3:]), (3_000_003, b"end"))

    def test_many_files_in(self):
        s = self.session()
        s.write_files({f"{i}.bin": bytes(900_000) for i in range(8)})
        self.assertEqual(s.run("sum(len(open(f'/input/{i}.bin', 'rb').read()) for i in range(8))").value, 7_200_000)

    def test_files_larger_than_a_request(self):
        data, text = bytes(range(256)) * (36 << 10), "line\n" * 100_000
        with Service(request_max="4M", parked=0) as service, Session(service=service) as s:
            s.write_files({"before": b"1", "big": data, "later": "2"})
            code = "import hashlib; d = open('/input/big', 'rb').read(); [len(d), hashlib.sha256(d).hexdigest()]"
            self.assertEqual(s.run(code, timeout=60).value, [9 << 20, hashlib.sha256(data).hexdigest()])
            self.assertEqual(s.run("[open('/input/' + n).read() for n in ('before', 'later')]").value, ["1", "2"])
        with Service(request_max="64K", parked=0) as service, Session(service=service) as s:
            s.write_files({"/tmp/text": text})
            self.assertEqual(s.read_file("/tmp/text"), text.encode())
            with self.assertRaisesRegex(SnippetError, "Not a directory"):
                s.write_files({"/tmp/text/x": text})

    def test_output_as_it_comes(self):
        s = self.session()
        out, err = io.StringIO(), io.StringIO()
        result = s.run("import sys\nprint('a')\nprint('b', file=sys.stderr)\n1", on_stdout=out.write, on_stderr=err.write)
        self.assertEqual((out.getvalue(), err.getvalue(), result.stdout, result.value), ("a\n", "b\n", "a\n", 1))

    def test_stream(self):
        s = self.session()
        *pieces, result = s.stream("print('x' * 10)\n3")
        self.assertEqual(("".join(p.text for p in pieces), result.value), ("x" * 10 + "\n", 3))

    def test_output_for_a_slow_reader(self):
        """Nothing is lost of what comes, with the run's end, while an earlier piece is handed on."""
        def shown():
            while not got:
                time.sleep(0.01)

        def slow(text):
            got.append(text)
            while s._link._core._pending:  # until the run has ended
                time.sleep(0.01)
        s = self.session(shown)
        for _ in range(2):
            got = []
            s.run("print('a', flush=True); shown(); print('b', flush=True)", on_stdout=slow)
            self.assertEqual("".join(got), "a\nb\n")
            got = []
            for piece in s.stream("print('a', flush=True); shown(); print('b', flush=True)"):
                if isinstance(piece, agentjail.Output):
                    slow(piece.text)
            self.assertEqual("".join(got), "a\nb\n")

    def test_stream_left_early_ends_the_run(self):
        s = self.session()
        for _ in s.stream("print('begun', flush=True)\nwhile True: pass"):
            break
        self.assertEqual(s.run("1").value, 1)

    def test_a_callback_that_fails_ends_the_run(self):
        s = self.session()
        with self.assertRaises(ZeroDivisionError):
            s.run("print(1, flush=True)\nwhile True: pass", on_stdout=lambda text: 1 / 0)
        self.assertEqual(s.run("1").value, 1)

    def test_interrupt(self):
        s = self.session()
        begun = threading.Event()
        timer = threading.Thread(target=lambda: (begun.wait(), s.interrupt()))
        timer.start()
        result = s.run("x = 1\nprint(1, flush=True)\nwhile True: pass", on_stdout=lambda text: begun.set())
        timer.join()
        self.assertEqual((result.error.type, result.raw["told_to_stop"], s.get("x")), ("KeyboardInterrupt", "caller", 1))

    def test_branches(self):
        s = self.session(branching=True)
        s.run("x = 1")
        with s.fork() as f:
            f.run("x = 2")
            kept = s.checkpoint()
            s.run("x = 3")
            s.rollback(kept)
            self.assertEqual((s.get("x"), f.get("x")), (1, 2))
            s.forget(kept)

    def test_a_jail_that_ends(self):
        stubborn = "sum(range(10 ** 12))"  # which looks at no signal
        s, b = self.session(), self.session(branching=True)
        b.run("x = 1")
        kept = b.checkpoint()
        for session in (s, b):
            result = session.run(stubborn, timeout=0.1)
            self.assertEqual((result.status, result.session_alive), ("timeout", False))
        with self.assertRaisesRegex(SessionEnded, "fix: open another one"):
            s.run("1")
        s.close()
        b.rollback(kept)
        self.assertEqual(b.get("x"), 1)

    def test_a_session_that_was_idle_too_long(self):
        with Service(idle=0.1, parked=0) as service, Session(service=service) as s:
            end = time.monotonic() + 60
            while service.stats()["sessions"] and time.monotonic() < end:
                time.sleep(0.02)
            with self.assertRaisesRegex(SessionEnded, "idle"):
                s.run("1")

    def test_handles(self):
        s = self.session()
        handle = s.run("(i * i for i in range(4))", handles=True).value
        self.assertIsInstance(handle, agentjail.Handle)
        self.assertEqual(s.run("list(g)", inputs={"g": handle}).value, [0, 1, 4, 9])


class TestTools(Shared):
    def test_tools(self):
        def weather(city: str, days: int = 2) -> list:
            """What it will be like."""
            return [f"{city}: rain"] * days

        async def double(x):
            return x * 2

        def total(*numbers: int, scale: int = 1, **more: int):
            return sum(numbers) * scale + sum(more.values())

        s = self.session(weather, double, total)
        self.assertEqual(s.run("weather('Oslo')").value, ["Oslo: rain"] * 2)
        self.assertIn("What it will be like.", s.run("weather.__doc__").value)
        self.assertEqual(s.run("await double((1, 2))").value, [1, 2, 1, 2])
        self.assertEqual(s.run("total(1, 2, scale=10, a=5)").value, 35)

    def test_the_service_takes_every_declaration(self):
        def every(i):
            def f(x, y=None, *more, z=None, **rest):
                return [x]

            f.__annotations__ = dict.fromkeys(("x", "y", "more", "z", "rest"), HINTS[i][0])
            return agentjail.Tool(f, name=f"f{i}", returns=i % 2 == 0)

        s = self.session(*[every(i) for i in range(len(HINTS))])
        names = [f"f{i}" for i, (hint, _) in enumerate(HINTS) if hint is int]
        self.assertEqual(s.run(f"{names[0]}(1, 2, 3, 4, z=5, k=6)").value, [1])
        self.assertIn("expected integer", s.run(f"{names[0]}('1')").error.message)

    def test_objects_by_their_hints(self):
        def move(points: list[Point], by: Point = Point(1), *, color: Optional[Color] = None) -> Point:  # noqa: B008
            seen.append((points, by, color))
            return Point(points[0].x + by.x)

        seen = []
        s = self.session(move)
        self.assertEqual(s.run("move([{'x': 4}], color='red')").value, {"x": 5, "y": 0.5})
        self.assertEqual(s.run("move(points=[{'x': 4}], by={'x': 2, 'y': 0})").value, {"x": 6, "y": 0.5})
        self.assertEqual(seen, [([Point(4)], Point(1), Color.RED), ([Point(4)], Point(2, 0), None)])
        self.assertIn("/points", s.run("move([{}])").error.message)

    def test_an_exception_is_its_type_and_text(self):
        def fails():
            secret = "hidden"
            raise LookupError("no such city")

        s = self.session(fails)
        code = "try:\n    fails()\nexcept LookupError as e:\n    final_answer([type(e).__name__, str(e)])"
        self.assertEqual(s.run(code).final_answer, ["ToolError", "LookupError: no such city"])
        self.assertNotIn("hidden", str(s.run("fails()").raw))

    def test_a_value_that_cannot_go_in(self):
        s = self.session(agentjail.Tool(lambda: object(), name="odd"))
        self.assertEqual(s.run("odd()").error.type, "ToolError")
        self.assertIn("ResultError", s.run("odd()").error.message)

    def test_a_tool_that_hangs_does_not_hold_the_run(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        s = self.session(agentjail.Tool(lambda: gate.wait(), name="hang"))
        self.assertEqual(s.run("hang()", timeout=0.3).status, "timeout")

    def test_a_tool_uses_the_client(self):
        jail = Jail(service=self.service)
        s = self.session(agentjail.Tool(lambda code: jail.run(code).value, name="inner"))
        self.assertEqual(s.run("inner('6 * 7')").value, 42)


if __name__ == "__main__":
    unittest.main()
