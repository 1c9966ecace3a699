"""The guard behind x.format, x.format_map, x.obj, x.raw and the attribute methods of object (x.__getattribute__ ...).
The guard refuses templates that read forbidden attributes; harmless templates go to the native method, unchanged.
"""

import _io
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.name_rules import GUARDED, forbidden_by, forbidden_field, is_forbidden_path
from agentjail.rail.builtin_guards import REAL_GETATTR, REAL_TYPE, attribute_error, exact_name

STR_METHODS = {"format": str.format, "format_map": str.format_map}
METHOD, BUILTIN = type(str.format), type("".format)
BUFFERED = (_io.BufferedReader, _io.BufferedWriter, _io.BufferedRandom)
NATIVE_MEMBERS = (METHOD, type(_io.BufferedReader.raw), type(_io.FileIO.closed), type(AttributeError.obj))
GenericAlias, MethodType = type(list[int]), type(attribute_error.__get__(0))


def check_template(template):
    """A plain str copy that passed the check: a str subclass could show one text here and another to the native code."""
    if REAL_TYPE(template) is not str:
        if not isinstance(template, str):
            raise TypeError("descriptor 'format' requires a 'str' object but received a '%s'"
                            % REAL_TYPE(template).__name__)
        template = str.__getitem__(template, slice(None))
    if "." in template:
        field = forbidden_field(template)
        if field is not None:
            raise format_error(field)
    return template


def format_error(field):
    e = AttributeError("the format field `%s` reads an attribute that is not allowed" % field)
    e.agentjail = "PY-FORMAT"
    return e


def name_method(method, name):
    method.__name__ = name
    method.__qualname__ = "str." + name
    return method


def unbound_method(name):
    native = STR_METHODS[name]

    def method(template, /, *args, **kwargs):
        return native(check_template(template), *args, **kwargs)
    return name_method(method, name)


UNBOUND = {name: unbound_method(name) for name in STR_METHODS}


def bound_method(template, name):
    native = STR_METHODS[name]

    def method(*args, **kwargs):
        return native(check_template(template), *args, **kwargs)
    return name_method(method, name)


def read_guarded(o, name):
    """o.name for a name of name_rules.GUARDED."""
    if name == "format" or name == "format_map":
        if REAL_TYPE(o) is str:
            return bound_method(o, name)
        found = REAL_GETATTR(o, name)
        if REAL_TYPE(found) is METHOD and found.__objclass__ is str:
            return UNBOUND[name]
        if REAL_TYPE(found) is BUILTIN and isinstance(found.__self__, str):
            return bound_method(found.__self__, name)
        return userstring_method(name, found)
    if name == "obj":
        return read_obj(o)
    if name == "raw" or name == "detach":
        return read_below_stream(o, name)
    if name == "vformat" or name == "get_field":
        if "string" in sys.modules:
            patch_string(sys.modules["string"])
        return REAL_GETATTR(o, name)
    return checked_attribute_method(o, name)


def userstring_method(name, found):
    """collections.UserString passes its .data to the native method, which no guard sees."""
    collections = sys.modules.get("collections")
    if collections is None or getattr(found, "__module__", None) != "collections":
        return found
    owner = getattr(found, "__self__", None)
    if isinstance(owner, collections.UserString):
        return bound_method(str(owner.data), name)

    def method(self, /, *args, **kwargs):
        return STR_METHODS[name](check_template(str(self.data)), *args, **kwargs)
    return method


def read_obj(o):
    """AttributeError.obj is the object that a library was reading: a module, or a function's globals."""
    o = behind(o)
    if issubclass(REAL_TYPE(o), super) or isinstance(o, AttributeError) or (
            isinstance(o, REAL_TYPE) and issubclass(o, AttributeError)):
        e = AttributeError("Reading the attribute `obj` of an AttributeError is not allowed")
        e.agentjail = "PY-DUNDER"
        raise e
    return REAL_GETATTR(o, "obj")


def behind(o):
    """The object to which this one forwards attribute reads: its C code asks no guard."""
    while True:
        kind = REAL_TYPE(o)
        if issubclass(kind, GenericAlias):
            o = GenericAlias.__origin__.__get__(o)
        elif kind is MethodType:
            o = o.__func__
        else:
            return o


