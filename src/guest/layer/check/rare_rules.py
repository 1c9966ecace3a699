"""The rarer rules of the check, loaded for code with classes, patterns or a violation: rules that need the whole tree,
and the texts of violations. No rule here weakens one of checker.py: these rules only add violations.
"""

import _ast

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.check.guard_calls import LOAD, Store, copy_location, guard_call, guard_name
from agentjail.check.import_advice import import_hint
from agentjail.check.name_rules import GUARDED, OWN_ONLY, PRIVATE_DENIED, forbidden_by

Name, Attribute, Call, Constant, MatchClass, MatchAs = (_ast.Name, _ast.Attribute, _ast.Call, _ast.Constant, _ast.MatchClass,
                                                        _ast.MatchAs)

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
    if type(node) is MatchClass:
        check_class_pattern(checker, node)
    todo = list(getattr(node, "keys", None) or [getattr(node, "value", None) or getattr(node, "cls", None)])
    while todo:
        part = todo.pop()
        if type(part) is Call:  # a guard that the walk inserted: report the attribute before the compiler rejects the call
            refuse_pattern_attribute(checker, part, part.args[-1].value)
        elif type(part) is Attribute:
            if part.attr in GUARDED or part.attr in OWN_ONLY:
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


def guard_patterns(checker, match):
    """Let no pattern of this statement read attributes that the check has not seen. `case int(x)` becomes `case int() as x`. `case C(a, b)`
    takes its class from a name of the layer, which the subject binds: `match (name := guard(C), subject)[-1]`."""
    parts, todo = [], [(case, "pattern", case.pattern) for case in match.cases]
    while todo:
        parent, at, pattern = todo.pop()
        if type(pattern) is MatchClass and pattern.patterns:
            if is_capture(pattern) and not checker.is_bound(pattern.cls.id):
                replace_pattern(parent, at, copy_location(MatchAs(pattern, pattern.patterns[0].name), pattern))
                pattern.patterns = []
            elif checker.own_namespace and not match.__dict__.get("in_class"):
                name, cls = "__agentjail_class%d__" % checker.matches, pattern.cls
                checker.matches += 1
                value = guard_call("__agentjail_class__", cls, [cls])
                parts.append(copy_location(_ast.NamedExpr(guard_name(name, cls, Store()), value), cls))
                pattern.cls = guard_name(name, cls)
            else:
                checker.add_error(pattern, "PY-MATCHCLASS", "Positional patterns of classes are not allowed in %s" % (
                    "the body of a class" if checker.own_namespace else "text for exec()"),
                    "Write the pattern with names: Point(x=a, y=b).")
        for field in ("patterns", "kwd_patterns"):
            group = getattr(pattern, field, None) or ()
            todo.extend([(group, i, inner) for i, inner in enumerate(group)])
        if getattr(pattern, "pattern", None) is not None:
            todo.append((pattern, "pattern", pattern.pattern))
    if parts:
        subject = match.subject
        both = copy_location(_ast.Tuple(parts + [subject], LOAD), subject)
        match.subject = copy_location(_ast.Subscript(both, copy_location(Constant(-1), subject), LOAD), subject)


def is_capture(pattern):
    """Is this `int(x)`? The built-in types of SELF_MATCHING match themselves."""
    inner = pattern.patterns[0]
    return (type(pattern.cls) is Name and pattern.cls.id in SELF_MATCHING and len(pattern.patterns) == 1 and not pattern.kwd_attrs
            and type(inner) is MatchAs and inner.pattern is None and inner.name is not None)


def replace_pattern(parent, at, new):
    if type(parent) is list:
        parent[at] = new
    else:
        setattr(parent, at, new)


def check_bindings(checker):
    """The rules that need all bindings: private names of modules and of classes that are bound further down."""
    for name, node in checker.mangled:
        if name[1:].partition("__")[0] not in checker.bindings["class"]:
            refuse_attribute(checker, node, name, "PY-MANGLED")
    for name, attr, node in checker.of_names:
        if not checker.is_bound(name):  # a built-in function's
            refuse_attribute(checker, node, attr, "PY-DUNDER")
    for name, attr, node in checker.private_reads:
        if name in checker.bindings["import"] and attr not in READABLE_OF_MODULES and not checker.is_bound(name, but="import"):
            checker.add_error(node, "PY-PRIVATE", "`%s.%s` is private and not allowed" % (name, attr),
                              "Use the public names of %s." % name)
