#!/bin/sh
# Guests that do not want to end: the result is there long before they would end by themselves, and then no process of the run is alive.
# V=1 prints how long after the limit each really was there, which on an idle machine should be below 200 ms.
. "$(dirname "$0")/../lib.sh"

counted "the cases" "$PY" -I -S -B - "$AJ" "$PROBE" <<'EOS'
import glob, json, os, subprocess, sys, time
aj, probe = sys.argv[1:3]
LIMIT_MS, PATIENCE_S = 400, 30 # which no load uses up, and every guest would

def words(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""

def jailed():
    """Live processes below our PID namespace: inits of our session, and whose parents are such."""
    all_of, found = {}, {}
    for path in glob.glob("/proc/[0-9]*"):
        s = dict(line.split(":", 1) for line in words(path + "/status").splitlines() if ":" in line)
        if len(s.get("NSpid", "").split()) > 1 and s["State"].split()[0] not in "ZX":
            all_of[int(s["Pid"])] = s
    for pid, s in sorted(all_of.items(), key=lambda one: int(one[1]["NSpid"].split()[1])):
        if int(s["NSsid"].split()[0]) == os.getsid(0) or int(s["PPid"]) in found:
            found[pid] = s["Name"].strip()
    return found

run = ["run", "--json", "--timeout", "%dms" % LIMIT_MS, "--bind", probe + ":/opt/probe", "--", "/opt/probe"]
cases = [("run", " ".join(v), run + v, 0) for v in
         [["tree", k] for k in ("sessions", "forking", "zombies", "vfork", "stopped", "fifo", "pipe", "flood", "memory", "threads")] +
         [["forkstorm"], ["forkbomb", "stay"], ["stubborn", "600"], ["stopself"], ["spin"]]]
snippets = {
    "a loop": "while True: pass",
    "signals ignored": "import signal, time\nfor s in range(1, 64):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(9)",
    "a stop": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "threads": "import threading, time\nfor i in range(4): threading.Thread(target=time.sleep, args=(99,)).start()\ntime.sleep(99)",
    "a read of nothing": "import os\nos.read(3, 1)",
    "memory": "b = bytearray(200 << 20)\nwhile True: pass",
    "a C call": "sum(range(10 ** 12))",
    "output without end": "import sys\nwhile True: sys.stdout.write('.'); sys.stdout.flush()",
}
cases += [("exec", name, ["exec", "--json", "--layer", "off", "--timeout", "%dms" % (LIMIT_MS + 300), "-c", code], 1300) for name, code in snippets.items()]
passed, failed, numbers = 0, 0, []

def say(good, name, why):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("  FAIL  escape/killtree: %s: %s" % (name, why), flush=True)

for command, name, words_, more in cases:
    started = time.monotonic()
    try:
        p = subprocess.run([aj] + words_, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        say(False, command + " " + name, "no result")
        continue
    late = (time.monotonic() - started) * 1000 - LIMIT_MS - more
    numbers.append(late)
    try: # what ended it comes first; where a cgroup counts processes, a bomb may have met that limit before
        d = json.loads(p.stdout)
        said = p.returncode == 124 and d["status"] == "timeout" and d["limits_hit"][:1] == ["wall_clock"] and set(d["limits_hit"][1:]) <= {"pids"}
        said = said or p.returncode == 122 and d["status"] == "limit"
    except (ValueError, KeyError):
        said = False
    say(said, command + " " + name,
        "%d ms after the limit, exit %d, %.2500s" % (late, p.returncode, p.stdout.decode(errors="replace")))
    until = time.monotonic() + PATIENCE_S
    left = jailed()
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left = jailed()
    say(not left, command + " " + name, "still there: %s" % left)
    print("%-24s %5.0f ms after the limit" % (command + " " + name, late))
print("slowest %.0f ms, %d of %d within 200 ms" % (max(numbers), sum(n <= 200 for n in numbers), len(numbers)))
print("%d passed, %d failed, 0 skipped" % (passed, failed))
EOS
[ -z "${V:-}" ] || grep -a ' ms' "$T/counted"
finish
