#!/bin/sh
# What a jail with a network by allow-list reaches of the host's network, with no internet behind it; tests/egress has one. Each check names its row.
. "$(dirname "$0")/../lib.sh"

start_canaries
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 '\.')
cat >"$T/attack.py" <<'X'
import socket, sys
what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
def tried(name, do):
    try: print(name, do() or "OK", flush=True)
    except OSError as e: print(name, type(e).__name__, flush=True)
def talk(host, port):
    with socket.create_connection((host, port), 10) as s:
        return s.recv(9).decode() or "closed"
def tracked():
    try: return int(open("/proc/sys/net/netfilter/nf_conntrack_count").read())
    except FileNotFoundError: return 0  # the kernel has no such table
def datagrams(n):
    for i in range(n):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s: s.sendto(b"x", ("203.0.113.9", i + 1))
if what == "servers":
    tried("127.0.0.1", lambda: talk("127.0.0.1", port))
    tried("address", lambda: talk(address, port))
if what == "loopback":
    def outcome(host, p):
        try: return "hello" if talk(host, p) == "hello" else "refused"
        except ConnectionRefusedError: return "own"
        except OSError: return "refused"
    ports = [int(p) for p in address.split(",") if p != "-"]
    more = [*(("host", p) for p in ports), ("localhost.a.test", port), ("127.0.0.1", port)] if ports else []
    for host, p in ("host", port), ("host.docker.internal", port), *more:
        print(host, outcome(host, p), flush=True)
if what == "datagrams":
    def send(host, p):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(10); s.connect((host, p)); s.send(b"x"); return s.recv(9).decode()
    tried("udp", lambda: send(address, port)); tried("quic", lambda: send("203.0.113.9", 443))
    for name, kind in ("icmp", (2, 2, 1)), ("raw", (2, 3, 255)), ("packet", (17, 3, 0)): tried(name, lambda: socket.socket(*kind).close())
if what == "settings":
    def ask(number):
        with socket.socket(16, 3, 0) as s:
            # RTM_NEWLINK and RTM_DELROUTE for lo: an acknowledgement is wanted
            body = b"\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0" if number == 16 else b"\2\0\0\0\xff\0\0\0\0\0\0\0"
            s.sendto((16 + len(body)).to_bytes(4, "little") + number.to_bytes(2, "little") + b"\5\0\1\0\0\0\0\0\0\0" + body, (0, 0))
            return "errno %d" % -int.from_bytes(s.recv(4096)[16:20], "little", signed=True)
    tried("link", lambda: ask(16)); tried("route", lambda: ask(25)); tried("netfilter", lambda: socket.socket(16, 3, 12).close())
if what == "tracked":
    datagrams(200); print("datagrams", tracked())
    for i in range(50):
        try: socket.create_connection(("203.0.113.9", i + 1), 10).close()
        except OSError: pass
    print("connections", "none" if tracked() == 0 else tracked() >= 50)
if what == "relay":
    kept = []
    for i in range(port):
        try: kept.append(socket.create_connection(("203.0.113.9", 25), 10))
        except ConnectionResetError: kept.append(None)
    print("tried", len(kept))
X
attack() { aj run --timeout 50s --allow-host a.test:80 "$@" --bind "$T/attack.py:/opt/attack.py" -- "$PY" -I -S -B /opt/attack.py $what; }

what="servers ${address:-192.0.2.1} $TCP"
attack
is "network-host-servers: none answers" "127.0.0.1 ConnectionRefusedError|address" "$(sed 's/ \(ConnectionResetError\|closed\)$//' "$T/out" | tr '\n' '|' | sed 's/|$//')"
check "network-host-servers: the host's own address is reported" grep -q "^agentjail: ${address:-192.0.2.1}:$TCP was refused" "$T/err"
"$PY" -I -S -c '
import socket, sys
servers = socket.create_server(("127.0.0.1", 0)), socket.create_server(("::1", 0), family=socket.AF_INET6), socket.create_server(("127.0.0.1", 0))
print(*(s.getsockname()[1] for s in servers), flush=True)
import select
while True:
    for s in select.select(servers, [], [])[0]:
        c = s.accept()[0]; c.send(b"hello"); c.close()' >"$T/served" 2>/dev/null &
