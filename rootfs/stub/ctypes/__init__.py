"""Stands where ctypes would, because some packages import it at start without using it.
It refuses to do anything: every name is an empty class, and calling one raises."""


class _Absent(type):
    def __call__(cls, *args, **kwargs):
        raise RuntimeError("ctypes is not available in this jail")

    def __mul__(cls, count):
        return cls

    __rmul__ = __mul__


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    made = _Absent(name, (), {"__module__": "ctypes"})
    globals()[name] = made
    return made
