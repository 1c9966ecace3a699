"""Is each sentence of `enforced` so? Every sentence that a result has is tried in a jail of the same options, by Python code that prints
`so`. A sentence without a trial fails: who writes one says how to see that it is true."""

import errno
import json
import os
import re
import socket
import subprocess
import sys

from client import AJ, FOLDER, check, done

W = os.path.join(FOLDER, "w")
os.mkdir(W)
os.chmod(W, 0o777)
os.mkfifo(os.path.join(W, "fifo"))
os.chmod(os.path.join(W, "fifo"), 0o666)
listening = socket.socket(socket.AF_UNIX)
listening.bind(os.path.join(W, "socket"))
listening.listen()
os.chmod(os.path.join(W, "socket"), 0o666)


def policy(name, text, extends="command"):
    path = os.path.join(FOLDER, name + ".toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write('extends = "%s"\n%s\n' % (extends, text))
    os.chmod(path, 0o644)
    return ["--policy-file", path]


RUNS = {
    "exec": ["exec", "--layer", "off"],
    "exec, layer": ["exec"],
    "exec, writable": ["exec", "--layer", "off", *policy("writable", '[filesystem]\nbinds = ["%s:/w:rw"]' % W, "snippet")],
    "run": ["run"],
    "run, loopback": ["run", "--network", "loopback"],
    "run, writable": ["run", "--bind", W + ":/w:rw"],
    "run, no locks": ["run", *policy("locks", '[process]\ndeny_syscalls = ["locks"]')],
    "run, traced": ["run", *policy("traced", "[process]\nptrace = true")],
}
NAMESPACES = {name: os.readlink("/proc/self/ns/" + name) for name in ("user", "pid", "mnt", "ipc", "uts", "cgroup", "net")}
HELP = """
import os, errno
def fails(number, call, *words):
    try: call(*words)
    except OSError as e: return e.errno in number if isinstance(number, tuple) else e.errno == number
    return False
def works(call, *words):
    call(*words)
    return True
def lock(path, how=None):
    import fcntl
    fd = os.open(path, os.O_RDWR | (0 if path.startswith("/dev") else os.O_CREAT))
    return (how or fcntl.lockf)(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
def raw(number, *words):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    r = libc.syscall(number, *words)
    if r < 0: raise OSError(ctypes.get_errno(), "syscall")
    return r
def unix(kind=1):
    import socket
    return socket.socket(socket.AF_UNIX, kind)
import fcntl
"""
# Wall, sentence, and the code whose value says whether it is so; NONE: what a jail cannot see from inside, by its test.
NONE = None
TRIALS = [
    ("namespaces", "user pid mount ipc uts cgroup", "os.uname().nodename == 'jail' and os.getpid() < 10"),
    ("inherited", "real-time classes, .* nice above 0 stays", NONE),  # reach/inherited
    ("network", "own namespace, no interface up", "fails((1, 97, 101), lambda: __import__('socket').socket().connect(('127.0.0.1', 1)))"),
    ("network", "own namespace, loopback only",
     "fails(111, lambda: __import__('socket').socket().connect(('127.0.0.1', 1))) and fails(101, lambda: __import__('socket').socket().connect(('203.0.113.1', 1)))"),
    ("filesystem", "read-only (host /usr|rootfs), private tmpfs",
     "fails((30, 13, 1), lambda: open('/usr/new', 'w')) and works(open, '/tmp/mine', 'w')"),
    ("filesystem", "; the host's FIFOs below /w", "works(os.open, '/w/fifo', os.O_RDONLY | os.O_NONBLOCK)"),
    ("capabilities", "all sets empty, no_new_privs",
     "'CapEff:\\t0000000000000000\\n' in open('/proc/self/status').read() and 'CapBnd:\\t0000000000000000\\n' in open('/proc/self/status').read() "
     "and 'NoNewPrivs:\\t1' in open('/proc/self/status').read() if os.path.exists('/proc/self/status') else True"),
    ("seccomp", "allow-list `snippet`", "fails(1, os.fork)"),
    ("seccomp", "allow-list `command`", "fails(1, raw, 165, 0, 0, 0, 0, 0) and fails(38, raw, 435, 0, 0)"),
    ("seccomp", ", without locks", "fails(1, lock, '/tmp/locked')"),
    ("seccomp", "; its processes may trace one another", "works(raw, 101, 0, 0, 0, 0)"),
    ("landlock", r"ABI \d+|none: this kernel has no Landlock", NONE),  # escape/kernel
    ("locks", "no lock is taken, and each call of fcntl for one returns 0: no other process has the snippet's files; flock fails with ENOSYS",
     "works(lock, '/tmp/locked') and works(lock, '/dev/null') and fails(38, lock, '/tmp/locked', fcntl.flock)"),
    ("locks", "mediated: on files of the jail's own; EINVAL elsewhere",
     "works(lock, '/tmp/locked') and works(lock, '/tmp/locked', fcntl.flock) and fails(22, lock, '/dev/null') and fails(22, lock, '/dev/null', fcntl.flock)"),
    ("locks", "mediated: on files of the jail's own and of folders bound writable; EINVAL elsewhere",
     "works(lock, '/tmp/locked') and works(lock, '/w/locked', fcntl.flock) and fails(22, lock, '/dev/null')"),
    ("locks", "mediated: fcntl's on files of the jail's own and of folders bound writable; EINVAL elsewhere; flock fails with ENOSYS",
     "works(lock, '/tmp/locked') and works(lock, '/w/locked') and fails(22, lock, '/dev/null') and fails(38, lock, '/tmp/locked', fcntl.flock)"),
    ("locks", "denied by the policy", "fails(1, lock, '/tmp/locked') and fails(1, lock, '/tmp/locked', fcntl.flock)"),
    ("python_layer", r"on \(a rail, not a wall\)", NONE),  # escape/python
    ("python_layer", "none: switched off", "works(__import__, 'fcntl')"),
    ("python_layer", "none: not a snippet", "works(__import__, 'ctypes')"),
    ("protect", "none: `/w` is a writable bind, in which filesystem.protect protects no place", "works(open, '/w/.envrc', 'w')"),
    ("unix_sockets", "no socket file of the host is in reach", "not os.path.exists(%r)" % os.path.join(W, "socket")),
    ("unix_sockets", "no socket that connects can be created", "fails(1, unix)"),
    ("unix_sockets", "connect is mediated: the jail's own; no datagrams", "fails(13, lambda: unix().connect('/w/socket')) and fails(13, unix, 2)"),
]
# Walls whose sentences depend on the host's cgroups or on the caller, and the scripts that try them.
ELSEWHERE = {"memory": "cgroup/memory", "pids": "cgroup/counts", "wall_clock": "escape/resources", "cpu_time": "escape/resources", "identity": "reach/ids"}
for script in ELSEWHERE.values():
    check("there is " + script, os.path.exists(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), script + ".sh")))


