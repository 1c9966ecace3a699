"""Machine code of one's own under python.native = "tree", which lets a snippet map files of the read-only tree executable at any time.
A hostile snippet tries each way that the kernel has to make its own bytes executable, in a cold jail with everything bound that a caller can bind,
in a jail from a zygote, in a branch and in the branch of a branch. Then the jail is looked at from outside: its mounts, and its memory, in which each
executable page must be the tree's file, byte for byte."""

import json
import os
import subprocess
import sys

from client import AJ, FOLDER, LONG, Sessions, check, done, skip, until
from procfs import children, read, state, status

ROOTFS = sys.argv[3]
LIBRARY = [root for root, _, files in os.walk(ROOTFS + "/tree/usr/lib") if "raw.so" in files][0]
USR = ROOTFS + "/tree/usr"

# The attempts are the same everywhere. `folders` are what the snippet writes, `files` what the caller gave it.
ATTEMPTS = r'''
import os, struct, sys
import raw
R, W, X, PRIVATE, SHARED, ANONYMOUS = 1, 2, 4, 2, 1, 0x20
SIZE = 8192
CODE = b"\xb8\x2a\x00\x00\x00\xc3" * 1000 + bytes(SIZE)
texts = []
def at(data):
    texts.append(data)
    return id(data) + 32
def text(name):
    return at(name.encode() + bytes(1))
def call(number, *args):
    return raw.call(number, *[a & 0xffffffffffffffff for a in args])
def mmap(prot, flags, fd=-1, offset=0, address=0):
    return call(9, address, SIZE, prot, flags, fd, offset)
def mprotect(address, prot):
    return call(10, address, SIZE, prot)
def memory(prot=R | W):
    return mmap(prot, PRIVATE | ANONYMOUS)
def fill(address):
    """Write the code to this address by the kernel's hand: from a file."""
    fd = own(folders[0] + "/fill")
    os.lseek(fd, 0, 0)
    return call(0, fd, address, SIZE)
def own(path, flags=os.O_RDWR | os.O_CREAT):
    fd = os.open(path, flags | os.O_CLOEXEC, 0o700)
    if flags & os.O_RDWR:
        os.write(fd, CODE[:SIZE])
    return fd
def again(path):
    os.close(own(path))
    return os.open(path, os.O_RDONLY)
def unlinked(path):
    fd = own(path)
    os.unlink(path)
    return fd
def tree():
    return os.open(raw.__file__, os.O_RDONLY)
def filled(then):
    """Executable memory of the tree's file, which is then made writable, written, and made executable again."""
    a = mmap(R | X, PRIVATE, tree())
    if a > 0 and mprotect(a, R | W) == 0 and fill(a) == SIZE:
        return then(a)
    return -1
def moved(flags):
    """Written memory that is moved over executable memory stays what it was: so it is made executable there."""
    a, b = mmap(R | X, PRIVATE, tree()), memory()
    fill(b)
    c = call(25, b, SIZE, SIZE, flags, a)
    return c if c < 0 else mprotect(c, R | X)
def grown():
    """Executable memory that grows over what follows it."""
    a = mmap(R | X, PRIVATE, tree())
    b = call(25, a, SIZE, SIZE * 2, 1)
    return -1 if b < 0 else fill(b)
def implied():
    return call(135, 0x0400000) or call(9, 0, SIZE, R, PRIVATE | ANONYMOUS, -1, 0)
def segment():
    i = call(29, 0, SIZE, 0o1700)
    return i if i < 0 else call(30, i, 0, 0o100000)
def memfd(flags):
    fd = call(319, text("x"), flags)
    if fd < 0:
        return fd
    os.write(fd, CODE[:SIZE])
    return mmap(R | X, PRIVATE, fd)
def sent():
    import socket
    a, b = socket.socketpair()
    return call(47, b.fileno(), at(bytes(56)), 0)
def vector(number, address):
    source = at(struct.pack("QQ", at(CODE), SIZE))
    return call(number, os.getpid(), source, 1, at(struct.pack("qQ", address, SIZE)), 1, 0)
def by_proc():
    fd = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(fd, CODE[:16], mmap(R | X, PRIVATE, tree()))
    return fd
def loaded(folder):
    """An extension module of one's own: the loader maps it."""
    import _imp
    from importlib.machinery import ModuleSpec
    path = "%s/own_%d.so" % (folder, len(texts))
    texts.append(path)
    with open(raw.__file__, "rb") as f, open(path, "wb") as to:
        to.write(f.read())
    return 1 if _imp.create_dynamic(ModuleSpec("raw", None, origin=path)) else 0
def listened():
    """A filter of one's own, whose listener could let refused calls pass."""
    rows = struct.pack("HBBI", 6, 0, 0, 0x7fc00000)
    return call(317, 1, 8, at(struct.pack("HxxxxxxP", 1, at(rows))))
def stack():
    here = id(texts) & ~4095
    return call(10, here, 4096, R | W | X)
attempts = {
    "memory": lambda: memory(R | X),
    "memory, writable too": lambda: memory(R | W | X),
    "memory, not to be read": lambda: memory(X),
    "shared memory": lambda: mmap(R | X, SHARED | ANONYMOUS),
    "memory with a descriptor": lambda: mmap(R | X, PRIVATE | ANONYMOUS, tree()),
    "memory that grows down": lambda: mmap(R | X, PRIVATE | ANONYMOUS | 0x100),
    "a file's memory that grows down": lambda: mmap(R | X, PRIVATE | 0x100, tree()),
    "a stack": lambda: mmap(R | W | X, PRIVATE | ANONYMOUS | 0x20000),
    "huge pages": lambda: mmap(R | X, PRIVATE | ANONYMOUS | 0x40000),
    "huge pages of a file": lambda: mmap(R | X, PRIVATE | 0x40000, tree()),
    "droppable memory": lambda: mmap(R | X, 8 | ANONYMOUS),
    "no map type": lambda: mmap(R | X, ANONYMOUS),
    "upper halves": lambda: mmap(R | X | 1 << 40, PRIVATE | ANONYMOUS | 1 << 40),
    "upper halves that hide the type": lambda: mmap(R | X, PRIVATE | ANONYMOUS | 0xffffffff << 32),
    "memory that is made executable": lambda: mprotect(memory(), R | X),
    "memory that is made executable, and stays writable": lambda: mprotect(memory(), R | W | X),
    "memory that is made executable alone": lambda: mprotect(memory(), X),
    "with flags for stacks": lambda: mprotect(memory(), R | X | 0x01000000),
    "with upper halves": lambda: mprotect(memory(), R | X | 1 << 40),
    "with a key": lambda: call(329, memory(), SIZE, R | X, -1),
    "with a key of one's own": lambda: call(329, memory(), SIZE, R | X, call(330, 0, 0)),
    "objects of Python's": stack,
    "the heap": lambda: call(10, call(12, 0) - SIZE & ~4095, 4096, R | W | X),
    "the tree's file, writable": lambda: mmap(R | W | X, PRIVATE, tree()),
    "the tree's file, shared": lambda: mmap(R | X, SHARED, tree()),
    "the tree's file, shared and checked": lambda: mmap(R | X, 3, tree()),
    "the tree's file, shared and writable": lambda: mmap(R | W | X, SHARED, tree()),
    "the tree's file, opened to be written": lambda: os.open(raw.__file__, os.O_RDWR),
    "the tree's file, changed by name": lambda: call(82, text(raw.__file__), text("/tmp/raw.so")),
    "the tree's file, cut": lambda: call(76, text(raw.__file__), 0),
    "executable memory, written by a read": lambda: fill(mmap(R | X, PRIVATE, tree())),
    "executable memory, made writable": lambda: mprotect(mmap(R | X, PRIVATE, tree()), R | W | X),
    "written, then made executable again": lambda: filled(lambda a: mprotect(a, R | X)),
    "written, then made executable again by a key": lambda: filled(lambda a: call(329, a, SIZE, R | X, 0)),
    "written, then moved and grown": lambda: filled(lambda a: mprotect(call(25, a, SIZE, SIZE * 2, 1), R | X)),
    "moved over executable memory": lambda: moved(3),
    "moved over it, and left there": lambda: moved(7),
    "grown executable memory, written": grown,
    "pages in another order": lambda: call(216, mmap(R | X, PRIVATE, tree()), SIZE, 0, 1, 0),
    "another process's hand": lambda: vector(311, mmap(R | X, PRIVATE, tree())),
    "tracing oneself": lambda: call(101, 0, 0, 0, 0),
    "tracing init": lambda: call(101, 16, 1, 0, 0),
    "/proc/self/mem": by_proc,
    "reading implies executing": implied,
    "a segment": segment,
    "a memfd": lambda: memfd(0),
    "a memfd to be executed": lambda: memfd(0x10),
    "a sealed memfd": lambda: memfd(0xa),
    "secret memory": lambda: call(447, 0),
    "a shadow stack": lambda: call(453, 0, SIZE, 0),
    "page faults of one's own": lambda: call(323, 1),
    "io_uring": lambda: call(425, 8, at(bytes(120))),
    "a local descriptor table": lambda: call(154, 1, at(bytes(16)), 16),
    "the process's map": lambda: call(157, 35, 1, memory(), 0, 0),
    "an old library call": lambda: call(134, text(folders[0] + "/fill")),
    "a descriptor that is sent": sent,
    "a descriptor of init's": lambda: call(438, call(434, 1, 0), 0, 0),
    "a filter with a listener": listened,
    "a process": lambda: call(57),
    "a process by clone3": lambda: call(435, at(bytes(88)), 88),
    "a mount": lambda: call(165, text("tmpfs"), text("/tmp"), text("tmpfs"), 0, 0),
    "a mount that is made executable": lambda: call(165, 0, text("/tmp"), 0, 0x20 | 0x1000, 0),
    "a mount whose attributes are cleared": lambda: call(442, -100, text("/tmp"), 0, at(struct.pack("QQQQ", 0, 8, 0, 0)), 32),
    "a copy of a mount": lambda: call(428, -100, text("/tmp"), 1),
    "a file system without a place": lambda: call(430, text("tmpfs"), 0),
    "namespaces": lambda: call(272, 0x10020000),
    "a program of one's own": lambda: call(59, text(folders[0] + "/fill"), 0, 0) if own(folders[0] + "/fill") else 0,
    "a program by descriptor": lambda: call(322, own(folders[0] + "/fill"), text(""), 0, 0, 0x1000),
    "an extension module of one's own": lambda: loaded(folders[0]),
    "/dev/null": lambda: mmap(R | X, PRIVATE, os.open("/dev/null", os.O_RDWR)),
    "/dev/urandom": lambda: mmap(R | X, PRIVATE, os.open("/dev/urandom", os.O_RDONLY)),
    "a file in the root": lambda: own("/own"),
    "a pipe": lambda: mmap(R | X, PRIVATE, os.pipe()[0]),
    "a file without a name": lambda: mmap(R | X, PRIVATE, os.open("/tmp", os.O_TMPFILE | os.O_RDWR, 0o700)),
    "a file of /etc": lambda: mmap(R | X, PRIVATE, os.open("/etc/passwd", os.O_RDONLY)),
}
for fd in range(64):
    attempts["descriptor %d" % fd] = lambda fd=fd: mmap(R | X, PRIVATE, fd)
for folder in folders:
    attempts.update({
        folder + ": a file": lambda f=folder: mmap(R | X, PRIVATE, own(f + "/a")),
        folder + ": a file, by a second descriptor": lambda f=folder: mmap(R | X, PRIVATE, again(f + "/b")),
        folder + ": a file without its name": lambda f=folder: mmap(R | X, PRIVATE, unlinked(f + "/c")),
        folder + ": shared": lambda f=folder: mmap(R | X, SHARED, own(f + "/a")),
        folder + ": writable": lambda f=folder: mmap(R | W | X, PRIVATE, own(f + "/a")),
        folder + ": made executable later": lambda f=folder: mprotect(mmap(R, PRIVATE, own(f + "/a")), R | X),
        folder + ": by the loader": lambda f=folder: loaded(f),
    })
for file in files:
    attempts[file] = lambda f=file: mmap(R | X, PRIVATE, os.open(f, os.O_RDONLY))
    attempts[file + ", shared"] = lambda f=file: mmap(R | X, SHARED, os.open(f, os.O_RDONLY))
def opened():
    found = set()
    for fd in range(64):
        try:
            os.fstat(fd)
            found.add(fd)
        except OSError:
            pass
    return found
def outcome(attempt):
    before = opened()
    try:
        return attempt()
    except (OSError, ImportError) as e:
        return "%s %s" % (type(e).__name__, getattr(e, "errno", None))
    finally:
        for fd in opened() - before:
            os.close(fd)
def tried(names=None):
    return {name: outcome(attempt) for name, attempt in attempts.items() if names is None or name in names}
def allowed():
    """What is allowed: the tree's own code, and ordinary memory."""
    before = opened()
    found = [mmap(R | X, PRIVATE, tree()) > 0, mmap(X, PRIVATE, tree()) > 0, memory() > 0, mprotect(memory(), R) == 0,
             fill(memory()) == SIZE, filled(lambda a: 1) == 1]
    for fd in opened() - before:
        os.close(fd)
    return found
'''
# Attempts that work where there is no jail, and do no harm there: each shows that the attempt itself is sound.
CONTROL = ["memory", "memory, writable too", "memory, not to be read", "shared memory", "memory with a descriptor", "memory that grows down", "a stack",
           "upper halves that hide the type", "memory that is made executable", "memory that is made executable, and stays writable",
           "memory that is made executable alone", "with a key", "the heap", "the tree's file, writable", "the tree's file, shared",
           "the tree's file, shared and checked", "executable memory, made writable", "written, then made executable again", "moved over executable memory",
           "a segment", "a memfd", "a memfd to be executed", "a sealed memfd", "an extension module of one's own",
           "a file of /etc", "F: a file", "F: a file, by a second descriptor", "F: a file without its name", "F: shared", "F: writable",
           "F: made executable later", "F: by the loader"]
