"""A service of several processes (`serve --shards`): a tenant's jails are in one of them, whichever connection asks; a shard that falls
takes no other's jails with it and comes back; the end leaves nothing. shards.sh runs it and counts."""
import ctypes, json, os, signal, socket, struct

from client import FOLDER, LONG, ROOT, Server, ServiceError, fails, main, same, skip, test, until
from procfs import alive, below, children

SHARDS = ("--shards", "3")
TENANTS = ["t%d" % i for i in range(8)]


def place(c):
    return c.ask("stats")["shard"]


def open_in(s, shard):
    """A connection with an open session that this shard serves, and the tenant."""
    for tenant in TENANTS:
        c = s.client()
        session = c.ask("open", tenant=tenant)["session"]
        if place(c) == shard:
            return c, session, tenant
    raise AssertionError("no tenant of shard %d" % shard)


@test
def a_tenant_is_served_in_one_place():
    with Server(*SHARDS, "--parked", "1") as s:
        places = {}
        for tenant in TENANTS * 3:
            c = s.client()
            same(c.ask("exec", tenant=tenant, code="6 * 7")["value"], 42)
            places.setdefault(tenant, set()).add(place(c))
            c.socket.close()
        assert all(len(found) == 1 for found in places.values()), places
        same(set().union(*places.values()), {0, 1, 2}, "all shards serve")
        same(s.client().ask("stats")["shards"], 3)


@test
def a_connection_stays_where_its_first_jail_was():
    with Server(*SHARDS, "--parked", "0") as s:
        c, session, tenant = open_in(s, 0)
        for other in TENANTS:
            same(c.ask("exec", tenant=other, code="1")["value"], 1)
            same(place(c), 0)
        c.ask("run", session=session, code="x = 41")
        same(c.ask("run", session=session, code="x + 1")["value"], 42)


def frame(**request):
    body = json.dumps(request).encode()
    return struct.pack(">I", len(body)) + body


@test
def requests_that_came_with_the_first_one_go_with_it():
    with Server(*SHARDS, "--parked", "0") as s:
        for tenant in TENANTS[:6]:
            c = s.client()
            c.socket.sendall(frame(op="ping", id="before") + frame(op="exec", id="one", tenant=tenant, code="1") +
                             frame(op="ping", id="behind") + frame(op="exec", id="two", tenant=tenant, code="2")[:20])
            answers = [c.receive()["id"] for _ in range(3)]
            same(sorted(answers), ["before", "behind", "one"])
            c.socket.sendall(frame(op="exec", id="two", tenant=tenant, code="2")[20:])
            same(c.receive()["result"]["value"], 2)


@test
def a_long_request_goes_whole():
    with Server(*SHARDS, "--parked", "0") as s:
        for tenant in TENANTS[:4]:
            text = "x" * 3000000
            same(s.client().ask("exec", tenant=tenant, code="len(t)", inputs={"t": text})["value"], len(text))


@test
def a_shard_that_falls_takes_no_other_with_it():
    with Server(*SHARDS, "--parked", "1", "--metrics", FOLDER + "/numbers") as s:
        kept, session, _ = open_in(s, 1)
        lost, _, tenant = open_in(s, 2)
        kept.ask("run", session=session, code="x = 5")
        lost.ask("exec", tenant=tenant, code="1")
        same(len(children(s.pid)), 3)
        assert until(lambda: counted(FOLDER + "/numbers", "agentjail_sessions_opened_total") >= 2)
        before = counted(FOLDER + "/numbers", "agentjail_sessions_opened_total")
        fallen = owner_of(lost, s)
        inside = below(fallen)
        os.kill(fallen, signal.SIGKILL)
        try:
            lost.ask("ping")
            raise AssertionError("its connection lives on")
        except (EOFError, OSError):
            pass
        assert until(lambda: not any(alive(pid) for pid in inside)), "its jails live on"
        same(kept.ask("run", session=session, code="x")["value"], 5)
        assert until(lambda: "has ended" in s.said()), s.said()  # until then the fallen one may count as a child
        assert until(lambda: len(children(s.pid)) == 3), "it is not started again"

        def again():
            try:
                c = s.client()
                return c.ask("exec", tenant=tenant, code="7")["value"] == 7 and place(c) == 2
            except (EOFError, OSError):
                return False
        assert until(again), "its tenants are not served again"
        assert counted(FOLDER + "/numbers", "agentjail_sessions_opened_total") >= before, "a counter went back"


