"""Drives the program `sessions` (sessions.c), and looks at its jails from outside, in /proc.
It counts what passes and fails as tests/lib.sh does, and never waits for ever."""

import json
import os
import select
import subprocess
import sys
import time

BUILD, NAME = sys.argv[1], sys.argv[2]
passed = failed = 0


def check(name, good, why=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("  FAIL  %s: %s: %.900s" % (NAME, name, why), flush=True)
    elif os.environ.get("V"):
        print("  ok    %s: %s" % (NAME, name), flush=True)
    return good


def done():
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    sys.exit(failed > 0)


class House:
    """One driver. Events that nobody waited for yet are kept."""

    def __init__(self, policy="snippet", parked=0, ready_ms=0):
        self.process = subprocess.Popen([BUILD + "/sessions", policy, str(parked), str(ready_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.buffer, self.events = b"", []

    def tell(self, do, name=None, **more):
        self.process.stdin.write(json.dumps(dict(more, do=do, **({"as": name} if name else {}))).encode() + b"\n")
        self.process.stdin.flush()

    def read(self, timeout):
        fd = self.process.stdout.fileno()
        if not select.select([fd], [], [], max(0, timeout))[0]:
            return False
        data = os.read(fd, 1 << 20)
        if not data:
            raise EOFError("the driver has ended: %s" % self.process.wait())
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        self.events += [json.loads(text) for text in lines]
        return True

    def wait(self, kinds, name=None, timeout=60):
        """The first event of one of these kinds."""
        until = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event["event"] in kinds.split() and name in (None, event.get("as")):
                    self.events.remove(event)
                    return event
            if not self.read(until - time.monotonic()) and time.monotonic() > until:
                raise TimeoutError("no %s of %s; there are %.500s" % (kinds, name, self.events))

    def open(self, name, **more):
        self.tell("open", name, **more)
        event = self.wait("opened error", name)
        if event["event"] == "error" or "error" in event:
            raise RuntimeError(event)
        return event

    def fork(self, name, to):
        self.tell("fork", name, to=to)
        event = self.wait("opened error", timeout=60)
        if event["event"] == "error" or "error" in event:
            raise RuntimeError(event)

    def start(self, name, code, **more):
        self.tell("run", name, code=code, **more)

    def result(self, name, timeout=60):
        event = self.wait("answered error ended", name, timeout)
        return event.get("result", event)

    def run(self, name, code, **more):
        self.start(name, code, **more)
        return self.result(name)

    def close(self, name):
        self.tell("close", name)
        self.wait("closed", name)
        self.events = [e for e in self.events if e.get("as") != name]

    def stats(self):
        self.tell("stats")
        return self.wait("stats")["stats"]

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    # --- from outside ---

    def children(self):
        return children(self.pid)

    # The first process of a zygote's PID namespace is its holder; jails have namespaces of their own, those of a zygote's below its own.

    def zygotes(self):
        return [pid for pid in self.children() if len(n := numbers(pid)) == 2 and n[-1] != "1" and state(pid) not in "ZX"]

    def holders(self):
        return [pid for pid in self.children() if numbers(pid)[1:] == ["1"] and status(pid).get("Name") == "holder" and state(pid) not in "ZX"]

    def inits(self):
        return [pid for pid in self.children() if numbers(pid)[-1:] == ["1"] and status(pid).get("Name") != "holder" and state(pid) not in "ZX"]


def read(path, mode="r"):
    with open(path, mode) as f:
        return f.read()


def status(pid):
    try:
        return {k: v.strip() for k, v in (line.split(":", 1) for line in read("/proc/%d/status" % pid).splitlines() if ":" in line)}
    except OSError:
        return {}


def numbers(pid):
    """Of a process in each PID namespace that it is in, from ours on; [] when it is gone."""
    return status(pid).get("NSpid", "").split()


def stat(pid):
    """Fields of stat from the third on (state, ppid, pgrp, session, tty); [] when it is gone."""
    try:
        return read("/proc/%d/stat" % pid).rpartition(") ")[2].split()
    except OSError:
        return []


def state(pid):
    return (stat(pid) or "X")[0]


def children(parent):
    return sorted(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if stat(pid)[1:2] == [str(parent)])
