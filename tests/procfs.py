"""Processes as /proc shows them from outside: what the tests of jails that last look at.
It reads and judges nothing; a process that is gone, or that may not be read, has no children, no numbers and the state X."""

import os


def read(path, mode="r"):
    with open(path, mode) as f:
        return f.read()


def status(pid):
    try:
        return {k: v.strip() for k, v in (line.split(":", 1) for line in read("/proc/%d/status" % pid).splitlines() if ":" in line)}
    except OSError:
        return {}


def numbers(pid):
    """The process's number in each PID namespace that it is in, from ours on; [] when it is gone."""
    return status(pid).get("NSpid", "").split()


def stat(pid):
    """Fields of stat from the third on (state, ppid, pgrp, session, tty); [] when it is gone."""
    try:
        return read("/proc/%d/stat" % pid).rpartition(") ")[2].split()
    except OSError:
        return []


def state(pid):
    return (stat(pid) or "X")[0]


def alive(pid):
    """The first process of a namespace that waits for others to be reaped has ended: it has no memory."""
    fields = stat(pid)
    return bool(fields) and fields[0] not in "ZX" and fields[20] != "0"


def processes():
    return sorted(map(int, filter(str.isdigit, os.listdir("/proc"))))


def children(parent):
    return [pid for pid in processes() if stat(pid)[1:2] == [str(parent)]]


def below(pid):
    """All processes that descend from it and have not ended: number to processor time, in ticks."""
    of, found, queue = {}, {}, [pid]
    for one in processes():
        fields = stat(one)
        if fields and fields[0] not in "ZX":
            of.setdefault(int(fields[1]), {})[one] = int(fields[11]) + int(fields[12])
    while queue:
        more = of.get(queue.pop(), {})
        found.update(more)
        queue += more
    return found


# The first process of a zygote's PID namespace is its holder; jails have namespaces of their own, those of a zygote's below its own.

def zygotes(supervisor):
    return [pid for pid in children(supervisor) if len(n := numbers(pid)) == 2 and n[-1] != "1" and state(pid) not in "ZX"]


def holders(supervisor):
    return [pid for pid in children(supervisor) if numbers(pid)[1:] == ["1"] and status(pid).get("Name") == "holder" and state(pid) not in "ZX"]


def inits(supervisor):
    """Of jails: a zygote makes the next jail's init ahead, which has no guest yet, and the zygote's name."""
    return [pid for pid in first_processes(supervisor) if status(pid).get("Name") not in ("holder", "python3")]


def waiting(supervisor):
    return [pid for pid in first_processes(supervisor) if status(pid).get("Name") == "python3"]


def first_processes(supervisor):
    return [pid for pid in children(supervisor) if numbers(pid)[-1:] == ["1"] and state(pid) not in "ZX"]


def guests(supervisor):
    """Processes of its jails but their inits, by the number that they have in their jail."""
    found = {}
    for pid in below(supervisor):
        inner = numbers(pid)
        if len(inner) > 1 and inner[-1] != "1":
            found[int(inner[-1])] = pid
    return found