LATE = "import %s\n" % ", ".join(("_decimal", "_elementtree", "sqlite3", "unicodedata"))
WAIT = "\nimport time\ntime.sleep(600)\n"


# A package that leaves executable memory behind when it is imported: which happens before the snippet begins, in a zygote for all of its jails.
with open(LIBRARY + "/early.py", "w") as f:
    f.write("import os\nimport raw\nCODE = bytes(8192)\n" + ATTEMPTS[ATTEMPTS.index("R, W, X"):ATTEMPTS.index("def mmap")].replace("import", "#") + """
def memory(prot, flags=0x22, fd=-1):
    return call(9, 0, SIZE, prot, flags, fd, 0)
fd = os.open(raw.__file__, os.O_RDONLY)
found = {"memory": memory(R | X), "memory, writable too": memory(R | W | X), "shared": memory(R | W | X, 0x21),
         "made executable": call(10, memory(R | W), SIZE, R | X), "a file, writable": memory(R | W | X, 2, fd),
         "the heap": call(10, call(12, 0) - SIZE & ~4095, 4096, R | W | X)}
os.close(fd)
""")


# Callbacks of ctypes get machine code of the tree's: the closures are ours (src/guest/closures.c).
CALLBACKS = r'''
import sys
sys.path.append("/usr/lib/python3/for-packages")
import ctypes
function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
for time in range(2):
    made = [function(lambda x, i=i: x + i) for i in range(600)]
    called = all(f(41) == 41 + i for i, f in enumerate(made))
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(5, 3, 4, 1, 2)
ctypes.CDLL(None).qsort(numbers, 5, 4, compare(lambda a, b: a[0] - b[0]))
double = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_char_p)(lambda x, s: x * len(s))
[called, list(numbers), double(1.5, b"abc")]
'''


