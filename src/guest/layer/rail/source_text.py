"""The texts that the session keeps for error reports, as code sees them: f.__source__ (unparsed, without comments, as agents' own
interpreters give it), and the lines that traceback and warnings show. No function here opens a file.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.plain_code import PARSE_FLAGS

DEFINITIONS = (_ast.FunctionDef, _ast.AsyncFunctionDef)


def source_of(code, texts):
    """The definition that this code object was made from, or None: its text is gone, or it is a lambda's."""
    text = texts.get(code.co_filename)
    if text is None:
        return None
    import ast
    for node in ast.walk(compile(text.removeprefix("\ufeff"), "", "exec", PARSE_FLAGS, True)):
        if isinstance(node, DEFINITIONS) and node.name == code.co_name and first_line(node) == code.co_firstlineno:
            return ast.unparse(node)
    return None


def first_line(node):
    return min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])


def lines_of(source):
    # Line ends of the parser; str.splitlines() would also split at \f, \x1c and U+2028.
    if source[:1] == "\ufeff":
        source = source[1:]
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def patch_lines(linecache, guards):
    """linecache.updatecache(), for traceback and warnings: they would show the lines of any file."""
    real = linecache.updatecache
    last = [None, []]   # the text that was asked for last, and its lines: a traceback asks for each frame

    def updatecache(filename, module_globals=None):
        text = guards.code_files.get(filename)
        if text is None:
            return real(filename, module_globals) if guards.opens_files else []
        if last[0] is not text:
            last[:] = text, [line + "\n" for line in lines_of(text)]
        return last[1]

    linecache.updatecache = updatecache
