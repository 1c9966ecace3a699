"""The zygote's part: everything loaded and every path walked before the fork, and what must differ made different after.
It refuses to leave a trace of its trial runs: a jail cannot tell from inside that the layer ran before.

What cannot be changed after a fork: the seed of hash(), and where things lie in memory. All jails of one zygote share
them, and the zygote is never shared between tenants.
"""

import builtins
import sys
from _random import Random
from _thread import get_native_id

from agentjail import OWN as __builtins__  # noqa: F401 (see __init__.py)
from agentjail.runtime import main

# Modules of the layer that a cold start loads when it needs them, and the standard library's modules that these need. The
# event loop is not among them: it loads asyncio.
RAIL = "check guards name_rules check_late format_guards module_proxy patches dynamic_code"
RUNTIME = "values error_report type_tags tools channel signals"
PARTS = (["agentjail.rail." + name for name in RAIL.split()] + ["agentjail.runtime." + name for name in RUNTIME.split()]
         + ["_json", "binascii", "_string"])

# The trial runs: keys of requests, each list in one session. They import what is loaded anyway.
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
CONTROL_FD = 3
ROUNDS = 12     # after some ten runs the interpreter has specialised what it runs
FIRST = b'{"filename":"<snippet>","code":"x = [i for i in (1, 2)]\\nx"}'


# --- in the zygote ---

def prepare(names, tell=b""):
    """names: the modules that jails may import, one a line. What cannot be imported says why to whoever imports it.
    tell: the kind of frame that tells the supervisor of each, as one of them may be the last thing that happens here, and of none at the end;
    b"": it is not told.

    The layer comes first: what every snippet uses lies together then, and fewer pages have to be a jail's own."""
    import os
    register, os.register_at_fork = os.register_at_fork, register_later
    for part in PARTS:
        try:
            __import__(part)
        except ImportError:
            pass
    for name in names.decode().split("\n"):
        if name and tell:
            os.write(CONTROL_FD, len(name.encode()).to_bytes(4, "little") + tell + name.encode())
        if name == "*":
            load_extensions()
        elif name:
            try:
                __import__(name)
            except Exception:
                pass
    if tell:
        os.write(CONTROL_FD, bytes(4) + tell)
    os.register_at_fork = register
    if "asyncio" in sys.modules:
        from agentjail.runtime.event_loop import install
        install()
    if "ssl" in sys.modules:
        sys.modules["ssl"].RAND_bytes(1)  # sets its generators up, which is no work for each jail
    reseed(bytes(64))  # each jail does it again, in fewer pages of its own
    for _ in range(ROUNDS):
        for trial in TRIALS:
            rehearse([request(keys) for keys in trial])
    main.RECORDER = record_imports
    forget()
    freeze()


def settle(policy):
    """What all jails would make of their policy first of all: their namespace and guards. Each gets a copy."""
    main.settle(policy)
    freeze()


def freeze():
    """The collector of a jail does not look at, and so does not copy, what was here before it."""
    import gc
    gc.collect()
    gc.freeze()


def register_later(**hooks):
    """What these modules do after a fork is for copies with threads, or is done by reseed(): a newborn jail has the zygote's
    one thread and no lock that somebody holds. It took a fifth of a birth. In a branch of a session they are heeded."""
    import posix
    posix.register_at_fork(**{when: not_at_birth(hook) if getattr(hook, "__module__", "") in QUIET else hook
                              for when, hook in hooks.items()})


def not_at_birth(hook):
    def at_fork():
        if not BIRTHS:
            hook()
    return at_fork


SEED = Random.seed
QUIET = ("threading", "logging", "random")
BIRTHS = True   # False in a jail


def load_extensions():
    """Where anything may be imported: what cannot be mapped once the filter stands. The rest is only read."""
    import posix
    for folder in [path for path in sys.path if path.endswith("/lib-dynload")]:
        for file in sorted(posix.listdir(folder)):
            try:
                __import__(file.partition(".")[0])
            except Exception:
                pass


def request(keys):
    from agentjail.runtime.values import plain
    return plain(dict({"imports": ["math", "json"]}, **keys)).encode()


