"""Rich results: MIME bundles of values with `_repr_*_` methods, of display(), and of the figures that pyplot has open at the end.
It imports no module for the snippet. A method that fails, or returns another type than its name says, loses only its own entry.

The names and rules are IPython's. Loaded only where there is something to show.
"""

from sys import modules

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.type_tags import NoTag, base64_string
from agentjail.values.json_writer import Encoder, RawJson, TooBig, json_string
from agentjail.values.texts import MESSAGE_BYTES, RICH_METHODS, safe_repr, truncate

MAX_BUNDLES, MAX_ENTRIES, MAX_NOTES = 100, 20, 20
MIME_CHARS = 100
TEXT_BYTES = 8 << 10        # of text/plain
MAX_JSON_NODES = 10000      # of one entry
BINARY = ("image/", "audio/", "video/", "application/pdf", "application/octet-stream")
SVG = "image/svg+xml"
# Entries that are files of /output too, where the caller takes these.
FILE_ENDINGS = {"image/png": ".png", "image/jpeg": ".jpg", SVG: ".svg", "application/pdf": ".pdf"}


class WrongType(Exception):
    """The data is not of the type that the MIME type has."""


def is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def is_binary(mime):
    return mime.startswith(BINARY) and mime != SVG


def is_mime(name):
    return type(name) is str and len(name) <= MIME_CHARS and "/" in name and name.isascii() and name.isprintable() and " " not in name


class PlainJson(Encoder):
    """JSON as notebooks write it: a tuple is an array."""

    def encode_item(self, x, depth):
        return Encoder.encode_item(self, list(x) if type(x) is tuple else x, depth)


class Results:
    """The bundles of one snippet. All bytes are counted as JSON."""

    def __init__(self, limits, keeps_files):
        self.bundles, self.notes, self.figures = [], [], []
        self.bundle_bytes = limits["value_bytes"]
        self.left = self.bundle_bytes * 3 // 2
        self.keeps_files = keeps_files
        self.was_cut = False

    def display(self, objects, raw=False):
        """As IPython's display(): a bundle for each object. raw: the objects are bundles."""
        for x in objects:
            if raw and type(x) is not dict:
                raise TypeError("display(raw=True) takes dicts of MIME type and data, not %s" % type(x).__name__)
            self.add(x, dict(x) if raw else None)

    def add(self, x, data=None):
        """Add the bundle of x; data: MIME type -> data, where it is known already."""
        if len(self.bundles) >= MAX_BUNDLES:
            self.was_cut = True
            return
        if data is None:
            data = {"text/plain": safe_repr(x, TEXT_BYTES)[0]}
            if is_figure(x):
                self.figures.append(x)
                self.call("savefig", data, "image/png", lambda: figure_png(x))
            else:
                self.call_methods(x, data)
        left, texts = min(self.left, self.bundle_bytes), []
        for mime, content in data.items():
            if not is_mime(mime) or len(texts) >= MAX_ENTRIES:
                self.note("display: an entry was dropped: a bundle has at most %d entries, with MIME types as names" % MAX_ENTRIES)
                continue
            try:
                text = json_string(mime) + ":" + self.encode(mime, content, left)
            except TooBig:
                self.was_cut = True
                continue
            except Exception as e:
                self.note("display: %s was dropped: %s" % (mime, describe(e)))
                continue
            if len(text) + 3 > left:
                self.was_cut = True
                continue
            left -= len(text) + 1
            self.left -= len(text) + 1
            texts.append(text)
        if texts:
            self.left -= 3
            self.bundles.append("{" + ",".join(texts) + "}")

    def call_methods(self, x, data):
        for name, mime in RICH_METHODS.items():
            if getattr(type(x), name, None) is None or mime in data:
                continue
            if mime is None:
                self.call(name, data, None, lambda: x._repr_mimebundle_(include=None, exclude=None))
            else:
                self.call(name, data, mime, getattr(x, name))

    def call(self, name, data, mime, method):
        """Put what a method gives into `data`: None is nothing, and of a pair the second is metadata."""
        try:
            got = method()
            if type(got) is tuple and len(got) == 2:
                got = got[0]
            if got is None:
                return
            if mime is None:
                data.update(got)
            else:
                data[mime] = got
        except Exception as e:
            self.note("%s failed: %s" % (name, describe(e)))

    def encode(self, mime, data, left):
        """JSON text of one entry: base64, text, or any JSON value, by the MIME type."""
        if is_json(mime):
            encoder = PlainJson(left)
            encoder.nodes = MAX_JSON_NODES
            try:
                return encoder.encode(data)
            except NoTag as e:
                raise WrongType("JSON is expected, and has no value of type %s" % e) from None
        if not is_binary(mime):
            if not isinstance(data, str):
                raise WrongType("a str is expected, not %s" % type(data).__name__)
            data = str.__getitem__(data, slice(None))
            self.keep(mime, data.encode("utf-8", "backslashreplace"))
            if len(data) > left:
                raise TooBig
            return json_string(data)
        if isinstance(data, str):  # base64 already, perhaps on several lines
            from binascii import a2b_base64
            data = a2b_base64(str.encode(data, "ascii"))
        elif not isinstance(data, (bytes, bytearray)):
            raise WrongType("bytes are expected, not %s" % type(data).__name__)
        self.keep(mime, data)
        if len(data) > left:
            raise TooBig
        return base64_string(data)

    def keep(self, mime, data):
        """Write an image as a file of /output. An image that is too big for the result may have room there."""
        if not self.keeps_files or mime not in FILE_ENDINGS:
            return
        from agentjail.values.files import FOLDERS, create_file
        name = "result-%d%s" % (len(self.bundles) + 1, FILE_ENDINGS[mime])
        try:
            create_file(FOLDERS["/output"] + "/" + name, data)
        except OSError as e:
            self.note("display: /output/%s was not written: %s" % (name, describe(e)))

    def note(self, text):
        if len(self.notes) < MAX_NOTES:
            self.notes.append({"type": "RuntimeWarning", "message": truncate(text, MESSAGE_BYTES)[0], "line": None, "column": None,
                               "source": ""})

    def add_figures(self, shown):
        """Close the figures that pyplot has open. shown: add their bundles, but for those that display() has shown."""
        try:
            pyplot = modules["matplotlib.pyplot"]
            for number in pyplot.get_fignums() if shown else ():
                figure = pyplot.figure(number)
                if figure.axes and not any([figure is f for f in self.figures]):
                    self.add(figure)
            pyplot.close("all")
        except Exception as e:
            self.note("the open figures were not shown: " + describe(e))

    def report(self, claim):
        if self.bundles:
            claim["results"] = RawJson("[" + ",".join(self.bundles) + "]")
        if self.was_cut:
            claim["truncated"]["results"] = True
        if self.notes:
            claim["warnings"] = claim.get("warnings", []) + self.notes


def describe(e):
    if type(e) is WrongType:
        return str(e)
    try:
        return "%s: %s" % (type(e).__name__, truncate(str(e), MESSAGE_BYTES)[0])
    except Exception:
        return type(e).__name__


def is_figure(x):
    figure = modules.get("matplotlib.figure")
    return figure is not None and issubclass(type(x), figure.Figure)


def figure_png(figure):
    from io import BytesIO
    out = BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()
