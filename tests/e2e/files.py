"""Files of the service: `files` and `output` of exec, open and run, and the operations on a session's files; files.sh runs it and counts."""
import base64, hashlib, os, time

from client import FOLDER, POLICIES, ServiceError, main, same, test, until

# Code that may make links, FIFOs and processes, without the layer.
POLICIES["any"] = '[python]\nlayer = false\n[process]\nexec = true\nfork = true\n[output]\nfiles = "32M"\n'
POLICIES["bound"] = '[filesystem]\nbinds = ["/usr/share:/output"]\n'
os.makedirs(FOLDER + "/host", exist_ok=True)


def b64(data):
    return base64.b64encode(data).decode()


def content(entry):
    data = base64.b64decode(entry["data"], validate=True)
    same(hashlib.sha256(data).hexdigest(), entry["sha256"])
    return data


def refused(wanted, text, ask, *args, **members):
    try:
        answer = ask(*args, **members)
    except ServiceError as e:
        same(e.code, wanted, str(e))
        assert text in str(e), e
        return
    raise AssertionError("not refused: %.300r" % answer)


CSV = {"name": "data.csv", "text": "a,b\n1,2\n"}
BYTES = {"name": "sub/raw.bin", "data": b64(bytes(range(256)))}


def files_in_and_out(c, warm):
    r = c.ask("exec", files=[CSV, BYTES, {"name": "/tmp/t", "text": "é"}], output="data", code="""import csv
rows = list(csv.reader(open("/input/data.csv")))
with open("/output/out.csv", "w") as f: csv.writer(f, lineterminator="\\n").writerows(rows[::-1])
with open("/output/raw.png", "wb") as f: f.write(open("/input/sub/raw.bin", "rb").read()[::-1])
[rows, open("/tmp/t").read()]""")
    same(r["status"], "ok", str(r["error"]))
    same(r["warm"], warm)
    same(r["value"], [[["a", "b"], ["1", "2"]], "é"])
    same([(f["name"], f["size"], f["media_type"], content(f)) for f in r["files"]],
         [("out.csv", 8, "text/csv", b"1,2\na,b\n"), ("raw.png", 256, "image/png", bytes(range(256))[::-1])])
    assert "files_skipped" not in r and "files" not in r["truncated"], r


@test
def in_and_out_cold(s):
    files_in_and_out(s.client(), True)


@test
def in_and_out_warm(s):
    c = s.client()
    assert until(lambda: any(p["parked"] for p in c.ask("stats")["pools"]))
    files_in_and_out(c, True)


@test
def what_did_not_ask_has_none(s):
    r = s.client().ask("exec", policy="any", code="import os; [os.path.exists('/' + p) for p in ('input', 'output')]")
    same(r["value"], [False, False])
    assert "files" not in r and "files_skipped" not in r, r


@test
def input_files_stay_as_they_are(s):
    c = s.client()
    r = c.ask("exec", files=[CSV], code='open("/input/data.csv", "w")')
    same(r["error"]["type"], "PermissionError")
    r = c.ask("exec", policy="any", files=[CSV], code='open("/input/data.csv", "r+")')
    same(r["error"]["type"], "PermissionError")


