# What programs in a jail do on the network, for attacks.py: the text of this file is run in front of a test's own lines.
import json
import os
import socket
import ssl
import struct
import sys
import time

WAIT = 20
DNS = "198.18.0.1"


def said(*what):
    print(json.dumps(what[0] if len(what) == 1 else what), flush=True)


def error(e):
    return "!" + type(e).__name__


def read_all(s, most=1 << 20):
    """What comes until the other side ends; a reset ends it, too."""
    data = b""
    try:
        while len(data) < most and (part := s.recv(65536)):
            data += part
    except OSError as e:
        return data.decode("latin-1") + error(e)
    return data.decode("latin-1")


def talk(host, port, *parts, end=True, most=1 << 20):
    """Sends the parts, each a segment of its own, ends its own side, and returns what came."""
    try:
        with socket.create_connection((host, port), WAIT) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in parts:
                s.sendall(part if isinstance(part, bytes) else part.encode("latin-1"))
                time.sleep(0.005 if len(parts) > 1 else 0)
            if end:
                s.shutdown(socket.SHUT_WR)
            return read_all(s, most)
    except OSError as e:
        return error(e)


def reaches(host, port):
    """Did a connection carry a request and an answer? Port 443 in TLS, 80 in HTTP, others an echo."""
    text = "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % ("[%s]" % host if ":" in host else host)
    if port in (443, 8443):
        return https(host, port, host, text)
    return talk(host, port, text if port in (80, 8080) else "ping\n")


def context():
    c = ssl.create_default_context()
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    return c


def https(host, port, sni, text="GET / HTTP/1.1\r\nHost: x\r\n\r\n", most=200):
    try:
        with socket.create_connection((host, port), WAIT) as raw, context().wrap_socket(raw, server_hostname=sni) as s:
            s.sendall(text.encode("latin-1"))
            return s.recv(most).decode("latin-1")
    except OSError as e:
        return error(e)


def https_in_pieces(host, port, sni, record, segment):
    """TLS whose first message lies in records of so many bytes, which come in segments of so many."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context().wrap_bio(incoming, outgoing, server_hostname=sni)

    def step(function, *args):
        while True:
            try:
                result = function(*args)
                s.sendall(outgoing.read())
                return result
            except ssl.SSLWantReadError:
                s.sendall(outgoing.read())
                data = s.recv(65536)
                if not data:
                    raise ConnectionAbortedError
                incoming.write(data)

    try:
        with socket.create_connection((host, port), WAIT) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            hello = outgoing.read()[5:]
            parts = [hello[at : at + record] for at in range(0, len(hello), record)]
            hello = b"".join(b"\x16\3\1" + struct.pack(">H", len(part)) + part for part in parts)
            for at in range(0, len(hello), segment):
                s.sendall(hello[at : at + segment])
            step(tls.do_handshake)
            step(tls.write, b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % sni.encode())
            return step(tls.read, 200).decode("latin-1")
    except OSError as e:
        return error(e)


def hello(*extensions):
    """A ClientHello with these extensions alone: (type, bytes)."""
    listed = b"".join(struct.pack(">HH", kind, len(data)) + data for kind, data in extensions)
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + struct.pack(">H", len(listed)) + listed
    return b"\x16\3\1" + struct.pack(">H", len(body) + 4) + b"\1\0" + struct.pack(">H", len(body)) + body


def sni(*names):
    listed = b"".join(b"\0" + struct.pack(">H", len(name)) + name for name in names)
    return 0, struct.pack(">H", len(listed)) + listed


def query(name, kind=1, flags=0x100):
    """A DNS question; `name` is text with dots, or labels."""
    labels = [label.encode("latin-1") for label in name.split(".") if label] if isinstance(name, str) else name
    return struct.pack(">HHHHHH", 7, flags, 1, 0, 0, 0) + b"".join(bytes([len(label)]) + label for label in labels) + b"\0" + struct.pack(">HH", kind, 1)


def dns(message, server=DNS, proto="udp", timeout=WAIT):
    """(rcode, addresses) of the answer to a message, or the error."""
    try:
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM if proto == "udp" else socket.SOCK_STREAM) as s:
            s.settimeout(timeout)
            s.connect((server, 53))
            if proto == "udp":
                s.send(message)
                answer = s.recv(4096)
            else:
                s.sendall(struct.pack(">H", len(message)) + message)
                answer = s.recv(4096)[2:]
    except OSError as e:
        return error(e)
    if len(answer) < 12:
        return "!short"
    found = struct.unpack(">H", answer[6:8])[0]
    tail = answer[-16:] if struct.unpack(">H", message[-4:-2])[0] == 28 else answer[-4:]
    return [answer[3] & 15, socket.inet_ntop(socket.AF_INET6 if len(tail) == 16 else socket.AF_INET, tail) if found else None]


def resolve(name):
    try:
        return sorted({found[4][0] for found in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)})
    except OSError as e:
        return error(e)
