"""The service behind the client: how it is found and started, how it ends, and what a program is told when it has died."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import agentjail
import procfs
from agentjail import Jail, Service, ServiceDied, Session, SessionEnded, SetupError, errors

# For tests whose snippets import little: the modules that a policy allows are most of what the start of a zygote takes.
FEW = {"extends": "snippet", "python": {"imports": ["json", "math", "time"]}}


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def children():
    return procfs.children(os.getpid())


def answers(path):
    """Does a service listen there? Its socket is there a moment before it does."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0


class TestPrivate(unittest.TestCase):
    def test_of_a_program_without_standard_streams(self):
        code = "import os, agentjail\nfor fd in streams: os.close(fd)\nos._exit(agentjail.run('40 + 2', policy=few).value)"
        for streams in (0, 1, 2), (0, 1), (1, 2):
            given = f"streams, few = {streams!r}, {FEW!r}\n"
            self.assertEqual(subprocess.run([sys.executable, "-c", given + code], timeout=60, stderr=subprocess.DEVNULL).returncode, 42)

    def test_nothing_is_left(self):
        Service(parked=0).close()
        others = threading.enumerate()  # also of services that other tests share: these do not end here
        before = descriptors(), threading.active_count(), children()
        with Service(parked=1) as service:
            with Session([print_nothing], service=service) as s:
                s.run("print_nothing()").raise_for_status()
            Jail(service=service).run("1", on_stdout=lambda text: None)
        for thread in threading.enumerate():
            if thread.name.startswith("agentjail") and thread not in others:
                thread.join(60)
        self.assertEqual((descriptors(), threading.active_count(), children()), before)

    def test_after_close(self):
        service = Service()
        self.assertEqual(repr(service), "<Service not started>")
        service.ping()
        self.assertEqual(repr(service), f"<Service of process {service.pid}>")
        service.close()
        self.assertEqual((repr(service), repr(Service("/run/x"))), ("<Service closed>", "<Service at /run/x>"))
        with self.assertRaises(errors.ServiceClosed):
            Jail(service=service).run("1")

    def test_killed(self):
        with Service() as service:
            session = Session(service=service)
            failure = []

            def wait():
                try:
                    session.run("print(1, flush=True)\nwhile True: pass", on_stdout=lambda text: os.kill(service.pid, signal.SIGKILL))
                except Exception as e:
                    failure.append(e)

            threads = [threading.Thread(target=wait) for _ in range(1)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual([type(e) for e in failure], [ServiceDied])
            self.assertIn("signal 9", str(failure[0]))
            with self.assertRaisesRegex(SessionEnded, "ended with its service"):
                session.run("1")
            session.close()
            self.assertEqual(Jail(service=service).run("1").value, 1)

    def test_policies(self):
        with Service(policies=[{"extends": "snippet", "python": {"imports": ["json"]}}, "minimal"]) as service:
            self.assertEqual(service.policies, ["private", "minimal"])
            self.assertEqual(Jail(service=service).run("import math").status, "rejected")
            self.assertEqual(Jail(service=service, policy="minimal").run("1").raw["policy"]["name"], "minimal")
            with self.assertRaises(errors.NoSuchPolicy):
                Jail(service=service, policy="none").run("1")

    def test_a_policy_as_text_and_as_file(self):
        text = 'extends = "snippet"\n[python]\nimports = ["json"]\n'
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "mine.toml")
            path.write_text(text)
            os.symlink(folder, folder + ".link")
            self.addCleanup(os.unlink, folder + ".link")
            with Service(policies=[text, path], parked=0) as service:
                self.assertEqual(service.policies, ["private", "mine"])
                self.assertEqual([Jail(service=service, policy=p).run("import math").status for p in service.policies], ["rejected"] * 2)
            with Service(policy=folder + ".link/mine.toml", parked=0) as service:
                self.assertEqual(service.policies, ["mine"])
        with Service(parked=0) as service, self.assertRaisesRegex(TypeError, "name of one"):
            Jail(service=service, policy={"extends": "snippet"})

    def test_limits(self):
        with Service(timeout=0.3, parked=0) as service:
            self.assertEqual(Jail(service=service).run("while True: pass").status, "timeout")
        with self.assertRaisesRegex(TypeError, "timeuot"):
            Service(timeuot=1)

    def test_shared_by_like_jails(self):
        one, two, other = Jail(), Jail(timeout=1), Jail(imports=["json"])
        self.assertIs(one.service, two.service)
        self.assertIsNot(one.service, other.service)
        self.assertEqual(other.run("import json; json.loads('1')").value, 1)
        self.assertEqual(agentjail.run("2 ** 3").value, 8)
        agentjail.service.close_all()

    def test_address(self):
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(SetupError, "no service answers"):
                Service(folder + "/none").ping()
            log = open(folder + "/log", "w")
            process = subprocess.Popen([os.environ["AGENTJAIL"], "serve", "--socket", folder + "/s", "--parked", "0"], stderr=log)
            try:
                while not answers(folder + "/s"):
                    self.assertIsNone(process.poll())
                with Service(folder + "/s") as service:
                    self.assertEqual(Jail(service=service).run("1").value, 1)
                    self.assertIsNone(service.pid)
            finally:
                process.terminate()
                process.wait()
                log.close()


class TestStart(unittest.TestCase):
    def test_no_program(self):
        with self.assertRaisesRegex(SetupError, "fix: pip install"):
            Service(program="/nonexistent/agentjail").ping()

    def test_a_policy_that_does_not_load(self):
        with self.assertRaisesRegex(SetupError, "nonsense"), Service(policy={"nonsense": 1}) as service:
            service.ping()

    def test_a_program_that_is_none(self):
        with self.assertRaises(SetupError):
            Service(program="/bin/false").ping()


def print_nothing():
    return None


if __name__ == "__main__":
    sys.exit(unittest.main())
