"""JSON text of Python values, with a type tag where JSON has no word for the type; the claim is written here too.
The encoder imports no module to test a type, and never writes NaN, a lone surrogate, or a NUL in a name.

The values are agent objects: every walk has a budget, and every call into such an object may raise.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.texts import MAX_DIGIT_BITS, safe_repr

MAX_DEPTH = 64          # deeper values fall back to repr: the host's JSON reader has a limit as well
MAX_NODES = 200000      # encoding a value of a million small items would cost seconds in the jail
SAFE_INT = 1 << 53      # a reader that holds numbers as doubles would change larger ones

# Escapes in JSON strings. In text for people NUL becomes visible: a C reader would end the text there.
ESCAPES = {c: "\\u%04x" % c for c in range(32)}
ESCAPES.update({34: '\\"', 92: "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"})
VISIBLE_ESCAPES = dict(ESCAPES)
VISIBLE_ESCAPES[0] = "\\\\x00"


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
            from agentjail.values.type_tags import encode_surrogates
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
        from agentjail.values.type_tags import encode_rare
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
