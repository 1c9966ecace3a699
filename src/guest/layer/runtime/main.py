"""Entry point: one request in, the agent's code checked and run, one claim (JSON bytes) out.
The claim is the jail's word alone: the host decides how the run ended.

    guest ──request──► main.run ─► request (rare ones) ─► compiler (check/) ─► Session.execute ─► values/ ──claim──► guest

Every module that is used after agent code ran is bound here before it runs. Modules that only some snippets need (errors,
rare tags, imports, formats, patterns) are files of their own, which 2+2 does not load. Extension modules are imported
earlier: the system-call filter lets the process map no further one.

SystemExit with another code than 0 is an error, with its exit_code; with 0 it ends the snippet without a value.
The claim does not wait for threads that still run. Positions count from 1; columns count characters.
"""

from _signal import SIGUSR1, signal

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.json_reader import read_json
from agentjail.runtime.session import Session

SESSION = None


def run(request, started=b""):
    """One request, one claim. Further calls continue in the same namespace."""
    global SESSION
    if SESSION is None:  # in a jail for one snippet
        SESSION = Session()
        signal(SIGUSR1, on_first_signal)
    return SESSION.run(request, started)


def on_first_signal(number, frame):
    """The soft deadline of a snippet that has a jail of its own: its start does not load the handler."""
    from agentjail.runtime.signals import on_signal
    signal(number, on_signal)
    on_signal(number, frame)


def set_policy(policy):
    """The policy of the snippets that will come, ahead of the first one."""
    global SESSION
    SESSION = Session()
    SESSION.set_policy(read_json(policy))
    SESSION.open()


def choose_layer(keys):
    """The layer's keys of that policy as a request chose them, also ahead of the first snippet."""
    SESSION.choose_layer(read_json(keys))