def owner_of(client, server):
    """The shard in which a new process appears while the client's session opens."""
    before = {pid: set(below(pid)) for pid in children(server.pid)}
    session = client.ask("open", tenant="of-" + str(id(client)))["session"]
    grown = [pid for pid, old in before.items() if set(below(pid)) - old]
    client.ask("close", session=session)
    same(len(grown), 1, "shards that have grown")
    return grown[0]


def counted(path, name):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " ") or line.startswith(name + "{"))


@test
def numbers_are_those_of_all():
    with Server(*SHARDS, "--parked", "0", "--metrics", FOLDER + "/all") as s:
        sessions = [open_in(s, shard) for shard in range(3)]
        runs = 0
        for c, session, _ in sessions:
            for _ in range(3):
                runs += c.ask("run", session=session, code="1")["value"]
        open_ones = lambda: {c.ask("stats")["sessions"] for c, _, _ in sessions}
        assert until(lambda: len(open_ones()) == 1), "each shard tells another number: %s" % open_ones()
        assert until(lambda: counted(FOLDER + "/all", "agentjail_runs_total") == runs), counted(FOLDER + "/all", "agentjail_runs_total")
        same(counted(FOLDER + "/all", "agentjail_sessions"), open_ones().pop())
        for c, session, _ in sessions:
            c.ask("close", session=session)
        s.forget()
        assert until(lambda: counted(FOLDER + "/all", "agentjail_jails_in_use") == 0)


@test
def limits_are_shared_out():
    with Server(*SHARDS, "--parked", "0", "--sessions-max", "4", "--tenant-sessions", "2", "--jails-max", "6") as s:
        c, session, tenant = open_in(s, 0)
        s2 = c.ask("open", tenant=tenant)["session"]
        fails("busy", lambda: c.ask("open", tenant=tenant))
        c.ask("close", session=s2)


@test
def the_first_signal_lets_snippets_finish():
    s = Server(*SHARDS, "--parked", "1")
    c, session, _ = open_in(s, 1)
    c.send(op="run", id=1, session=session, code="print('begun', flush=True)\nimport time\ntime.sleep(0.5)\n8", stream=True)
    same(c.receive()["data"], "begun\n")
    inside = below(s.pid)
    s.process.send_signal(signal.SIGTERM)
    same(c.receive()["result"]["value"], 8)
    same(s.process.wait(LONG), 0)
    assert not os.path.exists(s.path), "the socket stays"
    assert not any(alive(pid) for pid in inside), "processes stay"


@test
def the_second_signal_waits_for_none():
    s = Server(*SHARDS, "--parked", "0", "--grace", "1h")
    c, session, _ = open_in(s, 2)
    c.send(op="run", id=1, session=session, code="print('begun', flush=True)\nwhile True: pass", stream=True, timeout_ms=3600000)
    same(c.receive()["data"], "begun\n")
    s.process.send_signal(signal.SIGTERM)
    assert until(lambda: "stopping" in s.said())
    s.process.send_signal(signal.SIGTERM)
    same(s.process.wait(LONG), 0)


@test
def a_group_of_signals_is_one():
    """A service manager signals every process of the cgroup: a shard obeys the front alone."""
    s = Server(*SHARDS, "--parked", "0")
    c, session, _ = open_in(s, 0)
    c.send(op="run", id=1, session=session, code="print('begun', flush=True)\nimport time\ntime.sleep(0.5)\n9", stream=True)
    same(c.receive()["data"], "begun\n")
    for pid in children(s.pid) + [s.pid]:
        os.kill(pid, signal.SIGTERM)
    same(c.receive()["result"]["value"], 9)
    same(s.process.wait(LONG), 0)


