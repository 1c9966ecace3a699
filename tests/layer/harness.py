"""Runs one request in a forked child, as the guest would: import, request in, claim out.
It refuses to share state between cases: each has a fresh interpreter state from the fork.
"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import result_schema  # noqa: E402
SOURCE = os.path.join(HERE, "..", "..", "src", "guest", "layer")
GUEST = os.environ.get("GUEST", os.path.join(HERE, "..", "..", "build", "guest.so"))   # `make build/guest.so`
# `make check` takes samples of what repeats itself; `make check-whole` all of it.
WHOLE = bool(os.environ.get("WHOLE"))
# Cases name files of the host /tmp/agentjail-test… and /dev/shm/agentjail-test…: each run of the tests has its own, whoever ran them before.
FILES, OWN_FILES = "agentjail-test", "agentjail-test-%d" % os.getpid()
STDLIB = ("math cmath json re datetime time calendar collections.* itertools functools random statistics string decimal "
          "fractions typing dataclasses enum abc operator copy contextlib textwrap heapq bisect uuid hashlib base64 "
          "queue logging asyncio numbers types io unicodedata struct array pprint").split()


def package():
    """A folder whose entry `agentjail` is the bootstrap, compiled: each case imports it in a process of its own, and compiling took most of the time."""
    folder = tempfile.mkdtemp(prefix="layer-")
    layer = os.path.join(folder, "agentjail")
    shutil.copytree(SOURCE, layer, ignore=shutil.ignore_patterns("__pycache__"))
    # By a process of its own, since what it imports would be there already in every case.
    subprocess.run([sys.executable, "-I", "-S", "-m", "compileall", "-q", layer], check=True)
    sys.path.insert(0, folder)
    import agentjail.runtime.session  # noqa: F401
    load_runner()
    # The first snippet of a session loads these; a jail of the other scripts loads them as they come.
    import agentjail.check.allowed_imports, agentjail.check.checker, agentjail.rail.builtin_guards  # noqa: E401, F401
    return folder


def load_runner():
    """The functions that the runner gives the layer, but for the walk over plain code, of which test_plain.py has the tests."""
    import ctypes
    from agentjail.check import plain_code
    missing = ctypes.PyDLL(GUEST).aj_plain_code_in_test()
    if missing:
        raise RuntimeError("the runner's library: something is missing in this Python")
    plain_code.compile_plain = None


def request(code, **keys):
    keys.setdefault("imports", [])
    if code is not None:
        keys["code"] = code.replace(FILES, OWN_FILES)
    return framed(json.dumps(keys))


def remove_files():
    for path in glob.glob("/tmp/" + OWN_FILES + "*") + glob.glob("/dev/shm/" + OWN_FILES + "*"):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def framed(text):
    """A request whose head is empty: every key is in its JSON object."""
    return bytes(20) + text.encode()


def run(*requests, probe=None, seconds=120):
    """The claims for these requests, in one session; with probe, also what that variable then holds (as text)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            null = os.open("/dev/null", os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.chdir("/tmp")    # as in a jail: relative paths lead there, wherever the tests were started
            signal.alarm(seconds)
            from agentjail.runtime.session import Session
            session = Session()
            claims = [session.run(r) for r in requests]
            held = b"-"
            if probe is not None and session.module is not None and probe in session.module.__dict__:
                held = b"+" + repr(session.module.__dict__[probe])[:200].encode("utf-8", "replace")
            # Nothing but system calls from here on: some cases break the built-in functions.
            data = b"\0".join([held, *claims])
            while data:
                data = data[os.write(write, data):]
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        data = f.read()
    _, status = os.waitpid(child, 0)
    if not data:
        return [{"status": "died", "wait": status, "error": {"type": "died", "message": str(status)},
                 "value": None, "repr": "", "errors": [], "imports": [], "is_final": False, "final_answer": None,
                 "truncated": {}}] * len(requests), None
    held, *claims = data.decode("utf-8").split("\0")
    claims = [json.loads(c, parse_constant=strict) for c in claims]
    for claim in claims:
        must_fit(claim)
    return claims, held[1:] if held[0] == "+" else None


def must_fit(claim):
    """The supervisor refuses a claim whose members are not those of the table of fields: the layer writes no such claim."""
    for name, value in claim.items():
        schema = result_schema.SCHEMA["properties"][name]
        found = result_schema.problems(value, dict(schema, required=[]), name)
        if found:
            raise ValueError("the supervisor would refuse this claim: %s" % found[:3])


def strict(word):
    raise ValueError("the claim holds " + word)


class Score:
    def __init__(self, only):
        self.passed = self.failed = self.skipped = 0
        self.only = only

    def wants(self, name):
        return self.only in name

    def check(self, name, ok, detail=""):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print("FAIL %s: %s" % (name, str(detail)[:600]))

    def skip(self, name, why):
        self.skipped += 1
        print("SKIP %s: %s" % (name, why))
