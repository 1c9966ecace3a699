"""What the tests of the service share: starting one, asking it, and a line for each test, `ok NAME` or `FAIL NAME: why`.

Scripts that use it take AGENTJAIL FOLDER EXAMPLES [WORD]: a folder of their own; where client.py is; only the tests whose name holds WORD.
"""
import glob, json, os, re, shutil, signal, socket, struct, subprocess, sys, time, traceback

AJ, FOLDER, EXAMPLES = sys.argv[1:4]
sys.path.insert(0, EXAMPLES)
from client import Client, ServiceError

ROOT = os.getuid() == 0
LONG = float(os.environ.get("AJ_TEST_PATIENCE", "20"))


def until(condition, seconds=LONG):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def children_of(pid):
    found, parents = [], {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            name, rest = open(path).read().rsplit(")", 1)
        except OSError:
            continue
        fields = rest.split()
        if fields[0] not in "ZX":
            parents.setdefault(int(fields[1]), []).append((int(name.split()[0]), int(fields[11]) + int(fields[12])))
    queue = [pid]
    while queue:
        for child in parents.get(queue.pop(), []):
            found.append(child)
            queue.append(child[0])
    return dict(found)


def guests_of(pid):
    """The processes of jails below it, by the number that they have in their jail."""
    found = {}
    for child in children_of(pid):
        try:
            with open("/proc/%d/status" % child) as f:
                inner = f.read().split("NStgid:")[1].split("\n")[0].split()
        except (OSError, IndexError):
            continue
        if len(inner) > 1 and inner[-1] != "1":
            found[int(inner[-1])] = child
    return found


def alive(pid):
    try:
        fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
        return fields[0] not in "ZX" and fields[20] != "0"  # one without memory has ended, and waits for others of its namespace
    except OSError:
        return False


class Server:
    count = 0

    def __init__(self, *options, path=None, wait=True, env=None, fds=(), names=None, **popen):
        Server.count += 1
        self.clients = []
        self.path = path or "%s/s%d" % (FOLDER, Server.count)
        self.log = open("%s/log%d" % (FOLDER, Server.count), "w+")
        env = dict(os.environ, **(env or {}))

        def child():
            if fds:
                high = [os.dup2(fd, 50 + i) and 50 + i for i, fd in enumerate(fds)]
                for i, fd in enumerate(high):
                    os.dup2(fd, 3 + i)
                env.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(fds)))
                if names:
                    env["LISTEN_FDNAMES"] = names
                os.execve(AJ, arguments, env)
        arguments = [AJ, "serve"] + ([] if fds or path == "" else ["--socket", self.path]) + list(options)
        self.process = subprocess.Popen(arguments, stderr=self.log, stdin=subprocess.DEVNULL, env=env, preexec_fn=child if fds else None,
                                        close_fds=not fds, **popen)
        if wait:
            assert until(lambda: "serving at" in self.said() or self.process.poll() is not None), "it does not start"
            assert self.process.poll() is None, self.said()

    def said(self):
        self.log.flush()
        return open(self.log.name).read()

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


def same(got, want, what=""):
    assert got == want, "%s%r in place of %r" % (what and what + ": ", got, want)


def fails(wanted, call, *arguments, **members):
    try:
        result = call(*arguments, **members)
    except ServiceError as e:
        same(e.code, wanted)
        return e
    raise AssertionError("no error but %.300r" % (result,))


def raw(c, body):
    c.socket.sendall(struct.pack(">I", len(body)) + body)
    return c.receive()


tests = []


def test(function):
    tests.append(function)
    return function


POLICIES = {"open": "[python]\nlayer = false\n", "work": "[python]\nlayer = false\n[filesystem]\nworkspace = \"read-only\"\n"}


def main():
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    for policy, text in POLICIES.items():
        with open("%s/%s.toml" % (FOLDER, policy), "w") as f:
            f.write('extends = "snippet"\n' + text)
    shared = None
    for function in tests:
        name = function.__name__.replace("_", " ")
        if word not in name:
            continue
        try:
            if function.__code__.co_argcount:
                if not shared or shared.process.poll() is not None:
                    shared = Server("--policy", "snippet", "--policy", "minimal", "--policy-file", FOLDER + "/open.toml",
                                    "--policy-file", FOLDER + "/work.toml", "--parked", "2")
                shared.forget()
                function(shared)
                assert shared.process.poll() is None, "the service ended: " + shared.said()[-500:]
            else:
                function()
            print("ok " + name, flush=True)
        except Exception as e:
            lines = [f.lineno for f in traceback.extract_tb(e.__traceback__)]
            print("FAIL %s: %s: %s (lines %s)" % (name, type(e).__name__, str(e).replace("\n", " ")[:600], lines), flush=True)
    if shared:
        code = shared.stop()
        print("ok the shared service ended well" if code == 0 else "FAIL the shared service ended well: %d: %s" % (code, shared.said()[-500:]))
