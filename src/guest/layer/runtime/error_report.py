"""Errors for a model to read: message, rule, line, column, source line and the agent's own frames.
The report shows no frame of the layer or of a library, and trusts no method of the exception that it describes.

Lines and columns count from 1; columns count characters, not bytes. Loaded only when there is an error.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.rail.source_text import lines_of
from agentjail.values.texts import MESSAGE_BYTES, truncate

TRACEBACK_BYTES, LINE_CHARS = 16 << 10, 400
MAX_FRAMES, MAX_REPEATS, MAX_CHAIN = 40, 3, 8
MAX_LISTED = 120         # allowed modules that a message names
MAX_NAME = 200           # characters of the name of an exception or of a rule
MAX_LINE = 1 << 31       # a line or column from here on is none
POLICY = "PolicyError"  # error.type of a rejection


# --- source positions ---

def line_at(source, line):
    lines = lines_of(source)
    return lines[line - 1] if line and 0 < line <= len(lines) else ""


def column(text, offset):
    """1-based column in characters from a 0-based offset in UTF-8 bytes."""
    if offset is None or offset < 0:
        return None
    return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore")) + 1


def shorten_line(text):
    return truncate(text if len(text) <= LINE_CHARS else text[:LINE_CHARS] + "…", MESSAGE_BYTES)[0]


# --- rejections and source that does not compile ---

def reject(session, claim, errors):
    """Fill the claim with the violations. Returns None: there is no code to run."""
    source = session.sources[session.filename]
    out, hints, listed = [], set(), False
    for rule, message, hint, line, col, end_line, end_col, extra in errors:
        text = line_at(source, line)
        item = {"type": POLICY, "message": truncate(message, MESSAGE_BYTES)[0], "rule": rule, "line": line,
                "column": column(text, col)}
        if end_line is not None:
            item["end_line"] = end_line
            item["end_column"] = column(line_at(source, end_line), end_col)
        item["source"] = shorten_line(text)
        item["traceback"] = ""
        # A model reads the whole list: each hint comes once, and so do the allowed modules.
        if hint and hint not in hints:
            item["hint"] = truncate(hint, MESSAGE_BYTES)[0]
            hints.add(hint)
        if "allowed" in extra and not listed:
            listed = True
            list_allowed(item, extra["allowed"])
        out.append(item)
    claim["status"] = "rejected"
    claim["error"] = out[0]
    claim["errors"] = out


def list_allowed(item, patterns):
    """Add the allowed modules to the error of a disallowed import, as data and as text; submodules of an allowed package are left out."""
    item["allowed"] = patterns
    tops = [p for p in patterns if "." not in p or p.partition(".")[0] not in patterns]
    more = max(len(tops) - MAX_LISTED, 0)
    item["message"] += ". Allowed: " + (", ".join(tops[:MAX_LISTED]) or "nothing") + (" and %d more" % more if more else "")


def report_uncompilable(session, claim, e):
    """Fill the claim with the error of the parser or the compiler. Returns None."""
    source = session.sources[session.filename]
    if isinstance(e, (MemoryError, RecursionError, OverflowError)) or "too many nested" in str(e):
        return reject(session, claim, [("PY-SIZE", "The code is nested too deeply for the compiler",
                                        "Split it into smaller statements.", getattr(e, "lineno", None) or 1,
                                        max((getattr(e, "offset", None) or 1) - 1, 0), None, None, {})])
    if not isinstance(e, SyntaxError) or e.lineno is None:
        e = locate_bad_character(source, e)
    claim["status"] = "error"
    claim["error"] = describe_error(session, e)


def locate_bad_character(source, e):
    """A SyntaxError with the position of a NUL or a lone surrogate, which CPython's ValueError lacks."""
    for at, c in enumerate(source):
        if c == "\0" or "\ud800" <= c <= "\udfff":
            before = lines_of(source[:at])
            name = "a NUL character" if c == "\0" else "a lone surrogate (U+%04X)" % ord(c)
            return SyntaxError("the code holds " + name, ("", len(before), len(before[-1]) + 1, ""))
    return SyntaxError(str(e), ("", 1, 1, ""))


