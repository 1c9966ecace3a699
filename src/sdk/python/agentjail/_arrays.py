"""The tags of numpy, pandas and Pillow (docs/reference/values.md), both ways. A module is imported here when a tag needs it, and where it is
missing the tag stays a plain object. The jail chooses the texts of a tag: sizes and names are checked before a module sees them.
"""

from __future__ import annotations

import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .values import Work

Convert = Callable[[Any], Any]

TEXT_BYTES_MAX = 256 << 20  # of an array of texts, in which each item takes the room of the longest
NARROW = 1 << 31  # of ints: below it pandas hashes no two alike
ITEMS = (int, float, complex, bool, str, bytes, type(None))
PLAIN_KINDS = "biufcmMUS"  # of dtypes: those whose items are values, and whose text makes the dtype again
NUMPY_DTYPE = re.compile(r"[<>=|]?[A-Za-z_]{1,16}[0-9]{0,10}(\[[0-9]{0,6}[a-zA-Z]{1,2}\])?")
# A time zone is a name: pandas would open a file for one that begins with `dateutil/`.
WORD = r"(?!dateutil)[A-Za-z0-9_+-]{1,32}"
# Times and durations as isoformat() writes them.
TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:]{5,8}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?"
    r"|P-?[0-9]{1,9}DT[0-9]{1,2}H[0-9]{1,2}M[0-9.]{1,12}S|NaT"
)
PANDAS_DTYPE = re.compile(rf"[A-Za-z]{{1,16}}[0-9]{{0,3}}(\[{WORD}(, {WORD}(/{WORD}){{0,2}}(:[0-9]{{2}})?)?\])?")


# --- values to tags ---


def write(x: Any, encode: Convert) -> Any:
    """The tag of x, or NotImplemented when x is of none of these modules' types."""
    numpy, pandas, image = (sys.modules.get(name) for name in ("numpy", "pandas", "PIL.Image"))
    if numpy is not None:
        if isinstance(x, numpy.ndarray):
            return _write_array(x, encode)
        if isinstance(x, numpy.generic):
            item = x.item()
            return encode(float(item) if isinstance(item, numpy.generic) else item)
    if pandas is not None:
        if isinstance(x, (pandas.Timestamp, pandas.Timedelta)):
            return {"__type__": type(x).__name__, "data": x.isoformat()}
        if x is pandas.NaT or x is pandas.NA:
            return encode(None)
        if isinstance(x, pandas.Series):
            dtype, data = _column(x, encode)
            return {"__type__": "Series", "name": encode(x.name), "dtype": dtype, "index": _index(x.index, encode), "data": data}
        if isinstance(x, pandas.DataFrame):
            columns = [_column(x.iloc[:, i], encode) for i in range(x.shape[1])]
            rows = [list(row) for row in zip(*[data for _, data in columns])] if columns else [[] for _ in range(len(x))]
            return {
                "__type__": "DataFrame", "columns": encode(x.columns.tolist()), "dtypes": [dtype for dtype, _ in columns],
                "index": _index(x.index, encode), "data": rows,
            }  # fmt: skip
        if isinstance(x, pandas.Index):
            return encode(x.tolist())
    if image is not None and isinstance(x, image.Image):
        buffer = BytesIO()
        x.save(buffer, format="PNG")
        return {"__type__": "PIL.Image", "data": b64encode(buffer.getvalue()).decode()}
    return NotImplemented


def _write_array(x: Any, encode: Convert) -> Any:
    if x.dtype.kind not in PLAIN_KINDS or x.dtype.char in "gG":
        return encode(x.tolist())
    values = x.astype("int64") if x.dtype.kind in "mM" else x  # dates as numbers of the dtype's unit
    return {"__type__": "ndarray", "data": encode(values.tolist()), "dtype": str(x.dtype), "shape": list(x.shape)}


