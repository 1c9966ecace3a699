"""Declarations from functions, and what a function is called with, without a service; packages whose types are known."""

import dataclasses
import datetime
import decimal
import enum
import functools
import io
import json
import pathlib
import types
import typing
import unittest
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict, Union

import agentjail
from agentjail import Tool, errors, tool, tools, values


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.5


class Pair(NamedTuple):
    a: int
    b: str


class Row(TypedDict):
    name: str
    at: Point


class Tree(TypedDict, total=False):
    children: "list[Tree]"


def schema_of(hint):
    def f(x):
        return x

    f.__annotations__ = {"x": hint}
    return Tool(f).declaration["parameters"]["properties"]["x"]


POINT = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}, "required": ["x"], "additionalProperties": False}
HINTS = (
    (int, {"type": "integer"}), (float, {"type": "number"}), (str, {"type": "string"}), (bool, {"type": "boolean"}), (Any, {}), (None, {"type": "null"}),
    (list, {"type": "array"}), (list[int], {"type": "array", "items": {"type": "integer"}}), (typing.List[str], {"type": "array", "items": {"type": "string"}}),
    (dict, {"type": "object"}), (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}), (dict[int, str], {}),
    (Optional[int], {"type": ["integer", "null"]}), (Union[int, str], {"type": ["integer", "string"]}), (int | None, {"type": ["integer", "null"]}),
    (Union[list[int], str], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "string"}]}), (Union[int, object], {}),
    (Literal["a", 1], {"enum": ["a", 1]}), (Color, {"enum": ["red", "blue"]}), (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}), (set, {}), (bytes, {}), (datetime.date, {}), (object, {}), (pathlib.Path, {}),
    (Annotated[int, "how many", {"minimum": 1}], {"type": "integer", "description": "how many", "minimum": 1}), (Point, POINT),
    (Row, {"type": "object", "properties": {"name": {"type": "string"}, "at": POINT}, "required": ["name", "at"], "additionalProperties": False}),
    (typing.NewType("Id", int), {"type": "integer"}), ("a text", {}), (typing.TypeVar("T"), {}), (typing.Callable[[int], str], {}),
)  # fmt: skip


