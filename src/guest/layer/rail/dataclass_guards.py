"""The replacements of dataclasses.dataclass and make_dataclass, which make source text of field names.
They refuse names that are not plain identifiers, and objects that could show other names to dataclasses than to the check.
"""

import _ast
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.annotations import every_node
from agentjail.check.guard_calls import ATTR_GUARD, copy_location, guard_call
from agentjail.check.name_rules import DEFINABLE, GUARDED, forbidden_by
from agentjail.rail.builtin_guards import REAL_SETATTR, ModuleType
from agentjail.rail.patches import library_getattr, library_setattr


def check_field_name(name, reserved=True):
    """Field names become source text in dataclasses. A pattern or a format would read a reserved name as an attribute."""
    if type(name) is str and not name.isidentifier():
        raise TypeError("Field names must be valid identifiers: %r" % name)
    if type(name) is not str or reserved and (
            forbidden_by(name) is not None or name in GUARDED or name[:2] == "__" == name[-2:]):
        raise TypeError("field names must be plain names, not %r" % (name,))


# The attributes of a class as they are, whatever its metaclass answers.
read_mro, read_dict = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__


def inherited_fields(cls):
    """The names of the fields that dataclasses noted in this class and those above it. dataclasses reads the fields by
    getattr(), which a metaclass of the agent could answer, and so could an object that is not a class."""
    if not issubclass(type(cls), type):
        raise TypeError("a class is expected, not %r" % type(cls).__name__)
    enum_type = getattr(sys.modules.get("enum"), "EnumMeta", None)
    names = []
    for c in read_mro(cls):
        for meta in read_mro(type(c)):
            if meta is not type and meta is not object and meta is not enum_type and (
                    not {"__getattr__", "__getattribute__"}.isdisjoint(read_dict(meta))):
                raise TypeError("the metaclass of a dataclass must not define __getattr__ or __getattribute__")
        names += [f.name for f in read_dict(c).get("__dataclass_fields__", {}).values()]
    return names


def guarded_dataclass(real):
    def dataclass(cls=None, /, **options):
        """dataclasses.dataclass, with plain names for fields."""
        def wrap(cls):
            for name in inherited_fields(cls) + list(read_dict(cls).get("__annotations__", {})):
                check_field_name(name)
            if sys.modules.get(cls.__module__) is not sys.modules.get("__main__"):
                raise TypeError("only classes of this code can be made dataclasses")
            return real(cls, **options)
        return wrap if cls is None else wrap(cls)
    dataclass.__doc__ = real.__doc__
    return dataclass


# The attributes with two underscores that the text of dataclasses itself reads.
OF_TEXT = frozenset("__class__ __qualname__ __post_init__ __setattr__ __delattr__".split())
NOT_IN_TEXT = (_ast.Import, _ast.ImportFrom, _ast.Global, _ast.Nonlocal, _ast.ClassDef, _ast.Match)


def check_text(tree):
    """Names become text late: agent code that runs in between, a descriptor or a subclass of Field, may have changed them by then."""
    by_name = []
    for node in every_node(tree):
        kind = type(node)
        if kind is _ast.Attribute:
            name, store = node.attr, type(node.ctx) is not _ast.Load
            bad = (store or name not in OF_TEXT) and (forbidden_by(name, store) is not None or name in GUARDED)
        elif kind is _ast.Name:
            bad = node.id[:2] == "__" == node.id[-2:] and node.id[:12] != "__dataclass_" and node.id not in DEFINABLE
        else:
            bad = kind in NOT_IN_TEXT
        if bad:
            raise TypeError("the names of the fields are not allowed: they must be plain names")
        if kind is _ast.Call and type(node.func) is _ast.Attribute and node.func.attr in ("__setattr__", "__delattr__"):
            name = node.args[1].value if len(node.args) > 1 and type(node.args[1]) is _ast.Constant else None
            if type(name) is not str or forbidden_by(name, True) is not None:
                by_name.append(node)
    for node in by_name:    # a name of run time: the guard sees it
        func = node.func
        node.func = guard_call(ATTR_GUARD, func, [func.value, copy_location(_ast.Constant(func.attr), func)])


def run_text(text, names, out):
    """In place of exec() in dataclasses."""
    tree = compile(text, "<string>", "exec", _ast.PyCF_ONLY_AST, True)
    check_text(tree)
    exec(compile(tree, "<string>", "exec", 0, True), names, out)


# Set on a class by dataclasses itself; a pattern reads the last one by a guard.
OF_DATACLASSES = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")


def set_attribute(o, name, value):
    """Replaces setattr() in dataclasses: agent code can rename fields."""
    if name in OF_DATACLASSES:
        REAL_SETATTR(o, name, value)
    else:
        library_setattr(o, name, value)


def patch_dataclasses(module, guards):
    """dataclasses looks in the class's module for itself, to know `dataclasses.InitVar` in text: there it meets a proxy."""
    module.getattr, module.setattr = library_getattr, set_attribute
    real, pattern = module._is_type, module._MODULE_IDENTIFIER_RE

    def _is_type(annotation, cls, a_module, a_type, is_type_predicate):
        if real(annotation, cls, a_module, a_type, is_type_predicate):
            return True
        match = pattern.match(annotation)
        proxy = sys.modules[cls.__module__].__dict__.get(match.group(1)) if match and match.group(1) else None
        return (type(proxy) is ModuleType and proxy.__dict__.get("__name__") == a_module.__name__
                and is_type_predicate(proxy.__dict__.get(match.group(2)), a_module))
    module._is_type, module.exec = _is_type, run_text


def guarded_make_dataclass(real):
    def make_dataclass(cls_name, fields, *, bases=(), namespace=None, **options):
        # Copies: an object of the agent could show one content to the checks and another to dataclasses.
        fields = [item if isinstance(item, str) or not hasattr(type(item), "__iter__") else tuple(item) for item in fields]
        bases = tuple(bases)
        namespace = {} if namespace is None else dict(namespace)
        for base in bases:
            for name in inherited_fields(base):
                check_field_name(name, reserved=False)
        for item in fields:
            if isinstance(item, str) or len(item) in (2, 3):  # of another one dataclasses says what is wrong
                check_field_name(item if isinstance(item, str) else item[0])
        if any(type(k) is not str or forbidden_by(k, True) for k in namespace):
            raise TypeError("the namespace holds names that are not allowed")
        options.pop("module", None)
        return real(cls_name, fields, bases=bases, namespace=namespace, **options)
    return make_dataclass
