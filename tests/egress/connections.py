"""Connections of a network by allow-list: which there are, how they end, how many there may be, and what is said of them."""

import json
import socket
import subprocess

from jails import ALERT, API, INSIDE, W, connects, jail, kept_out, refused, unseen, world
from client import check, main, test, until


# --- what is allowed works ---


@test
def allowed():
    allow = [API + ":443", API + ":80", API + ":8443", API + ":8080", API + ":5432", API + ":22"]
    run = jail("for port in 443, 80, 8443, 8080, 5432: said(reaches('%s', port))\nsaid(talk('%s', 22, 'SSH-2.0-x\\r\\n'))" % (API, API), allow=allow)
    check("TLS, HTTP and others", len(run.lines) == 6 and all("internet " + API in line for line in run.lines[:4]) and run.lines[4] == "ping\n"
          and run.lines[5] == "SSH-2.0-world\r\nSSH-2.0-x\r\n", run)
    check("without a violation", run.result.get("violations") == [], run)
    network = run.result.get("network", {})
    check("counted", network.get("connections") == 6 and network.get("refused") == 0 and network.get("bytes_out", 0) > 500, network)
    run = jail("said(resolve('%s'))" % API)
    check("its address is one that stands for it", run.lines and all(address.startswith(("198.18.", "198.19.", "fd00:a9e7:")) for address in run.lines[0]), run)
    run = W.run("curl", "-sS", "--http1.1", "https://%s/x" % API)
    check("curl, with a certificate that it checks", run.stdout.startswith("internet " + API), run)


@test
def ipv6():
    W.name("six.pkg.test", "2001:db8::26")
    run = jail("said(reaches('six.pkg.test', 443))", allow=["*.pkg.test:443"])
    check("a name that has only an IPv6 address", "on 2001:db8::26" in "".join(run.lines), run)


@test
def addresses_that_are_written_out():
    allow = ["203.0.113.7:443", "10.1.0.0/16:5432", "[2001:db8::/64]:80"]
    run = jail("for place in ('203.0.113.7', 443), ('10.1.2.3', 5432), ('2001:db8::9', 80), ('203.0.113.8', 443), ('10.2.0.1', 5432), "
               "('10.1.2.3', 80), ('2001:db8:1::9', 80): said(reaches(*place))", allow=allow)
    check("by their rule", len(run.lines) == 7 and "internet" in run.lines[0] and run.lines[1] == "ping\n" and "internet" in run.lines[2], run)
    check("and no others", all(kept_out(line) for line in run.lines[3:]), run)
    for host, port in (("203.0.113.8", 443), ("10.2.0.1", 5432), ("10.1.2.3", 80), ("2001:db8:1::9", 80)):
        check("%s is reported" % host, refused(run, host, port), run)
    check("nor seen", len(W.log(kind="tcp")) == 3, W.log())


@test
def port_0():
    W.name("evil.test", "203.0.113.99")
    hosts = [API, "203.0.113.7", "2001:db8::7", "evil.test"]
    for more in "", 'ask = true':
        run = jail("for host in sys.argv[1:]: said(talk(host, 0, 'x'))", *hosts, allow=[API + ":443", "203.0.113.7:443", "[2001:db8::7]:443"], more=more)
        check("is on no list " + more, len(run.lines) == 4 and all(kept_out(line) for line in run.lines) and run.result["network"]["failed"] == [] and
              all(refused(run, host, None) for host in hosts), run)


@test
def a_jails_own_loopback():
    code = """
import threading
server = socket.create_server(("127.0.0.1", 8080))
threading.Thread(target=lambda: server.accept()[0].sendall(b"own"), daemon=True).start()
said(talk("127.0.0.1", 8080))
said(talk("127.0.0.1", 80), talk("::1", 80))
"""
    run = jail(code)
    check("is its own", run.lines[:1] == ["own"] and run.lines[1:] == [["!ConnectionRefusedError", "!ConnectionRefusedError"]] and unseen(kind="tcp"), run)


# --- UDP and others ---


@test
def datagrams():
    code = """
for host, port in ("203.0.113.7", 443), ("8.8.8.8", 53), ("239.255.255.250", 1900), ("224.0.0.251", 5353), ("255.255.255.255", 123), ("2001:db8::7", 443), \\
        ("ff02::fb", 5353), ("api.allowed.test", 443):
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.settimeout(0.2)
            s.sendto(b"secret", place)
            said(s.recv(9).decode())
    except OSError as e:
        said(error(e))
for family, kind, proto in (socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_DGRAM, 1), (socket.AF_PACKET, socket.SOCK_RAW, 0), (socket.AF_NETLINK, socket.SOCK_RAW, 0):
    try:
        s = socket.socket(family, kind, proto)
        s.settimeout(0.2)
        s.sendto(b"\\x08\\0\\xf7\\xff\\0\\0\\0\\0", ("203.0.113.7", 0))
        said(s.recv(100) and "answered")
    except Exception as e:
        said(error(e))
"""
    run = jail(code)
    check("go nowhere", len(run.lines) == 12 and all(line[:1] == "!" for line in run.lines) and unseen(kind="udp") and unseen(kind="dns"), run)


