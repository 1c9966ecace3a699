"""Signals of a jail that lives on: an interrupt and the soft deadline become exceptions in the agent's code.
It refuses to raise them anywhere else: a request that is read or a claim that is composed is never disturbed.

No flag says "the code runs now", and so there is no instant at which it is wrong: the handler looks at the stack. Only
if a frame of the agent is on it does it raise, and what it raises ends below the layer's own `try`. Where the agent
called something that must not stop half way, or is about to be called, the signal comes again a millisecond later.
"""

import sys
from _frozen_importlib import _find_and_load
from _signal import SIGINT, SIGUSR1, pthread_kill, signal
from _thread import get_ident, start_new_thread
from time import monotonic, sleep

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime import main

# Module and function of the layer that run to their end. All of them are short.
WHOLE = frozenset((
    ("agentjail.runtime.channel", "start"), ("agentjail.runtime.channel", "lead"), ("agentjail.runtime.channel", "take"),
    ("agentjail.runtime.channel", "leave"), ("agentjail.rail.module_proxy", "view"), ("agentjail.rail.patches", "harden"),
))
# An event loop takes a task out of its queue and then runs it: in between nothing may be raised, or the task would be
# lost. It may where the loop waits, and in what it runs.
LOOP = frozenset((("asyncio.base_events", "run_forever"), ("asyncio.runners", "_lazy_init"), ("asyncio.runners", "close")))
WAITS = frozenset((("agentjail.runtime.event_loop", "select"), ("selectors", "select")))
# A package that is imported half cannot always be imported again. Its code is not the agent's, so it comes to an end.
IMPORT = _find_and_load.__code__
PATIENCE_S = 2
# While an event loop waits, no frame of the agent is on the stack, but this one is.
DRIVE = main.drive.__code__


class TimeoutError(KeyboardInterrupt):
    """The soft deadline. No Exception, so that `except Exception` does not swallow it; a KeyboardInterrupt, since
    asyncio lets nothing else out of a task that nobody waits for."""


TimeoutError.__module__ = "builtins"
TimeoutError.__qualname__ = "TimeoutError"


def on_signal(number, frame):
    session = main.SESSION
    if session is None or session.module is None:
        return
    space, agent, waits, hold = session.module.__dict__, False, False, False
    while frame is not None:  # from the innermost outwards
        names, code = frame.f_globals, frame.f_code
        if names is space or code is DRIVE:
            agent = True
        else:
            where = dict.get(names, "__name__"), code.co_name
            if where in WHOLE or code is OURS or not agent and (
                    where in LOOP and not waits or code is IMPORT and patient(session)):
                hold = True
            waits = waits or where in WAITS
        frame = frame.f_back
    if not agent and session.begun is not session.answers:
        return
    if hold or not agent:
        postpone(number, session)
        return
    if number == SIGINT:
        raise KeyboardInterrupt("the snippet was interrupted; the session goes on")
    ms = session.soft_ms
    raise TimeoutError("the snippet took %s; the session goes on" % ("longer than %d ms" % ms if ms else "too long"))


OURS = on_signal.__code__   # the other signal, while this one is dealt with
since, postponed = [None, 0], set()


def postpone(number, session):
    """The same signal again, a millisecond later, if the snippet is still the same."""
    if number not in postponed:
        postponed.add(number)
        try:
            start_new_thread(again, (number, get_ident(), session.answers))
        except RuntimeError:
            postponed.discard(number)  # no more threads: this signal is lost


def again(number, thread, snippet):
    sleep(0.001)
    postponed.discard(number)
    if main.SESSION.answers is snippet:
        pthread_kill(thread, number)


def patient(session):
    """Is the import that this snippet's signal waits for still young?"""
    if since[0] is not session.answers:
        since[:] = session.answers, monotonic()
    return monotonic() - since[1] < PATIENCE_S


def arm():
    """Set the handlers, and map what may not be mapped later. Before the filter, in a zygote or in a session."""
    signal(SIGINT, on_signal)
    signal(SIGUSR1, on_signal)
    try:
        import select  # noqa: F401 (for channel.py; in some Pythons an extension module)
    except ImportError:
        pass  # then tools cannot be defined, and define() says so


def tidy():
    """After an interrupt, which may have come while asyncio was putting its own things back."""
    events = sys.modules.get("asyncio.events")
    if events is not None:
        events._set_running_loop(None)
        sys.set_asyncgen_hooks(None, None)
