"""What agent code may try against a network by allow-list, with real servers for all of it (world.py). An attack has failed when no server
saw it and the result's violations say so; a control beside it shows that the same way works for what is allowed."""

import json
import os

import world

world.enter()
from client import AJ, FOLDER, check, main, test  # noqa: E402

W = world.World(AJ, FOLDER)
with open(os.path.join(world.HERE, "inside.py"), encoding="utf-8") as source:
    INSIDE = source.read()
API = "api.allowed.test"
W.name(API, "203.0.113.7", "2001:db8::7")
W.name("evil.test", "203.0.113.99")
W.name("pkg.test", "203.0.113.20")
for each in ("a.pkg.test", "b.pkg.test"):
    W.name(each, "203.0.113.21")


def jail(code, *args, allow=(API + ":443",), **how):
    """Runs lines of Python in a jail; `lines` of the result are what said() said."""
    W.forget()
    run = W.python(INSIDE + code, *args, allow=allow, **how)
    run.lines = [json.loads(line) for line in run.stdout.splitlines() if line[:1] in '["0123456789ntf{']
    return run


def refused(run, host, port, why=""):
    """The violation of a host and port (None: of the name itself), where there is one."""
    return any(v.get("host") == host and v.get("port") == port and why in v["why"] and v["instead"] and v["count"] > 0 for v in run.result.get("violations", []))


def unseen(**want):
    return not W.log("internet", **want) and not W.log("host", **want)


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
    check("and no others", all(line[:1] == "!" or line == "" for line in run.lines[3:]), run)
    for host, port in (("203.0.113.8", 443), ("10.2.0.1", 5432), ("10.1.2.3", 80), ("2001:db8:1::9", 80)):
        check("%s is reported" % host, refused(run, host, port), run)
    check("nor seen", len(W.log(kind="tcp")) == 3, W.log())


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


# --- names ---


@test
def names_like_the_allowed_ones():
    for name in ("evil-" + API, API + ".attacker.tld", "x." + API, "allowed.test", "notpkg.test", "pkg.test", "a.pkg.test.evil", "test", "evil.test", "localhost.evil.test"):
        W.name(name, "203.0.113.99")
    bad = ["evil-" + API, API + ".attacker.tld", "x." + API, "allowed.test", "notpkg.test", "pkg.test", "a.pkg.test.evil", "test", "evil.test",
           "localhost.evil.test", "metadata.google.internal", "xn--ap-kia.allowed.test"]
    code = "for name in sys.argv[1:]: said(dns(query(name)))"
    run = jail(code, *bad, allow=[API + ":443", "*.pkg.test:443"])
    check("have no address", len(run.lines) == len(bad) and all(line == [3, None] for line in run.lines), run)
    check("and are reported", all(refused(run, name, None, "not on the jail's list") for name in bad), run)
    check("no question left the host", unseen(kind="dns"), W.log(kind="dns"))
    run = jail(code, "API.Allowed.TEST", "A.b.C.pkg.test", "_x.pkg.test", API + ".", allow=[API + ":443", "*.pkg.test:443"])
    check("control: case and a dot at the end do not matter", len(run.lines) == 4 and all(line[0] == 0 and line[1] for line in run.lines), run)
    run = jail("said(reaches('%s', 443), reaches('%s', 443))" % (API.upper(), API + "."))
    check("nor for a connection", "internet" in run.lines[0][0], run)


