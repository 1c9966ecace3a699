"""What jails and clients can cost the others at the service: medians of one client's `ping` and `1+1` while 30 jails spin, and while they
do what keeps the service's thread busy instead. It judges nothing: times are for a person to read. Every row has a service of its own in each
round, the rounds follow one another, and what to compare are the ratios to the spinning jails. Service and attackers have sessions of their
own, as under a service manager: where the kernel groups processes by session, a jail is one too.

    thread.py AGENTJAIL EXAMPLES FOLDER [ROUNDS [WORD]]     only the attacks whose name holds WORD
"""
import json, os, signal, struct, subprocess, sys, threading, time

AJ, EXAMPLES, FOLDER = sys.argv[1:4]
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
WORD = sys.argv[5] if len(sys.argv) > 5 else ""
sys.path.insert(0, EXAMPLES)
from client import Client

JAILS, SECONDS, EACH = 30, 2.0, 0.004
POLICY = 'extends = "snippet"\n[python]\nlayer = false\n[limits]\nwall = "60s"\ncpu = "60s"\n'
FRAMES = """
import os
def frame(body):
    return (1 + len(body)).to_bytes(4, 'big') + b'C' + body
def flood(data):
    while True:
        os.write(3, data)
        os.read(3, 1 << 20)
"""
SPIN = "while True: pass"
TOOL = {"name": "echo", "parameters": {"type": "object", "properties": {"x": {}}, "required": ["x"]}}
ATTACKS = {
    "spinning jails": SPIN,
    "tiny calls of an unknown tool": FRAMES + "flood(frame(b'{\"call\":1,\"tool\":\"x\",\"args\":{}}') * 20)",
    "calls of 480 kB of an unknown tool": FRAMES + "flood(frame(b'{\"call\":1,\"tool\":\"x\",\"args\":{\"x\":\"%s\"}}' % (b'x' * 480000)))",
    "calls of 20,000 values that do not fit": FRAMES +
        "flood(frame(b'{\"call\":1,\"tool\":\"echo\",\"args\":{\"y\":[%s1]}}' % (b'1,' * 20000)))",
    "calls of 480 kB that fit": "x = 'x' * 480000\nwhile True: echo(x=x)",
    "calls that fit": "while True: echo(x=1)",
    "system calls that are refused": "import os\nwhile True:\n try: os.fork()\n except OSError: pass",
    "output": "import os\nd = b'x' * 65536\nwhile True: os.write(1, d)",
    "half of them spin, half call": None,
}


def attack(path, name):
    """In a process of its own: each jail has a connection that starts the code again whenever it has ended."""
    def one(i):
        code = ATTACKS[name] or ATTACKS["tiny calls of an unknown tool" if i % 2 else "spinning jails"]
        while True:
            c = Client(path)
            try:
                session = c.ask("open", policy="open", tools=[TOOL])["session"]
                while c.ask("run", {"echo": lambda x: x}, session=session, code=code)["session"] == "alive":
                    pass
            except Exception:
                time.sleep(0.01)
            c.socket.close()
    for i in range(JAILS):
        threading.Thread(target=one, args=(i,), daemon=True).start()
    time.sleep(1000)


def inputs(path, values):
    c = Client(path)
    session = c.ask("open")["session"]
    data = {"x%d" % i: i for i in range(values)}
    while True:
        try:
            c.ask("run", session=session, code="1", inputs=data)
        except Exception:
            time.sleep(0.001)


def measure(path, session, client):
    rows = {"ping": [], "1+1": []}
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for what in rows:
            time.sleep(EACH)
            begin = time.monotonic()
            client.ask("ping") if what == "ping" else client.ask("run", session=session, code="1+1")
            rows[what].append((time.monotonic() - begin) * 1e3)
    return rows


def thread_s(pid):
    """What the service's thread ran, and what it waited for a processor."""
    ran, waited = open("/proc/%d/schedstat" % pid).read().split()[:2]
    return int(ran) / 1e9, int(waited) / 1e9


def connect(path):
    while True:
        try:
            return Client(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)


def serve(name, begin, rows):
    path = FOLDER + "/s"
    with open(FOLDER + "/open.toml", "w") as f:
        f.write(POLICY)
    server = subprocess.Popen([AJ, "serve", "--socket", path, "--policy", "snippet", "--policy-file", FOLDER + "/open.toml", "--parked", "2"],
                              stderr=subprocess.DEVNULL, start_new_session=True)
    child = 0
    try:
        client = connect(path)
        session = client.ask("open")["session"]
        child = begin and os.fork()
        if begin and not child:
            try:
                os.setsid()
                begin(path)
            finally:
                os._exit(0)
        wanted = 31 if begin and name in ATTACKS else 1
        limit = time.monotonic() + 20
        while client.ask("stats")["sessions"] < wanted and time.monotonic() < limit:
            time.sleep(0.05)
        time.sleep(0.5)
        before = thread_s(server.pid)
        for what, times in measure(path, session, client).items():
            rows.setdefault(what, []).extend(times)
        after = thread_s(server.pid)
        for what, i in ("ran", 0), ("waited", 1):
            rows[what] = rows.get(what, 0) + (after[i] - before[i]) / SECONDS / ROUNDS * 100
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        server.kill()
        server.wait()
        os.unlink(path)


def p50(times):
    return sorted(times)[len(times) // 2]


BASE = "spinning jails"
attacks = {"quiet": None}
attacks.update((name, lambda path, name=name: attack(path, name)) for name in ATTACKS)
attacks["inputs of 200,000 values"] = lambda path: inputs(path, 200000)
names = [name for name in attacks if WORD in name or name == BASE]
results = {name: {} for name in names}
for _ in range(ROUNDS):
    for name in names:
        serve(name, attacks[name], results[name])
print("%-40s %29s %29s %10s" % ("ms", "ping: p50     max    ratio", "1+1: p50     max    ratio", "thread: ran, waited"))
for name, rows in results.items():
    cells = ["%12.2f %7.1f %7.2fx" % (p50(rows[what]), max(rows[what]), p50(rows[what]) / p50(results[BASE][what])) for what in ("ping", "1+1")]
    print("%-40s %s  %s  %7.0f %% %5.0f %%" % (name, *cells, rows["ran"], rows["waited"]), flush=True)
