"""What went wrong, for a model to read: errors with line, column, source line and the agent's own frames.
It refuses to show frames of the layer or of libraries, and to trust any method of the exception it describes.

Lines and columns count from 1; columns count characters, not bytes. Loaded only when there is an error.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime.values import cut

MESSAGE_BYTES, TRACEBACK_BYTES, LINE_CHARS = 8 << 10, 16 << 10, 400
MAX_FRAMES, MAX_CHAIN = 40, 8
POLICY = "PolicyError"  # error.type of a rejection


# --- source positions ------------------------------------------------------------------------------

def lines_of(source):
    # The parser's line ends; str.splitlines would also split at \f, \x1c and U+2028.
    if source[:1] == "\ufeff":
        source = source[1:]
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def line_at(source, line):
    lines = lines_of(source)
    return lines[line - 1] if line and 0 < line <= len(lines) else ""


def column(text, offset):
    """1-based column in characters from a 0-based offset in UTF-8 bytes."""
    if offset is None or offset < 0:
        return None
    return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1


def shown(text):
    return cut(text if len(text) <= LINE_CHARS else text[:LINE_CHARS] + "…", MESSAGE_BYTES)[0]


# --- rejections and unreadable source ----------------------------------------------------------------

def reject(session, claim, errors):
    """Fill the claim with the violations. Returns None: there is nothing to run."""
    source = session.sources[session.filename]
    out = []
    for rule, message, hint, line, col, end_line, end_col, extra in errors:
        text = line_at(source, line)
        item = {"type": POLICY, "message": cut(message, MESSAGE_BYTES)[0], "rule": rule, "line": line,
                "column": column(text, col)}
        if end_line is not None:
            item["end_line"] = end_line
            item["end_column"] = column(line_at(source, end_line), end_col)
        item["source"] = shown(text)
        item["traceback"] = ""
        if hint:
            item["hint"] = hint
        item.update(extra)
        out.append(item)
    claim["status"] = "rejected"
    claim["error"] = out[0]
    claim["errors"] = out


def unreadable(session, claim, e):
    """Source that the parser or the compiler did not take."""
    source = session.sources[session.filename]
    if isinstance(e, (MemoryError, RecursionError, OverflowError)) or "too many nested" in str(e):
        return reject(session, claim, [("PY-SIZE", "The code is nested too deeply for the compiler",
                                        "Split it into smaller statements.", getattr(e, "lineno", None) or 1,
                                        max((getattr(e, "offset", None) or 1) - 1, 0), None, None, {})])
    if not isinstance(e, SyntaxError) or e.lineno is None:
        e = odd_character(source, e)
    claim["status"] = "error"
    claim["error"] = describe(session, e)


def odd_character(source, e):
    """NUL and lone surrogates have no position in the ValueError that CPython raises."""
    for at, c in enumerate(source):
        if c == "\0" or "\ud800" <= c <= "\udfff":
            before = lines_of(source[:at])
            name = "a NUL character" if c == "\0" else "a lone surrogate (U+%04X)" % ord(c)
            return SyntaxError("the code holds " + name, ("", len(before), len(before[-1]) + 1, ""))
    return SyntaxError(str(e), ("", 1, 1, ""))


# --- exceptions --------------------------------------------------------------------------------------

def message_of(e):
    try:
        text = str(e)
        if type(text) is not str:
            text = str.__str__(text)
    except Exception as inner:
        text = "<str failed: %s>" % type(inner).__name__
    return cut(text, MESSAGE_BYTES)[0]


def frames(session, e):
    """(filename, line, column, end line, end column, function) of the agent's own frames, outermost first."""
    out = []
    tb = BaseException.__dict__["__traceback__"].__get__(e)
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename in session.sources:
            line, end, col, end_col = tb.tb_lineno, None, None, None
            at = tb.tb_lasti // 2
            for i, position in enumerate(code.co_positions()):
                if i == at:
                    _, end, col, end_col = position
                    break
            out.append((code.co_filename, line, col, end, end_col, code.co_qualname))
        tb = tb.tb_next
    return out


def describe(session, e):
    """The error object of the claim."""
    name = type(e).__name__
    out = {"type": name, "message": message_of(e), "line": None, "column": None, "source": ""}
    where = frames(session, e)
    if isinstance(e, SyntaxError) and not where and e.lineno is not None:
        text = line_at(session.sources.get(session.filename, ""), e.lineno)
        # CPython gives a column of 1 or more in characters; 0 or less means that it does not know.
        at = e.offset if type(e.offset) is int and e.offset > 0 else 1
        out.update(message=message_of_syntax(e), line=e.lineno, column=at, source=shown(text))
        if type(e.end_lineno) is int and e.end_lineno >= e.lineno:
            out["end_line"] = e.end_lineno
    elif where:
        filename, line, col, end, _, _ = where[-1]
        text = line_at(session.sources[filename], line)
        out.update(line=line, column=column(text, col), source=shown(text))
        if end is not None:
            out["end_line"] = end
    if isinstance(e, SystemExit):
        code = e.code
        out["exit_code"] = code if type(code) is int and abs(code) < 1 << 31 else (0 if code is None else 1)
    extra_help(session, e, out)
    out["traceback"] = traceback_text(session, e)
    return out