class TestSchemas(unittest.TestCase):
    def test_hints(self):
        for hint, schema in HINTS:
            with self.subTest(hint=hint):
                self.assertEqual(schema_of(hint), schema)
        json.dumps(schema_of(Tree))  # one that contains itself has an end

    def test_a_declaration(self):
        def search(query: str, /, limit: int = 10, *, kind: Optional[Literal["a", "b"]] = None, extra: dict = {}) -> list[str]:  # noqa: B006
            """Full-text search.

            Best first."""

        self.assertEqual(Tool(search, returns=True, timeout=0.5, reserved=True).declaration, {
            "name": "search", "description": "Full-text search.\n\nBest first.", "timeout_ms": 500, "reserved": True,
            "returns": {"type": "array", "items": {"type": "string"}},
            "parameters": {"type": "object", "required": ["query"], "additionalProperties": False, "properties": {
                "query": {"type": "string"}, "limit": {"type": "integer", "default": 10}, "extra": {"type": "object", "default": {}},
                "kind": {"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": None}}},
        })  # fmt: skip

    def test_defaults(self):
        def f(a: int = None, b: float = 1, c: Point = Point(1), d=object(), e: str = 5, g: Color = Color.RED):  # noqa: B008
            pass

        properties = Tool(f).declaration["parameters"]["properties"]
        self.assertEqual(properties["a"], {"type": ["integer", "null"], "default": None})
        self.assertEqual(properties["b"], {"type": "number", "default": 1})
        self.assertEqual((properties["d"], properties["e"]), ({}, {"type": "string"}))
        self.assertNotIn("default", properties["c"])
        self.assertEqual(properties["g"], {"enum": ["red", "blue"], "default": "red"})

    def test_variadic(self):
        def log(level: str, *words: str, end=".", **more: int):
            return level, words, end, more

        t = Tool(log)
        self.assertEqual(t.declaration["variadic"], "words")
        self.assertEqual(t.declaration["parameters"]["additionalProperties"], {"type": "integer"})
        positional, named = t.arguments({"level": "info", "words": ["a", "b"], "end": "!", "code": 7})
        self.assertEqual(log(*positional, **named), ("info", ("a", "b"), "!", {"code": 7}))
        positional, named = t.arguments({"level": "info", "words": []})
        self.assertEqual(log(*positional, **named), ("info", (), ".", {}))

    def test_arguments_become_what_the_hints_say(self):
        def f(point: Point, points: list[Point], when: datetime.date, path: pathlib.PurePath, color: Color, pair: Pair, many: set[int],
              price: decimal.Decimal, row: Row, maybe: Optional[Point], both: Union[Point, str], number: float, *more: Color):  # fmt: skip
            pass

        point = {"x": 1}
        sent = {"point": point, "points": [point, {"x": 2, "y": 3}], "when": "2026-01-02", "path": "/a", "color": "red", "pair": [1, "b"], "many": [1, 1],
                "price": 1.5, "row": {"name": "n", "at": point}, "maybe": None, "both": "text", "number": 2, "more": ["blue"]}  # fmt: skip
        positional, named = Tool(f).arguments(sent)
        self.assertEqual((named, positional), ({}, [
            Point(1), [Point(1), Point(2, 3)], datetime.date(2026, 1, 2), pathlib.PurePath("/a"), Color.RED, Pair(1, "b"), {1},
            decimal.Decimal("1.5"), {"name": "n", "at": Point(1)}, None, "text", 2.0, Color.BLUE]))  # fmt: skip
        tagged = {"when": values.encode(datetime.date(2026, 1, 2)), "maybe": point, "both": point}
        _, named = Tool(lambda when, maybe, both: None, name="g").arguments(tagged)
        self.assertEqual(named["when"], datetime.date(2026, 1, 2))

    def test_kinds_of_functions(self):
        class Counter:
            def __init__(self, start: int):
                self.count = start

            def add(self, by: int = 1):
                """Count."""
                self.count += by
                return self.count

            def __call__(self, text: str):
                return text

            @staticmethod
            def still(x: int):
                return x

        async def later(x):
            return x

        counter = Counter(1)
        self.assertEqual(Tool(counter.add).declaration["description"], "Count.")
        self.assertEqual(list(Tool(counter.add).declaration["parameters"]["properties"]), ["by"])
        self.assertEqual(Tool(counter, name="say").declaration["parameters"]["properties"], {"text": {"type": "string"}})
        self.assertEqual(Tool(Counter.still).name, "still")
        self.assertTrue(Tool(later).declaration["async"] and Tool(functools.partial(later, 1), name="p").is_async)
        self.assertNotIn("async", Tool(counter.add).declaration)
        self.assertEqual(list(Tool(functools.partial(counter.add, by=2), name="two").declaration["parameters"]["properties"]), ["by"])
        self.assertEqual(tool(name="other")(len if False else counter.add).name, "other")

    def test_what_is_no_tool(self):
        dunder = types.FunctionType(compile("def f(__x): pass", "", "exec").co_consts[0], {}, "f")

        def naïve(x):
            pass

        for make in (lambda: Tool(5), lambda: Tool(lambda: 1), lambda: Tool(dunder), lambda: Tool(naïve), lambda: Tool(max), lambda: tools.collect([schema_of, schema_of]),
                     lambda: Tool(schema_of, name="class"), lambda: tools.collect({"other": Tool(schema_of)})):  # fmt: skip
            with self.assertRaises(errors.ToolError):
                make()
        self.assertEqual(Tool(max, name="biggest", parameters={"type": "object", "properties": {}}).name, "biggest")

    def test_failures(self):
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError

        self.assertEqual(tools.failed(Odd()), {"error": {"type": "Odd", "message": ""}})
        self.assertEqual(tools.failed(ValueError("a\0b\x1b\udc80"))["error"]["message"], "a b ?")
        self.assertEqual(tools.finished(object())["error"]["type"], "ResultError")


def package(name):
    try:
        return __import__(name)
    except ImportError:
        return None


numpy, pandas, PIL, pydantic = map(package, ("numpy", "pandas", "PIL", "pydantic"))


def tagged(kind, data, **members):
    return {"__type__": kind, "data": data, **members}


def again(value):
    return values.decode(json.loads(json.dumps(values.encode(value), allow_nan=False)))


