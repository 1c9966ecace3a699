"""Stands where ctypes would, because some packages import it at start without using it.
It refuses to do anything: every name is an empty class, and calling one raises. Only types of pointers and functions can be
made, as empty as the rest: SciPy makes some at start, and compares others with them. The integer types have a size for SymPy."""


class _Absent(type):
    def __call__(cls, *args, **kwargs):
        raise RuntimeError("ctypes.%s is not available in this jail" % cls.__name__)

    def __mul__(cls, count):
        return cls

    __rmul__ = __mul__


def POINTER(pointed):
    return _Absent("Pointer", (), {"__module__": "ctypes"})


class _CFuncPtr(metaclass=_Absent):
    pass


def CFUNCTYPE(*types, **options):
    return _Absent("CFunctionType", (_CFuncPtr,), {"__module__": "ctypes"})


def cast(value, kind):
    """Of an address that compiled code names: to a function that cannot be called."""
    return kind


SIZES = {"c_int": "i", "c_long": "l", "c_longlong": "q", "c_size_t": "N", "c_ssize_t": "n", "c_void_p": "P"}


def sizeof(kind):
    from struct import calcsize
    if kind.__name__ not in SIZES:
        raise RuntimeError("ctypes.sizeof is not available in this jail")
    return calcsize(SIZES[kind.__name__])


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    made = _Absent(name, (), {"__module__": "ctypes"})
    globals()[name] = made
    return made
