"""A network by allow-list as its caller meets it: the result, the audit trail, the lines on standard error, the command line, sessions and
the service, and that neither a relay nor a socket is left when agentjail ends, whichever way it does."""

import json
import os
import signal
import subprocess
import time

import world

world.enter()
from client import AJ, FOLDER, Server, Sessions, check, main, test, until  # noqa: E402
from procfs import alive, below, children, numbers  # noqa: E402

ROOTFS = os.environ["ROOTFS"]
W = world.World(AJ, FOLDER)
API = "api.allowed.test"
ALLOW = [API + ":80", API + ":443"]
FETCH = "import urllib.request as u; print(u.urlopen('http://api.allowed.test/').read().decode())"
# For sessions: a snippet that may open sockets.
SNIPPET = FOLDER + "/snippet.toml"
with open(SNIPPET, "w", encoding="utf-8") as f:
    f.write('extends = "snippet"\n[python]\nlayer = false\n[process]\nexec = true\n[network]\nmode = "allow"\nallow = ["%s:80"]\n' % API)
os.chmod(SNIPPET, 0o644)


def whole():
    """Is it root's world? An ordinary user's agentjail runs behind one more process, in one more user namespace."""
    return os.environ.get("AJ_WORLD") == "root"


def before():
    W.name(API, "203.0.113.7")


@test
def a_result():
    before()
    code = FETCH + """
import socket
for place in ("evil.test", 443), ("203.0.113.9", 25), ("203.0.113.9", 25), ("api.allowed.test", 8080), ("gone.allowed.test", 25):
    try: socket.create_connection(place, 5).recv(1)
    except OSError: pass
"""
    run = W.python(code, allow=[*ALLOW, "gone.allowed.test:25"])
    network, found = run.result.get("network", {}), run.result.get("violations", [])
    check("has what came", "internet api.allowed.test on 203.0.113.7:80" in run.stdout, run)
    # A connection that is reset early is tried once more, with the other address.
    counts = [v["count"] for v in found]
    check("names what was refused", [(v["host"], v["port"]) for v in found] == [("evil.test", 443), ("203.0.113.9", 25), (API, 8080)] and
          counts[:2] == [1, 2] and counts[2] in (1, 2), run)
    check("with a sentence for a model", found and found[0]["instead"] == "Ask for evil.test:443 to be allowed (agentjail --allow-host evil.test:443), or work without it.", run)
    check("counts connections and bytes", network.get("connections") == 1 and network["refused"] == sum(counts) and network["bytes_out"] > 50 and network["bytes_in"] > 50, run)
    check("names what did not answer", [v["host"] for v in network.get("failed", [])] == ["gone.allowed.test"], run)
    check("`enforced` says how", "a relay of the supervisor's" in run.result["enforced"]["network"], run)
    other = W.run("true", mode="loopback")
    check("other networks have no such field", other.code == 0 and "network" not in other.result, other)


@test
def the_sites_proxy():
    before()
    W.name("proxy.corp.test", "203.0.113.9")
    config = FOLDER + "/site.toml"
    with open(config, "w", encoding="utf-8") as f:
        f.write('network.upstream_proxy = "http://proxy.corp.test:80"\n')
    os.chmod(config, 0o644)
    W.forget()
    run = W.python(FETCH, allow=ALLOW, options=("--config", config))
    asked = [line["line"] for line in W.log(kind="http", address="203.0.113.9")]
    check("is asked for each connection", asked[:1] == ["CONNECT %s:80 HTTP/1.1" % API], (asked, run))
    check("resolves the names", W.log(kind="dns", name="proxy.corp.test") and not W.log(kind="dns", name=API), W.log())
    W.forget()
    run = W.python("import urllib.request as u; print(u.urlopen('http://host/').read().decode())", allow=["host:80"], options=("--config", config))
    check("but not for the host's loopback", "host host on 127.0.0.1:80" in run.stdout and not W.log(kind="http", address="203.0.113.9"), run)