def located(session, kind, message, at, hint):
    """A warning or an error of the claim. at: (file name, line[, offset in bytes]) in the sources of the session, or None."""
    out = {"type": kind, "message": message, "line": None, "column": None, "source": "", "hint": hint}
    if at is not None:
        text = line_at(session.sources[at[0]], at[1])
        out.update(line=at[1], source=shorten_line(text))
        if len(at) > 2:
            out["column"] = column(text, at[2])
    return out


# --- exceptions ---

def message_of(session, e):
    try:
        text = str(e)
        if type(text) is not str:
            text = str.__str__(text)
    except Exception as inner:
        text = "<str failed: %s>" % type(inner).__name__
    if not text and isinstance(e, MemoryError):
        text = memory_message(session.limits["memory_bytes"])
    return truncate(text, MESSAGE_BYTES)[0]


def memory_message(limit_bytes):
    """CPython's own MemoryError says nothing. The kernel does not say why it refused an allocation, so the text names the limit alone."""
    if not limit_bytes:
        return "the kernel gave no memory (the policy sets no limit)"
    number, unit = limit_bytes, "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if number % 1024 == 0:
            number, unit = number >> 10, larger
    return "the kernel gave no memory; the limit of the jail is %d %s (limits.memory)" % (number, unit)


def agent_frames(session, e):
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


def describe_error(session, e):
    """The error object of the claim."""
    out = {"type": type(e).__name__[:MAX_NAME], "message": message_of(session, e), "line": None, "column": None, "source": ""}
    frames = agent_frames(session, e)
    if isinstance(e, SyntaxError) and not frames and e.lineno is not None:
        # CPython's line and column are 1 or more, in characters; 0 or less means unknown. Code may raise one with any.
        line = e.lineno if is_line(e.lineno) else 1
        text = line_at(session.sources.get(session.filename, ""), line)
        out.update(message=syntax_message(e), line=line, column=e.offset if is_line(e.offset) else 1, source=shorten_line(text))
        if is_line(e.end_lineno) and e.end_lineno >= line:
            out["end_line"] = e.end_lineno
    elif frames:
        filename, line, col, end, _, _ = frames[-1]
        text = line_at(session.sources[filename], line)
        out.update(line=line, column=column(text, col), source=shorten_line(text))
        if end is not None:
            out["end_line"] = end
    if len(frames) > 1:
        add_frames(session, frames, out)
    chain = [(inner, relation) for inner, relation in chain_of(e) if relation is not None]
    if chain:
        out["chain"] = [describe_link(session, inner, relation) for inner, relation in chain]
    if isinstance(e, SystemExit):
        code = e.code
        out["exit_code"] = code if type(code) is int and abs(code) < 1 << 31 else (0 if code is None else 1)
    add_hints(session, e, out)
    out["traceback"] = format_traceback(session, e)
    return out


