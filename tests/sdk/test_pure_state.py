"""The client without a service: frames, requests and events as state, values both ways, hostile claims, errors."""

import contextlib
import copy
import datetime
import decimal
import enum
import fractions
import io
import json
import pathlib
import pickle
import re
import unittest
import unittest.mock
from base64 import b64decode
from dataclasses import dataclass
from html import unescape

from agentjail import EnumMember, Handle, Instance, Opaque, Result, SnippetError, _core, _requests, _toml, errors, values
from agentjail._process import command_options
from agentjail._progress import Bar
from agentjail._unread import UNREAD_MAX, Unread
from agentjail._wire import READ_BYTES, BrokenStream, Frames, frame, message_of


def feed(frames, data, piece=None):
    out = []
    while data:
        space = frames.space()
        count = min(len(space), len(data), piece or len(data))
        space[:count] = data[:count]
        del space
        out += map(message_of, frames.filled(count))
        data = data[count:]
    return out


class TestFrames(unittest.TestCase):
    def test_any_pieces(self):
        messages = [{"id": i, "text": "é" * i} for i in range(9)]
        data = b"".join(map(frame, messages))
        for piece in (1, 3, 7, 1000, None):
            self.assertEqual(feed(Frames(), data, piece), messages)

    def test_the_text_is_that_of_json(self):
        for message in ({}, {"a": 1, "é": 'x"\n\0', "f": [1.5, 1e300, -0.0, 1 << 70, True, None, {}, []]}, {"code": "\ud800"}, {1: (2, 3)}):
            self.assertEqual(frame(message)[4:].decode(), json.dumps(message, separators=(",", ":")))
        for wrong in (float("nan"), float("-inf"), object(), b""):
            self.assertRaises((TypeError, ValueError), frame, {"a": [wrong]})

    def test_a_long_frame_between_short_ones(self):
        messages = [{"a": 1}, {"a": "x" * (5 * READ_BYTES)}, {"a": 2}]
        frames = Frames()
        self.assertEqual(feed(frames, b"".join(map(frame, messages)), 50_000), messages)
        self.assertEqual(len(frames.space()), READ_BYTES)

    def test_a_length_alone_takes_no_memory(self):
        frames = Frames()
        feed(frames, (1 << 28).to_bytes(4, "big"))
        self.assertLess(len(frames.space()), 4 * READ_BYTES)

    def test_broken(self):
        for data in (b"\xff\xff\xff\xff", b"\0\0\0\2[]", b"\0\0\0\2{x", b"\0\0\0\3{} ", b"\0\0\0\0", b"\0\0\0\1\xff", frame({})[:3] + b"\xff" + b"[" * 255):
            with self.assertRaises(BrokenStream):
                feed(Frames(), data)


class Counter:
    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


