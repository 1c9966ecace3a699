"""How the service begins, how much it takes, and how it ends; each test has a service of its own. serve.sh runs it and counts."""
import hashlib, itertools, json, os, resource, select, signal, socket, struct, subprocess, sys, time

from client import AJ, Client, EXAMPLES, FOLDER, LONG, ROOT, Server, ServiceError, Skipped, exchange, fails, main, same, test, until
from procfs import alive, below, guests, status

NUMBER = {"name": "number", "parameters": {"type": "object", "properties": {}}}


def refused(text, *options, **how):
    with Server(*options, wait=False, **how) as s:
        code = s.process.wait(LONG)
        assert code != 0, "it starts"
        assert text in s.said(), "no `%s` in: %s" % (text, s.said())
        return s


@test
def what_it_runs_is_recorded():
    log, site = FOLDER + "/trail.jsonl", FOLDER + "/site.toml"
    with open(site, "w") as f:
        f.write('[audit]\ndestination = "file:%s"\n' % log)
    with Server("--config", site, "--parked", "0") as s:
        c = s.client()
        same(c.ask("exec", code="6 * 7")["value"], 42)
        session = c.ask("open")["session"]
        same(c.ask("run", session=session, code="x = 1\nx")["value"], 1)
        c.ask("set", session=session, variables={"y": 2})
        same(c.ask("run", session=session, code="import pty")["status"], "rejected")
        c.send(op="run", id=1, session=session, code="print(1, flush=True)\nwhile True: pass", stream=True)
        same(c.receive()["data"], "1\n")
        s.forget()  # who goes takes his sessions with him, and what runs in them
    with open(log) as f:
        records = [json.loads(text) for text in f]
    ends = [r for r in records if r["event"] == "end"]
    same([r["status"] for r in ends[:4]], ["ok", "ok", "ok", "rejected"])
    same([r["event"] for r in records], ["start", "end"] * 5)
    for start, end in zip(records[::2], records[1::2]):
        same((start["id"], start["code_sha256"]), (end["id"], end["code_sha256"]))
    same(ends[0]["code_sha256"], hashlib.sha256(b"6 * 7").hexdigest())
    same(subprocess.run([AJ, "audit", "verify", log], stdout=subprocess.DEVNULL).returncode, 0)


@test
def a_limit_that_is_not_enforced_is_said_once():
    # One percent less than the host has: exact with a cpu cgroup alone.
    percent = str(os.cpu_count() * 100 - 1)
    with Server("--parked", "0", "--memory", "64M", "--cpu-percent", percent) as s:
        c = s.client()
        result = c.ask("exec", code="1")
        c.ask("exec", code="2", tenant="another")
        lines = [line for line in s.said().splitlines() if "--cpu-percent" in line or "--memory" in line]
        by = result["enforced"]["cpu"]
        if by.startswith("cgroup"):
            same(lines, [])
        else:
            same(len(lines), 1, s.said())
            assert lines[0].endswith("snippet: --cpu-percent %s is not enforced: %s" % (percent, by.removeprefix("none: "))), lines


@test
def jails_of_a_service_are_held_to_their_processors():
    if os.cpu_count() < 2:
        return
    with Server("--parked", "1", "--policy", "snippet", "--cpu-percent", "100", "--allow-import", "os") as s:
        c = s.client()
        for how in ("warm", "a second one"):
            result = c.ask("exec", code="import os\nlen(os.sched_getaffinity(0))")
            if result["enforced"]["cpu"].startswith("cgroup"):
                return
            same(result["value"], 1, how)


# --- jails that die, or wait, in the middle of something ---

def branching(c):
    session = c.ask("open", branching=True)["session"]
    c.ask("run", session=session, code="x = 5")
    return session


@test
def an_interrupt_of_a_checkpoint_leaves_the_session():
    with Server("--parked", "0") as s:
        c = s.client()
        session = branching(c)
        for op, more in (("checkpoint", {}), ("rollback", {"checkpoint": c.ask("checkpoint", session=session)["checkpoint"]})):
            jailed = guests(s.pid)
            for guest in jailed.values():
                os.kill(guest, signal.SIGSTOP)
            c.send(op=op, id="slow", session=session, **more)
            c.send(op="interrupt", id="stop", request="slow")
            frames = [c.receive()]
            for guest in jailed.values():
                os.kill(guest, signal.SIGCONT)
            frames.append(c.receive())
            answers = {f["id"]: f for f in frames}
            assert "stop" in answers and "slow" in answers, frames
            same(c.ask("run", session=session, code="x")["value"], 5, "%s: the session lives: %s" % (op, answers))


@test
def who_waits_for_a_branch_of_one_that_dies():
    with Server("--parked", "0") as s:
        c = s.client()
        one = branching(c)
        two = c.ask("fork", session=one)["session"]
        first, second = sorted(guests(s.pid))[-2:]
        jailed = guests(s.pid)
        os.kill(jailed[first], signal.SIGSTOP)
        c.send(op="checkpoint", id="a", session=one)
        c.send(op="checkpoint", id="b", session=two)
        os.kill(jailed[second], signal.SIGKILL)
        frames = [c.receive(), c.receive()]
        same({f.get("id", f.get("event")) for f in frames}, {"b", "ended"}, frames)
        os.kill(jailed[first], signal.SIGCONT)
        same(c.receive()["id"], "a")
        same(c.ask("run", session=one, code="x")["value"], 5)