def code(folders=("/tmp",), files=()):
    return "folders, files = %r, %r\n" % (list(folders), list(files)) + ATTEMPTS


def refused(value):
    return value < 0 if isinstance(value, int) else value.split()[0] in ("PermissionError", "ImportError", "OSError", "FileNotFoundError")


def judge(where, found, permitted, early=None):
    open_ = {name: value for name, value in found.items() if not refused(value)}
    check("%s: each of %d ways is refused" % (where, len(found)), len(found) > 90 and not open_, open_)
    check(where + ": machine code of the tree and ordinary memory are allowed", permitted == [True] * 6, permitted)
    check(where + ": nor is any left by a package that was imported before", early and all(map(refused, early.values())), early)


def mounts(pid):
    """Mount points that are not noexec, without what is covered: several mounts of one place."""
    return [line.split()[4] for line in read("/proc/%d/mountinfo" % pid).splitlines() if "noexec" not in line.split()[5].split(",")]


def executable(pid):
    """Executable mappings that are not a file of the tree, byte for byte."""
    wrong, seen = [], 0
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
        for line in read("/proc/%d/maps" % pid).splitlines():
            place, mode, offset, _, _, *name = line.split(None, 5)
            if "x" not in mode or name[:1] in (["[vdso]"], ["[vsyscall]"]):
                continue
            seen += 1
            start, end = (int(part, 16) for part in place.split("-"))
            file = name[0] if name else ""
            if "w" in mode or not file.startswith("/usr/"):
                wrong.append(line)
                continue
            with open(USR + file[len("/usr"):], "rb") as f:
                f.seek(int(offset, 16))
                want = f.read(end - start)
            memory.seek(start)
            try:
                got = memory.read(end - start) if want else b""
            except OSError:  # a page beyond the end of the file
                memory.seek(start)
                got = memory.read(len(want) & ~4095)
                want = want[:len(want) & ~4095]
            if got[:len(want)] != want:
                wrong.append(line)
    return wrong if seen > 3 else ["only %d are executable" % seen]


