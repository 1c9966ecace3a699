"""eval, exec and compile for the builtin set `full`: the text they are given passes the same check as the snippet.
It refuses code objects that it did not make, and a __builtins__ of the caller's choice.
"""

import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)

ONLY_AST = 0x400
Code = type((lambda: 0).__code__)


def checked_dynamic(guards):
    """The three functions, bound to one session's guards."""
    from agentjail.rail.check import Checker
    made = {}  # id -> code object, kept alive so that ids stay unique

    def build(source, filename, mode):
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).decode("utf-8")
        if type(source) is not str:
            source = str.__getitem__(source, slice(None))
        tree = compile_(source.lstrip(" \t") if mode == "eval" else source, filename, mode, ONLY_AST, True)
        checker = Checker(guards.allowed, 400)
        errors = checker.run(tree)
        if errors:
            rule, message, _, line, col, *_ = errors[0]
            e = SyntaxError("%s (%s, line %d, column %d)" % (message, rule, line, col + 1))
            e.agentjail = rule
            raise e
        code = compile_(tree, filename, mode, 0, True)
        made[id(code)] = code
        return code

    def spaces(globals, locals):
        if globals is None:
            frame = sys._getframe(2)
            globals = frame.f_globals
            if locals is None:
                locals = frame.f_locals
        if type(globals) is not dict:
            raise TypeError("globals must be a dict")
        globals["__builtins__"] = guards.dict
        return globals, globals if locals is None else locals

    def code_of(source, mode):
        if isinstance(source, Code):
            if made.get(id(source)) is not source:
                raise TypeError("code objects of others are not allowed")
            return source
        return build(source, "<string>", mode)

    def eval(source, globals=None, locals=None, /):
        globals, locals = spaces(globals, locals)
        return eval_(code_of(source, "eval"), globals, locals)

    def exec(source, globals=None, locals=None, /):
        globals, locals = spaces(globals, locals)
        exec_(code_of(source, "exec"), globals, locals)

    def compile(source, filename="<string>", mode="exec", *_, **__):
        if mode not in ("exec", "eval", "single"):
            raise ValueError("compile() mode must be 'exec', 'eval' or 'single'")
        return build(source, "<string>", mode)

    return {"eval": eval, "exec": exec, "compile": compile}


eval_, exec_, compile_ = eval, exec, compile
