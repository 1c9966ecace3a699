"""The traceback module without the variables of the runner: it shows the texts of a frame's locals where code asks for them.
It hides no line of code and no name of a function, and nothing of frames that are the code's or a library's.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)


def patch_traceback(traceback, guards=None):
    """asyncio's Task.get_stack() hands out the frames below the code; traceback.StackSummary.extract() reads any frame's locals."""
    cls = traceback.FrameSummary
    real = cls.__init__
    runner = sys.modules["agentjail"].__path__[0] + "/"

    def __init__(self, filename, lineno, name, *, locals=None, **keys):
        if locals is not None and filename[:len(runner)] == runner:
            locals = None
        real(self, filename, lineno, name, locals=locals, **keys)
    if real.__module__ == "traceback":
        cls.__init__ = __init__
