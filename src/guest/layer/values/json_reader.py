"""Reads JSON: requests, policies and answers to tool calls. The host composes them, well formed, so the reader is small.
The reader loads no module for a small document, and repairs no malformed one.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

SMALL_CHARS = 65536
UNESCAPES = {"n": "\n", '"': '"', "\\": "\\", "/": "/", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def read_json(data):
    """Decode one JSON document. Loading the C scanner takes longer than a small document."""
    text = data.decode("utf-8")
    if len(text) > SMALL_CHARS or "_json" in modules:
        try:
            import _json
            return _json.make_scanner(ScannerContext)(text, skip_space(text, 0))[0]
        except (ImportError, StopIteration):
            pass
    value, end = read_value(text, skip_space(text, 0))
    if skip_space(text, end) != len(text):
        raise ValueError("text after the JSON document")
    return value


class ScannerContext:
    """The attributes that _json.make_scanner reads; the same values as those of json.loads without arguments."""
    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int
    parse_constant = float
    memo = {}


def skip_space(text, at):
    while text[at:at + 1] in (" ", "\n", "\t", "\r"):
        at += 1
    return at


def read_value(text, at):
    c = text[at:at + 1]
    if c == '"':
        return read_string(text, at + 1)
    if c == "{" or c == "[":
        return read_items(text, skip_space(text, at + 1), c == "{")
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


def read_items(text, at, is_object):
    out, close = {} if is_object else [], "}" if is_object else "]"
    if text[at:at + 1] == close:
        return out, at + 1
    while True:
        if is_object:
            if text[at:at + 1] != '"':
                raise ValueError("not a JSON key at character %d" % at)
            key, at = read_string(text, at + 1)
            if text[at:at + 1] != ":":
                at = skip_space(text, at)
                if text[at:at + 1] != ":":
                    raise ValueError("no colon at character %d" % at)
            out[key], at = read_value(text, skip_space(text, at + 1))
        else:
            item, at = read_value(text, at)
            out.append(item)
        c = text[at:at + 1]
        if c != "," and c != close:
            at = skip_space(text, at)
            c = text[at:at + 1]
        if c == close:
            return out, at + 1
        if c != ",":
            raise ValueError("no comma at character %d" % at)
        at = skip_space(text, at + 1)


def read_string(text, at):
    end = text.index('"', at)
    piece = text[at:end]
    if "\\" not in piece:
        return piece, end + 1
    out, surrogates = [], False
    while True:
        slash = text.find("\\", at, end)
        if slash < 0:
            out.append(text[at:end])
            break
        out.append(text[at:slash])
        c = text[slash + 1]
        if c == "u":
            code = int(text[slash + 2:slash + 6], 16)
            surrogates = surrogates or 0xD800 <= code < 0xE000
            out.append(chr(code))
            at = slash + 6
        else:
            out.append(UNESCAPES[c])
            at = slash + 2
        if at > end:
            end = text.index('"', at)
    value = "".join(out)
    if surrogates:  # two escapes make one character beyond the BMP
        value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return value, end + 1
