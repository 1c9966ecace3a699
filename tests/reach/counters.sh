#!/bin/sh
# Counters that the kernel keeps for a user or for everybody, and memory that no limit of a process counts. Each check names its row.
. "$(dirname "$0")/../lib.sh"

attack() { # OPTIONS... : Python on standard input, under `run`
	cat >"$T/attack.py"
	aj run --timeout 50s --bind "$T/attack.py:/opt/attack.py" "$@" -- "$PY" -I -S -B /opt/attack.py
}
# Number of times that something can be done, and the error that ends it.
cat >"$T/counts.py" <<'X'
import ctypes, errno, fcntl, os, resource, select, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    r = libc.syscall(*[ctypes.c_long(a) for a in (number, *args)])
    if r < 0:
        raise OSError(ctypes.get_errno(), "")
    return r
kept = []
def count(name, do, most):
    n = 0
    try:
        while n < most:
            kept.append(do())
            n += 1
        print(name, n, "OK", flush=True)
    except OSError as e:
        print(name, n, errno.errorcode[e.errno], flush=True)
    for fd in kept:
        if isinstance(fd, int) and fd > 2:
            try: os.close(fd)
            except OSError: pass
    kept.clear()
def pipe(size):
    r, w = os.pipe()
    kept.append(w)
    fcntl.fcntl(w, 1031, size)
    return r
count("pipe-64K", lambda: pipe(65536), 10)
count("pipe-4K", lambda: pipe(4096), 10)
count("pipe-128K", lambda: pipe(131072), 10)
count("pipe-1M", lambda: pipe(1 << 20), 10)
count("pipe-1M-high-bits", lambda: call(72, kept[-1], 1031, (1 << 32) | (1 << 20)) if kept else pipe(65536), 2)
count("inotify", lambda: call(294, 0), 900)
count("pty", lambda: os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY), 900)
buffer = ctypes.create_string_buffer(64)
def timer():
    call(222, 1, 0, ctypes.addressof(buffer))
count("timer", timer, 5000)
count("keys", lambda: call(248, ctypes.addressof(ctypes.create_string_buffer(b"user")), ctypes.addressof(buffer), ctypes.addressof(buffer), 1, -3), 3)
count("fanotify", lambda: call(300, 0, 0), 3)
count("perf", lambda: call(298, ctypes.addressof(buffer), 0, -1, -1, 0), 3)
count("namespace", lambda: call(272, 0x10000000), 3)
count("userfaultfd", lambda: call(323, 0), 3)
page = ctypes.create_string_buffer(1 << 20)
count("mlock", lambda: call(149, ctypes.addressof(page), 1 << 20), 3)
print("msgqueue", resource.getrlimit(12)[1], "OK")
def watches():
    n, polls, targets = 0, [], []
    try:
        while True:
            targets.append(os.eventfd(0))
            if len(targets) % 2:
                polls.append(select.epoll())
    except OSError:
        pass
    for p in polls[:4]:
        for t in targets:
            p.register(t, 1)
            n += 1
    print("epoll", n * len(polls) // 4, "OK", flush=True)
    for p in polls: p.close()
    for t in targets: os.close(t)
watches()
libc.mmap.restype = ctypes.c_void_p
def gift():
    r, w = os.pipe()
    kept.extend((r, w))
    iovec = (ctypes.c_size_t * 2)(ctypes.addressof(page), 1)
    call(278, w, ctypes.addressof(iovec), 1, 0)
count("gift", gift, 3)
bytes = 8 << 30
start = libc.mmap(None, ctypes.c_size_t(bytes), 1, 0x4022, -1, ctypes.c_long(0))
libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(bytes), 15)
for at in range(start, start + bytes, 2 << 20):
    ctypes.c_char.from_address(at).value
print("tables", [line for line in open("/proc/self/status") if line.startswith("VmPTE")][0].split()[1], "OK")
block = libc.mmap(None, ctypes.c_size_t(65536), 3, 0x22, -1, ctypes.c_long(0))
def advise(advice): call(28, block, 65536, advice)
count("merged", lambda: advise(12), 1)
count("merged-high-bits", lambda: advise(1 << 32 | 12), 1)
advices = [n for n in (*range(5), 8, 9, 10, 11, 13, 14, 15, *range(16, 26)) if n != 9]
def accepted(n):
    try:
        advise(n)
    except OSError as e:
        return e.errno not in (1, 38)
    return True