@test
def questions_that_are_none():
    code = """
good = query("api.allowed.test")
for labels in [b"api.allowed", b"test"], [b"api", b"allowed", b"te\\0t"], [b"*", b"pkg", b"test"], [b"api allowed", b"test"], [b"a" * 63] * 4:
    said(dns(query(labels), timeout=2))
said(dns(good[:12] + b"\\xc0\\x0c\\0\\1\\0\\1", timeout=2), dns(good[:12] + b"\\3api\\xc0\\x0c\\0\\1\\0\\1", timeout=2))
said(dns(good[:-2] + b"\\0\\3"), dns(query("api.allowed.test", flags=0x2800)))
said(dns(good[:20], timeout=1), dns(query("api.allowed.test", flags=0x8100), timeout=1), dns(b"", timeout=1))
for kind in 5, 10, 12, 15, 16, 33, 64, 65, 255: said(dns(query("api.allowed.test", kind)))
said(dns(good), dns(query("api.allowed.test", 28)), dns(good, proto="tcp"), dns(good, server="fd00:a9e7::1"))
"""
    run = jail(code, allow=[API + ":443", "*.pkg.test:443"])
    check("odd labels", run.lines[:5] == [[3, None]] * 4 + [[1, None]], run)
    check("compression pointers are not followed", run.lines[5] == [[1, None], [1, None]], run)
    check("other classes, updates", run.lines[6] == [[5, None], [4, None]], run)
    check("half a question, an answer, nothing", run.lines[7][1:] == ["!TimeoutError", "!TimeoutError"] and run.lines[7][0] in ([1, None], "!TimeoutError"), run)
    check("other types are empty", run.lines[8:17] == [[0, None]] * 9, run)
    check("control: A and AAAA, UDP and TCP, IPv4 and IPv6", len(run.lines) == 18 and all(line[0] == 0 and line[1] for line in run.lines[17]), run)


@test
def data_in_names():
    """A wildcard's names: none leaves the host before a connection is made, and new ones are few a second."""
    code = """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect((DNS, 53))
    s.settimeout(1)
    answers = 0
    for i in range(3000):
        s.send(query("%060d.pkg.test" % i))
        try:
            answers += s.recv(4096)[3] & 15 == 0
        except TimeoutError:
            pass
        if i > 1000 and i > 4 * answers:
            break
said(answers)
"""
    run = jail(code, allow=["*.pkg.test:443"])
    check("names below a wildcard", run.lines and 200 < run.lines[0] < 1000, run)
    check("are refused beyond some", any("too many names" in v["why"] for v in run.result.get("violations", [])), run)
    check("none left the host", unseen(kind="dns"), W.log(kind="dns")[:3])


@test
def other_name_servers():
    code = """
message = query("evil.test")
said([dns(message, "8.8.8.8", proto, 1) for proto in ("udp", "tcp")] + [dns(message, "192.0.2.1", proto, 1) for proto in ("udp", "tcp")])
"""
    run = jail(code)
    check("are out of reach", run.lines and all(str(line)[0] == "!" for line in run.lines[0]) and unseen(kind="dns") and unseen(kind="tcp"), run)
    check("and reported over TCP", refused(run, "8.8.8.8", 53) and refused(run, "192.0.2.1", 53), run)


# --- addresses that a name may have ---

