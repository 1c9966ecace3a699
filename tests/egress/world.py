"""A small internet for tests of network.mode = "allow": two network namespaces, `host`, in which agentjail runs, and `internet`, where
every address is answered by servers.py. It needs no root, changes nothing outside its namespaces, and ends with its process.

In a script: enter() first of all, which starts the script again inside; then World(FOLDER). As a program, for a look by hand:
    tests/egress/world.py AGENTJAIL FOLDER -- COMMAND...     runs COMMAND on the host of such a world, which has the name api.allowed.test"""

import atexit
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
HOST4, HOST6 = "192.0.2.2", "2001:db8:ffff::2"  # the host's own address, in a network of two
UPLINK4, UPLINK6 = "192.0.2.1", "2001:db8:ffff::1"
# Names of the certificate, so of every TLS server.
TLS_NAMES = ["api.allowed.test", "other.allowed.test", "*.pkg.test", "*.example.org", "evil.test", "pypi.org", "files.pythonhosted.org",
             "registry.npmjs.org", "github.com", "proxy.golang.org", "sum.golang.org", "index.crates.io", "static.crates.io",
             "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "auth.openai.com"]


def enter():
    """Starts the script again in namespaces of its own; root of a user namespace where the caller is not root."""
    if os.environ.get("AJ_WORLD"):
        return
    words = ["unshare", "--net", "--mount", "--propagation", "slave"]
    env = dict(os.environ, AJ_WORLD="user" if os.getuid() else "root", AJ_WORLD_UID=str(os.getuid()))
    if os.getuid():
        words += ["--user", "--map-root-user"]
    os.execvpe("unshare", words + [PYTHON, "-s", "-B"] + sys.argv, env)


def ip(*words, netns=None):
    command = ["ip", *words]
    if netns:
        command = ["nsenter", "--net", "--target", str(netns), "--", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Run:
    """What became of one command in a jail."""

    def __init__(self, done):
        self.code, self.err = done.returncode, done.stderr
        try:
            self.result = json.loads(done.stdout)
        except ValueError:
            self.result = {}
        self.stdout, self.stderr = self.result.get("stdout", done.stdout), self.result.get("stderr", "")

    def __repr__(self):
        violations = json.dumps(self.result.get("violations"))
        return "exit %s, stdout %.300r, stderr %.500r, violations %.600s, agentjail %.300r" % (self.code, self.stdout, self.stderr, violations, self.err)


class World:
    def __init__(self, agentjail, folder):
        self.agentjail, self.folder, self.servers = agentjail, folder, []
        self.zone, self.files = {}, 0
        atexit.register(self.end)
        self.save()
        self._certificates()
        # The internet: a namespace that a process of ours holds, and where a route makes every address a local one.
        holder = self._serve("internet", "unshare", "--net", keep=True)
        subprocess.run(["ip", "link", "add", "up0", "type", "veth", "peer", "name", "down0", "netns", str(holder)], check=True)
        for words in (["link", "set", "lo", "up"], ["addr", "add", HOST4 + "/30", "dev", "up0"], ["link", "set", "up0", "up"],
                      ["addr", "add", HOST6 + "/64", "dev", "up0", "nodad"], ["route", "add", "default", "via", UPLINK4],
                      ["-6", "route", "add", "default", "via", UPLINK6]):
            ip(*words)
        for words in (["link", "set", "lo", "up"], ["addr", "add", UPLINK4 + "/30", "dev", "down0"], ["link", "set", "down0", "up"],
                      ["addr", "add", UPLINK6 + "/64", "dev", "down0", "nodad"], ["route", "add", "local", "default", "dev", "lo", "table", "main"],
                      ["-6", "route", "add", "local", "default", "dev", "lo", "table", "main"],
                      ["route", "add", "blackhole", "203.0.113.66/32"]):
            ip(*words, netns=holder)
        self._start()
        self._serve("host")  # what nothing of a jail may reach
        self._start()
        self.bind("/etc/resolv.conf", "nameserver %s\noptions timeout:1 attempts:2\n" % UPLINK4)
        self.bind("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n")
        subprocess.run(["mount", "--bind", self.folder + "/certs", "/etc/ssl/certs"], check=True)

    def _certificates(self):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        os.makedirs(self.folder + "/certs", exist_ok=True)
        names = ",".join(["DNS:" + name for name in TLS_NAMES] + ["IP:203.0.113.7", "IP:2001:db8::7"])
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "certs/ca-certificates.crt", "-days", "2", "-subj", "/CN=world",
                "-addext", "keyUsage=critical,keyCertSign")
        openssl("req", *key, "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=servers")
        with open(self.folder + "/ext", "w", encoding="utf-8") as f:
            f.write("subjectAltName=%s\n" % names)
        openssl("x509", "-req", "-in", "tls.csr", "-CA", "certs/ca-certificates.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "ext", "-out", "tls.crt")
        os.chmod(self.folder + "/certs", 0o755)

    def _serve(self, name, *before, keep=False):
        """Starts servers.py, behind a line that it waits for, so that the network can be made first."""
        wait = 'read -r go && exec "$@"'
        words = [*before, "sh", "-c", wait, "sh", PYTHON, "-s", "-B", HERE + "/servers.py", self.folder, name,
                 self.folder + "/tls.crt", self.folder + "/tls.key"]
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.servers.append(server)
        if keep:  # until it has its namespace
            ours = os.readlink("/proc/self/ns/net")
            while os.readlink("/proc/%d/ns/net" % server.pid) == ours:
                time.sleep(0.01)
        return server.pid

    def _start(self):
        server = self.servers[-1]
        server.stdin.write("go\n")
        server.stdin.flush()
        if server.stdout.readline() != "ready\n":
            sys.exit("world.py: its servers do not start")

    def bind(self, path, text):
        """Shows `text` at a path of the host, in this world alone."""
        self.files += 1
        source = "%s/bound-%d" % (self.folder, self.files)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run(["mount", "--bind", source, path], check=True)

    # --- names, and what was seen ---

    def name(self, name, *addresses, **more):
        """name("a.test", "203.0.113.7", ttl=0): the A and AAAA records of a name; more: ttl, CNAME, delay, drop, rcode, truncate, or A=[[...], [...]]."""
        entry = dict(more)
        for address in addresses:
            entry.setdefault("AAAA" if ":" in address else "A", []).append(address)
        self.zone[name] = entry
        self.save()

    def save(self):
        with open(self.folder + "/zone.new", "w", encoding="utf-8") as f:
            json.dump(self.zone, f)
        os.rename(self.folder + "/zone.new", self.folder + "/zone.json")

    def log(self, where="internet", **want):
        """The lines of a log that have these values. The last one may be half written."""
        with open("%s/%s.log" % (self.folder, where), encoding="utf-8") as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
        return [line for line in lines if all(line.get(key) == value for key, value in want.items())]

    def forget(self):
        for server in ("internet", "host"):
            os.truncate("%s/%s.log" % (self.folder, server), 0)

    # --- jails ---

    def policy(self, allow=("api.allowed.test:443",), mode="allow", more=""):
        self.files += 1
        path = "%s/policy-%d.toml" % (self.folder, self.files)
        hosts = "allow = %s\n" % json.dumps(list(allow)) if mode == "allow" else ""
        with open(path, "w", encoding="utf-8") as f:
            f.write('extends = "command"\n[network]\nmode = "%s"\n%s%s\n' % (mode, hosts, more))
        os.chmod(path, 0o644)
        return path

    def words(self, *words):
        """The command line of agentjail itself, as the user who started the test."""
        before = []
        if os.environ["AJ_WORLD"] == "user":
            before = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
        return [*before, self.agentjail, *words]

    def agent(self, *words, **options):
        return subprocess.run(self.words(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120, **options)

    def run(self, *command, allow=("api.allowed.test:443",), mode="allow", more="", options=()):
        path = self.policy(allow, mode, more)
        return Run(self.agent("run", "--json", "--policy-file", path, *options, "--", *command))

    def python(self, code, *args, **how):
        return self.run(PYTHON, "-I", "-S", "-c", code, *args, **how)

    def end(self):
        while self.servers:
            server = self.servers.pop()
            server.stdin.close()
            server.wait()


if __name__ == "__main__":
    enter()
    os.makedirs(sys.argv[2], exist_ok=True)
    world = World(sys.argv[1], os.path.realpath(sys.argv[2]))
    world.name("api.allowed.test", "203.0.113.7", "2001:db8::7")
    sys.exit(subprocess.run(sys.argv[sys.argv.index("--") + 1 :], check=False).returncode)