@test
def a_session(s):
    c = s.client()
    session = c.ask("open", files=[CSV])["session"]
    same(c.ask("run", session=session, code='open("/input/data.csv").read()')["value"], CSV["text"])
    r = c.ask("write_files", session=session, files=[{"name": "data.csv", "text": "new"}, {"name": "/output/given", "text": "x"}])
    same((r["status"], r["session"], r["error"]), ("ok", "alive", None))
    r = c.ask("run", session=session, output="list", code='f = open("/output/mine", "w"); f.write(open("/input/data.csv").read()); f.close()')
    same([(f["name"], f["size"], "data" in f) for f in r["files"] if f["name"] != "given"], [("mine", 3, False)])
    time.sleep(0.05)  # the kernel's clock for times of change has ticks
    r = c.ask("run", session=session, output="data", code='1')
    same(r["files"], [])
    part = c.ask("read_file", session=session, path="/output/mine")
    same((content(part), part["size"], part["end"]), (b"new", 3, True))
    same(content(c.ask("read_file", session=session, path="/output/mine", offset=1, bytes=1)), b"e")
    same(content(c.ask("read_file", session=session, path="/output/mine", offset=9)), b"")
    same(content(c.ask("read_file", session=session, path="/output/mine", bytes=0)), b"")
    same(sorted((e["name"], e["type"]) for e in c.ask("list_files", session=session, path="/tmp")["files"]), [("input", "folder"), ("output", "folder")])
    same(sorted(e["name"] for e in c.ask("list_files", session=session, path="/output")["files"]), ["given", "mine"])
    same(c.ask("remove_file", session=session, path="/output/mine"), {})
    refused("no_such_file", "No such file", c.ask, "read_file", session=session, path="/output/mine")
    refused("no_such_file", "", c.ask, "remove_file", session=session, path="/output")
    refused("no_such_file", "", c.ask, "list_files", session=session, path="/output/given")


@test
def a_session_writes_to_output_unasked(s):
    c = s.client()
    session = c.ask("open")["session"]
    for path in ("/input", "/output"):
        same(c.ask("list_files", session=session, path=path), {"files": [], "truncated": False})
        refused("no_such_file", "", c.ask, "list_files", session=session, path=path + "/below")
    r = c.ask("run", session=session, code="import os; os.makedirs('/output/sub'); open('/output/sub/a', 'w').write('x'); os.listdir('/output')")
    same((r["status"], r["value"]), ("ok", ["sub"]))
    same(content(c.ask("read_file", session=session, path="/output/sub/a")), b"x")
    for code in ("os.makedirs('/output', exist_ok=True)", "os.mkdir('/output/b')", "open('/output/a', 'w').close()"):
        r = c.ask("exec", code="import os\n%s\nos.path.isdir('/output')" % code)
        same((r["status"], r["value"]), ("ok", True))
    r = c.ask("exec", policy="any", code="import os; os.mkdir('/output/b'); os.listdir('/output')")
    same((r["status"], r["value"]), ("ok", ["b"]))


@test
def a_list_has_a_thousand_entries(s):
    c = s.client()
    session = c.ask("open")["session"]
    for have, shown, truncated in (999, 999, False), (1000, 1000, False), (1001, 1000, True):
        c.ask("run", session=session, code="for i in range(%d): open('/tmp/%%d' %% i, 'w').close()" % have)
        listed = c.ask("list_files", session=session, path="/tmp")
        same((len(listed["files"]), listed["truncated"]), (shown, truncated))


@test
def programs_read_the_standard_input(s):
    c = s.client()
    session = c.ask("open", policy="any")["session"]
    for given in "a\nb\n", "", "c\n":
        r = c.ask("run", session=session, stdin=given, timeout_ms=20_000, code="import subprocess\n"
                  "subprocess.run(['/usr/bin/python3', '-ISc', 'import sys; print(sys.stdin.read())'], capture_output=True, text=True, check=True).stdout")
        same(r.get("value"), given + "\n", str(r)[:800])


@test
def large_files_come_in_parts(s):
    c = s.client()
    session = c.ask("open", policy="any")["session"]
    c.ask("run", session=session, code='open("/tmp/big", "wb").write(bytes(range(256)) * 10000)')
    data, offset = b"", 0
    while True:
        part = c.ask("read_file", session=session, path="/tmp/big", offset=offset)
        data += content(part)
        offset += len(base64.b64decode(part["data"]))
        if part["end"]:
            break
    same(hashlib.sha256(data).hexdigest(), hashlib.sha256(bytes(range(256)) * 10000).hexdigest())


PARTS = [bytes([i]) * 300_000 for i in range(5)]