def _column(series: Any, encode: Convert) -> tuple[str, list[Any]]:
    pandas = sys.modules["pandas"]
    values, kind = series.tolist(), series.dtype.kind
    missing = (pandas.NaT, pandas.NA)
    if kind in "mM":
        values = [None if v is pandas.NaT else v.isoformat() for v in values]
    elif kind == "f":
        values = [None if v is pandas.NA or v != v else v for v in values]
    return str(series.dtype), [None if v is missing[0] or v is missing[1] else encode(v) for v in values]


def _index(index: Any, encode: Convert) -> Any:
    pandas = sys.modules["pandas"]
    names = list(index.names)
    if type(index) is pandas.RangeIndex and index.start == 0 and index.step == 1 and names == [None]:
        return None
    if index.nlevels > 1:
        return {"data": [encode(v) for v in index.tolist()], "dtype": "object", "names": encode(names)}
    dtype, data = _column(index.to_series(), encode)
    return {"data": data, "dtype": dtype, "names": encode(names)}


# --- from tags to values; any exception leaves the tag as it is ---

# Cost of each, in microseconds of values.Work.
COSTS = {"ndarray": 20, "PIL.Image": 60, "Timestamp": 20, "Timedelta": 20, "Series": 0, "DataFrame": 0}  # the last two: for each column
COLUMN, CATEGORIES, CELL_OF_TIME = 300, 1000, 2
PAIRS_OF_NUMBERS = 500  # that pandas compares in a microsecond


