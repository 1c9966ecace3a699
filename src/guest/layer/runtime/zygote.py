"""The zygote: every module is loaded and every code path has run before the fork, and the newborn jail is seeded anew.
The trial runs leave no trace: code in a jail cannot tell that the layer ran before.

The seed of hash() and the addresses of objects cannot change after a fork. All jails of one zygote share them, and the
zygote is never shared between tenants.
"""

import builtins
import sys

from agentjail import OWN as __builtins__  # noqa: F401 (see guest/layer/__init__.py)
from agentjail.rail import patches
from agentjail.runtime import CONTROL_FD, main, make_frame, session
from agentjail.runtime.request import HEAD_BYTES
from agentjail.runtime.reseed import reseed

# Modules of the layer that a cold start loads when it needs them, and the standard library's modules that these need. The
# event loop is not among them: it loads asyncio.
CHECK = "name_rules plain_code allowed_imports guard_calls checker rare_rules handled_imports import_advice annotations last_statement"
RAIL = "guards format_guards module_proxy hidden shown patches replacements testing_guards dataclass_guards dynamic_code source_text"
VALUES = "json_reader texts json_writer type_tags array_tags stdin variables"
RUNTIME = "request compiler error_report tools channel signals unawaited tool_names"
PARTS = (["agentjail." + room + "." + name for room, names in (("check", CHECK), ("rail", RAIL), ("values", VALUES), ("runtime", RUNTIME))
          for name in names.split()] + ["_json", "binascii", "_string"])

