"""Turns requests from JSON and Python values into JSON, with a type tag where JSON has no word for the type.
It refuses to import a module only to test a type, and never emits NaN, a lone surrogate or a NUL.

The request comes from the host, well formed, so the reader is small; what is written comes from agent
objects, so every walk has a budget and every call into such an object may raise.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)

MAX_DEPTH = 64          # deeper values fall back to repr: the host's JSON reader has a limit as well
MAX_NODES = 200000      # so that a value of a million small items does not cost seconds in the jail
SAFE_INT = 1 << 53      # beyond it, a reader that holds numbers as doubles would change the value
MAX_DIGIT_BITS = 14000  # about the 4300 digits that CPython converts; larger ints are written in hex

# What JSON strings may not hold as they are. NUL is spelt out since C readers end strings there.
ESCAPES = {c: "\\u%04x" % c for c in range(1, 32)}
ESCAPES.update({0: "\\\\x00", 34: '\\"', 92: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
UNESCAPES = {"n": "\n", '"': '"', "\\": "\\", "/": "/", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class TooBig(Exception):
    """The value is over a cap, or holds itself; the caller writes its repr instead."""


# --- reading -------------------------------------------------------------------------------------

def read_json(data):
    """Decode one JSON document. The C scanner is used only where it is worth the price of loading it."""
    text = data.decode("utf-8")
    if len(text) > 65536 or "_json" in modules:
        try:
            import _json
            return _json.make_scanner(_Context)(text, _skip(text, 0))[0]
        except (ImportError, StopIteration):
            pass
    value, end = _read(text, _skip(text, 0))
    if _skip(text, end) != len(text):
        raise ValueError("text after the JSON document")
    return value


class _Context:
    # What _json.make_scanner wants to know; the same answers as json.loads without arguments.
    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float
    memo = {}


def _skip(text, at):
    while text[at:at + 1] in (" ", "\n", "\t", "\r"):
        at += 1
    return at


def _read(text, at):
    c = text[at:at + 1]
    if c == '"':
        return _read_string(text, at + 1)
    if c == "{" or c == "[":
        return _read_items(text, _skip(text, at + 1), c == "{")
    if c in "tfn" and c:
        for word, value in (("true", True), ("false", False), ("null", None)):
            if text.startswith(word, at):
                return value, at + len(word)
    end, size = at, len(text)
    while end < size and text[end] in "0123456789+-.eE":
        end += 1
    number = text[at:end]
    if not number:
        raise ValueError("not JSON at character %d" % at)
    return (int(number) if number.lstrip("-").isdigit() else float(number)), end


def _read_items(text, at, is_object):
    out, close = {} if is_object else [], "}" if is_object else "]"
    if text[at:at + 1] == close:
        return out, at + 1
    while True:
        if is_object:
            if text[at:at + 1] != '"':
                raise ValueError("not a JSON key at character %d" % at)
            key, at = _read_string(text, at + 1)
            if text[at:at + 1] != ":":
                at = _skip(text, at)
                if text[at:at + 1] != ":":
                    raise ValueError("no colon at character %d" % at)
            out[key], at = _read(text, _skip(text, at + 1))
        else:
            item, at = _read(text, at)
            out.append(item)
        c = text[at:at + 1]
        if c != "," and c != close:
            at = _skip(text, at)
            c = text[at:at + 1]
        if c == close:
            return out, at + 1
        if c != ",":
            raise ValueError("no comma at character %d" % at)
        at = _skip(text, at + 1)


def _read_string(text, at):
    end = text.index('"', at)
    piece = text[at:end]
    if "\\" not in piece:
        return piece, end + 1
    out, wide = [], False
    while True:
        slash = text.find("\\", at, end)
        if slash < 0:
            out.append(text[at:end])
            break
        out.append(text[at:slash])
        c = text[slash + 1]
        if c == "u":
            code = int(text[slash + 2:slash + 6], 16)
            wide = wide or 0xD800 <= code < 0xE000
            out.append(chr(code))
            at = slash + 6
        else:
            out.append(UNESCAPES[c])
            at = slash + 2
        if at > end:
            end = text.index('"', at)
    value = "".join(out)
    if wide:  # two escapes make one character beyond the BMP
        value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return value, end + 1


# --- writing -------------------------------------------------------------------------------------

def quote(s):
    """A JSON string. Lone surrogates and NUL become visible text, since strict readers refuse them."""
    if s.isascii() and s.isprintable():
        if '"' not in s and "\\" not in s:
            return '"' + s + '"'
    else:
        try:
            s.encode("utf-8")
        except UnicodeEncodeError:
            s = s.encode("utf-8", "backslashreplace").decode("utf-8")
    return '"' + s.translate(ESCAPES) + '"'


def plain(x):
    """JSON of our own claim: str, int, bool, None, list, dict of these, and Raw text that is JSON already."""
    t = type(x)
    if t is str:
        return quote(x)
    if t is Raw:
        return x.text
    if x is None:
        return "null"
    if t is bool:
        return "true" if x else "false"
    if t is int:
        return repr(x)
    if t is dict:
        return "{" + ",".join([quote(k) + ":" + plain(v) for k, v in x.items()]) + "}"
    return "[" + ",".join([plain(v) for v in x]) + "]"


class Raw:
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


def safe_repr(x, cap):
    """repr(x) of at most cap bytes, and whether it was cut; an agent's __repr__ may do anything."""
    out = []
    try:
        left = write_repr(x, out, cap, ())
    except Exception as e:
        return "<repr failed: %s>" % type(e).__name__, False
    text, was_cut = cut("".join(out), cap)
    return text, was_cut or left < 0


BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"), frozenset: ("frozenset({", "})")}


def write_repr(x, out, left, above):
    """Append the pieces of repr(x) until some `left` characters are there: ten nested lists of ten shared
    lists make a text that would fill any memory. Returns what is left; below zero, something is missing."""
    t = type(x)
    if t not in BRACKETS or not x:
        if (t is str or t is bytes or t is bytearray) and len(x) > left:
            text = t.__repr__(x[:max(left, 0) + 1])
        elif t is int and x.bit_length() > MAX_DIGIT_BITS:
            text = hex(x)
        else:
            text = repr(x)
            if type(text) is not str:
                text = str.__getitem__(text, slice(None))
        out.append(text)
        return left - len(text)
    first, last = BRACKETS[t]
    if id(x) in above:
        out.append(t.__name__ + "(...)" if t is set or t is frozenset else first + "..." + last)
        return left - 5
    if len(above) > 150:
        out.append("...")
        return -1
    out.append(first)
    left -= len(first)
    above += (id(x),)
    items = tuple(x.items()) if t is dict else x
    comma = False
    for item in items:
        if left < 0:
            break
        if comma:
            out.append(", ")
            left -= 2
        comma = True
        if t is dict:
            left = write_repr(item[0], out, left, above)
            out.append(": ")
            left = write_repr(item[1], out, left - 2, above)
        else:
            left = write_repr(item, out, left, above)
    out.append(",)" if t is tuple and len(x) == 1 else last)
    return left - 1


def cut(text, cap):
    """At most cap bytes of UTF-8, never half a character, and whether something was cut."""
    if len(text) * 4 <= cap:
        return text, False
    data = text[:cap + 1].encode("utf-8", "backslashreplace")
    if len(data) <= cap:
        return text, False
    return data[:cap].decode("utf-8", "ignore"), True


def tagged(x, value_cap, repr_cap):
    """(JSON text, truncated) of any value."""
    t = type(x)
    if x is None or t is bool:
        return plain(x), False
    try:
        if t is int and -SAFE_INT <= x <= SAFE_INT:
            return repr(x), False
        return Encoder(value_cap).encode(x), False
    except TooBig:
        cut_off = True
    except Exception:
        cut_off = False
    text = safe_repr(x, repr_cap)[0]
    return '{"__type__":"repr","data":' + quote(text) + "}", cut_off


class Encoder:
    """One walk over one value: a text, or TooBig."""

    def __init__(self, cap):
        self.bytes, self.nodes, self.open = cap, MAX_NODES, set()

    def encode(self, x):
        text = self.walk(x, 0)
        if len(text) > self.bytes:
            raise TooBig
        return text

    def spend(self, size):
        self.bytes -= size
        if self.bytes < 0:
            raise TooBig

    def walk(self, x, depth):
        self.nodes -= 1
        if self.nodes < 0 or depth > MAX_DEPTH:
            raise TooBig
        t = type(x)
        if t is str:
            if len(x) > self.bytes:
                raise TooBig
            text = quote(x)
            self.spend(len(text))
            return text
        if x is None or t is bool:
            return plain(x)
        if t is int:
            if -SAFE_INT <= x <= SAFE_INT:
                return repr(x)
            if x.bit_length() > self.bytes * 4:
                raise TooBig
            digits = repr(x) if x.bit_length() <= MAX_DIGIT_BITS else hex(x)
            self.spend(len(digits))
            return '{"__type__":"int","data":"' + digits + '"}'
        if t is float:
            text = repr(x)
            if text[-1] in "nf":
                return '{"__type__":"float","data":"' + text + '"}'
            return text
        if t is list or t is tuple or t is set or t is frozenset:
            text = self.items(x, depth)
            return text if t is list else '{"__type__":"' + t.__name__ + '","data":' + text + "}"
        if t is dict:
            return self.mapping(x, depth)
        from agentjail.runtime.type_tags import encode_rare
        return encode_rare(self, x, depth)

    def enter(self, x):
        if id(x) in self.open:
            raise TooBig  # it holds itself; repr knows how to say so
        self.open.add(id(x))

    def items(self, x, depth):
        self.enter(x)
        if len(x) > self.nodes:
            raise TooBig
        walk = self.walk
        text = "[" + ",".join([walk(v, depth + 1) for v in tuple(x)]) + "]"
        self.open.discard(id(x))
        return text

    def mapping(self, x, depth):
        self.enter(x)
        if len(x) > self.nodes:
            raise TooBig
        pairs = tuple(dict.items(x))
        if all([type(k) is str and "\0" not in k for k, _ in pairs]) and "__type__" not in x:
            out = []
            for k, v in pairs:
                self.spend(len(k) + 4)
                out.append(quote(k) + ":" + self.walk(v, depth + 1))
            text = "{" + ",".join(out) + "}"
        else:  # other keys, or a key that would read as a tag of ours
            out = ["[" + self.walk(k, depth + 1) + "," + self.walk(v, depth + 1) + "]" for k, v in pairs]
            text = '{"__type__":"dict_with_complex_keys","data":[' + ",".join(out) + "]}"
        self.open.discard(id(x))
        return text
