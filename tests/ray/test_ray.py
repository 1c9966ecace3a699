"""agentjail.ray on a cluster of two nodes, made of real processes of Ray on this machine: what crosses, where it runs, how much at a time;
and nodes, actors and programs that are killed: each call is answered or says why not, and nothing is left."""

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.cluster_utils import Cluster

import agentjail
import agentjail.ray
import procfs
from agentjail import SessionEnded, SetupError, SnippetError, errors
from agentjail.ray import NodeDied
from until import until

NODE = {"num_cpus": 1, "resources": {"jails": 4}, "object_store_memory": 80 << 20, "include_dashboard": False}
# Ray's own figures, 10 s each time and 3 s between them, let a minute pass until a machine that answers nothing is called dead.
DEATH = {"health_check_timeout_ms": 4000, "health_check_period_ms": 1000, "health_check_failure_threshold": 5}
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATIENCE_S = 120  # for what happens at once, on a machine that has much else to do


def tree(pid):
    """A process and all that descend from it."""
    return [pid, *procfs.below(pid)]


def where():
    """The process that runs the tools."""
    return os.getpid()


def note(path: str, number: int):
    """Say that a snippet ran."""
    with open(path, "a") as f:
        f.write(f"{number}\n")


def service_of(actor):
    """The service that an actor's process has started."""
    for pid in procfs.below(actor):
        if b"\0serve\0--connection\0" in procfs.read(f"/proc/{pid}/cmdline", "rb"):
            return pid
    raise AssertionError(f"the actor {actor} has no service")


