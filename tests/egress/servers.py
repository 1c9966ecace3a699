"""The servers of a small internet: DNS as a zone file has it, HTTP, TLS, echo and some that misbehave, on every address of their namespace.
They refuse nothing, so that a connection that arrives was let through; each one is a line of JSON in a log.

Usage: servers.py FOLDER NAME [CERTIFICATE KEY]    FOLDER/zone.json, FOLDER/NAME.log; prints `ready`; ends when its standard input does"""

import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

FOLDER, NAME = sys.argv[1:3]
# A module with answer(host, path, body), for hosts that are more than an echo: see tests/agents/models.py.
answers = None
if os.environ.get("AJ_WORLD_ANSWERS"):
    sys.path.insert(0, os.path.dirname(os.environ["AJ_WORLD_ANSWERS"]))
    answers = __import__(os.path.basename(os.environ["AJ_WORLD_ANSWERS"]).removesuffix(".py"))
log_file = open("%s/%s.log" % (FOLDER, NAME), "a", buffering=1)
lock = threading.Lock()


def log(**what):
    with lock:
        log_file.write(json.dumps(what) + "\n")


# --- DNS ---

TYPES = {1: "A", 28: "AAAA", 65: "HTTPS"}
asked = {}


def wire_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


def records(zone, name, kind, depth=0):
    """The records of a name: (owner, type, time to live, data), with those of a CNAME's target behind it."""
    entry = zone.get(name, {})
    ttl = entry.get("ttl", 60)
    if "CNAME" in entry and depth < 8:
        yield name, 5, ttl, wire_name(entry["CNAME"])
        yield from records(zone, entry["CNAME"], kind, depth + 1)
        return
    values = entry.get(kind, [])
    if values and isinstance(values[0], list):  # another answer each time, the last one from then on
        turn = asked.get((name, kind), 0)
        asked[name, kind] = turn + 1
        values = values[min(turn, len(values) - 1)]
    for value in values:
        if kind == "HTTPS":
            yield name, 65, ttl, base64.b64decode(value)
        else:
            yield name, 1 if kind == "A" else 28, ttl, socket.inet_pton(socket.AF_INET if kind == "A" else socket.AF_INET6, value)


def dns_answer(query, proto):
    at, labels = 12, []
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    name = ".".join(labels).lower()
    number = struct.unpack(">H", query[at + 1 : at + 3])[0]
    kind = TYPES.get(number, str(number))
    question = query[12 : at + 5]
    with open(FOLDER + "/zone.json", encoding="utf-8") as f:
        zone = json.load(f)
    entry = zone.get(name)
    log(kind="dns", name=name, type=kind, proto=proto)
    if entry and entry.get("drop"):
        return None
    time.sleep(entry.get("delay", 0) if entry else 0)
    if entry and entry.get("truncate") and proto == "udp":
        return query[:2] + b"\x83\x80\0\1\0\0\0\0\0\0" + question
    rcode = 3 if entry is None else entry.get("rcode", 0)
    found = [] if rcode else list(records(zone, name, kind))
    body = b"".join(wire_name(owner) + struct.pack(">HHIH", number, 1, ttl, len(data)) + data for owner, number, ttl, data in found)
    return query[:2] + struct.pack(">HHHHH", 0x8180 | rcode, 1, len(found), 0, 0) + question + body


def dns_udp(family):
    sock = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(("", 53))

    def one(query, peer):
        answer = dns_answer(query, "udp")
        if answer:
            sock.sendto(answer[:4096], peer)

    while True:
        query, peer = sock.recvfrom(4096)
        threading.Thread(target=one, args=(query, peer), daemon=True).start()


def dns_tcp(conn, port):
    while True:
        head = exactly(conn, 2)
        answer = dns_answer(exactly(conn, struct.unpack(">H", head)[0]), "tcp")
        if answer:
            conn.sendall(struct.pack(">H", len(answer)) + answer)


# --- TCP ---


def exactly(conn, count):
    data = b""
    while len(data) < count:
        part = conn.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def place(conn):
    host, port = conn.getsockname()[:2]
    return {"address": host.removeprefix("::ffff:"), "port": port}


def file_of(host, path):
    """FOLDER/www/HOST/PATH, for package managers; None: there is none."""
    path = os.path.normpath("%s/www/%s/%s" % (FOLDER, (host or "x").split(":")[0], path.partition("?")[0]))
    for name in (path, path + "/index.html"):
        if path.startswith(FOLDER + "/www/") and os.path.isfile(name):
            with open(name, "rb") as f:
                return f.read()
    return None


