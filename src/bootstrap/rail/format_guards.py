"""The guard behind x.format, x.format_map, x.obj and the attribute methods of object (x.__getattribute__ ...).
It refuses templates that read forbidden attributes; harmless templates go to the native method, unchanged.
"""

import _string
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.rail.name_rules import refused

REAL_GETATTR, REAL_TYPE = getattr, type
STR_METHODS = {"format": str.format, "format_map": str.format_map}
METHOD, BUILTIN = type(str.format), type("".format)
MAX_NESTING = 4  # str.format itself stops at 2


def bad_path(field):
    """Does `0.a[b].c` read a forbidden attribute?"""
    _, rest = _string.formatter_field_name_split(field)
    return any(attr and (name[:1] == "_" or name == "obj" or refused(name) is not None) for attr, name in rest)


def bad_field(template, depth=0):
    """The first field of a format template that reads a forbidden attribute, or None."""
    if depth > MAX_NESTING:
        return None
    try:
        for _, field, spec, _ in _string.formatter_parser(template):
            if field and "." in field and bad_path(field):
                return field
            if spec and "{" in spec:
                bad = bad_field(spec, depth + 1)
                if bad is not None:
                    return bad
    except ValueError:
        return None  # not a template: the native method says what is wrong with it
    return None


def check_template(template):
    """A plain str copy that passed; a str subclass could show one text here and another to the native code."""
    if REAL_TYPE(template) is not str:
        if not isinstance(template, str):
            raise TypeError("descriptor 'format' requires a 'str' object but received a '%s'"
                            % REAL_TYPE(template).__name__)
        template = str.__getitem__(template, slice(None))
    if "." in template:
        bad = bad_field(template)
        if bad is not None:
            raise forbidden(bad)
    return template


def forbidden(field):
    e = AttributeError("the format field `%s` reads an attribute that is not allowed" % field)
    e.agentjail = "PY-FORMAT"
    return e


def unbound(name):
    native = STR_METHODS[name]

    def method(template, /, *args, **kwargs):
        return native(check_template(template), *args, **kwargs)
    method.__name__ = name
    method.__qualname__ = "str." + name
    return method


UNBOUND = {name: unbound(name) for name in STR_METHODS}


def bound(template, name):
    native = STR_METHODS[name]

    def method(*args, **kwargs):
        return native(check_template(template), *args, **kwargs)
    method.__name__ = name
    method.__qualname__ = "str." + name
    return method


def guarded_attribute(o, name):
    if name == "format" or name == "format_map":
        if REAL_TYPE(o) is str:
            return bound(o, name)
        found = REAL_GETATTR(o, name)
        if REAL_TYPE(found) is METHOD and found.__objclass__ is str:
            return UNBOUND[name]
        if REAL_TYPE(found) is BUILTIN and isinstance(found.__self__, str):
            return bound(found.__self__, name)
        return user_string(o, name, found)
    if name == "obj":
        return error_object(o)
    if name == "vformat" or name == "get_field":
        if "string" in sys.modules:
            harden_formatter(sys.modules["string"].Formatter)
        return REAL_GETATTR(o, name)
    return attribute_method(o, name)


def user_string(o, name, found):
    """collections.UserString formats its .data with the native method, out of our sight."""
    collections = sys.modules.get("collections")
    if collections is None or getattr(found, "__module__", None) != "collections":
        return found
    text = collections.UserString
    own = getattr(found, "__self__", None)
    if isinstance(own, text):
        return bound(str(own.data), name)

    def method(self, /, *args, **kwargs):
        return STR_METHODS[name](check_template(str(self.data)), *args, **kwargs)
    return method


def error_object(o):
    """AttributeError.obj is whatever object a library was reading: a module, a function's globals."""
    kind = REAL_TYPE(o)
    if kind is super or isinstance(o, AttributeError) or (
            isinstance(o, REAL_TYPE) and issubclass(o, AttributeError)):
        e = AttributeError("Reading the attribute `obj` of an AttributeError is not allowed")
        e.agentjail = "PY-DUNDER"
        raise e
    return REAL_GETATTR(o, "obj")


def attribute_method(o, name):
    """object.__getattribute__ and its kin take an attribute name: the name is checked, then they are called."""
    native = REAL_GETATTR(o, name)
    store = name in ("__setattr__", "__delattr__")

    def method(*args):
        from agentjail.rail.guards import denied, exact
        # The name is last, or before the value, whether the method is bound or not.
        i = len(args) - (2 if name == "__setattr__" else 1)
        if i >= 0:
            key = exact(args[i])
            if refused(key, store) is not None or key == "obj":
                raise denied(o, key, "set" if store else "read")
            if key in STR_METHODS and not store:
                return guarded_attribute(args[0] if i else REAL_GETATTR(native, "__self__", None), key)
            args = args[:i] + (key,) + args[i + 1:]
        return native(*args)
    return method


def harden_formatter(cls):
    """string.Formatter does in Python what str.format does in C; the class itself is mended, since
    a safe subclass would still show the real one to whoever asks for its bases."""
    if cls.__dict__["get_field"].__name__ == "checked_get_field":
        return
    real = cls.get_field

    def checked_get_field(self, field_name, args, kwargs):
        field_name = str.__getitem__(field_name, slice(None))
        if bad_path(field_name):
            raise forbidden(field_name)
        return real(self, field_name, args, kwargs)
    cls.get_field = checked_get_field
