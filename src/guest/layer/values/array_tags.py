"""The type tags of numpy, pandas and Pillow, both ways. No module is imported for a value that goes out: a type of a module that
is not loaded cannot be there. On the way in the policy must allow the module, and the tree must have it.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.json_writer import TooBig, json_string
from agentjail.values.type_tags import TagError, NoTag, base64_string, decode, read_bytes, tagged

PLAIN_KINDS = "biufcmMUS"   # of numpy's dtypes: those whose text is enough to make the dtype again, and whose items are values


# --- values to tags ---

def encode_array(encoder, x, depth):
    t = type(x)
    numpy, pandas = modules.get("numpy"), modules.get("pandas")
    if t is numpy.ndarray:
        return encode_ndarray(encoder, x, depth)
    if isinstance(x, (numpy.integer, numpy.floating, numpy.complexfloating, numpy.bool_, numpy.str_, numpy.bytes_)):
        return encoder.encode_item(plain_item(x.item()), depth + 1)
    if pandas is None:
        raise NoTag(t.__name__)
    if t is pandas.Timestamp or t is pandas.Timedelta:
        return tagged(t.__name__, json_string(x.isoformat()))
    if t is pandas.Series:
        dtype, data = column(encoder, x, depth + 1)
        name = encoder.encode_item(x.name, depth + 1)
        return ('{"__type__":"Series","name":' + name + ',"dtype":' + dtype + ',"index":' + encode_index(encoder, x.index, depth + 1)
                + ',"data":[' + ",".join(data) + "]}")
    if t is pandas.DataFrame:
        return encode_frame(encoder, x, depth)
    raise NoTag(t.__name__)


def plain_item(x):
    """longdouble.item() is a longdouble again."""
    return float(x) if type(x).__module__ == "numpy" else x


def encode_ndarray(encoder, x, depth):
    if x.dtype.kind not in PLAIN_KINDS or x.dtype.char in "gG":
        raise NoTag("ndarray of " + str(x.dtype))
    if x.size > encoder.nodes or x.nbytes > encoder.bytes * 4:
        raise TooBig
    values = x.astype("int64") if x.dtype.kind in "mM" else x   # dates as numbers of the dtype's unit: exact, NaT included
    return ('{"__type__":"ndarray","data":' + encoder.encode_item(values.tolist(), depth + 1) + ',"dtype":' + json_string(str(x.dtype))
            + ',"shape":' + encoder.encode_item(list(x.shape), depth + 1) + "}")


def column(encoder, series, depth):
    """(the dtype, the values) of a Series, as JSON texts. A missing value is null."""
    if len(series) > encoder.nodes:
        raise TooBig
    pandas = modules["pandas"]
    values, kind = series.tolist(), series.dtype.kind
    if kind in "mM":
        values = [None if v is pandas.NaT else v.isoformat() for v in values]
    elif kind == "f":
        values = [None if v is pandas.NA or v != v else v for v in values]
    encode = encoder.encode_item
    return json_string(str(series.dtype)), ["null" if v is pandas.NA or v is pandas.NaT else encode(v, depth) for v in values]


def encode_index(encoder, index, depth):
    """null for the rows' numbers, or an object of data, dtype and names. A label of several levels is a tuple."""
    pandas = modules["pandas"]
    names = list(index.names)
    if type(index) is pandas.RangeIndex and index.start == 0 and index.step == 1 and names == [None]:
        return "null"
    if index.nlevels > 1:
        dtype, data = '"object"', [encoder.encode_item(v, depth + 1) for v in index.tolist()]
    else:
        dtype, data = column(encoder, index.to_series(), depth + 1)
    return '{"data":[' + ",".join(data) + '],"dtype":' + dtype + ',"names":' + encoder.encode_item(names, depth + 1) + "}"


