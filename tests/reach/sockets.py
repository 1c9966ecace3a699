"""The two sides of tests/reach/sockets.sh: programs of the host that listen, and what a jail tries.
It judges nothing: each attempt prints its name and OK or the name of the error."""
import array
import errno
import multiprocessing
import os
import signal
import socket
import struct
import sys
import threading
import time

UNIX, STREAM, DGRAM, SEQPACKET = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET


def attempt(name, fn):
    try:
        print(name, fn() or "OK", flush=True)
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e), flush=True)


def reach(path, kind=STREAM):
    with socket.socket(UNIX, kind) as s:
        s.connect(path)


def host(folder):
    """Listens on a.sock, b.sock and an abstract name, takes datagrams at d.sock; whoever comes is written down in `visitors`."""
    log = open(folder + "/../visitors", "a", buffering=1, encoding="utf-8")

    def serve(path, kind):
        s = socket.socket(UNIX, kind)
        s.bind(path)
        if path[0] != "\0":
            os.chmod(path, 0o777)
        if kind != DGRAM:
            s.listen(64)
        while True:
            if kind == DGRAM:
                who = s.recv(100).decode()
            else:
                c, _ = s.accept()
                who = "%d %d %d" % struct.unpack("iii", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                c.close()
            log.write("%s %s\n" % (path.replace("\0", "@"), who))

    for path, kind in ((folder + "/a.sock", STREAM), (folder + "/b.sock", STREAM), (folder + "/q.sock", SEQPACKET), (folder + "/d.sock", DGRAM),
                       ("\0aj-reach-" + os.path.basename(os.path.dirname(folder)), STREAM)):
        threading.Thread(target=serve, args=(path, kind), daemon=True).start()
    while sum(n.endswith(".sock") for n in os.listdir(folder)) < 4:
        time.sleep(0.01)
    time.sleep(0.1)
    os.link(folder + "/a.sock", folder + "/hard.sock")  # a jail of another id may not
    os.mkdir(folder + "/one")
    os.chmod(folder + "/one", 0o777)
    os.link(folder + "/a.sock", folder + "/one/s")
    open(folder + "/../up", "w").close()
    while os.path.exists(folder):  # a socket that was not there when a jail began
        if os.path.exists(folder + "/late") and not os.path.exists(folder + "/late.sock"):
            threading.Thread(target=serve, args=(folder + "/late.sock", STREAM), daemon=True).start()
        time.sleep(0.05)


def foreign(folder):
    os.chdir(folder)
    attempt("plain", lambda: reach(folder + "/a.sock"))
    attempt("relative", lambda: reach("a.sock"))
    attempt("seqpacket", lambda: reach(folder + "/q.sock", SEQPACKET))
    attempt("wrong type", lambda: reach(folder + "/d.sock"))
    os.symlink(folder + "/a.sock", "/tmp/link")
    attempt("symlink", lambda: reach("/tmp/link"))
    attempt("hard link", lambda: reach("hard.sock"))
    os.rename("hard.sock", "moved.sock")
    attempt("renamed", lambda: reach("moved.sock"))
    attempt("moved to /tmp", lambda: os.rename("b.sock", "/tmp/b.sock"))
    attempt("linked to /tmp", lambda: os.link("b.sock", "/tmp/b.sock"))
    fd = os.open(folder, os.O_PATH)
    attempt("/proc", lambda: reach("/proc/%d/fd/%d/a.sock" % (os.getpid(), fd)))
    fd = os.open("a.sock", os.O_PATH)
    attempt("/proc, itself", lambda: reach("/proc/%d/fd/%d" % (os.getpid(), fd)))
    open("late", "w").close()
    while not os.path.exists("late.sock"):
        time.sleep(0.02)
    time.sleep(0.1)
    attempt("late", lambda: reach("late.sock"))


def datagrams(folder):
    def send():
        with socket.socket(UNIX, DGRAM) as s:
            s.sendto(b"socket", folder + "/d.sock")

    def pair(kind=DGRAM):
        a, _ = socket.socketpair(UNIX, kind)
        a.sendto(b"pair", folder + "/d.sock")
    attempt("socket", send)
    attempt("pair", pair)
    attempt("raw pair", lambda: pair(socket.SOCK_RAW))
    for kind in (STREAM, SEQPACKET):
        with socket.socket(UNIX, kind) as s:
            attempt("sendto %d" % kind, lambda: s.sendto(b"x", folder + "/a.sock") and None)
            attempt("sendmsg %d" % kind, lambda: s.sendmsg([b"x"], [], 0, folder + "/a.sock") and None)


def own(folder, *more):
    def talk(name, family, address):
        def once():
            s = socket.socket(family)
            s.bind(address)
            s.listen()
            c = socket.socket(family)
            c.settimeout(5)
            t = threading.Thread(target=lambda: s.accept()[0].sendall(b"x"), daemon=True)
            t.start()
            c.connect(s.getsockname() if family != UNIX else address)
            return "OK" if c.recv(1) == b"x" else "nothing"
        attempt(name, once)
    os.chdir(folder)
    talk("folder", UNIX, folder + "/own.sock")
    talk("relative", UNIX, "own2.sock")
    talk("/tmp", UNIX, "/tmp/own.sock")
    talk("/dev/shm", UNIX, "/dev/shm/own.sock")
    talk("abstract", UNIX, "\0own-%d" % time.monotonic_ns())   # of this jail alone, also in the host's network
    if "inet" in more:
        talk("inet", socket.AF_INET, ("127.0.0.1", 0))
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=queue.put, args=("OK",))
    child.start()
    print("multiprocessing", queue.get(timeout=60))
    child.join()
    with multiprocessing.Manager() as manager:
        print("manager", manager.list(["OK"])[0])
    left = socket.socket(UNIX)
    left.bind("stale.sock")
    left.close()
    attempt("stale", lambda: reach("stale.sock"))
    attempt("absent", lambda: reach("absent.sock"))
    with open("file", "w", encoding="utf-8"):
        attempt("a file", lambda: reach("file"))
    os.unlink("file")
    attempt("a folder", lambda: reach("."))
    attempt("below a file", lambda: reach(__file__ + "/x"))
    import ctypes
    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: as agents that keep keys
    talk("not dumpable", UNIX, folder + "/own3.sock")
    for name in ("own.sock", "own2.sock", "own3.sock", "stale.sock"):
        os.unlink(name)