@test
def parts_are_appended(s):
    c = s.client()
    for policy in "", "any":
        session = c.ask("open", **({"policy": policy} if policy else {}))["session"]
        for name in ("x/big", "/tmp/big"):
            path = name if name[0] == "/" else "/input/" + name
            for n, part in enumerate(PARTS):
                r = c.ask("write_files", session=session, files=[{"name": name, "data": b64(part), "append": n > 0}])
                same((r["status"], r["error"]), ("ok", None))
                if n == 2:    # another file between two parts, and code that looks
                    r = c.ask("run", session=session, files=[{"name": "other", "text": "1", "append": True}], code="len(open(%r).read())" % path)
                    same(r["value"], 900_000, str(r["error"]))
            r = c.ask("write_files", session=session, files=[{"name": name, "text": "\u00e9", "append": True}])
            same(r["status"], "ok")
            r = c.ask("run", session=session, code="""data = open(%r, 'rb').read()
[len(data), data == b''.join(bytes([i]) * 300_000 for i in range(5)) + b'\\xc3\\xa9']""" % path)
            same(r["value"], [1_500_002, True], str(r["error"]))
        r = c.ask("run", session=session, code="open('/input/x/big', 'a')")
        same(r["error"]["type"], "PermissionError", "it is as read-only as a file that came at once")
        c.ask("write_files", session=session, files=[{"name": "x/big", "text": "short"}])
        same(content(c.ask("read_file", session=session, path="/input/x/big")), b"short")
        c.ask("write_files", session=session, files=[{"name": "x/big", "text": "er", "append": True}, {"name": "/tmp/new", "text": "new", "append": True}])
        same(content(c.ask("read_file", session=session, path="/input/x/big")), b"shorter")
        same(content(c.ask("read_file", session=session, path="/tmp/new")), b"new")
    same(c.ask("exec", files=[{"name": "x", "text": "alone", "append": True}], code="open('/input/x').read()")["value"], "alone")


@test
def parts_of_a_branch(s):
    """A branch has a file of its own; the descriptor of the original's leads to no other file."""
    c = s.client()
    session = c.ask("open", branching=True, files=[{"name": "big", "text": "a"}])["session"]
    more = lambda to, text: same(c.ask("write_files", session=to, files=[{"name": "big", "text": text, "append": True}])["status"], "ok")
    more(session, "b")
    fork = c.ask("fork", session=session)["session"]
    more(fork, "F")
    more(session, "c")
    more(fork, "G")
    same(content(c.ask("read_file", session=session, path="/input/big")), b"abc")
    same(content(c.ask("read_file", session=fork, path="/input/big")), b"abFG")