@test
def a_rollback_of_one_that_dies_meanwhile():
    with Server("--parked", "0") as s:
        c = s.client()
        session = branching(c)
        own = max(guests(s.pid))
        kept = c.ask("checkpoint", session=session)["checkpoint"]
        jailed = guests(s.pid)
        os.kill(jailed[max(jailed)], signal.SIGSTOP)
        c.send(op="rollback", id="back", session=session, checkpoint=kept)
        os.kill(jailed[own], signal.SIGKILL)
        same(c.receive()["event"], "ended")
        os.kill(jailed[max(jailed)], signal.SIGCONT)
        same((lambda f: (f["id"], f.get("result")))(c.receive()), ("back", {}))
        same(c.ask("run", session=session, code="x")["value"], 5)


@test
def why_an_idle_session_ended():
    with Server("--parked", "0") as s:
        c = s.client()
        session = c.ask("open")["session"]
        same(c.ask("run", session=session, code="1 / 0")["status"], "error")
        os.kill(guests(s.pid)[2], signal.SIGKILL)
        event = c.receive()
        same((event["event"], event["session"], event["why"]), ("ended", session, "ended by SIGKILL"))


# --- the socket ---

@test
def socket_is_ours_alone():
    with Server() as s:
        same(oct(os.stat(s.path).st_mode & 0o7777), "0o600")
        refused("another process listens", path=s.path)
        same(s.client().ask("ping"), {}, "the first one continues")
        same(s.stop(), 0)
        same(os.path.exists(s.path), False)


@test
def a_parked_jails_usage_is_open_before_its_snippet():
    with Server("--parked", "2") as s:
        c = s.client()
        assert until(lambda: c.ask("stats")["parked"] == 2), "no two jails are parked"
        folder = "/proc/%d/fd/" % s.pid
        names = [os.readlink(folder + number) for number in os.listdir(folder)]
        same(sum(name.startswith("/proc/") and name.endswith("/status") for name in names), 2)


@test
def dead_socket_is_replaced():
    with Server() as s:
        # A process that is being born has a copy of the listener until it ends, and would be taken for a service.
        c = s.client()
        assert until(lambda: (lambda stats: stats["parked"] and not stats["starting"])(c.ask("stats"))), "its jails do not start"
        jails = below(s.pid)
        s.process.kill()
        s.process.wait()
        assert until(lambda: not any(map(alive, jails))), "its jails are still there"
        assert os.path.exists(s.path), "nothing to replace"
        with Server(path=s.path) as t:
            same(t.client().ask("exec", code="1")["value"], 1)


@test
def what_is_no_socket_of_ours_stays():
    path = FOLDER + "/file"
    with open(path, "w") as f:
        f.write("mine")
    refused("is no socket", path=path)
    same(open(path).read(), "mine")
    link = FOLDER + "/link"
    os.symlink(path, link)
    refused("is no socket", path=link)
    same(os.path.islink(link), True)
    refused("the folder", path=FOLDER + "/none/s")
    refused("not an absolute path", path="relative")
    refused("of at most", path=FOLDER + "/" + "x" * 120)
    loose = FOLDER + "/loose"
    os.mkdir(loose)
    os.chmod(loose, 0o777)
    refused("other users may write", path=loose + "/s")


@test
def another_socket_in_its_place_stays():
    with Server() as s:
        os.rename(s.path, s.path + ".moved")
        other = socket.socket(socket.AF_UNIX)
        other.bind(s.path)
        same(s.stop(), 0)
        same(os.path.exists(s.path), True, "somebody else's socket")
        os.unlink(s.path)
        os.unlink(s.path + ".moved")


@test
def others_are_denied():
    if not ROOT:
        raise Skipped("only root can be another user")
    os.chmod(FOLDER, 0o755)
    ask = ("import sys; sys.path.insert(0, %r); from client import *\ntry:\n c = Client(%r); print('served', c.ask('exec', code='1+1')['value'])\n"
           "except ServiceError as e: print(e.code)\nexcept OSError as e: print(type(e).__name__)\n")
    with open(FOLDER + "/client.py", "w") as f:
        f.write(open(EXAMPLES + "/client.py").read())
    as_user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    with Server() as s:
        def come(prefix):
            return subprocess.run(prefix + [sys.executable, "-I", "-S", "-c", ask % (FOLDER, s.path)], stdout=subprocess.PIPE).stdout.decode().strip()
        same(come([]), "served 2", "control")
        same(come(as_user), "PermissionError", "the mode of the file")
        os.chmod(s.path, 0o666)
        same(come(as_user), "denied", "the credentials")
        assert "user 65534" in s.said(), s.said()


# --- how much it takes ---

@test
def room_is_limited():
    with Server("--jails-max", "1", "--queue-max", "4", "--sessions-max", "1", "--parked", "1") as s:
        a, b = s.client(), s.client()
        session = a.ask("open")["session"]
        e = fails("busy", b.ask, "open")
        assert e.retry_ms >= 10, e.retry_ms
        for i in range(3):
            a.send(op="exec", id=i, code="'a%d'" % i)
        frame = a.receive()
        same((frame["id"], frame["error"]["code"]), (2, "busy"), "half of the queue is one client's")
        b.send(op="exec", id=0, code="'b0'")
        b.send(op="exec", id=1, code="'b1'")
        same(b.ask("stats")["requests_waiting"], 4)
        c = s.client()
        fails("busy", c.ask, "exec", code="1")
        a.send(op="interrupt", id="i", request=1)
        frames = {f["id"]: f for f in (a.receive(), a.receive())}
        same((frames[1]["error"]["code"], frames["i"]["result"]), ("interrupted", {}))
        a.send(op="close", id="c", session=session)
        same(a.receive()["result"], {})
        same((a.receive()["result"]["value"], [b.receive()["result"]["value"] for _ in range(2)]), ("a0", ["b0", "b1"]))
        same(s.stop(), 0)