@test
def ends_of_connections():
    allow = ["%s:%d" % (API, port) for port in (9001, 9002, 9003, 9004, 5432)]
    code = """
import hashlib
data = os.urandom(1 << 20)
said(talk("api.allowed.test", 9002, data) == "%d %s\\n" % (len(data), hashlib.sha256(data).hexdigest()))
said(talk("api.allowed.test", 9001, "x\\n", end=False))
s = socket.create_connection(("api.allowed.test", 9004))
s.sendall(b"12345\\n")
s.recv(1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
s = socket.create_connection(("api.allowed.test", 9004))
s.sendall(b"12345\\n")
s.recv(1)
s.close()
slow = socket.create_connection(("api.allowed.test", 9003))
slow.setblocking(False)
try:
    while True: slow.send(data)
except BlockingIOError:
    said("full")
said([talk("api.allowed.test", 5432, "ping\\n") for i in range(20)])
"""
    run = jail(code, allow=allow)
    check("a half-closed one gets its answer", run.lines[:1] == [True], run)
    check("a reset arrives inside", run.lines[1:2] in (["!ConnectionResetError"], [""]), run)
    check("and outside", until(lambda: sorted(line["how"] for line in W.log(kind="end")) == ["ConnectionResetError", "fin"]), W.log())
    check("one that nobody reads stops no other", run.lines[2:] == ["full", ["ping\n"] * 20], run)


@test
def caps():
    code = """
kept = []
for i in range(9):
    s = socket.create_connection(("api.allowed.test", 5432))
    s.settimeout(WAIT)
    try:
        s.sendall(b"x\\n")
        kept.append(s.recv(1) and s)
    except OSError:
        kept.append(None)
said(sum(s is not None and s != b"" for s in kept))
"""
    run = jail(code, allow=[API + ":5432"], more="connections = 5")
    check("connections at once", run.lines == [5] and refused(run, API, 5432, "connections"), run)
    run = jail("said(len(talk('%s', 5432, b'x\\n' * 500000)))" % API, allow=[API + ":5432"], more='bytes_out = "64K"')
    check("bytes out", refused(run, API, 5432, "sent"), run)
    check("and few are sent beyond", run.result["network"]["bytes_out"] < 64 * 1024 + 1024 * 1024, run)
    run = jail("said(talk('%s', 80, 'GET /bytes/3000000 HTTP/1.1\\r\\n%s\\r\\n', end=False, most=4000000)[-3:], talk('%s', 80, 'x\\n'))" % (API, "Host: %s\\r\\n" % API, API),
               allow=[API + ":80"], more='bytes_in = "64K"')
    check("bytes in", refused(run, API, 80, "received"), run)
    run = jail("said([talk('%s', 5432, 'x\\n') for i in range(20)].count('x\\n'))" % API, allow=[API + ":5432"], more="connections_per_second = 3")
    check("new ones a second", run.lines and 3 <= run.lines[0] < 20 and refused(run, API, 5432, "a second"), run)


HOSTILE = r"""
import random, threading
PIECES = [b"GET / HTTP/1.1\r\n", b"Host: api.allowed.test\r\n", b"\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n",
          b"0\r\n\r\n", b"POST /x HTTP/1.1\r\n", hello(sni(b"api.allowed.test")), hello(sni(b"evil.test")), b"\x16\3\1", b"\0\0", b"x" * 70000, b"SSH-2.0-x\r\n"]

def one(r):
    host, port = r.choice(["api.allowed.test", "api.allowed.test", "203.0.113.7", "198.18.0.99"]), r.choice([80, 443, 8080, 8443, 5432, 22, 9001, 9002, 9003, 9004, 81, 53])
    with socket.create_connection((DNS if port == 53 else host, port), WAIT) as s:
        for _ in range(r.randrange(6)):
            data = b"".join(r.choice(PIECES) for _ in range(r.randrange(4))) + r.randbytes(r.randrange(20))
            while data:
                cut = r.randrange(1, 3000)
                s.sendall(data[:cut])
                data = data[cut:]
        end = r.randrange(4)
        if end == 0: s.shutdown(socket.SHUT_WR)
        if end == 1: s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if end == 2: s.shutdown(socket.SHUT_RD)

def many(seed):
    r = random.Random(seed)
    for _ in range(60):
        try: one(r)
        except OSError: pass

threads = [threading.Thread(target=many, args=(seed,)) for seed in range(16)]
for thread in threads: thread.start()
said([reaches("api.allowed.test", 80).count("internet") for _ in range(20)])
for thread in threads: thread.join()
said(reaches("api.allowed.test", 443))
"""