@test
def all_end_with_the_front():
    s = Server(*SHARDS, "--parked", "2")
    open_in(s, 1)
    inside = below(s.pid)
    assert len(inside) > 6, inside
    s.process.kill()
    s.process.wait()
    assert until(lambda: not any(alive(pid) for pid in inside)), "processes live on"
    os.unlink(s.path)  # it stays, and the next start replaces it


@test
def a_request_while_it_stops_is_refused():
    """Wherever its connection is: no shard gives one away then, or drops one without a word."""
    s = Server(*SHARDS, "--parked", "0", "--grace", "1h")
    busy = [open_in(s, shard) for shard in range(3)]
    for c, session, _ in busy:
        c.send(op="run", id=1, session=session, code="print('begun', flush=True)\nwhile True: pass", stream=True, timeout_ms=3600000)
        same(c.receive()["data"], "begun\n")
    clients = [(s.client(), tenant) for _ in range(3) for _, _, tenant in busy]
    same([c.ask("ping") for c, _ in clients], [{}] * len(clients))
    s.process.send_signal(signal.SIGTERM)
    for c, session, _ in busy:  # each shard knows that it stops
        def stops():
            try:
                c.ask("fork", session=session)
            except ServiceError as e:
                return e.code == "shutting_down"
        assert until(stops)
    for c, tenant in clients:
        fails("shutting_down", lambda: c.ask("exec", tenant=tenant, code="1"))
    s.process.send_signal(signal.SIGTERM)
    same(s.process.wait(LONG), 0)


@test
def a_shard_that_hangs_ends_with_the_front():
    s = Server(*SHARDS, "--parked", "1")
    open_in(s, 1)
    inside = below(s.pid)
    os.kill(children(s.pid)[0], signal.SIGSTOP)
    s.process.kill()
    s.process.wait()
    assert until(lambda: not any(alive(pid) for pid in inside)), "processes live on"
    os.unlink(s.path)


@test
def a_shard_that_hangs_does_not_keep_the_second_signal():
    s = Server(*SHARDS, "--parked", "0")
    inside = below(s.pid)
    os.kill(children(s.pid)[0], signal.SIGSTOP)
    s.process.send_signal(signal.SIGTERM)
    assert until(lambda: "stopping" in s.said())
    s.process.send_signal(signal.SIGTERM)
    same(s.process.wait(LONG), 0)
    assert not any(alive(pid) for pid in inside), "processes stay"
    assert "does not end" in s.said(), s.said()


class Watched(Server):
    """A service whose manager wants a sign of life within four seconds; the front looks at the shards once in the half of that."""

    def __init__(self, *options):
        path = FOLDER + "/manager%d" % Server.count
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(path)
        super().__init__(*options, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "4000000"})

    def __exit__(self, *error):
        super().__exit__(*error)
        os.unlink(self.manager.getsockname())
        self.manager.close()


def is_replaced(s, pid):
    return until(lambda: not alive(pid) and len(children(s.pid)) == 3)


@test
def a_shard_that_hangs_is_killed_and_started_again():
    with Watched(*SHARDS, "--parked", "0") as s:
        kept, session, _ = open_in(s, 1)
        lost, _, tenant = open_in(s, 2)
        hung = owner_of(lost, s)
        inside = below(hung)
        os.kill(hung, signal.SIGSTOP)
        assert is_replaced(s, hung), "it hangs on: " + s.said()
        assert until(lambda: not any(alive(pid) for pid in inside)), "its jails live on"
        assert "shard 2 hangs, and is killed" in s.said(), s.said()
        same(kept.ask("run", session=session, code="7")["value"], 7)

        def again():
            try:
                return s.client().ask("exec", tenant=tenant, code="7")["value"] == 7
            except (EOFError, OSError):
                return False
        assert until(again), "its tenants are not served again"


