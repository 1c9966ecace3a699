"""--publish, from the side of a client of the host: what it reaches, what it does not, and that nothing of it is left when agentjail ends.
In a network namespace of the test's own, so that every port is free and the host has a second address."""

import json
import os
import signal
import socket
import subprocess

import world

world.enter()
from client import AJ, FOLDER, check, main, test, until  # noqa: E402
from procfs import alive, below  # noqa: E402

OTHER = "192.0.2.2"
for words in (["link", "set", "lo", "up"], ["addr", "add", OTHER + "/32", "dev", "lo"]):
    world.ip(*words)
words = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.environ["AJ_WORLD"] == "user" else []
BELOW_1024 = words  # an ordinary user may not open these
# A server of one thread: it says who asks, sends back what it gets until the client's end, then its name.
SERVER = """
import socket, sys, threading
name, family, address, port = sys.argv[1], *((socket.AF_INET6, "::1") if sys.argv[2] == "6" else (socket.AF_INET, "127.0.0.1")), int(sys.argv[3])
s = socket.socket(family); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind((address, port)); s.listen(64)
print("listens", flush=True)
def serve(c):
    while (data := c.recv(1 << 16)):
        c.sendall(data)
    c.sendall(name.encode())
    c.close()
while True:
    c, peer = s.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
"""


class Jail:
    def __init__(self, *options, name="one", family="4", port="8000", **how):
        words_of_server = [world.PYTHON, "-I", "-S", "-c", SERVER, name, family, port]
        self.process = subprocess.Popen([*words, AJ, "run", *options, "--", *words_of_server], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)
        self.line = self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)


def ask(port, data=b"hello ", address="127.0.0.1"):
    """What a server behind the port answers, b"" for a connection that is reset, None where none is made."""
    try:
        s = socket.create_connection((address, port), 20)
    except ConnectionResetError:  # the connection was made, and reset before connect(2) came to look at it
        return b""
    except OSError:
        return None
    answer = b""
    with s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while piece := s.recv(1 << 16):
                answer += piece
        except OSError:
            pass
    return answer


