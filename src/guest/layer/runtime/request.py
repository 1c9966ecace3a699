"""The form of a request, its keys as tables, and their checks. A session's policy comes with its first request or ahead of it.
An unknown key is an error: a misspelt limit must not be ignored.

A request is a head of fixed length, the file name, the code, and a JSON object of all other keys, or nothing. The head, in
little-endian order: flags (4 bytes, FLAGS below), soft_ms (8), bytes of the file name (4), bytes of the code (4).
"""

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.values.json_reader import read_json

# snippet-keys begin: written by `make docs` from policy/plan/snippet.h
# The keys of a snippet: type, default.
SNIPPET_KEYS = {
    # the snippet
    "code": (str, None),
    # the snippet's name in errors
    "filename": (str, None),
    # variables to set before the snippet runs: name to value
    "inputs": (dict, {}),
    # the standard input of this run, which `sys.stdin` and `input()` read
    "stdin": (str, None),
    # when the snippet is interrupted
    "soft_ms": (int, 0),
    # for `random` and numpy's older random functions
    "seed": (int, None),
    # `expression` (the default): the result has a value where the last statement is an expression; `statement`: also where it is an assignment
    "value_of": (str, "expression"),
    # whether a value that cannot cross stays inside and its name crosses, as a handle
    "handles": (bool, False),
    # `list`: the result names the files of /output that the run has made or changed; `data`: with their bytes
    "output": (bool, False),
    # `files`, as files.py reads them
    "put": (dict, {}),
    # functions that the host runs, see tools.py
    "tools": (list, ()),
    # in place of code: the variable to read
    "get": (str, None),
    # in place of code: whether to list the variables
    "vars": (bool, False),
    # as in Python's own shell: the variable _ is the last value
    "keep_value": (bool, False),
    # a reader waits for the output: it is sent with each newline
    "lines": (bool, False),
    # no other snippet follows in this jail
    "last": (bool, False),
}
# Of the head: bit -> key of the snippet, value.
HAS_CODE = 1
FLAGS = {
    16: ("value_of", "statement"),
    32: ("handles", True),
    64: ("output", True),
    128: ("vars", True),
    8: ("keep_value", True),
    4: ("lines", True),
    2: ("last", True),
}
FLAGS_END = 256
# The keys that are one of two words.
WORDS = {
    "value_of": ("expression", "statement"),
}
# snippet-keys end
# The keys of a session's policy: type, default.
POLICY_KEYS = {
    "layer": (bool, True),
    "builtins": (str, "standard"),
    "imports": (list, ()),
    "imports_checked": (str, "before"),     # before the code, or where each import stands ("run")
    "clock": (str, ""),           # of time and datetime, see rail/clock.py
    "sleep_ms": (int, 0),         # longest time.sleep(); 0: any
    "env": (list, ()),            # NAME=value; set after the start, so that no loader saw them
    "files": (list, ()),          # paths of the jail that are the caller's files and folders
    "folders": (list, ()),        # of the jail, that the policy's python.files names
    "limits": (dict, {}),
}
# Keys of "limits": default.
DEFAULT_LIMITS = {
    "source_bytes": 1 << 20,    # more than any model writes; the parser needs some 100 bytes per byte of source
    "repr_bytes": 8 << 10,      # for a person or a model to read
    "value_bytes": 1 << 20,     # for a program to read
    "ast_depth": 400,           # the compiler recurses once per level, and stops at some 1000
    "tool_bytes": 1 << 20,      # the arguments of one call of a tool
    "memory_bytes": 0,          # named in the message of a MemoryError; the kernel keeps the limit. 0: none
}
HEAD_BYTES = 20
PLAIN = {key: default for key, (_, default) in SNIPPET_KEYS.items()}  # what a request with code alone has; never changed
UNKNOWN_KEY = (None, ...)
# No variable has such a name; base/python_name.c has the same list. (A constant tuple: the start pays nothing for it.)
KEYWORDS = ("False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
            "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
            "pass", "raise", "return", "try", "while", "with", "yield")
