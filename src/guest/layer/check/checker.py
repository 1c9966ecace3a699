"""The rules for agent source: one walk over the syntax tree, every violation with its line and column.
The check runs no agent code, and leaves to the guards of rail/ the questions that only run time can answer.

The tree that is walked here is the tree that is compiled: the walk inserts guards by changing it in place, and the
source text is never read a second time. The walk keeps a stack of its own, so deep trees cannot exhaust the interpreter's.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.guard_calls import ATTR_GUARD, SET_GUARD, insert_guard
from agentjail.check.name_rules import (DEFINABLE, GUARDED, OWN_ONLY, OWN_SETTABLE, READABLE_VARIABLES, forbidden_by, forbidden_field,
                                        is_mangled, is_own_only)
from agentjail.check.plain_code import new_bindings

MAX_ERRORS = 20
MAX_NODES = 400000                   # a tree of 400000 nodes is some 150 MB; the source cap allows more

ATTR_FUNCTIONS = frozenset(("getattr", "setattr", "delattr"))

Name, Attribute, Call, Constant = _ast.Name, _ast.Attribute, _ast.Call, _ast.Constant
Load = _ast.Load
# Nodes without children and without rules: they are most of a tree, so the walk skips them first.
LEAF_NODES = frozenset((_ast.Load, _ast.Store, _ast.Del, _ast.Pass, _ast.Break, _ast.Continue, _ast.And, _ast.Or,
                    _ast.Add, _ast.Sub, _ast.Mult, _ast.Div, _ast.Mod, _ast.Eq, _ast.Lt, _ast.Gt, _ast.NotEq))


class Checker:
    """State of one check: the allowed imports, the names that the snippet binds, the violations."""

    def __init__(self, imports, max_depth, bindings=None, own_namespace=True):
        """bindings: those of the snippets before in the same namespace, see plain_code.py, or None. own_namespace: no code
        chooses the dicts in which the names of this code are looked up."""
        self.own_namespace = own_namespace
        self.imports = imports          # AllowedImports
        self.max_depth = max_depth
        self.errors = []                # (rule, message, hint, line, column, end line, end column, further keys)
        self.import_errors = []         # (node, error): an error unless the code copes with it, see handled_imports.py
        self.bindings = new_bindings() if bindings is None else {kind: set(names) for kind, names in bindings.items()}
        self.private_reads = []         # (module name, attribute, node), for rare_rules when all bindings are known
        self.mangled = []               # (attribute, node), for the same
        self.of_names = []              # (name, attribute, node), for the same
        self.matches = 0                # the number of names that guard_patterns() made

    def add_error(self, node, rule, message, hint=None, **extra):
        self.errors.append(self.error_at(node, rule, message, hint, extra))

    def add_import_error(self, node, rule, message, hint=None, **extra):
        self.import_errors.append((node, self.error_at(node, rule, message, hint, extra)))

    def error_at(self, node, rule, message, hint, extra):
        line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_col = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if type(node) is Attribute:  # point at the name, not at the start of a.b.c
            at = end_col - len(node.attr.encode("utf-8", "replace"))
            line, col = end_line, at if line != end_line or at > col else col
        return rule, message, hint, line, col, end_line, end_col, extra

    def check_tree(self, tree):
        """Check the tree and insert the guards. Returns the first errors, by position."""
        rules, max_depth, seen = RULES, self.max_depth, 0
        stack = [(tree, 0)]
        pop, push = stack.pop, stack.append
        while stack:
            node, depth = pop()
            seen += 1
            if depth > max_depth or seen > MAX_NODES:
                self.add_error(node, "PY-SIZE", "The code is %s (limit %d)" % (
                    ("nested too deeply", max_depth) if depth > max_depth else ("too large", MAX_NODES)),
                    "Split it into smaller statements.")
                break
            rule = rules.get(type(node))
            if rule is not None:
                rule(self, node)
            depth += 1
            for field in node._fields:
                child = getattr(node, field, None)
                if child is None:
                    continue
                kind = type(child)
                if kind is list:
                    for i, item in enumerate(child):
                        kind = type(item)
                        if kind is Attribute or kind is Call:
                            child[i] = item = insert_guard(item)
                        elif kind is str or item is None or kind in LEAF_NODES:
                            continue
                        push((item, depth))
                elif kind not in PLAIN_TYPES and kind not in LEAF_NODES:
                    if kind is Attribute or kind is Call:
                        new = insert_guard(child)
                        if new is not child:
                            setattr(node, field, new)
                            child = new
                    push((child, depth))
        if self.private_reads or self.mangled or self.of_names:
            from agentjail.check import rare_rules
            rare_rules.check_bindings(self)
        if self.import_errors:
            from agentjail.check import handled_imports
            handled_imports.settle(self, tree)
        self.errors.sort(key=lambda e: (e[3], e[4]))
        return self.errors[:MAX_ERRORS]

    # --- bindings ---

    def is_bound(self, name, but=None):
        """Is the name bound, in another way than `but`?"""
        return any([name in names for kind, names in self.bindings.items() if kind != but])

    def bind(self, node, name, kind):
        if name is None:
            return
        self.bindings[kind].add(name)
        if name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
            if (kind not in ("variable", "function") or name not in DEFINABLE) and (kind, name) != ("import", "__main__"):
                self.add_error(node, "PY-NAME", "The name `%s` is reserved" % name, "Use another name." if name != "__prepare__" else
                               "Leave it out: the names of a class body are a dict, in the order of their definition.")

    def visit_name(self, node):
        name, ctx = node.id, type(node.ctx)
        if ctx is Load:
            if name[:2] == "__" and name[-2:] == "__" and len(name) > 4 and (
                    name not in READABLE_VARIABLES and name not in DEFINABLE):
                if node.__dict__.get("is_guard") is not True:
                    self.add_error(node, "PY-NAME", "The name `%s` is not available" % name,
                                   "Write the code without it.")
        elif name != "__match_args__" and node.__dict__.get("is_guard") is not True:
            self.bind(node, name, "variable")

    def visit_arg(self, node):
        self.bind(node, node.arg, "argument")

    def visit_function(self, node):
        self.bind(node, node.name, "function")

    def visit_handler(self, node):
        self.bind(node, node.name, "except")

    def visit_scope(self, node):
        for name in node.names:
            self.bind(node, name, "global")

    def visit_match_name(self, node):
        self.bind(node, node.name, "match")

    def visit_match_mapping(self, node):
        self.visit_pattern(node)
        self.bind(node, node.rest, "match")

    def visit_type_param(self, node):
        self.bind(node, node.name, "type parameter")

    # --- imports ---

    def visit_import(self, node):
        for alias in node.names:
            if not self.imports.allows(alias.name):
                self.refuse_import(alias, alias.name)
            self.bind(alias, alias.asname or alias.name.partition(".")[0], "import")

    def visit_import_from(self, node):
        module = node.module or ""
        if node.level:
            self.add_import_error(node, "PY-RELIMPORT", "Relative imports are not allowed: a snippet is in no package",
                                  "Use the full module name.")
            return
        if module == "__future__":
            for alias in node.names:
                self.bind(alias, alias.asname or alias.name, "import")
            return
        known = self.imports.allows(module) or self.imports.allows_below(module)
        if not known:
            self.refuse_import(node, module)
        for alias in node.names:
            name = alias.name
            if name[:1] == "_" and known and name not in ("__version__", "__doc__", "__name__"):
                self.add_import_error(alias, "PY-PRIVATE", "`%s.%s` is private and not allowed" % (module, name),
                                      "Use the public names of %s." % module)
            elif known and not self.imports.allows(module) and not self.imports.allows(module + "." + name):
                self.refuse_import(alias, module + "." + name)
            if name != "*":
                self.bind(alias, alias.asname or name, "from")

    # --- expressions ---

    def visit_attribute(self, node):
        name = node.attr
        store = type(node.ctx) is not Load
        rule = forbidden_by(name, store)
        if rule is not None:
            self.refuse_attribute(node, name, rule, store)
            below = node.value
            if type(below) is Attribute and below.attr in OWN_ONLY:  # read for this attribute
                self.refuse_attribute(below, below.attr, forbidden_by(below.attr))
        elif name[:1] == "_" and type(node.value) is Name:
            self.private_reads.append((node.value.id, name, node))

    def visit_call(self, node):
        func, args = node.func, node.args
        if type(func) is Name:
            name = func.id
            if name in ATTR_FUNCTIONS and len(args) > 1 and type(args[1]) is Constant and type(args[1].value) is str:
                value = args[1].value
                rule = forbidden_by(value, name != "getattr")
                if rule is not None and not is_own_only(value) and value not in OWN_SETTABLE and len(args) + (name == "setattr") < 4:
                    self.refuse_attribute(args[1], value, rule, name != "getattr")
            elif name == "__import__" and args and type(args[0]) is Constant:
                value = args[0].value
                if type(value) is str and not self.imports.allows(value):
                    self.refuse_import(args[0], value)
            elif (name == ATTR_GUARD or name == SET_GUARD) and is_mangled(args[1].value):
                self.mangled.append((args[1].value, args[1]))
            elif name == ATTR_GUARD and args[1].value == "__self__" and type(args[0]) is Name:
                self.of_names.append((args[0].id, "__self__", args[1]))
            elif name == ATTR_GUARD and args[1].value in ("format", "format_map") and type(args[0]) is Constant:
                template = args[0].value
                if type(template) is str and "{" in template:
                    field = forbidden_field(template)
                    if field is not None:
                        self.add_error(node, "PY-FORMAT", "The format field `%s` reads an attribute that is not allowed"
                                       % field, "Use an f-string with the value itself.")

    def visit_assign(self, node):
        for target in node.targets:
            if type(target) is Name and target.id == "__match_args__":
                value = node.value
                if type(value) is not _ast.Tuple or not all(
                        type(e) is Constant and type(e.value) is str and e.value.isidentifier()
                        and forbidden_by(e.value) is None and e.value[:2] != "__" and e.value not in GUARDED
                        for e in value.elts):
                    self.add_error(node, "PY-MATCHCLASS", "`__match_args__` must be a literal tuple of plain names",
                                   "Write it as (\"x\", \"y\").")
            elif type(target) in (_ast.Tuple, _ast.List, _ast.Starred):
                self.forbid_match_args(target)

    def forbid_match_args(self, node):
        # The check knows the value of __match_args__ in a plain assignment alone.
        todo = [node]
        while todo:
            node = todo.pop()
            if type(node) is Name and node.id == "__match_args__":
                self.add_error(node, "PY-MATCHCLASS", "`__match_args__` must be a literal tuple of plain names",
                               "Write it as __match_args__ = (\"x\", \"y\").")
            todo.extend(getattr(node, "elts", ()))
            if type(node) is _ast.Starred:
                todo.append(node.value)

    def visit_other_target(self, node):
        self.forbid_match_args(getattr(node, "target", None) or getattr(node, "optional_vars", None))

    def visit_aug_assign(self, node):
        target = node.target
        if type(target) is Attribute and is_own_only(target.attr, True):
            self.refuse_attribute(target, target.attr, forbidden_by(target.attr, True), True)
        elif type(target) is Attribute and target.attr in GUARDED:
            # The load half of `x.format += y` is native code: no guard would see the value that y's __radd__ receives.
            self.add_error(target, "PY-FORMAT", "`%s` cannot be the target of an augmented assignment" % target.attr,
                           "Assign with `=`.")

    # --- classes and patterns ---

    def visit_class(self, node):
        self.bind(node, node.name, "class")
        todo = list(node.body)
        while todo:  # the match statements that the class body itself runs
            part = todo.pop()
            if type(part) is _ast.Match:
                part.in_class = True
            if isinstance(part, BLOCKS):
                for field in part._fields:
                    child = getattr(part, field)
                    todo.extend(child if type(child) is list else ())

    def visit_match(self, node):
        from agentjail.check import rare_rules
        rare_rules.guard_patterns(self, node)

    def visit_pattern(self, node):
        from agentjail.check import rare_rules
        rare_rules.check_pattern(self, node)

    # --- violations, with the texts of rare_rules.py ---

    def refuse_import(self, node, name):
        from agentjail.check import rare_rules
        rare_rules.refuse_import(self, node, name)

    def refuse_attribute(self, node, name, rule, store=False):
        from agentjail.check import rare_rules
        rare_rules.refuse_attribute(self, node, name, rule, store)


# The statements that hold statements, and scopes of their own no names: their blocks.
BLOCKS = (_ast.If, _ast.For, _ast.AsyncFor, _ast.While, _ast.With, _ast.AsyncWith, _ast.Try, _ast.TryStar, _ast.ExceptHandler, _ast.Match,
          _ast.match_case)
# Fields of these types hold no tree: numbers, text, the None of a Constant.
PLAIN_TYPES = frozenset((str, int, float, complex, bytes, bool, type(None), type(...)))

RULES = {
    Name: Checker.visit_name, Attribute: Checker.visit_attribute, Call: Checker.visit_call, _ast.arg: Checker.visit_arg,
    _ast.Import: Checker.visit_import, _ast.ImportFrom: Checker.visit_import_from,
    _ast.FunctionDef: Checker.visit_function, _ast.AsyncFunctionDef: Checker.visit_function,
    _ast.ClassDef: Checker.visit_class, _ast.ExceptHandler: Checker.visit_handler,
    _ast.Global: Checker.visit_scope, _ast.Nonlocal: Checker.visit_scope,
    _ast.Assign: Checker.visit_assign, _ast.AugAssign: Checker.visit_aug_assign,
    _ast.AnnAssign: Checker.visit_other_target, _ast.NamedExpr: Checker.visit_other_target,
    _ast.For: Checker.visit_other_target, _ast.AsyncFor: Checker.visit_other_target,
    _ast.comprehension: Checker.visit_other_target, _ast.withitem: Checker.visit_other_target,
    _ast.Match: Checker.visit_match, _ast.MatchAs: Checker.visit_match_name, _ast.MatchStar: Checker.visit_match_name,
    _ast.MatchMapping: Checker.visit_match_mapping, _ast.MatchClass: Checker.visit_pattern, _ast.MatchValue: Checker.visit_pattern,
}
for _kind in ("TypeVar", "ParamSpec", "TypeVarTuple"):  # 3.12
    if hasattr(_ast, _kind):
        RULES[getattr(_ast, _kind)] = Checker.visit_type_param