SERVERS=$!
await test -s "$T/served"
read -r FIRST SIX OTHER <"$T/served"
what="loopback $OTHER,$SIX $FIRST"
: >"$T/site.toml"
[ "$(id -u)" != 0 ] || printf 'audit.destination = "file:%s/trail"\n' "$T" >"$T/site.toml"
attack --config "$T/site.toml" --allow-host "host:$FIRST" --allow-host "host:$SIX" --json
is "network-host-loopback: the ports that are written, by both names, and no other" "host hello|host.docker.internal hello|host refused|host hello|localhost.a.test refused|127.0.0.1 own" \
	"$("$PY" -I -S -c 'import json, sys; print(json.load(open(sys.argv[1]))["stdout"].strip().replace("\n", "|"))' "$T/out")"
check "network-host-loopback: \`enforced\` names them" grep -q "host:$FIRST, host:$SIX is that port of the host's own loopback" "$T/out"
[ "$(id -u)" != 0 ] || check "network-host-loopback: the trail has the address" grep -q '"host":"host","address":"127.0.0.1","port":'"$FIRST," "$T/trail"
what="loopback - $FIRST"
attack --allow-host "host:$OTHER" --allow-host "*.docker.internal:$FIRST" --allow-host "0.0.0.0/1:$FIRST" --allow-host "[::/1]:$FIRST" \
	--network-ask-command "echo '{\"answer\":\"run\"}'; touch '$T/asked-for'"
is "network-host-loopback: no other port, wildcard or network is the item" "host refused|host.docker.internal refused" "$(tr '\n' '|' <"$T/out" | sed 's/|$//')"
check "network-host-loopback: nobody is asked" test ! -e "$T/asked-for"
check "network-host-loopback: the refusal names the item" grep -q "agentjail --allow-host host:$FIRST" "$T/err"
kill "$SERVERS"
ln -s "$HOME/.ssh/id_rsa" "$T/ca.pem"
mkfifo "$T/fifo"
SSL_CERT_FILE=$T/ca.pem NODE_EXTRA_CA_CERTS=$T/fifo PIP_CERT=/dev/zero CURL_CA_BUNDLE=$T/canary PIP_INDEX_URL=https://$SECRET@a.test/ \
	aj run --allow-host a.test:80 -- sh -c 'env; ls /etc/agentjail; cat /etc/agentjail/*'
silent "network-passed-settings: no secret, by a link, a file or a URL" "$SECRET"
is "network-passed-settings: each has a line" 5 "$(grep -c '^agentjail: network: .* is not passed: ' "$T/err")"
what="datagrams ${address:-192.0.2.1} 9"
attack
is "network-datagrams: all are refused" "udp ConnectionRefusedError|quic ConnectionRefusedError|icmp PermissionError|raw PermissionError|packet OSError" \
	"$(tr '\n' '|' <"$T/out" | sed 's/|$//')"
what="settings - 0"
attack
is "network-settings: none can be changed" "link errno 1|route errno 1|netfilter OSError" "$(tr '\n' '|' <"$T/out" | sed 's/|$//')"
what="tracked - 0"
attack
"$AJ" doctor >"$T/doctor" 2>&1
by=none
! grep -q 'network by list *works, by NAT' "$T/doctor" || by=True
is "network-connections-tracked: none, unless they are led by NAT" "datagrams 0|connections $by" "$(tr '\n' '|' <"$T/out" | sed 's/|$//')"
printf '#!/bin/sh\nexec "%s" "%s" "%s" "$@"\n' "$PY" "$tests/egress/by_nat.py" "$AJ" >"$T/by_nat"
chmod 755 "$T/by_nat"
tried=$AJ AJ=$T/by_nat
attack
AJ=$tried
is "network-connections-tracked: by NAT, TCP alone" "datagrams 0|connections True" "$(tr '\n' '|' <"$T/out" | sed 's/|$//')"
what="relay - 300"
attack
is "network-relay: refused connections are closed, and one line" "tried 300|1" "$(tr '\n' '|' <"$T/out")$(grep -c 'was refused' "$T/err")"
what="servers ${address:-192.0.2.1} $TCP"
attack --network-ask-command "echo '{\"answer\":\"run\"}'; touch '$T/asked'"
check "network-asked: an address of the host is neither asked for nor reached" test ! -e "$T/asked"
is "network-asked: and is refused" "address" "$(sed -n 's/^\(address\) \(ConnectionResetError\|closed\)$/\1/p' "$T/out")"
port=$("$PY" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
what="servers 127.0.0.1 $port"
attack --publish "$port:9"
is "network-published: the host's side of a port is not in the jail" "127.0.0.1 ConnectionRefusedError" "$(grep -m1 '^127' "$T/out" | sed 's/ \(ConnectionResetError\|closed\)$//')"
finish