class Reader:
    """Makes values from tags, within the work limit of one result."""

    def __init__(self, work: Work, decode: Callable[[Any, Work], Any]) -> None:
        self._work = work
        self._decode: Convert = lambda x: decode(x, work)

    def read(self, x: dict[str, Any]) -> Any:
        kind = x["__type__"]
        self._work.take(COSTS[kind])
        if kind == "ndarray":
            return self._array(import_module("numpy"), x)
        if kind == "PIL.Image":  # only its header is read: Pillow unpacks the pixels when they are used, and has a limit of its own
            return import_module("PIL.Image").open(BytesIO(b64decode(x["data"], validate=True)), formats=["PNG"])
        pandas = import_module("pandas")
        if kind == "Series":
            out = self._series(pandas, self._decode(x["data"]), x["dtype"])
            out.index, out.name = self._index(pandas, x["index"], len(out)), self._decode(x["name"])
            return out
        if kind == "DataFrame":
            return self._frame(pandas, x)
        return getattr(pandas, kind)(_matching(TIME, x["data"]))

    def _array(self, numpy: Any, x: dict[str, Any]) -> Any:
        dtype = numpy.dtype(_matching(NUMPY_DTYPE, x["dtype"]))
        data, shape = self._decode(x["data"]), x.get("shape")
        if dtype.kind not in PLAIN_KINDS:
            raise ValueError("dtype")
        _check_items(data)
        if dtype.kind in "US":  # the width is a claim too
            _check_texts(data, str if dtype.kind == "U" else bytes)
            found = numpy.array(data, dtype=dtype.kind)
            if dtype.itemsize > max(found.itemsize, 4) * 4:
                dtype = found.dtype
        out = numpy.array(data, dtype="int64").astype(dtype) if dtype.kind in "mM" else numpy.array(data, dtype=dtype)
        return out if shape is None else out.reshape([int(n) for n in shape])

    def _series(self, pandas: Any, values: Any, dtype: Any) -> Any:
        dtype = _matching(PANDAS_DTYPE, dtype)
        self._work.take(CATEGORIES if dtype == "category" else COLUMN)
        _check_list(values)
        if dtype != "object":  # whose cells may be anything, and stay what they are
            _check_items(values)
        if dtype == "category":
            self._check_table(values)
        if dtype[:1] in "SUV" and dtype[1:].isdecimal():  # pandas columns cannot have numpy string types
            raise ValueError("dtype")
        if dtype.startswith(("datetime64", "timedelta64")):  # of a time in any other form pandas tries one format after the other
            self._work.take(CELL_OF_TIME * len(values))
            for v in values:
                if type(v) is str:
                    _matching(TIME, v)
        return pandas.Series(values).astype("category") if dtype == "category" else pandas.Series(values, dtype=dtype)

    def _index(self, pandas: Any, index: Any, rows: int) -> Any:
        if index is None:
            return pandas.RangeIndex(rows)
        data, names = self._decode(index["data"]), self._decode(index["names"])
        if len(names) > 1:
            return self._multi_index(pandas, data, names)
        self._check_hashes(data)
        return pandas.Index(self._series(pandas, data, index["dtype"]), name=names[0])

    def _multi_index(self, pandas: Any, tuples: list[Any], names: list[Any] | None) -> Any:
        for level in zip(*tuples):
            self._work.take(CATEGORIES)
            self._check_table(level)
        return pandas.MultiIndex.from_tuples(tuples, names=names)

    def _check_hashes(self, items: Sequence[Any]) -> None:
        """Charge for hash collisions, which pandas resolves by comparing items. str hashes are randomised, so texts cost nothing."""
        self._work.take_collisions(list({repr(item): item for item in items}.values()))

    def _check_table(self, items: Sequence[Any]) -> None:
        """Charge for a hash table of pandas, which keeps 32 bits of a hash: a jail can choose any number of wide values that share them."""
        self._check_hashes(items)
        wide = {repr(item) for item in items if not _is_narrow(item)}
        self._work.take(len(wide) ** 2 // PAIRS_OF_NUMBERS)

    def _frame(self, pandas: Any, x: dict[str, Any]) -> Any:
        rows, dtypes, columns = x["data"], x["dtypes"], self._decode(x["columns"])
        for listed in (rows, dtypes, columns, *rows):
            _check_list(listed)
        if dtypes and len(dtypes) == dtypes.count(dtypes[0]) and dtypes[0] in ("float64", "int64", "bool"):  # however many they are
            cells = self._decode(rows)
            _check_items(cells)
            out = pandas.DataFrame(cells, index=pandas.RangeIndex(len(rows)), columns=range(len(dtypes)), dtype=dtypes[0])
        else:
            values = [[self._decode(row[i]) for row in rows] for i in range(len(dtypes))]
            series = {i: self._series(pandas, values[i], dtype) for i, dtype in enumerate(dtypes)}
            out = pandas.DataFrame(series, index=pandas.RangeIndex(len(rows)))
        self._check_hashes(columns)
        out.columns = self._multi_index(pandas, columns, None) if columns and all(type(c) is tuple for c in columns) else columns
        out.index = self._index(pandas, x["index"], len(rows))
        return out


def read(x: dict[str, Any], work: Work, decode: Callable[[Any, Work], Any]) -> Any:
    return Reader(work, decode).read(x)


def _matching(pattern: re.Pattern[str], text: Any) -> str:
    if type(text) is not str or not pattern.fullmatch(text):
        raise ValueError("no such text is expected")
    return text


def _is_narrow(x: Any) -> bool:
    """Whether pandas gives it a hash that a jail cannot make equal to another's: texts have random hashes, and 32-bit ints different ones."""
    return type(x) in (str, bytes, bool, type(None)) or (type(x) is int and -NARROW <= x < NARROW)


def _check_list(x: Any) -> None:
    """Reject other sequences: a str also has items, and a numpy array has another cost."""
    if type(x) is not list:
        raise TypeError("not a list")


def _check_items(data: Any) -> None:
    """Plain values alone: of any other object numpy asks for an array, and an image of some kilobytes has one of gigabytes."""
    todo = [data]
    while todo:
        x = todo.pop()
        if type(x) is list:
            todo += x
        elif type(x) not in ITEMS:
            raise TypeError("an item that is no plain value")


def _check_texts(data: Any, kind: type[str] | type[bytes]) -> None:
    """Texts alone, since numpy would take the repr of anything else; and no long one among many, which would all become as long."""
    longest, items, todo = 1, 0, [data]
    while todo:
        x = todo.pop()
        if type(x) is list:
            todo += x
        elif type(x) is kind:
            longest, items = max(longest, len(x)), items + 1
        else:
            raise TypeError("an item that is no text")
    if longest * items * (4 if kind is str else 1) > TEXT_BYTES_MAX:
        raise ValueError("texts that would take too much memory as an array")
