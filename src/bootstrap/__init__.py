"""The Python layer of agentjail: a rail inside the jail, the kernel is the wall. It refuses to do anything at import
but to copy the built-in functions: the layer's own code looks names up in the copy, whatever happens to the originals.
"""

import builtins

OWN = dict(builtins.__dict__)
