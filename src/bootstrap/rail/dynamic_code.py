"""eval, exec and compile for the builtin set `full`: the text passed to them passes the same check as a snippet.
They refuse code objects that they did not make, and a __builtins__ of the caller's choice.
"""

import sys
from _ast import PyCF_ONLY_AST

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)

CodeType = type((lambda: 0).__code__)
MAX_DEPTH = 400


def checked_functions(guards):
    """The three functions, bound to one session's guards."""
    from agentjail.rail.check import Checker
    made = {}  # id -> code object, kept alive so that ids stay unique

    def check_and_compile(source, filename, mode):
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).decode("utf-8")
        if type(source) is not str:
            source = str.__getitem__(source, slice(None))
        tree = real_compile(source.lstrip(" \t") if mode == "eval" else source, filename, mode, PyCF_ONLY_AST, True)
        checker = Checker(guards.imports, MAX_DEPTH)
        errors = checker.check_tree(tree)
        if errors:
            rule, message, _, line, col, *_ = errors[0]
            e = SyntaxError("%s (%s, line %d, column %d)" % (message, rule, line, col + 1))
            e.agentjail = rule
            raise e
        code = real_compile(tree, filename, mode, 0, True)
        made[id(code)] = code
        return code

    def caller_namespaces(globals, locals):
        """The namespaces to run in. Called by eval and exec directly: the agent's frame is two above."""
        if globals is None:
            frame = sys._getframe(2)
            globals = frame.f_globals
            if locals is None:
                locals = frame.f_locals
        if type(globals) is not dict:
            raise TypeError("globals must be a dict")
        globals["__builtins__"] = guards.builtins
        return globals, globals if locals is None else locals

    def code_of(source, mode):
        if isinstance(source, CodeType):
            if made.get(id(source)) is not source:
                raise TypeError("only code objects that compile() made are allowed")
            return source
        return check_and_compile(source, "<string>", mode)

    def eval(source, globals=None, locals=None, /):
        globals, locals = caller_namespaces(globals, locals)
        return real_eval(code_of(source, "eval"), globals, locals)

    def exec(source, globals=None, locals=None, /):
        globals, locals = caller_namespaces(globals, locals)
        real_exec(code_of(source, "exec"), globals, locals)

    def compile(source, filename="<string>", mode="exec", *_, **__):
        if mode not in ("exec", "eval", "single"):
            raise ValueError("compile() mode must be 'exec', 'eval' or 'single'")
        return check_and_compile(source, "<string>", mode)

    return {"eval": eval, "exec": exec, "compile": compile}


real_eval, real_exec, real_compile = eval, exec, compile
