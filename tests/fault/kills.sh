#!/bin/sh
# Ends supervisor, init and guest from outside at random instants, and the supervisor by the signals of a person: nothing is left of
# the jail, and the status is true. It runs 90 rounds of kill -9 (KILLS=1000 for more); SEED=N repeats a run's instants.
. "$(dirname "$0")/../lib.sh"
: "${SEED:=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"

counted "the rounds (seed $SEED)" "$PY" -I -S -B - "$AJ" "$PROBE" "${KILLS:-90}" "$SEED" <<'EOS'
import glob, json, os, random, signal, subprocess, sys, time
aj, probe, rounds, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
signal.signal(signal.SIGINT, signal.SIG_DFL)  # who was started in the background ignores it, and so would the launcher
session = os.getsid(0)
passed = failed = 0

def say(good, name, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("  FAIL  fault/kills: %s (seed %d): %.600s" % (name, seed, why), flush=True)

def status(pid):
    try:
        with open("/proc/%d/status" % pid) as f:
            return dict(line.split(":", 1) for line in f if ":" in line)
    except OSError:
        return {}

def jailed():
    """Processes below our PID namespace, of our session or children of such: a guest has a session of its own."""
    all_of, found = {}, {}
    for path in glob.glob("/proc/[0-9]*"):
        s = status(int(path[6:]))
        if len(s.get("NSpid", "").split()) > 1 and s["State"].split()[0] not in "ZX":
            all_of[int(s["Pid"])] = s
    for pid, s in sorted(all_of.items(), key=lambda one: int(one[1]["NSpid"].split()[1])):
        if int(s["NSsid"].split()[0]) == session or int(s["PPid"]) in found:
            found[pid] = int(s["NSpid"].split()[1])
    return found

def gone(name):
    until = time.monotonic() + 60
    while (left := jailed()) and time.monotonic() < until:
        time.sleep(0.003)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    say(not left, name + ": nothing is left", left)

run = ["run", "--json", "--bind", probe + ":/opt/probe", "--", "/opt/probe"]
commands = [run + ["daemon", "600"], run + ["stubborn", "600"], run + ["spin"], ["exec", "--json", "-c", "while True: pass"],
            ["exec", "--json", "--layer", "off", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"]]
forever = commands[1:]

def start(n, commands):
    return subprocess.Popen([aj] + commands[n % len(commands)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

def mounts():
    with open("/proc/self/mountinfo") as f:
        return set(f)

def other_mounts(before):
    """One that went with its mount point was somebody else's, of which our namespace had a copy."""
    return [m for m in mounts() ^ before if m not in before or os.path.exists(m.split()[4])]

def ended(p, name):
    try:
        out, err = p.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
        say(False, name, "hangs")
        return None, "", None
    try:
        doc = json.loads(out)
    except ValueError:
        doc = None
    return p.returncode, err.decode(errors="replace"), doc

before, caught, within, n = mounts(), 0, 0.1 if "-san" in aj else 0.015, 0  # sanitizers take their time to start
while n < rounds or (caught <= rounds / 5 and n < 5 * rounds):
    p = start(n, commands)
    time.sleep(random.random() * within)
    alive = bool(jailed())
    caught += alive
    if not alive and caught < n / 3:
        within = min(within * 1.2, 3)  # the machine is slow, or busy
    p.kill()
    p.wait()
    p.stdout.close(), p.stderr.close()
    gone("kill -9 of the supervisor, round %d" % n)
    n += 1
say(caught > rounds / 5, "jails were caught alive", caught)
left = other_mounts(before)
say(not left, "no mount is left", left)

# Ctrl-C and kill. A snippet ends by it; a command gets it from init, so the probe's default ends it with the same signal.
for n in range(rounds // 3):
    sig = random.choice([signal.SIGINT, signal.SIGTERM])
    mine = [run + ["sleep", "600"], run + ["spin"], forever[2]]
    p = start(n, mine)
    at = random.random() * 0.04
    time.sleep(at)
    p.send_signal(sig)
    name = "%s after %.1f ms of `%s`" % (sig.name, at * 1000, " ".join(mine[n % 3][-2:]))
    code, err, doc = ended(p, name)
    # Before it is watched for, the signal ends the launcher itself, as it does any program.
    good = code == -sig or code == 128 + sig
    say(good and (doc is None or doc["status"] == "signal" and doc["signal"] == sig), name, "exit %s, %s, %s" % (code, err, doc))
    gone(name)

# Init or a guest killed from outside: true words about it, and never `ok`.
for n in range(rounds // 3):
    p = start(n, forever)
    target, until = None, time.monotonic() + 60
    time.sleep(random.random() * 0.02)
    which = 1 if n % 2 else 2
    while not target and time.monotonic() < until and p.poll() is None:
        target = next((pid for pid, inner in jailed().items() if inner == which), None)
    name = "kill -9 of %s, round %d" % ("init" if which == 1 else "the guest", n)
    if not target:
        p.kill()
        say(False, name, "no such process: %s" % (ended(p, name),))
        gone(name)
        continue
    os.kill(target, signal.SIGKILL)
    code, err, doc = ended(p, name)
    doc = doc or {}
    early = code == 125 and doc.get("status") == "setup_error"
    good = early or (doc.get("status") == "signal" and (doc.get("signal") == 9 and code == 137 if which == 2 else code == 128))
    say(good, name, "exit %s, %s, %s" % (code, err, doc))
    gone(name)
left = other_mounts(before)
say(not left, "no mount is left at last", left)
print("%d passed, %d failed, 0 skipped" % (passed, failed))
EOS
[ -z "${V:-}" ] || echo "  seed $SEED"
finish
