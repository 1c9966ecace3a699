#!/bin/sh
# Every attack of python.json twice: with the Python layer, which must refuse it, and without, where the walls must hold.
# It does not take the layer's word: the marker at the end of each attack must not appear, whatever the status says.
. "$(dirname "$0")/../lib.sh"
start_canaries

cat >"$T/attacks.py" <<'EOS'
import json, os, subprocess, sys
# A zygote is most of what a warm run takes: `make check` asks a warm jail for one refusal of each attack, and for what it does without the layer.
SAMPLE = os.environ.get("AGENTJAIL_COLD") and not os.environ.get("WHOLE")
aj, table, secret, pure = sys.argv[1:5]
MARK = "\nprint('PWN' + 'ED', PWN)"  # the marker is not in the source, which errors quote

def run(item, layer, allow, policy=None):
    command = [aj, "exec", "--json", "--timeout", "20s", "--layer", layer]
    if policy:
        command += ["--policy-file", policy]
    for module in item["imports"] if allow else ():
        command += ["--allow-import", module]
    r = subprocess.run(command + ["-c", item["code"] + MARK], capture_output=True, timeout=60)
    if secret.encode() in r.stdout + r.stderr:
        return {"status": "the secret is out", "stdout": ""}
    try:
        return json.loads(r.stdout)
    except ValueError:
        return {"status": "no JSON: %.200r %.200r" % (r.stdout, r.stderr), "stdout": ""}

def say(good, name, result):
    detail = {k: result.get(k) for k in ("status", "reason", "error", "stdout")}
    print("%s\t%s\t%s" % ("ok" if good else "fail", name, "" if good else json.dumps(detail)[:1000].replace("\t", " ")), flush=True)

fired = 0
for item in json.load(open(table, encoding="utf-8")):
    name = "%s %s" % (item["id"], item["title"])
    if "harmless" not in item and not SAMPLE:
        r = run(item, "on", False)
        say(r["status"] in ("error", "rejected") and "PWNED" not in r["stdout"], name + ": refused by default", r)
    r = run(item, "on", False, pure)
    error = r.get("error") or {}
    if item["on"] == "any":
        say(r["status"] in ("error", "rejected") and "PWNED" not in r["stdout"], name + ": refused", r)
    elif "harmless" in item:
        say(r["status"] == item["on"] and r["enforced"]["python_layer"].startswith("on"), name + ": harmless", r)
    else:
        # A rule is in the rejection, or in the message of the guard that raised.
        rule = "rule" not in item or error.get("rule") == item["rule"]
        say(r["status"] == item["on"] and rule and "PWNED" not in r["stdout"], name + ": refused", r)
    if "allowed" in item and not SAMPLE:
        r = run(item, "on", True)
        say(r["status"] == item["allowed"] and "PWNED" not in r["stdout"], name + ": refused with its imports allowed", r)
    r = run(item, "off", True)
    fires = "PWNED" in r["stdout"]
    fired += fires
    if item["off"] == "fires":
        say(r["status"] == "ok" and fires, name + ": control, fires without the layer", r)
    elif item["off"] == "error":
        say(r["status"] == "error" and not fires, name + ": finds nothing without the layer", r)
    else:
        say(r["status"] in ("ok", "error"), name + ": ends without the layer", r)
say(fired >= 35, "control: most attacks fire without the layer", {"status": fired})
EOS
# An operator's list without modules for files.
printf 'extends = "snippet"\n[python]\nimports = ["ast", "asyncio", "collections", "inspect", "json", "logging", "math", "operator", "queue", "random", "re", "statistics", "string", "sys", "threading", "timeit", "types", "typing", "uuid"]\n' >"$T/pure.toml"
"$PY" -I -S "$T/attacks.py" "$AJ" "$(dirname "$0")/python.json" "$SECRET" "$T/pure.toml" >"$T/cases" 2>"$T/attacks.err"
while IFS='	' read -r verdict name detail; do "$verdict" "$name" "$detail"; done <"$T/cases"
check "the table was walked to its end" sh -c "! test -s '$T/attacks.err' && test \$(wc -l <'$T/cases') -gt 110"

