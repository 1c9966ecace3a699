"""The rules for agent source: one walk over the syntax tree, every violation with its line and column.
It refuses to run anything, and to decide what only run time can know (see guards.py for that).

The tree that was walked here is the tree that is compiled: guards are put in by changing it in place, the
source text is never read a second time. The walk keeps its own stack, so deep trees cannot exhaust ours.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.rail.name_rules import DEFINABLE, GUARDED, READABLE_NAMES, refused

ATTR_GUARD = "__agentjail_attr__"    # both ends underscored: never mangled in a class body, never bindable
TYPE_GUARD = "__agentjail_type__"
VALUE_NAME = "__agentjail_value__"   # receives the last expression statement
MAX_ERRORS = 20
MAX_NODES = 400000                   # a tree of 400000 nodes is some 150 MB; the source cap allows more

ATTR_FUNCTIONS = frozenset(("getattr", "setattr", "delattr"))

Name, Attribute, Call, Constant = _ast.Name, _ast.Attribute, _ast.Call, _ast.Constant
Load = _ast.Load
LOAD = Load()
# Nodes without children and without rules: most of a tree, so the walk skips them first.
LEAVES = frozenset((_ast.Load, _ast.Store, _ast.Del, _ast.Pass, _ast.Break, _ast.Continue, _ast.And, _ast.Or,
                    _ast.Add, _ast.Sub, _ast.Mult, _ast.Div, _ast.Mod, _ast.Eq, _ast.Lt, _ast.Gt, _ast.NotEq))


class Checker:
    """State of one check: what the policy allows, what the snippet binds, what was wrong."""

    def __init__(self, allowed, max_depth, before=None):
        """before: the checker of the snippet that ran before in the same namespace, or None."""
        self.allowed = allowed          # guards.Allowed
        self.max_depth = max_depth
        self.errors = []
        self.modules = set()            # names bound by an import
        self.bound = {}                 # name -> frozenset of kinds, over all scopes (a coarse but safe view)
        self.classes = {}               # name -> are positional patterns of it safe?
        self.class_nodes = []
        if before is not None:
            self.modules |= before.modules
            self.bound = dict(before.bound)
            self.classes.update(before.classes)
        self.patterns = []              # class patterns, judged when all bindings are known
        self.privates = []              # (module name, attribute, node), judged then too

    def fail(self, node, rule, message, hint=None, **extra):
        line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_col = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if type(node) is Attribute:  # point at the name, not at the start of a.b.c
            at = end_col - len(node.attr.encode("utf-8", "replace"))
            line, col = end_line, at if line != end_line or at > col else col
        self.errors.append((rule, message, hint, line, col, end_line, end_col, extra))

    def run(self, tree):
        """Check the tree and put the guards in. The errors are in self.errors, by position."""
        rules, max_depth, seen = RULES, self.max_depth, 0
        stack = [(tree, 0)]
        pop, push = stack.pop, stack.append
        while stack:
            node, depth = pop()
            seen += 1
            if depth > max_depth or seen > MAX_NODES:
                what = "nested too deeply" if depth > max_depth else "too large"
                self.fail(node, "PY-SIZE", "The code is %s (limit %d)" % (
                    what, max_depth if depth > max_depth else MAX_NODES), "Split it into smaller statements.")
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
                            child[i] = item = guarded(item)
                        elif kind is str or item is None or kind in LEAVES:
                            continue
                        push((item, depth))
                elif kind not in PLAIN and kind not in LEAVES:
                    if kind is Attribute or kind is Call:
                        new = guarded(child)
                        if new is not child:
                            setattr(node, field, new)
                            child = new
                    push((child, depth))
        if self.class_nodes or self.patterns or self.privates:
            from agentjail.rail import check_late
            check_late.late(self)
        self.errors.sort(key=lambda e: (e[3], e[4]))
        return self.errors[:MAX_ERRORS]

    # --- bindings ---

    def bind(self, node, name, kind):
        if name is None:
            return
        kinds = self.bound.get(name)
        if kinds is None:
            self.bound[name] = frozenset((kind,))
        elif kind not in kinds:
            self.bound[name] = kinds | {kind}
        if name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
            if kind not in ("variable", "function") or name not in DEFINABLE:
                self.fail(node, "PY-NAME", "The name `%s` is reserved" % name, "Use another name.")

    def name(self, node):
        name, ctx = node.id, type(node.ctx)
        if ctx is Load:
            if name[:2] == "__" and name[-2:] == "__" and len(name) > 4 and (
                    name not in READABLE_NAMES and name not in DEFINABLE):
                if name not in (ATTR_GUARD, TYPE_GUARD) or node.__dict__.get("ours") is not True:
                    self.fail(node, "PY-NAME", "The name `%s` is not available" % name,
                              "Write the code without it.")
        elif name != "__match_args__":
            self.bind(node, name, "variable")

    def arg(self, node):
        self.bind(node, node.arg, "argument")

    def function(self, node):
        self.bind(node, node.name, "function")

    def handler(self, node):
        self.bind(node, node.name, "except")

    def scope(self, node):
        for name in node.names:
            self.bind(node, name, "global")

    def match_name(self, node):
        self.bind(node, node.name, "match")

    def match_mapping(self, node):
        self.pattern(node)
        self.bind(node, node.rest, "match")

    def type_param(self, node):
        self.bind(node, node.name, "type parameter")

    # --- imports ---

    def import_(self, node):
        for alias in node.names:
            if not self.allowed.module(alias.name):
                self.refuse_import(alias, alias.name)
            name = alias.asname or alias.name.partition(".")[0]
            self.modules.add(name)
            self.bind(alias, name, "import")

    def import_from(self, node):
        module = node.module or ""
        if node.level:
            self.fail(node, "PY-RELIMPORT", "Relative imports are not allowed: a snippet is in no package",
                      "Use the full module name.")
            return
        if module == "__future__":
            for alias in node.names:
                self.bind(alias, alias.asname or alias.name, "import")
            return
        known = self.allowed.module(module) or self.allowed.parent(module)
        if not known:
            self.refuse_import(node, module)
        for alias in node.names:
            name = alias.name
            if name[:1] == "_" and known and name not in ("__version__", "__doc__", "__name__"):
                self.fail(alias, "PY-PRIVATE", "`%s.%s` is private and not allowed" % (module, name),
                          "Use the public names of %s." % module)
            elif known and not self.allowed.module(module) and not self.allowed.reaches(module + "." + name):
                self.refuse_import(alias, module + "." + name)
            if name != "*":
                self.bind(alias, alias.asname or name, "from")
                self.modules.add(alias.asname or name)

    # --- expressions ---

    def attribute(self, node):
        name = node.attr
        store = type(node.ctx) is not Load
        rule = refused(name, store)
        if rule is not None:
            self.refuse_attribute(node, name, rule, store)
        elif name[:1] == "_" and type(node.value) is Name:
            self.privates.append((node.value.id, name, node))

    def call(self, node):
        func, args = node.func, node.args
        if type(func) is Name:
            name = func.id
            if name in ATTR_FUNCTIONS and len(args) > 1 and type(args[1]) is Constant and type(args[1].value) is str:
                rule = refused(args[1].value, name != "getattr")
                if rule is not None and len(args) + (name == "setattr") < 4:
                    self.refuse_attribute(args[1], args[1].value, rule, name != "getattr")
            elif name == "__import__" and args and type(args[0]) is Constant:
                value = args[0].value
                if type(value) is str and not self.allowed.module(value):
                    self.refuse_import(args[0], value)
            elif name == ATTR_GUARD and args[1].value in ("format", "format_map") and type(args[0]) is Constant:
                template = args[0].value
                if type(template) is str and "{" in template:
                    from agentjail.rail.format_guards import bad_field
                    field = bad_field(template)
                    if field is not None:
                        self.fail(node, "PY-FORMAT", "The format field `%s` reads an attribute that is not allowed"
                                  % field, "Use an f-string with the value itself.")

    def assign(self, node):
        for target in node.targets:
            if type(target) is Name and target.id == "__match_args__":
                value = node.value
                if type(value) is not _ast.Tuple or not all(
                        type(e) is Constant and type(e.value) is str and e.value.isidentifier()
                        and refused(e.value) is None and e.value[:2] != "__" and e.value not in GUARDED
                        for e in value.elts):
                    self.fail(node, "PY-MATCHCLASS", "`__match_args__` must be a literal tuple of plain names",
                              "Write it as (\"x\", \"y\").")
            elif type(target) in (_ast.Tuple, _ast.List, _ast.Starred):
                self.no_match_args(target)

    def no_match_args(self, node):
        # In any place but a plain assignment its value would not be known here.
        todo = [node]
        while todo:
            node = todo.pop()
            if type(node) is Name and node.id == "__match_args__":
                self.fail(node, "PY-MATCHCLASS", "`__match_args__` must be a literal tuple of plain names",
                          "Write it as __match_args__ = (\"x\", \"y\").")
            todo.extend(getattr(node, "elts", ()))
            if type(node) is _ast.Starred:
                todo.append(node.value)

    def other_target(self, node):
        self.no_match_args(getattr(node, "target", None) or getattr(node, "optional_vars", None))

    # --- classes and patterns ---

    def class_(self, node):
        self.bind(node, node.name, "class")
        self.class_nodes.append(node)  # judged when all bindings are known

    def pattern(self, node):
        from agentjail.rail import check_late
        check_late.pattern(self, node)

    def refuse_import(self, node, name):
        from agentjail.rail import check_late
        check_late.refuse_import(self, node, name)

    def refuse_attribute(self, node, name, rule, store=False):
        from agentjail.rail import check_late
        check_late.refuse_attribute(self, node, name, rule, store)

    def aug_assign(self, node):
        target = node.target
        if type(target) is Attribute and target.attr in GUARDED:
            # The load half of `x.format += y` is native code: no guard would see what y receives.
            self.fail(target, "PY-FORMAT", "`%s` cannot be the target of an augmented assignment" % target.attr,
                      "Assign with `=`.")


# Fields of these types hold no tree: numbers, text, None of a Constant.
PLAIN = frozenset((str, int, float, complex, bytes, bool, type(None), type(...)))

RULES = {
    Name: Checker.name, Attribute: Checker.attribute, Call: Checker.call, _ast.arg: Checker.arg,
    _ast.Import: Checker.import_, _ast.ImportFrom: Checker.import_from,
    _ast.FunctionDef: Checker.function, _ast.AsyncFunctionDef: Checker.function, _ast.ClassDef: Checker.class_,
    _ast.ExceptHandler: Checker.handler, _ast.Global: Checker.scope, _ast.Nonlocal: Checker.scope,
    _ast.Assign: Checker.assign, _ast.AugAssign: Checker.aug_assign, _ast.AnnAssign: Checker.other_target,
    _ast.For: Checker.other_target, _ast.AsyncFor: Checker.other_target, _ast.comprehension: Checker.other_target,
    _ast.NamedExpr: Checker.other_target, _ast.withitem: Checker.other_target,
    _ast.MatchAs: Checker.match_name, _ast.MatchStar: Checker.match_name, _ast.MatchMapping: Checker.match_mapping,
    _ast.MatchClass: Checker.pattern, _ast.MatchValue: Checker.pattern,
}
for _kind in ("TypeVar", "ParamSpec", "TypeVarTuple"):  # 3.12
    if hasattr(_ast, _kind):
        RULES[getattr(_ast, _kind)] = Checker.type_param


def guarded(node):
    """The node, or the guard call that takes its place; the walk then visits the new node."""
    if type(node) is Attribute:
        if node.attr not in GUARDED or type(node.ctx) is not Load or refused(node.attr):
            return node
        args = [node.value, at(Constant(node.attr), node)]
        name = ATTR_GUARD
    else:
        func = node.func
        if type(func) is not Name or func.id != "type" or (len(node.args) < 2 and not node.keywords):
            return node
        return at(Call(our_name(TYPE_GUARD, node), node.args, node.keywords), node)
    return at(Call(our_name(name, node), args, []), node)


def our_name(name, node):
    new = at(Name(name, LOAD), node)
    new.ours = True  # an agent cannot write a node, only text
    return new


def at(new, node):
    new.lineno, new.col_offset = node.lineno, node.col_offset
    new.end_lineno, new.end_col_offset = node.end_lineno, node.end_col_offset
    return new