@test
def waiting_for_a_jail_has_an_end():
    refused("136 of them could not open", "--sessions-max", "200", "--jails-max", "64")
    with Server("--jails-max", "1", "--queue-time", "300ms", "--parked", "0") as s:
        a, b = s.client(), s.client()
        same(a.hello["limits"]["sessions"], 1, "no session is promised that could not have a jail")
        session = a.ask("open")["session"]
        for more, words in ({}, "waited for 3"), ({"queue_ms": 100}, "waited for 1"), ({"queue_ms": 0}, "1 by idle sessions"):
            e = fails("busy", b.ask, "exec", code="1", **more)
            assert words in str(e) and "--jails-max" in e.fix, (str(e), e.fix)
            assert e.retry_ms > 1000, "the jail is a session's, whose idle time is 15 minutes: %s" % e.retry_ms
        a.send(op="run", id=1, session=session, code="while True: pass")
        e = fails("busy", a.ask, "run", session=session, code="1")
        assert "another session" in e.fix, e.fix
        a.ask("close", session=session)
        same(b.ask("exec", code="1")["value"], 1)


@test
def a_time_limit_names_the_tool_that_was_waited_for():
    with Server("--jails-max", "1", "--parked", "0") as s:
        a, b = s.client(), s.client()
        session = a.ask("open", tools=[NUMBER])["session"]
        a.send(op="run", id=1, session=session, code="number()", timeout_ms=500)
        same(a.receive()["event"], "tool_call")
        e = fails("busy", b.ask, "exec", code="1", queue_ms=0)
        assert "1 by runs that wait for a tool" in str(e), e
        result = a.receive()["result"]
        assert result["status"] == "timeout" and "the tool `number` had not been answered" in result["reason"], result["reason"]
        e = fails("busy", b.ask, "exec", code="1", queue_ms=0)
        assert "1 by idle sessions, 0 by runs that wait for a tool, 0 by other runs" in str(e), e
        a.ask("close", session=session)
        same(b.ask("exec", code="1")["value"], 1)
        session = a.ask("open", tools=[NUMBER])["session"]
        a.send(op="run", id=1, session=session, code="number()")
        same(a.receive()["event"], "tool_call")
        a.send(op="tool_result", request=1, call=1, value=1)
        a.receive()
        e = fails("busy", b.ask, "exec", code="1", queue_ms=0)
        assert "1 by idle sessions, 0 by runs that wait for a tool, 0 by other runs" in str(e), e


@test
def a_tenant_leaves_sessions_to_others():
    with Server("--sessions-max", "4", "--parked", "0") as s:
        c = s.client()
        first = [c.ask("open", tenant="a")["session"] for _ in range(2)][0]
        e = fails("busy", c.ask, "open", tenant="a")
        assert "tenant `a`" in str(e) and "--tenant-sessions" in e.fix, (str(e), e.fix)
        for tenant in "b", "c":
            c.ask("open", tenant=tenant)
        e = fails("busy", c.ask, "open", tenant="d")
        assert e.retry_ms > 1000, "none has ended, and none will before it is idle for long: %s" % e.retry_ms
        c.ask("close", session=first)
        c.ask("open", tenant="a")
    with Server("--sessions-max", "4", "--tenant-sessions", "4", "--parked", "0") as s:
        c = s.client()
        for _ in range(4):
            c.ask("open", tenant="a")


@test
def a_tenant_leaves_jails_to_others():
    """Of 4 jails a tenant's runs get 3, and of the queue its requests get half, over whichever connections they come."""
    with Server("--jails-max", "4", "--queue-max", "4", "--parked", "0") as s:
        a, more, b = s.client(), s.client(), s.client()
        work = {"op": "exec", "code": "number()", "tools": [NUMBER], "tenant": "a"}
        for i in range(4):
            a.send(id=i, **work)
        calls = [a.receive() for _ in range(3)]
        same({call["event"] for call in calls}, {"tool_call"})
        same(b.ask("exec", code="1", tenant="b", queue_ms=0)["value"], 1)
        e = fails("busy", more.ask, "exec", code="1", tenant="a", queue_ms=0)
        assert "3 jails are in use by this tenant, which is the limit of a tenant: 0 by idle sessions, 3 by runs that wait for a tool" in str(e), e
        more.send(id=4, **work)
        e = fails("busy", more.ask, "exec", code="1", tenant="a")
        assert "2 requests of tenant `a` already wait" in str(e), e
        a.send(op="tool_result", request=calls[0]["id"], call=calls[0]["call"], value=1)
        same(sorted(a.receive().get("event", "result") for _ in range(2)), ["result", "tool_call"], "the first that waited")


@test
def a_tenant_leaves_memory_of_the_queue_to_others():
    """Requests that wait may hold 256 MiB: those of one tenant half of it, over whichever connections they come."""
    with Server("--jails-max", "4", "--queue-max", "200", "--parked", "0") as s:
        a, more, b = s.client(), s.client(), s.client()
        for i in range(3):
            a.send(id=i, op="exec", code="number()", tools=[NUMBER], tenant="a")
            same(a.receive()["event"], "tool_call")
        big = {"op": "exec", "code": "1", "inputs": {"x": "a" * 4_000_000}}
        for client in (a, more):
            for i in range(18):
                client.send(id=i + 10, tenant="a", **big)
        e = fails("busy", s.client().ask, tenant="a", **big)
        assert "MiB of requests of this tenant already wait" in str(e), e
        same(b.ask(tenant="b", **big)["value"], 1)