# --- an empty world: what code sees that has got past the layer ---
cat >"$T/world.py" <<'EOS'
import os, socket, sys, time
world = {"root": sorted(os.listdir("/")), "env": sorted(os.environ), "argv": sys.argv}
def attempt(f, *a):
    try:
        return f(*a)
    except Exception as e:
        return type(e).__name__
def alive(pid):
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
def open_fd(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
world["files"] = sorted(os.path.join(d, f) for top in world["root"] if top != "usr" for d, _, fs in os.walk("/" + top) if not d.startswith(("/lib", "/usr")) for f in fs)
world["pids"] = [p for p in range(1, 5000) if alive(p)]
world["fds"] = [fd for fd in range(4096) if open_fd(fd)]
world["interfaces"] = attempt(socket.if_nameindex)
world["sockets"] = [attempt(socket.socket, f, t) if not isinstance(attempt(socket.socket, f, t), socket.socket) else "open" for f in (1, 2, 10, 16, 17, 40) for t in (1, 2, 3)]
world["fork"] = attempt(os.fork)
world["exec"] = [attempt(os.execv, p, [p]) for p in ("/usr/bin/python3", "/bin/sh")]
world["uid"] = [os.getuid(), os.geteuid()]
world["read"] = {p: attempt(open, p) for p in ("/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/cmdline", "/sys/class/net", "/root", "/home",
                                               "/srv", "/var", "/run", "/opt", "/dev/mem", "/dev/tty", "/dev/kmsg", os.environ.get("AJ_HOME", "/nothing"))}
def writable(d):
    try:
        open(d + "/w", "w").close()
    except OSError:
        return False
    return True
world["writable"] = [d for d in ["/"] + [d for d, _, _ in os.walk("/")] if writable(d)]
world
EOS
input='' output='' # the folders are there in a lasting jail, to which a later request may bring files
[ -z "${AGENTJAIL_COLD:-}" ] || input=',"input"' output=',"output"'
aj exec --json --layer off --allow-import socket "$T/world.py"
while IFS='|' read -r name want; do
	check "empty world: $name" expect "$want"
done <<TABLE
it was looked at|status=ok
the root|value.root=["dev"$input,"lib","lib64"$output,"tmp","usr"]
files beside Python|value.files=["/dev/null","/dev/urandom"]
variables|value.env~^\["HOME","LC_CTYPE"(,"OMP_NUM_THREADS")?(,"OPENBLAS_NUM_THREADS")?(,"OMP_NUM_THREADS")?,"PATH"\]$
processes: init and itself|value.pids=[1,2]
open files|value.fds=[0,1,2,3]
network interfaces|value.interfaces~Error$
no socket opens|value.sockets!open
no child|value.fork~Error
no program|value.exec!^$
an ordinary user|value.uid=[1000,1000]
nothing of the host can be read|value.read!TextIOWrapper
only /tmp can be written|value.writable=["/tmp"]
TABLE
# The control: outside, the same code sees a world.
"$PY" -I -S - "$T/world.py" <<'EOS' >"$T/out" 2>&1
import json, os, sys
os.fork = lambda: "not tried here"
os.execv = lambda *a: "not tried here"
source = open(sys.argv[1]).read().replace('["/"] + [d for d, _, _ in os.walk("/")]', '["/tmp"]').replace('for top in world["root"]', 'for top in ["etc"]')
space = {}
exec(source, space)
print(json.dumps({"value": space["world"]}, default=str))
EOS
check "control: outside there are files" expect 'value.files~/etc/passwd'
check "control: outside there are variables" expect 'value.env~AJ_CANARY_SECRET'
check "control: outside there are processes" expect 'value.pids!^\[1,2\]$'
check "control: outside files are read" expect 'value.read~TextIOWrapper'
check "control: outside sockets open" expect 'value.sockets~open'

finish
