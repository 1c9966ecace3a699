"""Is each sentence of `enforced` so? Every sentence that a result has is tried in a jail of the same options, by Python code that prints
`so`. A sentence without a trial fails: who writes one says how to see that it is true."""

import functools
import json
import os
import pty
import re
import socket
import subprocess
import threading
import time

from client import AJ, FOLDER, check, done

W = os.path.join(FOLDER, "w")
os.mkdir(W)
os.chmod(W, 0o777)
os.mkfifo(os.path.join(W, "fifo"))
os.chmod(os.path.join(W, "fifo"), 0o666)
LISTENING = []


def listen(path):
    LISTENING.append(socket.socket(socket.AF_UNIX))
    LISTENING[-1].bind(path)
    LISTENING[-1].listen()
    os.chmod(path, 0o666)


listen(os.path.join(W, "socket"))


def policy(name, text, extends="command"):
    path = os.path.join(FOLDER, name + ".toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write('extends = "%s"\n%s\n' % (extends, text))
    os.chmod(path, 0o644)
    return ["--policy-file", path]


def folder(name):
    """A workspace with a place that is held, and one that is watched until it is there."""
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.join(path, ".git/hooks"))
    listen(os.path.join(path, "socket"))
    for where in ("", ".git", ".git/hooks"):
        os.chmod(os.path.join(path, where), 0o777)
    return path


def serve(family, address):
    """A server of the host's that says hello."""
    server = socket.socket(family)
    server.bind(address)
    server.listen()

    def answers():
        while True:
            client = server.accept()[0]
            client.sendall(b"hello")
            client.close()
    threading.Thread(target=answers, daemon=True).start()
    return server.getsockname()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


PORT = serve(socket.AF_INET, ("127.0.0.1", 0))[1]
ABSTRACT = b"\0agentjail-enforced-%d" % os.getpid()
serve(socket.AF_UNIX, ABSTRACT)
PUBLISHED = free_port()
ASKED = os.path.join(FOLDER, "asked")
WORKSPACE = {mode: folder(mode) for mode in ("ro", "rw", "overlay", "copy", "bare")}
IN_WORKSPACE = policy("in-workspace", '[filesystem]\nworkspace = "read-write"')
ALLOWED = ["--allow-host", "a.test:80", "--allow-host", "host:%d" % PORT]

RUNS = {
    "exec": ["exec", "--layer", "off"],
    "exec, layer": ["exec"],
    "exec, writable": ["exec", "--layer", "off", *policy("writable", '[filesystem]\nbinds = ["%s:/w:rw"]' % W, "snippet")],
    "exec, native": ["exec", "--layer", "off", *policy("native", '[python]\nnative = "tree"', "snippet")],
    "run": ["run"],
    "run, loopback": ["run", "--network", "loopback"],
    "run, writable": ["run", "--bind", W + ":/w:rw"],
    "run, no locks": ["run", *policy("locks", '[process]\ndeny_syscalls = ["locks"]')],
    "run, traced": ["run", *policy("traced", "[process]\nptrace = true")],
    "run, host's network": ["run", "--network", "host"],
    "run, hosts": ["run", *ALLOWED],
    "run, hosts and questions": ["run", *ALLOWED, "--network-ask-command", "cat >>%s; echo deny" % ASKED],
    "run, published": ["run", "--publish", "%d:8080" % PUBLISHED],
    "run, no places": ["run", *policy("bare", '[filesystem]\nworkspace = "read-write"\nprotect = []'), "--workspace", WORKSPACE["bare"]],
    **{"run, workspace " + mode: ["run", *IN_WORKSPACE, "--workspace", WORKSPACE[mode], "--workspace-mode", mode] for mode in ("ro", "rw", "overlay", "copy")},
    **{"run, terminal, " + escapes: ["run", *policy("escapes-" + escapes, '[terminal]\nescapes = "%s"' % escapes)] for escapes in ("none", "filtered", "all")},
}
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
def executable(fd, fill=False):
    import mmap
    if fill: os.write(fd, bytes(4096))
    return mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE | (mmap.MAP_ANONYMOUS if fd < 0 else 0), prot=mmap.PROT_READ | mmap.PROT_EXEC)
import fcntl, socket
W = "/w" if os.path.exists("/w") else "/workspace"
def hello(family, address):
    s = socket.socket(family)
    s.connect(address)
    return s.recv(5) == b"hello"
