"""Attacks by the first bytes of connections to an allowed host, on a network by allow-list: TLS and plain HTTP."""

import json
import os

from jails import ALERT, API, W, jail, kept_out, refused, unseen
from client import check, main, skip, test


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
said(talk("api.allowed.test", 8443, b"\\x16\\3\\5" + hello(sni(b"evil.test"))[3:], end=False))
said(https("api.allowed.test", 443, "API.allowed.TEST"))
"""
    run = jail(code, allow=[API + ":443", API + ":8443"])
    good = run.lines[-1:] if len(run.lines) == 17 else []
    check("other than the connection's are refused", good and all(kept_out(line) for line in run.lines[:-1]), run)
    check("the program gets a TLS alert", run.lines[:1] == ["!SSLError"] and run.lines[3:11] == [ALERT] * 8, run)
    check("control: in another case it is the same", good and "internet" in good[0], run)
    seen = [line for line in W.log(kind="tls") if line["sni"] not in ("api.allowed.test", "API.allowed.TEST")]
    check("no server saw another one", not seen and len(W.log(kind="tcp")) <= 3, W.log())
    for why in ("evil.test", "SNI", "ECH", "ClientHello", "16 KiB", "no TLS"):
        check("`%s` is a reason" % why, refused(run, API, 443, why), run)
    check("on another port, too", refused(run, API, 8443, "evil.test"), run)
    check("whatever version its record has", refused(run, API, 8443, "no valid ClientHello"), run)


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
    """docs/reference/network.md says so: within TLS the relay reads nothing. An allowed server that serves another name, or resolves names, does so."""
    code = "said(https('api.allowed.test', 443, 'api.allowed.test', 'GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n'))"
    run = jail(code)
    check("another Host behind an allowed name", "internet evil.test on " in "".join(run.lines) and W.log(kind="http", host="evil.test", sni=API), run)
    if not os.path.isdir("/usr/lib/python3/dist-packages/h2"):
        skip("a second name on one connection of HTTP/2", "python3-h2 is not installed")
        return
    run = jail(HTTP2, API, "evil.test", allow=[API + ":8444"])
    check("a second name on one connection of HTTP/2", run.lines == ["internet %s\n" % API, "internet evil.test\n"] and W.log(kind="h2", host="evil.test", sni=API), run)


HTTP2 = """
sys.path.append("/usr/lib/python3/dist-packages")
import h2.connection, h2.events
c = context()
c.set_alpn_protocols(["h2"])
with socket.create_connection((sys.argv[1], 8444), WAIT) as raw, c.wrap_socket(raw, server_hostname=sys.argv[1]) as s:
    http2 = h2.connection.H2Connection()
    http2.initiate_connection()
    for name in sys.argv[1:]:
        stream = http2.get_next_available_stream_id()
        http2.send_headers(stream, [(":method", "GET"), (":authority", name), (":scheme", "https"), (":path", "/")], end_stream=True)
        s.sendall(http2.data_to_send())
        got = b""
        while not got:
            for event in http2.receive_data(s.recv(65536)):
                if isinstance(event, h2.events.DataReceived): got += event.data
            s.sendall(http2.data_to_send())
        said(got.decode())
"""


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
    "_GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "G1 / HTTP/1.1\r\nHost: evil.test\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "%s / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % ("G" * 40),
    " GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "GET\t/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    "GET http://evil.test/\x01 HTTP/1.1\r\n%s\r\n" % HOST,
    "GET / HTTP/1.1\r\n%s\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sContent-Length: 4\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sTransfer-Encoding: xchunked\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "POST / HTTP/1.1\r\n%sTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "GET / HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" % HOST,
    "GET http://evil.test/\r\n",
    "GET http://evil.test/ HTTP/1.1",
    "CONNECT evil.test:443\r\n",
    "GET / HTTP/1.1\r\n%sContent-Length: 37\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n" % HOST,
    "GET / HTTP/1.1\r\n%sConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x85xxxxx" % HOST,
]


@test
def begins_of_tls():
    """On a port for no protocol in particular: what some servers pass over before a ClientHello, or take for one."""
    hello_ssl2 = "80 2e 01 03 01 00 15 00 00 00 10 00 00 2f 00 00 35 00 00 0a 00 00 04 00 00 05 00 00 09 00 00 14" + " 00" * 17
    begins = ["15 03 01 00 02 01 00", "15 03 03 00 02 01 00", "14 03 03 00 01 01", "17 03 03 00 00", "18 03 03 00 00", hello_ssl2]
    code = "for text in sys.argv[1:]: said(talk('%s', 8443, bytes.fromhex(text), hello(sni(b'evil.test'))))" % API
    run = jail(code, *begins, allow=[API + ":8443"])
    check("are refused", len(run.lines) == len(begins) and all(kept_out(line) for line in run.lines) and refused(run, API, 8443, "no valid ClientHello"), run)
    check("each", run.result.get("network", {}).get("refused") == len(begins) and unseen(kind="tls"), run)


@test
def hosts_of_requests():
    code = "for text in json.loads(sys.argv[1]):\n    for port in 80, 8080: said(talk('%s', port, text))" % API
    run = jail(code, json.dumps(REQUESTS), allow=[API + ":80", API + ":8080"])
    check("are all checked", len(run.lines) == 2 * len(REQUESTS) and all(kept_out(line) or "evil" not in line for line in run.lines), run)
    bad = [line for line in W.log(kind="http") if line["host"] != API or "evil" in line["line"] or "CONNECT" in line["line"]]
    check("and no server saw another", not bad, bad)
    check("each is reported", run.result.get("network", {}).get("refused") == 2 * (len(REQUESTS) - 3), run)  # three are cut by their ends: no refusals
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


main()
