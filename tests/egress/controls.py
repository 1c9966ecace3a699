"""The small internet itself, from a jail with the host's network: each server that a network by allow-list keeps out of reach answers here.
Without these, tests that something is refused could pass because it is not there."""

import os

import world

world.enter()
from client import AJ, FOLDER, check, main, test, until  # noqa: E402

W = world.World(AJ, FOLDER)

CONNECT = """
import socket, sys
for place in sys.argv[1:]:
    host, port = place.rsplit(" ", 1)
    try:
        with socket.create_connection((host, int(port)), 5) as s:
            print(place, "open", flush=True)
    except OSError as e:
        print(place, type(e).__name__, flush=True)
"""


@test
def every_address_answers():
    places = ["203.0.113.7 443", "10.1.2.3 5432", "169.254.169.254 80", "100.100.100.200 80", "127.0.0.1 80", "192.0.2.2 443", "2001:db8::7 443",
              "fd00:ec2::254 80", "203.0.113.7 22"]
    run = W.python(CONNECT, *places, mode="host")
    check("TCP", run.stdout.splitlines() == [place + " open" for place in places], run)

    # A connection is open before its server has taken it from the queue, and written its line.
    def seen(where):
        return {(line["address"], line["port"]) for line in W.log(where, kind="tcp")}
    own = {("127.0.0.1", 80), ("192.0.2.2", 443)}
    check("and its log says where", until(lambda: len(seen("internet")) == 7) and {("169.254.169.254", 80), ("2001:db8::7", 443)} <= seen("internet"), seen("internet"))
    check("the host's own servers are the host's", until(lambda: len(seen("host")) == 2) and seen("host") == own, seen("host"))


@test
def names_lead_there():
    W.name("api.allowed.test", "203.0.113.7", "2001:db8::7")
    W.name("alias.test", CNAME="api.allowed.test", ttl=0)
    W.name("turns.test", A=[["203.0.113.8"], ["127.0.0.1"]], ttl=0)
    code = "import socket; print(*[socket.gethostbyname(name) for name in ('api.allowed.test', 'alias.test', 'turns.test', 'turns.test')])"
    run = W.run(world.PYTHON, "-I", "-S", "-c", code, mode="host")
    check("names", run.stdout.split() == ["203.0.113.7", "203.0.113.7", "203.0.113.8", "127.0.0.1"], run)
    run = W.run("curl", "-sS", "--http1.1", "https://api.allowed.test/x", mode="host")
    check("TLS, by a certificate of our own", run.stdout.startswith("internet api.allowed.test on "), run)
    check("with the name that was asked for", W.log(kind="tls", sni="api.allowed.test"), W.log())


@test
def datagrams_arrive():
    code = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.sendto(b'q', ('203.0.113.7', 443)); print(s.recv(9))"
    check("UDP", "heard" in W.run(world.PYTHON, "-I", "-S", "-c", code, mode="host").stdout and W.log(kind="udp", port=443), W.log())


main()
