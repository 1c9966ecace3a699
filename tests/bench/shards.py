"""A service of 1, 2 and 4 processes under 8 clients, each with a tenant of its own: snippets in sessions and fresh jails a second, and the
processor time that the service's own processes take for each. It asserts nothing; `make bench-shards` runs it."""
import importlib.util, multiprocessing, os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("example", HERE + "/../../docs/examples/client.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)
CLIENTS, SECONDS, ROUNDS = 8, 2.0, 3


def connect(path):
    end = time.monotonic() + 30
    while True:
        try:
            return example.Client(path)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def client(path, tenant, fresh, begin, counts):
    c = connect(path)
    session = None if fresh else c.ask("open", tenant=tenant, brief=True)["session"]
    ask = (lambda: c.ask("exec", tenant=tenant, code="1+1")) if fresh else (lambda: c.ask("run", session=session, code="1+1"))
    ask()
    begin.wait()
    end, count = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        ask()
        count += 1
    counts.put(count)


def used_s(pids):
    ticks = 0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rpartition(") ")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def shards_of(pid, count):
    if count == 1:
        return [pid]
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(one) for one in f.read().split()]


def measure(program, count, fresh):
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/s"
        service = subprocess.Popen([program, "serve", "--socket", path, "--shards", str(count), "--clients-max", "64", "--sessions-max", "64",
                                    "--jails-max", "256", "--pools-max", "64"], stderr=subprocess.DEVNULL)
        try:
            connect(path).ask("ping")
            begin, counts = multiprocessing.Barrier(CLIENTS + 1), multiprocessing.Queue()
            clients = [multiprocessing.Process(target=client, args=(path, "tenant %d" % i, fresh, begin, counts)) for i in range(CLIENTS)]
            for one in clients:
                one.start()
            begin.wait()
            own = shards_of(service.pid, count)
            before = used_s(own)
            done = sum(counts.get() for _ in clients)
            return done / SECONDS, (used_s(own) - before) / done * 1e6
        finally:
            for one in clients:
                one.join(30)
            service.terminate()
            service.wait(60)


def main():
    program = os.environ["AGENTJAIL"]
    print("%d clients with a tenant each, %d processors; medians of %d rounds of %.0f s" % (CLIENTS, os.cpu_count(), ROUNDS, SECONDS))
    print("%-34s %8s %12s %26s" % ("", "shards", "a second", "the service's own µs each"))
    for fresh, name in ((False, "a snippet `1+1` in a session"), (True, "`exec` of `1+1`, a fresh jail")):
        for count in (1, 2, 4):
            rounds = sorted(measure(program, count, fresh) for _ in range(ROUNDS))
            rate, own = rounds[ROUNDS // 2]
            print("%-34s %8d %12.0f %26.0f" % (name, count, rate, own), flush=True)


if __name__ == "__main__":
    sys.exit(main())