@test
def the_sites_proxy_asks_who_we_are():
    before()
    W.name("proxy.corp.test", "203.0.113.9")
    config, secret = FOLDER + "/proxy.toml", FOLDER + "/proxy-password"
    with open(secret, "w", encoding="utf-8") as f:
        f.write("agent:pass word\n")

    def through(credentials):
        with open(config, "w", encoding="utf-8") as f:
            f.write('[network]\nupstream_proxy = "http://proxy.corp.test:80"\nupstream_proxy_credentials = %s\n' % json.dumps(credentials))
        os.chmod(config, 0o644)
        W.forget()
        run = W.run("sh", "-c", "curl -s http://%s/; env; cat /proc/*/cmdline" % API, allow=ALLOW, options=("--config", config))
        return run, [line["authorization"] for line in W.log(kind="http", address="203.0.113.9")]

    basic = "Basic YWdlbnQ6cGFzcyB3b3Jk"
    for credentials in ("file:" + secret, "command:cat %s; sleep 600" % secret, "command:printf 'agent:pass word\\r\\nmore'"):
        run, sent = through(credentials)
        check(credentials + " is sent to the proxy", sent[:1] == [basic], (sent, run))
        check("and is nowhere else", "pass word" not in str(run.result) + run.stdout + run.stderr and basic[6:] not in str(run.result) + run.stdout + run.stderr, run)
    for credentials, why in (("file:%s-none" % secret, "No such file"), ("file:" + FOLDER, "not a regular file"), ("command:exit 3", "failed (exit code 3)"),
                             ("command:echo sesame", "is not USER:PASSWORD"), ("command:printf 'a:\\033b'", "is not USER:PASSWORD"), ("command:head -c 600 /dev/zero | tr '\\0' :", "is not USER:PASSWORD")):
        run, sent = through(credentials)
        check(credentials + " is an error", run.code != 0 and why in str(run.result) + run.stderr and not sent and "sesame" not in (str(run.result) + run.stderr), run)
    planted = FOLDER + "/planted"
    with open(planted, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho planted:planted\n")
    os.chmod(planted, 0o755)
    here, path = os.getcwd(), os.environ["PATH"]
    os.chdir(FOLDER)
    os.environ["PATH"] = FOLDER + ":" + path
    run, sent = through("command:planted || ./planted || echo 'agent:pass word'")
    os.chdir(here)
    os.environ["PATH"] = path
    check("no program of the working directory or the caller's PATH is started", sent[:1] == [basic], (sent, run))
    run, sent = through("")
    check("none are sent without", sent[:1] == [None], (sent, run))


@test
def names_of_one_word():
    W.name("registry", "203.0.113.7")
    W.name("intranet", "10.1.2.3")
    run = W.python("import urllib.request as u\nfor name in 'registry', 'intranet':\n try: print(u.urlopen('http://%s/' % name).read().decode())\n except OSError: pass",
                   allow=["registry:80", "intranet:80"])
    check("lead where they do on the host", run.stdout.split() == "internet registry on 203.0.113.7:80".split(), run)
    check("by the same rule for their addresses", [(v["host"], "resolves to 10.1.2.3: private" in v["why"]) for v in run.result.get("violations", [])] == [("intranet", True)], run)


@test
def what_a_person_reads():
    before()
    policy = W.policy(ALLOW)
    done = W.agent("run", "--policy-file", policy, "--", "sh", "-c", "curl -s http://evil.test/; curl -s --max-time 5 http://203.0.113.9/; true")
    lines = [line for line in done.stderr.splitlines() if line.startswith("agentjail: ")]
    check("each refusal is a line, also after a success", done.returncode == 0 and len(lines) == 2 and
          lines[0].startswith("agentjail: evil.test:80 was refused: ") and lines[1].startswith("agentjail: 203.0.113.9:80 was refused: ") and
          all("  hint: Ask for %s to be allowed (agentjail --allow-host %s), or work without it." % (host, host) in done.stderr for host in ("evil.test:80", "203.0.113.9:80")), done.stderr)
    told = done.stdout.splitlines()
    check("and the program read it, with its hint", told == [line + ". " + hint[8:] for line, hint in zip(lines, [l for l in done.stderr.splitlines() if l.startswith("  hint: ")])], done)
    done = W.agent("run", "--policy-file", policy, "--", "curl", "-sS", "http://%s/" % API)
    check("a run without a refusal says nothing", done.returncode == 0 and not done.stderr, done.stderr)


@test
def the_option():
    before()
    get = ["curl", "-s", "--max-time", "10", "http://%s/" % API]
    done = W.agent("run", "--allow-host", API + ":80", "--", *get)
    check("--allow-host is enough", done.returncode == 0 and "internet" in done.stdout, done)
    done = W.agent("run", "--allow-host", "other.test:80", "--", *get)
    check("and another host is not", "internet" not in done.stdout and "was refused" in done.stderr, done)
    done = W.agent("run", "--policy-file", W.policy(["other.test:80"]), "--allow-host", API + ":80", "--", *get)
    check("it adds to the policy's hosts", done.returncode == 0, done)
    done = W.agent("run", "--policy", "locked", "--allow-host", API + ":80", "--", "true")
    check("unless the policy is locked", done.returncode == 2, done)


@test
def the_jails_files_and_addresses():
    before()
    code = """
import socket, os
print(open("/etc/resolv.conf").readline().strip())
for family in socket.AF_INET, socket.AF_INET6:
    print(*{a[4][0] for a in socket.getaddrinfo("api.allowed.test", 80, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)})
print(sorted(name for _, name in socket.if_nameindex()))
for what in (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), (socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_PACKET, socket.SOCK_RAW, 0):
    try: socket.socket(*what); print("open")
    except OSError as e: print("refused")
s = socket.socket()
try: s.bind(("0.0.0.0", 1)); print("bound")
except OSError: print("refused")
s.bind(("0.0.0.0", 8080)); print("bound")
print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\\0")[0].decode())
"""
    lines = W.python(code, allow=ALLOW).stdout.splitlines()
    check("resolv.conf names the relay", lines[:1] == ["nameserver 198.18.0.1"], lines)
    check("addresses of both families, of no host", len(lines) > 2 and lines[1].startswith("198.18.") and lines[2].startswith("fd00:a9e7:"), lines)
    check("lo alone", lines[3:4] == ["['lo']"], lines)
    check("no ICMP, no raw socket, no port of the relay's", lines[4:8] == ["refused"] * 4, lines)
    check("its own ports are free", lines[8:9] == ["bound"], lines)
    check("no timers pace what stays in the host's memory", lines[9:] == ["reno"], lines)
    run = W.run("sh", "-c", "ls /proc/self/fd", allow=ALLOW)
    check("no descriptor of the relay's is in the jail", run.stdout.split() == ["0", "1", "2", "3"], run)


@test
def the_audit_trail():
    if not whole():  # the folders above are of no id of this user's namespace, and so refused
        return
    before()
    folder = FOLDER + "/trail"
    os.mkdir(folder, 0o700)
    site = FOLDER + "/site.toml"
    with open(site, "w", encoding="utf-8") as f:
        f.write('[audit]\ndestination = "file:%s/a.jsonl"\n' % folder)
    W.python(FETCH + "\nimport socket\ntry: socket.gethostbyname('evil.test')\nexcept OSError: pass", allow=ALLOW, options=("--config", site, "--id", "one"))
    with open(folder + "/a.jsonl", encoding="utf-8") as f:
        records = [json.loads(line) for line in f]
    check("start, connections, end", [r["event"] for r in records] == ["start", "connections", "end"] and {r["id"] for r in records} == {"one"}, records)
    made = records[1]["connections"] if len(records) > 1 else []
    check("each connection with name, address, port, bytes and time", len(made) == 1 and made[0]["host"] == API and made[0]["address"] == "203.0.113.7" and
          made[0]["port"] == 80 and made[0]["bytes_out"] > 50 and made[0]["bytes_in"] > 50 and made[0]["time"][:2] == "20", made)
    denied = [d for d in records[-1].get("denials", []) if d["by"] == "relay"]
    check("each refused host is a denial", [d["rule"] for d in denied] == ["evil.test"], records[-1])
    check("the sums", records[-1].get("network", {}).get("connections") == 1, records[-1])
    done = W.agent("audit", "verify", folder + "/a.jsonl")
    check("the chain is whole", done.returncode == 0 and "whole: records 3, runs begun 1" in done.stdout, done)


@test
def the_audit_trail_while_the_run_goes_on():
    if not whole():
        return
    before()
    folder = FOLDER + "/living-trail"
    os.mkdir(folder, 0o700)
    site, trail = FOLDER + "/living.toml", folder + "/a.jsonl"
    with open(site, "w", encoding="utf-8") as f:
        f.write('[audit]\ndestination = "file:%s"\n' % trail)

    def records():
        with open(trail, encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().splitlines()]

    def made():
        return [connection for record in records() if record["event"] == "connections" for connection in record["connections"]]

    code = "import sys, socket\nfor line in sys.stdin:\n    for i in range(int(line)):\n        with socket.create_connection(('%s', 80)) as s:\n" \
           "            s.sendall(b'GET / HTTP/1.0\\r\\nHost: %s\\r\\n\\r\\n'); s.shutdown(1); s.recv(999)\n    print('made', flush=True)" % (API, API)
    words = ["run", "--config", site, "--id", "two", "--policy-file", W.policy(ALLOW), "--", world.PYTHON, "-I", "-S", "-c", code]
    with subprocess.Popen(W.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for count, sum_of_all in (1, 1), (3, 4), (120, 124):
            process.stdin.write("%d\n" % count)
            process.stdin.flush()
            check("control: the program continues", process.stdout.readline() == "made\n")
            check("has %d connections" % sum_of_all, until(lambda: len(made()) == sum_of_all), [len(made()), records()[-1]])  # noqa: B023
        check("and no end yet", [r["event"] for r in records()][:2] == ["start", "connections"] and records()[-1]["event"] == "connections", records()[-1])
        check("its chain is whole at any time", W.agent("audit", "verify", trail).returncode == 0)
        process.stdin.close()
    check("each connection is there once, before the end", len(made()) == 124 and records()[-1]["event"] == "end" and
          records()[-1]["network"]["connections"] == 124 and {r["id"] for r in records()} == {"two"}, records()[-1])
    check("and the chain is whole", W.agent("audit", "verify", trail).returncode == 0)
    os.chmod(folder, 0o700)
    with subprocess.Popen(W.words(*words), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write("0\n")
        process.stdin.flush()
        process.stdout.readline()
        os.rename(folder, folder + ".gone")
        process.stdin.write("1\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.5)
        os.rename(folder + ".gone", folder)
        process.stdin.close()
        check("an audit record that could not be written is reported at the end", "audit" in process.stderr.read() and process.wait() != 0)


# --- ends ---


def started(*words):
    """agentjail with a command that says when it has begun; with its relay and its jail's init."""
    process = subprocess.Popen([AJ, "run", "--policy-file", W.policy(ALLOW), "--", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    relays = [pid for pid in children(process.pid) if len(numbers(pid)) == len(numbers(process.pid))]
    return process, line, relays


WAITS = "import sys, time; print('begun', flush=True); time.sleep(600)"


@test
def a_supervisor_that_is_killed():
    if not whole():
        return
    before()
    process, line, relays = started(world.PYTHON, "-I", "-S", "-c", WAITS)
    tree = below(process.pid)
    check("control: one relay, and the jail", line == "begun\n" and len(relays) == 1 and len(tree) >= 3, (line, relays, tree))
    process.kill()
    process.wait()
    check("takes all with it", until(lambda: not any(alive(pid) for pid in tree)), [pid for pid in tree if alive(pid)])


@test
def a_relay_that_is_killed():
    if not whole():
        return
    before()
    code = """
import socket, sys, time, urllib.request as u
print(len(u.urlopen("http://api.allowed.test/").read()) > 10, flush=True)
time.sleep(600 if len(sys.argv) < 2 else float(sys.argv[1]))
for place in ("api.allowed.test", 80), ("203.0.113.7", 80), ("127.0.0.1", 80):
    try: socket.setdefaulttimeout(5); s = socket.create_connection(place); print("open", repr(s.recv(1)))
    except OSError as e: print(type(e).__name__)
"""
    process, line, relays = started(world.PYTHON, "-I", "-S", "-c", code, "2")
    check("control: it had a network", line == "True\n" and len(relays) == 1, (line, relays))
    W.forget()
    os.kill(relays[0], signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    check("every later connection fails", "open" not in out and len(out.splitlines()) == 3, (out, err))
    check("the command continues to its end", process.returncode == 0, process.returncode)
    check("one line says so", err.count("agentjail: every host was refused: agentjail's relay has ended") == 1, err)
    check("nothing reached a server", not W.log(kind="tcp"), W.log())


@test
def a_run_leaves_nothing():
    before()
    mine = len(children(os.getpid()))
    for words in (["true"], ["sh", "-c", "kill -9 $$"], ["no-such-program"], ["curl", "-s", "http://%s/" % API]):
        W.run(*words, allow=ALLOW)
    check("no process", len(children(os.getpid())) == mine, children(os.getpid()))


# --- sessions and the service ---


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


@test
def sessions():
    before()
    with Sessions(SNIPPET, 0, "--rootfs", ROOTFS) as s:
        check("start cold", s.open("a")["warm"] is False)
        result = s.run("a", FETCH)
        check("have the network", result.get("status") == "ok" and "internet" in result["stdout"], result)
        result = s.run("a", "import socket\nsocket.gethostbyname('evil.test')")
        check("what is refused is in the result of that snippet", [v["host"] for v in result.get("violations", [])] == ["evil.test"], result)
        result = s.run("a", "1")
        check("and in no later one", result.get("violations") == [] and result["network"]["refused"] == 0, result)
        s.send("open", "b", branching=True)
        event = s.wait("opened", "b")
        check("cannot be branched, and say why", "share the relay" in event.get("error", ""), event)
        s.open("c")
        had, kept = descriptors(s.pid), len(below(s.pid))
        for _ in range(10):
            s.open("d")
            s.run("d", FETCH)
            s.ask("close", "d")
        check("one that is closed leaves no process", until(lambda: len(below(s.pid)) == kept), below(s.pid))
        check("and no descriptor", until(lambda: descriptors(s.pid) <= had), (had, descriptors(s.pid)))
        tree = below(s.pid)
        s.process.kill()
        s.process.wait()
        check("a service that is killed takes every relay with it", until(lambda: not any(alive(pid) for pid in tree)), tree)


@test
def the_audit_trail_of_a_session():
    if not whole():
        return
    before()
    folder, www = FOLDER + "/session-trail", FOLDER + "/www/" + API
    os.mkdir(folder, 0o700)
    os.makedirs(www, exist_ok=True)
    with open(folder + ".toml", "w", encoding="utf-8") as f:
        f.write('[audit]\ndestination = "file:%s/a.jsonl"\n' % folder)

    def records():
        if not os.path.exists(folder + "/a.jsonl"):
            return [{"event": "none"}]
        with open(folder + "/a.jsonl", encoding="utf-8") as f:
            return [json.loads(line) for line in f.read().splitlines()] or [{"event": "none"}]

    waits = "import time, urllib.request as u\ndef there():\n    try: return u.urlopen('http://%s/go').read()\n    except OSError: return time.sleep(0.05)\n" \
            "while not there(): pass\nu.urlopen('http://%s/go').read()" % (API, API)
    with Sessions(SNIPPET, 0, "--rootfs", ROOTFS, "--config", folder + ".toml") as s:
        s.open("a")
        s.send("run", "a", code=waits)
        check("has connections while the snippet continues", until(lambda: [r["event"] for r in records()][:2] == ["start", "connections"]) and
              records()[-1]["event"] == "connections", records()[-1])
        with open(www + "/go", "w", encoding="utf-8") as f:
            f.write("go")
        result = s.wait("answered", "a")["result"]
        s.run("a", "1")
    found = records()
    ends = [r["network"]["connections"] for r in found if r["event"] in ("end", "network")]
    made = sum(len(r["connections"]) for r in found if r["event"] == "connections")
    check("each once, with its snippet", result["status"] == "ok" and len(ends) in (2, 3) and made == sum(ends) and
          found[0]["id"] != found[-1]["id"] and {r["id"] for r in found} == {found[0]["id"], found[-1]["id"]}, (ends, made, result))
    check("in a chain that is whole", W.agent("audit", "verify", folder + "/a.jsonl").returncode == 0)
    os.remove(www + "/go")
    os.rmdir(www)


# --- connections that are open at an end ---

OPEN = "import socket, sys, time\ndef talk(port=5432, count=6001):\n    s = socket.create_connection(('%s', port), 60)\n    s.sendall(bytes(count))\n" \
       "    while count: count -= len(s.recv(count))\n    return s\n" % API


def trail_of(folder):
    """A configuration with an audit trail, and what gives its records. In a user namespace its folders would be another user's."""
    os.mkdir(folder, 0o700)
    with open(folder + ".toml", "w", encoding="utf-8") as f:
        f.write('[audit]\ndestination = "file:%s/a.jsonl"\n' % folder)

    def records():
        with open(folder + "/a.jsonl", encoding="utf-8") as f:
            return [json.loads(line) for line in f]
    return folder + ".toml", records


def moved(records):
    """(connections, bytes out, bytes in) of the records of connections; the bytes of the records with sums."""
    each = [c for r in records if r["event"] == "connections" for c in r["connections"]]
    sums = [r["network"] for r in records if r["event"] in ("end", "network")]
    return (len(each), *(sum(c[key] for c in each) for key in ("bytes_out", "bytes_in"))), tuple(sum(n[key] for n in sums) for key in ("bytes_out", "bytes_in"))


@test
def open_at_the_end_of_a_session():
    """A stopped relay is killed: its forwarded bytes are still counted."""
    before()
    policy = FOLDER + "/open.toml"
    with open(SNIPPET, encoding="utf-8") as f, open(policy, "w", encoding="utf-8") as out:
        out.write(f.read().replace(":80", ":5432") + "connections = 4096\n")
    config, records = trail_of(FOLDER + "/open-trail") if whole() else (None, None)
    ends = {"closed": None, "closed while a snippet runs": "time.sleep(600)", "killed": "import os; os.kill(os.getpid(), 9)", "without its relay": None,
            "with a stopped relay": None}
    for name, last in ends.items():
        with Sessions(policy, 0, "--rootfs", ROOTFS, *(["--config", config] if config else [])) as s:
            s.open("a")
            had = len(records()) if records and os.path.exists(FOLDER + "/open-trail/a.jsonl") else 0
            result = s.run("a", OPEN + "kept = talk()")
            network = result.get("network", {})
            check("%s: the result has what is open" % name, [network.get(key) for key in ("connections", "open", "bytes_out")] == [0, 1, 6001], result)
            again = s.run("a", "2")["network"]
            check("%s: and the next one does not" % name, again["open"] == 1 and again["bytes_out"] == 0 and network["bytes_in"] + again["bytes_in"] == 6001, again)
            relays = [pid for pid in below(s.pid) if alive(pid) and os.readlink("/proc/%d/exe" % pid) == os.path.realpath(AJ)
                      and os.readlink("/proc/%d/ns/pid" % pid) == os.readlink("/proc/self/ns/pid")] if whole() else []
            if last:
                s.send("run", "a", code=last)
            if "relay" in name and relays:
                os.kill(relays[0], signal.SIGKILL if "without" in name else signal.SIGSTOP)
            if name == "killed":
                s.wait("answered", "a")
            if name == "without its relay" and relays:
                check("control: its relay is gone", until(lambda: not alive(relays[0])))
            s.ask("close", "a") if name != "killed" else None
            if records:
                until(lambda: moved(records()[had:])[0][0] == 1 and moved(records()[had:])[1] == (6001, 6001), 20)
                check("%s: and the trail has all of it, once" % name, moved(records()[had:]) == ((1, 6001, 6001), (6001, 6001)), records()[had:])
    if config:
        check("in a chain that is whole", W.agent("audit", "verify", FOLDER + "/open-trail/a.jsonl").returncode == 0)


@test
def ended_between_runs():
    if not whole():
        return
    before()
    config, records = trail_of(FOLDER + "/between")
    policy = FOLDER + "/between-policy.toml"
    with open(SNIPPET, encoding="utf-8") as f, open(policy, "w", encoding="utf-8") as out:
        out.write(f.read().replace(":80", ":9001"))
    with Sessions(policy, 0, "--rootfs", ROOTFS, "--config", config) as s:
        s.open("a")
        first = s.run("a", "import socket\nkept = socket.create_connection(('%s', 9001), 60)\nkept.sendall(b'\\0')" % API)["network"]
        check("has its record without another run", until(lambda: moved(records())[0] == (1, 1, 0)), records())
        again = s.run("a", "2")["network"]
        check("and is in one result", again["open"] == 0 and [first[key] + again[key] for key in ("connections", "bytes_out")] == [1, 1], (first, again))


@test
def open_at_the_end_of_a_run():
    before()
    config, records = trail_of(FOLDER + "/run-trail") if whole() else (None, None)
    code = OPEN + """
import os
kept = [socket.create_connection(('%s', 9003), 60) for _ in range(300)]
for s in kept:
    s.setblocking(False)
    try:
        while True: s.send(bytes(1 << 16))
    except BlockingIOError: pass
kept.append(talk())
os.kill(os.getpid(), int(sys.argv[1])) if sys.argv[1] != "0" else None
""" % API
    for sign in "0", "9":
        had = len(records()) if records and sign != "0" else 0
        run = W.python(code, sign, allow=[API + ":9003", API + ":5432"], more="[limits]\nopen_files = 1024", options=["--config", config] if config else [])
        network = run.result.get("network", {})
        check("three hundred with bulk data are counted, signal " + sign, network.get("connections") == 301 and network["open"] == 0 and network["bytes_out"] > 300 * 65536, network)
        if records:
            each, sums = moved(records()[had:])
            check("each in a record, signal " + sign, each[0] == 301 and each[1:] == sums == (network["bytes_out"], network["bytes_in"]), (each, sums))


@test
def other_sessions_need_no_relay():
    with Sessions("snippet", 0, "--rootfs", ROOTFS) as s:
        check("control: warm without a network", s.open("a")["warm"] is True)
        check("no field of the network", "network" not in s.run("a", "1"))


main()
