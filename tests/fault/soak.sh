#!/bin/sh
# Many runs, one after the other: each has the right result, and the host has as many processes, open files, mounts, namespaces
# and temporary files as before. It does 150 (RUNS=20000 for a soak, which says how memory went on the way).
# Some are counted for the whole host only, so other work beside it shows: it looks again before it complains.
. "$(dirname "$0")/../lib.sh"
: "${RUNS:=150}"

"$PY" -I -S -B - "$AJ" "$RUNS" "$T" <<'EOS' >"$T/soak" 2>&1
import ctypes, glob, json, os, subprocess, sys, time
aj, runs, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
SLABS = "net_namespace", "user_namespace", "pid_namespace", "uts_namespace", "mnt_cache", "nsproxy", "signal_cache"

def words(path):
    with open(path) as f:
        return f.read()

# Whoever loses its parent comes to us: what is below us is all that a run can have left.
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER

def below():
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            state, parent = words(path).rpartition(") ")[2].split()[:2]
        except OSError:
            continue
        if state not in "ZX":
            parents.setdefault(int(parent), []).append(int(path.split("/")[2]))
    found = list(parents.get(os.getpid(), []))
    for pid in found:
        found += parents.get(pid, [])
    return len(found)

def memory():
    info = {line.split(":")[0]: int(line.split()[1]) for line in words("/proc/meminfo").splitlines()}
    return "available %d MiB, slab %d MiB (unreclaimable %d)" % (info["MemAvailable"] >> 10, info["Slab"] >> 10, info["SUnreclaim"] >> 10)

def state():
    # Namespaces that nothing shows any more are still in the kernel's memory; only root may look there.
    try:
        slabs = {"slab " + line.split()[0]: int(line.split()[1]) for line in words("/proc/slabinfo").splitlines() if line.split()[0] in SLABS}
    except OSError:
        slabs = {}
    return slabs | {"mounts": words("/proc/self/mountinfo").count("\n"), "processes": below(),
            "open files": int(words("/proc/sys/fs/file-nr").split()[0]), "own fds": len(os.listdir("/proc/self/fd")),
            "temporary files": len(os.listdir(os.environ["TMPDIR"]))}

cases = [
    (["exec", "--json", "-c", "print(%d); %d * 2"], 0, "ok", lambda d, n: d["value"] == n * 2 and d["stdout"] == "%d\n" % n, 2),
    (["run", "--json", "--", "sh", "-c", "echo %d; exit 3"], 3, "error", lambda d, n: d["exit_code"] == 3 and d["stdout"] == "%d\n" % n, 1),
    (["run", "--json", "--", "true"], 0, "ok", lambda d, n: d["stdout"] == "", 0),
    (["run", "--json", "--bind", "/nowhere", "--", "true"], 125, "setup_error", lambda d, n: d["error"]["step"] == "sources", 0),
    (["exec", "--json", "-c", "x = %d\n1 / 0"], 1, "error", lambda d, n: d["error"]["type"] == "ZeroDivisionError", 1),
    (["run", "--json", "--timeout", "30ms", "--", "sh", "-c", "sleep 60 & sleep 60"], 124, "timeout", lambda d, n: d["limits_hit"] == ["wall_clock"], 0),
]
bad = 0
wrong = 0
slowest = 0
before, began = state(), time.monotonic()
print("at first: %s; %s" % (before, memory()))
for n in range(runs):
    words_, want, status, good, times = cases[n % len(cases)]
    words_ = [w % ((n,) * w.count("%d")) if "%d" in w else w for w in words_]
    started = time.monotonic()
    p = subprocess.run([aj] + words_, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    slowest = max(slowest, time.monotonic() - started)
    try:
        d = json.loads(p.stdout)
        right = p.returncode == want and d["status"] == status and good(d, n)
    except (ValueError, KeyError, TypeError):
        right = False
    if not right:
        wrong += 1
        if wrong < 5:
            print("  FAIL  fault/soak: run %d: %s: exit %d, %.400s %.200s" % (n, words_, p.returncode, p.stdout.decode(), p.stderr.decode()), flush=True)
    if runs >= 2000 and n % (runs // 10) == 0:
        print("after %d: %s" % (n, memory()), flush=True)
for attempt in range(20):
    after = state()
    more = {k: (before[k], after[k]) for k in after if after[k] > before[k] + {"open files": max(150, runs // 50)}.get(k, 200 + runs // 10 if k.startswith("slab") else 0)}
    if not more:
        break
    time.sleep(1)
print("at last: %s; %s" % (after, memory()))
print("%d runs in %d s, the slowest took %d ms" % (runs, time.monotonic() - began, slowest * 1000))
for key, (was, now) in more.items():
    print("  FAIL  fault/soak: %s: %d before, %d after" % (key, was, now))
print("%d right, %d kinds of things more than before" % (runs - wrong, len(more)))
EOS
grep -a '^  FAIL' "$T/soak"
[ "$RUNS" -lt 2000 ] && [ -z "${V:-}" ] || grep -a '^a[tf]\|^[0-9]* runs' "$T/soak"
is "every result is right, and nothing is left" "$RUNS right, 0 kinds of things more than before" "$(tail -n 1 "$T/soak")"
finish
