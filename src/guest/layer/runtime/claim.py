"""The claim of a snippet, which goes to the host: its value, answer, error, variables, imports and warnings.
It decides nothing about the run, and if a report of an error fails, the error says so. All of it is the jail's statement.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.json_writer import SAFE_INT, RawJson, claim_json, json_string, value_json
from agentjail.values.texts import has_rich_repr, own_str, safe_repr, type_name

MAX_IMPORTS = 1000
MAX_NAME = 1000         # characters of the name of a module or of an exception
SHORT_OF = ("TimeoutError", "KeyboardInterrupt", "MemoryError")  # errors after which there is no time or memory for figures

OUT_OF_MEMORY = (b'{"status":"error","value":null,"repr":"","type":"","error":{"type":"MemoryError","message":'
                 b'"no memory left to report the result","line":null,"column":null,"source":"","traceback":""},'
                 b'"errors":[],"final_answer":null,"is_final":false,"imports":[],"truncated":{}}')


NULL = RawJson("null")


def new_claim():
    return {"status": "ok", "value": NULL, "repr": "", "type": "", "error": None, "errors": [],
            "final_answer": NULL, "is_final": False, "imports": [], "truncated": {}}


# The text of most claims, with a place for each of these members: at a fraction of the cost of claim_json().
PLACES = ("value", "repr", "type", "final_answer", "is_final")
KEYS = len(new_claim())
PLAIN_CLAIM = claim_json({**new_claim(), **{key: RawJson("%s") for key in PLACES}})


def claim_bytes(claim):
    if len(claim) == KEYS and claim["status"] == "ok" and not (claim["error"] or claim["errors"] or claim["truncated"] or claim["imports"]):
        return (PLAIN_CLAIM % (claim["value"].text, json_string(claim["repr"]), json_string(claim["type"]), claim["final_answer"].text,
                               "true" if claim["is_final"] else "false")).encode("utf-8", "backslashreplace")
    return claim_json(claim).encode("utf-8", "backslashreplace")


def report_value(session, value, key, claim):
    handles = None if session.last else session.handles  # the name of a value in a jail that ends would be of no use
    text, cut = value_json(value, session.limits["value_bytes"], session.limits["repr_bytes"], handles)
    claim[key] = RawJson(text)
    if cut:
        claim["truncated"][key] = True
        if handles is None:
            from agentjail.runtime.warn_of_loss import warn_of_value
            warn_of_value(session, key, claim)


def report_texts(session, value, claim):
    """The repr, the type, and the str where the class has one of its own."""
    claim["repr"], cut = safe_repr(value, session.limits["repr_bytes"]) if value is not None else ("None", False)
    claim["type"] = type_name(value)
    if cut:
        claim["truncated"]["repr"] = True
    text, cut = own_str(value, session.limits["repr_bytes"])
    if text is not None and text != claim["repr"]:
        claim["str"] = text
        if cut:
            claim["truncated"]["str"] = True


def report_number(value, claim):
    """True for a value whose JSON and repr are the same text, as those of most numbers are; the claim then has it."""
    t = type(value)
    if not (t is int and -SAFE_INT <= value <= SAFE_INT or t is float and value - value == 0):
        return False
    claim["repr"] = text = repr(value)
    claim["value"] = RawJson(text)
    claim["type"] = t.__name__
    return True


def report_last_value(session, value, claim):
    if report_number(value, claim):
        return
    report_texts(session, value, claim)
    report_value(session, value, "value", claim)
    if has_rich_repr(value):
        session.rich_results().add(value)


def report_error(session, e, claim):
    if isinstance(e, KeyboardInterrupt) and "agentjail.runtime.signals" in sys.modules:
        sys.modules["agentjail.runtime.signals"].reset_asyncio()
    claim["status"] = "error"
    try:
        from agentjail.runtime.error_report import describe_error
        claim["error"] = describe_error(session, e)
    except BaseException as inner:  # such as no descriptor for the import
        why = "" if isinstance(inner, MemoryError) else safe_repr(inner, 200)[0]
        claim["error"] = {"type": type(e).__name__[:MAX_NAME], "message": "%s (the report of the error failed: %s)" % (
            safe_repr(e, 1000)[0], why or type(inner).__name__), "line": None, "column": None, "source": "", "traceback": ""}


def report_variables(session, name, listed, namespace, claim):
    """The value of a request without code: a variable, the list of them, or None."""
    value = None
    if listed or name is not None:
        from agentjail.values.variables import list_variables, read_variable
        if listed:
            ours = dict(session.tool_functions, final_answer=session.final_answer, display=session.display)
            rows, cut = list_variables(namespace, ours, session.limits["value_bytes"])
            claim["type"] = "list"  # its repr would say the same a second time
            report_value(session, rows, "value", claim)
            if cut:
                claim["truncated"]["value"] = True
            return
        value = read_variable(namespace, name)
    report_texts(session, value, claim)
    report_value(session, value, "value", claim)


def report_imports(session, before, claim):
    guards = session.guards
    if guards is None:
        claim["imports"] = new_modules(before, session.recorded)
    elif guards.imported:
        claim["imports"] = [m[:MAX_NAME] for m in guards.imported[:MAX_IMPORTS]]
    if guards is not None and guards.refused:
        claim["imports_refused"] = [{"module": module, "line": line} for module, line in guards.refused]


def new_modules(before, recorded):
    """The imports of code without guards: the public top-level modules that are new, and the names that session.IMPORT_RECORDER
    saw where every module was loaded before."""
    new = set(sys.modules) - before
    if recorded is not None:
        new = new | recorded
    return sorted([m[:MAX_NAME] for m in new if type(m) is str and m[:1] != "_" and "." not in m])[:MAX_IMPORTS]


def report_answer(session, answer, claim):
    """The argument of final_answer(), also of code that went on, or failed, behind an `except:` that swallowed the end."""
    claim["is_final"] = True
    report_value(session, answer, "final_answer", claim)
    if claim["error"] is None:
        report_texts(session, answer, claim)
        if has_rich_repr(answer):
            session.rich_results().add(answer)


def report_files(session, claim):
    """Warn if the caller collects /output and the code wrote files only elsewhere."""
    if session.keeps_files and claim["error"] is None:
        from agentjail.runtime.warn_of_loss import warn_of_files
        try:
            warn_of_files(session, claim)
        except OSError:
            pass    # the code has removed the folder


def report_results(session, claim):
    """The bundles of display(), and of the figures that pyplot has open."""
    pyplot = sys.modules.get("matplotlib._pylab_helpers")
    if pyplot is not None and len(pyplot.Gcf.figs) > 0:
        session.rich_results().add_figures(claim["error"] is None or claim["error"]["type"] not in SHORT_OF)
    if session.results is not None:
        session.results.report(claim)


def report_unawaited(session, claim):
    from agentjail.runtime.unawaited import warn_of_variables
    if session.last:
        warn_of_variables(session)
    if session.unawaited:
        claim["warnings"] = claim.get("warnings", []) + session.unawaited
        session.unawaited = []


def report_changed_tools(session, namespace, claim):
    session.changed_tools = [name for name, function in session.tool_functions.items()
                             if namespace.get(name) is not function and name != "ToolError"]
    if session.changed_tools:
        from agentjail.runtime.tool_names import warn_of_changed
        warn_of_changed(session, namespace, claim)
