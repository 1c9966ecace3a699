"""eval, exec and compile: the text passed to them passes the same check as a snippet, and runs with the same built-in functions.
They take no code object of another origin, hand none out, and run no text in the namespace of a library.
"""

import _ast
import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.checker import Checker
from agentjail.rail.builtin_guards import ModuleType

MAX_DEPTH = 400
# Not `<string>`, which is also the file of text that libraries run in the agent's namespace (dataclasses), with their own locals.
FILENAME = "<exec>"
MODES = ("exec", "eval", "single")
real_eval, real_exec, real_compile = eval, exec, compile


class CompiledCode:
    """The result of compile(): exec and eval take it. The code object itself stays hidden, since its replace() would make others."""
    __slots__ = ("__weakref__",)

    def __repr__(self):
        return "<code object <module>, file \"%s\">" % FILENAME


class FewerBuiltins(ModuleType):
    """The built-in functions of a namespace that came with a dict of its own for them."""


class DynamicCode:
    """The functions' state for one session: agent code holds neither this object nor the code objects."""

    def __init__(self, guards):
        self.guards = guards
        self.made = {}      # id of a CompiledCode -> (a weak reference that ends the entry, its code object)

    def check_and_compile(self, source, mode):
        if isinstance(source, _ast.AST):
            source = sys.modules["ast"].unparse(source)
        if isinstance(source, (bytes, bytearray)):
            source = bytes(source).decode("utf-8")
        if not isinstance(source, str):
            raise TypeError("%s() arg 1 must be a string, bytes or code object" % mode)
        if type(source) is not str:
            source = str.__getitem__(source, slice(None))
        tree = real_compile(source.lstrip(" \t") if mode == "eval" else source, FILENAME, mode, _ast.PyCF_ONLY_AST, True)
        errors = Checker(self.guards.imports, MAX_DEPTH, own_namespace=False).check_tree(tree)
        if errors:
            rule, message, _, line, col, *_ = errors[0]
            e = SyntaxError("%s (%s, line %d, column %d)" % (message, rule, line, col + 1))
            e.agentjail = rule
            raise e
        return real_compile(tree, FILENAME, mode, 0, True)

    def compile(self, source, mode, flags):
        if mode not in MODES:
            raise ValueError("compile() mode must be 'exec', 'eval' or 'single'")
        if flags & _ast.PyCF_ONLY_AST:
            raise ValueError("compile() makes no syntax tree here: use ast.parse()")
        code, made = self.check_and_compile(source, mode), self.made
        from _weakref import ref
        out = CompiledCode()
        key = id(out)
        made[key] = ref(out, lambda _: made.pop(key, None)), code
        return out

    def run(self, source, mode, globals, locals, frame):
        """eval() and exec(). frame: the caller's."""
        if globals is None:
            globals = frame.f_globals
            if not self.is_of_agent(frame.f_code.co_filename):
                # A library called the function: its own names stay its own.
                globals = sys.modules["__main__"].__dict__
                locals = globals if locals is None else locals
            elif locals is None:
                locals = frame.f_locals
        view = self.guards.global_view
        if view is not None:
            globals, locals = [self.guards.namespace() if names is view else names for names in (globals, locals)]
        if type(globals) is not dict:
            raise TypeError("globals must be a dict")
        if globals is not self.guards.namespace() and not all([type(name) is str for name in globals]):
            raise TypeError("the names in globals must be strings: other keys are not allowed")  # one may be equal to `__builtins__`, at times
        given = globals.get("__builtins__", self)
        if given is builtins or given is builtins.__dict__:
            raise TypeError("the names of a library are not allowed as globals")
        code = self.code_of(source) if type(source) is CompiledCode else self.check_and_compile(source, mode)
        globals["__builtins__"] = self.builtins_for(given)
        try:
            return (real_eval if mode == "eval" else real_exec)(code, globals, globals if locals is None else locals)
        finally:
            if given is None or type(given) is dict:
                globals["__builtins__"] = given

    def code_of(self, compiled):
        if id(compiled) not in self.made:
            raise TypeError("only code objects that compile() made are allowed")
        return self.made[id(compiled)][1]

    def is_of_agent(self, filename):
        return filename == FILENAME or filename in self.guards.code_files and filename != "<string>"

    def builtins_for(self, given):
        """The module of built-in functions for a namespace whose own entry is this one: code may choose to have fewer names."""
        if given is not None and type(given) is not dict:
            return given if type(given) is FewerBuiltins else self.guards.module
        module = FewerBuiltins("builtins")
        names = module.__dict__
        names.clear()
        names.update({k: v for k, v in (given or {}).items() if type(k) is str and k[:2] != "__"})
        names.update({k: v for k, v in self.guards.builtins.items() if k[:2] == "__"})
        return module