def encode_frame(encoder, x, depth):
    rows, count = x.shape
    if (rows + 1) * count > encoder.nodes:
        raise TooBig
    columns = [column(encoder, x.iloc[:, i], depth + 2) for i in range(count)]
    lines = zip(*[data for _, data in columns]) if count else [()] * rows
    return ('{"__type__":"DataFrame","columns":' + encoder.encode_item(x.columns.tolist(), depth + 1)
            + ',"dtypes":[' + ",".join([dtype for dtype, _ in columns]) + '],"index":' + encode_index(encoder, x.index, depth + 1)
            + ',"data":[' + ",".join(["[" + ",".join(line) + "]" for line in lines]) + "]}")


def encode_image(encoder, x):
    from io import BytesIO
    buffer = BytesIO()
    x.save(buffer, format="PNG")
    data = buffer.getvalue()
    encoder.spend(len(data) * 4 // 3)
    return tagged("PIL.Image", base64_string(data))


# --- tags to values ---

def allowed_module(name, tag, session, needs=()):
    """The module, or TagError: a value that comes in loads no module that the snippet itself may not import. needs: what it will import
    when it reads the value."""
    guards = session.guards if session is not None else None
    if guards is not None and not guards.imports.allows(name):
        raise TagError("a value of type %s needs the module %s, which the policy does not allow" % (tag, name))
    try:
        for module in (name, *needs):
            __import__(module)
    except Exception as e:
        raise TagError("a value of type %s needs the module %s, which cannot be imported (%s: %s)" % (tag, name, type(e).__name__, e)) from None
    if guards is not None:
        from agentjail.rail.patches import patch_loaded_modules
        patch_loaded_modules(guards)  # as after an import of the snippet's
    return modules[name]


def read_ndarray(x, session):
    numpy = allowed_module("numpy", "ndarray", session)
    dtype = numpy.dtype(x["dtype"])
    if dtype.kind not in PLAIN_KINDS:
        raise TagError("an ndarray cannot come in with the dtype %s" % dtype)
    data = decode(x["data"])
    out = numpy.array(data, dtype="int64").astype(dtype) if dtype.kind in "mM" and holds_numbers(data) else numpy.array(data, dtype=dtype)
    return out.reshape(x["shape"]) if "shape" in x else out


def holds_numbers(data):
    while type(data) is list and data:
        data = data[0]
    return type(data) is int


def make_series(pandas, values, dtype):
    return pandas.Series(values).astype("category") if dtype == "category" else pandas.Series(values, dtype=dtype)


def make_index(pandas, index, rows, session):
    if index is None:
        return pandas.RangeIndex(rows)
    data, names = decode(index["data"], session), decode(index["names"], session)
    if len(names) > 1:
        return pandas.MultiIndex.from_tuples(data, names=names)
    return pandas.Index(make_series(pandas, data, index["dtype"]), name=names[0])


def read_series(x, session):
    pandas = allowed_module("pandas", "Series", session)
    out = make_series(pandas, decode(x["data"], session), x["dtype"])
    out.index, out.name = make_index(pandas, x["index"], len(out), session), decode(x["name"], session)
    return out


def read_frame(x, session):
    pandas = allowed_module("pandas", "DataFrame", session)
    rows, dtypes, columns = x["data"], x["dtypes"], decode(x["columns"], session)
    values = [[decode(row[i], session) for row in rows] for i in range(len(dtypes))]
    out = pandas.DataFrame({i: make_series(pandas, values[i], dtype) for i, dtype in enumerate(dtypes)}, index=pandas.RangeIndex(len(rows)))
    several = columns and all([type(c) is tuple for c in columns])
    out.columns = pandas.MultiIndex.from_tuples(columns) if several else columns
    out.index = make_index(pandas, x["index"], len(rows), session)
    return out


def read_pandas_scalar(x, session):
    return getattr(allowed_module("pandas", x["__type__"], session), x["__type__"])(x["data"])


def read_image(x, session):
    from io import BytesIO
    image = allowed_module("PIL.Image", "PIL.Image", session, ("PIL.PngImagePlugin",)).open(BytesIO(read_bytes(x)), formats=["PNG"])
    image.load()
    return image


ARRAY_READERS = {"ndarray": read_ndarray, "Series": read_series, "DataFrame": read_frame, "Timestamp": read_pandas_scalar,
                 "Timedelta": read_pandas_scalar, "PIL.Image": read_image}