@test
def parts_for_no_file(s):
    """A link, a FIFO, a folder, a file behind the runner's back, more than /tmp takes: an error, and the session continues."""
    c = s.client()
    session = c.ask("open", policy="any", files=[{"name": "mine", "text": "1"}])["session"]
    more = lambda name, data=b"x": c.ask("write_files", session=session, timeout_ms=20_000, files=[{"name": name, "data": b64(data), "append": True}])
    r = c.ask("run", session=session, code="""import os
open('/tmp/aim', 'w').write('aim')
for place in '/tmp/', '/input/':
    os.symlink('/tmp/aim', place + 'link'); os.symlink('/tmp/none', place + 'dangling'); os.mkfifo(place + 'fifo'); os.mkdir(place + 'folder')
    open(place + 'secret', 'w').close(); os.chmod(place + 'secret', 0)
open('/tmp/closed', 'w').close(); os.chmod('/tmp/closed', 0o444)
fifo = os.open('/tmp/fifo', os.O_RDONLY | os.O_NONBLOCK); fifo2 = os.open('/input/fifo', os.O_RDWR)""")
    same(r["status"], "ok", str(r["error"]))
    for name, kind in (("link", "OSError"), ("dangling", "OSError"), ("fifo", "OSError"), ("folder", ("IsADirectoryError", "OSError")), ("secret", "PermissionError")):
        for place in "/tmp/", "/input/":
            r = more(place + name)
            same(r["status"], "error", (place, name))
            assert r["error"]["type"] in kind, (place, name, r["error"])
    same(more("/tmp/closed")["error"]["type"], "PermissionError", "the jail's own file, which it closed")
    same(content(c.ask("read_file", session=session, path="/tmp/aim")), b"aim")
    refused("no_such_file", "", c.ask, "read_file", session=session, path="/tmp/none")
    same(more("mine", b"2")["status"], "ok")
    r = c.ask("run", session=session, code="""closed = []
for n in range(3, 64):
    try: same = os.path.samestat(os.fstat(n), os.stat('/tmp/input/mine'))
    except OSError: continue
    if same: os.close(n); closed.append(n)
while (aim := os.open('/tmp/aim', os.O_RDWR)) < closed[0]: pass
[len(closed), aim == closed[0]]""")
    same(r["value"], [1, True], str(r["error"]))
    same(more("mine", b"3")["status"], "ok", "the number of its descriptor is another file's")
    same(content(c.ask("read_file", session=session, path="/input/mine")), b"123")
    same(c.ask("run", session=session, code="os.read(aim, 9)")["repr"], "b'aim'")
    r = c.ask("run", session=session, code="os.rename('/tmp/input/mine', '/tmp/input/moved'); os.symlink('/tmp/input/moved', '/tmp/input/mine')")
    same(r["status"], "ok", str(r["error"]))
    same(more("mine", b"4")["status"], "error", "a link where the file was")
    same(content(c.ask("read_file", session=session, path="/input/moved")), b"123")
    c.ask("remove_file", session=session, path="/tmp/input/mine")
    same(more("mine", b"5")["status"], "ok")
    same(content(c.ask("read_file", session=session, path="/input/mine")), b"5")
    # Most of /tmp is filled from inside: a part that goes through the service costs as much as ten that do not.
    same(c.ask("run", session=session, code="with open('/tmp/most', 'wb') as f: f.write(bytes(50 << 20))")["status"], "ok")
    for name in "/tmp/grows", "grows":
        for n in range(40):
            r = more(name, bytes(2 << 20))
            if r["status"] != "ok":
                break
        assert n > 3 and "No space" in r["error"]["message"], (n, r)
        c.ask("remove_file", session=session, path="/tmp/grows" if name[0] == "/" else "/input/grows")
    same(c.ask("run", session=session, code="6 * 7")["value"], 42)


@test
def bad_requests(s):
    c = s.client()
    session = c.ask("open")["session"]
    for files, text in (([{"name": "x"}], "a file is"), ([{"name": "x", "text": 1}], "a file is"), (["x"], "a file is"),
                        ([{"name": "x", "text": "", "data": ""}], "a file is"), ([{"name": "x", "text": "", "append": 1}], "a file is"), ([{"name": "x", "append": True}], "a file is"), ([{"name": "", "text": ""}], ""),
                        ([{"name": "x", "data": "a"}], "not base64"), ([{"name": "x", "data": "a===" }], "not base64"), ([{"name": "x", "data": "a b="}], "not base64"),
                        ([{"name": "../x", "text": ""}], "`..`"), ([{"name": "/etc/passwd", "text": ""}], "not at or below"),
                        ([{"name": "/input", "text": ""}], "folder"), ([{"name": "a\nb", "text": ""}], "control"),
                        ([{"name": "x", "text": ""}, {"name": "/input/x", "text": ""}], "twice")):
        refused("bad_request", text, c.ask, "run", session=session, code="1", files=files)
    refused("bad_request", "neither", c.ask, "run", session=session, code="1", output="all")
    refused("bad_request", "not an absolute", c.ask, "read_file", session=session, path="x")
    for path in ("/etc/passwd", "/tmp/../etc/passwd", "/tmp//x", "/tmp/", "/proc/self/environ", "/outputs"):
        refused("bad_request", "", c.ask, "read_file", session=session, path=path)
    refused("bad_request", "binds something", c.ask, "exec", policy="bound", code="1", output="list")
    same(c.ask("run", session=session, code="6 * 7")["value"], 42, "the session continues")


@test
def a_file_that_cannot_be_written(s):
    c = s.client()
    r = c.ask("exec", policy="any", files=[{"name": "x", "text": ""}, {"name": "x/y", "text": ""}], code="1")
    same((r["status"], r["error"]["type"]), ("error", "NotADirectoryError"))
    refused("setup_error", "could not be written", c.ask, "open", files=[{"name": "x", "text": ""}, {"name": "x/y", "text": ""}])
    same(c.ask("stats")["in_use"], 0)