NO_CODE = "the request has no code"
BUILTIN_SETS = ("minimal", "static", "standard", "full")


class RequestError(Exception):
    """A request that the host would not send."""


def read_request(data):
    """(keys of the snippet, with defaults for the absent ones; keys of the policy, not yet checked)."""
    number = int.from_bytes
    flags = number(data[:4], "little")
    code_at = HEAD_BYTES + number(data[12:16], "little")
    end = code_at + number(data[16:HEAD_BYTES], "little")
    if end > len(data) or flags >= FLAGS_END:
        raise ValueError("the head of the request is wrong")
    req = dict(PLAIN)
    req["soft_ms"] = number(data[4:12], "little")
    req["filename"] = data[HEAD_BYTES:code_at].decode("utf-8", "replace") if code_at > HEAD_BYTES else "<snippet>"
    if flags & HAS_CODE:
        req["code"] = data[code_at:end].decode()
    if flags > HAS_CODE:
        for bit, (key, value) in FLAGS.items():
            if flags & bit:
                req[key] = value
    policy = {}
    if end < len(data):
        raw = read_json(data[end:])
        if type(raw) is not dict:
            raise ValueError("the request is not a JSON object")
        policy = {key: raw.pop(key) for key in POLICY_KEYS if key in raw}
        check_snippet(raw, req)
    elif req["code"] is None and not req["vars"]:
        raise ValueError(NO_CODE)
    return req, policy


def check_snippet(raw, req):
    """Adds the keys of the JSON object to those of the head."""
    for key, value in raw.items():
        kind, default = SNIPPET_KEYS.get(key, UNKNOWN_KEY)
        if type(value) is not kind and value is not default:
            raise ValueError(type_expected(key, kind) if key in SNIPPET_KEYS else "unknown request key " + key)
        req[key] = value
    for key, words in WORDS.items():
        if req[key] not in words:
            raise ValueError(key + " must be one of " + ", ".join(words))
    if req["code"] is None and req["get"] is None and not (req["vars"] or req["inputs"] or req["put"] or req["tools"]) and req["seed"] is None:
        raise ValueError(NO_CODE)
    for name in req["inputs"]:
        if not name.isidentifier() or name[:2] == "__":
            raise ValueError("the input name %r is not a plain identifier" % name)
        if name in KEYWORDS:
            raise ValueError("the input name %r is a keyword of Python" % name)


def check_policy(keys):
    """The policy as a tuple: layer, builtin set, imports, when these are checked, clock, longest sleep, env, files, folders, limits."""
    if type(keys.get("imports")) is str:  # the reader takes one string with spaces faster than a list
        keys["imports"] = keys["imports"].split()
    for key, (kind, default) in POLICY_KEYS.items():
        value = keys.setdefault(key, default)
        if value is not default and type(value) is not kind:
            raise ValueError(type_expected(key, kind))
    if keys["builtins"] not in BUILTIN_SETS:
        raise ValueError("builtins must be one of " + ", ".join(BUILTIN_SETS))
    if not all([type(p) is str for p in keys["imports"]]):
        raise ValueError("imports must be a list of strings")
    if keys["imports_checked"] not in ("before", "run"):
        raise ValueError("imports_checked must be before or run")
    limits = dict(DEFAULT_LIMITS)
    for key, value in keys["limits"].items():
        if key not in limits or type(value) is not int or value < 0:
            raise ValueError("unknown or bad limit " + key)
        limits[key] = value
    return keys["layer"], keys["builtins"], tuple(keys["imports"]), keys["imports_checked"], keys["clock"], keys[
        "sleep_ms"], tuple(keys["env"]), tuple(keys["files"]), tuple(keys["folders"]), limits


def type_expected(key, kind):
    return "request key %s: %s expected" % (key, kind.__name__)
