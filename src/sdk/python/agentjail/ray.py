"""Jails on the machines of a Ray cluster: `connect()` starts one actor on each, and snippets and sessions go to the least loaded one.
No snippet is sent twice unless the caller says that it may be; a session never leaves its machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from . import errors
from ._base import BUSY_S, Pauses
from ._map import run_all, workers_of
from ._program import missing_package
from ._requests import Files, JailOptions, RunOptions, Unpack
from .errors import NodeDied
from .jail import Job, Progress, job_of, total_of
from .result import Result
from .tools import ToolLike, collect

try:
    import ray  # type: ignore[import-not-found]
    from ray.exceptions import GetTimeoutError  # type: ignore[import-not-found]
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # type: ignore[import-not-found]

    from ._raynode import JailNode, Node
    from ._raysession import Session, contents, portable_arguments
except ModuleNotFoundError as e:
    raise missing_package("ray", e) from None

__all__ = ["Cluster", "NodeDied", "Session", "connect"]

RESOURCE = "jails"  # of a machine: how many jails it may have at a time
START_S = 120.0  # until the actor of a machine answers: Ray starts a Python process there
END_S = 10.0


@dataclass
class _Task:
    """One snippet, which ends with a Result or with an exception. until: when it has waited long enough for room."""

    code: str
    options: Mapping[str, Any]
    retries: int
    until: float | None = None


@dataclass
class _Pending:
    """A task under way at a machine; or one that no machine took, and why."""

    request: _Task
    node: Node | None = None
    ref: Any = None
    future: Future[Any] | None = None
    error: errors.AgentjailError | None = None


class _Lanes:
    """The machines as one service that runs many snippets, for run_all(), which sends again what is Busy."""

    busy_timeout = float("inf")  # each task has its own

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def link(self) -> _Lanes:
        return self

    def start(self, request: _Task, wake: Callable[[], Any]) -> _Pending:
        pending = _Pending(request)
        try:
            node, pending.ref = self._cluster._first(lambda node: node.submit("run", request.code, request.options))
        except errors.AgentjailError as e:
            pending.error = e
            wake()
            return pending

        def over(_: Any) -> None:
            node.count(-1)
            wake()

        node.count(1)
        pending.node, pending.future = node, pending.ref.future()
        pending.future.add_done_callback(over)
        return pending

    def answer(self, pending: _Pending) -> Result | Exception:
        task = pending.request
        try:
            if pending.node is None or pending.future is None:
                raise pending.error or AssertionError
            result: Result = pending.node.answer(pending.future.result)
            return result
        except errors.Busy as e:
            task.until = task.until or time.monotonic() + self._cluster.busy_timeout
            if time.monotonic() < task.until:
                raise
            return e
        except (NodeDied, errors.ServiceDied) as e:
            if task.retries < 1 or not self._cluster.nodes:
                return e
            task.retries -= 1
            raise errors.Busy(str(e), retry_ms=1) from None
        except Exception as e:
            return e

    def forget(self, pending: _Pending) -> None:
        if pending.ref is not None:
            ray.cancel(pending.ref)  # one that has begun runs to its end


class Cluster:
    """The machines that connect() has found; use it with `with`, or close() it. Any number of threads may share it."""

    def __init__(self, nodes: list[Node], busy_timeout: float) -> None:
        self._nodes, self.busy_timeout = nodes, busy_timeout
        self._closed = False

    @property
    def nodes(self) -> list[str]:
        """The names of the machines that live, as far as this program was told."""
        return [node.name for node in self._nodes if node.died is None]

    def run(self, code: str, *, retries: int = 0, **options: Unpack[RunOptions]) -> Result:
        """Run a snippet in a jail of its own on the least loaded machine. A snippet that fails is a Result too.

        retries: how many times it may be sent to another machine when one has died with it; without it it runs at most once.
        NodeDied: its machine has died. Busy: no machine had room for `busy_timeout` seconds. options: as for Jail.run().
        """
        result: Result = next(self.map([{"code": code, **options}], retries=retries, progress=False))
        return result

    def map(
        self,
        codes: Iterable[Job],
        *,
        ordered: bool = True,
        workers: int | None = None,
        progress: Progress = None,
        retries: int = 0,
        return_exceptions: bool = False,
        **options: Unpack[RunOptions],
    ) -> Iterator[Any]:
        """Run many snippets, `workers` at a time (without it, two for each jail that there may be), and give their Results.

        codes, ordered, progress: as for Jail.map(). retries: for each snippet, as for run(). return_exceptions: the exception of a
        snippet that got no Result is given in its place; otherwise it is raised, and the rest is given up.
        """
        tasks = (_Task(job.pop("code"), job, retries) for job in (portable_arguments(*job_of(item, options)) for item in codes))
        bound = 2 * sum(node.jails for node in self._nodes) if workers is None else workers_of(workers)
        outcomes = run_all(_Lanes(self), tasks, bound, progress, ordered, total_of(codes))
        try:
            for item in outcomes:
                outcome = item if ordered else item[1]
                if isinstance(outcome, Exception) and not return_exceptions:
                    raise outcome
                yield item
        finally:
            outcomes.close()

    def session(
        self,
        tools: Iterable[ToolLike] | Mapping[str, ToolLike] | None = None,
        *,
        branching: bool = False,
        timeout: float | None = None,
        files: Files | None = None,
        **options: Unpack[JailOptions],
    ) -> Session:
        """A session on the least loaded machine that has room; it stays there. tools: without them those of connect()."""
        given = {"branching": branching, "timeout": timeout, "files": contents(files), **options}
        own = None if tools is None else collect(tools)
        pauses = Pauses(self.busy_timeout)
        while True:
            try:
                node, number = self._first(lambda node: node.ask(0, "open", own, given))
                node.count(1)
                return Session(node, number, self.busy_timeout)
            except errors.Busy as e:
                pause = pauses.next(e)
                if pause is None:
                    raise
            time.sleep(pause)

    def _first(self, ask: Callable[[Node], Any]) -> tuple[Node, Any]:
        """The least loaded machine that is not busy, and what it gave."""
        if self._closed:
            raise errors.ServiceClosed("the cluster was closed; connect() again")
        living = sorted((node for node in self._nodes if node.died is None), key=lambda node: node.order)
        busy: errors.Busy | None = None
        for node in living:
            try:
                return node, ask(node)
            except errors.Busy as e:
                busy = busy or e
        raise busy or self._nodes[0].died or AssertionError

    def close(self) -> None:
        """End all jails, sessions and actors. May be called again."""
        if self._closed:
            return
        self._closed = True
        if not ray.is_initialized():
            return
        ends = []
        for node in self._nodes:
            if node.died is not None:
                continue
            try:
                ends.append(node.submit("close", control=True))
            except errors.Busy:
                pass  # the service ends with its actor all the same
        if ends:
            ray.wait(ends, num_returns=len(ends), timeout=END_S)
        for node in self._nodes:
            ray.kill(node.actor)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    nodes: str | Iterable[str] = "all",
    *,
    jails: int | None = None,
    queue: int | None = None,
    tools: Iterable[ToolLike] | Mapping[str, ToolLike] = (),
    address: str | None = None,
    busy_timeout: float = BUSY_S,
    start_timeout: float = START_S,
    **service: Any,
) -> Cluster:
    """Start an actor on each machine of the Ray cluster that has the resource `jails`.

    nodes: "all", or ids, addresses or host names of machines. jails: how many of each machine's `jails` this program takes, at most
    so many run there for it at a time; without it all that the machine has. queue: calls that may be under way at a machine, those that
    wait for a jail included; further ones are Busy (without it four times `jails`). tools: functions that code may call; they are
    sent to the machines and run in the actors. address: the socket of a service on each machine; without it each actor starts a private
    one. busy_timeout: seconds for which a call that finds no room is tried again. service: as for agentjail.Service.

    SetupError: there is no such machine, or one can make no jail. Busy: other programs have taken a machine's `jails`.
    """
    own = collect(tools)
    if not ray.is_initialized():
        ray.init()
    if isinstance(nodes, str) and nodes != "all":
        nodes = [nodes]
    wanted = None if nodes == "all" else set(nodes)
    started: list[Node] = []
    cluster = Cluster(started, busy_timeout)
    try:
        for machine in ray.nodes():
            names = {machine["NodeID"], machine["NodeManagerAddress"], machine["NodeManagerHostname"], machine["NodeName"]}
            count = int(machine["Resources"].get(RESOURCE, 0)) if machine["Alive"] else 0
            if count >= 1 and (wanted is None or names & wanted):
                started.append(_start(machine, min(jails or count, count), queue, address, own, service))
        if not started:
            fix = "start Ray there with --resources='{\"jails\": 64}': how many jails the machine may have at a time"
            raise errors.SetupError(f"the Ray cluster has no {'such ' if wanted else ''}machine with the resource `jails`", fix)
        end = time.monotonic() + start_timeout
        for node in started:
            _wait_for(node, end)
    except BaseException:
        cluster.close()
        raise
    return cluster


def _start(machine: Mapping[str, Any], jails: int, queue: int | None, address: str | None, tools: Any, service: Mapping[str, Any]) -> Node:
    limits = {} if address is not None else {"jails_max": jails, "sessions_max": jails, "queue_max": 0}
    actor = (
        ray.remote(concurrency_groups={"control": 2})(JailNode)
        .options(
            num_cpus=0,
            resources={RESOURCE: jails},
            scheduling_strategy=NodeAffinitySchedulingStrategy(machine["NodeID"], soft=False),
            max_concurrency=jails,
            max_pending_calls=queue or 4 * jails,
            max_restarts=0,
            max_task_retries=0,
        )
        .remote(address, tools, {**limits, **service})
    )
    return Node(actor, f"{machine['NodeManagerHostname']} ({machine['NodeManagerAddress']}, {machine['NodeID'][:8]})", machine["NodeID"], jails)


def _wait_for(node: Node, end: float) -> None:
    ref = node.submit("start", control=True)
    try:
        node.answer(lambda: ray.get(ref, timeout=max(0.1, end - time.monotonic())))
    except GetTimeoutError:
        message = f"the actor of the node {node.name} did not start in time: other programs may have taken its `{RESOURCE}`"
        raise errors.Busy(message, "wait for them, or connect(jails=N) with fewer in each program") from None