def agent(*more):
    return subprocess.run([*words, AJ, "run", *more, "--", "true"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


@test
def a_server():
    with Jail("--publish", "8000") as jail:
        check("is reached", jail.line == "listens\n" and ask(8000) == b"hello one", jail.line)
        check("and not by another address of the host", ask(8000, address=OTHER) is None)
        check("nor by IPv6", ask(8000, address="::1") is None)
        big = os.urandom(3 << 20)
        sender = socket.create_connection(("127.0.0.1", 8000), 20)
        with sender:
            pieces = []
            pid = os.fork()
            if pid == 0:
                sender.sendall(big)
                sender.shutdown(socket.SHUT_WR)
                os._exit(0)
            while piece := sender.recv(1 << 20):
                pieces.append(piece)
            os.waitpid(pid, 0)
        check("bytes arrive whole, both ways", b"".join(pieces) == big + b"one")
        many = [socket.create_connection(("127.0.0.1", 8000), 20) for _ in range(60)]
        for s in many:
            s.sendall(b"x")
            s.shutdown(socket.SHUT_WR)
        check("many at a time", all(s.makefile("rb").read() == b"xone" for s in many))
        for s in many:
            s.close()
    check("the port is free afterwards", ask(8000) is None)
    with socket.create_server(("127.0.0.1", 8000)):
        pass


@test
def what_is_told():
    """Counts in the result, and records of the audit trail."""
    site, trail, config = FOLDER + "/audited.toml", FOLDER + "/trail", ()
    if not words:  # in a user namespace the folders above are of no id of its own, and so refused
        os.mkdir(trail, 0o700)
        with open(site, "w", encoding="utf-8") as f:
            f.write('[audit]\ndestination = "file:%s/a.jsonl"\n' % trail)
        os.chmod(site, 0o644)
        config = ("--config", site)
    report = FOLDER + "/result.json"
    out = os.open(report, os.O_RDWR | os.O_CREAT, 0o600)
    jail = subprocess.Popen([*words, AJ, "run", "--json", "--publish", "8010:8000", "--publish", "[::1]:8011:8000", *config, "--", world.PYTHON, "-I", "-S", "-c", SERVER, "one", "4", "8000"],
                            stdin=subprocess.DEVNULL, stdout=out)
    check("control: it is reached", until(lambda: ask(8010) == b"hello one"))
    with socket.create_connection(("127.0.0.1", 8010), 20) as still:
        still.sendall(b"xyz")
        check("control: it answers", still.recv(3) == b"xyz")
        check("another port, another address", ask(8011, b"hi ", "::1") == b"hi one")
        client = "127.0.0.1:%d" % still.getsockname()[1]
        jail.send_signal(signal.SIGTERM)
        jail.wait(60)
    os.close(out)
    with open(report, encoding="utf-8") as f:
        network = json.load(f)["network"]
    check("connections and bytes are counted, also of one that was open", network["published"] >= 3 and network["published_bytes_in"] == 12 and
          network["published_bytes_out"] == 18 and network["connections"] == network["bytes_out"] == 0, network)
    if words:
        return
    with open(trail + "/a.jsonl", encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    found = [p for r in records if r["event"] == "published" for p in r["published"]]
    check("each is a record", len(found) == network["published"] and {r["event"] for r in records} == {"start", "published", "end"}, records)
    last = [p for p in found if p["client"] == client]
    check("with client, ports, bytes and time", len(last) == 1 and [last[0][k] for k in ("port", "guest_port", "bytes_in", "bytes_out")] == [8010, 8000, 3, 3] and last[0]["lasted_ms"] >= 0, found)
    check("of both families", [(p["port"], p["bytes_in"]) for p in found if p["client"].startswith("[::1]:")] == [(8011, 3)], found)


@test
def forms():
    with Jail("--publish", "8001:9000", "--publish", "[::1]:8002:9000", "--publish", "%s:8003:9000" % OTHER, port="9000", family="6"):
        check("a server on ::1 alone, by another port", ask(8001) == b"hello one")
        check("a port on ::1", ask(8002, address="::1") == b"hello one")
        check("a port on an address that is written out", ask(8003, address=OTHER) == b"hello one" and ask(8003) is None)
    with Jail("--publish", "8001:1", port="8000"):
        check("nobody listens there: a reset, at once", ask(8001) == b"")
    with Jail("--publish", "8000", "--allow-host", "a.test:80"):
        check("beside a network by allow-list", ask(8000) == b"hello one")


@test
def two_jails():
    with Jail("--publish", "8001:8000", name="one"), Jail("--publish", "8002:8000", name="two"):
        check("with the same port of their own", (ask(8001), ask(8002)) == (b"hello one", b"hello two"))


@test
def a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 8000)):
        done = agent("--publish", "8005", "--publish", "8000", "--json")
        check("nothing runs", done.returncode == 125 and json.loads(done.stdout)["status"] == "setup_error", done)
        check("the error has port and fix", "127.0.0.1:8000" in done.stdout and "Address already in use" in done.stdout and "--publish 18000:8000" in done.stdout, done)
    check("and no other port stays open", ask(8005) is None)
    if BELOW_1024:
        done = agent("--publish", "80")
        check("a user's port below 1024, likewise", done.returncode == 125 and "--publish 8080:80" in done.stderr, done)
    done = agent("--publish", "203.0.113.1:8000")
    check("an address that the host has not", done.returncode == 125 and "must be an address of this host" in done.stderr, done)


@test
def refusals():
    done = agent("--publish", "8000", "--network", "host")
    check("of no use with the host's network", done.returncode == 2 and "servers of the jail listen on the host itself" in done.stderr, done)
    site = FOLDER + "/site.toml"
    for lock, option, good in (("network.publish", "8000", False), ("network.publish_to", "8000", True), ("network.publish_to", "0.0.0.0:8000", False),
                               ("network.publish_to", "127.0.0.2:8000", True), ("network.mode", "8000", False)):
        with open(site, "w", encoding="utf-8") as f:
            f.write('[policies]\nlock = ["%s"]\n' % lock)
        os.chmod(site, 0o644)
        done = agent("--config", site, "--publish", option)
        check("a site that locks %s, and %s" % (lock, option), done.returncode == (0 if good else 2) and good == ("locks that key" not in done.stderr), done)
    policy = FOLDER + "/published.toml"
    with open(policy, "w", encoding="utf-8") as f:
        f.write('extends = "snippet"\n[process]\nexec = true\n[network]\nmode = "loopback"\npublish = ["8000"]\n')
    os.chmod(policy, 0o644)
    done = subprocess.run([*words, AJ, "exec", "--policy-file", policy, "-c", "1"], capture_output=True, text=True, timeout=60)
    check("snippets publish nothing", done.returncode == 2 and "for commands" in done.stderr, done)


@test
def ends():
    if os.environ["AJ_WORLD"] == "user":
        return
    jail = Jail("--publish", "8000")
    tree = below(jail.process.pid)
    check("control: a publisher and the jail", len(tree) >= 3 and ask(8000) == b"hello one", tree)
    idle = socket.create_connection(("127.0.0.1", 8000), 20)
    jail.process.kill()
    jail.process.wait()
    check("a supervisor that is killed takes all with it", until(lambda: not any(alive(pid) for pid in tree)), tree)
    check("with the port", ask(8000) is None)
    idle.close()
    with Jail("--publish", "8000") as jail:
        publishers = [pid for pid in below(jail.process.pid) if os.readlink("/proc/%d/exe" % pid).endswith("agentjail") and holds_a_listener(pid)]
        check("one process holds the port", len(publishers) == 1, publishers)
        net = os.readlink("/proc/%d/ns/net" % publishers[0])
        check("in the jail's network namespace", net != os.readlink("/proc/self/ns/net"), net)
        with open("/proc/%d/status" % publishers[0], encoding="ascii") as f:
            status = f.read()
        check("without capabilities, under a filter", "CapEff:\t0000000000000000" in status and "CapPrm:\t0000000000000000" in status and "Seccomp:\t2" in status and "NoNewPrivs:\t1" in status, status)
        os.kill(publishers[0], signal.SIGKILL)
        check("without it the port is closed, and the command continues", until(lambda: ask(8000) is None) and jail.process.poll() is None)


def holds_a_listener(pid):
    with open("/proc/self/net/tcp", encoding="ascii") as f:
        inodes = [line.split()[9] for line in f if line.split()[3] == "0A" and line.split()[1].endswith(":1F40")]
    return any("socket:[%s]" % inode == os.readlink("/proc/%d/fd/%s" % (pid, fd)) for inode in inodes for fd in os.listdir("/proc/%d/fd" % pid))


main()
