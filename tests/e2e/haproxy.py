"""Two services behind the real HAProxy, with the configuration of docs/examples: haproxy.sh runs it and counts."""
import subprocess, threading

from client import EXAMPLES, FOLDER, LONG, Client, Server, main, same, test, until


class Proxy:
    """HAProxy with the example's configuration, its paths replaced by those of this test."""

    def __init__(self):
        self.services = [Server("--parked", "1", path="%s/%s.sock" % (FOLDER, name)) for name in ("one", "two")]
        with open(EXAMPLES + "/haproxy.cfg") as f:
            text = f.read()
        self.path = FOLDER + "/all.sock"
        with open(FOLDER + "/haproxy.cfg", "w") as f:
            f.write(text.replace("/run/agentjail/", FOLDER + "/"))
        self.log = open(FOLDER + "/haproxy.log", "w")
        # HAProxy returns to the folder in which it began, which a user may have no access to.
        self.process = subprocess.Popen(["haproxy", "-db", "-f", FOLDER + "/haproxy.cfg"], cwd=FOLDER, stdout=self.log, stderr=self.log)
        assert until(self.answers), open(self.log.name).read()

    def answers(self):
        try:
            return self.client().ask("ping") == {}
        except (OSError, EOFError):
            return False

    def client(self):
        c = Client(self.path)
        c.socket.settimeout(LONG)
        return c

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        for s in self.services:
            s.stop()


@test
def a_connection_is_a_session():
    with Proxy() as proxy:
        clients = [proxy.client() for _ in range(8)]
        sessions = [c.ask("open")["session"] for c in clients]
        for i, (c, session) in enumerate(zip(clients, sessions)):
            c.ask("run", session=session, code="x = %d" % i)
        for i, (c, session) in enumerate(zip(clients, sessions)):
            same(c.ask("run", session=session, code="x * 10")["value"], i * 10)
        counts = [s.client().ask("stats")["sessions"] for s in proxy.services]
        same(sorted(counts), [4, 4], "leastconn spreads them")


@test
def a_service_that_dies():
    """Its connections end, others go on, and new ones go to the service that lives."""
    with Proxy() as proxy:
        clients = [proxy.client() for _ in range(6)]
        sessions = [c.ask("open")["session"] for c in clients]
        proxy.services[0].process.kill()
        proxy.services[0].process.wait()
        lost = 0
        for c, session in zip(clients, sessions):
            try:
                same(c.ask("run", session=session, code="1 + 1")["value"], 2)
            except (EOFError, OSError):
                lost += 1
        same(lost, 3, "the sessions of the dead service, and no others")
        for _ in range(8):
            same(proxy.client().ask("exec", code="6 * 7")["value"], 42)


@test
def more_clients_than_room():
    """maxconn holds them back, and each is answered in its turn."""
    with Proxy() as proxy:
        done, lock = [], threading.Lock()

        def one(i):
            c = proxy.client()
            session = c.ask("open")["session"]
            value = c.ask("run", session=session, code="%d + 1" % i)["value"]
            c.socket.close()
            with lock:
                done.append(value)
        threads = [threading.Thread(target=one, args=(i,)) for i in range(120)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(LONG)
        same(sorted(done), list(range(1, 121)))


main()