def asks(host, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(20)
    s.connect((host, 80))
    s.send(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    return s.recv(100)
"""


# --- trials from outside: each returns whether the sentence is so ---


def host_network(options, sentence):
    reaches = "hello(socket.AF_UNIX, %r)" % ABSTRACT
    abstract = reaches if "abstract" in sentence else "fails(1, lambda: %s)" % reaches
    return inside(options, "hello(socket.AF_INET, ('127.0.0.1', %d)) and %s" % (PORT, abstract))


def hosts(options, sentence):
    """Refused and reported; what the list covers is egress/relay, for which there are servers of other hosts."""
    result = jail(options, HELP + "print(asks('203.0.113.1'), asks('b.test'), fails(111, asks, '203.0.113.2', socket.SOCK_DGRAM))")
    listed = len(ALLOWED) // 2 == int(re.search(r"items: (\d+)", sentence)[1])
    return listed and result["stdout"].count(" 403 ") == 2 and result["stdout"].endswith("True\n") and \
        {v["host"] for v in result["violations"]} == {"203.0.113.1", "b.test"}, result


def questions(options, sentence):
    """Nothing without an answer. What one allows, and on which ports, is egress/ask."""
    result = jail(options, HELP + "print(asks('c.test'))")
    with open(ASKED, encoding="utf-8") as f:
        asked = [json.loads(line)["name"] for line in f.read().replace("}{", "}\n{").splitlines()]
    return " 403 " in result["stdout"] and asked.count("c.test") == 1, (result, asked)


def published(options, sentence):
    running = start(options, "s = socket.create_server(('127.0.0.1', 8080)); s.accept()[0].sendall(b'hello')")
    until, got = time.monotonic() + 60, b""
    while not got and running.poll() is None and time.monotonic() < until:
        try:
            with socket.create_connection(("127.0.0.1", PUBLISHED), 20) as s:
                got = s.recv(5)
        except OSError:
            time.sleep(0.05)
    running.communicate(timeout=120)
    return got == b"hello", got


def workspace(options, sentence):
    mode = options[options.index("--workspace-mode") + 1] if "--workspace-mode" in options else "bare"
    return files_end(mode, tuple(options))


@functools.cache
def files_end(mode, options):
    """Where a new file and a protected one of the jail's end up."""
    result = jail(options, "open('/workspace/new', 'w'); open('/workspace/.envrc', 'w')")
    there = sorted(set(os.listdir(WORKSPACE[mode])) & {"new", ".envrc"})
    if mode == "ro":
        return not there and "Read-only" in result["stderr"], result
    if mode in ("rw", "bare"):
        return there == [".envrc", "new"], (there, result["stderr"])
    subprocess.run([AJ, "changes", "apply", result["id"]], capture_output=True, check=False, timeout=120)
    return not there and os.path.exists(WORKSPACE[mode] + "/new") and not os.path.exists(WORKSPACE[mode] + "/.envrc"), (there, result, os.listdir(WORKSPACE[mode]))


def places(options, sentence):
    path = WORKSPACE["rw"] + "/.envrc"
    if os.path.exists(path):
        os.unlink(path)
    result = jail(options, HELP + "print(fails(30, open, '/workspace/.git/hooks/x', 'w'), works(open, '/workspace/.npmrc', 'w'))")
    report = result["workspace"]
    os.unlink(WORKSPACE["rw"] + "/.npmrc")
    return result["stdout"] == "True True\n" and ".git/hooks" in report["held"] and ".npmrc" in report["watched"] and \
        [c["path"] for c in report["changed"]] == [".npmrc"], result


def terminal(options, sentence):
    """What reaches the caller's terminal of a colour, a title, and text for its clipboard."""
    master, slave = pty.openpty()
    code = "import os; assert os.isatty(1) and os.fstat(1).st_dev != %d; print('\\x1b[31mred\\x1b]2;title\\x07\\x1b]52;c;aGk=\\x07' + 'e' + 'nd')" % os.fstat(slave).st_dev
    running = subprocess.Popen([AJ, *options, "--", "/usr/bin/python3", "-I", "-c", code], stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    shown = b""
    while b"end" not in shown:
        try:
            shown += os.read(master, 4096)
        except OSError:
            break
    running.wait(120)
    os.close(master)
    passed = [sequence in shown for sequence in (b"\x1b[31m", b"\x1b]2;title", b"\x1b]52;c;")]
    wanted = {"no control": [False, False, False], "control": [True, True, False], "every": [True, True, True]}
    return b"end" in shown and passed == next(value for begin, value in wanted.items() if "; " + begin in sentence), shown


# Wall, sentence, and the code whose value says whether it is so; NONE: what a jail cannot see from inside, by its test.
# A function tries it from outside.
NONE = None
TRIALS = [
    ("namespaces", "user pid mount ipc uts cgroup", "os.uname().nodename == 'jail' and os.getpid() < 10"),
    ("inherited", "real-time classes, .* nice above 0 stays", NONE),  # reach/inherited
    ("network", "own namespace, no interface up", "fails((1, 97, 101), lambda: __import__('socket').socket().connect(('127.0.0.1', 1)))"),
    ("network", "own namespace, loopback only",
     "fails(111, lambda: __import__('socket').socket().connect(('127.0.0.1', 1))) and fails(101, lambda: __import__('socket').socket().connect(('203.0.113.1', 1)))"),
    ("filesystem", "read-only (host /usr|rootfs), private tmpfs",
     "fails((30, 13, 1), lambda: open('/usr/new', 'w')) and works(open, '/tmp/mine', 'w')"),
    ("network", "none: the policy gives the host's network(, its abstract sockets included)?", host_network),
    ("network", r"own namespace; a relay of the supervisor's connects by TCP to what network.allow covers \(items: \d+\); all else is refused and reported, "
                "except for UDP and ICMP, which are refused unseen", hosts),
    ("network", "; host:%d is that port of the host's own loopback" % PORT, "hello(socket.AF_INET, ('host', %d)) and b' 403 ' in asks('host')" % PORT),
    ("network", "; a name that is not on the list is connected to only after an answer that allows it, and no list of ports restricts the relay", questions),
    ("network", r"; published for clients of the host: [0-9.]+:\d+ to port 8080 of the jail", published),
    ("filesystem", ", read-only workspace", workspace),
    ("filesystem", ", overlay over the workspace, whose changes are kept apart", workspace),
    ("filesystem", ", copy of the workspace, whose changes are kept apart", workspace),
    ("filesystem", ", writable workspace", workspace),
    ("filesystem", "; the host's FIFOs below /workspace", "works(os.mkfifo, '/workspace/fifo') and works(os.open, '/workspace/fifo', os.O_RDONLY | os.O_NONBLOCK) and works(os.unlink, '/workspace/fifo')"),
    ("workspace_size", "none: no limit asked for", NONE),  # e2e/measures
    ("filesystem", "; the host's FIFOs below /w", "works(os.open, '/w/fifo', os.O_RDONLY | os.O_NONBLOCK)"),
    ("capabilities", "all sets empty, no_new_privs",
     "'CapEff:\\t0000000000000000\\n' in open('/proc/self/status').read() and 'CapBnd:\\t0000000000000000\\n' in open('/proc/self/status').read() "
     "and 'NoNewPrivs:\\t1' in open('/proc/self/status').read() if os.path.exists('/proc/self/status') else True"),
    ("seccomp", "allow-list `snippet`", "fails(1, os.fork)"),
    ("seccomp", "allow-list `snippet-native`", "fails(1, os.fork)"),
    ("seccomp", "allow-list `command`", "fails(1, raw, 165, 0, 0, 0, 0, 0) and fails(38, raw, 435, 0, 0)"),
    ("machine_code", "only files of the read-only tree, mapped before the snippet begins",
     "fails(1, lambda: executable(-1)) and fails(1, lambda: executable(os.open('/usr/bin/python3', os.O_RDONLY)))"),
    ("machine_code", "only files of the read-only tree, at any time: all other mounts are noexec, and no memory becomes executable",
     "fails(1, lambda: executable(-1)) and works(executable, os.open('/usr/bin/python3', os.O_RDONLY)) and "
     "fails(1, lambda: executable(os.open('/tmp/own', os.O_RDWR | os.O_CREAT), True))"),
    ("seccomp", ", without locks", "fails(1, lock, '/tmp/locked')"),
    ("seccomp", "; its processes may trace one another", "works(raw, 101, 0, 0, 0, 0)"),
    ("landlock", r"ABI \d+|none: this kernel has no Landlock", NONE),  # escape/kernel
    ("locks", "no lock is taken, and each call of fcntl for one returns 0: no other process has the snippet's files; flock fails with ENOSYS",
     "works(lock, '/tmp/locked') and works(lock, '/dev/null') and fails(38, lock, '/tmp/locked', fcntl.flock)"),
    ("locks", "mediated: on files of the jail's own; EINVAL elsewhere",
     "works(lock, '/tmp/locked') and works(lock, '/tmp/locked', fcntl.flock) and fails(22, lock, '/dev/null') and fails(22, lock, '/dev/null', fcntl.flock)"),
    ("locks", "mediated: on files of the jail's own and of folders bound writable; EINVAL elsewhere",
     "works(lock, '/tmp/locked') and works(lock, W + '/locked', fcntl.flock) and fails(22, lock, '/dev/null')"),
    ("locks", "mediated: fcntl's on files of the jail's own and of folders bound writable; EINVAL elsewhere; flock fails with ENOSYS",
     "works(lock, '/tmp/locked') and works(lock, W + '/locked') and fails(22, lock, '/dev/null') and fails(38, lock, '/tmp/locked', fcntl.flock)"),
    ("locks", "denied by the policy", "fails(1, lock, '/tmp/locked') and fails(1, lock, '/tmp/locked', fcntl.flock)"),
    ("python_layer", r"on \(a rail, not a wall\)", NONE),  # escape/python
    ("python_layer", "none: switched off", "works(__import__, 'fcntl')"),
    ("python_layer", "none: not a snippet", "works(__import__, 'ctypes')"),
    ("protect", "none: `/w` is a writable bind, in which filesystem.protect protects no place", "works(open, '/w/.envrc', 'w')"),
    ("protect", "none: filesystem.protect is empty", workspace),
    ("protect", "read-only mounts over `held` places of the workspace; `watched` places are only reported", places),
    ("protect", "no change of the jail's reaches the workspace: changes are applied later, and those at protected places by name alone", workspace),
    ("terminal", "one of its own, relayed; (no control sequence passes|control sequences that act on more than picture, title and progress are left out|every control sequence passes)", terminal),
    ("unix_sockets", "no socket file of the host is in reach", "not os.path.exists(%r)" % os.path.join(W, "socket")),
    ("unix_sockets", "no socket that connects can be created", "fails(1, unix)"),
    ("unix_sockets", "connect is mediated: the jail's own; no datagrams", "fails(13, lambda: unix().connect(W + '/socket')) and fails(13, unix, 2)"),
]
# Walls whose sentences depend on the host's cgroups or on the caller, and the scripts that try them.
ELSEWHERE = {"memory": "cgroup/memory", "pids": "cgroup/counts", "wall_clock": "escape/resources", "cpu_time": "escape/resources", "identity": "reach/ids"}
for script in ELSEWHERE.values():
    check("there is " + script, os.path.exists(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), script + ".sh")))


def start(options, code):
    """At a terminal the result is on a descriptor of its own."""
    words = ["-c", code] if options[0] == "exec" else ["--", "/usr/bin/python3", "-I", "-c", HELP + code]
    return subprocess.Popen([AJ, options[0], "--json", *options[1:], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=FOLDER)


def jail(options, code):
    words = ["-c", code] if options[0] == "exec" else ["--", "/usr/bin/python3", "-I", "-c", code]
    done = subprocess.run([AJ, options[0], "--json", *options[1:], *words], capture_output=True, text=True, cwd=FOLDER, timeout=120)
    return json.loads(done.stdout)


def inside(options, code):
    result = jail(options, HELP + "print('so' if (%s) else 'not so')" % code)
    return result["stdout"] == "so\n", "%s: %r %r" % (code, result["stdout"], result["stderr"] or result["reason"])


def at_a_terminal(options):
    """The result of a run whose output is a terminal."""
    master, slave = pty.openpty()
    ours, theirs = os.pipe()
    running = subprocess.Popen([AJ, *options, "--json-fd", str(theirs), "--", "true"], stdin=slave, stdout=slave, stderr=slave, pass_fds=[theirs], start_new_session=True)
    os.close(slave)
    os.close(theirs)
    with open(ours, encoding="utf-8") as f:
        result = json.load(f)
    running.wait(120)
    os.close(master)
    return result


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
    first = at_a_terminal(options) if "terminal" in name else jail(options, "pass")
    for wall, sentence in first["enforced"].items():
        if wall in ELSEWHERE:
            continue
        codes = trials(wall, sentence)
        check("%s: `%s` has a trial: %s" % (name, wall, sentence), codes is not None)
        for code in codes or []:
            seen.add((wall, code))
            if code is NONE or (name == "exec, layer" and wall != "python_layer"):
                continue
            check("%s: %s: %s" % (name, wall, sentence), *(code(options, sentence) if callable(code) else inside(options, code)))
check("every trial is made", {(wall, code) for wall, _, code in TRIALS} == seen, {(wall, code) for wall, _, code in TRIALS} - seen)
done()
