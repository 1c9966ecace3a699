"""From source text to a code object: a file name, parse, check, insert guards, keep the last value.
The source is parsed once; the tree that passed the check is the tree that is compiled.

The functions fill the claim with the errors and return None where there is no code to run. They load error_report only then.
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check import plain_code
from agentjail.check.plain_code import CODE_FLAGS, PARSE_FLAGS, VALUE_NAME

COMPILE_ERRORS = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)
MAX_FILE_NAMES, MAX_SOURCES = 1024, 64


def name_source(session, name, source):
    """A file name that is unique in the session: tracebacks then show the right lines."""
    counts, sources = session.name_counts, session.sources
    n = counts.pop(name, 0) + 1
    counts[name] = n
    if len(counts) > MAX_FILE_NAMES:
        del counts[next(iter(counts))]
    unique = name if n == 1 else "%s#%d" % (name, n)
    sources[unique] = source
    if len(sources) > MAX_SOURCES:
        del sources[next(iter(sources))]
    return unique


def compile_source(session, source, claim, value_of="expression"):
    """The code object, or None with the claim filled in. value_of: see request.py."""
    limits = session.limits
    if len(source) * 4 > limits["source_bytes"] and (
            len(source.encode("utf-8", "replace")) > limits["source_bytes"]):
        from agentjail.runtime.error_report import reject
        return reject(session, claim, [("PY-SIZE", "The code is too long (%d characters, limit %d bytes)" % (
            len(source), limits["source_bytes"]), "Split it into several snippets.", 1, 0, None, None, {})])
    plain = plain_code.compile_plain
    if plain is not None and session.guards is not None and value_of == "expression" and not session.reserved_names:
        code = plain(source, session.filename, session.guards.imports.exact, session.bindings)
        if code is not None:
            return code
    try:
        tree = parse(source, session.filename)
    except COMPILE_ERRORS as e:
        from agentjail.runtime.error_report import report_uncompilable
        return report_uncompilable(session, claim, e)
    checker = None
    if session.guards is not None:
        from agentjail.check.checker import Checker
        checker = Checker(session.guards.imports, limits["ast_depth"], session.bindings)
        errors = checker.check_tree(tree)
        if errors:
            from agentjail.runtime.error_report import reject
            return reject(session, claim, errors)
    if session.reserved_names:
        from agentjail.runtime.tool_names import reject_bindings
        if reject_bindings(session, tree, claim):
            return None
    if value_of == "expression":
        keep_last_value(tree)
    else:
        from agentjail.check.last_statement import keep_statement_value
        keep_statement_value(tree.body, VALUE_NAME)
    try:
        code = compile(tree, session.filename, "exec", CODE_FLAGS, True)
    except COMPILE_ERRORS as e:
        from agentjail.runtime.error_report import report_uncompilable
        return report_uncompilable(session, claim, e)
    if checker is not None:
        session.bindings = checker.bindings
    return code


def parse(source, filename=""):
    # A leading byte order mark is not a part of the program; the parser reports every other character.
    return compile(source[1:] if source[:1] == "\ufeff" else source, filename, "exec", PARSE_FLAGS, True)


def keep_last_value(tree):
    """Assign the value of a last statement that is an expression, as the interactive interpreter does."""
    import _ast
    body = tree.body
    if body and type(body[-1]) is _ast.Expr:
        last = body[-1]
        name = _ast.Name(VALUE_NAME, _ast.Store())
        new = _ast.Assign([name], last.value)
        for node in (name, new):
            node.lineno, node.col_offset = last.lineno, last.col_offset
            node.end_lineno, node.end_col_offset = last.end_lineno, last.end_col_offset
        body[-1] = new