@test
def hostile_clients():
    """Connections of random pieces, cut and ended in random ways, beside requests that must be answered."""
    allow = ["%s:%d" % (API, port) for port in (80, 443, 8080, 8443, 5432, 22, 9001, 9002, 9003, 9004, 81)] + ["203.0.113.7:443"]
    run = jail(HOSTILE, allow=allow, more="[limits]\nopen_files = 1024\npids = 64")
    check("a thousand of them stop nobody", run.lines[:1] == [[1] * 20] and "internet" in run.lines[1], run)
    seen = W.log(kind="tls", sni="evil.test") + [line for line in W.log(kind="http") if line["host"] not in (API, None)]
    check("and none gets through", not seen and "relay has ended" not in str(run.result["violations"]), seen or run)


@test
def many():
    code = """
open_ones = [socket.create_connection(("api.allowed.test", 5432)) for i in range(400)]
for i, s in enumerate(open_ones): s.sendall(b"%04d\\n" % i)
said(all(s.recv(5, socket.MSG_WAITALL) == b"%04d\\n" % i for i, s in enumerate(open_ones)))
"""
    run = jail(code, allow=[API + ":5432"], more="[limits]\nopen_files = 1024")
    check("four hundred connections at once", run.lines == [True], run)


@test
def other_jails():
    """What stands for a name does so in one jail alone, and a jail's servers are out of reach for other jails and for the host."""
    code = "server = socket.create_server(('0.0.0.0', 7777))\nsaid(resolve('api.allowed.test'))\ntime.sleep(100)"
    words = W.words("run", "--policy-file", W.policy([API + ":443"]), "--", world.PYTHON, "-I", "-S", "-c", INSIDE + code)
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as other:
        try:
            addresses = json.loads(other.stdout.readline())
            run = jail("for place in json.loads(sys.argv[1]):\n    for port in 443, 7777: said(talk(place, port))", json.dumps(addresses))
            check("another jail's address for a name", len(addresses) == 2 and len(run.lines) == 4 and all("Error" in line for line in run.lines)
                  and all(refused(run, address, 443, "no name has this address") for address in addresses), run)
            places = [("127.0.0.1", 7777), (world.HOST4, 7777), *[(address, 7777) for address in addresses]]
            check("its server, from the host", not any(connects(place) for place in places), places)
        finally:
            other.terminate()


# --- what is said of it ---


@test
def a_refusal_is_told():
    run = jail("said(reaches('files.example.org', 443))", allow=[API + ":443"])
    wrong = [v for v in run.result.get("violations", []) if v.get("host") == "files.example.org"]
    check("to the caller, with a sentence for the model", wrong and "files.example.org" in wrong[0]["instead"] and "list" in wrong[0]["why"], run)
    done = W.agent("run", "--policy-file", W.policy(), "--", world.PYTHON, "-I", "-S", "-c", INSIDE + "said(reaches('files.example.org', 443))")
    check("and on the terminal", "files.example.org" in done.stderr, done)


TOLD = "agentjail: %s was refused: %s. Ask for %s to be allowed (agentjail --allow-host %s), or work without it."


