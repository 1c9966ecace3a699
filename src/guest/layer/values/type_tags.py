"""The rarer type tags, from values to JSON and back; loaded when a value or an input needs one.
A type is known by its exact module and name; the encoder guesses no other. No tag runs a constructor of the snippet's classes.

One table has all tags; docs/reference/values.md has it too, and tests/layer/test_values.py compares them.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.json_writer import TooBig, json_string
from agentjail.values.texts import safe_repr, type_name

# tag -> (what it stands for, its members beside "__type__")
TAGS = {
    "tuple": ("a tuple, also a named one", "`data`: array"),
    "set": ("a set", "`data`: array"),
    "frozenset": ("a frozenset", "`data`: array"),
    "dict_with_complex_keys": ("a dict with keys that are no strings, or with the key `__type__`", "`data`: array of `[key, value]`"),
    "int": ("an int beyond 2^53", "`data`: digits, or `0x` and hexadecimal digits"),
    "float": ("an infinity, or NaN", "`data`: `inf`, `-inf`, `nan`"),
    "complex": ("a complex number", "`real`, `imag`"),
    "str": ("a str with lone surrogates", "`data`: base64 of UTF-8 with surrogates (`surrogatepass`)"),
    "bytes": ("bytes", "`data`: base64"),
    "bytearray": ("a bytearray", "`data`: base64"),
    "datetime": ("datetime.datetime", "`data`: ISO 8601"),
    "date": ("datetime.date", "`data`: ISO 8601"),
    "time": ("datetime.time", "`data`: ISO 8601"),
    "timedelta": ("datetime.timedelta", "`total_seconds`: number"),
    "Decimal": ("decimal.Decimal", "`data`: its text"),
    "Path": ("a path of pathlib", "`data`: its text"),
    "Enum": ("a member of an enum.Enum", "`class_name`, `module`, `name`, `value`"),
    "dataclass": ("an instance of a dataclass", "`class_name`, `module`, `data`: object of its fields"),
    "ndarray": ("a numpy.ndarray of numbers, booleans, texts or dates", "`data`: nested arrays, `dtype`, `shape`"),
    "Series": ("a pandas.Series", "`data`: array, `dtype`, `name`, `index`"),
    "DataFrame": ("a pandas.DataFrame", "`data`: array of rows, `columns`, `dtypes`, `index`"),
    "Timestamp": ("pandas.Timestamp", "`data`: ISO 8601"),
    "Timedelta": ("pandas.Timedelta", "`data`: ISO 8601"),
    "PIL.Image": ("an image of Pillow", "`data`: base64 of a PNG"),
    "handle": ("a value that stays inside, see [handles](#handles)", "`id`, `type`, `repr`"),
    "repr": ("any other value: a text, which stays an object on the way in", "`data`: its repr"),
}
# dict subclasses that are written like a dict: a reader of JSON needs their content alone
PLAIN_DICTS = {("collections", "OrderedDict"), ("collections", "defaultdict"), ("collections", "Counter")}
ARRAY_MODULES = ("numpy", "pandas")
MAX_HANDLES = 1000
HANDLES_OF_A_VALUE = 100    # a value with more of them is one handle itself
HANDLE_REPR_BYTES = 1024


class NoTag(Exception):
    """The type has no tag."""


class TagError(ValueError):
    """A tag that cannot become a value here. The text is for the caller to read."""


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
    try:
        return encode_tag(encoder, x, depth)
    except NoTag:
        if encoder.handles is None:
            raise
        encoder.handles_made += 1
        if encoder.handles_made > HANDLES_OF_A_VALUE:
            raise TooBig from None
        text = encoder.handles.encode(x)
        encoder.spend(len(text))
        return text


def encode_tag(encoder, x, depth):
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
    if module.partition(".")[0] in ARRAY_MODULES:
        from agentjail.values.array_tags import encode_array
        return encode_array(encoder, x, depth)
    if "PIL.Image" in modules and isinstance(x, modules["PIL.Image"].Image):
        from agentjail.values.array_tags import encode_image
        return encode_image(encoder, x)
    if "enum" in modules and isinstance(x, modules["enum"].Enum):
        return ('{"__type__":"Enum",' + class_members(t) + ',"name":' + encoder.encode_item(x.name, depth + 1)
                + ',"value":' + encoder.encode_item(x.value, depth + 1) + "}")
    fields = t.__dict__.get("__dataclass_fields__")
    if type(fields) is dict:
        return encode_dataclass(encoder, x, depth, fields)
    raise NoTag(name)


def class_members(t):
    return '"class_name":' + json_string(t.__name__) + ',"module":' + json_string(t.__module__)


def encode_dataclass(encoder, x, depth, fields):
    encoder.enter(x)
    out = []
    for name in tuple(fields):
        if not str.isidentifier(name):
            raise NoTag(type(x).__name__)
        out.append(json_string(name) + ":" + encoder.encode_item(getattr(x, name), depth + 1))
    encoder.parents.discard(id(x))
    return '{"__type__":"dataclass",' + class_members(type(x)) + ',"data":{' + ",".join(out) + "}}"


class Handles:
    """Values that stay inside, by name. The last MAX_HANDLES are kept."""

    def __init__(self):
        self.values, self.names, self.made = {}, {}, 0

    def encode(self, x):
        """The tag of x. The same object has the same name, as long as it is kept."""
        text = safe_repr(x, HANDLE_REPR_BYTES)[0]
        name = self.names.get(id(x))
        if name is None:
            self.made += 1
            name = self.names[id(x)] = "h%d" % self.made
            self.values[name] = x
            if len(self.values) > MAX_HANDLES:
                del self.names[id(self.values.pop(next(iter(self.values))))]
        return ('{"__type__":"handle","id":"' + name + '","type":' + json_string(type_name(x)) + ',"repr":' + json_string(text) + "}")


# --- from tags to values ---

def decode(x, session=None):
    """The Python value of tagged JSON, for inputs and for values of tools. An unknown tag stays a plain dict. TagError: a known one that
    cannot become a value here. session: whose classes, handles and allowed modules count."""
    if type(x) is list:
        return [decode(v, session) for v in x]
    if type(x) is not dict:
        return x
    kind = x.get("__type__")
    read = READERS.get(kind) if type(kind) is str else None
    if read is None:
        return {k: decode(v, session) for k, v in x.items()}
    try:
        return read(x, session)
    except TagError:
        raise
    except Exception as e:
        raise TagError("a value of type %s cannot be read (%s: %s)" % (kind, type(e).__name__, e)) from None


def read_items(x, session):
    return [decode(v, session) for v in x["data"]]


def read_bytes(x, session=None):
    from binascii import a2b_base64
    return a2b_base64(x["data"])


def read_iso(x, session):
    import datetime
    return getattr(datetime, x["__type__"]).fromisoformat(x["data"])


def read_timedelta(x, session):
    from datetime import timedelta
    return timedelta(seconds=x["total_seconds"])


def read_decimal(x, session):
    from decimal import Decimal
    return Decimal(x["data"])


def read_path(x, session):
    from pathlib import Path
    return Path(decode(x["data"]))


def read_enum(x, session):
    cls = find_class(x, session)
    if "enum" not in modules or not isinstance(cls, modules["enum"].EnumMeta):
        raise TagError("%s is no Enum here" % x["class_name"])
    members = cls.__members__
    return members[x["name"]] if x["name"] in members else cls(decode(x["value"], session))


def read_dataclass(x, session):
    """An instance with these fields; neither __init__ nor __post_init__ runs."""
    cls, data = find_class(x, session), x["data"]
    fields = cls.__dict__.get("__dataclass_fields__") if isinstance(cls, type) else None
    if type(fields) is not dict or set(fields) != set(data):
        raise TagError("%s is no dataclass with these fields here" % x["class_name"])
    out = object.__new__(cls)
    for name in fields:
        object.__setattr__(out, name, decode(data[name], session))
    return out


def find_class(x, session):
    module, name = x["module"], x["class_name"]
    found = None
    if session is not None and type(name) is str and name[:1] != "_":
        if module == "__main__":
            found = session.module.__dict__.get(name)
        elif session.guards is None or session.guards.imports.allows(module):
            found = modules[module].__dict__.get(name) if module in modules else None
    if found is None:
        raise TagError("there is no class %s of the module %s here" % (name, module))
    return found


def read_handle(x, session):
    table = session.handle_table if session is not None else None
    if table is None or x["id"] not in table.values:
        raise TagError("there is no handle %s in this session (the last %d are kept)" % (x["id"], MAX_HANDLES))
    return table.values[x["id"]]


def read_array(x, session):
    from agentjail.values.array_tags import ARRAY_READERS
    return ARRAY_READERS[x["__type__"]](x, session)


READERS = {
    "tuple": lambda x, session: tuple(read_items(x, session)),
    "set": lambda x, session: set(read_items(x, session)),
    "frozenset": lambda x, session: frozenset(read_items(x, session)),
    "dict_with_complex_keys": lambda x, session: {decode(k, session): decode(v, session) for k, v in x["data"]},
    "int": lambda x, session: int(x["data"], 0),
    "float": lambda x, session: float(x["data"]),
    "complex": lambda x, session: complex(decode(x["real"]), decode(x["imag"])),
    "str": lambda x, session: read_bytes(x).decode("utf-8", "surrogatepass"),
    "bytes": read_bytes, "bytearray": lambda x, session: bytearray(read_bytes(x)),
    "datetime": read_iso, "date": read_iso, "time": read_iso, "timedelta": read_timedelta,
    "Decimal": read_decimal, "Path": read_path, "Enum": read_enum, "dataclass": read_dataclass,
    "ndarray": read_array, "Series": read_array, "DataFrame": read_array, "Timestamp": read_array, "Timedelta": read_array,
    "PIL.Image": read_array, "handle": read_handle,
}