class TestRay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(initialize_head=True, head_node_args={**NODE, "_system_config": DEATH})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.second = cls.cluster.add_node(**NODE)
        ray.init(address=cls.cluster.address, log_to_driver=False, logging_level="error")
        cls.addClassCleanup(ray.shutdown)

    def connect(self, *args, **options):
        jails = agentjail.ray.connect(*args, **options)
        self.addCleanup(jails.close)
        return jails

    def ended(self, pids):
        self.assertTrue(until(lambda: not any(map(procfs.alive, pids)), PATIENCE_S), f"these live on: {[p for p in pids if procfs.alive(p)]}")

    # --- what crosses ---

    def test_snippets(self):
        jails = self.connect(jails=2, tools=[where], allow_imports=["json"], timeout=20)
        self.assertEqual(len(jails.nodes), 2)
        self.assertEqual([r.value for r in jails.map([f"{n} ** 2, {{1, 2}}" for n in range(20)])], [(n**2, {1, 2}) for n in range(20)])
        self.assertEqual({n: r.value for n, r in jails.map(map(str, range(5)), ordered=False, workers=2)}, dict(enumerate(range(5))))
        failed = jails.run("rows = [1]\nrows[2]")
        self.assertEqual((failed.status, failed.error.line), ("error", 2))
        with self.assertRaises(SnippetError):
            _ = failed.value
        self.assertEqual(jails.run("while True: pass", timeout=0.3).status, "timeout")
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:  # a path is one of this program's machine
            f.write("hello")
            f.flush()
            name = os.path.basename(f.name)
            self.assertEqual(jails.run(f"open('/input/{name}').read() + x", files=[f.name], inputs={"x": "!"}).value, "hello!")
        self.assertEqual([r.value for r in jails.map({"code": "int(input()) * 2", "stdin": f"{i}\n"} for i in range(3))], [0, 2, 4])
        self.assertNotEqual(jails.run("where()").value, os.getpid())
        self.assertEqual(len({r.value for r in jails.map(["where()"] * 16)}), 2)
        with self.assertRaises(TypeError):
            jails.run("1", no_such_option=1)
        with self.assertRaises(errors.NoSuchPolicy):
            jails.session(policy="no-such-policy")

    def test_sessions(self):
        jails = self.connect(jails=4, tools=[where])
        one, two = jails.session(branching=True), jails.session()
        self.assertNotEqual(one.node, two.node)
        home = one.run("x = 1; where()").value
        for s, actor in ((one, home), (two, two.run("x = 1; where()").value)):
            self.assertEqual([s.run("x += 1; (x, where())").value for _ in range(3)], [(n, actor) for n in (2, 3, 4)])
        self.assertEqual((one.get("x"), one.get("y", 7), one.vars()["x"].type), (4, 7, "int"))
        one.set(rows=[(1, "a")])
        one.write_files({"/tmp/a": b"bytes"})
        self.assertEqual((one.read_file("/tmp/a"), [e.name for e in one.list_files()], one.get("rows")), (b"bytes", ["a"], [(1, "a")]))
        kept = one.checkpoint()
        with one.fork() as fork:
            self.assertEqual((fork.node, fork.run("x = 'fork'; where()").value), (one.node, home))
            one.run("x = 'changed'")
            one.rollback(kept)
            self.assertEqual((one.get("x"), fork.get("x")), (4, "fork"))

        two.run("n = 0")
        threads = [threading.Thread(target=two.run, args=("import time; m = n; time.sleep(0.05); n = m + 1",)) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(two.get("n"), 6)  # one at a time, and each once

        waker = threading.Timer(1, one.interrupt)
        waker.start()
        self.assertEqual(one.run("while True: pass").error.type, "KeyboardInterrupt")
        waker.join()

        @ray.remote(num_cpus=0)
        def go_on(session):
            return session.run("x + 1").value

        self.assertEqual(ray.get(go_on.remote(one), timeout=PATIENCE_S), 5)
        one.close()
        one.close()
        with self.assertRaises(SessionEnded):
            one.run("1")
        copy = pickle.loads(pickle.dumps(two))
        two.close()
        with self.assertRaises(SessionEnded):
            copy.run("1")

    def test_a_service_that_runs(self):
        folder = tempfile.mkdtemp()
        address = os.path.join(folder, "s")
        command = [os.environ["AGENTJAIL"], "serve", "--socket", address, "--rootfs", os.environ["AGENTJAIL_ROOTFS"]]
        service = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            self.assertTrue(until(lambda: os.path.exists(address), PATIENCE_S))
            jails = self.connect(jails=2, address=address)
            self.assertEqual([r.value for r in jails.map(map(str, range(8)))], list(range(8)))
            with agentjail.Service(address) as other, jails.session():
                self.assertEqual(other.stats()["sessions"], 1)
            jails.close()
        finally:
            service.terminate()
            service.wait()
            os.rmdir(folder)
        with self.assertRaisesRegex(SetupError, "no service answers at"):
            self.connect(address=address)

    def test_a_map_that_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ran")
            jails = self.connect(nodes=[self.second.node_id], jails=1, queue=20, tools=[note])
            code = "import time; note(path, n); time.sleep(0.3)"
            results = jails.map(({"code": code, "inputs": {"path": path, "n": n}} for n in range(1000)), workers=16)
            self.assertTrue(next(results).ok)
            results.close()
            self.assertEqual(jails.run("1").value, 1)  # after all that waits there
            with open(path) as f:
                self.assertLess(len(f.readlines()), 12)  # what had begun, not what had been sent

    # --- how much at a time ---

    def test_backpressure(self):
        jails = self.connect(nodes=[self.second.node_id], jails=1, queue=2, busy_timeout=0)
        sleep = "import time; time.sleep(1)"
        got = list(jails.map([sleep] * 6, workers=6, return_exceptions=True))
        self.assertEqual([type(g) for g in got].count(errors.Busy), 4, got)  # max_pending_calls
        self.assertTrue(all(g.retry_ms for g in got if isinstance(g, errors.Busy)))
        with jails.session(), self.assertRaises(errors.Busy) as caught:  # the service's own word
            jails.run("1")
        self.assertGreater(caught.exception.retry_ms, 0)
        jails.busy_timeout = PATIENCE_S
        self.assertEqual([r.value for r in jails.map(map(str, range(40)), workers=20)], list(range(40)))
        session = jails.session()
        threading.Timer(1, session.close).start()
        self.assertEqual(jails.run("1").value, 1)  # once the session has gone

    def test_the_resource(self):
        first = self.connect(nodes=[self.second.node_id])
        with self.assertRaisesRegex(errors.Busy, "other programs may have taken"):
            self.connect(nodes=[self.second.node_id], jails=1, start_timeout=2)
        first.close()
        with self.assertRaises(errors.ServiceClosed):
            first.run("1")
        self.assertEqual(self.connect(nodes=[self.second.node_id], jails=1).run("1").value, 1)

    def test_no_machine(self):
        with self.assertRaisesRegex(SetupError, "no such machine"):
            self.connect(nodes=["elsewhere"])
        with self.assertRaises(SetupError):  # the machine's own words
            self.connect(jails=1, program="/bin/false")

    # --- ends ---

    def test_close_leaves_nothing(self):
        jails = self.connect(jails=2, tools=[where], policy={"extends": "snippet"})
        jails.session()
        actors = {r.value for r in jails.map(["where()"] * 16)}
        pids = [pid for actor in actors for pid in tree(actor)]
        self.assertGreater(len(pids), 6)
        jails.close()
        self.ended(pids)
        self.assertEqual([n for n in os.listdir(tempfile.gettempdir()) if n.startswith(tuple(f"agentjail-policies-{a}-" for a in actors))], [])

    def test_actor_or_service_killed(self):
        jails = self.connect(nodes=[self.second.node_id], jails=2, tools=[where])
        session = jails.session()
        actor = session.run("where()").value
        os.kill(service_of(actor), signal.SIGKILL)
        with self.assertRaises((errors.ServiceDied, SessionEnded)):
            session.run("1")
        self.assertTrue(until(lambda: self.value_or_none(jails) == 1, PATIENCE_S))  # by another service
        pids = tree(actor)
        os.kill(actor, signal.SIGKILL)
        with self.assertRaises(NodeDied) as caught:
            jails.run("1")
        self.assertIn(self.second.node_id[:8], caught.exception.node)
        self.ended(pids)

    @staticmethod
    def value_or_none(jails):
        try:
            return jails.run("1").value
        except errors.ServiceDied:
            return None

    def test_examples(self):
        folder = os.path.join(TOP, "docs", "examples")
        for name in ("ray_rollouts.py",):
            done = subprocess.run([sys.executable, os.path.join(folder, name)], capture_output=True, text=True, env={**os.environ, "RAY_ADDRESS": self.cluster.address})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[0], "64 rollouts, 16 solved, mean reward 0.125")
            self.assertEqual(done.stdout.splitlines()[1:], ["the session's total: 42"])

    def test_program_killed(self):
        program = subprocess.Popen(
            [sys.executable, "-c", DRIVER, self.cluster.address], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        )
        with program:
            pids = tree(int(program.stdout.readline()))
            self.assertGreater(len(pids), 2)
            program.kill()
        self.ended(pids)

    def test_node_killed_under_load(self):
        node = self.cluster.add_node(**NODE)
        jails = self.connect(nodes=[self.second.node_id, node.node_id], jails=4, tools=[where, note])
        sessions = [jails.session(), jails.session()]
        for s in sessions:
            s.run("x = 41")
        lost, kept = sorted(sessions, key=lambda s: node.node_id[:8] not in s.node)
        pids = tree(lost.run("where()").value)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ran")
            codes = [{"code": "import time; note(path, n); time.sleep(0.2); n", "inputs": {"path": path, "n": n}} for n in range(80)]
            got = {}
            for number, outcome in jails.map(codes, ordered=False, return_exceptions=True):
                self.assertNotIn(number, got)
                got[number] = outcome
                if len(got) == 10:
                    self.cluster.remove_node(node, allow_graceful=False)
            self.assertEqual(sorted(got), list(range(80)))
            died = [n for n, g in got.items() if isinstance(g, Exception)]
            self.assertTrue(died)
            for number, outcome in got.items():
                if number in died:
                    self.assertIsInstance(outcome, NodeDied)
                    self.assertIn(node.node_id[:8], outcome.node)
                else:
                    self.assertEqual(outcome.value, number)
            with open(path) as f:
                ran = [int(line) for line in f]
            self.assertEqual(len(ran), len(set(ran)))  # at most once, and
            self.assertLessEqual(set(range(80)) - set(died), set(ran))
        self.assertEqual(kept.run("x + 1").value, 42)
        with self.assertRaises(NodeDied):
            lost.run("x")
        lost.close()
        self.ended(pids)
        self.assertTrue(until(lambda: jails.run("1", retries=2).value == 1 and len(jails.nodes) == 1, PATIENCE_S))  # it is struck off
        self.assertEqual([r.value for r in jails.map(map(str, range(20)))], list(range(20)))

    def test_node_cut_off(self):
        """A machine from which no packet comes, and whose connections stay open: its processes are stopped, and go on when it is back."""
        node = self.cluster.add_node(**NODE)
        jails = self.connect(nodes=[self.second.node_id, node.node_id], jails=2, tools=[where, note])
        sessions = [jails.session(), jails.session()]
        for s in sessions:
            s.run("x = 41")
        lost, kept = sorted(sessions, key=lambda s: node.node_id[:8] not in s.node)
        actor = lost.run("where()").value
        raylet = node.all_processes["raylet"][0].process
        cut = tree(raylet.pid)
        self.assertIn(actor, cut)
        of_the_actor = [pid for pid in tree(actor) if pid in cut]  # meanwhile a jail may have ended, and another one may have begun
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ran")
            outcome = []

            def wait():
                with self.assertRaises(NodeDied) as caught:
                    lost.run("note(path, 1)", inputs={"path": path})
                outcome.append(caught.exception.node)
            for pid in cut:
                os.kill(pid, signal.SIGSTOP)
            waits = threading.Thread(target=wait)
            waits.start()
            try:
                self.assertEqual([kept.run("x + 1").value for _ in range(3)], [42] * 3)
                self.assertEqual([r.value for r in jails.map(map(str, range(8)), retries=1)], list(range(8)))
                waits.join(PATIENCE_S)
            finally:
                for pid in cut:
                    os.kill(pid, signal.SIGCONT)
            waits.join(PATIENCE_S)
            self.assertEqual(len(outcome), 1)
            self.assertIn(node.node_id[:8], outcome[0])
            raylet.wait(PATIENCE_S)  # it hears that it is dead, and ends
            self.ended(of_the_actor)  # and so do the actor, its service and its jails
            if os.path.exists(path):
                with open(path) as f:
                    self.assertEqual(f.read(), "1\n")  # at most once
        self.cluster.remove_node(node, allow_graceful=False)
        lost.close()
        self.assertEqual((kept.run("x + 1").value, jails.run("1", retries=1).value), (42, 1))

    def test_stateless_work_goes_elsewhere(self):
        node = self.cluster.add_node(**NODE)
        jails = self.connect(nodes=[self.second.node_id, node.node_id], jails=4)
        codes = [f"import time; time.sleep(0.2); {n}" for n in range(60)]
        got = {}
        for number, result in jails.map(codes, ordered=False, retries=3):
            got[number] = result.value
            if len(got) == 10:
                self.cluster.remove_node(node, allow_graceful=False)
        self.assertEqual(got, {n: n for n in range(60)})
        self.assertEqual(jails.run("6 * 7", retries=1).value, 42)


DRIVER = """
import os, sys, time, ray, agentjail.ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
def where():
    return os.getpid()
jails = agentjail.ray.connect(jails=1, tools=[where])
session = jails.session()
print(session.run("where()").value, flush=True)
session.run("import time; time.sleep(1000)", timeout=1000)
"""

if __name__ == "__main__":
    unittest.main()
