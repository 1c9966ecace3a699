"""The relay alone: each case runs a function in the network namespace of a jail, beside servers here that it may reach.

usage: relay.py RELAYED FOLDER, in network and mount namespaces of its own; relay.py --inside CASE is what `relayed` runs."""

import os
import re
import resource
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from until import until  # noqa: E402

HOST, OTHER, DEAD, SLAMS = "203.0.113.10", "203.0.113.11", "203.0.113.12", "203.0.113.13"
STUCK = ["203.0.113.%d" % i for i in range(14, 21)]
ECHO, SINK, SOURCE, RESETS, HALF, SEGMENTS = 7, 9, 19, 20, 21, 23
NAME_SERVER = "127.0.0.77"
ALERT = b"\x15\3\3\0\2\2\x31"  # TLS: access_denied
RESET = socket.SO_LINGER, struct.pack("ii", 1, 0)
RULES = ["echo.test.org:%d" % port for port in (ECHO, SINK, SOURCE, RESETS, HALF, SEGMENTS, 80, 443, 8443)]
RULES += ["%s:%d" % (HOST, port) for port in (ECHO, SINK, SOURCE, RESETS, HALF, SEGMENTS, 80, 443, 8443)]
NF_TABLES, NEW_RULE = 10, 6  # linux/netfilter/nfnetlink.h, nf_tables.h
seen = []  # what servers here saw


# --- servers, in threads ---


def serve(port, talk, address=HOST):
    listener = socket.create_server((address, port), backlog=4096)

    def run():
        while True:
            threading.Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()


def echo(s):
    try:
        while data := s.recv(65536):
            s.sendall(data)
    except OSError as e:
        seen.append("echo %s" % type(e).__name__)
    s.close()


def sink(s):
    count = 0
    try:
        while data := s.recv(65536):
            count += len(data)
        s.sendall(b"%d" % count)
    except OSError as e:
        seen.append("sink %s" % type(e).__name__)
    s.close()


