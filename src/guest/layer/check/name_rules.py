"""The names and attributes that agent code may use: tables, and the functions that read them.
The tables refuse exact names, never prefixes: `node.f_score` and `co_author` are normal agent code.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)

# Double-underscore attributes that may be *read*. Each gives a value that ordinary syntax gives as well
# (len(x), x + y, type(x), str(e)) or plain text. These are absent on purpose: __globals__, __code__, __closure__,
# __builtins__, __reduce__, __reduce_ex__, __getstate__, __loader__, __spec__,
# __objclass__, __thisclass__. Each of them is one step from frames, modules or the real builtins. So are those of
# OWN_ONLY below, of any object but the code's own.
READABLE = frozenset((
    # text
    "__name__ __qualname__ __doc__ __module__ __version__ __author__ __file__ __all__ "
    # type(x) gives the same object
    "__class__ "
    # super().__init__() and similar calls, which every class hierarchy makes
    "__init__ __new__ __post_init__ __init_subclass__ __set_name__ __call__ __prepare__ "
    # protocols that operators and built-in functions call anyway
    "__repr__ __str__ __bytes__ __format__ __bool__ __hash__ __len__ __length_hint__ __iter__ __next__ __reversed__ "
    "__contains__ __getitem__ __setitem__ __delitem__ __missing__ __enter__ __exit__ __aenter__ __aexit__ __await__ "
    "__aiter__ __anext__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __int__ __float__ __complex__ __index__ __round__ "
    "__trunc__ __floor__ __ceil__ __neg__ __pos__ __abs__ __invert__ __add__ __sub__ __mul__ __matmul__ __truediv__ "
    "__floordiv__ __mod__ __divmod__ __pow__ __lshift__ __rshift__ __and__ __or__ __xor__ __radd__ __rsub__ __rmul__ "
    "__rmatmul__ __rtruediv__ __rfloordiv__ __rmod__ __rdivmod__ __rpow__ __rlshift__ __rrshift__ __rand__ __ror__ "
    "__rxor__ __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __ilshift__ "
    "__irshift__ __iand__ __ior__ __ixor__ __copy__ __deepcopy__ __class_getitem__ __instancecheck__ __subclasscheck__ "
    "__subclasshook__ __fspath__ __del__ __sizeof__ __buffer__ "
    # descriptors: reading a.b calls these anyway
    "__get__ __set__ __delete__ "
    # guarded when read (GUARDED below): the name passed to them is checked at run time
    "__getattribute__ __getattr__ __setattr__ __delattr__ "
    # data of the agent's own classes and errors
    "__annotations__ __slots__ __match_args__ __members__ __origin__ __args__ __parameters__ __wrapped__ "
    "__cause__ __context__ __suppress_context__ __notes__ __isabstractmethod__ __value__ __type_params__ "
    "__signature__ __orig_bases__ __orig_class__ __metadata__ __supertype__ __bound__ __constraints__ __covariant__ "
    "__contravariant__ __total__ __required_keys__ __optional_keys__ __forward_arg__ __dataclass_fields__ "
    "__abstractmethods__ __final__ __dir__ __dataclass_params__ "
    # hooks of subclasses of numpy.ndarray, which call the base class's
    "__array_finalize__ __array_wrap__ "
    # what unittest's decorators note on a test
    "__unittest_skip__ __unittest_skip_why__ __unittest_expecting_failure__ "
    # sys
    "__stdout__ __stderr__ __stdin__"
).split())

# Names that a class body or a `def` may bind. Reading the names of NOT_DEFINABLE is harmless, binding them is not:
# dataclasses builds source text from __annotations__, __prepare__ chooses the namespace that class statements fill,
# libraries look names up in the module that __module__ names, and __match_args__ (literal only, see checker.py) names
# attributes to read.
NOT_DEFINABLE = frozenset(
    "__name__ __module__ __class__ __annotations__ __members__ __prepare__ __file__ __wrapped__ __context__ __cause__ "
    "__suppress_context__ __value__ __type_params__ __match_args__ __origin__ "
    "__args__ __parameters__ __stdout__ __stderr__ __stdin__ __signature__ __orig_class__ __metadata__ __supertype__ "
    "__bound__ __constraints__ __covariant__ __contravariant__ __total__ __required_keys__ __optional_keys__ "
    "__forward_arg__ __dataclass_fields__ __dataclass_params__ __abstractmethods__ __final__".split())
DEFINABLE = (READABLE - NOT_DEFINABLE) | {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
                                          "__getnewargs__", "__getnewargs_ex__", "__dir__", "__mro_entries__",
                                          "__license__", "__date__", "__email__", "__copyright__", "__credits__",
                                          "__array__", "__array_ufunc__", "__array_function__", "__array_priority__",
                                          "__release_buffer__", "__attrs_post_init__", "__orig_bases__"}

# Double-underscore names that may be read as plain variables.
READABLE_VARIABLES = frozenset("__name__ __doc__ __debug__ __import__ __file__ __class__ __qualname__ __version__ "
                           "__author__ __all__ __slots__ __annotations__ __main__ __builtins__".split())

# Attributes that may be assigned from outside a class body (decorators copy names and docstrings).
ASSIGNABLE = (DEFINABLE - {"__slots__"}) | {"__name__", "__wrapped__", "__cause__", "__context__",
                                            "__suppress_context__", "__signature__"}

# Attributes without underscores at both ends that lead to frames and code objects.
FRAME_ATTRIBUTES = frozenset((
    "gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await cr_origin ag_frame ag_code ag_await tb_frame f_back f_globals f_builtins "
    "f_locals f_code f_lasti f_lineno f_trace f_trace_lines f_trace_opcodes co_code co_consts co_names co_varnames "
    "co_freevars co_cellvars co_filename co_firstlineno co_flags co_lnotab co_name co_qualname co_stacksize "
    "co_argcount co_kwonlyargcount co_posonlyargcount co_nlocals co_linetable co_exceptiontable co_lines co_positions "
    "func_globals func_code func_closure").split())

# Attributes that are read of the code's own objects alone, by a guard at run time (own_objects.py): of other objects they
# lead to real functions, modules and frames. Every other way to them (formats, patterns, libraries) is as closed as ever.
OWN_ONLY = frozenset("__dict__ __mro__ __bases__ __base__ __subclasses__ __defaults__ __kwdefaults__ __traceback__ "
                     "__self__ __func__ __source__".split())
# The facts that may be read of x.__code__, in one step: the code object itself is never handed out.
CODE_FACTS = frozenset((
    "co_name co_qualname co_varnames co_names co_freevars co_cellvars co_argcount co_posonlyargcount co_kwonlyargcount co_nlocals co_flags "
    "co_filename co_firstlineno co_code").split())
# Attributes that code sets of its own objects alone, by the same guard.
OWN_SETTABLE = frozenset("__class__ __dict__ __module__ __annotations__ __defaults__ __kwdefaults__".split())

# Single-underscore attributes that lead to whole modules or run text, on objects that are not modules: the reason for each.
PRIVATE_DENIED = {
    "_flavour": "a module inside library objects",
    "_os": "a module inside library objects",
    "_sys": "a module inside library objects",
    "_convert_": "Enum._convert_ copies names out of any module",
    "_getframe": "sys._getframe",
    "_evaluate": "typing.ForwardRef._evaluate runs text as code",
}

# Attributes whose *load* goes through a guard at run time, because the source does not tell harmless uses from harmful ones.
GUARDED = frozenset(("format", "format_map", "obj", "vformat", "get_field", "raw", "detach",
                     "__getattribute__", "__getattr__", "__setattr__", "__delattr__"))
MAX_NESTING = 4  # of format templates; str.format itself stops at 2


def forbidden_by(name, store=False):
    """The rule that forbids this attribute name, or None. No other function decides about attribute names."""
    if name[:1] != "_":
        return "PY-FRAME" if name in FRAME_ATTRIBUTES else None
    if name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
        return None if name in (ASSIGNABLE if store else READABLE) else "PY-DUNDER"
    if name in PRIVATE_DENIED:
        return "PY-PRIVATE"
    if is_mangled(name):
        return "PY-MANGLED"
    return None


def is_mangled(name):
    """Is this the name of a class's private attribute, as others see it: `_Class__name`?"""
    return name[:1] == "_" and name[1:2].isupper() and "__" in name[2:-1]


def is_own_only(name, store=False):
    """May a guard read (or set) this attribute of the code's own objects?"""
    return name in (OWN_SETTABLE if store else OWN_ONLY) or is_mangled(name)


# --- names in the text of a format template ---

def is_forbidden_path(field):
    """Does `0.a[b].c` read a forbidden attribute?"""
    import _string
    _, rest = _string.formatter_field_name_split(field)
    return any(attr and (name[:1] == "_" or name == "obj" or forbidden_by(name) is not None) for attr, name in rest)


def forbidden_field(template, depth=0):
    """The first field of a format template that reads a forbidden attribute, or None."""
    if depth > MAX_NESTING:
        return None
    import _string
    try:
        for _, field, spec, _ in _string.formatter_parser(template):
            if field and "." in field and is_forbidden_path(field):
                return field
            if spec and "{" in spec:
                nested = forbidden_field(spec, depth + 1)
                if nested is not None:
                    return nested
    except ValueError:
        return None  # not a template: the native method reports the reason
    return None