def rehearse(requests):
    """Run them in a session that is thrown away, and put back whatever a session changes outside of itself."""
    from agentjail.rail import module_proxy
    from _io import BytesIO, TextIOWrapper
    modules, starter, streams = sys.modules, sys.modules.get("__main__"), (sys.stdout, sys.stderr)
    ours, harden, recorder = (main.STDOUT, main.STDERR), module_proxy.harden, main.RECORDER
    sink = TextIOWrapper(BytesIO(), "utf-8", write_through=True)
    try:
        sys.stdout = sys.stderr = main.STDOUT = main.STDERR = sink
        main.RECORDER = None
        module_proxy.harden = nothing  # it changes modules for good, and whether it may is the request's to say
        session = main.Session()
        return [session.run(r) for r in requests]
    finally:
        module_proxy.harden, main.RECORDER = harden, recorder
        main.STDOUT, main.STDERR = ours
        sys.stdout, sys.stderr = streams
        if starter is None:
            modules.pop("__main__", None)
        else:
            modules["__main__"] = starter


def nothing(_):
    pass


def forget():
    """What imports and trials left in modules that keep notes."""
    for module in list(sys.modules.values()):
        if isinstance(module, main.ModuleType):
            module.__dict__.pop("__warningregistry__", None)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)


def record_imports(space):
    """With the layer off nobody sees an import, and here nothing is new in sys.modules: so each import statement of the
    agent's own code is noted on its way to the real function."""
    recorder = Recorder()
    recorder.seen, recorder.real, recorder.space = set(), builtins.__import__, space
    builtins.__import__ = recorder
    return recorder.seen


class Recorder:
    """No function: one in a class would become a method, and the real one does not."""

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        module = self.real(name, globals, locals, fromlist, level)
        if globals is self.space and not level:
            self.seen.add(name.partition(".")[0])
        return module


# --- in each jail ---

def after_fork(entropy):
    """In a fresh jail, before its filter. `entropy`: 64 random bytes that no other jail has."""
    global BIRTHS
    BIRTHS = False
    reseed(entropy)


def first_snippet(started):
    """What touches the pages that a first snippet does, in a copy that is thrown away. No jail runs it: its pages are made
    its own all at once (guest/prefault.c)."""
    return main.run(FIRST, started)


def after_branch(entropy):
    """In the copy of a session, between snippets: threads that waited for tools are not here, and hold nothing any more.
    What else a thread held (a stream that it was writing to) stays locked: that is not ours to know."""
    reseed(entropy)
    if main.SESSION is not None and main.SESSION.tools is not None:
        main.SESSION.tools.alone()


def reseed(entropy):
    """Also in a branch of a session, in the midst of its life."""
    number = int.from_bytes(entropy, "little")
    for name, seed in SEEDS.items():
        module = sys.modules.get(name)
        if module is not None:
            try:
                seed(module, number, entropy)
            except Exception as e:
                raise RuntimeError("%s cannot be seeded anew: %s" % (name, e)) from None


# Each of these in as few steps as can be: every object that is looked at is a page of the jail's own.

def seed_random(module, number, entropy):
    instance = module._inst
    SEED(instance, number)
    instance.gauss_next = None


def seed_threading(module, number, entropy):
    module._main_thread._native_id = get_native_id()


def seed_numpy(module, number, entropy):
    module.seed([number >> 32 * i & 0xffffffff for i in range(16)])


def seed_uuid(module, number, entropy):
    if module._node is not None or module._last_timestamp is not None:
        module._node = module._last_timestamp = None


def seed_tempfile(module, number, entropy):
    if module._name_sequence is not None:  # it knows a fork by the process id, which is the same in every jail
        module._name_sequence = None


def seed_ssl(module, number, entropy):
    module.RAND_add(entropy, float(len(entropy)))


# Modules with a random state of their own. secrets and os.urandom ask the kernel each time, as do numpy's generators.
SEEDS = {"random": seed_random, "threading": seed_threading, "numpy.random": seed_numpy, "uuid": seed_uuid, "tempfile": seed_tempfile, "ssl": seed_ssl}