def source(s):
    try:
        want = int(s.recv(64).strip(b"\1"))
        s.sendall(bytes(range(256)) * (want // 256))
    except OSError as e:
        seen.append("source %s" % type(e).__name__)
    s.close()


def resets(s):
    s.recv(1)
    s.setsockopt(socket.SOL_SOCKET, *RESET)
    s.close()


def segments(s):
    """Says how many segments have brought the first bytes, the SYN included: tcpi_segs_in."""
    s.recv(100)
    s.sendall(b"%d" % struct.unpack_from("I", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), 140))
    s.close()


def half(s):
    s.sendall(b"bye")
    s.shutdown(socket.SHUT_WR)
    data = b""
    while more := s.recv(100):
        data += more
    seen.append("half %s" % data.decode())
    s.close()


def full(address):
    """A server whose queue is full: a connection to it gets no answer. The server, and what fills its queue."""
    listener, filler = socket.create_server((address, ECHO), backlog=0), socket.create_connection((address, ECHO))
    return listener, filler


def slams(listener, folder):
    """Lets a relay begin a connection; once it is stopped, answers and resets that."""
    begun = b":0007 02 "  # SYN_SENT
    place = b"%08X" % struct.unpack("=I", socket.inet_aton(SLAMS)) + begun
    while True:
        with open("/proc/net/tcp", "rb") as f:
            if place in f.read():
                break
        time.sleep(0.05)
    open(folder + "/begun", "w", encoding="ascii").close()
    assert until(lambda: os.path.exists(folder + "/stopped"))
    listener.accept()[0].close()  # the filler; the relay's kernel asks again after a second
    s = listener.accept()[0]
    s.sendall(b"bye")
    s.setsockopt(socket.SOL_SOCKET, *RESET)
    s.close()
    open(folder + "/slammed", "w", encoding="ascii").close()


def proxy(s):
    """A proxy for CONNECT; the port says how it behaves: 8443 is forbidden, 443 gets no answer's end, the first bytes come in its answer."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += s.recv(1)
    line = head.split(b"\r\n")[0].decode()
    seen.append("proxy %s" % line)
    port = int(line.split()[1].rsplit(":", 1)[1])
    if port == 8443:
        s.sendall(b"HTTP/1.1 403 Not for you\x1b\r\nContent-Length: 0\r\n\r\n")
    elif port == 443:
        s.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 2000)
    elif port == 80:
        pass
    else:
        up = socket.create_connection((HOST, port))
        first = up.recv(3) if port == HALF else b""
        for part in (b"HTTP/1.1 200 Connection esta", b"blished\r\nVia: x\r\n\r\n" + first):
            s.sendall(part)
            time.sleep(0.05)

        def pass_on(a, b):
            try:
                while data := a.recv(65536):
                    b.sendall(data)
                b.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        threading.Thread(target=pass_on, args=(up, s), daemon=True).start()
        pass_on(s, up)
        return
    s.close()


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def answers(query):
    """What a lying name server says to one query: messages."""
    at = query.index(b"\0", 12) + 1
    name = ".".join(re.findall(rb"[a-z0-9-]+", query[12:at])[i].decode() for i in range(len(re.findall(rb"[a-z0-9-]+", query[12:at]))))
    kind, = struct.unpack(">H", query[at : at + 2])
    seen.append("dns %s %d" % (name, kind))

    def message(records, rcode=0, number=query[:2], question=query[12 : at + 4], flags=0x8180):
        return number + struct.pack(">HHHHH", flags | rcode, 1, len(records), 0, 0) + question + b"".join(records)

    def a(address, ttl=60, owner=name):
        return wire(owner) + struct.pack(">HHIH", 1, 1, ttl, 4) + socket.inet_aton(address)

    def cname(owner, target):
        return wire(owner) + struct.pack(">HHIH", 5, 1, 60, len(wire(target))) + wire(target)

    first = name.split(".")[0]
    if kind != 1 and first != "nobody":
        return [message([])]
    return {
        "echo": lambda: [message([a(HOST)])],
        "private": lambda: [message([a("10.0.0.1")])],
        "mixed": lambda: [message([a("169.254.169.254"), a("127.0.0.1"), a(HOST)])],
        "chain": lambda: [message([cname(name, "x.test.org"), cname("x.test.org", "y.test.org"), a("192.168.1.1", owner="y.test.org")])],
        "loop": lambda: [message([cname(name, "x.test.org"), cname("x.test.org", name)])],
        "wrongid": lambda: [message([a("198.51.100.1")], number=bytes([query[0] ^ 1, query[1]])), message([a(HOST)])],
        "wrongname": lambda: [message([a("198.51.100.1", owner="z.test.org")], question=wire("z.test.org") + b"\0\1\0\1"), message([a(HOST)])],
        "hugettl": lambda: [message([a(HOST, ttl=0xFFFFFFFF)])],
        "zerottl": lambda: [message([a(HOST, ttl=0)])],
        "nobody": lambda: [message([], 3)],
        "empty": lambda: [message([])],
        "refuses": lambda: [message([], 5)],
        "silent": lambda: [],
        "garbage": lambda: [query[:2] + os.urandom(100), query[:2] + b"\x81\x80\xff\xff\xff\xff\xff\xff\xff\xff" + b"\xc0\x0c" * 50],
        "many": lambda: [message([a("10.0.%d.%d" % (i, i)) for i in range(25)])],
        "dead": lambda: [message([a(DEAD)])],
        "slams": lambda: [message([a(SLAMS)])],
        "stuck": lambda: [message([a(address) for address in [*STUCK, HOST]])],
    }.get(first, lambda: [message([], 3)])()


def name_server():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((NAME_SERVER, 53))

    def run():
        while True:
            query, who = s.recvfrom(2000)
            for answer in answers(query):
                s.sendto(answer, who)

    threading.Thread(target=run, daemon=True).start()


# --- inside ---


def ask(name, kind=1, tcp=False, pieces=False, query=None):
    q = query or b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + wire(name) + struct.pack(">HH", kind, 1)
    if tcp:
        with socket.create_connection(("198.18.0.1", 53), 5) as s:
            framed = struct.pack(">H", len(q)) + q
            for i in range(len(framed)) if pieces else [None]:
                s.sendall(framed if i is None else framed[i : i + 1])
            r = s.recv(600)[2:]
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(3)
            s.sendto(q, ("198.18.0.1", 53))
            r = s.recv(600)
    return r[3] & 15, r[-4:] if kind == 1 and r[7] else None


def reach(port, name="echo.test.org"):
    if name[0].isdigit():
        return socket.create_connection((name, port), 10)
    rcode, address = ask(name)
    assert rcode == 0 and address, (name, rcode)
    return socket.create_connection((socket.inet_ntoa(address), port), 30)


def say(s, data, want=None):
    """What comes back from a socket, or from what reach() makes for a port and a name; or the error's name."""
    try:
        if not isinstance(s, socket.socket):
            s = reach(*s) if isinstance(s, tuple) else reach(s)
        s.sendall(data)
        back = b""
        while len(back) < (len(data) if want is None else want) and (more := s.recv(65536)):
            back += more
        return back
    except OSError as e:
        return type(e).__name__


def hello(name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    out = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def relay_pid():
    return int(os.environ["RELAY_PID"])


def relay_memory():
    with open("/proc/%d/statm" % relay_pid(), encoding="ascii") as f:
        return int(f.read().split()[1]) * 4096


def inside_passes():
    s = reach(ECHO)
    yield say(s, b"\1" * 5) == b"\1" * 5
    s.shutdown(socket.SHUT_WR)
    yield s.recv(1) == b""
    six = ask("echo.test.org", 28)
    yield six[0] == 0
    big = b"\1" + os.urandom(1 << 20) * 8
    s, got = reach(ECHO), bytearray()
    sender = threading.Thread(target=lambda: (s.sendall(big), s.shutdown(socket.SHUT_WR)))
    sender.start()
    while more := s.recv(1 << 20):
        got += more
    yield bytes(got) == big


def half_closed():
    """A connection whose server has ended its side first, after it had said this, and then the program its own."""
    s = reach(HALF)
    said = b""
    while more := s.recv(10):
        said += more
    s.sendall(b"later")
    s.shutdown(socket.SHUT_WR)
    return s, said


def inside_one_segment():
    """Bytes that are there when the relay takes a connection go to the host with the handshake's last segment."""
    for address in socket.inet_ntoa(ask("echo.test.org")[1]), HOST:
        os.kill(relay_pid(), signal.SIGSTOP)
        s = socket.create_connection((address, SEGMENTS), 10)
        s.sendall(b"\1")
        os.kill(relay_pid(), signal.SIGCONT)
        yield s.recv(10) == b"2"  # the first is the SYN
    s = reach(HALF)
    yield s.recv(10) == b"bye"  # and a host that speaks first need not wait for any


def inside_half_close():
    s, said = half_closed()
    yield said == b"bye"
    yield s.recv(1) == b""
    s = reach(SINK)
    s.sendall(b"\1" * 100000)
    s.shutdown(socket.SHUT_WR)
    yield s.recv(10) == b"100000"


def inside_resets():
    yield say(RESETS, b"\1") == "ConnectionResetError"
    s = reach(ECHO)
    say(s, b"\1")
    s.setsockopt(socket.SOL_SOCKET, *RESET)
    s.close()
    time.sleep(0.3)
    yield say(ECHO, b"\1") == b"\1"


def inside_tls():
    good = hello("echo.test.org")
    yield say(443, good) == good
    s = reach(443)
    for i in range(len(good) - 1):
        s.sendall(good[i : i + 1])
    s.settimeout(0.2)
    try:
        early = s.recv(1)
    except TimeoutError:
        early = None
    yield early is None
    s.settimeout(10)
    yield say(s, good[-1:], len(good)) == good
    yield say(443, hello("evil.test.org")) == ALERT
    yield say(8443, hello("evil.test.org")) == ALERT
    yield say(443, hello(None)) == ALERT
    yield say(443, b"SSH-2.0-x\r\n").startswith(b"SSH-2.0-agentjail\r\n")
    yield say(8443, b"SSH-2.0-x\r\n") == b"SSH-2.0-x\r\n"
    yield say(8443, b"GET / HTTP/1.1\r\nHost: evil.test.org\r\n\r\n").startswith(b"HTTP/1.1 403 ")


def inside_http():
    head = b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n"
    good = head % b"echo.test.org"
    s = reach(80)
    yield say(s, good) == good
    yield say(s, good) == good
    yield say(s, head % b"evil.test.org") == "ConnectionResetError"
    s = reach(80)
    s.sendall(good[:20])
    time.sleep(0.1)
    yield say(s, good[20:], len(good)) == good
    yield say(80, good + head % b"evil.test.org", 1 << 16).startswith(b"HTTP/1.1 403 ")
    yield say(80, good) == good


def inside_refused():
    address = b"\xc6\x13\0\0"  # 198.19.0.0, the first of those that are refused
    yield ask("evil.test.org") == (0, address)
    yield ask("evil.test.org", tcp=True) == (0, address)
    yield ask("evil.test.org", 65) == (0, None)
    yield ask("echo.test.org", 65) == (0, None)
    yield ask("echo.test.org", tcp=True, pieces=True)[0] == 0
    for address, port in (("1.2.3.4", 443), ("198.18.77.7", ECHO), ("198.18.0.1", 1), ("198.18.0.1", ECHO), (HOST, 22), ("10.0.0.1", 80), ("169.254.169.254", 80)):
        yield say((port, address), b"\1x") == "ConnectionResetError" if port != 80 else say((port, address), b"x\r\n", 1 << 16).startswith(b"HTTP/1.1 403 ")
    yield say(22, b"\1x") == "ConnectionResetError"
    yield say((ECHO, HOST), b"\1") == b"\1"


def inside_liars():
    want = {"mixed": True, "wrongid": True, "wrongname": True, "hugettl": True, "private": False, "chain": False, "loop": False, "nobody": False,
            "empty": False, "refuses": False, "garbage": False, "many": False, "dead": False, "silent": False}
    said = {}

    def one(name):
        said[name] = say((ECHO, name + ".test.org"), b"\1") == b"\1"

    threads = [threading.Thread(target=one, args=(name,)) for name in want]
    for t in threads:
        t.start()
    for _ in range(10):
        say((ECHO, "zerottl.test.org"), b"\1")
    for t in threads:
        t.join()
    yield said == want


def inside_stuck():
    """Seven addresses that do not answer: the eighth is not kept waiting for the others to fail."""
    s = reach(ECHO, "stuck.test.org")
    s.settimeout(15)
    yield say(s, b"\1") == b"\1"


def inside_slams():
    """A host that had answered and then reset: the relay sees both at once."""
    s = reach(ECHO, "slams.test.org")
    folder = os.environ["RELAY_FOLDER"]
    assert until(lambda: os.path.exists(folder + "/begun"))
    os.kill(relay_pid(), signal.SIGSTOP)
    open(folder + "/stopped", "w", encoding="ascii").close()
    assert until(lambda: os.path.exists(folder + "/slammed"))
    os.kill(relay_pid(), signal.SIGCONT)
    got = b""
    try:
        while more := s.recv(10):
            got += more
    except ConnectionResetError:
        got += b"!"
    yield got in (b"bye!", b"!")


def inside_probes():
    """A program that ends or resets a connection before anything is sent: its own doing, and no failure of a host."""
    reach(443).close()
    s = reach(443)
    s.setsockopt(socket.SOL_SOCKET, *RESET)
    s.close()
    yield say(443, hello("echo.test.org")) != b""


def inside_proxy():
    yield say(ECHO, b"\1" * 1000) == b"\1" * 1000
    yield say((ECHO, HOST), b"\1") == b"\1"
    s, said = half_closed()
    yield said == b"bye"
    yield say(8443, b"\1") == "ConnectionResetError"
    yield say(ECHO, hello("evil.test.org")) in (ALERT, "ConnectionResetError")
    yield say(443, hello("echo.test.org")) == "ConnectionResetError"
    yield say(80, b"GET / HTTP/1.1\r\nHost: echo.test.org\r\n\r\n") == "ConnectionResetError"
    big = b"\1" + os.urandom(1 << 20)
    yield say(ECHO, big) == big


def inside_no_proxy():
    yield say(ECHO, b"\1") == "ConnectionResetError"


def inside_caps():
    open_ones = [reach(ECHO) for _ in range(4)]
    yield [say(s, b"\1") for s in open_ones] == [b"\1"] * 4
    yield say(ECHO, b"\1") == "ConnectionResetError"
    open_ones.pop().close()
    time.sleep(0.3)
    yield say(ECHO, b"\1") == b"\1"


def inside_rate():
    results = [say(ECHO, b"\1") for _ in range(30)]
    yield results.count(b"\1") < 30 and results.count("ConnectionResetError") > 0
    time.sleep(1)
    yield say(ECHO, b"\1") == b"\1"


def inside_bytes():
    yield len(say(SOURCE, b"\1%d" % (1 << 16), 1 << 16)) == 1 << 16
    s = reach(SOURCE)
    got = say(s, b"\1%d" % (64 << 20), 64 << 20)
    yield got == "ConnectionResetError" or len(got) < 64 << 20
    yield say(ECHO, b"\1") == "ConnectionResetError"


def inside_bytes_out():
    s = reach(SINK)
    try:
        s.sendall(b"\1" * (8 << 20))
        yield s.recv(10) == b""
    except OSError as e:
        yield isinstance(e, (ConnectionResetError, BrokenPipeError))
    yield say(ECHO, b"\1") == "ConnectionResetError"


def inside_slow():
    slow = []
    for _ in range(60):
        s = reach(SOURCE)
        s.sendall(b"\1%d" % (8 << 20))
        slow.append(s)
    time.sleep(1)
    yield say(ECHO, b"\1") == b"\1"
    yield relay_memory() < 100 << 20
    for s in slow[:3]:
        count = 0
        while more := s.recv(1 << 20):
            count += len(more)
        yield count == 8 << 20


def inside_thousand():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    count = min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
    address = socket.inet_ntoa(ask("echo.test.org")[1])
    many = [socket.create_connection((address, ECHO), 30) for _ in range(count)]
    for s in many:
        s.sendall(b"\1\2")
    yield all(s.recv(2) == b"\1\2" for s in many)
    yield relay_memory() < 100 << 20
    for s in many:
        s.close()
    time.sleep(0.5)
    yield say(ECHO, b"\1") == b"\1"


def inside_flood():
    for i in range(300):
        ask("evil.test.org")
    for i in range(2000):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(os.urandom(i % 1500), ("198.18.0.1", 53))
    for data in (b"\0", b"\0\0", b"\xff\xff" + b"x" * 3000, b"\0\x0c" + b"\0" * 12, b"\0\x20" + os.urandom(32) * 40):
        with socket.create_connection(("198.18.0.1", 53), 5) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while s.recv(100):
                    pass
            except OSError:
                pass
    held = [socket.create_connection(("198.18.0.1", 53), 5) for _ in range(40)]
    yield ask("echo.test.org")[0] == 0
    for s in held:
        s.close()
    long_name = "a" * 60 + "." + "b" * 60 + ".below.test.org"
    yield ask(long_name)[0] == 3
    yield ask("a.below.test.org")[0] == 0
    refused = [ask("n%d.below.test.org" % i)[0] for i in range(400)]
    yield refused.count(2) > 0 and refused.count(0) >= 250


def inside_crowd():
    """Refused names and connections without end: the relay's table and its waiting connections are few, and stop nobody."""
    get = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    before = relay_memory()
    rcodes = [ask("n%d.crowd.org" % i)[0] for i in range(1500)]
    yield rcodes[:200] == [0] * 200 and rcodes.count(3) > 500
    yield say(ECHO, b"\1") == b"\1"
    time.sleep(1)
    first, last = ask("first.crowd.org")[1], None
    for i in range(600):
        last = ask("m%d.crowd.org" % i)[1] or last
        time.sleep(0.002)
    yield b"m" in say((80, socket.inet_ntoa(last)), get, 1 << 16).split(b"agentjail: ")[1][:1]
    silent = [socket.create_connection((socket.inet_ntoa(last), 443), 10) for _ in range(300)]
    yield say(ECHO, b"\1") == b"\1"
    yield say((443, socket.inet_ntoa(last)), hello("m.crowd.org")) == ALERT
    ended = 0
    for s in silent:
        s.setblocking(False)
        try:
            ended += s.recv(1) == b""
        except ConnectionResetError:
            ended += 1
        except BlockingIOError:
            pass
    yield ended >= 300 - 64
    yield relay_memory() < before + (8 << 20)
    yield say((80, socket.inet_ntoa(first)), get, 1 << 16).startswith(b"HTTP/1.1 403 ")


def inside_deaf():
    parent = os.getppid()
    os.kill(parent, signal.SIGSTOP)
    asked = 0
    try:
        for i in range(2000):
            ask("evil%d.test.org" % i)
            asked += 1
    except TimeoutError:
        pass
    yield 200 < asked < 2000
    yield relay_memory() < 100 << 20
    os.kill(parent, signal.SIGCONT)
    time.sleep(0.5)
    yield say(ECHO, b"\1") == b"\1"
    print("asked", asked)


def inside_killed():
    s = reach(ECHO)
    yield say(s, b"\1") == b"\1"
    os.kill(relay_pid(), signal.SIGKILL)
    yield say(s, b"\1") in ("ConnectionResetError", b"")
    try:
        socket.create_connection((HOST, ECHO), 5)
        yield False
    except OSError as e:
        yield isinstance(e, ConnectionRefusedError)


def inside_walls():
    with open("/proc/%d/status" % relay_pid(), encoding="ascii") as f:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in f)
    yield status["Seccomp"] == "2" and status["NoNewPrivs"] == "1"
    yield all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
    if os.environ.get("REALLY_ROOT"):
        yield status["Uid"].split() == ["65534"] * 4 and status["Gid"].split() == ["65534"] * 4 and not status["Groups"].split()
        folder = "/proc/%d/fd/" % relay_pid()
        links = sorted(os.readlink(folder + fd).split(":")[0] for fd in os.listdir(folder))
        yield links == ["/dev/null"] * 3 + ["anon_inode"] + ["socket"] * 8  # the jail's six, the supervisor's, and one for routes
        yield os.readlink("/proc/%d/cwd" % relay_pid()) == "/"
        with open("/proc/%d/environ" % relay_pid(), "rb") as f:
            yield b"RELAY_SECRET" not in f.read()


def inside_few_descriptors():
    results = []

    def one():
        results.append(say(ECHO, b"\1"))

    threads = [threading.Thread(target=one) for _ in range(40)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    yield results.count(b"\1") > 0 and len(results) == 40
    time.sleep(0.3)
    yield say(ECHO, b"\1") == b"\1"


# --- outside: rules and options of a case, and what its reports must hold ---

CASES = {
    "passes": ([], ["closed 1 echo.test.org %s %d 5 5 " % (HOST, ECHO), "closed 1 echo.test.org %s %d %d %d " % (HOST, ECHO, 1 + (8 << 20), 1 + (8 << 20))]),
    "one_segment": ([], []),
    "half_close": ([], []),
    "resets": ([], ["closed 1 echo.test.org %s %d 1 0 Connection reset by peer" % (HOST, RESETS)]),
    "tls": ([], ["refused . echo.test.org - 443 0 0 TLS asks for evil.test.org", "refused . echo.test.org - 8443 0 0 "]),
    "http": ([], ["refused . echo.test.org - 80 0 0 .*evil.test.org"]),
    "refused": ([], ["refused 1 evil.test.org - 0 ", "refused 1 - 1.2.3.4 443 .*the address is not on", "refused 1 - 198.18.77.7 7 .*no name has", "refused 1 - 198.18.0.1 1 ", "refused 1 - 198.18.0.1 7 ",
                     "refused 1 echo.test.org - 22 .*this port", "refused 1 - 169.254.169.254 80"]),
    "liars": ([name + ".test.org:7" for name in ("mixed", "wrongid", "wrongname", "hugettl", "private", "chain", "loop", "nobody", "empty", "refuses",
                                                 "garbage", "many", "zerottl", "dead", "silent")] + [DEAD + ":7"],
              ["refused 1 private.test.org 10.0.0.1 7 .*10.0.0.1: private", "refused 1 chain.test.org 192.168.1.1 7",
               "failed 1 nobody.test.org - 7 .*does not exist", "failed 1 silent.test.org - 7 .*no name server answer", "failed 1 dead.test.org %s 7 .*Connection refused" % DEAD,
               "closed 1 mixed.test.org %s 7 1 1" % HOST]),
    "stuck": (["stuck.test.org:7"] + [address + ":7" for address in STUCK], ["closed 1 stuck.test.org %s 7 1 1 $" % HOST]),
    "slams": (["slams.test.org:7", SLAMS + ":7"], ["closed 1 slams.test.org %s 7 0 3 Connection reset by peer" % SLAMS]),
    "probes": ([], ["closed 1 echo.test.org %s 443" % HOST]),
    "proxy": (["http://%s:3128" % OTHER],
              ["closed 1 echo.test.org %s 7 1000 1000" % OTHER, "failed 1 echo.test.org .* the site's proxy says: HTTP/1.1 403 Not for you.$",
               "failed .* a head that is too long", "failed 1 echo.test.org .*80 .*the site's proxy closed", "refused 1 echo.test.org - 7 .*evil"]),
    "no_proxy": (["http://%s:3129" % OTHER], ["failed 1 echo.test.org %s 7 .*the site's proxy: connect: Connection refused" % OTHER]),
    "caps": (["--connections", "4"], ["refused 1 echo.test.org - 7 .*too many connections at once"]),
    "rate": (["--per-second", "5"], ["refused .* echo.test.org - 7 .*too many new connections a second"]),
    "bytes": (["--bytes-in", str(1 << 20)], ["refused .* received all the bytes", "closed 1 echo.test.org %s %d [0-9]* %d the jail has received" % (HOST, SOURCE, (1 << 20) - (1 << 16))]),
    "bytes_out": (["--bytes-out", str(1 << 20)], ["refused .* sent all the bytes", "closed 1 echo.test.org %s %d %d 0 the jail has sent" % (HOST, SINK, 1 << 20)]),
    "slow": ([], []),
    "thousand": ([], []),
    "flood": (["*.below.test.org:7"], ["refused 29. evil.test.org", "refused .*below.test.org.* a wildcard stands for", "too many names"]),
    "crowd": ([], ["refused 1 n0.crowd.org - 0 ", "refused 1 m[0-9]*.crowd.org - 443 "]),
    "deaf": ([], ["refused 1 evil0.test.org", "refused 1 evil199.test.org"]),
    "killed": ([], ["gone"]),
    "walls": ([], []),
    "few_descriptors": ([], []),
}


def run_case(case, relayed):
    options, reports = CASES[case]
    if isinstance(options, list) and options and options[0].startswith("--"):
        words = options + RULES
    else:
        words = RULES + options
    env = dict(os.environ, RELAY_SECRET="x", RELAY_FOLDER=sys.argv[2])
    if os.geteuid() == 0 and not os.environ.get("AJ_USER"):
        with open("/proc/self/uid_map", encoding="ascii") as f:
            if f.read().split()[2] != "1":
                env["REALLY_ROOT"] = "1"
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))) if case == "few_descriptors" else None
    done = subprocess.run([relayed, *words, "--", sys.executable, "-s", "-B", __file__, "--inside", case], capture_output=True, text=True,
                          timeout=120, env=env, check=False, preexec_fn=limit)
    problems = [line for line in done.stdout.splitlines() if line.startswith("wrong")]
    if done.returncode:
        problems.append("exit %d: %s" % (done.returncode, (done.stdout + done.stderr)[-900:]))
    problems += ["no report like `%s` in: %s" % (want, done.stderr[-3000:]) for want in reports if not re.search(want, done.stderr, re.M)]
    if case == "probes" and "failed" in done.stderr:
        problems.append("a failure is reported: %s" % done.stderr[-900:])
    if case != "killed" and "relay gone" in done.stderr:
        problems.append("the relay ended")
    return problems


