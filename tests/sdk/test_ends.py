"""How programs end that use the client: normally, by kill -9, in a fork, with a tool that hangs; and hosts on which no jail can be made.
Each runs as a program of its own."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import procfs

PATIENCE_S = 60


def program(text, *how, **options):
    """The output of a Python program, which must end well."""
    command = [*how, sys.executable, "-s", "-B", "-X", "dev", "-W", "error", "-c", textwrap.dedent(text)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, **options)


def gone(pid):
    end = time.monotonic() + PATIENCE_S
    while procfs.alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


NO_JAILS = "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\""


class TestEnds(unittest.TestCase):
    def ends(self, text):
        done = program(text)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.split()

    def test_a_program_that_closes_nothing(self):
        pid, value = self.ends("""
            import agentjail
            jail = agentjail.Jail()
            print(jail.service.link() and jail.service.pid, jail.run("1").value)
        """)
        self.assertTrue(value == "1" and gone(int(pid)))

    def test_a_tool_that_hangs_does_not_hold_the_end(self):
        (pid,) = self.ends("""
            import agentjail, time
            with agentjail.Session({"hang": lambda: time.sleep(3600)}) as s:
                s.run("hang()", timeout=0.2)
                print(s.service.pid)
        """)
        self.assertTrue(gone(int(pid)))

    def test_kill(self):
        text = """
            import agentjail, os, signal, time
            service = agentjail.Service()
            service.ping()
            child = os.fork()
            if child == 0:  # it holds what it has inherited
                os.closerange(1, 3)
                time.sleep(3600)
            print(service.pid, child, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        """
        done = program(text)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        service, child = map(int, done.stdout.split())
        try:
            self.assertTrue(gone(service))
            self.assertTrue(procfs.alive(child))
        finally:
            os.kill(child, signal.SIGKILL)

    def test_fork(self):
        said = self.ends("""
            import agentjail, os, sys, warnings
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork with threads
            session = agentjail.Session()
            session.run("x = 1")
            pid = session.service.pid
            child = os.fork()
            if child == 0:
                try:
                    session.run("x")
                except agentjail.SessionEnded as e:
                    print("ended" if "forked" in str(e) else e)
                print(agentjail.run("2").value, session.service.pid != pid, flush=True)
                agentjail.service.close_all()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            print(session.get("x"), session.service.pid == pid)
            session.close()
        """)
        self.assertEqual(said, ["ended", "2", "True", "1", "True"])

    def test_fork_by_multiprocessing(self):
        said = self.ends("""
            import agentjail, multiprocessing, warnings
            warnings.simplefilter("ignore", DeprecationWarning)
            print(agentjail.run("1").value, flush=True)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(*[r.value for r in pool.map(agentjail.run, ["2", "3"])])
            print(agentjail.run("4").value)
        """)
        self.assertEqual(said, ["1", "2", "3", "4"])

    def test_a_folder_of_policies_is_removed(self):
        (path,) = self.ends("""
            import agentjail
            service = agentjail.Service(policy={"extends": "snippet"})
            service.ping()
            print(service._process._folder.path)
        """)
        self.assertFalse(os.path.exists(path))


class TestNoJails(unittest.TestCase):
    def setUp(self):
        self.how = ["unshare", "-Ur", "sh", "-c", NO_JAILS, "sh"]
        if subprocess.run([*self.how, "true"], capture_output=True).returncode:
            self.skipTest("this user cannot make a user namespace to switch them off in")

    def test_one_exception_says_cause_and_fix(self):
        done = program("""
            import agentjail, asyncio
            try:
                agentjail.run("1")
            except agentjail.SetupError as e:
                print(e.message + "|" + e.fix)
            try:
                agentjail.Session()
            except agentjail.SetupError as e:
                print(e.fix)
            try:
                asyncio.run(agentjail.AsyncJail().run("1"))
            except agentjail.SetupError as e:
                print(e.fix)
        """, *self.how)
        first, *others = done.stdout.splitlines()
        self.assertRegex(first, "namespaces.*[|]user namespaces are switched off.*sysctl user.max_user_namespaces")
        self.assertEqual([first.partition("|")[2]] * 2, others)

    def test_doctor(self):
        done = subprocess.run([*self.how, sys.executable, "-m", "agentjail", "doctor"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stdout, "FAIL +one run.*\n +fix: user namespaces")


class TestCommands(unittest.TestCase):
    def test_doctor(self):
        done = subprocess.run([sys.executable, "-m", "agentjail", "doctor"], capture_output=True, text=True)
        self.assertLessEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"ok +program +/.*\n(?s:.*)ok +one run .*value 45")

    def test_version(self):
        done = subprocess.run([sys.executable, "-m", "agentjail", "version"], capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^libagentjail \d+\.\d+\.\d+\nagentjail \d+\.\d+\.\d+(\.post\d{14})?\n$")

    def test_without_a_program(self):
        environment = {**os.environ, "AGENTJAIL": "/nonexistent"}
        done = subprocess.run([sys.executable, "-m", "agentjail", "doctor"], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stdout, "fix: pip install .*libagentjail")
