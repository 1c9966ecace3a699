"""The asyncio classes: the same answers, cancellation, tools in the loop, and that a loop's end leaves nothing."""

import asyncio
import gc
import os
import signal
import threading
import time
import unittest

from agentjail import AsyncJail, AsyncService, AsyncSession, Output, ServiceDied, SessionEnded, SnippetError, errors
from test_service import FEW, children, descriptors


class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.service = AsyncService(policy=FEW, parked=1)

    async def asyncTearDown(self):
        await self.service.close()
        self.assertEqual(asyncio.all_tasks(), {asyncio.current_task()})

    async def test_jail(self):
        jail = AsyncJail(service=self.service)
        results = await asyncio.gather(*[jail.run(f"{i} + 1") for i in range(10)])
        self.assertEqual([r.value for r in results], list(range(1, 11)))
        failed = await jail.run("1 / 0")
        self.assertRaises(SnippetError, lambda: failed.value)

    async def test_session(self):
        async with AsyncSession(service=self.service, branching=True) as s:
            await s.set(x={1, 2})
            self.assertEqual((await s.run("x.add(3); x")).value, {1, 2, 3})
            self.assertEqual((await s.get("x"), await s.get("y", 0), list(await s.vars())), ({1, 2, 3}, 0, ["x"]))
            await s.write_files({"a.txt": "text"})
            self.assertEqual((await s.read_file("/input/a.txt"), [e.name for e in await s.list_files("/input")]), (b"text", ["a.txt"]))
            kept = await s.checkpoint()
            async with await s.fork() as f:
                await f.run("x = 0")
                await s.run("x = 1")
                await s.rollback(kept)
                self.assertEqual((await s.get("x"), await f.get("x")), ({1, 2, 3}, 0))
            await s.forget(kept)
        with self.assertRaisesRegex(SessionEnded, "closed"):
            await s.run("1")

    async def test_output(self):
        async with AsyncSession(service=self.service) as s:
            got = []

            async def later(text):
                await asyncio.sleep(0)
                got.append(text)

            await s.run("print('a')", on_stdout=later)
            pieces = [piece async for piece in s.stream("print('b')\n1")]
            self.assertEqual((got, pieces[0].text, pieces[-1].value), (["a\n"], "b\n", 1))

    async def test_output_for_a_slow_reader(self):
        """Nothing is lost of what comes, with the run's end, while an earlier piece is handed on."""
        async def shown():
            while not got:
                await asyncio.sleep(0.01)

        async def slow(text):
            got.append(text)
            while s._link._core._pending:  # until the run has ended
                await asyncio.sleep(0.01)
        async with AsyncSession([shown], service=self.service) as s:
            for _ in range(2):
                got = []
                await s.run("print('a', flush=True); await shown(); print('b', flush=True)", on_stdout=slow)
                self.assertEqual("".join(got), "a\nb\n")
                got = []
                async for piece in s.stream("print('a', flush=True); await shown(); print('b', flush=True)"):
                    if isinstance(piece, Output):
                        await slow(piece.text)
                self.assertEqual("".join(got), "a\nb\n")

    async def test_tools(self):
        here = threading.current_thread()

        async def in_loop(x: int):
            await asyncio.sleep(0.01)
            return [x, threading.current_thread() is here]

        def in_thread(x: int):
            return [x, threading.current_thread() is here]

        async with AsyncService(parked=0) as service, AsyncSession([in_loop, in_thread], service=service) as s:
            both = "import asyncio\n(await asyncio.gather(in_loop(1), in_loop(2)), in_thread(3))"
            self.assertEqual((await s.run(both)).value, ([[1, True], [2, True]], [3, False]))

    async def test_a_tool_ends_with_its_run(self):
        cancelled = asyncio.Event()

        async def endless():
            try:
                await asyncio.sleep(3600)
            finally:
                cancelled.set()

        async with AsyncSession([endless], service=self.service) as s:
            self.assertEqual((await s.run("await endless()", timeout=0.3)).status, "timeout")
            await asyncio.wait_for(cancelled.wait(), 60)

    async def test_cancellation_interrupts(self):
        async with AsyncSession(service=self.service) as s:
            begun = asyncio.Event()
            task = asyncio.create_task(s.run("x = 1\nprint(1, flush=True)\nwhile True: pass", on_stdout=lambda text: begun.set()))
            await asyncio.wait_for(begun.wait(), 60)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(await s.get("x"), 1)

    async def test_map(self):
        jail = AsyncJail(service=self.service)
        self.assertEqual([r.value async for r in jail.map([str(i) for i in range(20)], workers=4)], list(range(20)))
        self.assertEqual(sorted([(i, r.value) async for i, r in jail.map(["5", "6"], ordered=False)]), [(0, 5), (1, 6)])

    async def test_left_early(self):
        jail = AsyncJail(service=self.service)
        results = jail.map(["1", *["while True: pass"] * 5], workers=3)
        self.assertEqual((await anext(results)).value, 1)
        await results.aclose()
        async with AsyncSession(service=self.service) as s:
            pieces = s.stream("print(1, flush=True)\nwhile True: pass")
            self.assertEqual((await anext(pieces)).text, "1\n")
            await pieces.aclose()
            self.assertEqual((await s.run("2")).value, 2)

    async def test_killed(self):
        async with AsyncSession(service=self.service) as s:
            with self.assertRaises(ServiceDied) as caught:
                await s.run("print(1, flush=True)\nwhile True: pass", on_stdout=lambda text: os.kill(self.service.pid, signal.SIGKILL))
            self.assertIn("signal 9", str(caught.exception))
            with self.assertRaises(SessionEnded):
                await s.run("1")
        self.assertEqual((await AsyncJail(service=self.service).run("1")).value, 1)

    async def test_a_service_that_does_not_read(self):
        """Requests longer than its socket wait in this process, the loop continues, and all are sent, or end with the service."""
        jail, text = AsyncJail(service=self.service), "x" * 1_000_000
        await self.service.ping()
        for ends in (False, True):
            os.kill(self.service.pid, signal.SIGSTOP)
            runs = [asyncio.create_task(jail.run(f"len(text) + {i}", inputs={"text": text})) for i in range(4)]
            await asyncio.sleep(0.05)
            link = self.service._link
            self.assertGreater(len(link._unsent), 0)
            self.assertFalse(link._room.is_set() or any(run.done() for run in runs))
            if ends:
                os.kill(self.service.pid, signal.SIGKILL)
                for run in runs:
                    with self.assertRaises(ServiceDied):
                        await run
            else:
                os.kill(self.service.pid, signal.SIGCONT)
                self.assertEqual([(await run).value for run in runs], [1_000_000 + i for i in range(4)])
        self.assertEqual((await jail.run("1")).value, 1)

    async def test_busy_is_tried_again(self):
        async with AsyncSession(service=self.service) as s:
            both = await asyncio.gather(s.run("import time; time.sleep(0.1); 1"), s.run("2"))
            self.assertEqual([r.value for r in both], [1, 2])