def every_rule_is_answered_for(relayed):
    """The kernel's answer that counts is the one to the last rule: an earlier message's says nothing about those behind it."""
    done = subprocess.run([relayed, *RULES, "--", "true"], env=dict(os.environ, NLCB="debug"), capture_output=True, text=True, timeout=60, check=False)
    # Addresses and routes are asked for by messages of other types, one by one.
    answered = [kind for kind in re.findall(r"ORIGINAL MESSAGE.*?type = (\d+)", done.stderr, re.S) if int(kind) >> 8 == NF_TABLES]
    return [] if answered == ["%d" % (NF_TABLES << 8 | NEW_RULE)] else ["answers to messages of types %s: %.900s" % (answered, done.stderr)]


def main():
    relayed, folder = sys.argv[1:3]
    for words in ("link set lo up", "route add local 203.0.113.0/24 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    for path, text in (("/etc/hosts", "127.0.0.1 localhost\n"), ("/etc/resolv.conf", "nameserver %s\noptions timeout:1 attempts:1\n" % NAME_SERVER)):
        own = os.path.join(folder, os.path.basename(path))
        with open(own, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(own, 0o644)
        subprocess.run(["mount", "--bind", own, path], check=True)
    name_server()
    for port, talk in ((ECHO, echo), (SINK, sink), (SOURCE, source), (RESETS, resets), (HALF, half), (SEGMENTS, segments), (80, echo), (443, echo), (8443, echo)):
        serve(port, talk)
    serve(3128, proxy, OTHER)
    queues = [full(address) for address in [SLAMS, *STUCK]]
    threading.Thread(target=slams, args=(queues[0][0], folder), daemon=True).start()
    passed = failed = 0
    only = sys.argv[3:]
    for case in only or ["rules", *CASES]:
        del seen[:]
        began = time.monotonic()
        problems = every_rule_is_answered_for(relayed) if case == "rules" else run_case(case, relayed)
        if os.environ.get("V"):
            print("  %-16s %.1f s" % (case, time.monotonic() - began))
        if case == "half_close" and "half later" not in seen:
            problems.append("the server saw %s" % seen)
        if case == "resets":
            if "echo ConnectionResetError" not in seen:
                problems.append("the server saw %s" % seen)
        if case == "proxy":
            if not {"proxy CONNECT echo.test.org:7 HTTP/1.1", "proxy CONNECT %s:7 HTTP/1.1" % HOST, "half later"} <= set(seen) or "evil" in str(seen):
                problems.append("the proxy saw %s" % seen)
        if case == "liars" and seen.count("dns silent.test.org 1") != 1:
            problems.append("%d queries to a name server that does not answer, with attempts:1" % seen.count("dns silent.test.org 1"))
        if case == "liars" and seen.count("dns zerottl.test.org 1") != 1:
            problems.append("%d queries for a name that was used ten times at once" % seen.count("dns zerottl.test.org 1"))
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print("  FAIL  egress/relay: %s: %s" % (case, problem))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))


if sys.argv[1] == "--inside":
    for number, good in enumerate(globals()["inside_" + sys.argv[2]]()):
        if not good:
            print("wrong: expectation %d" % (number + 1))
else:
    main()