@test
def tenants_take_turns():
    with Server("--jails-max", "1", "--parked", "0") as s:
        a, more, b = s.client(), s.client(), s.client()
        work = {"op": "exec", "code": "number()", "tools": [NUMBER]}
        a.send(id=1, tenant="a", **work)
        last, call = a, a.receive()
        for i, (client, tenant) in enumerate([(a, "a"), (more, "a"), (b, "b")], 2):
            client.send(id=i, tenant=tenant, **work)
            client.ask("ping")
        for client in a, b, more:
            last.send(op="tool_result", request=call["id"], call=call["call"], value=1)
            same(last.receive()["result"]["status"], "ok")
            same(select.select([c.socket for c in (a, more, b)], [], [], LONG)[0], [client.socket])
            last, call = client, client.receive()


def open_until_busy(s, most):
    c = s.client()
    for _ in range(most):
        try:
            c.ask("open")
        except ServiceError as e:
            return e
    raise Skipped("the limit is not reached: these jails have cgroups")


@test
def descriptors_may_run_out():
    for most in 80, 82, 85:
        limit = lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with Server("--jails-max", "40", "--parked", "0", preexec_fn=limit) as s:
            assert "may have %d open files" % most in s.said(), s.said()
            e = open_until_busy(s, 40)
            same(e.code, "busy")
            assert "may have %d open files" % most in e.fix and "ulimit -n" in e.fix, (str(e), e.fix)
            assert "not true" not in s.said(), s.said()
            assert e.retry_ms >= 100, "nothing is tried before the pause has passed: %s" % e.retry_ms


@test
def processes_may_run_out():
    with Server("--jails-max", "200", "--sessions-max", "200", "--parked", "0", "--pids", "1") as s:
        e = open_until_busy(s, 200)
        same(e.code, "busy")
        assert "limits.pids" in e.fix, (str(e), e.fix)


@test
def checkpoints_take_room():
    with Server("--jails-max", "2", "--parked", "0", "--policy-file", FOLDER + "/open.toml") as s:
        c, other = s.client(), s.client()
        session = c.ask("open", branching=True)["session"]
        kept = c.ask("checkpoint", session=session)["checkpoint"]
        fails("busy", c.ask, "checkpoint", session=session)
        e = fails("busy", other.ask, "open", branching=True)
        assert e.retry_ms >= 10, e.retry_ms
        same(other.ask("stats")["in_use"], 1)
        same(c.ask("forget", session=session, checkpoint=kept), {})
        second = other.ask("open", branching=True)["session"]
        same(other.ask("run", session=second, code="2")["value"], 2)


@test
def turns_are_taken():
    number = {"name": "number", "parameters": {"type": "object", "properties": {}}}
    with Server("--jails-max", "1", "--queue-max", "100", "--parked", "1") as s:
        greedy, modest = s.client(), s.client()
        for i in range(40):  # each continues when its call is answered, and not before
            greedy.send(op="exec", id=i, code="number()", tools=[number])

        def next_of_greedy():
            call = greedy.receive()
            same(call["event"], "tool_call")
            greedy.send(op="tool_result", request=call["id"], call=call["call"], value=1)
            same(greedy.receive()["result"]["value"], 1)
        next_of_greedy()
        modest.send(op="exec", id=1, code="2")
        modest.send(op="ping", id=2)  # its answer is not waited for, so: the other one is in the line
        same(modest.receive()["id"], 2)
        next_of_greedy()  # which had the jail already, or the line's next place
        next_of_greedy()
        same(modest.receive()["result"]["value"], 2)
        for _ in range(37):
            next_of_greedy()


@test
def waiting_requests_are_limited_in_size():
    if os.environ.get("ROOT_TOO"):
        raise Skipped("root sends these 256 MiB")
    with Server("--jails-max", "1", "--queue-max", "200", "--parked", "1") as s:
        holder, clients = s.client(), [s.client() for _ in range(3)]
        session = holder.ask("open")["session"]
        body = '{"op":"exec","id":%d,"code":"len(a)","inputs":{"a":"' + "0" * 4000000 + '"}}'
        waiting = []
        for c in clients:  # the first two are refused at half of the memory, the last one where all of it is taken
            for i in range(36):
                frame = (body % i).encode()
                c.socket.sendall(struct.pack(">I", len(frame)) + frame)
            refusal = c.receive()
            assert refusal["error"]["code"] == "busy" and "MiB" in refusal["error"]["message"], refusal
            same("of this connection" in refusal["error"]["message"], c is not clients[2], refusal["error"]["message"])
            waiting.append(refusal["id"])
            for i in range(refusal["id"] + 1, 36):
                same(c.receive()["error"]["code"], "busy")
        assert 30 < waiting[0] == waiting[1] and waiting[2] < 6, waiting
        same(holder.ask("close", session=session), {})
        for c, count in zip(clients, waiting):
            for i in range(count):
                same(c.receive()["result"]["value"], 4000000)
        c = clients[0]
        same(c.ask("exec", code="1")["value"], 1)


@test
def clients_are_limited():
    with Server("--clients-max", "2", "--parked", "0") as s:
        one, two = s.client(), s.client()
        one.ask("open"), two.ask("open")
        fails("busy", s.client)
        one.socket.close()
        assert until(lambda: two.ask("stats")["clients"] == 1)
        same(s.client().ask("ping"), {})


