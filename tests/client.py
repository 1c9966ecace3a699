"""What all tests of the service share: starting `agentjail serve`, asking it over its socket (docs/reference/protocol.md), and counting checks.
The frames are those of docs/examples/client.py; this adds sessions with names, whose events are kept until a test waits for them.

A script that uses it is started by `driver` of lib.sh as SCRIPT AGENTJAIL FOLDER [ARGUMENT...], with a folder of its own. It ends with
done(), or holds functions marked @test and ends with main(): then an argument is a word, and only tests whose name holds it are run."""

import importlib.util
import os
import select
import signal
import struct
import subprocess
import sys
import time
import traceback

import procfs
import result_schema
from until import PATIENCE_S, until

AJ, FOLDER = sys.argv[1:3]
BUILD, TESTS = os.path.dirname(AJ), os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(TESTS), "docs", "examples")
NAME = os.path.splitext(os.path.relpath(os.path.abspath(sys.argv[0]), TESTS))[0]
ROOT = os.getuid() == 0
LONG = PATIENCE_S
os.environ.pop("PYTHONPATH", None)

# The modules that a policy lets snippets import are most of what a zygote's start takes: services whose tests import little have
# the policy `snippet` with a short list. Tests of imports and of what a zygote holds ask for the policy by its name.
IMPORTS = '[python]\nimports = ["csv", "datetime", "json", "math", "os", "os.path", "random", "re", "sys", "time"]\n'
FEW = FOLDER + "/snippet.toml"
with open(FEW, "w") as f:
    f.write('extends = "snippet"\n' + IMPORTS)