def message_of_syntax(e):
    return cut(e.msg if type(e.msg) is str else str(e.msg), MESSAGE_BYTES)[0]


def extra_help(session, e, out):
    """Rule, allowed modules and a hint, where a guard raised the error or a name is absent on purpose."""
    space = getattr(e, "__dict__", None)
    if type(space) is dict and type(space.get("agentjail")) is str:
        out["rule"] = space["agentjail"]
        if type(space.get("allowed")) is list:
            out["allowed"] = space["allowed"]
            out["hint"] = "Use an allowed module or write the code without it."
    if isinstance(e, NameError) and session.guards is not None and type(e.name) is str:
        from agentjail.rail.guards import ABSENT
        import builtins
        if e.name in ABSENT or (e.name in builtins.__dict__ and session.guards.level != "full"):
            why = ABSENT.get(e.name)
            out["hint"] = "`%s` is not in the %s set of built-in functions%s." % (
                e.name, session.guards.level, ": " + why if why else "")


def one_frame(session, frame):
    filename, line, col, end, end_col, function = frame
    text = line_at(session.sources[filename], line)
    out = ['  File "%s", line %d, in %s\n' % (filename, line, function)]
    bare = text.strip()
    if bare and len(text) <= LINE_CHARS:
        out.append("    " + bare + "\n")
        if end == line and col is not None and end_col is not None:
            first, last = column(text, col), column(text, end_col)
            pad = len(text) - len(text.lstrip())
            if first - 1 - pad >= 0 and last > first and last - first < len(bare):
                out.append("    " + " " * (first - 1 - pad) + "^" * (last - first) + "\n")
    return "".join(out)


def traceback_text(session, e):
    """Like Python's own, with the agent's frames only."""
    parts, seen = [], set()
    link = None
    while e is not None and id(e) not in seen and len(seen) < MAX_CHAIN:
        seen.add(id(e))
        parts.append(one_exception(session, e) + (link or ""))
        if e.__cause__ is not None:
            e, link = e.__cause__, ("\nThe above exception was the direct cause of the following exception:\n\n")
        elif e.__context__ is not None and not e.__suppress_context__:
            e, link = e.__context__, "\nDuring handling of the above exception, another exception occurred:\n\n"
        else:
            e = None
    text = "".join(reversed(parts))
    short, was_cut = cut(text, TRACEBACK_BYTES)
    return short + ("\n[traceback cut]\n" if was_cut else "")


def one_exception(session, e, indent=""):
    where = frames(session, e)
    out = []
    if where:
        out.append("Traceback (most recent call last):\n")
        last, repeats = None, 0
        skipped = len(where) - MAX_FRAMES
        for i, frame in enumerate(where):
            if skipped > 0 and MAX_FRAMES // 2 <= i < MAX_FRAMES // 2 + skipped:
                if i == MAX_FRAMES // 2:
                    out.append("  [%d frames left out]\n" % skipped)
                continue
            if frame == last:
                repeats += 1
                if repeats >= 3:
                    continue
            elif repeats >= 3:
                out.append("  [the line before, %d more times]\n" % (repeats - 2))
                repeats = 0
            else:
                repeats = 0
            last = frame
            out.append(one_frame(session, frame))
        if repeats >= 3:
            out.append("  [the line before, %d more times]\n" % (repeats - 2))
    if isinstance(e, SyntaxError) and not where:
        text = line_at(session.sources.get(session.filename, ""), e.lineno or 0)
        out.append('  File "%s", line %s\n' % (session.filename, e.lineno))
        if text.strip() and len(text) <= LINE_CHARS:
            pad = len(text) - len(text.lstrip())
            out.append("    %s\n" % text.strip())
            if type(e.offset) is int and e.offset > pad:
                out.append("    " + " " * (e.offset - 1 - pad) + "^\n")
        out.append("%s: %s\n" % (type(e).__name__, message_of_syntax(e)))
    else:
        text = message_of(e)
        out.append(type(e).__name__ + (": " + text if text else "") + "\n")
    notes = getattr(e, "__notes__", None)
    if type(notes) is list:
        out.extend([n + "\n" for n in notes[:10] if type(n) is str])
    if isinstance(e, BaseExceptionGroup):
        for i, inner in enumerate(e.exceptions[:10]):
            out.append("  ---- %d ----\n" % (i + 1))
            out.extend("  " + line + "\n" for line in one_exception(session, inner).rstrip("\n").split("\n"))
    return "".join(out)
