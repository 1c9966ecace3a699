"""The C walk of guest/plain_walk.c, and its look at single expressions, beside the checker: it may decline what the checker accepts, never the
other way.
Run by test_plain.py in a process of its own, as the runner's library is loaded here. Usage: FOLDER GUEST.SO MUTANTS SEED < sources as JSON
"""

import ast
import ctypes
import json
import random
import sys

MODULES = tuple("math cmath json re datetime time calendar collections collections.abc itertools functools random statistics string decimal fractions typing dataclasses enum abc operator copy contextlib textwrap heapq bisect io".split())
# Names that the walk and the checker judge: put in place of others, so that most mutants are near an edge.
NAMES = ("type getattr setattr delattr __import__ __name__ __class__ __builtins__ __match_args__ __slots__ __prepare__ math json x self f A _ _x __x "
         "__agentjail_attr__ __debug__ __file__ __module__ __annotations__ agentjail os").split()
ATTRIBUTES = ("format format_map obj raw detach vformat __class__ __dict__ __globals__ __init__ __name__ __code__ __self__ __func__ __mro__ __bases__ "
              "__getattribute__ __setattr__ __subclasses__ __traceback__ __wrapped__ __doc__ __module__ _x _A__x _os _flavour _evaluate __x gi_frame "
              "f_back co_code co_name tb_frame append x __reduce__ __init_subclass__ __prepare__ __slots__").split()
# Texts that are put into a line at any place: an expression is accepted by its text.
PIECES = ("_", "__", " ", "\n", "\t", "\\", "\\x5f", "#", "# coding: utf-7\n", "+AF8-", ";", "=", ":=", "x:=", "0for x in y", "1if x else ", " lambda: ", " await ", "yield ",
          "f'{x}'", "f'{x.__class__}'", "\"", "'", "(", ")", ".", ".format", ".gi_frame", "type(x)", "getattr", "é", "ª", "\x00", "\r", "\f", "0x", "1e", "1_")
EXPRESSIONS = ("2+2", "x", "f(x, key=1)", "x.y[1:2]", "{'a': [1, 2], 'b': {3}}", "a == b != c <= d", "f'{x!r:>{y}}'", "'a' if b else 'c'", "0x1F + 1e5 + 1_000", "print('a')", "2+2\n")
NO_EXPRESSIONS = ("_x", "x.__class__", "f'{x.__class__}'", "'{0.a}'.format(x)", "type(x)", "getattr(x, 'y')", "(y := 1)", "lambda: 1", "[a for a in b]", "[0for x in y]",
                  "await f()", "x.gi_frame", "x # __class__", "x +AF8- 1 # coding: utf-7", "'\\x5f'", "1; 2", "é", "ª")


def main():
    folder, library, mutants, seed = sys.argv[1:]
    sys.path.insert(0, folder)
    load = ctypes.PyDLL(library).aj_plain_code_in_test
    load.restype = ctypes.c_char_p
    from agentjail.check import plain_code
    if (plain_code.CODE_FLAGS, plain_code.PARSE_FLAGS) != (ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST):
        sys.exit("plain_code.py: the flags are not those of _ast")
    from agentjail.check.allowed_imports import AllowedImports
    missing = load()
    if missing:
        sys.exit("the runner's library: %s is missing" % missing.decode())
    sources = json.load(sys.stdin)
    chance = random.Random(seed)
    judge = Judge(plain_code, AllowedImports(list(MODULES) + ["collections.*"]))
    accepted = sum(judge.accepts(source) for source in sources)
    pool = [tree for tree in map(parsed, sources) if tree is not None]
    for source in EXPRESSIONS + NO_EXPRESSIONS:
        before = judge.expressions
        judge.accepts(source)
        if (judge.expressions > before) != (source in EXPRESSIONS):
            judge.wrong.append(["not compiled as an expression" if source in EXPRESSIONS else "compiled as an expression", source])
    near = 0
    for _ in range(int(mutants)):
        near += judge.accepts(mutant(chance, pool))
        judge.accepts(line(chance, pool))
    print(json.dumps({"accepted": accepted, "sources": len(sources), "mutants": int(mutants), "mutants_accepted": near,
                      "expressions": judge.expressions, "wrong": judge.wrong[:20]}))