spec = importlib.util.spec_from_file_location("example", EXAMPLES + "/client.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
ServiceError = example.ServiceError


class Client(example.Client):
    """Every result that comes must fit docs/reference/result.schema.json."""

    def receive(self):
        message = super().receive()
        result = message.get("result")
        if result_schema.is_result(result):
            assert not result_schema.problems(result), result_schema.problems(result)
        return message


# --- checks ---

passed = failed = skipped = 0


def check(name, good, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("  FAIL  %s: %s: %.900s" % (NAME, name, str(why).replace("\n", " ")), flush=True)
    elif os.environ.get("V"):
        print("  ok    %s: %s" % (NAME, name), flush=True)
    return good


def skip(name, why):
    global skipped
    skipped += 1
    print("  SKIP  %s: %s: %s" % (NAME, name, why), flush=True)


def done():
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(failed > 0)


# --- a service ---

class Server:
    """A process `agentjail serve`, at a socket of its own. `fds`: sockets that it inherits as from systemd."""
    count = 0
    started = []

    def __init__(self, *options, path=None, wait=True, env=None, fds=(), names=None, program=AJ, **popen):
        Server.count += 1
        self.clients = []
        self.path = path or "%s/s%d" % (FOLDER, Server.count)
        self.log = open("%s/log%d" % (FOLDER, Server.count), "w+")
        env = dict(os.environ, **(env or {}))

        def child():
            high = [os.dup2(fd, 50 + i) and 50 + i for i, fd in enumerate(fds)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)
            env.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
            if names:
                env["LISTEN_FDNAMES"] = names
            os.execve(program, arguments, env)
        if not any(option in options for option in ("--policy", "--policy-file", "--config", "--allow-import", "--connection")):
            options += "--policy-file", FEW
        arguments = [program, "serve"] + ([] if fds or path == "" else ["--socket", self.path]) + list(options)
        if fds:
            popen.update(preexec_fn=child)
        self.process = subprocess.Popen(arguments, stderr=self.log, stdin=subprocess.DEVNULL, env=env, close_fds=not fds, **popen)
        self.pid = self.process.pid
        Server.started.append(self)
        if wait:
            assert until(lambda: "serving at" in self.said() or self.process.poll() is not None), "it does not start"
            assert self.process.poll() is None, self.said()

    def said(self):
        self.log.flush()
        return procfs.read(self.log.name)

    def client(self):
        c = Client(self.path)
        c.socket.settimeout(LONG)
        self.clients.append(c)
        return c

    def forget(self):
        """End every connection, and wait until the service has noticed."""
        for c in self.clients:
            c.socket.close()
        self.clients = []
        until(lambda: Client(self.path).ask("stats")["in_use"] == 0)

    def stop(self, sign=signal.SIGTERM, seconds=LONG):
        if self.process.poll() is None:
            self.process.send_signal(sign)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError("it does not stop")

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if not failed and self.process.poll() is None:
            same(self.stop(), 0, "its end: " + self.said()[-300:])
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Sessions(Server):
    """A service with one client, whose sessions have names of the test's. Events that nobody waited for yet are kept:
    opened (warm, or error), answered (result), call (call, tool, args), ended (why), error (about, code, text), and done (about, result)."""

    def __init__(self, policy="snippet", parked=0, *options, **how):
        super().__init__("--policy-file" if "/" in policy else "--policy", policy, "--parked", str(parked), *options, **how)
        self.one = self.client()
        self.names, self.running, self.asked, self.events = {}, {}, {}, []

    def send(self, op, name=None, to=None, **members):
        """A request about the session; its answer becomes an event. `to`: the name of a fork."""
        id = "%s %s %d" % (op, to or name, len(self.asked))
        self.asked[id] = op, to or name
        if op == "tool_result":
            members["request"] = self.running[name]
        elif op in ("run", "set"):
            self.running[name] = id
        if name and op not in ("open", "tool_result"):
            members["session"] = self.names.get(name, "none")
        self.one.send(op=op, id=id, **members)

    def note(self, frame):
        op, name = self.asked.get(frame.get("id"), (None, None))
        kind, result, error = frame.get("event"), frame.get("result"), frame.get("error")
        event = {"as": name, "about": op}
        if kind == "ended":
            event = {"event": "ended", "as": {s: n for n, s in self.names.items()}.get(frame["session"]), "why": frame["why"]}
        elif kind == "tool_call":
            event.update(frame, event="call")
        elif error and op in ("open", "fork"):
            event.update(event="opened", error=error["message"])
        elif error:
            event.update(event="error", code=error["code"], text=error["message"])
        elif op in ("open", "fork"):
            self.names[name] = result["session"]
            event.update(event="opened", warm=result["warm"])
        elif op in ("run", "set"):
            event.update(event="answered", result=result)
        else:
            event.update(event="done", result=result)
        self.events.append(event)

    def read(self, timeout):
        if not select.select([self.one.socket], [], [], max(0, timeout))[0]:
            return False
        try:
            self.note(self.one.receive())
        except EOFError:
            raise EOFError("the service has ended: %s" % self.said()[-500:])
        return True

    def wait(self, kinds, name=None, timeout=LONG, about=None):
        """The first event of one of these kinds."""
        end = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event["event"] in kinds.split() and name in (None, event["as"]) and about in (None, event.get("about")):
                    self.events.remove(event)
                    return event
            if not self.read(end - time.monotonic()) and time.monotonic() > end:
                raise TimeoutError("no %s of %s; there are %.500s" % (kinds, name, self.events))

    def opened(self, name):
        event = self.wait("opened", name)
        if "error" in event:
            raise RuntimeError(event)
        return event

    def open(self, name, **members):
        self.send("open", name, **members)
        return self.opened(name)

    def fork(self, name, to):
        self.send("fork", name, to)
        return self.opened(to)

    def start(self, name, code, **members):
        self.send("run", name, code=code, **members)

    def result(self, name, timeout=LONG):
        """What the snippet gave, or the event of why there is no result."""
        event = self.wait("answered error ended", name, timeout)
        return event.get("result", event)

    def run(self, name, code, **members):
        self.start(name, code, **members)
        return self.result(name)

    def ask(self, op, name=None, **members):
        """Any other request, and its answer; or the event of its error."""
        self.send(op, name, **members)
        event = self.wait("done error", name, about=op)
        return event.get("result", event)

    def close(self, name):
        """Also of one that has ended, or was never opened: of which the service has forgotten the name."""
        if name in self.names:
            self.ask("close", name)
            del self.names[name]
        self.events = [e for e in self.events if e["as"] != name]

    def stats(self):
        return self.ask("stats")

    # --- from outside ---

    def children(self):
        return procfs.children(self.pid)

    def zygotes(self):
        return procfs.zygotes(self.pid)

    def holders(self):
        return procfs.holders(self.pid)

    def inits(self):
        return procfs.inits(self.pid)

    def waiting(self):
        return procfs.waiting(self.pid)


# --- tests as functions: one service for all that take it as an argument ---

def same(got, want, what=""):
    assert got == want, "%s%r in place of %r" % (what and what + ": ", got, want)


def fails(wanted, call, *arguments, **members):
    try:
        result = call(*arguments, **members)
    except ServiceError as e:
        same(e.code, wanted)
        return e
    raise AssertionError("no error but %.300r" % (result,))


def frame(body):
    return struct.pack(">I", len(body)) + body


def exchange(c, body):
    """What the service says to a frame of these bytes."""
    c.socket.sendall(frame(body))
    return c.receive()


class Skipped(Exception):
    """Raised by a test that cannot be made here."""


tests = []
POLICIES = {"open": IMPORTS + "layer = false\n", "work": IMPORTS + "layer = false\n[filesystem]\nworkspace = \"read-only\"\n"}


def test(function, name=None):
    tests.append((name or function.__name__.replace("_", " "), function))
    return function


def main():
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    for policy, text in POLICIES.items():
        with open("%s/%s.toml" % (FOLDER, policy), "w") as f:
            f.write('extends = "snippet"\n' + text)
    shared = None
    for name, function in tests:
        if word not in name:
            continue
        try:
            if function.__code__.co_argcount:
                if not shared or shared.process.poll() is not None:
                    files = [word for policy in POLICIES for word in ("--policy-file", "%s/%s.toml" % (FOLDER, policy))]
                    shared = Server("--policy-file", FEW, "--policy", "minimal", *files, "--parked", "2")
                shared.forget()
                function(shared)
                assert shared.process.poll() is None, "the service ended: " + shared.said()[-500:]
            else:
                function()
            check(name, True)
        except Skipped as e:
            skip(name, e)
        except Exception as e:
            lines = [f.lineno for f in traceback.extract_tb(e.__traceback__)]
            check(name, False, "%s: %s (lines %s)" % (type(e).__name__, str(e)[:600], lines))
            for server in Server.started:  # a test that fails has not come to its own stop()
                if server is not shared and server.process.poll() is None:
                    server.stop()
    if shared:
        check("the shared service ended well", shared.stop() == 0, shared.said()[-500:])
    done()
