"""The guards of numpy and pandas: frames that pandas looks names up in, and views of memory outside of an array.
numpy is not safe in its memory: it reads what the `__array_interface__` of any object names, which no guard sees.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.rail.builtin_guards import get_frame


class AgentFrame:
    """What pandas reads of a frame."""

    def __init__(self, guards, frame):
        own = frame.f_builtins is guards.builtins
        self.f_globals = {name: value for name, value in guards.namespace().items() if name[:2] != "__"}
        self.f_locals = {name: value for name, value in frame.f_locals.items() if name[:2] != "__"} if own else {}


def patch_scope(scope, guards):
    """`@name` in df.eval() and df.query() is found `level` frames above: in those of agent code alone."""
    class Frames:
        """In place of the module sys."""
        version_info = sys.version_info

        @staticmethod
        def _getframe(level):
            return AgentFrame(guards, get_frame(level + 1))
    scope.sys = Frames


def as_strided(guards, real):
    numpy = sys.modules["numpy"]
    array_type = numpy.ndarray
    base_of = array_type.base.__get__

    def bounds(address, shape, strides, itemsize):
        low, high = address, address + itemsize
        for n, step in zip(shape, strides):
            low, high = low + min((n - 1) * step, 0), high + max((n - 1) * step, 0)
        return low, high if all(shape) else low

    def of_array(a):
        return bounds(a.__array_interface__["data"][0], a.shape, a.strides, a.itemsize)

    def as_strided(x, shape=None, strides=None, subok=False, writeable=True):
        """Like numpy.lib.stride_tricks.as_strided, within the memory of the array that x is a view of."""
        given = numpy.asanyarray(x)
        # A subclass could answer for the array.
        plain = owner = array_type.view(given, array_type)
        shape = plain.shape if shape is None else tuple([int(n) for n in ((shape,) if isinstance(shape, int) else shape)])
        strides = plain.strides if strides is None else tuple([int(n) for n in ((strides,) if isinstance(strides, int) else strides)])
        while isinstance(base_of(owner), array_type):
            owner = base_of(owner)
        owner = array_type.view(owner, array_type)
        low, high = bounds(plain.__array_interface__["data"][0], shape, strides, plain.itemsize)
        first, end = of_array(owner)
        if low < first or high > end:
            raise ValueError("shape %r with strides %r is not allowed: it reaches outside of the array's memory" % (shape, strides))
        out = real(plain, shape, strides, False, writeable)
        return out.view(type(given)) if subok and type(given) is not array_type else out
    return as_strided
