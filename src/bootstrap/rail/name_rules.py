"""Which names and attributes the Python layer lets agent code use: tables, and the one function that reads them.
It refuses by exact name, never by prefix: `node.f_score` and `co_author` are normal agent code.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)

# Double-underscore attributes that may be *read*. Each gives a value that ordinary syntax gives as well
# (len(x), x + y, type(x), str(e)) or plain text. What is absent is absent on purpose: __dict__, __globals__,
# __code__, __closure__, __builtins__, __self__, __func__, __base__, __bases__, __mro__, __subclasses__,
# __reduce__, __reduce_ex__, __getstate__, __traceback__, __loader__, __spec__, __objclass__, __thisclass__:
# each is one step from frames, modules or the real builtins.
READABLE = frozenset((
    # what a name or a doc string tells
    "__name__ __qualname__ __doc__ __module__ __version__ __author__ __file__ __all__ "
    # type(x) gives the same object
    "__class__ "
    # super().__init__() and its kin: every class hierarchy calls these
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
    # descriptors: what a.b does by itself
    "__get__ __set__ __delete__ "
    # guarded when read (GUARDED below): the string they are given is checked at run time
    "__getattribute__ __getattr__ __setattr__ __delattr__ "
    # data of the agent's own classes and errors
    "__annotations__ __slots__ __match_args__ __members__ __origin__ __args__ __parameters__ __wrapped__ "
    "__cause__ __context__ __suppress_context__ __notes__ __isabstractmethod__ __value__ __type_params__"
).split())

# What a class body or a `def` may bind. Reading more than this is harmless, binding is not: dataclasses builds
# source text from __annotations__, __prepare__ chooses the namespace that class statements fill, __module__ tells
# libraries in which module to look names up, __match_args__ (literal only, see check.py) names attributes to read.
NOT_DEFINABLE = frozenset(
    "__name__ __module__ __class__ __annotations__ __members__ __prepare__ __file__ __wrapped__ __context__ __cause__ "
    "__suppress_context__ __value__ __type_params__ __match_args__ __origin__ "
    "__args__ __parameters__".split())
DEFINABLE = (READABLE - NOT_DEFINABLE) | {"__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
                                          "__getnewargs__", "__getnewargs_ex__", "__dir__", "__mro_entries__",
                                          "__license__", "__date__", "__email__", "__copyright__", "__credits__",
                                          "__array__", "__array_ufunc__", "__array_function__", "__array_priority__",
                                          "__release_buffer__", "__attrs_post_init__", "__orig_bases__"}

# Names that may be read as plain variables although they look special.
READABLE_NAMES = frozenset("__name__ __doc__ __debug__ __import__ __file__ __class__ __qualname__ __version__ "
                           "__author__ __all__ __slots__".split())

# Attributes that may be assigned from outside a class body (decorators copy names and documents).
ASSIGNABLE = (DEFINABLE - {"__slots__"}) | {"__name__", "__wrapped__", "__cause__", "__context__",
                                            "__suppress_context__"}

# Without underscores at both ends, but they lead to frames and code objects just the same.
FRAMES = frozenset((
    "gi_frame gi_code gi_yieldfrom gi_running gi_suspended cr_frame cr_code cr_await cr_origin cr_running cr_suspended "
    "ag_frame ag_code ag_await ag_running ag_suspended tb_frame tb_next tb_lasti tb_lineno f_back f_globals f_builtins "
    "f_locals f_code f_lasti f_lineno f_trace f_trace_lines f_trace_opcodes co_code co_consts co_names co_varnames "
    "co_freevars co_cellvars co_filename co_firstlineno co_flags co_lnotab co_name co_qualname co_stacksize "
    "co_argcount co_kwonlyargcount co_posonlyargcount co_nlocals co_linetable co_exceptiontable co_lines co_positions "
    "func_globals func_code func_closure").split())

# Single-underscore attributes that hold whole modules or rewrite them, on objects that are no modules.
HOLDERS = {
    "_os": "a module inside library objects",
    "_sys": "a module inside library objects",
    "_convert_": "Enum._convert_ copies names out of any module",
    "_getframe": "sys._getframe",
    "_evaluate": "typing.ForwardRef._evaluate runs text as code",
}

# Attributes whose *load* goes through a guard at run time, since harmless and harmful uses look the same.
GUARDED = frozenset(("format", "format_map", "obj", "vformat", "get_field",
                     "__getattribute__", "__getattr__", "__setattr__", "__delattr__"))


def refused(name, store=False):
    """The rule that forbids this attribute name, or None. The only place that decides about attributes."""
    if name[:1] != "_":
        return "PY-FRAME" if name in FRAMES else None
    if name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
        return None if name in (ASSIGNABLE if store else READABLE) else "PY-DUNDER"
    if name in HOLDERS:
        return "PY-PRIVATE"
    if name[1:2].isupper() and "__" in name[2:-1]:
        return "PY-MANGLED"
    return None
