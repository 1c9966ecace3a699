"""Coroutines that nobody awaited: a forgotten `await` before an async tool, whose call then was never made.
It starts no coroutine and closes only one that is the snippet's value and of no use. Loaded only where there is a coroutine or an
async tool.
"""

import sys
import warnings

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.runtime import CoroutineType
from agentjail.runtime.compiler import parse
from agentjail.runtime.error_report import located

TOOL_FILE = "<tool>"    # co_filename of tools, see tools.py
MAX_WARNINGS, MAX_FRAMES = 20, 50


def watch_tools(session):
    """From here on every coroutine of a tool that is freed before it has begun is listed in session.unawaited."""
    session.unawaited = []
    real = warnings._warn_unawaited_coroutine

    def warn(coroutine):
        if is_tool(coroutine):
            add_warning(session, coroutine, sys._getframe(1))
        else:
            real(coroutine)
    warnings._warn_unawaited_coroutine = warn


def is_tool(coroutine):
    return coroutine.cr_code.co_filename == TOOL_FILE


def has_begun(coroutine):
    return coroutine.cr_running or coroutine.cr_frame is None or coroutine.cr_suspended


def add_warning(session, coroutine, frame=None):
    depth = 0
    while frame is not None and frame.f_code.co_filename not in session.sources and depth < MAX_FRAMES:
        frame, depth = frame.f_back, depth + 1
    at = (frame.f_code.co_filename, frame.f_lineno) if frame is not None and frame.f_code.co_filename in session.sources else None
    if len(session.unawaited) < MAX_WARNINGS:
        session.unawaited.append(describe(session, coroutine, "RuntimeWarning", at))


def describe(session, coroutine, kind, at):
    """A warning or an error of the claim. at: (file name, line[, offset]) or None."""
    name = coroutine.__name__[:200]
    return located(session, kind, "coroutine '%s' was never awaited, so it did not run" % name, at,
                   "`%s` is async: write `await %s(...)`." % (name, name))


def refuse_value(session, coroutine, claim):
    """The snippet's value is a coroutine. True: it has not begun, no later snippet can await it, and it is a tool's: an error."""
    last = last_statement(session)
    called = type(last) is _ast.Expr and type(last.value) is _ast.Call
    kept = any([v is coroutine for v in tuple(session.module.__dict__.values())])
    if has_begun(coroutine) or not session.last and (kept or not called):
        return False
    at = (session.filename, last.lineno, last.col_offset) if last is not None else None
    coroutine.close()  # or Python would warn of it, at a place in this layer
    if is_tool(coroutine):
        claim["status"] = "error"
        claim["error"] = dict(describe(session, coroutine, "RuntimeError", at), traceback="")
        return True
    session.unawaited = (session.unawaited or []) + [describe(session, coroutine, "RuntimeWarning", at)]
    return False


def last_statement(session):
    source = session.sources[session.filename]
    try:
        return parse(source).body[-1]
    except Exception:
        return None


def warn_of_variables(session):
    """No snippet follows: a tool's coroutine in a variable will not be awaited either."""
    for value in tuple(session.module.__dict__.values()):
        if type(value) is CoroutineType and is_tool(value) and not has_begun(value):
            add_warning(session, value)
            value.close()
