"""Connections of a sandboxed program to one allowed host, beside direct ones: agentjail's, srt's and sandlock's ways, in turns, in one run.
It installs the peers below build/bench/peers, from npm and PyPI; one that cannot be had, or does not work here, is left out with the reason.

usage: egress_peers.py install BUILD; then, in the namespaces of egress.sh: egress_peers.py measure BUILD
       egress_peers.py write TABLE PAGE: the table takes the place of the one in PAGE"""

import json
import os
import shutil
import statistics
import subprocess
import sys

SRT, SANDLOCK = "@anthropic-ai/sandbox-runtime@0.0.83", "sandlock==0.9.0"
TOOLS = ("socat", "rg")  # of srt's; Debian's packages, where they are not installed
PACKAGES = {"socat": ["socat", "libwrap0", "libnsl2"], "rg": ["ripgrep"]}
PYTHON, NAME, ADDRESS, PORT, ROUNDS = "/usr/bin/python3", "bench.example.org", "203.0.113.10", 7000, 5
# Runs in each sandbox. Where the sandbox leads through a proxy, it is asked by CONNECT, as curl and others do.
CLIENT = r"""
import base64, json, os, socket, struct, time, urllib.parse
HOST, PORT, STREAM = "bench.example.org", 7000, 256 << 20
proxy = urllib.parse.urlsplit(os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy") or "")
def request(kind, count): return b"\1" + kind + struct.pack("<Q", count)
def exactly(s, count):
    data = b""
    while len(data) < count:
        piece = s.recv(count - len(data))
        if not piece: raise OSError("the connection ended")
        data += piece
    return data
address = None
def reach():
    global address
    if not proxy.hostname:
        address = address or socket.gethostbyname(HOST)
        s = socket.create_connection((address, PORT), 20)
    else:
        s = socket.create_connection((proxy.hostname, proxy.port), 20)
        auth = "Proxy-Authorization: Basic %s\r\n" % base64.b64encode(("%s:%s" % (urllib.parse.unquote(proxy.username), urllib.parse.unquote(proxy.password or ""))).encode()).decode() if proxy.username else ""
        s.sendall(("CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n%s\r\n" % (HOST, PORT, HOST, PORT, auth)).encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"): head += s.recv(4096) or exactly(s, 1)
        if b" 200 " not in head.split(b"\r\n")[0] + b" ": raise OSError(head.decode())
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s
def connects(count):
    took = []
    for _ in range(count):
        began = time.perf_counter()
        s = reach()
        s.sendall(request(b"E", 1) + b"x")
        exactly(s, 1)
        took.append((time.perf_counter() - began) * 1e6)
        s.close()
    return took
def messages(count):
    s, took = reach(), []
    for _ in range(count):
        began = time.perf_counter()
        s.sendall(request(b"E", 1024) + bytes(1024))
        exactly(s, 1024)
        took.append((time.perf_counter() - began) * 1e6)
    return took
def stream():
    s, room, left = reach(), bytearray(1 << 18), STREAM
    began = time.perf_counter()
    s.sendall(request(b"D", STREAM))
    while left:
        left -= s.recv_into(room, min(left, len(room))) or 1 / 0
    return STREAM / 1e9 / (time.perf_counter() - began)
connects(10)
print(json.dumps({"connect": connects(60), "message": messages(200), "stream": stream()}))
"""
LOCKED = """
import sandlock, sys
result = sandlock.Sandbox(fs_readable=["/usr", "/lib", "/lib64", "/bin", "/etc"], net_allow=["bench.example.org:7000"]).run([%r, "-I", "-S", "-c", sys.stdin.read()])
sys.stdout.write(result.stdout if isinstance(result.stdout, str) else result.stdout.decode())
sys.stderr.write(str(getattr(result, "stderr", ""))[-500:])
""" % PYTHON