def look(where, pid):
    check(where + ": every mount but the tree's is noexec", mounts(pid) == ["/usr"], mounts(pid))
    try:
        wrong = executable(pid)
    except PermissionError as e:
        skip(where + ": the executable memory from outside", str(e))
        return
    check(where + ": all executable memory is the tree's files", not wrong, wrong)


def guest_of(init):
    return [pid for pid in children(init) if state(pid) not in "ZX"][0]


def policy(name, text):
    path = "%s/%s.toml" % (FOLDER, name.replace("/", ""))
    with open(path, "w") as f:
        f.write('extends = "snippet"\n[python]\nlayer = false\nimports = ["raw", "early", "os", "struct", "sys", "socket", "time"]\n' + text)
    return path


TREE = policy("tree", 'native = "tree"\n')
for name in ("rw", "ro", "ws"):
    os.mkdir("%s/%s" % (FOLDER, name))
    os.chmod("%s/%s" % (FOLDER, name), 0o777)
    with open("%s/%s/given" % (FOLDER, name), "wb") as f:
        f.write(bytes(8192))


def cold(name, lines, folders, files, *options):
    """A cold jail, with what a caller can show it. It leaves its answer in the writable folder, and waits."""
    path = policy(name, 'native = "tree"\n[filesystem]\n' + lines)
    answer = FOLDER + "/rw/answer"
    last = "\nimport json, early\nwith open('/rw/new', 'w') as f: json.dump([tried(), allowed(), early.found], f)\nos.rename('/rw/new', '/rw/answer')\n" + WAIT
    with open(FOLDER + "/code.py", "w") as f:
        f.write(code(folders, files) + LATE + last)
    jail = subprocess.Popen([AJ, "exec", "--rootfs", ROOTFS, "--policy-file", path, *options, FOLDER + "/code.py"],
                            stdin=open(FOLDER + "/ro/given", "rb"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        there = until(lambda: os.path.exists(answer) or jail.poll() is not None)
        if not there or jail.poll() is not None:
            check(name + ": it answers", False, jail.stdout.read(2000) if jail.poll() is not None else "silent")
            return
        with open(answer) as f:
            judge(name, *json.load(f))
        pid = guest_of(children(jail.pid)[0])
        until(lambda: status(pid).get("Seccomp") == "2")
        look(name, pid)
    finally:
        jail.kill()
        jail.wait()
        if os.path.exists(answer):
            os.unlink(answer)


BINDS = 'binds = ["%s/rw:/rw:rw", "%s/ro:/input/ro"]\n' % (FOLDER, FOLDER)
SHOWN = ["/rw/given", "/input/ro/given", "/workspace/given"]
WORKSPACE = "--workspace", FOLDER + "/ws"
for mode in ("read-only", "read-write", "overlay", "copy"):
    writes = ["/tmp", "/rw"] + ["/workspace"] * (mode != "read-only")
    cold("cold, workspace " + mode, BINDS + 'workspace = "%s"\n' % mode, writes, SHOWN, *WORKSPACE)
cold("cold, with /proc", BINDS + "proc = true\n", ["/tmp", "/rw"], SHOWN[:2])
cold("cold, with files", BINDS, ["/tmp", "/rw"], SHOWN[:2] + ["/input/given"], "--output", FOLDER + "/out", "--file", FOLDER + "/ro/given")

def answer(event):
    """The value of a snippet, or in its place what went wrong."""
    value = event.get("value")
    return value if type(value) is list else [{}, event, {}]


# Jails of a zygote: a session, its branch, and a branch of that.
with Sessions(TREE, 1, "--rootfs", ROOTFS) as service:
    def jails():
        return {pid for init in service.inits() for pid in children(init) if state(pid) not in "ZX"}

    service.open("session", branching=True)
    called = service.run("session", CALLBACKS)
    check("session: callbacks of ctypes", called.get("value") == [True, [1, 2, 3, 4, 5], 4.5], called)
    previous = None
    for name in ("session", "branch", "branch of a branch"):
        before = jails() if previous else set()
        if previous:
            service.fork(previous, name)
        r = answer(service.run(name, code(["/tmp", "/output"]) + LATE + "import early\n[tried(), allowed(), early.found]"))
        judge(name, *r)
        new = sorted(jails() - before)
        for pid in new[-1:]:
            look(name, pid)
        check(name + ": one jail more", len(new) >= 1, new)
        previous = name
    judge("session, after its branches", *answer(service.run("session", "[tried(), allowed(), early.found]")))

# python.native = "start": the same, and the tree's code neither.
with Sessions(policy("start", ""), 1, "--rootfs", ROOTFS) as service:
    service.open("start")
    found, permitted, early = answer(service.run("start", code() + "import early\n[tried(), allowed(), early.found]"))
    check("start: each way is refused, the tree's code too", len(found) > 90 and not [n for n, v in found.items() if not refused(v)]
          and early and all(map(refused, early.values())) and permitted == [False, False, True, True, True, False],
          ({n: v for n, v in found.items() if not refused(v)}, permitted, early))

# Where there is no jail, the attempts work.
control = [name.replace("F:", FOLDER + ":") for name in CONTROL]
path = FOLDER + "/control.py"
with open(path, "w") as f:
    f.write("import sys\nsys.path.append(%r)\n" % LIBRARY + code([FOLDER]) + "import json\nprint(json.dumps(tried(%r)))" % control)
ran = subprocess.run([sys.executable, "-I", path], capture_output=True, text=True, timeout=LONG)
there = json.loads(ran.stdout or "{}")
check("control: without a jail these work", len(there) == len(control) and not [n for n, v in there.items() if v is not None and refused(v)],
      (set(control) - set(there), {n: v for n, v in there.items() if v is not None and refused(v)}, ran.stderr[-500:]))
done()
