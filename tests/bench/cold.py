"""Where the processor time of a cold start goes, beside the floor launcher's: `python3 tests/bench/cold.py [RUNS]`, as root, with perf, after
`make bench` has built the floor. It measures nothing that perf cannot see, judges no figure, and writes no page.

The first table is of RUNS turns, each a run of every launcher, by the processor time of all processes that were waited for. The second is a
profile of the whole machine meanwhile, of which only these launchers' samples are counted: perf ends a process's own counters before its
memory and namespaces are taken down."""

import collections
import os
import statistics
import subprocess
import sys
import tempfile
import time

HZ = 5000
# The kernel's functions by phase, the first that a sample's stack holds; the last words of a row are for any other system call.
PHASES = [
    ("ends of processes: memory, mounts, namespaces", ["do_exit"]),
    ("namespaces, the network namespace most of it", ["__do_sys_clone3", "__x64_sys_unshare", "__do_sys_setns"]),
    ("fork of the guest, and of helpers", ["__do_sys_clone", "__x64_sys_clone"]),
    ("exec of launcher and command", ["__x64_sys_execve"]),
    ("filter", ["do_seccomp"]),
    (
        "mounts: file systems, binds, overlays, masks, root",
        "__x64_sys_mount __x64_sys_open_tree __x64_sys_fsopen __do_sys_fsconfig __do_sys_fsmount __do_sys_move_mount "
        "__x64_sys_move_mount __x64_sys_mount_setattr __do_sys_mount_setattr __do_sys_pivot_root __x64_sys_umount __x64_sys_mkdir "
        "__x64_sys_mkdirat __x64_sys_mknodat __x64_sys_mknod __x64_sys_symlinkat __x64_sys_symlink __x64_sys_openat2".split(),
    ),
    (
        "opening, closing, reading, writing, looking",
        "__x64_sys_openat __do_sys_close __x64_sys_close ksys_read ksys_write __do_sys_newfstatat __x64_sys_readlink "
        "__x64_sys_access __do_sys_close_range".split(),
    ),
    ("other system calls", ["entry_SYSCALL_64_after_hwframe"]),
    ("page faults", ["asm_exc_page_fault"]),
    ("its own code, CPUID in libc's start included", []),
]


def turn(command, stdin):
    began = time.perf_counter()
    redirect = [(os.POSIX_SPAWN_DUP2, stdin, 9), (os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1)]
    os.lseek(stdin, 0, os.SEEK_SET)
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=redirect)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began, usage.ru_minflt


def samples(data):
    """(name, thread, functions from the outermost on) of each sample."""
    script = ["perf", "script", "-i", data, "-F", "comm,tid,ip,sym", "--no-inline"]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if lines:
            name, thread = lines[0].rsplit(None, 1)
            functions = [line.split(None, 1)[1].split("+")[0] for line in lines[1:] if len(line.split(None, 1)) > 1]
            yield name.strip(), thread, functions[::-1]


def phase(functions):
    return next((name for name, marks in PHASES if any(mark in functions for mark in marks)), PHASES[-1][0])


runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
launcher = os.path.abspath(os.environ.get("AGENTJAIL", "build/agentjail"))
bench = os.path.dirname(launcher) + "/bench"
null, bpf = os.open("/dev/null", os.O_RDWR), os.open(bench + "/command.bpf", os.O_RDONLY)
# A jail's processes bear the name of their program until they execute another one.
commands = {"agentjail": [launcher, "run", "--", "/usr/bin/true"], "floor": [bench + "/floor", "/usr/bin/true"]}
taken = {name: [] for name in commands}
with tempfile.NamedTemporaryFile(suffix=".data") as data:
    record = ["perf", "record", "-q", "-a", "-F", str(HZ), "-g", "-e", "cpu-clock", "-o", data.name]
    recorder = subprocess.Popen(record, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for i in range(runs):
        for name in sorted(commands, reverse=i % 2 == 1):
            taken[name].append(turn(commands[name], bpf))
    recorder.terminate()
    recorder.wait()
    found = list(samples(data.name))
print(f"{'us (medians of ' + str(runs) + ' turns)':62}{'processor':>10}{'wall':>10}{'faults':>8}")
for name in commands:
    cpu, wall, faults = (statistics.median(column) for column in zip(*taken[name]))
    print(f"{name + ', with `true` in it':62}{cpu * 1e6:10.0f}{wall * 1e6:10.0f}{faults:8.0f}")
count = collections.Counter((name, phase(functions)) for name, _, functions in found if name in commands)
print(f"\n{'us of a processor, without `true`':62}" + "".join(f"{name:>10}" for name in commands))
for name, _ in PHASES:
    print(f"{name:62}" + "".join(f"{count[who, name] * 1e6 / HZ / runs:10.0f}" for who in commands))
