"""Many at a time: threads, snippets beyond the room that there is, deaths while many wait, interrupts; and that nothing is left of them."""

import contextvars
import gc
import os
import signal
import threading
import unittest
import unittest.mock

import agentjail
from agentjail import Jail, Service, ServiceDied, Session, Tool, errors
from test_service import FEW, children, descriptors


def in_threads(count, work):
    """What `work` gives for each number, from as many threads; an exception is what it gives, too."""
    out = [None] * count

    def one(i):
        try:
            out[i] = work(i)
        except Exception as e:
            out[i] = e

    threads = [threading.Thread(target=one, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return out


class TestMany(unittest.TestCase):
    def test_threads_do_not_mix(self):
        def agent(i):
            with Session({"mine": lambda x: [i, x]}, service=service) as s:
                s.set(i=i)
                return [s.run("mine(i * 100 + k)", inputs={"k": k}).value for k in range(10)]

        with Service(policy=FEW) as service:
            got = in_threads(12, agent)
            self.assertEqual(got, [[[i, i * 100 + k] for k in range(10)] for i in range(12)])

    def test_one_session_for_many_threads(self):
        with Service(policy=FEW, parked=0) as service, Session(service=service) as s:
            s.run("n = 0")
            got = in_threads(6, lambda i: s.run("n += 1; n").value)
            self.assertEqual(sorted(got), [1, 2, 3, 4, 5, 6])

    def test_more_than_there_is_room_for(self):
        with Service(policy=FEW, jails_max=2, queue_max=4, parked=0) as service:
            jail = Jail(service=service)
            self.assertEqual([r.value for r in jail.map(map(str, range(60)), workers=20)], list(range(60)))
            self.assertEqual(in_threads(10, lambda i: jail.run(str(i)).value), list(range(10)))

    def test_no_room_for_too_long(self):
        with Service(policy=FEW, sessions_max=1, parked=0, busy_timeout=0.1) as service, Session(service=service):
            with self.assertRaises(errors.Busy) as caught:
                Session(service=service)
            self.assertIsInstance(caught.exception.retry_ms, int)

    def test_more_sessions_than_jails_by_default(self):
        with Service(policy=FEW, sessions_max=66, parked=0) as service:
            sessions = [Session(service=service) for _ in range(66)]
            self.assertEqual(sessions[-1].run("1").value, 1)
            for session in sessions:
                session.close()

    def test_tools_that_need_jails(self):
        failures, both, refused = [], threading.Barrier(2), threading.Barrier(2)

        def inner() -> int:
            both.wait(60)
            try:
                return Jail(service=service).run("1").value
            except errors.Busy as e:
                failures.append(e)
                refused.wait(60)  # else the end of the first one's run makes room for the second
                raise

        with Service(policy=FEW, jails_max=2, parked=0, timeout=20) as service:
            jail = Jail(tools=[inner], service=service)
            got = in_threads(2, lambda i: jail.run("inner()"))
            self.assertEqual([r.status for r in got], ["error", "error"])
            self.assertIn("2 by runs that wait for a tool", got[0].error.message)
            self.assertIn("beside its caller's", failures[0].fix)

    def test_all_that_wait_are_told(self):
        with Service(policy=FEW, parked=0) as service:
            sessions = [Session(service=service) for _ in range(4)]
            before = len(children())
            killer = threading.Timer(0.3, lambda: os.kill(service.pid, signal.SIGKILL))
            killer.start()
            got = in_threads(4, lambda i: sessions[i].run("while True: pass"))
            killer.join()
            self.assertEqual([type(e) for e in got], [ServiceDied] * 4)
            self.assertEqual(len({id(e) for e in got}), 4)
            self.assertEqual(in_threads(4, lambda i: Jail(service=service).run(str(i)).value), [0, 1, 2, 3])
            self.assertEqual(len(children()), before)

    def test_closed_while_many_wait(self):
        service = Service(policy=FEW, parked=0)
        sessions = [Session(service=service) for _ in range(3)]
        closer = threading.Timer(0.2, service.close)
        closer.start()
        got = in_threads(3, lambda i: sessions[i].run("while True: pass"))
        closer.join()
        self.assertEqual([type(e) for e in got], [errors.ServiceClosed] * 3)

    @unittest.mock.patch("agentjail._workers.IDLE_S", 0.01)
    def test_nothing_is_left_of_sessions(self):
        def counts():
            """When the threads of tools have ended: that takes them until they were idle for a while."""
            for thread in threading.enumerate():
                if thread.name == "agentjail-tool":
                    thread.join(60)
            return descriptors(), threading.active_count()

        with Service(policy=FEW, parked=0) as service:
            with Session([Tool(lambda: 1, name="one")], service=service) as s:
                s.run("one()")
            before = counts()
            for _ in range(20):
                with Session([Tool(lambda: 1, name="one")], service=service) as s:
                    self.assertEqual(s.run("one()").value, 1)
            self.assertEqual(counts(), before)
            self.assertEqual((service.stats()["sessions"], len(service._link._core._pending)), (0, 0))

    def test_a_session_that_was_given_up(self):
        with Service(policy=FEW, parked=0) as service:
            session = Session(service=service)
            with self.assertWarns(ResourceWarning):
                del session
                gc.collect()
            service.ping()
            self.assertEqual(service.stats()["sessions"], 0)

    def test_a_late_tool_is_harmless(self):
        gate, late = threading.Event(), threading.Event()

        def slow():
            gate.wait()
            late.set()
            return 1

        with Service(policy=FEW, parked=0) as service, Session([slow], service=service) as s:
            self.assertEqual(s.run("slow()", timeout=0.2).status, "timeout")
            gate.set()
            late.wait()
            with Session([slow], service=service) as other:
                self.assertEqual(other.run("slow()").value, 1)

    def test_context_of_the_caller(self):
        who = contextvars.ContextVar("who")

        async def later():
            return who.get()

        with Service(policy=FEW, parked=0) as service, Session({"whoami": lambda: who.get(), "later": later}, service=service) as s:
            who.set("alice")
            self.assertEqual(s.run("whoami(), await later()").value, ("alice", "alice"))

    def test_a_tool_that_asks_its_own_session(self):
        async def ask_later():
            return s.get("x")

        with Service(policy=FEW, parked=0) as service:
            tools = {"ask": lambda: s.run("1"), "files": lambda: len(s.list_files("/tmp")), "other": lambda: Jail(service=service).run("2").value, "ask_later": ask_later}
            with Session(tools, service=service) as s:
                for code in ("ask()", "await ask_later()"):
                    self.assertRegex(s.run(code).error.message, "ReentrantCall: a tool cannot ask for .(run|get). in the session")
                self.assertEqual(s.run("files(), other()").value, (0, 2))
                with Service(policy=FEW, parked=0) as elsewhere, Session(service=elsewhere) as namesake:
                    self.assertEqual(namesake.name, s.name)
                    s.add_tools({"far": lambda: namesake.run("3").value})
                    self.assertEqual(s.run("far()").value, 3)

    def test_calls_at_the_same_time(self):
        both = threading.Barrier(2, timeout=60)

        def meet(x):
            both.wait()
            return x

        async def later(x):
            return x

        with Service(parked=0) as service:
            with Session([Tool(meet, asynchronous=True), later], service=service) as s:
                self.assertEqual(s.run("import asyncio\nawait asyncio.gather(meet(1), meet(2), later(3))").value, [1, 2, 3])

    def test_ctrl_c(self):
        with Service(policy=FEW, parked=0) as service, Session(service=service) as s:
            s.run("x = 1")
            with self.assertRaises(KeyboardInterrupt):
                s.run("print(1, flush=True)\nwhile True: pass", on_stdout=lambda text: signal.raise_signal(signal.SIGINT))
            timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                s.run("while True: pass")
            timer.join()
            self.assertEqual(s.get("x"), 1)
            self.assertEqual(agentjail.Jail(service=service).run("2").value, 2)

    def test_large_values(self):
        with Service(policy=FEW, parked=0) as service, Session({"echo": lambda x: x}, service=service, timeout=60) as s:
            data = os.urandom(200_000)
            self.assertEqual(s.run("echo(data)", inputs={"data": data}).value, data)
            s.write_files({"large": bytes(12_000_000)})
            self.assertEqual(s.run("len(open('/input/large', 'rb').read())").value, 12_000_000)
            with self.assertRaisesRegex(errors.TooLarge, r"Service\(request_max=…\)"):
                s.run("1", files={"larger": bytes(60_000_000)})
            out = []
            s.run("print('x' * 300_000)", on_stdout=out.append)
            self.assertEqual(sum(map(len, out)), 300_001)


if __name__ == "__main__":
    unittest.main()
