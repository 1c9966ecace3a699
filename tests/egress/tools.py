"""Package managers and programs of several languages in jails of the policies with a network, against mirrors that have the real names,
with no proxy variable: each fetches what its policy allows, and nothing from a host that the policy does not name."""

import glob
import os
import pwd
import shutil

import world

world.enter()
import www  # noqa: E402
from client import AJ, FOLDER, check, main, skip, test  # noqa: E402

W = world.World(AJ, FOLDER)
www.make(FOLDER + "/www")
NAMES = ["pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "github.com", "proxy.golang.org", "sum.golang.org", "index.crates.io",
         "static.crates.io", "api.anthropic.com", "api.openai.com", "api.allowed.test", "evil.test"]
for number, name in enumerate(NAMES):
    W.name(name, "203.0.113.%d" % (30 + number), "2001:db8::%d" % (30 + number))
# Where programs look for the certificate of this world's authority, besides /etc/ssl/certs.
AUTHORITY = ["NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt", "npm_config_cafile=/etc/ssl/certs/ca-certificates.crt",
             "PIP_CERT=/etc/ssl/certs/ca-certificates.crt", "CARGO_HTTP_CAINFO=/etc/ssl/certs/ca-certificates.crt", "HOME=/tmp"]


def inside(policy, script, options=()):
    """A shell script in a jail of a built-in policy, with a workspace of its own."""
    W.forget()
    W.files += 1
    folder = "%s/work-%d" % (FOLDER, W.files)
    os.mkdir(folder)
    os.chmod(folder, 0o777)  # root's jails run as another id
    env = [word for each in AUTHORITY for word in ("--env", each)]
    run = world.Run(W.agent("run", "--json", "--policy", policy, "--workspace", folder, *env, *options, "--", "sh", "-ec", script))
    run.folder = folder
    return run


def there(program):
    path = shutil.which(program, path="/usr/bin:/usr/local/bin:/usr/local/go/bin")
    if not path:
        skip(program, "it is not below /usr")
    return path


def fetches(name, policy, script, host, options=()):
    run = inside(policy, script, options)
    check("%s under %s" % (name, policy), run.code == 0 and run.result.get("violations") == [] and W.log(kind="tls", sni=host), run)
    return run


def stays_out(name, policy, script, host):
    run = inside(policy, script)
    told = any(v.get("host") == host for v in run.result.get("violations", []))
    check("%s under %s: not from %s" % (name, policy, host), run.code != 0 and told and not W.log(kind="tls", sni=host), run)


PIP = "/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --retries 0 --target /workspace/lib nut && cat /workspace/lib/nut.py"
NPM = "cd /workspace && npm install --no-audit --no-fund --fetch-retries=0 --cache /tmp/npm nut >&2 && node -e 'console.log(require(\"nut\"))'"
GIT = "git clone -q https://github.com/example/nut.git /workspace/nut && git -C /workspace/nut log --oneline"
GO = """cd /workspace && export GOPATH=/tmp/go GOCACHE=/tmp/cache GOSUMDB=off GOFLAGS=-mod=mod && printf 'module x\\n\\ngo 1.18\\n\\nrequire example.org/nut v1.0.0\\n' >go.mod &&
%s mod download && ls /tmp/go/pkg/mod/example.org"""
CARGO = """mkdir -p /workspace/src && cd /workspace && printf '[package]\\nname = "x"\\nversion = "1.0.0"\\nedition = "2021"\\n[dependencies]\\nnut = "1"\\n' >Cargo.toml &&
touch src/lib.rs && CARGO_HOME=/tmp/cargo %s fetch -q && ls /tmp/cargo/registry/cache/*/"""


@test
def pip():
    if world.subprocess.run([world.PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        skip("pip", "the system's Python has none")
        return
    run = fetches("pip", "python-dev", PIP, "files.pythonhosted.org")
    check("and the package is there", "fine" in run.stdout, run)
    fetches("pip", "claude", PIP, "files.pythonhosted.org")
    stays_out("pip", "node-dev", PIP, "pypi.org")


@test
def npm():
    if not there("npm"):
        return
    run = fetches("npm", "node-dev", NPM, "registry.npmjs.org")
    check("and the package is there", "fine" in run.stdout, run)
    stays_out("npm", "rust-dev", NPM, "registry.npmjs.org")


@test
def git():
    for policy in ("coding-agent", "go-dev", "codex"):
        fetches("git", policy, GIT, "github.com")
    stays_out("git", "python-dev", GIT.replace("github.com", "evil.test"), "evil.test")


@test
def go():
    path = there("go")
    if path:
        run = fetches("go", "go-dev", GO % path, "proxy.golang.org")
        check("and the module is there", "nut@v1.0.0" in run.stdout, run)
        stays_out("go", "python-dev", GO % path, "proxy.golang.org")


@test
def cargo():
    home = pwd.getpwuid(os.getuid()).pw_dir  # where rustup finds the toolchain
    try:
        root = world.subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True, env=dict(os.environ, HOME=home)).stdout.strip()
    except (OSError, world.subprocess.CalledProcessError):
        root = ""
    if not os.access(root + "/bin/cargo", os.X_OK) or os.environ["AJ_WORLD"] == "user":
        skip("cargo", "it is not installed, or in another's home")
        return
    options = () if root.startswith("/usr") else ("--bind", root + ":/opt/rust")
    program = "PATH=/opt/rust/bin:$PATH /opt/rust/bin/cargo" if options else "cargo"
    run = fetches("cargo", "rust-dev", CARGO % program, "static.crates.io", options)
    check("and the crate is there", "nut-1.0.0.crate" in run.stdout, run)


@test
def programs():
    """Clients of several languages, with the names that they resolve and the TLS that they speak."""
    rows = [("curl", "curl", "curl -sS https://api.anthropic.com/x"), ("python", "python3", "/usr/bin/python3 -c 'import urllib.request as u; print(u.urlopen(\"https://api.anthropic.com/x\").read().decode())'"),
            ("node", "node", "node -e 'fetch(\"https://api.anthropic.com/x\").then(r => r.text()).then(console.log)'"),
            ("perl", "perl", "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(\"api.anthropic.com:443\") or die; print $s \"x\"; print \"internet\" unless <$s>'")]
    for name, program, script in rows:
        if not there(program):
            continue
        run = inside("claude", script)
        check(name, "internet" in run.stdout, run)
        run = inside("claude", script.replace("api.anthropic.com", "api.openai.com"))
        check("%s: another vendor's API is not on the list" % name, not W.log(kind="tcp") and any(v.get("host") == "api.openai.com" for v in run.result.get("violations", [])), run)
    if not os.environ.get("ROOT_TOO") and there("javac") and there("java"):  # seconds, and the same for every user
        text = """import java.net.*; import java.net.http.*; public class X { public static void main(String[] a) throws Exception {
System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create("http://api.allowed.test/x")).build(), HttpResponse.BodyHandlers.ofString()).body()); } }"""
        W.forget()
        folder = FOLDER + "/java"
        os.mkdir(folder)
        with open(folder + "/X.java", "w", encoding="utf-8") as f:
            f.write(text)
        policy = W.policy(["api.allowed.test:80"], more='[limits]\nmemory = "4G"\npids = 512\n[process]\nfork = true')
        binds = [word for place in [folder + ":/mnt/java", *glob.glob("/etc/java-*")] for word in ("--bind", place)]
        run = world.Run(W.agent("run", "--json", "--policy-file", policy, *binds, "--", "java", "-XX:TieredStopAtLevel=1", "/mnt/java/X.java"))
        check("java, which asks for h2c", "internet" in run.stdout, run)


main()
