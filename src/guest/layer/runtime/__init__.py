"""From the request to the claim: snippets, sessions, tools, error reports; the rail decides what agent code may do."""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)

CONTROL_FD = 3     # the socket to the supervisor


async def example():
    pass


coroutine = example()
CoroutineType = type(coroutine)
coroutine.close()
del coroutine, example


def make_frame(kind, body):
    """A frame of base/frame.h: its length, its kind (one byte), its body."""
    return (1 + len(body)).to_bytes(4, "big") + kind + body
