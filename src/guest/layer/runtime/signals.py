"""Signals of a snippet: an interrupt and the soft deadline become exceptions in the agent's code.
The handler raises in no other code: neither the reading of a request nor the writing of a claim is ever disturbed.

No flag says "the code runs now", so no instant exists at which a flag would be wrong: the handler looks at the stack. It
raises only if a frame of the agent is on the stack, and the exception ends below the layer's own `try`. While the agent is in
a call that must not stop half way, or about to be called, the handler holds the signal: a thread sends it again every millisecond
until the handler has run and holds it no longer. One more signal would not do: one that arrives between the interpreter's look
at its signals and a system call that waits, interrupts nothing, and the handler would run after the wait.
"""

import sys
from _frozen_importlib import _find_and_load
from _signal import SIGINT, SIGUSR1, pthread_kill, signal
from _thread import get_ident, start_new_thread
from time import monotonic, sleep

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime import main
from agentjail.runtime.session import STDOUT, run_coroutine

# Module and function of the layer that run to their end. All of them are short.
UNINTERRUPTED = frozenset((
    ("agentjail.runtime.channel", "start_call"), ("agentjail.runtime.channel", "try_lead"),
    ("agentjail.runtime.channel", "receive_frame"), ("agentjail.runtime.channel", "end_wait"),
    ("agentjail.rail.module_proxy", "proxy_of"), ("agentjail.rail.patches", "patch_loaded_modules"),
))
# An event loop takes a task out of its queue and then runs it: an exception in between would lose the task. The handler may
# raise where the loop waits, and in the task.
LOOP = frozenset((("asyncio.base_events", "run_forever"), ("asyncio.runners", "_lazy_init"), ("asyncio.runners", "close")))
LOOP_WAITS = frozenset((("agentjail.runtime.event_loop", "select"), ("selectors", "select")))
# A half imported package cannot always be imported again. Its code is not the agent's, so the import may end first.
IMPORT = _find_and_load.__code__
IMPORT_PATIENCE_S = 2
# While an event loop waits, no frame of the agent is on the stack, but this one is.
RUN_COROUTINE = run_coroutine.__code__
RETRY_S = 0.001


class TimeoutError(KeyboardInterrupt):
    """The soft deadline. Not an Exception: `except Exception` must not swallow it. A KeyboardInterrupt: asyncio lets no other
    exception out of a task that no other task awaits."""


TimeoutError.__module__ = "builtins"
TimeoutError.__qualname__ = "TimeoutError"


def on_signal(number, frame):
    session = main.SESSION
    if session is None or session.module is None:
        return
    namespace, agent, waits, hold = session.module.__dict__, False, False, False
    while frame is not None:  # from the innermost outwards
        names, code = frame.f_globals, frame.f_code
        if names is namespace or code is RUN_COROUTINE:
            agent = True
        elif code is ON_SIGNAL and frame.f_locals["number"] == number:
            return  # the handler is about to raise for this signal, or to hold it
        else:
            where = dict.get(names, "__name__"), code.co_name
            if where in UNINTERRUPTED or code is ON_SIGNAL or not agent and (
                    where in LOOP and not waits or code is IMPORT and may_finish_import(session)):
                hold = True
            waits = waits or where in LOOP_WAITS
        frame = frame.f_back
    between = not agent and session.running is not session.answers
    if not between and (hold or not agent):
        send_again(number, session)
        return
    if session.unhandled is not None:
        session.unhandled.discard(number)
    if between:
        return
    flush_stdout()  # and a signal that the thread sent before that line arrives now, while this frame is on the stack
    rest = "" if session.last else "; the session continues"
    if number == SIGINT:
        raise KeyboardInterrupt("the snippet was interrupted" + rest)
    ms = session.soft_ms
    raise TimeoutError("the snippet took %s%s" % ("longer than %d ms" % ms if ms else "too long", rest))


def flush_stdout():
    """Write what was printed so far: a snippet that catches the exception and continues is killed, and its buffer is lost."""
    try:
        STDOUT.flush()
    except BaseException:
        pass  # the signal came during a flush, or there is no stream


ON_SIGNAL = on_signal.__code__   # on the stack when the other signal arrives during the handling of this one
import_wait = [None, 0]          # answers of the snippet whose signal waits for an import, the time of that signal


def send_again(number, session):
    """Send the signal again until the handler has taken it out of `unhandled`, or the snippet has ended."""
    unhandled = session.unhandled
    if unhandled is None:
        unhandled = session.unhandled = set()
    if number not in unhandled:
        unhandled.add(number)
        try:
            start_new_thread(send_until_handled, (number, get_ident(), session, unhandled))
        except RuntimeError:
            unhandled.discard(number)  # no more threads: this signal is lost


def send_until_handled(number, thread, session, unhandled):
    while True:
        sleep(RETRY_S)
        # Between this check and the signal the interpreter switches to no other thread, since nothing is called.
        if session.unhandled is not unhandled or number not in unhandled:
            return
        pthread_kill(thread, number)


def may_finish_import(session):
    """Has the import for which this snippet's signal waits taken less than IMPORT_PATIENCE_S so far?"""
    if import_wait[0] is not session.answers:
        import_wait[:] = session.answers, monotonic()
    return monotonic() - import_wait[1] < IMPORT_PATIENCE_S


def install_handlers():
    """Set the handlers and load the extension modules that they need: before the filter, in a zygote or in a session."""
    signal(SIGINT, on_signal)
    signal(SIGUSR1, on_signal)
    try:
        import select  # noqa: F401 (for channel.py; in some Pythons an extension module)
    except ImportError:
        pass  # define_tools() reports it


def reset_asyncio():
    """After an interrupt, which may have come while asyncio was restoring its state."""
    events = sys.modules.get("asyncio.events")
    if events is not None:
        events._set_running_loop(None)
        sys.set_asyncgen_hooks(None, None)