class TestCore(unittest.TestCase):
    def setUp(self):
        self.core = _core.Core()
        self.woken = Counter()
        self.say(hello={"protocol": 1, "limits": {"request_bytes": 1000}})

    def say(self, **message):
        self.feed(frame(message))
        calls = list(self.core.calls)
        self.core.calls.clear()
        return calls

    def feed(self, data):
        while data:
            space = self.core.space()
            count = min(len(space), len(data))
            space[:count] = data[:count]
            del space
            self.core.received(count)
            data = data[count:]

    def begin(self, op="run", **members):
        pending, data = self.core.begin(_core.Request(op, members), self.woken)
        return pending, json.loads(data[4:])

    def test_answers_in_any_order(self):
        one, sent = self.begin(code="1")
        two, _ = self.begin()
        self.assertEqual(sent, {"id": one.id, "op": "run", "code": "1"})
        self.say(id=two.id, result={"value": 2})
        self.assertEqual((one.over, two.over, two.answer), (False, True, {"value": 2}))
        self.say(id=one.id, error={"code": "busy", "message": "full", "fix": "", "retry_ms": 7})
        self.assertIsInstance(one.error, errors.Busy)
        self.assertEqual((one.error.retry_ms, self.woken.count), (7, 2))

    def test_advice_names_what_the_reader_can_set(self):
        advice = "end idle ones sooner (--idle), or raise --sessions-max or --clients-max"
        for private, fix in (
            (False, advice),
            (True, "end idle ones sooner (Service(idle=…)), or raise Service(sessions_max=…) or --clients-max"),
        ):
            self.core._private = private
            pending, _ = self.begin()
            self.say(id=pending.id, error={"code": "busy", "message": "full", "fix": advice})
            self.assertEqual(pending.error.fix, fix)

    def test_a_late_answer_is_dropped(self):
        pending, _ = self.begin()
        ends = json.loads(self.core.forget(pending)[4:])
        self.assertEqual((ends["op"], ends["request"]), ("interrupt", pending.id))
        self.assertEqual(self.say(id=pending.id, result={}), [])
        self.assertEqual(self.say(id=pending.id, event="tool_call", call=1, tool="t", args={}), [])
        self.assertEqual((self.core.forget(pending), pending.over, self.woken.count), (b"", False, 0))

    def test_output_and_tools(self):
        pending, _ = self.begin()
        self.say(id=pending.id, event="stdout", data="a")
        (call,) = self.say(id=pending.id, event="tool_call", call=3, tool="t", args={"x": 1})
        self.assertEqual((pending.inbox, call.call, call.tool, call.args), ([("stdout", "a")], 3, "t", {"x": 1}))
        answer = json.loads(self.core.tool_answer(call, {"value": 1})[4:])
        self.assertEqual(answer, {"op": "tool_result", "request": pending.id, "call": 3, "value": 1})
        too_long = json.loads(self.core.tool_answer(call, {"value": "x" * 2000})[4:])
        self.assertEqual(too_long["error"]["type"], "ResultError")
        (again,) = self.say(id=None, request=pending.id, call=3, error={"code": "no_such_call", "message": "does not fit", "fix": ""})
        self.assertEqual((again.tool, again.args["type"]), ("", "ResultError"))

    def answered(self, raw, unread=True):
        """What a request for a run gets when the service writes this result."""
        pending, _ = self.core.begin(_core.Request("run", {}, _requests.result_of, unread=unread), self.woken)
        self.say(id=pending.id, result=raw)
        return pending.answer

    def test_an_answer_is_parsed_when_it_is_read(self):
        for value in (None, 0, True, 2.5, "", 'a"b\\', "\ud800é\0", [], {"__type__": "tuple", "data": [1, {"a": "}"}]}, [[["deep"]]]):
            raw = {"id": "1f", "status": "ok", "reason": "finished", "value": value, "repr": 'x","value":7', "stdout": "é\n", "session": "alive"}
            with self.subTest(value):
                self.assertIsInstance(self.answered(raw), Unread)
                self.assertEqual(self.answered(raw, unread=False), raw)
                by_value, whole, at_once = (Result(answer) for answer in (self.answered(raw), self.answered(raw), raw))
                self.assertEqual((by_value.ok, by_value.status, by_value.value), (True, "ok", at_once.value))
                self.assertEqual((whole.raw, whole.value, by_value.raw), (raw, at_once.value, raw))
                self.assertIs(by_value.raw, by_value.raw)
                self.assertEqual((by_value.stdout, by_value.id, repr(by_value)), ("é\n", "1f", repr(at_once)))
                self.assertEqual(pickle.loads(pickle.dumps(Result(self.answered(raw)))).raw, raw)

    def test_any_other_answer_is_parsed_at_once(self):
        ok = {"id": "1f", "status": "ok", "reason": "finished", "value": 1}
        others = ({**ok, "status": "error"}, {**ok, "reason": 'a "quote"'}, {"value": 1, **ok}, {**ok, "stdout": "x" * UNREAD_MAX}, {"status": "ok"}, {}, [])
        for raw in others:
            with self.subTest(str(raw)[:80]):
                self.assertEqual(self.answered(raw), raw)

    def test_an_answer_that_is_broken_behind_its_beginning(self):
        for rest in ("1", "1}", "1}} ", "1}}}", "1,}}", "", "nope}}", '1,"a":[}}'):
            pending, _ = self.core.begin(_core.Request("run", {}, _requests.result_of, unread=True), self.woken)
            body = b'{"id":%d,"result":{"id":"1f","status":"ok","reason":"finished","value":' % pending.id + rest.encode()
            self.feed(len(body).to_bytes(4, "big") + body)
            with self.subTest(rest), self.assertRaisesRegex(errors.ServiceError, "no JSON"):
                Result(pending.answer).raw  # noqa: B018
        self.assertEqual(self.answered({"status": "ok"}), {"status": "ok"})

    def test_a_request_that_is_too_long(self):
        with self.assertRaises(errors.TooLarge):
            self.begin(code="1", stdin="x" * 2000)
        for op, alive in (("run", "alive"), ("exec", None)):
            pending, sent = self.core.begin(_core.Request(op, {"code": "\n" * 600}), self.woken)
            self.assertEqual((sent, pending.answer["status"], pending.answer.get("session")), (b"", "rejected", alive))
            self.assertIn("the snippet has 600 bytes", pending.answer["reason"])
        with self.assertRaises(errors.ValueNotSent):
            self.begin(code=float("nan"))

    def test_the_end(self):
        one, two = self.begin()[0], self.begin()[0]
        self.core.drop_all(errors.ServiceDied("gone"))
        self.assertTrue(one.over and two.over and type(one.error) is errors.ServiceDied)
        self.say(id=None, error={"code": "busy", "message": "m", "fix": ""})
        self.assertEqual(self.core.refused.code, "busy")
        self.say(event="ended", session="s", why="idle")
        self.assertEqual(self.core.ended, {"s": "idle"})

    def test_unknown_things_are_ignored(self):
        self.assertEqual(self.say(event="something", id=1) + self.say(nothing=1), [])

    def test_messages_without_sense(self):
        for message in ({"event": "tool_call"}, {"result": {}}, {"event": "ended"}, {"id": 1, "error": 3}):
            with self.subTest(message), self.assertRaises(BrokenStream):
                self.say(**message)