def waiting(folder):
    """A connect that waits for its listener, and what ends that."""
    listener = socket.socket(UNIX)
    listener.bind(folder + "/full.sock")
    listener.listen(0)
    reach_first = socket.socket(UNIX)
    reach_first.connect(folder + "/full.sock")

    class Alarm(OSError):
        pass

    def on_alarm(*_):
        raise Alarm(errno.ETIME, "alarm")

    # Python tries again after a signal, unless its handler raises
    def at_once():
        s = socket.socket(UNIX)
        s.setblocking(False)
        s.connect(folder + "/full.sock")

    def patient():
        s = socket.socket(UNIX)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 200000))
        s.connect(folder + "/full.sock")
    attempt("not blocking", at_once)
    attempt("with a time limit", patient)
    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    attempt("a signal", lambda: reach(folder + "/full.sock"))
    child = os.fork()
    if child == 0:
        reach(folder + "/full.sock")
        os._exit(0)
    time.sleep(0.2)
    other = socket.socket(UNIX)
    other.bind(folder + "/other.sock")
    other.listen()
    attempt("another meanwhile", lambda: reach(folder + "/other.sock"))
    os.kill(child, signal.SIGKILL)
    print("killed", os.WTERMSIG(os.waitpid(child, 0)[1]))
    threading.Timer(0.2, listener.accept).start()
    attempt("room", lambda: reach(folder + "/full.sock"))
    # More at a time than workers are there for
    def crowd():
        try:
            reach(folder + "/full.sock")
        except OSError:
            pass
    threads = [threading.Thread(target=crowd, daemon=True) for _ in range(100)]
    for t in threads:
        t.start()
    time.sleep(0.3)
    attempt("another beside a flood", lambda: reach(folder + "/other.sock"))
    os.unlink(folder + "/full.sock")
    os.unlink(folder + "/other.sock")
    os._exit(0)