def read_below_stream(o, name):
    """x.raw and x.detach of a stream lead to the file object below it, whose class opens files by their paths."""
    shown, o = o, behind(o)
    if isinstance(o, REAL_TYPE):
        refused = issubclass(o, _io._IOBase) and REAL_TYPE(REAL_GETATTR(o, name)) in NATIVE_MEMBERS
    else:
        refused = isinstance(o, _io._IOBase) and is_above_file(o)
    if refused or issubclass(REAL_TYPE(o), super):
        e = AttributeError("Reading the attribute `%s` of a stream is not allowed" % name)
        e.agentjail = "PY-DUNDER"
        raise e
    return REAL_GETATTR(shown, name)


def is_above_file(stream):
    try:
        if isinstance(stream, _io.TextIOWrapper):
            stream = _io.TextIOWrapper.buffer.__get__(stream)
        for kind in BUFFERED:
            if isinstance(stream, kind):
                return isinstance(kind.raw.__get__(stream), _io.FileIO)
    except ValueError:
        pass  # detached
    except TypeError:
        return True     # a weak proxy, or a class that claims to be a stream's
    return False


def checked_attribute_method(o, name):
    """object.__getattribute__ and the three methods like it take an attribute name: the name is checked before the call."""
    native = REAL_GETATTR(o, name)
    store = name in ("__setattr__", "__delattr__")

    def method(*args):
        # The name is last, or before the value, whether the method is bound or not.
        i = len(args) - (2 if name == "__setattr__" else 1)
        if i >= 0:
            key = exact_name(args[i])
            if forbidden_by(key, store) is not None or key == "obj":
                raise attribute_error(key, "set" if store else "read")
            if key in GUARDED and key[:2] != "__" and not store:
                return read_guarded(args[0] if i else REAL_GETATTR(native, "__self__", None), key)
            args = args[:i] + (key,) + args[i + 1:]
        return native(*args)
    method.__name__, method.__qualname__ = name, REAL_GETATTR(native, "__qualname__", name)
    return method


def patch_logging(logging, guards):
    """logging.Formatter(style="{") formats with a template of the code's own."""
    cls = logging.StrFormatStyle
    real = cls._format

    def _format(self, record):
        self._fmt = check_template(self._fmt)
        return real(self, record)
    if real.__name__ == "_format" and real.__module__ == "logging":
        cls._format = _format


def patch_string(string, guards=None):
    """string.Formatter does in Python what str.format does in C. The class itself is patched, because the real class
    would be among the bases of a safe subclass."""
    cls = string.Formatter
    if cls.__dict__["get_field"].__name__ == "checked_get_field":
        return
    real = cls.get_field

    def checked_get_field(self, field_name, args, kwargs):
        field_name = str.__getitem__(field_name, slice(None))
        if is_forbidden_path(field_name):
            raise format_error(field_name)
        return real(self, field_name, args, kwargs)
    cls.get_field = checked_get_field


def patch_codecs(codecs, guards):
    """codecs' streams forward attribute reads to the stream below; their methods have getattr() as a default argument."""
    from agentjail.rail.patches import library_getattr
    for cls in (codecs.StreamWriter, codecs.StreamReader, codecs.StreamReaderWriter, codecs.StreamRecoder):
        cls.__getattr__.__defaults__ = (library_getattr,)


def guard_passing(cls, below):
    """Guard a class that forwards missing attributes to below(self)."""
    from agentjail.rail.patches import library_getattr
    real = cls.__getattr__

    def __getattr__(self, attr):
        if (attr in GUARDED or forbidden_by(attr) is not None) and attr[:2] != "__":
            return library_getattr(below(self), attr)
        return real(self, attr)
    cls.__getattr__ = __getattr__


def patch_typing(typing, guards):
    guard_passing(typing._BaseGenericAlias, lambda alias: alias.__origin__)


def patch_tempfile(tempfile, guards):
    guard_passing(tempfile._TemporaryFileWrapper, lambda wrapper: wrapper.file)