PRIVATE = {"loopback": ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"], "this host": ["0.0.0.0", "::"],
           "private": ["10.1.2.3", "172.16.0.1", "192.168.1.1", "fd00::1", "::ffff:10.1.2.3"], "link-local": ["169.254.1.1", "fe80::1"],
           "metadata": ["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "::ffff:169.254.169.254"],
           "shared by a provider": ["100.64.0.1"], "multicast": ["224.0.0.251", "ff02::1"], "broadcast": ["255.255.255.255"],
           "": ["192.0.2.2", "2001:db8:ffff::2"]}  # the host's own


@test
def names_of_private_addresses():
    rows = [(why, address) for why, addresses in PRIVATE.items() for address in addresses]
    names = ["n%d.pkg.test" % i for i in range(len(rows))]
    for name, (_, address) in zip(names, rows):
        W.name(name, address, ttl=0)
    run = jail("for name in sys.argv[1:]: said(reaches(name, 80))", *names, allow=["*.pkg.test:80"])
    check("give no connection", len(run.lines) == len(names) and all(line[:1] == "!" or line == "" for line in run.lines), run)
    for name, (why, address) in zip(names, rows):
        check("%s is refused as what it is" % address, refused(run, name, 80, why), run)
    check("and no server saw one", unseen(kind="tcp"), W.log(kind="tcp") + W.log("host", kind="tcp"))
    run = jail("said(reaches('n6.pkg.test', 80), reaches('n8.pkg.test', 80))", allow=["*.pkg.test:80", "10.1.0.0/16:80"])
    place = names.index("n8.pkg.test")
    check("control: rows are where this test thinks", rows[place][1] == "10.1.2.3", rows[place])
    check("control: where the policy writes the address out, there is one", "on 10.1.2.3" in run.lines[0][1], run)


@test
def rebinding():
    W.name("turns.pkg.test", A=[["203.0.113.21"], ["127.0.0.1"]], ttl=0)
    code = """
said(reaches("turns.pkg.test", 80))
for i in range(50):
    last = reaches("turns.pkg.test", 80)
    if last[:1] == "!" or not last: break
    time.sleep(0.2)
said(last)
"""
    run = jail(code, allow=["*.pkg.test:80"])
    check("to loopback is refused", len(run.lines) == 2 and "on 203.0.113.21" in run.lines[0] and "internet" not in run.lines[1]
          and refused(run, "turns.pkg.test", 80, "loopback") and unseen(kind="tcp", address="127.0.0.1"), run)
    W.name("mixed.pkg.test", "127.0.0.1", "10.1.2.3", "203.0.113.21", "::1")
    run = jail("said(reaches('mixed.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("among several addresses the public one is taken", "on 203.0.113.21" in run.lines[0] and not W.log("host", kind="tcp"), run)


@test
def aliases():
    W.name("inner.corp", "10.1.2.3")
    W.name("alias.pkg.test", CNAME="inner.corp")
    W.name("chain.pkg.test", CNAME="alias.pkg.test")
    W.name("loop.pkg.test", CNAME="loop.pkg.test")
    W.name("good.pkg.test", CNAME="b.pkg.test")
    run = jail("for name in ('alias', 'chain', 'loop', 'good'): said(reaches(name + '.pkg.test', 80))", allow=["*.pkg.test:80"])
    check("of private names", "internet" not in run.lines[0] + run.lines[1] + run.lines[2] and refused(run, "alias.pkg.test", 80, "private")
          and refused(run, "chain.pkg.test", 80, "private"), run)
    check("control: of public ones", "on 203.0.113.21" in run.lines[3], run)


@test
def addresses_in_other_forms():
    """Decimal, octal, hexadecimal, short: the jail's programs make addresses of them, which are not on the list."""
    code = "for text in sys.argv[1:]: said(reaches(text, 80))"
    run = jail(code, "3405803783", "0xcb007107", "0313.0.0161.07", "203.113", "2852039166", "0xa9.254.0251.0376", "::ffff:203.0.113.7",
               "::ffff:169.254.169.254", "0", "127.1", allow=[API + ":80"])
    check("give no connection", len(run.lines) == 10 and all("internet" not in line and "host" not in line for line in run.lines) and unseen(kind="tcp"), run)
    check("and are reported as the addresses that they are", refused(run, "203.0.113.7", 80) and refused(run, "169.254.169.254", 80), run)
    for item in ("3405803783:80", "0xcb.0.113.7:80", "0313.0.113.7:80", "127.1:80"):
        run = W.run("true", allow=[item])
        check("%s is no item of a policy" % item, run.code == 125 or run.code == 2, run)


@test
def metadata_by_address():
    code = "for place in sys.argv[1:]: said(reaches(place, 80))"
    places = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "169.254.170.2"]
    run = jail(code, *places, allow=["*.pkg.test:80", "*.google.internal:80"])
    check("is out of reach", len(run.lines) == 5 and unseen(kind="tcp") and all(refused(run, place, 80) for place in places), run)


# --- TLS ---


@test
def server_names():
    code = """
said(https("api.allowed.test", 443, "evil.test"))
said(https("api.allowed.test", 443, None))
said(https("api.allowed.test", 443, "api.allowed.test.evil.test"))
for extensions in [sni(b"api.allowed.test", b"evil.test")], [sni(b"api.allowed.test"), sni(b"evil.test")], [sni(b"api.allowed.test\\0evil.test")], \\
        [sni(b"api.allowed.test"), (0xfe0d, bytes(9))], [sni(b"api.allowed.test"), (0xffce, bytes(9))], [sni(b"")], [sni(b".")], [(0, b"")]:
    said(talk("api.allowed.test", 443, hello(*extensions), end=False))
said(talk("api.allowed.test", 443, b"\\x16\\3\\1\\x40\\0\\1\\1\\0\\0" + bytes(20000), end=False))
said(talk("api.allowed.test", 443, "GET / HTTP/1.1\\r\\nHost: api.allowed.test\\r\\n\\r\\n", end=False))
said(talk("api.allowed.test", 443, "SSH-2.0-x\\r\\n", end=False))
said(talk("api.allowed.test", 8443, hello(sni(b"evil.test")), end=False))
said(https("api.allowed.test", 443, "API.allowed.TEST"))
"""
    run = jail(code, allow=[API + ":443", API + ":8443"])
    good = run.lines[-1:] if len(run.lines) == 16 else []
    check("other than the connection's are refused", good and all(line[:1] == "!" or line == "" for line in run.lines[:-1]), run)
    check("control: in another case it is the same", good and "internet" in good[0], run)
    seen = [line for line in W.log(kind="tls") if line["sni"] not in ("api.allowed.test", "API.allowed.TEST")]
    check("no server saw another one", not seen and len(W.log(kind="tcp")) <= 2, W.log())
    for why in ("evil.test", "SNI", "ECH", "ClientHello", "16 KiB", "no TLS"):
        check("`%s` is a reason" % why, refused(run, API, 443, why), run)
    check("on another port, too", refused(run, API, 8443, "evil.test"), run)


@test
def hellos_in_pieces():
    code = """
for record, segment in (16384, 1), (1, 100000), (100, 7), (16384, 300):
    said(https_in_pieces("api.allowed.test", 443, "api.allowed.test", record, segment))
said(https_in_pieces("api.allowed.test", 443, "evil.test", 40, 3))
"""
    run = jail(code)
    check("of records and segments", len(run.lines) == 5 and all("internet" in line for line in run.lines[:4]), run)
    check("are read as one", "internet" not in run.lines[-1] and refused(run, API, 443, "evil.test") and not W.log(kind="tls", sni="evil.test"), run)


@test
def what_cannot_be_stopped():
    """docs/network.md says so: within TLS the relay reads nothing. An allowed server that serves another name, or resolves names, does so."""
    code = "said(https('api.allowed.test', 443, 'api.allowed.test', 'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n'))"
    run = jail(code)
    check("another Host behind an allowed name", "internet evil.test on " in "".join(run.lines) and W.log(kind="http", host="evil.test", sni=API), run)


# --- plain HTTP ---

HOST = "Host: %s\r\n" % API
REQUESTS = [  # each would have evil.test served, by one server or another
    "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\n%sHost: evil.test\r\n\r\n" % HOST,
    "GET / HTTP/1.1\r\nHost: evil.test\r\n%s\r\n" % HOST,
    "GET / HTTP/1.1\r\nHost: %s@evil.test\r\n\r\n" % API,
    "GET / HTTP/1.1\r\nHost: %s, evil.test\r\n\r\n" % API,
    "GET / HTTP/1.1\r\nHost: %s.evil.test\r\n\r\n" % API,
    "GET / HTTP/1.1\r\nHost : evil.test\r\n%s\r\n" % HOST,
    "GET / HTTP/1.1\r\nX: y\r\n Host: evil.test\r\n%s\r\n" % HOST,
    "GET / HTTP/1.1\nHost: evil.test\n\n",
    "GET / HTTP/1.1\r\nX: a\nHost: evil.test\r\n%s\r\n" % HOST,
    "GET http://evil.test/ HTTP/1.1\r\n%s\r\n" % HOST,
    "GET http://%s@evil.test/ HTTP/1.1\r\n%s\r\n" % (API, HOST),
    "GET https://evil.test/ HTTP/1.1\r\n%s\r\n" % HOST,
    "CONNECT evil.test:443 HTTP/1.1\r\n%s\r\n" % HOST,
    "CONNECT %s:443 HTTP/1.1\r\n%s\r\n" % (API, HOST),
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "GET / HTTP/1.1\r\n%s\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sContent-Length: 4\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sTransfer-Encoding: xchunked\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "GET / HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" % HOST,
    "GET / HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x85xxxxx" % HOST,
]


@test
def hosts_of_requests():
    code = "for text in json.loads(sys.argv[1]):\n    for port in 80, 8080: said(talk('%s', port, text))" % API
    run = jail(code, json.dumps(REQUESTS), allow=[API + ":80", API + ":8080"])
    check("are all checked", len(run.lines) == 2 * len(REQUESTS) and not any("evil" in line for line in run.lines), run)
    bad = [line for line in W.log(kind="http") if line["host"] != API or "evil" in line["line"] or "CONNECT" in line["line"]]
    check("and no server saw another", not bad, bad)
    check("each is reported", run.result.get("network", {}).get("refused") == 2 * len(REQUESTS), run)
    code = """
first = "GET /1 HTTP/1.1\\r\\nHost: api.allowed.test\\r\\n\\r\\n"
said(talk("api.allowed.test", 80, *first))
said(talk("api.allowed.test", 80, first + first.replace("/1 ", "/2 ") + "POST /3 HTTP/1.1\\r\\nhost:API.allowed.test:80\\r\\nContent-Length: 5\\r\\n\\r\\nabcde" + first))
said(talk("api.allowed.test", 80, "POST / HTTP/1.1\\r\\nHost: api.allowed.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nabc\\r\\n0\\r\\n\\r\\n"))
said(talk("api.allowed.test", 80, first, "x" * 3))
"""
    run = jail(code, allow=[API + ":80"])
    counts = [line.count("internet") for line in run.lines]
    check("control: byte by byte, pipelines, bodies", counts[:3] == [1, 4, 1], run)
    check("half a request after a whole one ends the connection", counts[3] <= 1 and len(W.log(kind="http")) <= 7, run)
    run = jail("said(talk('%s', 80, hello(sni(b'%s')), end=False))" % (API, API), allow=[API + ":80"])
    check("TLS is not for port 80", run.lines and "internet" not in run.lines[0] and refused(run, API, 80), run)


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
s.sendall(b"12345")
time.sleep(0.3)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
s.close()
s = socket.create_connection(("api.allowed.test", 9004))
s.sendall(b"12345")
s.close()
time.sleep(0.3)
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
    ends = [line["how"] for line in W.log(kind="end")]
    check("and outside", sorted(ends) == ["ConnectionResetError", "fin"], ends)
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
    run = jail("said(len(talk('%s', 5432, b'x' * 1000000)))" % API, allow=[API + ":5432"], more='bytes_out = "64K"')
    check("bytes out", refused(run, API, 5432, "sent"), run)
    check("and few are sent beyond", run.result["network"]["bytes_out"] < 64 * 1024 + 1024 * 1024, run)
    run = jail("said(talk('%s', 80, 'GET /bytes/3000000 HTTP/1.1\\r\\n%s\\r\\n', end=False, most=4000000)[-3:], talk('%s', 80, 'x\\n'))" % (API, HOST.replace("\r\n", "\\r\\n"), API),
               allow=[API + ":80"], more='bytes_in = "64K"')
    check("bytes in", refused(run, API, 80, "received"), run)
    run = jail("said([talk('%s', 5432, 'x\\n') for i in range(20)].count('x\\n'))" % API, allow=[API + ":5432"], more="connections_per_second = 3")
    check("new ones a second", run.lines and 3 <= run.lines[0] < 20 and refused(run, API, 5432, "a second"), run)


@test
def many():
    code = """
open_ones = [socket.create_connection(("api.allowed.test", 5432)) for i in range(400)]
for i, s in enumerate(open_ones): s.sendall(b"%04d" % i)
said(all(s.recv(4, socket.MSG_WAITALL) == b"%04d" % i for i, s in enumerate(open_ones)))
"""
    run = jail(code, allow=[API + ":5432"], more="[limits]\nopen_files = 1024")
    check("four hundred connections at once", run.lines == [True], run)


# --- what is said of it ---


@test
def a_refusal_is_told():
    run = jail("said(reaches('files.example.org', 443))", allow=[API + ":443"])
    wrong = [v for v in run.result.get("violations", []) if v.get("host") == "files.example.org"]
    check("to the caller, with a sentence for the model", wrong and "files.example.org" in wrong[0]["instead"] and "list" in wrong[0]["why"], run)
    done = W.agent("run", "--policy-file", W.policy(), "--", world.PYTHON, "-I", "-S", "-c", INSIDE + "said(reaches('files.example.org', 443))")
    check("and on the terminal", "files.example.org" in done.stderr, done)


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
        did = "allowed" if line and line[:1] != "!" else "denied"
        check("explain --host %s" % place, said == did, (said, did, line))


main()