def jail(options, code):
    inside = ["-c", code] if options[0] == "exec" else ["--", "/usr/bin/python3", "-I", "-c", code]
    done = subprocess.run([AJ, options[0], "--json", *options[1:], *inside], capture_output=True, text=True, cwd=FOLDER, timeout=120)
    return json.loads(done.stdout)


def trials(wall, sentence):
    """The trials whose sentences, one after the other, are this one; None: something of it has no trial."""
    found, rest = [], sentence
    while rest:
        fits = [(m.end(), code) for w, text, code in TRIALS if w == wall and (m := re.match(text, rest))]
        if not fits:
            return None
        longest = max(fits, key=lambda fit: fit[0])
        found.append(longest[1])
        rest = rest[longest[0]:]
    return found


seen = set()
for name, options in RUNS.items():
    for wall, sentence in jail(options, "pass")["enforced"].items():
        if wall in ELSEWHERE:
            continue
        codes = trials(wall, sentence)
        check("%s: `%s` has a trial: %s" % (name, wall, sentence), codes is not None)
        for code in codes or []:
            seen.add((wall, code))
            if code is NONE or (name == "exec, layer" and wall != "python_layer"):
                continue
            result = jail(options, HELP + "print('so' if (%s) else 'not so')" % code)
            check("%s: %s: %s" % (name, wall, sentence), result["stdout"] == "so\n", "%s: %r %r" % (code, result["stdout"], result["stderr"] or result["reason"]))
check("every trial is made", {(wall, code) for wall, _, code in TRIALS} == seen, {(wall, code) for wall, _, code in TRIALS} - seen)
done()