@test
def who_does_not_read_is_dropped():
    with Server("--unread-max", "64K", "--parked", "1") as s:
        slow, other = s.client(), s.client()
        session = slow.ask("open")["session"]
        for i in range(60):
            slow.send(op="exec", id=i, code="'x' * 200000")
        worst = 0
        end = time.monotonic() + LONG
        while "dropped" not in s.said() and time.monotonic() < end:
            started = time.monotonic()
            same(other.ask("exec", code="1")["value"], 1)
            worst = max(worst, time.monotonic() - started)
        assert "a client was dropped" in s.said(), "it is not dropped: " + s.said()
        assert worst < LONG, "others waited %.1f s" % worst
        same(other.ask("stats")["clients"], 1)
        assert until(lambda: other.ask("stats")["in_use"] == 0), "its jails live on"
        rss = int(open("/proc/%d/statm" % s.process.pid).read().split()[1]) * 4096
        assert rss < 100 << 20, "%d MiB" % (rss >> 20)
        same(other.ask("exec", code="1")["value"], 1)


@test
def requests_longer_than_allowed():
    with Server("--request-max", "8K", "--parked", "0") as s:
        c = s.client()
        same(c.hello["limits"]["request_bytes"], 8192)
        same(c.ask("exec", code="1", filename="x" * 255)["value"], 1)
        c.socket.sendall(struct.pack(">I", 8193) + b"x" * 8193)
        same(c.receive()["error"]["code"], "too_large")


@test
def idle_sessions_end():
    with Server("--idle", "300ms", "--parked", "1") as s:
        c = s.client()
        session = c.ask("open")["session"]
        event = c.receive()
        same((event["event"], event["session"]), ("ended", session))
        assert "idle" in event["why"], event["why"]
        fails("no_such_session", c.ask, "run", session=session, code="1")
        same(c.ask("stats")["in_use"], 0)


@test
def branching_is_use():
    idle = 1.0
    with Server("--idle", "%dms" % (idle * 1000), "--parked", "0") as s:
        c = s.client()
        session = c.ask("open", branching=True)["session"]
        end, used = time.monotonic() + 2.5 * idle, time.monotonic()
        while time.monotonic() < end:
            now = time.monotonic()
            try:
                c.ask("close", session=c.ask("fork", session=session)["session"])
                c.ask("forget", session=session, checkpoint=c.ask("checkpoint", session=session)["checkpoint"])
            except ServiceError as e:
                # However slow all this is: who was asked for something at `used` has until then, at least.
                assert time.monotonic() >= used + idle, "ended %.1f s after it was used: %s" % (time.monotonic() - used, e)
                return
            used = now
            time.sleep(idle / 10)


def in_time(s, steps):
    """A client, and what these steps gave it, at the first attempt at which no clock of the service struck between two of its requests."""
    for attempt in range(30):
        c = s.client()
        try:
            return c, steps(c)
        except ServiceError:
            c.socket.close()
    raise AssertionError("thirty times the session ended too early")


@test
def checkpoints_end_with_the_lifetime():
    for idle in "200ms", "0":
        with Server("--idle", idle, "--lifetime", "2s", "--parked", "0") as s:
            def keep(c):
                session = c.ask("open", branching=True)["session"]
                return session, c.ask("checkpoint", session=session)["checkpoint"]
            c, (session, kept) = in_time(s, keep)
            same(c.receive()["event"], "ended", "idle for " + idle)
            assert until(lambda: c.ask("stats")["jails"] == 0), "jails stay: idle for " + idle
            assert until(lambda: c.ask("stats")["sessions"] == 0), "the session stays: idle for " + idle
            fails("no_such_session", c.ask, "rollback", session=session, checkpoint=kept)


@test
def lifetime_ends_sessions():
    with Server("--lifetime", "700ms", "--parked", "1") as s:
        c, value = in_time(s, lambda c: c.ask("run", session=c.ask("open")["session"], code="1")["value"])
        same(value, 1)
        event = c.receive()
        same((event["event"], "lifetime" in event["why"]), ("ended", True))


# --- policies ---

@test
def a_workspace_that_grows_too_much():
    path, work = FOLDER + "/sized.toml", FOLDER + "/sized"
    with open(path, "w") as f:
        f.write('extends = "snippet"\n[python]\nlayer = false\n[filesystem]\nworkspace = "read-write"\n[limits]\nworkspace_files = 100\n')
    os.mkdir(work)
    os.chmod(work, 0o777)
    make = "import time\nfor i in range(%d): open('/workspace/%%d' %% i, 'w').close()\n"
    with Server("--policy-file", path) as s:
        c = s.client()
        session = c.ask("open", workspace=work)["session"]
        same(c.ask("run", session=session, code=make % 50 + "i")["value"], 49)
        r = c.ask("run", session=session, code=make % 200 + "time.sleep(60)")
        same((r["status"], r["limits_hit"], r["session"]), ("limit", ["workspace"], "ended"), r["reason"])
        same(c.receive()["event"], "ended")
        for made in os.listdir(work): # fewer than 200 where the jail was ended in time
            os.remove("%s/%s" % (work, made))
        r = c.ask("exec", code=make % 200 + "time.sleep(60)", workspace=work)
        same((r["status"], r["limits_hit"]), ("limit", ["workspace"]), r["reason"])
        caught = "import time\ntry: time.sleep(99)\nexcept KeyboardInterrupt: pass\n7"
        r = c.ask("exec", code=caught, workspace=work, timeout_ms=200)
        same((r["status"], r["value"], r["told_to_stop"], r["warm"]), ("ok", 7, "wall_clock", False))