class Color(enum.Enum):
    RED = 1


@dataclass
class Point:
    x: int
    y: float


class TestValues(unittest.TestCase):
    def test_there_and_back(self):
        surrogate = "a\udc80"
        for value in (
            None, True, 1, -(1 << 53), 1 << 70, 1.5, "text", "é", surrogate, [1, [2]], {"a": {"b": 1}}, (1, (2,)), {1, 2}, frozenset((1,)), b"\0x",
            bytearray(b"y"), 1 + 2j, {1: "a", (2,): 3}, {"__type__": 1}, datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
            datetime.date(2026, 1, 2), datetime.time(3, 4), datetime.timedelta(1, 2, 3), decimal.Decimal("1.10"), pathlib.PurePosixPath("/a/b"),
            float("inf"), {"a\0b": 1}, {surrogate: 1}, Handle("h1"), EnumMember("C", "__main__", "A", 1), Instance("P", "__main__", {"x": (1,)}),
        ):  # fmt: skip
            tagged = json.loads(json.dumps(values.encode(value), allow_nan=False))
            back = values.decode(tagged)
            self.assertEqual((back, type(back)), (value, type(value)))
        self.assertNotEqual(*[values.decode(values.encode(float("nan")))] * 2)

    def test_one_way(self):
        self.assertEqual(values.encode(Color.RED), 1)
        self.assertEqual(values.encode(Point(1, 2.5)), {"x": 1, "y": 2.5})
        self.assertEqual(values.encode(type("S", (str,), {})("s")), "s")
        self.assertEqual(values.encode(pathlib.Path("/x")), {"__type__": "Path", "data": "/x"})
        self.assertEqual(values.decode({"__type__": "repr", "data": "<x>"}), Opaque("<x>"))

    def test_what_cannot_go(self):
        loop = []
        loop.append(loop)
        for value in (object(), lambda: 1, loop, open, (i for i in ()), {"a": [object()]}):
            with self.assertRaises(errors.ValueNotSent):
                values.encode(value)
        for wrong, words in ((range(3), "range .* pass list"), (iter([]), "list_iterator .* pass list"), (fractions.Fraction(1, 3), "Fraction .* pass float")):
            with self.assertRaisesRegex(errors.ValueNotSent, words):
                values.encode(wrong)
        with self.assertRaisesRegex(errors.ValueNotSent, "^deep: .*object"):
            values.encode_members({"deep": {"a": object()}})

    def test_claims_that_make_no_value_stay_what_they_are(self):
        for claim in (
            {"__type__": "unknown", "data": 1}, {"__type__": []}, {"__type__": "set", "data": [[1]]}, {"__type__": "set", "data": "abc"},
            {"__type__": "bytes", "data": "%"}, {"__type__": "bytes"}, {"__type__": "int", "data": "__import__"}, {"__type__": "int", "data": "9" * 5000},
            {"__type__": "datetime", "data": 5}, {"__type__": "timedelta", "total_seconds": 1e300}, {"__type__": "Decimal", "data": [1]},
            {"__type__": "dict_with_complex_keys", "data": [[[], 1]]}, {"__type__": "dataclass", "class_name": "C", "module": "os", "data": []},
            {"__type__": "handle", "id": 1}, {"__type__": "Timestamp", "data": "2026; x"}, {"__type__": "complex", "real": "x", "imag": 0},
        ):  # fmt: skip
            self.assertEqual(values.decode(claim), claim)

    def test_numbers_with_chosen_hashes(self):
        many = [{"__type__": "int", "data": hex((2**61 - 1) * i)} for i in range(1, 6000)]
        claim = {"__type__": "set", "data": many}
        with self.assertWarns(UserWarning):
            self.assertIs(values.decode(claim), claim)
        with self.assertWarns(UserWarning):
            self.assertIsInstance(values.decode({"__type__": "dict_with_complex_keys", "data": [[n, 1] for n in many]})["data"], list)

    def test_tuples_with_chosen_hashes(self):
        same = lambda n: {"__type__": "int", "data": hex((2**61 - 1) * n)}  # noqa: E731
        tuples = [{"__type__": "tuple", "data": [same(i), 1]} for i in range(1, 6000)]
        sets = [{"__type__": "frozenset", "data": [same(i), 1]} for i in range(1, 6000)]
        for many in (tuples, sets):
            claim = {"__type__": "set", "data": many}
            with self.assertWarns(UserWarning):
                self.assertIs(values.decode(claim), claim)
            with self.assertWarns(UserWarning):
                self.assertIsInstance(values.decode({"__type__": "dict_with_complex_keys", "data": [[n, 1] for n in many]})["data"], list)
        self.assertEqual(len(values.decode({"__type__": "set", "data": [{"__type__": "int", "data": hex(2**60 + i)} for i in range(6000)]})), 6000)

    def test_the_work_of_a_whole_result_is_bounded(self):
        """One such set is made, and not as many of them as a jail likes; what is cheap is made still."""
        one = {"__type__": "set", "data": [{"__type__": "int", "data": hex((2**61 - 1) * i)} for i in range(1, 3000)]}
        self.assertIsInstance(values.decode([one])[0], set)
        with self.assertWarnsRegex(UserWarning, "exceeds the work limit"):
            got = values.decode([one] * 4 + [{"__type__": "tuple", "data": [1]}])
        self.assertEqual([type(v) for v in got], [set, set, dict, dict, tuple])
        grid = {(x, y, z) for x in range(-9, 9) for y in range(-9, 9) for z in range(-9, 9)}  # -1 and -2 have one hash
        self.assertEqual(values.decode(values.encode([grid] * 20)), [grid] * 20)
        long = [{"__type__": "tuple", "data": [0] * 50 + [-1 if i >> b & 1 else -2 for b in range(10)]} for i in range(1000)]
        with self.assertWarns(UserWarning):
            self.assertIsInstance(values.decode({"__type__": "set", "data": long}), dict)

    def test_numbers_with_chosen_paths(self):
        """Numbers with different hashes, of which each one follows the same path through a dict's table. The work is counted, and not timed."""
        slots, filled, n = 4096, 1200, 2600
        path = [0]
        while len(path) < slots:
            path.append((path[-1] * 5 + 1) % slots)
        numbers, taken, end, number = path[:filled], set(path[:filled]), filled, slots
        while len(numbers) < n:
            number, slot, perturb = number + 1, (number + 1) % slots, number + 1
            while slot in taken and perturb:
                perturb >>= 5
                slot = (slot * 5 + 1 + perturb) % slots
            if slot in taken:
                numbers.append(number)
                taken.add(path[end])
                end += 1
        cost = []
        for keys in (numbers, range(n), [7 << 40 | i << 20 for i in range(n)]):
            work = values.Work()
            self.assertEqual(values._pairs({"data": [[k, 1] for k in keys]}, work), dict.fromkeys(keys, 1))
            cost.append(values.WORK_US - work.left)
        self.assertGreater(cost[0], 250_000)
        self.assertLess(max(cost[1:]), 20_000)
        one = {"__type__": "dict_with_complex_keys", "data": [[k, 1] for k in numbers]}
        with unittest.mock.patch.object(values, "WORK_US", 20_000), self.assertWarnsRegex(UserWarning, "exceeds the work limit"):
            self.assertTrue(values.decode(one) is one)

    def test_a_class_is_never_looked_up(self):
        claim = {"__type__": "Enum", "class_name": "Color", "module": __name__, "name": "RED", "value": 1}
        self.assertEqual(values.decode(claim), EnumMember("Color", __name__, "RED", 1))
        instance = values.decode({"__type__": "dataclass", "class_name": "Point", "module": __name__, "data": {"x": 1, "y": 2}})
        self.assertEqual((type(instance), instance.x), (Instance, 1))
        self.assertRaises(AttributeError, lambda: instance.z)

    def test_what_is_printed_moves_no_cursor(self):
        text = "a\x1b[2J\x9b\u202e"
        shown = r"a\x1b[2J\x9b\u202e"
        self.assertEqual((repr(Opaque(text)), str(Opaque(text)), str(Handle("h", repr=text))), (f"<Opaque {shown}>", f"<Opaque {shown}>", shown))
        self.assertEqual(str(Result({"status": "error", "error": {"type": "E", "message": text}}).error), f"E: {shown}")

    def test_a_field_is_no_protocol(self):
        names = ("__array_interface__", "__cuda_array_interface__", "__deepcopy__", "_as_parameter_", "_repr_html_")
        instance = values.decode({"__type__": "dataclass", "class_name": "P", "module": "m", "data": {**dict.fromkeys(names, 1), "_x": 2, "y_": 3}})
        for name in names:
            self.assertFalse(hasattr(instance, name), name)
        self.assertEqual((instance.fields["_repr_html_"], instance._x, instance.y_), (1, 2, 3))
        self.assertEqual(copy.deepcopy(instance), instance)


