"""JSON text of Python values, with a type tag where JSON has no word for the type, and their repr.
The encoder imports no module to test a type, and never writes NaN, a lone surrogate, or a NUL in a name.

The values are agent objects: every walk has a budget, and every call into such an object may raise.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

MAX_DEPTH = 64          # deeper values fall back to repr: the host's JSON reader has a limit as well
MAX_NODES = 200000      # encoding a value of a million small items would cost seconds in the jail
SAFE_INT = 1 << 53      # a reader that holds numbers as doubles would change larger ones
MESSAGE_BYTES = 8 << 10  # of an error, for a model to read
MAX_DIGIT_BITS = 14000  # about the 4300 digits that CPython converts; larger ints are written in hex

# Escapes in JSON strings. In text for people NUL becomes visible: a C reader would end the text there.
ESCAPES = {c: "\\u%04x" % c for c in range(32)}
ESCAPES.update({34: '\\"', 92: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
VISIBLE_ESCAPES = dict(ESCAPES)
VISIBLE_ESCAPES[0] = "\\\\x00"


# Methods by which a class says how a notebook shows its objects -> the MIME type of what the method gives; rich.py calls them.
RICH_METHODS = {
    "_repr_mimebundle_": None, "_repr_html_": "text/html", "_repr_markdown_": "text/markdown", "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg", "_repr_pdf_": "application/pdf", "_repr_latex_": "text/latex",
    "_repr_json_": "application/json", "_repr_javascript_": "application/javascript",
}


class TooBig(Exception):
    """The value is over a limit; the caller writes its repr instead."""


class Cycle(TooBig):
    """The value contains itself, which repr can show."""


def json_string(s, exact=False):
    """JSON of s. JSON has no lone surrogate: where `exact` is true a type tag holds such a string, else text shows it."""
    if s.isascii():
        if s.isprintable() and '"' not in s and "\\" not in s:
            return '"' + s + '"'
    elif has_surrogate(s):
        if exact:
            from agentjail.runtime.type_tags import encode_surrogates
            return encode_surrogates(s)
        s = s.encode("utf-8", "backslashreplace").decode("utf-8")
    return '"' + s.translate(ESCAPES if exact else VISIBLE_ESCAPES) + '"'


def has_surrogate(s):
    try:
        s.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def claim_json(x):
    """JSON of a claim: str, int, bool, None, list, dict of these, and RawJson."""
    t = type(x)
    if t is str:
        return json_string(x)
    if t is RawJson:
        return x.text
    if x is None:
        return "null"
    if t is bool:
        return "true" if x else "false"
    if t is int:
        return repr(x)
    if t is dict:
        return "{" + ",".join([json_string(k) + ":" + claim_json(v) for k, v in x.items()]) + "}"
    return "[" + ",".join([claim_json(v) for v in x]) + "]"


class RawJson:
    """Text that is JSON already."""
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


def safe_repr(x, cap):
    """(repr(x) of at most cap bytes, was the text cut?); an agent's __repr__ may do anything."""
    out = []
    try:
        left = write_repr(x, out, cap, ())
    except Exception as e:
        return "<repr failed: %s>" % type(e).__name__, False
    text, was_cut = truncate("".join(out), cap)
    return text, was_cut or left < 0


def own_str(x, cap):
    """(str(x) of at most cap bytes, was the text cut?) for an object whose class has an str() of its own, else (None, False).
    The text of str and bytes is their value, and that of most other types their repr."""
    t = type(x)
    if t is str or t is bytes or t is bytearray or t.__str__ is object.__str__:
        return None, False
    try:
        text = str(x)
        return truncate(text if type(text) is str else str.__getitem__(text, slice(None)), cap)
    except Exception as e:
        return "<str failed: %s>" % type(e).__name__, False


def has_rich_repr(x):
    """Has the class of x a method of RICH_METHODS? No built-in type has."""
    t = type(x)
    try:
        return t.__module__ != "builtins" and any([getattr(t, name, None) is not None for name in RICH_METHODS])
    except Exception:  # of the class's own class
        return False


BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}"), set: ("{", "}"), frozenset: ("frozenset({", "})")}


def write_repr(x, out, left, parents):
    """Append the pieces of repr(x), about `left` characters at most: ten nested lists of ten shared lists would make
    a text that fills any memory. Returns the characters that are left; below zero, a piece is missing."""
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
    if id(x) in parents:
        out.append(t.__name__ + "(...)" if t is set or t is frozenset else first + "..." + last)
        return left - 5
    if len(parents) > 150:
        out.append("...")
        return -1
    out.append(first)
    left -= len(first)
    parents += (id(x),)
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
            left = write_repr(item[0], out, left, parents)
            out.append(": ")
            left = write_repr(item[1], out, left - 2, parents)
        else:
            left = write_repr(item, out, left, parents)
    out.append(",)" if t is tuple and len(x) == 1 else last)
    return left - 1


def truncate(text, cap):
    """(at most cap bytes of UTF-8, whole characters alone; was the text cut?)"""
    if len(text) * 4 <= cap:
        return text, False
    data = text[:cap + 1].encode("utf-8", "backslashreplace")
    if len(data) <= cap:
        return text, False
    return data[:cap].decode("utf-8", "ignore"), True


def value_json(x, value_cap, repr_cap, handles=None):
    """(JSON text of any value; is it the repr because the value is too big, or a repr that was cut?) handles: a table for what cannot
    cross, see type_tags.py; None: its repr alone crosses."""
    t = type(x)
    if x is None or t is bool:
        return claim_json(x), False
    try:
        if t is int and -SAFE_INT <= x <= SAFE_INT:
            return repr(x), False
        return Encoder(value_cap, handles).encode(x), False
    except Exception as e:
        too_big = type(e) is TooBig
    if handles is not None:
        return handles.encode(x), too_big
    text, was_cut = safe_repr(x, repr_cap)
    return '{"__type__":"repr","data":' + json_string(text) + "}", too_big or was_cut


class Encoder:
    """One walk over one value, with a budget of bytes and nodes: JSON text, or TooBig."""

    def __init__(self, cap, handles=None):
        self.bytes, self.nodes, self.parents = cap, MAX_NODES, set()
        self.handles, self.handles_made = handles, 0

    def encode(self, x):
        text = self.encode_item(x, 0)
        if len(text) > self.bytes:
            raise TooBig
        return text

    def spend(self, size):
        self.bytes -= size
        if self.bytes < 0:
            raise TooBig

    def encode_item(self, x, depth):
        self.nodes -= 1
        if self.nodes < 0 or depth > MAX_DEPTH:
            raise TooBig
        t = type(x)
        if t is str:
            if len(x) > self.bytes:
                raise TooBig
            text = json_string(x, True)
            self.spend(len(text))
            return text
        if x is None or t is bool:
            return claim_json(x)
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
        if id(x) in self.parents:
            raise Cycle
        self.parents.add(id(x))

    def items(self, x, depth):
        self.enter(x)
        if len(x) > self.nodes:
            raise TooBig
        encode = self.encode_item
        text = "[" + ",".join([encode(v, depth + 1) for v in tuple(x)]) + "]"
        self.parents.discard(id(x))
        return text

    def mapping(self, x, depth):
        self.enter(x)
        if len(x) > self.nodes:
            raise TooBig
        pairs = tuple(dict.items(x))
        # jansson refuses a NUL in a name.
        if all([type(k) is str and "\0" not in k and (k.isascii() or not has_surrogate(k)) for k, _ in pairs]) and "__type__" not in x:
            out = []
            for k, v in pairs:
                self.spend(len(k) + 4)
                out.append(json_string(k) + ":" + self.encode_item(v, depth + 1))
            text = "{" + ",".join(out) + "}"
        else:  # other keys, or a key that would read as a type tag
            out = ["[" + self.encode_item(k, depth + 1) + "," + self.encode_item(v, depth + 1) + "]" for k, v in pairs]
            text = '{"__type__":"dict_with_complex_keys","data":[' + ",".join(out) + "]}"
        self.parents.discard(id(x))
        return text