class TestLoops(unittest.TestCase):
    def test_the_end_of_a_loop_ends_its_service(self):
        asyncio.run(asyncio.sleep(0))
        before = descriptors(), children()

        async def main():
            jail = AsyncJail()
            result = await jail.run("6 * 7")
            return jail, result.value

        jail, value = asyncio.run(main())
        self.assertEqual((value, descriptors(), children()), (42, *before))
        self.assertEqual(asyncio.run(main())[1], 42)

    def test_a_service_moves_to_the_next_loop(self):
        service = AsyncService(policy=FEW, parked=0)
        session = []

        async def first():
            session.append(await AsyncSession(service=service).open())
            return (await session[0].run("1")).value

        async def second():
            with self.assertRaises(SessionEnded):
                await session[0].run("1")
            return (await AsyncJail(service=service).run("2")).value

        self.assertEqual((asyncio.run(first()), asyncio.run(second())), (1, 2))

    def test_two_loops_at_a_time(self):
        service = AsyncService(policy=FEW, parked=0)

        async def main():
            await service.ping()
            with self.assertRaisesRegex(errors.ServiceClosed, "another event loop"):
                await asyncio.to_thread(asyncio.run, service.ping())
            await service.close()

        asyncio.run(main())

    def test_a_session_that_was_given_up(self):
        async def main():
            async with AsyncService(policy=FEW, parked=0) as service:
                with self.assertWarns(ResourceWarning):
                    await AsyncSession(service=service).open()
                    gc.collect()
                await service.ping()
                end = time.monotonic() + 60
                while (await service.stats())["sessions"] and time.monotonic() < end:
                    await asyncio.sleep(0.01)
                self.assertEqual((await service.stats())["sessions"], 0)

        asyncio.run(main())