# The trial runs: keys of requests, each list in one session. They import only modules that are loaded anyway.
TRIALS = (
    ({"code": "x = [1, 2]\nfor i in range(3):\n    x.append(i * 2)\n\n\ndef f(a, b=1):\n    \"\"\"Doc.\"\"\"\n    return a + b\n"
              "\n\nprint('a', x, f'{f(1)}')\nf(x[0])", "inputs": {"v": [1, "a", {"b": None}]}},
     {"code": "y = {'a': (1, 2.5), 'b': 'ü'}\ny"},
     {"code": "def g(n):\n    return 1 / n\n\n\ng(0)"},
     {"code": "class A:\n    def __init__(self, n):\n        self.n = n\n\n    def get(self):\n        return self.n\n\n\n"
              "try:\n    A(1).get()['k']\nexcept TypeError as e:\n    print(e)\n'{} {}'.format(1, 2)"},
     {"code": "final_answer({'a': [1, 2], 'b': 'text'})"},
     {"code": "import os\nx.__dict__"},
     {"code": "x = ("},
     {"inputs": {"w": 5}}),
    ({"code": "import sys\nfrom sys import version\nsys.maxsize", "imports": ["sys"]},),
    ({"code": "1 + 1", "tools": [{"name": "t", "description": "d", "parameters": {
        "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}}]},),
    ({"code": "x = 1\nx", "layer": False},),
)
ROUNDS = 12     # the interpreter specialises code in its first ten runs or so
# As guest/plain_request.c makes it. guest.c runs it in a copy of the zygote that is thrown away: the pages that it writes are those that
# guest/prefault.c gives to a jail all at once. No jail runs it.
FIRST_REQUEST = ("x = [i for i in (1, 2)]\nx", "<snippet>", 0, False)


# --- in the zygote ---

def prepare(names, frame_kinds=b""):
    """names: the modules that jails may import, one a line. A module that cannot be imported raises again in the snippet that
    imports it. frame_kinds: the kind of the frame that reports each name to the supervisor before its import, which may never
    end, and an empty name after the last one; and the kind of the frame with the first failure; b"" for no reports.

    The layer is loaded first: objects that every snippet uses then lie together, and fewer pages become a jail's own."""
    import os
    register, os.register_at_fork = os.register_at_fork, register_quiet
    for part in PARTS:
        try:
            __import__(part)
        except ImportError:
            pass
    importing, failed = frame_kinds[:1], frame_kinds[1:]
    for name in names.decode().split("\n"):
        if name and importing:
            os.write(CONTROL_FD, make_frame(importing, name.encode()))
        why = load_extensions() if name == "*" else load(name) if name else None
        if why is not None and failed:
            os.write(CONTROL_FD, make_frame(failed, why.encode("utf-8", "replace")))
            failed = b""
    if importing:
        os.write(CONTROL_FD, make_frame(importing, b""))
    os.register_at_fork = register
    if "asyncio" in sys.modules:
        session.install_event_loop()
    if "ssl" in sys.modules:
        sys.modules["ssl"].RAND_bytes(1)  # sets up its generators once, instead of in each jail
    reseed(bytes(64))  # each jail seeds again, and then fewer pages become its own
    for _ in range(ROUNDS):
        for trial in TRIALS:
            run_trial([make_request(keys) for keys in trial])
    patches.get_ready()
    session.IMPORT_RECORDER = record_imports
    remove_traces()
    freeze_objects()


def set_policy(policy):
    """Make the namespace and the guards that every jail would make first; each jail gets a copy."""
    main.set_policy(policy)
    if main.SESSION.guards is not None:
        main.SESSION.guards.confined_files()
    freeze_objects()


def freeze_objects():
    """Keep the garbage collector of a jail off the zygote's objects: visiting an object copies its page."""
    import gc
    gc.collect()
    gc.freeze()


def register_quiet(**hooks):
    """In place of os.register_at_fork: the hooks of some modules do not run at a birth, where they took a fifth of the time.
    A newborn jail has the zygote's one thread and no held lock, and reseed() does the rest. In a branch the hooks run."""
    import posix
    posix.register_at_fork(**{when: not_at_birth(hook) if getattr(hook, "__module__", "") in QUIET_MODULES else hook
                              for when, hook in hooks.items()})


def not_at_birth(hook):
    def at_fork():
        if not BIRTHS:
            hook()
    return at_fork


QUIET_MODULES = ("threading", "logging", "random")
BIRTHS = True   # False in a jail


def load(name):
    """Import a module. Returns why that failed; None also for a module that is not there. Some packages raise a BaseException."""
    try:
        __import__(name)
    except BaseException as e:
        from agentjail.runtime.early_imports import note
        return note(name.encode(), e)
    return None


def load_extensions():
    """For a policy that allows every import: load all extension modules, which cannot be mapped after the filter is installed.
    Returns the first failure."""
    import posix
    first = None
    for folder in [path for path in sys.path if path.endswith("/lib-dynload")]:
        for file in sorted(posix.listdir(folder)):
            first = load(file.partition(".")[0]) or first
    return first


def make_request(keys):
    from agentjail.values.json_writer import claim_json
    return bytes(HEAD_BYTES) + claim_json(dict({"imports": ["math", "json"]}, **keys)).encode()


def run_trial(requests):
    """Run the requests in a session that is thrown away, and restore everything that a session changes outside of itself."""
    from agentjail.rail import module_proxy
    from _io import BytesIO, TextIOWrapper
    modules, starter, streams = sys.modules, sys.modules.get("__main__"), (sys.stdout, sys.stderr)
    saved = session.STDOUT, session.STDERR, session.IMPORT_RECORDER, module_proxy.patch_loaded_modules
    sink = TextIOWrapper(BytesIO(), "utf-8", write_through=True)
    try:
        sys.stdout = sys.stderr = session.STDOUT = session.STDERR = sink
        session.IMPORT_RECORDER = None
        module_proxy.patch_loaded_modules = do_nothing  # patches stay for good, and a request may have the layer off
        trial = session.Session()
        return [trial.run(r) for r in requests]
    finally:
        session.STDOUT, session.STDERR, session.IMPORT_RECORDER, module_proxy.patch_loaded_modules = saved
        sys.stdout, sys.stderr = streams
        if starter is None:
            modules.pop("__main__", None)
        else:
            modules["__main__"] = starter


def do_nothing(_):
    pass


def remove_traces():
    """Remove warnings and exceptions that imports and trials left in modules."""
    for module in list(sys.modules.values()):
        if isinstance(module, session.ModuleType):
            module.__dict__.pop("__warningregistry__", None)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)


def record_imports(namespace):
    """The set of imports by the agent's own code with the layer off. No guard sees them then, and no module is new in
    sys.modules here: so each import statement passes a recorder on its way to the real function."""
    recorder = Recorder()
    recorder.seen, recorder.real, recorder.namespace = set(), builtins.__import__, namespace
    builtins.__import__ = recorder
    return recorder.seen


class Recorder:
    """Not a function: a function in a class would become a method, and the real __import__ does not."""

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        module = self.real(name, globals, locals, fromlist, level)
        if globals is self.namespace and not level:
            self.seen.add(name.partition(".")[0])
        return module


# --- in each jail ---

def after_fork(entropy):
    """In a newborn jail, before its filter is installed."""
    global BIRTHS
    BIRTHS = False
    reseed(entropy)
