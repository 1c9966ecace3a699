"""The rarer rules of the check, loaded for code with classes, patterns or a violation: rules that need the whole tree,
and the texts of violations. No rule here weakens one of check.py: these rules only add violations.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see bootstrap/__init__.py)
from agentjail.rail.import_advice import import_hint
from agentjail.rail.name_rules import GUARDED, PRIVATE_DENIED, forbidden_by

Name, Attribute, Call = _ast.Name, _ast.Attribute, _ast.Call

# Positional class patterns read the attributes that __match_args__ names. These types match themselves.
SELF_MATCHING = frozenset("bool bytearray bytes dict float frozenset int list set str tuple".split())
READABLE_OF_MODULES = ("__version__", "__name__", "__doc__", "__file__", "__stdout__", "__stderr__", "__stdin__")

# Rule or attribute -> hint; that of the attribute goes first.
HINTS = {
    "PY-DUNDER": "Use the built-in function or operator for it (len(x), type(x), x[key], super().__init__()).",
    "PY-FRAME": "Frames, tracebacks and code objects are not available; handle the exception itself.",
    "PY-PRIVATE": "Use a public name.",
    "PY-MANGLED": "Use the public attributes of the object.",
    "__dict__": "Name the attributes you need, or keep the data in a dict of your own.",
    "__traceback__": "The traceback is part of the result; use str(e) or repr(e) here.",
    "__bases__": "Use isinstance() or issubclass().",
    "__mro__": "Use isinstance() or issubclass().",
    "__subclasses__": "Keep a list of your classes, for example in __init_subclass__.",
    "__globals__": "Use the names themselves.",
}


# --- texts of violations ---

def refuse_import(checker, node, name):
    shown = name if type(name) is str else "?"
    # The report adds the list of allowed modules, once.
    checker.add_import_error(node, "PY-IMPORT", "Import of %s is not allowed" % shown, import_hint(checker.imports, shown),
                             allowed=list(checker.imports.patterns))


def refuse_attribute(checker, node, name, rule, store=False):
    hint = HINTS.get(name) or HINTS[rule]
    if rule == "PY-PRIVATE":
        message = "The attribute `%s` is not allowed (%s)" % (name, PRIVATE_DENIED[name])
    else:
        message = "%s the attribute `%s` is not allowed" % ("Setting" if store else "Reading", name)
    checker.add_error(node, rule, message, hint)


# --- patterns and classes ---

def check_pattern(checker, node):
    """A pattern compares `a.obj` with the subject in native code, where no guard can stand."""
    if type(node) is _ast.MatchClass:
        check_class_pattern(checker, node)
    todo = list(getattr(node, "keys", None) or [getattr(node, "value", None) or getattr(node, "cls", None)])
    while todo:
        part = todo.pop()
        if type(part) is Call:  # a guard that the walk inserted: report the attribute before the compiler rejects the call
            refuse_pattern_attribute(checker, part, part.args[-1].value)
        elif type(part) is Attribute:
            if part.attr in GUARDED:
                refuse_pattern_attribute(checker, part, part.attr)
            todo.append(part.value)


def refuse_pattern_attribute(checker, node, name):
    checker.add_error(node, "PY-MATCHCLASS", "A pattern may not read `%s`" % name,
                      "Assign the value to a name and compare with `if`.")


def check_class_pattern(checker, node):
    for name in node.kwd_attrs:
        rule = forbidden_by(name)
        if rule is not None:
            refuse_attribute(checker, node, name, rule)
        elif name in GUARDED or name[:2] == "__":
            checker.add_error(node, "PY-MATCHCLASS", "A class pattern may not read `%s`" % name,
                              "Match the class alone and read the value in the body.")
        elif name[:1] == "_" and type(node.cls) is Name:
            checker.private_reads.append((node.cls.id, name, node))
    if node.patterns:
        checker.class_patterns.append(node)


def is_plain_class(checker, node):
    """Does the class statement make a class whose __match_args__ no code at run time can choose?"""
    if any(k.arg == "metaclass" or k.arg is None for k in node.keywords):
        return False
    for base in node.bases:
        if type(base) is _ast.Subscript:
            base = base.value
        if type(base) is Attribute:
            if type(base.value) is not Name or not is_imported(checker, base.value.id):
                return False
        elif type(base) is not Name or base.id == "type" or not (
                is_imported(checker, base.id) or base.id not in checker.bound or checker.classes.get(base.id)):
            return False
    for d in node.decorator_list:
        d = d.func if type(d) is Call else d
        d = d.value if type(d) is Attribute else d
        if type(d) is not Name or not is_imported(checker, d.id):
            return False  # a decorator of the agent may return another class
    return True


def is_imported(checker, name):
    return name in checker.modules and checker.bound[name] <= {"import", "from"}


def check_bindings(checker):
    """The rules that need all bindings: patterns of rebound classes, private names of modules that are bound further down."""
    for node in sorted(checker.class_nodes, key=lambda n: n.lineno):
        checker.classes[node.name] = is_plain_class(checker, node) and checker.classes.get(node.name) is not False
    for node in checker.class_patterns:
        cls = node.cls
        name = cls.id if type(cls) is Name else None
        kinds = checker.bound.get(name, ())
        if name in SELF_MATCHING and not kinds and name not in checker.classes:
            continue
        if name is not None and checker.classes.get(name) and not (set(kinds) - {"class"}):
            continue
        checker.add_error(node, "PY-MATCHCLASS", "Positional patterns are allowed only for built-in types and for classes "
                          "that a class statement of this code defines", "Write the pattern with names: Point(x=a, y=b).")
    for name, attr, node in checker.private_reads:
        if name in checker.modules and attr not in READABLE_OF_MODULES and (
                checker.bound.get(name, {"import"}) <= {"import"}):
            checker.add_error(node, "PY-PRIVATE", "`%s.%s` is private and not allowed" % (name, attr),
                              "Use the public names of %s." % name)