@test
def hostile_sessions(s):
    """Links, FIFOs, and a process that continues changing what is read."""
    with open(FOLDER + "/host/canary", "w") as f:
        f.write("CANARY-OF-THE-HOST")
    c = s.client()
    session = c.ask("open", policy="any")["session"]
    c.ask("run", session=session, output="list", code="""import os, socket
for place in ('/tmp/', '/output/'):
    os.symlink('%s/host/canary', place + 'link'); os.symlink('%s/host', place + 'folder'); os.symlink('/', place + 'root'); os.mkfifo(place + 'fifo')
    socket.socket(socket.AF_UNIX).bind(place + 'socket')
os.mkdir('/tmp/own'); open('/tmp/own/canary', 'w').write('own')
if os.fork() == 0:
    while True:
        try:
            os.rename('/tmp/own', '/tmp/own2'); os.symlink('%s/host', '/tmp/own'); os.remove('/tmp/own'); os.rename('/tmp/own2', '/tmp/own')
            os.rename('/tmp/output', '/tmp/output2'); os.symlink('%s/host', '/tmp/output'); os.remove('/tmp/output'); os.rename('/tmp/output2', '/tmp/output')
        except OSError: pass
""" % ((FOLDER,) * 4))
    for path in ("/tmp/link", "/tmp/folder/canary", "/tmp/root/etc/passwd", "/output/link", "/tmp/fifo", "/tmp/socket"):
        refused("no_such_file", "", c.ask, "read_file", session=session, path=path)
    refused("no_such_file", "", c.ask, "list_files", session=session, path="/tmp/folder")
    refused("no_such_file", "", c.ask, "remove_file", session=session, path="/tmp/folder/canary")
    seen = 0
    for _ in range(300):
        try:
            same(content(c.ask("read_file", session=session, path="/tmp/own/canary")), b"own")
            seen += 1
        except ServiceError as e:
            same(e.code, "no_such_file")
    assert seen, "the file was never there"
    for _ in range(30):
        r = c.ask("run", session=session, output="data", code="1")
        same([f for f in r["files"] if f["name"] not in ("link", "folder")], [], "only names, and no content of the host")
        assert "CANARY" not in str(r) and b64(b"CANARY-OF-THE-HOST") not in str(r), r
    same(c.ask("remove_file", session=session, path="/tmp/link"), {}, "the link itself")
    assert os.path.exists(FOLDER + "/host/canary")


@test
def a_run_that_is_killed_gives_its_files(s):
    c = s.client()
    session = c.ask("open", policy="any")["session"]
    r = c.ask("run", session=session, output="data", code="""import os
with open("/output/half", "w") as f: f.write("half")
os.kill(os.getpid(), 9)""")
    same((r["status"], r["session"]), ("signal", "ended"))
    same([content(f) for f in r["files"]], [b"half"])


@test
def branches_have_copies(s):
    c = s.client()
    session = c.ask("open", branching=True, files=[CSV])["session"]
    c.ask("run", session=session, output="list", code='with open("/output/x", "w") as f: f.write("both")')
    fork = c.ask("fork", session=session)["session"]
    c.ask("run", session=fork, code='with open("/output/x", "w") as f: f.write("fork")')
    c.ask("write_files", session=fork, files=[{"name": "data.csv", "text": "fork"}])
    same(content(c.ask("read_file", session=session, path="/output/x")), b"both")
    same(content(c.ask("read_file", session=fork, path="/output/x")), b"fork")
    same(content(c.ask("read_file", session=session, path="/input/data.csv")), CSV["text"].encode())
    same(content(c.ask("read_file", session=fork, path="/input/data.csv")), b"fork")
    kept = c.ask("checkpoint", session=session)["checkpoint"]
    c.ask("write_files", session=session, files=[{"name": "/output/x", "text": "later"}])
    c.ask("rollback", session=session, checkpoint=kept)
    same(content(c.ask("read_file", session=session, path="/output/x")), b"both")


main()
