"""Jails: each run gets one of its own, which was never used and ends with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar, Union, overload

from . import _requests as rq
from ._core import Request
from ._process import PolicyLike
from ._requests import JailOptions, OnText, RunOptions, Unpack
from .env import env_of
from .result import Result
from .service import Service, shared
from .tools import ToolLike, collect

Job = Union[str, Mapping[str, Any]]  # code, or the arguments of run(): {"code": ..., "inputs": ...}
Progress = Union[bool, Callable[[int, "int | None"], Any], None]
S = TypeVar("S")


class BaseJail(Generic[S]):
    """The common part of Jail and AsyncJail, which have the words."""

    def __init__(
        self,
        *,
        policy: PolicyLike | None = None,
        tools: Iterable[ToolLike] | Mapping[str, ToolLike] = (),
        timeout: float | None = None,
        service: S | None = None,
        **options: Unpack[JailOptions],
    ) -> None:
        self.tools = collect(tools)
        self.timeout = timeout
        self._service = service
        self._key, self._members = rq.place(rq.same_kind(service, self._kind), policy, options)
        self._prepare()

    _kind: type  # of its service

    def _prepare(self) -> None:
        """Set the fields of a subclass."""

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k != "service"}  # another process has a private service of its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._prepare()

    def __repr__(self) -> str:
        given = {"policy": self._key[0], **self._members, "tools": [*self.tools], "timeout": self.timeout}
        return f"<{type(self).__name__}{''.join(f' {k}={v!r:.80}' for k, v in given.items() if v)}>"

    def _request(self, code: str, options: Mapping[str, Any], on_output: Any = None) -> Request[Result]:
        return rq.execute(code, self._members, rq.run_members(self.timeout, options), self.tools, on_output)


class Jail(BaseJail[Service]):
    """How jails are made; each run() is in a fresh one.

    policy: a policy's name, or, without a service, a file or a dict too. tools: functions that the code may call, see Tool.
    timeout: seconds for each run that says none. service: where it runs; without it the private service of this process for such
    jails. options: see JailOptions.
    """

    _kind = Service

    def _prepare(self) -> None:
        self.service = self._service or shared(*self._key)

    def run(self, code: str, *, on_stdout: OnText | None = None, on_stderr: OnText | None = None, **options: Unpack[RunOptions]) -> Result:
        """Run a snippet in a jail of its own. A snippet that fails is a Result too.

        on_stdout, on_stderr: are given output as it comes, in this thread. options: see RunOptions. SetupError: no jail can be
        made. Busy: there was no room for `Service.busy_timeout` seconds. ServiceDied: the service died meanwhile.
        """
        return self.service.ask(self._request(code, options, rq.handler(on_stdout, on_stderr)))

    @overload
    def map(
        self,
        codes: Iterable[Job],
        *,
        ordered: Literal[True] = True,
        workers: int | None = None,
        progress: Progress = None,
        **options: Unpack[RunOptions],
    ) -> Iterator[Result]: ...

    @overload
    def map(
        self, codes: Iterable[Job], *, ordered: Literal[False], workers: int | None = None, progress: Progress = None, **options: Unpack[RunOptions]
    ) -> Iterator[tuple[int, Result]]: ...

    def map(
        self, codes: Iterable[Job], *, ordered: bool = True, workers: int | None = None, progress: Progress = None, **options: Unpack[RunOptions]
    ) -> Iterator[Any]:
        """Run many snippets, `workers` at a time (without it two for each processor), and give their Results as they are read.

        codes: snippets, or dicts with the arguments of run(); they are read as they are needed. ordered: in the order of `codes`;
        False: (number from 0, Result) as they end. progress: None: a bar on stderr if that is a terminal; or True, False, or a
        function of (how many have ended, how many there are, or None). Leaving the loop ends the snippets that still run.
        """
        from ._map import run_all, workers_of

        requests = (self._request(*job_of(job, options)) for job in codes)
        return run_all(self.service, requests, workers_of(workers), progress, ordered, total_of(codes))


def job_of(job: Job, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if isinstance(job, str):
        return job, dict(options)
    if not isinstance(job, Mapping) or "code" not in job:
        raise TypeError(f"map takes snippets, or dicts with the arguments of run(), of which `code` is one; and not {job!r:.100}")
    own = dict(job)
    return own.pop("code"), {**options, **own}


def total_of(codes: Any) -> int | None:
    try:
        return len(codes)
    except TypeError:
        return None


class AllOptions(JailOptions, RunOptions, total=False):
    """Options of run(): those of Jail and of Jail.run."""

    policy: PolicyLike | None
    tools: Iterable[ToolLike] | Mapping[str, ToolLike]
    service: Service | None
    packages: Iterable[str] | None
    on_stdout: OnText | None
    on_stderr: OnText | None


ALL_OPTIONS = frozenset((*AllOptions.__annotations__, *rq.JAIL_OPTIONS, *rq.RUN_OPTIONS))


def run(code: str, **given: Unpack[AllOptions]) -> Result:
    """Run one snippet in a jail of its own, with the options of Jail and of Jail.run.

    packages: as `["pandas", "polars<2"]`; the first call with such a list downloads them, as Env.create does.
    """
    for name in given:
        if name not in ALL_OPTIONS:
            raise rq.no_option(name, ALL_OPTIONS)
    options: dict[str, Any] = {**given}
    packages = options.pop("packages", None)
    if packages is not None:
        if options.get("env") is not None:
            raise TypeError("packages makes an environment of its own: leave env out")
        options["env"] = env_of(packages)
    own = {name: options.pop(name) for name in list(options) if name in rq.RUN_OPTIONS or name in ("on_stdout", "on_stderr")}
    return Jail(**options).run(code, **own)
