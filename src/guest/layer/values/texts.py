"""Texts of values, for people to read: the repr, the str, the name of the type; and which classes have a richer form.
A text that would be longer than its cap is cut, and if an agent's __repr__ or __str__ fails, the text says so.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

MAX_NAME = 1000         # characters of the name of a type, or of its module
MESSAGE_BYTES = 8 << 10  # of an error, for a model to read
MAX_DIGIT_BITS = 14000  # about the 4300 digits that CPython converts; larger ints are written in hex

# Methods by which a class says how a notebook shows its objects -> the MIME type of what the method gives; rich.py calls them.
RICH_METHODS = {
    "_repr_mimebundle_": None, "_repr_html_": "text/html", "_repr_markdown_": "text/markdown", "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png", "_repr_jpeg_": "image/jpeg", "_repr_pdf_": "application/pdf", "_repr_latex_": "text/latex",
    "_repr_json_": "application/json", "_repr_javascript_": "application/javascript",
}


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
    if t is str or t is bytes or t is bytearray or t.__str__ is object.__str__ or t.__module__ == "unittest.mock":   # it counts its calls
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


def type_name(value):
    t = type(value)
    name = t.__qualname__ if type(t.__qualname__) is str else "?"
    module = t.__dict__.get("__module__") if t.__module__.__class__ is not str else t.__module__
    name = name[:MAX_NAME]
    return name if module in ("builtins", "__main__") or type(module) is not str else module[:MAX_NAME] + "." + name