def install(folder):
    os.makedirs(folder, exist_ok=True)
    done = os.path.join(folder, "installed")
    wanted = "%s %s" % (SRT, SANDLOCK)
    if os.path.exists(done) and open(done, encoding="ascii").read() == wanted:
        return
    steps = [["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, SRT],
             [sys.executable, "-m", "venv", folder + "/venv"], [folder + "/venv/bin/pip", "install", "-q", "--disable-pip-version-check", SANDLOCK]]
    for tool in TOOLS:
        if not shutil.which(tool):
            steps += [["sh", "-c", 'cd "$1" && apt-get -qq download "$2" && dpkg-deb -x "$2"_*.deb tools', "sh", folder, package] for package in PACKAGES[tool]]
    good = True
    for step in steps:
        try:
            good &= subprocess.run(step, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            good = False
    if good:
        with open(done, "w", encoding="ascii") as f:
            f.write(wanted)


def run(words, **how):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **how)
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"connect"')]
    if not lines:
        raise RuntimeError((done.stderr or done.stdout or "exit %d" % done.returncode).strip()[-300:].replace("\n", " | "))
    return json.loads(lines[0])


def ways(build, folder):
    env = dict(os.environ, PATH="%s/tools/usr/bin:%s" % (folder, os.environ["PATH"]), LD_LIBRARY_PATH=folder + "/tools/usr/lib/x86_64-linux-gnu")
    settings = os.path.join(folder, "settings.json")
    with open(settings, "w", encoding="ascii") as f:
        json.dump({"network": {"allowedDomains": [NAME], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": ["/tmp"], "denyWrite": []}}, f)
    script = os.path.join(folder, "client.py")
    with open(script, "w", encoding="ascii") as f:
        f.write(CLIENT)
    return {
        "direct": lambda: run([PYTHON, "-I", "-S", script]),
        "agentjail": lambda: run([build + "/agentjail", "run", "--allow-host", "%s:%d" % (NAME, PORT), "--allow-host", "%s:%d" % (ADDRESS, PORT), "--", PYTHON, "-I", "-S", "-c", CLIENT]),
        "srt " + SRT.rpartition("@")[2]: lambda: run([folder + "/node_modules/.bin/srt", "--settings", settings, PYTHON, "-I", "-S", script], env=env),
        SANDLOCK.replace("==", " "): lambda: run([folder + "/venv/bin/python", "-c", LOCKED], input=CLIENT),
    }


def measure(build, folder):
    server = subprocess.Popen([build + "/bench-egress", "serve"])
    found, why = {}, {}
    for _ in range(ROUNDS):
        for name, way in ways(build, folder).items():
            if name in why:
                continue
            try:
                found.setdefault(name, []).append(way())
            except (OSError, RuntimeError, subprocess.TimeoutExpired) as e:
                why[name] = str(e) or type(e).__name__
    server.kill()
    server.wait()
    print("%-20s %21s %21s %16s" % ("", "connect + byte, us", "1 kB and back, us", "1 stream, GB/s"))
    print("%-20s %10s %10s %10s %10s" % ("", "p50", "p99", "p50", "p99"))
    for name, rounds in found.items():
        if name in why:
            continue
        cells = []
        for what in "connect", "message":
            all_of = sorted(t for r in rounds for t in r[what])
            cells += [statistics.median(all_of), all_of[len(all_of) * 99 // 100]]
        print("%-20s %10.0f %10.0f %10.0f %10.0f %16.2f" % (name, *cells, statistics.median(r["stream"] for r in rounds)))
    for name, reason in why.items():
        print("%-20s not measured: %s" % (name, reason))


def write(table, page):
    with open(table, encoding="utf-8") as f:
        text = f.read()
    with open(page, encoding="utf-8") as f:
        before, mark, rest = f.read().partition("```text\nOn ")
    with open(page, "w", encoding="utf-8") as f:
        f.write(before + "```text\n" + text + "```" + rest.partition("```")[2] if mark else before)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        sys.exit(write(*sys.argv[2:]))
    build = os.path.abspath(sys.argv[2])
    {"install": lambda: install(build + "/bench/peers"), "measure": lambda: measure(build, build + "/bench/peers")}[sys.argv[1]]()
