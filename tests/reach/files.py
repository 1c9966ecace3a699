"""Files of the service's sessions, from the host's side: others are answered meanwhile, and nothing of a jail stays; files.sh runs it and counts."""
import os, time

from client import POLICIES, main, same, test, until

POLICIES["any"] = '[python]\nlayer = false\n[output]\nfiles = "32M"\n'
WRITE = "import os\nfor i in range(20): open('/output/%d' % i, 'wb').write(os.urandom(1 << 20))"


def row(name):
    return lambda function: test(function, name)


@row("files-service: others are answered while files are read, and a close in the middle leaves nothing")
def in_turns(s):
    c, other = s.client(), s.client()
    sessions = [c.ask("open", policy="any")["session"] for _ in range(3)]
    for i, session in enumerate(sessions):
        c.send(op="run", id="r%d" % i, session=session, output="list", code=WRITE)
    for _ in range(20):
        other.ask("ping")
    answers = [c.receive() for _ in sessions]
    same([[len(a["result"]["files"]), a["result"]["session"]] for a in answers], [[20, "alive"]] * 3)
    for i in range(5):
        session = c.ask("open", policy="any")["session"]
        c.send(op="run", id="x%d" % i, session=session, output="list", code=WRITE)
        time.sleep(0.05 * i)
        c.send(op="close", id="y%d" % i, session=session)
        frames = [c.receive() for _ in range(2)]
        same(sorted(f["id"] for f in frames if "event" not in f), ["x%d" % i, "y%d" % i])


@row("files-obeyed: a result marks them")
def obeyed(s):
    code = "for name in ('a', '.envrc', 'HEADER', 'HEAD'): open('/output/' + name, 'x')"
    files = s.client().ask("exec", policy="any", output="list", code=code)["files"]
    same([(f["name"], f.get("obeyed")) for f in files], [(".envrc", True), ("HEAD", True), ("HEADER", None), ("a", None)])


@row("files-service: no descriptor of a jail's /tmp is left, however the run ended")
def descriptors(s):
    c = s.client()

    def count():
        """The service's descriptors, when every pool has its two parked jails and nothing else."""
        assert until(lambda: (lambda now: now["in_use"] == now["starting"] == now["waiting"] == 0 and
                              all(pool["parked"] == 2 for pool in now["pools"]))(c.ask("stats"))), c.ask("stats")
        return len(os.listdir("/proc/%d/fd" % s.pid))
    c.ask("exec", policy="any", output="data", code="open('/output/x', 'w')")
    before = count()
    for i in range(10):
        c.ask("exec", policy="any", output="data", code="open('/output/x', 'w'); 1 / %d" % (i % 2))
        session = c.ask("open", policy="any")["session"]
        c.ask("run", session=session, output="list", code="import os; os.kill(os.getpid(), 9)" if i % 3 == 0 else "1")
        if i % 3:
            c.ask("list_files", session=session, path="/tmp")
            c.ask("close", session=session)
    assert until(lambda: count() <= before), "%d descriptors, then %d" % (before, count())


@row("files-service: a part and a list are bounded")
def bounds(s):
    c = s.client()
    session = c.ask("open", policy="any")["session"]
    c.ask("run", session=session, code="import os\nopen('/tmp/big', 'wb').write(bytes(2 << 20))\nos.mkdir('/tmp/many')\nfor i in range(2000): open('/tmp/many/%d' % i, 'w')")
    part = c.ask("read_file", session=session, path="/tmp/big", bytes=1 << 40)
    same((len(part["data"]), part["end"]), (((1 << 20) + 2) // 3 * 4, False))
    listed = c.ask("list_files", session=session, path="/tmp/many")
    assert len(listed["files"]) <= 1000 and listed["truncated"], len(listed["files"])


main()