def http(conn, port, sni=None):
    """Keeps the connection; GET /bytes/N gives N bytes, a file of www/ is given, everything else says what was asked for."""
    stream, where = conn.makefile("rb"), place(conn)
    while True:
        line = stream.readline(65536)
        while line == b"\r\n":
            line = stream.readline(65536)
        if not line:
            return
        head = {}
        while (header := stream.readline(65536)).strip():
            name, _, value = header.partition(b":")
            head[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
        body = b""
        if "chunked" in head.get("transfer-encoding", ""):
            while size := int(stream.readline(), 16):
                body += stream.read(size)
                stream.readline()
            stream.readline()
        elif "content-length" in head:
            body = stream.read(int(head["content-length"]))
        log(kind="http", line=line.decode("latin-1").strip(), host=head.get("host"), sni=sni, body=len(body), authorization=head.get("proxy-authorization"), **where)
        path = line.split(b" ")[1] if line.count(b" ") > 1 else b"/"
        status, found, kind = "200 OK", file_of(head.get("host"), path.decode("latin-1")), None
        own = answers and answers.answer(head.get("host"), path.decode("latin-1"), body)
        if own:
            status, kind, answer = own
        elif path.startswith(b"/bytes/"):
            answer = b"x" * int(path[7:])
        elif found is not None:
            answer = found
        elif os.path.isdir("%s/www/%s" % (FOLDER, head.get("host"))):
            status, answer = "404 Not Found", b"no such file\n"
        else:
            answer = b"%s %s on %s:%d %s\n" % (NAME.encode(), head.get("host", "").encode(), where["address"].encode(), port,
                                               hashlib.sha256(body).hexdigest().encode() if body else b"")
        kind = kind or ("text/html" if answer[:1] == b"<" else "application/json" if answer[:1] == b"{" else "application/octet-stream")
        body = b"" if line.startswith(b"HEAD") else answer
        conn.sendall(b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), kind.encode(), len(answer), body))


def secured(conn, protocol):
    seen = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*sys.argv[3:5])
    context.sni_callback = lambda _sock, name, _context: seen.append(name)
    context.set_alpn_protocols([protocol])
    secure = context.wrap_socket(conn, server_side=True)
    log(kind="tls", sni=seen[0] if seen else None, **place(secure))
    return secure, seen[0] if seen else None


def tls(conn, port):
    secure, sni = secured(conn, "http/1.1")
    http(secure, port, sni)


def http2(conn, port):
    """Answers each stream with the host that its request names."""
    import h2.connection
    import h2.events

    secure, sni = secured(conn, "h2")
    h2conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
    h2conn.initiate_connection()
    secure.sendall(h2conn.data_to_send())
    while data := secure.recv(65536):
        for event in h2conn.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                head = {bytes(k) if isinstance(k, bytes) else k.encode(): v for k, v in event.headers}
                authority = head[b":authority"]
                authority = authority.decode() if isinstance(authority, bytes) else authority
                log(kind="h2", host=authority, sni=sni, **place(secure))
                h2conn.send_headers(event.stream_id, [(":status", "200")])
                h2conn.send_data(event.stream_id, b"%s %s\n" % (NAME.encode(), authority.encode()), end_stream=True)
        secure.sendall(h2conn.data_to_send())


def echo(conn, port):
    first = True
    while data := conn.recv(65536):
        if first:
            log(kind="echo", first=data[:64].decode("latin-1"), **place(conn))
        first = False
        conn.sendall(data)


def banner(conn, port):
    conn.sendall(b"SSH-2.0-world\r\n")
    echo(conn, port)


def reset(conn, port):
    conn.recv(1)
    conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def digest(conn, port):
    """Answers after the client's FIN: a half-closed connection."""
    total, count = hashlib.sha256(), 0
    while data := conn.recv(65536):
        total.update(data)
        count += len(data)
    conn.sendall(b"%d %s\n" % (count, total.hexdigest().encode()))


def never_reads(conn, port):
    time.sleep(3600)


def counts_to_end(conn, port):
    """Answers the first bytes, and says in the log how the connection ended."""
    try:
        count = 0
        while data := conn.recv(65536):
            if not count:
                conn.sendall(b".")
            count += len(data)
        log(kind="end", how="fin", bytes=count, **place(conn))
    except OSError as e:
        log(kind="end", how=type(e).__name__, bytes=count, port=port)


SERVERS = {53: dns_tcp, 80: http, 8080: http, 443: tls, 8443: tls, 8444: http2, 5432: echo, 22: banner, 9001: reset, 9002: digest, 9003: never_reads,
           9004: counts_to_end}


def serve(port, server):
    sock = socket.socket(socket.AF_INET6)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port))
    sock.listen(4096)

    def one(conn):
        try:
            with conn:
                log(kind="tcp", **place(conn))
                server(conn, port)
        except (OSError, EOFError, ValueError) as e:
            log(kind="broken", port=port, why=repr(e)[:100])

    def accept():
        while True:
            conn = sock.accept()[0]
            threading.Thread(target=one, args=(conn,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def hear(port):
    """Datagrams that arrive: QUIC, or whatever it is."""
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", port))
    while True:
        data, peer = sock.recvfrom(65536)
        log(kind="udp", port=port, data=data[:64].decode("latin-1"))
        sock.sendto(b"heard", peer)


threading.stack_size(256 << 10)
for number, program in SERVERS.items():
    if program not in (tls, http2) or len(sys.argv) > 3:
        serve(number, program)
for number in (443, 5353, 1900, 123):
    threading.Thread(target=hear, args=(number,), daemon=True).start()
for address_family in (socket.AF_INET, socket.AF_INET6):
    threading.Thread(target=dns_udp, args=(address_family,), daemon=True).start()
time.sleep(0.1)
print("ready", flush=True)
sys.stdin.buffer.read()
os._exit(0)