def add_frames(session, frames, out):
    """The agent's frames, outermost first; of many the first and the last."""
    omitted = max(len(frames) - MAX_FRAMES, 0)
    if omitted:
        frames = frames[:MAX_FRAMES // 2] + frames[-(MAX_FRAMES // 2):]
        out["frames_omitted"] = omitted
    out["frames"] = []
    for filename, line, col, _, _, function in frames:
        text = line_at(session.sources[filename], line)
        out["frames"].append({"file": filename, "line": line, "column": column(text, col), "function": function[:MAX_NAME],
                              "source": shorten_line(text)})


def chain_of(e):
    """(exception, its relation to the one before) from e, whose relation is None, to the one that came first."""
    out, relation, seen = [], None, set()
    while e is not None and id(e) not in seen and len(out) < MAX_CHAIN:
        seen.add(id(e))
        out.append((e, relation))
        if e.__cause__ is not None:
            e, relation = e.__cause__, "cause"
        elif e.__context__ is not None and not e.__suppress_context__:
            e, relation = e.__context__, "context"
        else:
            e = None
    return out


def describe_link(session, e, relation):
    out = {"type": type(e).__name__[:MAX_NAME], "message": message_of(session, e), "line": None, "column": None, "source": "",
           "relation": relation}
    frames = agent_frames(session, e)
    if frames:
        filename, line, col, _, _, _ = frames[-1]
        text = line_at(session.sources[filename], line)
        out.update(line=line, column=column(text, col), source=shorten_line(text))
    return out


def is_line(n):
    return type(n) is int and 0 < n < MAX_LINE


def syntax_message(e):
    return truncate(e.msg if type(e.msg) is str else str(e.msg), MESSAGE_BYTES)[0]


AT_START = ("This policy loads no machine code after the code has started (python.native = \"start\"). Extension modules are loaded earlier: for a single "
            "snippet those that its import statements name, for a session those that the policy allows.")
NOT_OF_THE_TREE = "Machine code is loaded from the jail's read-only tree alone, never from files that a snippet writes or a caller gives."
# What the loader says of a library that it may not map, and why that is.
MACHINE_CODE = (
    ("failed to map segment", AT_START),
    ("cannot make segment writable for relocation", "This library has text relocations: the loader would change its machine code, which no jail allows. "
     "It has to be built as position-independent code (-fPIC)."),
    ("cannot enable executable stack", "This library asks for an executable stack, which no jail allows. It has to be built without one (-z noexecstack)."),
)


def add_hints(session, e, out):
    """Add the rule, the allowed modules and a hint to the error of a guard, and a hint to that of an absent built-in function."""
    attributes = getattr(e, "__dict__", None)
    if type(attributes) is dict and type(attributes.get("agentjail")) is str:
        out["rule"] = attributes["agentjail"][:MAX_NAME]
        if type(attributes.get("allowed")) is list and session.guards is not None:
            list_allowed(out, session.guards.imports.patterns)
    if type(attributes) is dict and type(attributes.get("agentjail_hint")) is str:
        out["hint"] = attributes["agentjail_hint"]
    if isinstance(e, EOFError) and "input(" in out["source"]:
        out["hint"] = ("Standard input ends here: all that the caller gave this run was read." if session.stdin is not None else
                       "input() has no user here: use the input variables, or write the value into the code. "
                       "After `sys.stdin = io.StringIO(text)` input() reads the lines of that text.")
    if isinstance(e, LookupError) and out["message"].startswith("unknown encoding"):
        out["hint"] = ("The codecs of Chinese, Japanese and Korean character sets are machine code, which a jail of one snippet loads ahead where "
                       "the code names the encoding, and no session does. UTF-8, UTF-16 and the 8-bit character sets are always there.")
    start = out["source"].lstrip()[:3] if isinstance(e, SyntaxError) else ""
    if start == "```":
        out["hint"] = "Send the code alone, without the lines of ``` around it."
    elif start[:1] in ("!", "%") and start.lstrip("!%")[:1].isalpha():
        out["hint"] = "This is plain Python: the commands of notebooks, as `!ls` and `%pip install`, are not part of it."
    if isinstance(e, (TypeError, AttributeError)) and "coroutine" in out["message"]:
        out["hint"] = "A coroutine has no value before it is awaited: write `await` before the call of an async function or tool."
    if isinstance(e, (ImportError, OSError)):
        for words, hint in MACHINE_CODE:
            if words in out["message"]:
                foreign = hint is AT_START and out["message"][:1] == "/" and not out["message"].startswith(("/usr/", "/env/"))
                out["hint"] = NOT_OF_THE_TREE if foreign else hint
    if "agentjail.runtime.early_imports" in sys.modules:
        hint = sys.modules["agentjail.runtime.early_imports"].hint_for(e, out["source"])
        if hint is not None:
            out["hint"] = hint[0].upper() + hint[1:]
    if isinstance(e, NameError) and session.guards is not None and type(e.name) is str:
        from agentjail.rail.builtin_guards import ABSENT
        import builtins
        if e.name in ABSENT or (e.name in builtins.__dict__ and session.guards.builtin_set != "full"):
            why = ABSENT.get(e.name)
            out["hint"] = "`%s` is not in the %s set of built-in functions%s." % (
                e.name, session.guards.builtin_set, ": " + why if why else "")
        else:
            from agentjail.check.import_advice import name_hint
            hint = name_hint(session.guards.imports, e.name)
            if hint is not None:
                out["hint"] = hint
    if "hint" not in out:
        try:
            hint = hint_of(session, e, out)
        except Exception:   # the text of the error itself is worth more
            hint = None
        if hint:
            out["hint"] = hint
    if "hint" in out:
        out["hint"] = truncate(out["hint"], MESSAGE_BYTES)[0]


def hint_of(session, e, out):
    """A hint of error_hints.py for this exception, or None."""
    from agentjail.runtime import error_hints
    frame, text = innermost(session, e)
    if isinstance(e, KeyError):
        return error_hints.hint_of_key(e, frame, text)
    if isinstance(e, FileNotFoundError) and session.policy is not None:
        return error_hints.hint_of_file(e.filename, session.policy[7], session.guards is not None and not session.guards.opens_files)
    if isinstance(e, NameError):
        return error_hints.hint_of_name(e.name, frame, session.guards.builtins if session.guards is not None else ())
    if isinstance(e, AttributeError):
        return error_hints.hint_of_attribute(e)
    if isinstance(e, ModuleNotFoundError) and session.guards is not None and type(e.name) is str:
        from agentjail.check.import_advice import DEFAULT, import_hint
        hint = import_hint(session.guards.imports, e.name)
        if session.guards.imports.allows(e.name):
            hint = "This Python does not have %s, although the policy allows it.%s" % (e.name, " " + hint if hint != DEFAULT else "")
        return hint
    return None


def innermost(session, e):
    """(the agent's innermost frame, the text of the expression that ran there), or (None, "")."""
    tb, found = BaseException.__dict__["__traceback__"].__get__(e), None
    while tb is not None:
        found = tb if tb.tb_frame.f_code.co_filename in session.sources else found
        tb = tb.tb_next
    if found is None:
        return None, ""
    code = found.tb_frame.f_code
    for i, (line, end, col, end_col) in enumerate(code.co_positions()):
        if i == found.tb_lasti // 2:
            if line is None or line != end or col is None:
                return found.tb_frame, ""
            return found.tb_frame, line_at(session.sources[code.co_filename], line).encode("utf-8", "replace")[col:end_col].decode("utf-8", "replace")
    return found.tb_frame, ""


def format_frame(session, frame):
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


LINKS = {"cause": "\nThe above exception was the direct cause of the following exception:\n\n",
         "context": "\nDuring handling of the above exception, another exception occurred:\n\n"}


def format_traceback(session, e):
    """Like Python's own traceback, with the agent's frames alone."""
    text = "".join([format_exception(session, inner) + LINKS.get(relation, "") for inner, relation in reversed(chain_of(e))])
    short, was_cut = truncate(text, TRACEBACK_BYTES)
    return short + ("\n[traceback cut]\n" if was_cut else "")


def format_frames(session, frames):
    out, last, repeats = ["Traceback (most recent call last):\n"], None, 0
    first_hidden = MAX_FRAMES // 2
    hidden = max(len(frames) - MAX_FRAMES, 0)
    for i, frame in enumerate(frames):
        if first_hidden <= i < first_hidden + hidden:
            if i == first_hidden:
                out.append("  [%d frames left out]\n" % hidden)
            continue
        if frame == last:
            repeats += 1
            if repeats >= MAX_REPEATS:
                continue
        else:
            add_repeats(out, repeats)
            last, repeats = frame, 0
        out.append(format_frame(session, frame))
    add_repeats(out, repeats)
    return out


def add_repeats(out, repeats):
    if repeats >= MAX_REPEATS:
        out.append("  [Previous line repeated %d more times]\n" % (repeats - MAX_REPEATS + 1))


def format_exception(session, e):
    frames = agent_frames(session, e)
    out = format_frames(session, frames) if frames else []
    if isinstance(e, SyntaxError) and not frames:
        line = e.lineno if is_line(e.lineno) else 1
        text = line_at(session.sources.get(session.filename, ""), line)
        out.append('  File "%s", line %s\n' % (session.filename, line))
        if text.strip() and len(text) <= LINE_CHARS:
            pad = len(text) - len(text.lstrip())
            out.append("    %s\n" % text.strip())
            if is_line(e.offset) and pad < e.offset <= LINE_CHARS:
                out.append("    " + " " * (e.offset - 1 - pad) + "^\n")
        out.append("%s: %s\n" % (type(e).__name__, syntax_message(e)))
    else:
        text = message_of(session, e)
        out.append(type(e).__name__[:MAX_NAME] + (": " + text if text else "") + "\n")
    notes = getattr(e, "__notes__", None)
    if type(notes) is list:
        out.extend([n + "\n" for n in notes[:10] if type(n) is str])
    if isinstance(e, BaseExceptionGroup):
        for i, inner in enumerate(e.exceptions[:10]):
            out.append("  ---- %d ----\n" % (i + 1))
            out.extend("  " + line + "\n" for line in format_exception(session, inner).rstrip("\n").split("\n"))
    return "".join(out)
