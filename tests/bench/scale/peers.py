"""What runs Python code apart from its caller: each peer can keep sandboxes alive, or run a snippet in a fresh one, or both.
It measures nothing. A peer that does not work here says why and is left out."""

import os
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(TOP, "src", "sdk", "python")]

PYTHON = "/usr/bin/python3"  # the distribution's: the first in PATH may be a script that looks for another one
FRESH = [PYTHON, "-I", "-S", "-c", "print(2+2)"]
LOOP = [PYTHON, "-I", "-S", "-u", "-c", "import sys\nfor line in sys.stdin: print(repr(eval(line)))"]
SNIPPET, CALL, ANSWER = "2+2", "add(1, 3)", "4"
ALIVE_MOST, FRESH_MOST = 1000, 16


class Peer:
    name, version = "", ""
    alive_most = 0  # sandboxes that are kept alive at a time; 0: it has no session

    def begin(self): ...
    def open(self): ...        # a sandbox that lives; returns what run() and close() take
    def run(self, sandbox): ...
    def close(self, sandbox): ...
    fresh = None               # runs the snippet in a sandbox of its own; None: it cannot
    call = None                # run a snippet that calls a function of ours once, in a live sandbox; None: it cannot
    def end(self): ...


def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


def expect(text):
    if str(text).strip() != ANSWER:
        raise RuntimeError("the answer is %r" % (text,))


class BarePython(Peer):
    name, alive_most, prefix = "bare python3", 300, []

    def __init__(self):
        self.version = subprocess.run([PYTHON, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def open(self):
        return subprocess.Popen([*self.prefix, *LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def run(self, sandbox):
        sandbox.stdin.write(SNIPPET + "\n")
        expect(sandbox.stdout.readline())

    def close(self, sandbox):
        sandbox.stdin.close()
        sandbox.stdout.close()
        sandbox.wait()

    def fresh(self):
        expect(subprocess.run([*self.prefix, *FRESH], capture_output=True, text=True, check=True).stdout)


class Bubblewrap(BarePython):
    name = "bubblewrap"

    def __init__(self):
        program = shutil.which("bwrap")
        if not program:
            raise RuntimeError("bwrap is not installed")
        self.version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        self.prefix = [program, "--unshare-all", "--uid", "1000", "--gid", "1000", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib",
                       "--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
                       "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--"]


class Sandlock(Peer):
    name = "sandlock"

    def __init__(self):
        import importlib.metadata
        import sandlock
        self.sandbox, self.version = sandlock.Sandbox, "sandlock " + importlib.metadata.version("sandlock")

    def fresh(self):
        result = self.sandbox(fs_readable=["/usr", "/lib", "/lib64", "/bin"]).run(FRESH)
        if not result.success:
            raise RuntimeError("sandlock: %s" % (result.error or result.exit_code,))
        expect(result.stdout.decode())


class Monty(Peer):
    name, alive_most = "monty", 300

    def __init__(self):
        import importlib.metadata
        import pydantic_monty
        self.monty, self.version = pydantic_monty.Monty, "pydantic-monty " + importlib.metadata.version("pydantic-monty")

    def begin(self):
        # A pool has a few workers unless it is told; every live checkout holds one.
        self.pool = self.monty(max_processes=self.alive_most).__enter__()
        self.caller = self.pool.checkout(limits={"max_suspensions": 1_000_000})  # of these, each call takes one
        self.calling = self.caller.__enter__()

    def open(self):
        checkout = self.pool.checkout()
        return checkout, checkout.__enter__()

    def run(self, sandbox):
        expect(sandbox[1].feed_run(SNIPPET))

    def close(self, sandbox):
        sandbox[0].__exit__(None, None, None)

    def fresh(self):
        with self.pool.checkout() as session:
            expect(session.feed_run(SNIPPET))

    def call(self):
        expect(self.calling.feed_run(CALL, external_lookup={"add": add}))

    def end(self):
        self.caller.__exit__(None, None, None)
        self.pool.__exit__(None, None, None)


class Agentjail(Peer):
    name, alive_most = "agentjail", ALIVE_MOST

    def begin(self):
        import agentjail
        self.module = agentjail
        self.service = agentjail.Service(sessions_max=ALIVE_MOST + 1, jails_max=ALIVE_MOST + FRESH_MOST + 1, parked=8)
        self.version = "agentjail " + self.service.version
        self.jail = agentjail.Jail(service=self.service)
        self.calling = agentjail.Session(tools=[add], service=self.service)

    def open(self):
        return self.module.Session(service=self.service)

    def run(self, sandbox):
        expect(sandbox.run(SNIPPET).raise_for_status().value)

    def close(self, sandbox):
        sandbox.close()

    def fresh(self):
        expect(self.jail.run(SNIPPET).raise_for_status().value)

    def call(self):
        expect(self.calling.run(CALL).raise_for_status().value)

    def end(self):
        self.calling.close()
        self.service.close()


class AgentjailCold(Peer):
    name = "agentjail exec"

    def fresh(self):
        done = subprocess.run([os.environ["AGENTJAIL"], "exec", "-c", SNIPPET], capture_output=True, text=True, check=True)
        expect(done.stdout)


ALL = (BarePython, Bubblewrap, Sandlock, Monty, AgentjailCold, Agentjail)


# Steps of a peer beside those that are measured: below all of these, and above.
BEGINNING, ENDING = -1, 1 << 30


def working(clock, most):
    """The peers that work here, begun; and why the others do not. Those that could not begin in time are left out."""
    found, missing = [], {}
    for kind in ALL:
        if most.get(kind.name) == BEGINNING:
            continue
        try:
            with clock.of(kind.name, BEGINNING):
                peer = kind()
                peer.begin()
                if peer.fresh:
                    peer.fresh()
            found.append(peer)
        except Exception as error:
            clock.clear(kind.name)
            missing[kind.name] = "%s: %s" % (type(error).__name__, str(error).strip().rpartition("\n")[2][:160])
    return found, missing
