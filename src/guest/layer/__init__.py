"""The Python layer of agentjail: a rail inside the jail, where the kernel is the wall. Importing it only copies the
built-in functions: the layer's own code looks names up in this copy, whatever agent code does to the originals.
"""

import builtins

OWN = dict(builtins.__dict__)