@test
def a_shard_that_works_is_not_killed():
    with Watched(*SHARDS, "--parked", "0") as s:
        c, session, _ = open_in(s, 1)
        shards = children(s.pid)
        for _ in range(4):  # as many looks of the front's, and more
            while b"WATCHDOG=1" not in s.manager.recv(300):
                pass
        same(children(s.pid), shards)
        same(c.ask("run", session=session, code="7")["value"], 7)


def stop_next_child(pid, cause):
    """The process `pid` makes a child after cause(); that child is stopped before it executes anything. None: we may trace nothing."""
    SEIZE, DETACH, TRACEFORK, ANY = 0x4206, 17, 2, 0x40000000
    libc = ctypes.CDLL(None, use_errno=True)

    def ptrace(request, process, data):
        return libc.ptrace(ctypes.c_long(request), process, None, ctypes.c_void_p(data))
    before = set(children(pid))
    if ptrace(SEIZE, pid, TRACEFORK) < 0:
        return None
    cause()
    while os.waitpid(pid, ANY)[1] >> 16 != 1:  # PTRACE_EVENT_FORK
        libc.ptrace(ctypes.c_long(7), pid, None, None)  # PTRACE_CONT
    child = (set(children(pid)) - before).pop()
    os.waitpid(child, ANY)
    os.kill(child, signal.SIGSTOP)
    ptrace(DETACH, child, 0)
    ptrace(DETACH, pid, 0)
    return child


@test
def a_shard_that_hangs_at_its_start_holds_up_nothing():
    with Watched(*SHARDS, "--parked", "0", "--metrics", FOLDER + "/while") as s:
        kept, session, _ = open_in(s, 1)
        lost, _, _ = open_in(s, 2)
        fallen = owner_of(lost, s)
        hung = stop_next_child(s.pid, lambda: os.kill(fallen, signal.SIGKILL))
        if hung is None:
            return skip("hangs at its start", "no process may be traced here")
        assert counted(FOLDER + "/while", "agentjail_runs_total") >= 0
        same(kept.ask("run", session=session, code="7")["value"], 7)
        assert is_replaced(s, hung), "it hangs on: " + s.said()
        assert "shard 2 hangs at its start, and is killed" in s.said(), s.said()


@test
def a_service_whose_shard_hangs_at_its_start_ends_by_signals():
    s = Server(*SHARDS, "--parked", "0")
    hung = stop_next_child(s.pid, lambda: os.kill(children(s.pid)[0], signal.SIGKILL))
    if hung is None:
        s.stop()
        return skip("ends while a shard starts", "no process may be traced here")
    s.process.send_signal(signal.SIGTERM)
    assert until(lambda: "stopping" in s.said())
    s.process.send_signal(signal.SIGTERM)
    same(s.process.wait(LONG), 0)
    assert not alive(hung)


@test
def connections_up_to_the_limit_are_served_whichever_shard_they_reach():
    with Server("--shards", "4", "--clients-max", "8", "--parked", "0") as s:
        clients = [s.client() for _ in range(8)]
        same([c.ask("ping") for c in clients], [{}] * 8)


@test
def the_processes_of_jails_have_no_part_in_the_numbers():
    """A holder and an init are no programs of their own: they begin as copies of a shard's memory."""
    with Server(*SHARDS, "--parked", "1") as s:
        c, session, _ = open_in(s, 1)
        shards = children(s.pid)

        def shared(pid):
            try:
                with open("/proc/%d/maps" % pid) as f:
                    return [line for line in f if " rw-s" in line]
            except OSError:  # it has ended, or is not dumpable and we are not root
                return []
        assert not ROOT or all(shared(pid) for pid in shards), "no shard has the board"
        same([pid for pid in below(s.pid) if pid not in shards and shared(pid)], [])


@test
def what_cannot_be():
    for options, text in ((("--shards", "2", "--connection", "9"), "--connection"), (("--shards", "0"), "--shards"),
                          (("--shards", "2", "--policy", "no-such"), "no-such")):
        s = Server(*options, wait=False)
        assert s.process.wait(LONG) not in (0, None)
        assert text in s.said(), s.said()
        same(children(s.pid), [])


main()
