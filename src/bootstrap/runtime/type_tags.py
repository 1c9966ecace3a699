"""The rarer type tags, from values to JSON and back; loaded when a value or an input needs one.
A type is known by its exact module and name; the encoder guesses no other, and leaves it to repr.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.runtime.values import TooBig, json_string

# dict subclasses that are written like a dict: a reader of JSON needs their content alone
PLAIN_DICTS = {("collections", "OrderedDict"), ("collections", "defaultdict"), ("collections", "Counter")}


class NoTag(Exception):
    """The type has no tag."""


def tagged(name, text):
    return '{"__type__":"' + name + '","data":' + text + "}"


def base64_string(data):
    from binascii import b2a_base64
    return '"' + b2a_base64(data, newline=False).decode("ascii") + '"'


def encode_surrogates(s):
    """A string with lone surrogates, each encoded like any other character, so that no two strings get the same bytes."""
    return tagged("str", base64_string(s.encode("utf-8", "surrogatepass")))


def encode_rare(encoder, x, depth):
    """JSON text for x, or NoTag or TooBig; the caller then writes the repr."""
    t = type(x)
    if t is bytes or t is bytearray:
        encoder.spend(len(x) * 4 // 3)
        return tagged(t.__name__, base64_string(x))
    if t is complex:
        return ('{"__type__":"complex","real":' + encoder.encode_item(x.real, depth + 1)
                + ',"imag":' + encoder.encode_item(x.imag, depth + 1) + "}")
    module, name = t.__module__, t.__name__
    if type(module) is not str:
        raise NoTag
    # The class must be the one that the module holds: an agent can name its class as it likes.
    genuine = getattr(modules.get(module), name, None) is t
    if genuine and module == "datetime":
        if name == "timedelta":
            return '{"__type__":"timedelta","total_seconds":' + repr(x.total_seconds()) + "}"
        if name in ("datetime", "date", "time"):
            return tagged(name, json_string(x.isoformat()))
    if name == "Decimal" and genuine and module in ("decimal", "_pydecimal"):
        return tagged("Decimal", json_string(str(x)))
    if genuine and module.startswith("pathlib") and name.endswith("Path"):
        return tagged("Path", encoder.encode_item(str(x), depth + 1))
    if genuine and (module, name) in PLAIN_DICTS:
        return encoder.mapping(x, depth)
    if isinstance(x, tuple) and type(getattr(t, "_fields", None)) is tuple:
        return tagged("tuple", encoder.items(tuple.__getitem__(x, slice(None)), depth))
    if module.partition(".")[0] == "numpy":
        return encode_numpy(encoder, x, depth)
    if "PIL.Image" in modules and isinstance(x, modules["PIL.Image"].Image):
        return encode_image(encoder, x)
    fields = t.__dict__.get("__dataclass_fields__")
    if type(fields) is dict:
        return encode_dataclass(encoder, x, depth, fields)
    raise NoTag(name)


def encode_numpy(encoder, x, depth):
    numpy = modules.get("numpy")
    if type(x) is numpy.ndarray:
        if x.nbytes > encoder.bytes * 4 or x.dtype.hasobject:
            raise TooBig
        data = encoder.encode_item(x.tolist(), depth + 1)
        return '{"__type__":"ndarray","data":' + data + ',"dtype":' + json_string(str(x.dtype)) + "}"
    if isinstance(x, (numpy.integer, numpy.floating, numpy.bool_)):
        return encoder.encode_item(x.item(), depth + 1)
    raise NoTag(type(x).__name__)


def encode_image(encoder, x):
    from io import BytesIO
    buffer = BytesIO()
    x.save(buffer, format="PNG")
    data = buffer.getvalue()
    encoder.spend(len(data) * 4 // 3)
    return tagged("PIL.Image", base64_string(data))


def encode_dataclass(encoder, x, depth, fields):
    encoder.enter(x)
    out = []
    for name in tuple(fields):
        if not str.isidentifier(name):
            raise NoTag(type(x).__name__)
        out.append(json_string(name) + ":" + encoder.encode_item(getattr(x, name), depth + 1))
    encoder.parents.discard(id(x))
    t = type(x)
    return ('{"__type__":"dataclass","class_name":' + json_string(t.__name__) + ',"module":' + json_string(t.__module__)
            + ',"data":{' + ",".join(out) + "}}")


# --- from tags to values ---

def decode(x):
    """The Python value of tagged JSON, for inputs and for values of tools. An unknown tag stays a plain dict."""
    if type(x) is list:
        return [decode(v) for v in x]
    if type(x) is not dict:
        return x
    kind = x.get("__type__")
    if type(kind) is not str:
        return {k: decode(v) for k, v in x.items()}
    data = x.get("data")
    if kind in ("tuple", "set", "frozenset"):
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind]([decode(v) for v in data])
    if kind == "dict_with_complex_keys":
        return {decode(k): decode(v) for k, v in data}
    if kind == "bytes" or kind == "bytearray":
        from binascii import a2b_base64
        return (bytes if kind == "bytes" else bytearray)(a2b_base64(data))
    if kind == "str":
        from binascii import a2b_base64
        return a2b_base64(data).decode("utf-8", "surrogatepass")
    if kind == "int":
        return int(data, 0)
    if kind == "float":
        return float(data)
    if kind == "complex":
        return complex(decode(x["real"]), decode(x["imag"]))
    if kind in ("datetime", "date", "time"):
        import datetime
        return getattr(datetime, kind).fromisoformat(data)
    if kind == "timedelta":
        from datetime import timedelta
        return timedelta(seconds=x["total_seconds"])
    if kind == "Decimal":
        from decimal import Decimal
        return Decimal(data)
    if kind == "Path":
        from pathlib import Path
        return Path(decode(data))
    if kind == "ndarray":
        try:
            import numpy
        except ImportError:
            return decode(data)
        return numpy.array(decode(data), dtype=x["dtype"])
    return {k: decode(v) for k, v in x.items()}