class Judge:
    def __init__(self, plain_code, imports):
        self.plain, self.imports, self.wrong = plain_code, imports, []
        from agentjail.check.checker import Checker
        from agentjail.runtime.compiler import keep_last_value
        self.Checker, self.keep_last_value = Checker, keep_last_value
        self.expressions = 0    # that were compiled without a tree
        self.before = plain_code.new_bindings()     # of snippets before
        self.before["import"].add("earlier")
        self.before["variable"].add("x")

    def accepts(self, source):
        bindings = {kind: set(names) for kind, names in self.before.items()}
        code = self.plain.compile_plain(source, "f", self.imports.exact, bindings)
        if code is None:
            if bindings != self.before:
                self.wrong.append(["declined, and names are bound", source])
            return False
        tree = ast.parse(source)
        dump = ast.dump(tree)
        checker = self.Checker(self.imports, 400, self.before)
        errors = checker.check_tree(tree)
        if errors:
            self.wrong.append(["the checker finds %s" % errors[0][1], source])
        elif ast.dump(tree) != dump:
            self.wrong.append(["the checker puts in a guard", source])
        elif checker.bindings != bindings:
            self.wrong.append(["other bindings", source])
        else:
            lone = len(tree.body) == 1 and type(tree.body[0]) is ast.Expr
            value = compile(ast.Expression(tree.body[0].value), "f", "eval", self.plain.CODE_FLAGS, True) if lone else None
            self.keep_last_value(tree)
            want = compile(tree, "f", "exec", self.plain.CODE_FLAGS, True)
            if lone and parts(value) == parts(code):
                self.expressions += 1
            elif parts(want) != parts(code):
                self.wrong.append(["other code", source])
        return True


def parts(code):
    return code.co_code, code.co_names, code.co_varnames, [parts(c) if hasattr(c, "co_code") else repr(c) for c in code.co_consts]


def parsed(source):
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def mutant(chance, pool):
    """A program of the pool with nodes of others in it, and names that are judged."""
    tree = ast.parse(ast.unparse(chance.choice(pool)))
    nodes = list(ast.walk(tree))
    other = list(ast.walk(chance.choice(pool)))
    for _ in range(chance.randint(1, 3)):
        node = chance.choice(nodes)
        if isinstance(node, ast.Name) and chance.random() < 0.6:
            node.id = chance.choice(NAMES)
        elif isinstance(node, ast.Attribute) and chance.random() < 0.8:
            node.attr = chance.choice(ATTRIBUTES)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and chance.random() < 0.5:
            node.name = chance.choice(NAMES + ATTRIBUTES)
        elif isinstance(node, ast.arg):
            node.arg = chance.choice(NAMES)
        elif isinstance(node, ast.alias):
            node.name = chance.choice(MODULES + ("os", "agentjail.check", "_ast", "a.b"))
        else:
            for field, value in ast.iter_fields(node):
                alike = [n for n in other if isinstance(value, ast.expr) and isinstance(n, ast.expr)]
                if alike and chance.random() < 0.5:
                    setattr(node, field, chance.choice(alike))
                elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    value.insert(chance.randrange(len(value) + 1), chance.choice([n for n in other if isinstance(n, ast.stmt)] or [ast.Pass()]))
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except Exception:   # a tree that no source has
        return "0"


def line(chance, pool):
    """An expression of a mutant, with a piece of text put into it."""
    tree = parsed(mutant(chance, pool))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)] if tree is not None else []
    try:
        text = ast.unparse(chance.choice(nodes))
    except Exception:   # no expression, or a tree that no source has
        return "0"
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(PIECES) + text[at:] if chance.random() < 0.6 else text


if __name__ == "__main__":
    main()