class TestResult(unittest.TestCase):
    RAW = {"id": "a", "status": "error", "reason": "r", "value": None, "repr": None, "stdout": "out\n", "stderr": "",
           "error": {"type": "ValueError", "message": "m", "line": 2, "column": 1, "source": "  x", "hint": "do y"}}  # fmt: skip

    def test_pickle(self):
        for thing in (Result(self.RAW), SnippetError(Result(self.RAW)), errors.Busy("m", "f", 3), errors.ServiceDied("m", "log"), Handle("h"), Opaque("x"),
                      Instance("C", "m", {"a": 1}), errors.from_error({"code": "new_code", "message": "m"})):  # fmt: skip
            back = pickle.loads(pickle.dumps(thing))
            self.assertEqual((type(back), str(back)), (type(thing), str(thing)))
        self.assertEqual(errors.from_error({"code": "new_code"}).code, "new_code")

    def test_words(self):
        text = Result(self.RAW).for_model()
        for word in ("failed", "line 2: ValueError: m", "x", "hint: do y", "out"):
            self.assertIn(word, text)
        self.assertEqual(Result({**self.RAW, "for_model": "own"}).for_model(), "own")
        long = Result({"status": "ok", "repr": "é" * 5000, "stdout": "ü" * 5000, "value": 1})
        self.assertLessEqual(len(long.for_model().encode()), 2000)

    def test_in_a_notebook(self):
        ok = {"status": "ok", "value": 1, "repr": "1", "stdout": "a\n"}
        show = lambda **more: Result({**ok, **more})._repr_mimebundle_()  # noqa: E731
        self.assertEqual(show(), {"text/plain": "a\n1"})
        self.assertEqual(show(results=[{"text/plain": "<Figure>", "image/png": "iVBO"}]), {"text/plain": "a\n<Figure>", "image/png": "iVBO"})
        html = show(results=[{"text/plain": "t", "text/html": "<b onclick='x'>\"</b><script>alert(1)</script>", "application/javascript": "alert(1)"}])
        self.assertEqual(set(html), {"text/plain", "text/html"})
        self.assertTrue(html["text/html"].startswith('<iframe sandbox srcdoc="') and "<script" not in html["text/html"])
        evil = "<p>1 < 2</p><LINK rel=dns-prefetch href=//data.test><link\nrel=preconnect><iframe srcdoc='&lt;link>'><Meta http-equiv=refresh><embed><b>x</b>"
        page = unescape(show(results=[{"text/plain": "t", "text/html": evil}])["text/html"])
        self.assertEqual(re.findall(r"<(?=[a-z/])[^\s>]*", page.partition('content="off">')[2], re.IGNORECASE), ["<p", "</p", "<b", "</b", "</iframe"])
        self.assertNotIn("<svg", show(results=[{"text/plain": "t", "image/svg+xml": "<svg onload='x'/>"}])["text/html"])

    def test_no_escape_sequences_on_a_terminal(self):
        evil = "a\x1b]52;c;eA==\x07\x9b2J\rb\n\tc\u202egpj.exe\u2066\u2069"
        ok = Result({"status": "ok", "value": 1, "repr": evil, "stdout": evil})
        failed = Result({"status": "error", "reason": "r", "error": {"type": evil, "message": evil, "traceback": evil, "hint": evil}})
        shown = [repr(ok), repr(failed), str(errors.SnippetError(failed)), ok._repr_mimebundle_()["text/plain"],
                 failed._repr_mimebundle_()["text/plain"]]  # fmt: skip
        for text in shown:
            self.assertIn("a\\x1b]52", text)
            self.assertFalse([c for c in text if c not in "\n\t" and not c.isprintable()], text)
        self.assertEqual(ok.stdout, evil)   # the data itself is as it was
        Result({"status": "ok", "results": [{"text/plain": "t", "image/svg+xml": "<svg>\ud800"}]})._repr_mimebundle_()

    def test_names_of_files_have_no_say(self):
        import tempfile

        from agentjail import File

        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(File("../../a", 1, "", "", b"x").save(folder), pathlib.Path(folder, "a"))
            self.assertRaises(ValueError, File("..", 1, "", "", b"x").save, folder)
            self.assertRaises(ValueError, File("a", 1, "", "", None).save, folder)