class TestPackages(unittest.TestCase):
    @unittest.skipUnless(numpy, "numpy is not installed for the tests")
    def test_numpy(self):
        for array in (numpy.arange(6).reshape(2, 3), numpy.array([1.5, float("nan")]), numpy.array(["a", "bc"]), numpy.zeros((0, 4), "int8"), numpy.array([1 + 2j]),
                      numpy.array(["2026-01-02", "NaT"], "datetime64[D]"), numpy.array(5), numpy.array([True]), numpy.array([1], ">i2"), numpy.array([b"a\0b"])):  # fmt: skip
            back = again(array)
            self.assertEqual((back.dtype, back.shape), (array.dtype, array.shape))
            numpy.testing.assert_array_equal(back, array)
        self.assertEqual(again([numpy.int64(3), numpy.float32(1.5), numpy.bool_(True)]), [3, 1.5, True])
        self.assertEqual(again(numpy.array([1, "a", None], object)), [1, "a", None])

    @unittest.skipUnless(numpy, "numpy is not installed for the tests")
    def test_hostile_arrays(self):
        for claim in (
            {"dtype": "U1000000000", "data": ["a"] * 10}, {"dtype": "O", "data": [1]}, {"dtype": "f8,f8", "data": [1]}, {"dtype": "(9999,9999)f8", "data": [1]},
            {"dtype": "f8", "data": [1], "shape": [10**12]}, {"dtype": "nonsense", "data": []}, {"dtype": 5, "data": []}, {"dtype": "V9", "data": []},
            {"dtype": "U", "data": ["a" * 10**6] + [""] * 200}, {"dtype": "S", "data": [{"__type__": "bytes", "data": "YWFh" * 10**6}] + [""] * 200},
            {"dtype": "<U9999", "data": [{"x": "a" * 9999}, 1]},
        ):  # fmt: skip
            claim["__type__"] = "ndarray"
            back = values.decode(claim)
            self.assertTrue(back is claim or back.nbytes < 10_000, claim)

    @unittest.skipUnless(numpy, "numpy is not installed for the tests")
    def test_no_memory_is_read(self):
        """numpy asks any object for the address of an array: an instance of the jail's says any, and address 8 ends this process."""
        at = {"version": 3, "shape": tagged("tuple", [16]), "typestr": "|u1", "data": tagged("tuple", [8, False])}
        instance = {"__type__": "dataclass", "class_name": "a", "module": "b", "data": {"__array_interface__": at}}
        for data in (instance, [instance]):
            claim = {"__type__": "ndarray", "dtype": "uint8", "data": data}
            self.assertIs(values.decode(claim), claim)
        self.assertEqual(numpy.asarray(values.decode(instance)).dtype, object)

    @unittest.skipUnless(pandas and PIL, "pandas and Pillow are not installed for the tests")
    def test_no_image_is_unpacked_for_an_array(self):
        import PIL.Image

        png = io.BytesIO()
        PIL.Image.new("L", (4000, 4000)).save(png, "PNG")
        image = tagged("PIL.Image", values._base64(png.getvalue()))
        for claim in (tagged("ndarray", image, dtype="f8"), tagged("ndarray", [image], dtype="f8"), tagged("Series", [image], dtype="float64", index=None, name=None)):
            self.assertIs(values.decode(claim), claim)
        self.assertEqual(again(pandas.Series([PIL.Image.new("L", (3, 2))]))[0].size, (3, 2))

    @unittest.skipUnless(pandas, "pandas is not installed for the tests")
    def test_chosen_hashes_in_tables(self):
        same = [tagged("int", hex((2**61 - 1) * i)) for i in range(1, 6000)]
        rows = list(range(len(same)))
        one = {"data": same, "dtype": "object", "names": ["a"]}
        two = {"data": [tagged("tuple", [n, 1]) for n in same], "dtype": "object", "names": ["a", "b"]}
        for claim in (
            tagged("Series", same, dtype="category", index=None, name=None), tagged("Series", rows, dtype="int64", index=one, name=None),
            tagged("Series", rows, dtype="int64", index=two, name=None), tagged("DataFrame", [rows], columns=same, dtypes=["int64"] * len(same), index=None),
        ):  # fmt: skip
            with self.assertWarns(UserWarning):
                self.assertIs(values.decode(claim), claim)
        # 64-bit numbers of which pandas' hash tables keep the same 32 bits; other numbers, and texts, are made.
        same = [n | ((n ^ n << 11) & 0x3FFFFFFF) << 33 for n in range(1, 40_000)]
        numbers = [tagged("int", hex(n)) for n in same]
        two = {"data": [tagged("tuple", [n, 1]) for n in numbers], "dtype": "object", "names": ["a", "b"]}
        for data, dtype, index in ((numbers, "category", None), ([1] * len(same), "int64", two)):
            claim = tagged("Series", data, dtype=dtype, index=index, name=None)
            with self.assertWarns(UserWarning):
                self.assertTrue(values.decode(claim) is claim)
        for honest in (range(40_000), [str(n) for n in same]):
            self.assertEqual(len(values.decode(tagged("Series", list(honest), dtype="category", index=None, name=None)).cat.categories), len(honest))
        many = pandas.Series(["u", "v"] * 5000, index=[1, 2] * 5000, dtype="category")
        pandas.testing.assert_series_equal(again(many), many)

    @unittest.skipUnless(pandas, "pandas is not installed for the tests")
    def test_the_work_of_tables_is_bounded(self):
        n = 10_000
        wide = {"__type__": "DataFrame", "columns": list(range(n)), "index": None, "dtypes": ["object", "float64"] * (n // 2), "data": [[1] * n]}
        with self.assertWarnsRegex(UserWarning, "exceeds the work limit"):
            self.assertIs(values.decode(wide), wide)
        for claim in (
            {**wide, "dtypes": ["object"] * n, "data": ["x" * n]},  # a text has items, too
            {"__type__": "Series", "name": None, "index": None, "dtype": "datetime64[ns]", "data": ["Jan 2 1999 3:00 PM"]},
            {"__type__": "Series", "name": None, "index": None, "dtype": "object", "data": "text"},
            {"__type__": "Timestamp", "data": "1:2:3"},
        ):
            self.assertIs(values.decode(claim), claim)
        for kind in "float64", "int64", "bool":
            frame = pandas.DataFrame([[1] * n, [0] * n], dtype=kind, columns=list(range(n)))
            pandas.testing.assert_frame_equal(again(frame), frame)

    @unittest.skipUnless(pandas, "pandas is not installed for the tests")
    def test_pandas(self):
        frame = pandas.DataFrame({"n": [1, 2], "x": [1.5, None], "t": ["a", None], "d": pandas.to_datetime(["2026-01-02", None]), "c": pandas.Categorical(["u", "v"])})
        for table in (frame, frame.set_index("t"), frame.set_index(["n", "t"]), frame[["n"]].T, pandas.DataFrame()):
            pandas.testing.assert_frame_equal(again(table), table, check_dtype=table is frame, check_column_type=False, check_index_type=False)
        series = pandas.Series([1, 2], index=["a", "b"], name="s")
        pandas.testing.assert_series_equal(again(series), series)
        zoned = pandas.Series(pandas.to_datetime(["2026-01-02"]).tz_localize("Europe/Oslo"))
        pandas.testing.assert_series_equal(again(zoned), zoned)
        self.assertEqual(again(pandas.Timestamp("2026-01-02T03:04")), pandas.Timestamp("2026-01-02T03:04"))
        self.assertEqual(again(pandas.Timedelta("1 days 02:00:00")), pandas.Timedelta("1 days 02:00:00"))
        self.assertIsNone(again(pandas.NaT))

    @unittest.skipUnless(pandas, "pandas is not installed for the tests")
    def test_hostile_tables(self):
        for dtype in ("datetime64[ns, dateutil//etc/passwd]", "datetime64[ns, dateutil/../x]", "object; import os", 5, "datetime64[ns, ../../../etc/passwd]", "S999"):
            claim = {"__type__": "Series", "data": [], "dtype": dtype, "name": None, "index": None}
            self.assertIs(values.decode(claim), claim)

    @unittest.skipUnless(PIL, "Pillow is not installed for the tests")
    def test_images(self):
        import PIL.Image

        image = PIL.Image.new("RGB", (3, 2), (1, 2, 3))
        back = again(image)
        self.assertEqual((back.size, back.mode, back.getpixel((0, 0))), ((3, 2), "RGB", (1, 2, 3)))
        other = io.BytesIO()
        image.save(other, "GIF")
        claim = {"__type__": "PIL.Image", "data": values._base64(other.getvalue())}
        self.assertIs(values.decode(claim), claim)

    @unittest.skipUnless(pydantic, "pydantic is not installed for the tests")
    def test_pydantic(self):
        class Inner(pydantic.BaseModel):
            code: str = pydantic.Field(pattern="^[a-z]+$", max_length=5)

        class Order(pydantic.BaseModel):
            """An order."""

            inner: Inner
            count: int = pydantic.Field(1, ge=1, description="how many")
            when: Optional[datetime.date] = None

        def place(order: Order, others: list[Order] = []) -> Order:  # noqa: B006
            return order

        t = Tool(place)
        text = json.dumps(t.declaration)
        self.assertNotIn("pattern", text)
        self.assertEqual(sorted(t.declaration["parameters"]["$defs"]), ["Inner"])
        _, named = t.arguments({"order": {"inner": {"code": "ab"}, "when": "2026-01-02"}, "others": [{"inner": {"code": "c"}}]})
        self.assertEqual((named["order"].when, named["others"][0].count), (datetime.date(2026, 1, 2), 1))
        with self.assertRaises(pydantic.ValidationError):
            t.arguments({"order": {"inner": {"code": "A"}}})
        self.assertEqual(values.encode(named["order"])["inner"], {"code": "ab"})


class TestOwnHints(unittest.TestCase):
    def test_they_can_be_evaluated(self):
        """As programs do that make a tool of run(), or of a method of a session."""
        things = [agentjail.run, tool, *(value for name in agentjail.__all__ if isinstance(value := getattr(agentjail, name), type))]
        for thing in things:
            methods = () if issubclass(type(thing), type) and issubclass(thing, Exception) else vars(thing).values()
            for function in [thing, *(f for f in methods if isinstance(f, types.FunctionType))]:
                with self.subTest(function):
                    typing.get_type_hints(function)
        self.assertEqual(Tool(agentjail.run).declaration["parameters"]["required"], ["code"])


if __name__ == "__main__":
    unittest.main()