print("advices", all(map(accepted, advices)), "OK")
absent = sum(not os.path.lexists("/usr/absent-%d" % i) for i in range(20000))
print("absent", absent, "OK")
X
attack <"$T/counts.py"
says "counters-pipes: a pipe keeps its size" '^pipe-64K 10 OK$'
says "counters-pipes: or gets a smaller one" '^pipe-4K 10 OK$'
says "counters-pipes: and no larger one" '^pipe-128K 0 E(PERM|INVAL)$'
says "counters-pipes: nor one of 1 MiB" '^pipe-1M 0 E(PERM|INVAL)$'
says "counters-pipes: whatever the high bits say" '^pipe-1M-high-bits [01] E(PERM|INVAL)$'
if grep -qE '^inotify [0-9]{1,3} EMFILE' "$T/out"; then ok "counters-inotify: instances are bounded"; else skip "counters-inotify: instances are bounded" "this host does not let them be lowered: $(grep inotify "$T/out")"; fi
says "counters-pty: pseudoterminals are bounded" '^pty (6[0-4]|[1-5]?[0-9]) ENOSPC$'
says "counters-timers: POSIX timers and queued signals are bounded" '^timer (10[0-2][0-9]|[0-9]{1,3}) EAGAIN$'
says "counters-keys: no key is made" '^keys 0 EPERM$'
says "counters-refused: no fanotify group" '^fanotify 0 EPERM$'
says "counters-refused: no perf event" '^perf 0 EPERM$'
says "counters-refused: no user namespace" '^namespace 0 EPERM$'
says "counters-refused: no userfaultfd" '^userfaultfd 0 EPERM$'
says "counters-memlock: no pinned memory" '^mlock 0 E(NOMEM|PERM)$'
says "counters-mqueue: POSIX queues are bounded" '^msgqueue 819200 OK$'
says "counters-epoll: a process has as many watches as its descriptors allow" '^epoll [0-9]{6} OK$'
says "counters-gifts: no page is given to a pipe" '^gift 0 ENOSYS$'
says "counters-page-tables: what is only read has tables" '^tables 1[0-9]{4} OK$'
says "counters-merging: no memory is merged with that of other programs" '^merged 0 EINVAL$'
says "counters-merging: whatever the high bits say" '^merged-high-bits 0 EINVAL$'
says "counters-merging: every other advice passes" '^advices True OK$'
says "counters-dentries: absent names are looked up" '^absent 20000 OK$'
"$PY" -I -S -B "$T/counts.py" >"$T/out" 2>"$T/err"
says "counters-pipes: control: without a jail it gets a larger one" '^pipe-128K 10 OK$'
if [ -d /sys/kernel/mm/ksm ]; then
	says "counters-merging: control: without a jail it is" '^merged 1 OK$'
else
	skip "counters-merging: control: without a jail it is" "this kernel merges none"
fi

# --- memory that RLIMIT_DATA does not count ---
cat >"$T/memory.py" <<'X'
import ctypes, errno, mmap, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
BYTES = 300 << 20
def mapped(flags, fd=-1):
    address = libc.mmap(None, BYTES, 3, flags, fd, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "")
    ctypes.memset(address, 1, BYTES)
    libc.munmap(ctypes.c_void_p(address), BYTES)
def memfd():
    fd = os.memfd_create("x")
    os.ftruncate(fd, BYTES)
    mapped(1, fd)
def sysv():
    number = libc.shmget(0, ctypes.c_size_t(BYTES), 0o1600)
    if number < 0:
        raise OSError(ctypes.get_errno(), "")
ways = {"private": lambda: mapped(0x22), "growsdown": lambda: mapped(0x122), "shared": lambda: mapped(0x21),
        "validated": lambda: mapped(0x23), "zero": lambda: mapped(1, os.open("/dev/zero", os.O_RDWR)), "memfd": memfd, "sysv": sysv}
for name, way in ways.items():
    try:
        way()
        print(name, "OUT", flush=True)
    except OSError as e:
        print(name, errno.errorcode[e.errno], flush=True)
print("stack", resource.getrlimit(resource.RLIMIT_STACK)[1])
with open("/tmp/file", "wb+") as f:
    f.truncate(4096)
    m = mmap.mmap(f.fileno(), 4096)
    m[0] = 1
    print("file mapped")
X
cat >"$T/no-shared.toml" <<'X'
extends = "command"
[process]
deny_syscalls = ["shared-memory", "memfd", "ipc"]
X
attack --memory 256M <"$T/memory.py"
says "counters-growsdown: MAP_GROWSDOWN, which RLIMIT_DATA does not count, is refused" '^growsdown EPERM$'
aj run --json --memory 256M -- true
if expect 'enforced.memory~RLIMIT_DATA'; then
	attack --memory 256M <"$T/memory.py"
	says "counters-stack: nor is the stack a way around it" '^stack 67108864$'
	says "counters-shared-memory: control: private memory is bounded" '^private ENOMEM$'
	for way in shared zero memfd sysv; do says "counters-shared-memory: control: $way is not, without a cgroup, unless the policy says so" "^$way OUT\$"; done
fi
attack --memory 256M --policy-file "$T/no-shared.toml" <"$T/memory.py"
for way in growsdown shared validated memfd sysv; do says "counters-shared-memory: a policy refuses it: $way" "^$way EPERM\$"; done
says "counters-shared-memory: and leaves /dev/zero out" '^zero ENOENT$'
says "counters-shared-memory: files in /tmp can be mapped all the same" '^file mapped$'
before=$(cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem 2>/dev/null | wc -l)
attack <<'X'
import ctypes
libc = ctypes.CDLL(None)
print("made", libc.shmget(0, ctypes.c_size_t(4096), 0o1600) >= 0, libc.msgget(0, 0o1600) >= 0, libc.semget(0, 1, 0o1600) >= 0)
X
says "counters-sysv: System V objects are made" '^made True True True$'
is "counters-sysv: in the jail's IPC namespace, and gone with it" "$before" "$(cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem 2>/dev/null | wc -l)"
finish
