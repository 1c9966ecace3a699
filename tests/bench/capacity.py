"""One machine's figures for docs/internals/capacity.md: sessions alive and what each takes, births and snippets a second, what a connection takes.

Usage: capacity.py [SESSIONS]    1000 without it, of a tenant for each thousand. With the client of src/sdk and a service of its own;
$AGENTJAIL names another program.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "src", "sdk", "python"), os.path.join(TOP, "tests")]
os.environ.setdefault("AGENTJAIL", os.path.join(TOP, "build", "agentjail"))

import agentjail
import procfs


def available_kib():
    with open("/proc/meminfo") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("MemAvailable"))


def resident_kib(pid):
    return int(procfs.status(pid)["VmRSS"].split()[0])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def load():
    return f"load {os.getloadavg()[0]:.1f}"


def sessions(most):
    print(f"sessions alive, {os.cpu_count()} processors, {load()}")
    with agentjail.Service(sessions_max=most, jails_max=most + 8, parked=2) as service:
        service.ping()
        time.sleep(1)
        pid, opened = service.pid, []
        begin = (len(procfs.below(pid)), descriptors(pid), resident_kib(pid), available_kib())
        for want in (n for n in (10, 100, 300, 1000, 3000) if n <= most):
            start, count = time.monotonic(), want - len(opened)
            opened += [agentjail.Session(service=service, tenant=f"tenant-{n // 1000}") for n in range(len(opened), want)]
            opening = (time.monotonic() - start) / count
            turns = min(want, 300)
            start = time.monotonic()
            for s in opened[-turns:]:
                s.run("1+1")
            snippet = (time.monotonic() - start) / turns
            now = (len(procfs.below(pid)), descriptors(pid), resident_kib(pid), available_kib())
            print(f"{want:6}  opened {opening * 1e3:5.1f} ms each, `1+1` in turn {snippet * 1e3:5.2f} ms; each: processes {(now[0] - begin[0]) / want:.1f}, "
                  f"descriptors {(now[1] - begin[1]) / want:.1f}, the service {(now[2] - begin[2]) / want:.0f} KiB, the machine {(begin[3] - now[3]) / want:.0f} KiB")
        start = time.monotonic()
        for s in opened:
            s.close()
        print(f"        closed in {time.monotonic() - start:.1f} s, {load()}")


def flow():
    with agentjail.Service(parked=8, jails_max=64) as service:
        jail = agentjail.Jail(service=service)
        for workers in (1, 2, 16):
            list(jail.map(["1"] * 50, workers=workers))
            count, start = 400, time.monotonic()
            for _ in jail.map(["2+2"] * count, workers=workers):
                pass
            print(f"fresh jails a second, {workers} at a time: {count / (time.monotonic() - start):.0f} ({load()})")
        with agentjail.Session(service=service) as s:
            count, start = 3000, time.monotonic()
            for _ in range(count):
                s.run("1+1")
            print(f"snippets a second in one session: {count / (time.monotonic() - start):.0f}")
        many = [agentjail.Session(service=service) for _ in range(16)]
        for s in many:
            s.run("1")
        import threading

        def work(s):
            for _ in range(200):
                s.run("1+1")

        threads = [threading.Thread(target=work, args=(s,)) for s in many]
        start = time.monotonic()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(f"snippets a second in 16 sessions by 16 threads: {3200 / (time.monotonic() - start):.0f} ({load()})")
        for s in many:
            s.close()


def connections(count=1000):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        tree = os.environ.get("AGENTJAIL_ROOTFS")
        process = subprocess.Popen([os.environ["AGENTJAIL"], "serve", "--socket", path, "--clients-max", str(count + 8), *(["--rootfs", tree] if tree else [])])
        try:
            while not os.path.exists(path):
                time.sleep(0.05)
            first = agentjail.Service(path)
            first.ping()
            time.sleep(1)
            begin, socks, start = (descriptors(process.pid), resident_kib(process.pid)), [], time.monotonic()
            for _ in range(count):
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(path)
                sock.recv(4096)
                socks.append(sock)
            each = (time.monotonic() - start) / count
            now = (descriptors(process.pid), resident_kib(process.pid))
            start = time.monotonic()
            for _ in range(300):
                first.ping()
            ping = (time.monotonic() - start) / 300
            print(f"{count} connections: {each * 1e6:.0f} us each, descriptors {(now[0] - begin[0]) / count:.1f}, the service {(now[1] - begin[1]) / count:.2f} KiB each; ping {ping * 1e6:.0f} us")
            for sock in socks:
                sock.close()
            first.close()
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    connections()
    flow()
    sessions(int(sys.argv[1]) if sys.argv[1:] else 1000)