@test
def policies_are_read_again():
    path = FOLDER + "/changing.toml"

    def write(text):
        with open(path + ".new", "w") as f:
            f.write(text)
        os.rename(path + ".new", path)
    write('extends = "snippet"\n')
    with Server("--policy-file", path, "--parked", "1") as s:
        c = s.client()
        same(c.ask("exec", code="import json\n1")["status"], "ok")
        session = c.ask("open")["session"]
        write('extends = "snippet"\n[python]\nimports = []\n')
        same(c.ask("exec", code="import json\n1")["status"], "rejected")
        same(c.ask("run", session=session, code="import json\n1")["status"], "ok", "a session keeps its policy")
        write('extends = "snippet"\nnonsense = 1\n')
        e = fails("setup_error", c.ask, "exec", code="1")
        assert "nonsense" in str(e), e
        write('extends = "snippet"\n')
        same(c.ask("exec", code="import json\n1")["status"], "ok")
        assert "import check" not in s.said(), s.said()
        write('extends = "snippet"\n[python]\nextend_imports = ["mmap"]\n')
        for _ in range(2):
            same(c.ask("exec", code="import mmap\n1")["status"], "ok")
        same(s.said().count("the module `mmap` undoes the import check"), 1, "once for each reading: " + s.said())
        s.process.send_signal(signal.SIGHUP)
        assert until(lambda: "SIGHUP" in s.said()), s.said()
        same(c.ask("ping"), {})


@test
def options_are_checked():
    refused("unknown option", "--wings")
    refused("not a number", "--parked", "two")
    refused("not from 1 to", "--jails-max", "0")
    refused("unexpected `x`", "x")
    refused("nope", "--policy", "nope")
    refused("not a policy's name", "--policy", "../x")
    refused("two policies", "--policy", "snippet", "--policy", "snippet")
    refused("loopback", "--metrics", "0.0.0.0:0")
    refused("loopback", "--metrics", "192.0.2.1:1")
    refused("loopback", "--metrics", "[::]:0")
    refused("neither", "--metrics", "metrics")


@test
def options_reach_the_jails():
    with Server("--allow-import", "tokenize", "--timeout", "1s", "--parked", "1") as s:
        c = s.client()
        same(c.ask("exec", code="import tokenize\n1")["status"], "ok")
        same(c.ask("exec", code="while True: pass")["status"], "timeout")


# --- the end ---

@test
def stop_lets_finish():
    with Server("--parked", "1") as s:
        c = s.client()
        idle, busy = c.ask("open")["session"], c.ask("open", tools=[NUMBER])["session"]
        c.send(op="run", id=1, session=busy, code="number()\n'finished'")
        call = c.receive()
        s.process.send_signal(signal.SIGTERM)
        event = c.receive()
        same((event["event"], event["session"]), ("ended", idle))
        fails("shutting_down", c.ask, "exec", code="1")
        fails("shutting_down", c.ask, "open")
        fails("no_such_session", c.ask, "close", session=idle)
        same(c.ask("ping"), {})
        same(os.path.exists(s.path), False, "the socket while it stops")
        c.send(op="tool_result", request=1, call=call["call"], value=1)
        same(c.receive()["result"]["value"], "finished")
        same(c.receive()["event"], "ended")
        same(s.process.wait(LONG), 0)
        same(below(s.pid), {})


@test
def grace_ends():
    with Server("--grace", "300ms", "--parked", "1") as s:
        c = s.client()
        c.send(op="exec", id=1, code="while True: pass")
        c.ask("ping")
        s.process.send_signal(signal.SIGINT)
        same(c.receive()["error"]["code"], "shutting_down")
        same(s.process.wait(LONG), 0)


@test
def second_signal_does_not_wait():
    with Server("--grace", "60s", "--parked", "1") as s:
        c = s.client()
        c.send(op="exec", id=1, code="while True: pass")
        c.ask("ping")
        s.process.send_signal(signal.SIGTERM)
        assert until(lambda: "stopping" in s.said())
        started = time.monotonic()
        same(s.stop(), 0)
        assert time.monotonic() - started < LONG, "it waited"


@test
def killed_it_leaves_nothing():
    with Server("--parked", "2") as s:
        c = s.client()
        c.send(op="exec", id="loop", code="while True: pass")
        c.ask("open")
        all_of_it = below(s.pid)
        assert len(all_of_it) >= 3, all_of_it
        s.process.kill()
        s.process.wait()
        assert until(lambda: not any(alive(p) for p in all_of_it)), "they are still there"
        os.unlink(s.path)


# --- a service manager ---

def listening(path):
    l = socket.socket(socket.AF_UNIX)
    l.bind(path)
    l.listen()
    return l


@test
def sockets_are_handed_over():
    path, port = FOLDER + "/given", socket.socket()
    port.bind(("127.0.0.1", 0))
    port.listen()
    with listening(path) as l, Server(fds=[l.fileno(), port.fileno()], names="agentjail.socket:metrics", path=path) as s:
        l.close()
        port_number = port.getsockname()[1]
        port.close()
        same(s.client().ask("exec", code="1")["value"], 1)
        assert b"agentjail_runs_total" in get(("127.0.0.1", port_number), b"GET /metrics HTTP/1.0\r\n\r\n")
        same(s.stop(), 0)
        same(os.path.exists(path), True, "the socket belongs to who made it")
        os.unlink(path)