@test
def the_program_is_told():
    """In the protocol that it speaks; nothing leaves the host for that."""
    code = r"""
get = "%s / HTTP/1.1\r\nHost: evil.test\r\nContent-Length: %d\r\n\r\n"
for port in 80, 8080: said(talk("evil.test", port, get % ("GET", 0), end=False))
said(talk("evil.test", 80, get % ("HEAD", 0), end=False))
said(talk("evil.test", 80, *(get % ("GET", 0)), end=False))
said(talk("evil.test", 80, get % ("POST", 3000000), "x" * 3000000, end=False))
said(talk("evil.test", 443, hello(sni(b"evil.test")), end=False))
said(https("evil.test", 8443, "evil.test"))
said(talk("evil.test", 22, "SSH-2.0-x\r\n", end=False))
for part in b"\0\0\0\x08\4\xd2\x16\x2f", b"nothing", b"": said(talk("evil.test", 5432, part, end=False))
said(talk("evil.test", 80, b"\0\1\2\r\nX: y\r\n", end=False))
said(talk("203.0.113.9", 80, get % ("GET", 0), end=False), talk("2001:db8::9", 443, hello(sni(b"x")), end=False))
said(talk("api.allowed.test", 443, "GET / HTTP/1.1\r\n\r\n", end=False), talk("api.allowed.test", 80, "GET /\r\n\r\n", end=False))
said(sorted(resolve("evil.test")))
"""
    run = jail(code)
    lines = run.lines if len(run.lines) == 15 else [""] * 15
    head, _, text = lines[0].partition("\r\n\r\n")
    check("HTTP: a 403 with the sentence", head.startswith("HTTP/1.1 403 Forbidden\r\n") and "\r\nContent-Type: text/plain\r\n" in head and
          "\r\nContent-Length: %d\r\n" % len(text) in head + "\r\n" and
          text == TOLD % ("evil.test:80", "this name is not on the jail's list", "evil.test:80", "evil.test:80") + "\n", run)
    check("on any port", "evil.test:8080 was refused" in lines[1], run)
    check("HEAD: no text", lines[2].startswith("HTTP/1.1 403 ") and lines[2].endswith("\r\n\r\n"), run)
    check("byte by byte, and behind three megabytes", lines[3] == lines[0] and lines[4] == lines[0], lines[3:5])
    check("TLS: the alert access_denied", lines[5] == ALERT and lines[6] == "!SSLError", run)
    check("SSH: a disconnection with the sentence", lines[7].startswith("SSH-2.0-agentjail\r\n") and "evil.test:22 was refused" in lines[7], run)
    check("others are reset", lines[8:11] == ["!ConnectionResetError"] * 3, run)
    check("port 80 is HTTP", lines[11] == lines[0], run)
    check("addresses", "203.0.113.9:80 was refused: the address is not" in lines[12][0] and lines[12][1] == ALERT, run)
    check("ports and protocols of an allowed host", "HTTP/1.1 403" in lines[13][0] and "api.allowed.test:80 was refused: this port of it" in lines[13][1], run)
    check("one address of each family", len(lines[14]) == 2 and lines[14][0].startswith("198.19.") and lines[14][1].startswith("fd00:a9e7::1:"), run)
    said = [v for v in run.result["violations"] if v["host"] == "evil.test" and v["port"] == 80]
    check("the result has the same sentence", len(said) == 1 and text == "agentjail: evil.test:80 was refused: %s. %s\n" % (said[0]["why"], said[0]["instead"]), run)
    check("nothing left the host", unseen(), W.log())


@test
def an_attempt_is_one_violation():
    """A look-up with A and AAAA, and the connection that follows, are one; so are all of it where a program tries the other address."""
    code = """
for i in range(3): talk("evil.test", 443, hello(sni(b"x")), end=False)
resolve("lone.test")
said(dns(query("lone2.test", 28)), dns(query("lone2.test", 1)), dns(query("lone2.test", 65)))
talk("evil.test", 80, "GET / HTTP/1.1\\r\\n\\r\\n", end=False)
"""
    run = jail(code)
    counts = [(v["host"], v["port"], v["count"]) for v in run.result.get("violations", [])]
    check("with the port that was meant", counts == [("evil.test", 443, 3), ("lone.test", None, 1), ("lone2.test", None, 1), ("evil.test", 80, 1)], run)
    check("the sum is that of all", run.result["network"]["refused"] == 6, run)


@test
def explain_agrees():
    allow = [API + ":443", "*.pkg.test:80", "10.1.0.0/16:5432", "[2001:db8::/64]:80"]
    rows = [(API, 443), (API, 80), ("a.pkg.test", 80), ("pkg.test", 80), ("evil.test", 443), ("10.1.2.3", 5432), ("10.2.2.3", 5432), ("203.0.113.7", 443),
            ("2001:db8::9", 80), ("2001:db8:1::9", 80), ("::ffff:10.1.2.3", 5432), (API.upper() + ".", 443)]
    run = jail("for host, port in json.loads(sys.argv[1]): said(reaches(host, port))", json.dumps(rows), allow=allow)
    policy = W.policy(allow)
    for (host, port), line in zip(rows, run.lines + [None] * len(rows)):
        place = "%s:%d" % ("[%s]" % host if ":" in host else host, port)
        said = W.agent("policy", "explain", "--policy-file", policy, "--host", place).stdout.split(" ")[0]
        did = "denied" if line is None or kept_out(line) else "allowed"
        check("explain --host %s" % place, said == did, (said, did, line))


main()