class TestWords(unittest.TestCase):
    def test_options(self):
        self.assertEqual(command_options({"timeout": 1.5, "memory": "1G", "idle": 0, "parked": None, "allow_imports": ["a", "b.*"], "layer": False}),
                         ("--timeout", "1500ms", "--memory", "1G", "--idle", "0", "--allow-import", "a", "--allow-import", "b.*", "--layer", "off"))  # fmt: skip

    def test_toml(self):
        try:
            import tomllib
        except ImportError:
            self.skipTest("this Python has no tomllib")
        policy = {"extends": "snippet", "python": {"imports": ["a", 'b"\n'], "layer": True}, "a b": {"c": {"d": 1.5}}, "n": -3}
        self.assertEqual(tomllib.loads(_toml.write(policy)), policy)
        with self.assertRaisesRegex(TypeError, "a.b"):
            _toml.write({"a": {"b": object()}})


class Terminal(io.StringIO):
    def isatty(self):
        return True


class TestBatches(unittest.TestCase):
    def test_each_fits_and_all_come(self):
        files = {"a": b"1", "big": bytes(range(251)) * 400, "text": "x\n" * 30_000, "empty": b"", "é": "ů", "end": bytes(3000)}
        for limit in (4096, 8192, 10_000, 65_536, 1 << 20):
            got = {}
            for batch in _requests.batches(files, limit):
                self.assertLess(len(frame({"id": 1, "op": "write_files", "session": "s" * 32, "files": batch})), limit)
                self.assertEqual(len({f["name"] for f in batch}), len(batch))
                for f in batch:
                    content = b64decode(f["data"], validate=True) if "data" in f else f["text"].encode()
                    got[f["name"]] = got[f["name"]] + content if f.get("append") else content
            self.assertEqual(got, {name: c.encode() if isinstance(c, str) else c for name, c in files.items()})
        self.assertEqual(len(_requests.batches(files, 1 << 20)), 1)
        self.assertEqual(_requests.batches({}, 4096), [[]])


class TestBar(unittest.TestCase):
    def shown(self, stream, wanted, total=4):
        with contextlib.redirect_stderr(stream):
            bar = Bar(wanted, total)
            for done in range(1, 5):
                bar.show(done)
            bar.end()
        return stream.getvalue()

    def test_a_bar_on_a_terminal_alone(self):
        self.assertRegex(self.shown(Terminal(), None), r"\[#{30}\] 4/4  .*\n$")
        self.assertRegex(self.shown(Terminal(), None, None), "4 done")
        self.assertEqual((self.shown(io.StringIO(), None), self.shown(Terminal(), False)), ("", ""))
        self.assertIn("4/4", self.shown(io.StringIO(), True))


if __name__ == "__main__":
    unittest.main()