@test
def what_is_handed_over_is_looked_at():
    path = FOLDER + "/given2"
    with listening(path) as l:
        refused("names another", "--socket", FOLDER + "/x", fds=[l.fileno()])
        refused("two sockets", fds=[l.fileno(), l.fileno()])
        refused("contradict each other", env={"LISTEN_FDS": "1"})
        with Server(env={"LISTEN_FDS": "1", "LISTEN_PID": "1"}) as s:
            same(s.client().ask("ping"), {}, "what is meant for another is not taken")
    os.unlink(path)
    for what, text in ((socket.socket(socket.AF_UNIX), "listens"), (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), "listens"),
                       (open("/dev/null"), "descriptor 3"), (socket.socket(), "listens")):
        refused(text, fds=[what.fileno()])
    with socket.socket() as tcp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        refused("not a local socket", fds=[tcp.fileno()])
    with socket.socket() as tcp:
        tcp.bind(("0.0.0.0", 0))
        tcp.listen()
        refused("other machines", "--socket", FOLDER + "/x", fds=[tcp.fileno()], names="metrics")


@test
def state_is_told():
    for name in (FOLDER + "/notify", "@aj-notify-%d" % os.getpid()):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as n:
            n.bind("\0" + name[1:] if name[0] == "@" else name)
            n.settimeout(LONG)
            with Server(env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "200000"}) as s:
                first = n.recv(4096).decode()
                assert first.startswith("READY=1\n") and "STATUS=serving at" in first, first
                assert "WATCHDOG=1" in n.recv(4096).decode()
                again = n.recv(4096).decode()
                assert "WATCHDOG=1" in again and "0 sessions" in again, again
                same(s.stop(), 0)
                rest = []
                n.settimeout(0.2)
                try:
                    while True:
                        rest.append(n.recv(4096).decode())
                except OSError:
                    pass
                assert any(r.startswith("STOPPING=1") for r in rest), rest
    os.unlink(FOLDER + "/notify")


# --- numbers ---

def get(address, request, patience=LONG):
    with socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET) as c:
        c.settimeout(patience)
        c.connect(address)
        c.sendall(request)
        page = b""
        while True:
            piece = c.recv(65536)
            if not piece:
                return page
            page += piece


def ticks(pid):
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def numbers(address):
    head, _, body = get(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 200 ") and "version=0.0.4" in head, head
    same(int(head.lower().split("content-length: ")[1].split("\r\n")[0]), len(body))
    found, typed = {}, {}
    for line in body.splitlines():
        if line.startswith("# TYPE "):
            typed[line.split()[2]] = line.split()[3]
        elif not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
            family = name.split("{")[0]
            assert any(family == t + end for t in typed for end in ("", "_bucket", "_sum", "_count")), "no type: " + line
    return found


@test
def numbers_are_right():
    metrics = FOLDER + "/metrics"
    with Server("--metrics", metrics, "--parked", "2", "--policy-file", FOLDER + "/open.toml") as s:
        c = s.client()
        same(oct(os.stat(metrics).st_mode & 0o7777), "0o600")
        before = numbers(metrics)
        session = c.ask("open")["session"]
        c.ask("run", session=session, code="1")
        c.ask("exec", code="1/0")
        c.ask("exec", {"number": lambda: 1}, code="number()", tools=[NUMBER])
        c.ask("exec", code="import os\ntry: os.fork()\nexcept OSError: pass")
        fails("no_such_policy", c.ask, "exec", code="1", policy="none")
        exchange(c, b"nonsense")
        after = numbers(metrics)
        same(after['agentjail_runs_total{policy="open",status="ok"}'], 3)
        same(after['agentjail_runs_total{policy="open",status="error"}'], 1)
        same((after["agentjail_sessions"], after["agentjail_sessions_opened_total"], after["agentjail_tool_calls_total"]), (1, 1, 1))
        same((after["agentjail_clients"], after["agentjail_jails_in_use"]), (1, 1))
        same(after['agentjail_errors_total{code="no_such_policy"}'], 1)
        same(after['agentjail_errors_total{code="bad_request"}'], 1)
        same((after["agentjail_run_seconds_count"], after['agentjail_run_seconds_bucket{le="+Inf"}']), (4, 4))
        same(after["agentjail_queue_wait_seconds_count"], 4)
        assert 0 < after["agentjail_run_seconds_sum"] < 60, after["agentjail_run_seconds_sum"]
        denied = {k: v for k, v in after.items() if k.startswith("agentjail_denials_total")}
        assert denied and all(v >= 1 for v in denied.values()), "no denial is counted"
        assert before["agentjail_zygotes"] <= 1 and after["agentjail_zygotes"] == 1
        buckets = [v for k, v in after.items() if k.startswith("agentjail_run_seconds_bucket")]
        same(buckets, sorted(buckets), "buckets are cumulated")
        assert until(lambda: numbers(metrics)["agentjail_jails_parked"] == 2), "the pool is not filled"
        # Not the holder of its namespace, with which the parked jails would end as well.
        numbered = {pid: status(pid).get("NSpid", "").split() for pid in below(s.pid)}
        os.kill(min(pid for pid, inner in numbered.items() if len(inner) == 2 and inner[1] != "1"), signal.SIGKILL)
        assert until(lambda: numbers(metrics)["agentjail_zygote_deaths_total"] == 1), "a zygote's death is not counted"
        same(c.ask("exec", code="1")["value"], 1, "after its death")
        same(s.stop(), 0)
        same(os.path.exists(metrics), False)


@test
def a_client_that_left_leaves_no_jail():
    """Of a service that keeps no jail ready: the client is gone before its jail is there."""
    metrics = FOLDER + "/metrics3"
    with Server("--metrics", metrics, "--parked", "0") as s:
        c = s.client()
        same(c.ask("exec", code="1")["value"], 1, "the zygote is there")
        c.send(op="exec", id="1", code="1")
        c.socket.close()
        assert until(lambda: not numbers(metrics)["agentjail_clients"]), "the service has not seen its client leave"
        assert until(lambda: not numbers(metrics)["agentjail_jails_starting"]), numbers(metrics)
        assert until(lambda: not numbers(metrics)["agentjail_jails"]), numbers(metrics)
        same(s.client().ask("exec", code="1")["value"], 1, "the next client's jail")
        assert until(lambda: not numbers(metrics)["agentjail_jails"]), numbers(metrics)


@test
def numbers_wait_for_a_descriptor():
    metrics = FOLDER + "/metrics2"
    with Server("--metrics", metrics, "--parked", "0") as s, socket.socket(socket.AF_UNIX) as visitor:
        s.client().ask("ping")
        pid, before = s.process.pid, resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir("/proc/%d/fd" % pid)), before[1]))
        visitor.settimeout(LONG)
        visitor.connect(metrics)
        visitor.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        used = ticks(pid)
        time.sleep(2)
        used = ticks(pid) - used
        assert used < os.sysconf("SC_CLK_TCK") // 2, "%d ticks while there was nothing that it could do" % used
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert b"agentjail_build_info" in visitor.recv(65536), "who waited is not answered"