def race(folder, seconds):
    """What the address, the path, the folder, the descriptor and the root of a path are when they are looked at: changed all the time."""
    own_listener = socket.socket(UNIX)
    own_listener.bind(folder + "/mine.sock")
    own_listener.listen(4096)
    end = time.monotonic() + float(seconds)
    os.makedirs(folder + "/two", exist_ok=True)
    os.link(folder + "/mine.sock", folder + "/two/s")
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    mine = struct.pack("H", UNIX) + (folder + "/mine.sock").encode().ljust(108, b"\0")
    host = struct.pack("H", UNIX) + (folder + "/a.sock").encode().ljust(108, b"\0")
    memory = ctypes.create_string_buffer(mine, len(mine))

    def every(fn):
        def go():
            while time.monotonic() < end:
                fn()
        threading.Thread(target=go, daemon=True).start()

    def swap_memory():
        ctypes.memmove(memory, host, len(host))
        ctypes.memmove(memory, mine, len(mine))

    def swap_names():
        libc.renameat2(-100, (folder + "/one").encode(), -100, (folder + "/two").encode(), 2)

    def swap_link():
        for target in ("/a.sock", "/mine.sock"):
            os.symlink(folder + target, folder + "/new")
            os.rename(folder + "/new", folder + "/link")

    one, two = os.open(folder + "/one", os.O_PATH), os.open(folder + "/two", os.O_PATH)

    def swap_folder():
        os.fchdir(one)
        os.fchdir(two)

    def swap_descriptor():
        s = socket.socket(UNIX)
        os.dup2(s.fileno(), 200)
        os.dup2(one, 200)
        s.close()
    for fn in (swap_memory, swap_names, swap_link, swap_folder, swap_descriptor):
        every(fn)
    relative = struct.pack("H", UNIX) + b"s".ljust(108, b"\0")
    seen = {}
    while time.monotonic() < end:
        for name, fd, address in (("memory", -1, memory), ("names", -1, mine[:2] + (folder + "/one/s").encode().ljust(108, b"\0")),
                                  ("link", -1, mine[:2] + (folder + "/link").encode().ljust(108, b"\0")), ("folder", -1, relative), ("descriptor", 200, mine)):
            with socket.socket(UNIX) as s:
                r = libc.connect(s.fileno() if fd < 0 else fd, address, len(mine))
                what = "OK" if r == 0 else errno.errorcode[ctypes.get_errno()]
                if r == 0 and fd < 0:
                    own_listener.accept()[0].close()
                seen[name + " " + what] = seen.get(name + " " + what, 0) + 1
    print(" ".join("%s" % k.replace(" ", "=") for k in sorted(seen)), flush=True)
    os._exit(0)


def killed(folder, count):
    """Callers that end in the middle, whose numbers are given to others."""
    for _ in range(int(count)):
        child = os.fork()
        if child == 0:
            while True:
                try:
                    reach(folder + "/a.sock")
                except OSError:
                    pass
        time.sleep(0.005)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    attempt("after them", lambda: reach(folder + "/a.sock"))


def flood(folder, seconds):
    end = time.monotonic() + float(seconds)
    count = 0
    while time.monotonic() < end:
        try:
            reach(folder + "/a.sock")
        except OSError:
            count += 1
    print("refused", count > 100)


def inherited(folder):
    """Descriptor 0 is a socket of the caller's."""
    s = socket.socket(fileno=0)
    attempt("connect", lambda: s.connect(folder + "/a.sock"))
    attempt("abstract", lambda: s.connect("\0aj-reach-" + os.environ["NAME"]))


def give(kind, *command):
    """The host's side: the command's descriptor 0 is a fresh socket."""
    s = eval("socket.socket(%s)" % kind)
    os.dup2(s.fileno(), 0)
    os.execv(command[0], command)


ANEW = """
import ctypes, socket
c = ctypes.CDLL(None, use_errno=True)
s = socket.socket(fileno=0)
if c.connect(0, bytes(16), 16) == 0:  # AF_UNSPEC
    s.sendto(b"anew", 0x20000000, ("127.0.0.1", %d))  # MSG_FASTOPEN
    print("fetched", flush=True)
"""


def tcp(*command):
    """The host's side: the command's descriptor 0 is a connection, and a jail tries to make another one of it."""
    first, other = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
    client = socket.create_connection(first.getsockname())
    given = first.accept()[0]
    if command[1] == "run":
        command += ("--", "/usr/bin/python3", "-I", "-S", "-c", ANEW % other.getsockname()[1])
    child = os.fork()
    if child == 0:
        os.dup2(given.fileno(), 0)
        os.execv(command[0], command)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print("exit", code)
    other.setblocking(False)
    try:
        print("came", other.accept()[0].recv(10))
    except BlockingIOError:
        print("nobody came")
    client.close()


def passed(folder):
    """A socket that came over another one is still to be connected."""
    left, right = socket.socketpair()
    s = socket.socket(UNIX)
    left.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
    _, parts, _, _ = right.recvmsg(1, 100)
    got = socket.socket(fileno=array.array("i", parts[0][2])[0])
    attempt("passed on", lambda: got.connect(folder + "/a.sock"))


def stay(folder):
    s = socket.socket(UNIX)
    s.bind(folder + "/jail.sock")
    os.chmod(folder + "/jail.sock", 0o777)
    s.listen()
    time.sleep(60)


def one(*paths):
    for path in paths:
        attempt(os.path.basename(path), lambda: reach("\0" + path[1:] if path[0] == "@" else path))


globals()[sys.argv[1]](*sys.argv[2:])