@test
def numbers_for_http_only():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = free.getsockname()
    with Server("--metrics", "127.0.0.1:%d" % address[1], "--parked", "0") as s:
        for request, status in ((b"GET / HTTP/1.1\r\n\r\n", b"404"), (b"POST /metrics HTTP/1.1\r\n\r\n", b"405"), (b"GET /metrics HTTP/2.0\r\n\r\n", b"505"),
                                (b"nonsense\r\n\r\n", b"400"), (b"GET /metrics HTTP/1.1\r\n" + b"X: " + b"y" * 9000, b"431"), (b"\0\0\0\0\r\n\r\n", b"400"),
                                (b"GET /metrics?x=1 HTTP/1.0\n\n", b"200"), (b"HEAD /metrics HTTP/1.0\r\n\r\n", b"200")):
            page = get(address, request)
            same(page.split()[1], status, repr(request[:30]))
        same(get(address, b"HEAD /metrics HTTP/1.0\r\n\r\n").split(b"\r\n\r\n")[1], b"")
        slow = [socket.create_connection(address) for _ in range(8)]
        for c in slow:
            c.sendall(b"GET /metrics")
        same(s.client().ask("ping"), {}, "clients are served meanwhile")
        slow[0].settimeout(LONG)
        same(slow[0].recv(10), b"", "who is slow is ended")
        assert "agentjail_build_info" in numbers(address).__repr__()
        same(s.stop(), 0)


# --- a private service: one connection that was passed ---

class Private:
    """A service at one end of a socket pair."""

    def __init__(self, ours, theirs, *options):
        self.log = open(FOLDER + "/private", "w+")
        self.process = subprocess.Popen([AJ, "serve", "--connection", str(theirs.fileno()), *options], stderr=self.log,
                                        stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
        theirs.close()
        self.client = Client.__new__(Client)
        self.client.socket, self.client.ids = ours, itertools.count(1)
        ours.settimeout(LONG)

    def hello(self):
        return self.client.receive()["hello"]


@test
def a_connection_that_is_passed():
    s = Private(*socket.socketpair(), "--parked", "1")
    same(s.hello()["protocol"], 1)
    same(s.client.ask("exec", code="6 * 7")["value"], 42)
    session = s.client.ask("open")["session"]
    s.client.ask("run", session=session, code="x = 5")
    same(s.client.ask("run", session=session, code="x + 1")["value"], 6)
    jailed = below(s.process.pid)
    assert jailed, "a session has a jail"
    s.client.socket.close()
    same(s.process.wait(LONG), 0, "it ends with the connection")
    assert until(lambda: not any(alive(pid) for pid in jailed)), "and so do its jails"


@test
def a_private_service_ends_with_its_owner():
    """Although another process, which the owner forked, still holds the connection."""
    owner = subprocess.Popen([sys.executable, "-I", "-S", "-c", """
import os, socket, subprocess, sys, time
ours, theirs = socket.socketpair()
service = subprocess.Popen([sys.argv[1], "serve", "--connection", str(theirs.fileno()), "--parked", "0"], pass_fds=[theirs.fileno()])
theirs.close()
ours.recv(4)
child = os.fork()
if child:
    print(service.pid, child, flush=True)
time.sleep(1000)
""", AJ], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    service, child = map(int, owner.stdout.readline().split())
    try:
        assert alive(service)
        owner.kill()
        owner.wait()
        assert until(lambda: not alive(service)), "it lives on"
        assert alive(child), "the other holder of the connection"
    finally:
        os.kill(child, signal.SIGKILL)
        owner.stdout.close()


@test
def connections_that_cannot_be_served():
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_INET) as inet, socket.socket(socket.AF_UNIX) as lone:
        listening.bind(FOLDER + "/listening")
        listening.listen()
        packets = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with open("/dev/null") as null:
            for fd, text in ((inet, "not a connected Unix stream socket"), (packets[0], "not a connected Unix stream socket"),
                             (lone, "not a connected Unix stream socket"), (listening, "not a connected Unix stream socket"), (null, "descriptor")):
                refused(text, "--connection", str(fd.fileno()), path="", pass_fds=[fd.fileno()])
        for end in packets:
            end.close()
    os.unlink(FOLDER + "/listening")
    refused("not the number of an inherited descriptor", "--connection", "2", path="")
    refused("not the number of an inherited descriptor", "--connection", "x", path="")
    refused("descriptor 99", "--connection", "99", path="")
    refused("--socket waits for others", "--connection", "5")


main()
