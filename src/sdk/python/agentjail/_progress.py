"""A bar on stderr for many snippets. It is shown on a terminal alone, at most ten times a second, and leaves one line behind."""

from __future__ import annotations

import sys
import time
from typing import Any

INTERVAL_S = 0.1
WIDTH = 30


class Bar:
    def __init__(self, wanted: Any, total: int | None) -> None:
        self._call = wanted if callable(wanted) else None
        stream = sys.stderr
        self._shown = self._call is None and (wanted is True or (wanted is None and stream is not None and stream.isatty()))
        self._total, self._began, self._next, self._done = total, time.monotonic(), 0.0, 0

    def show(self, done: int) -> None:
        """So many have ended."""
        self._done = done
        if self._call is not None:
            self._call(done, self._total)
        elif self._shown and (time.monotonic() >= self._next or done == self._total):
            self._next = time.monotonic() + INTERVAL_S
            self._write()

    def _write(self) -> None:
        rate = self._done / max(time.monotonic() - self._began, 1e-3)
        if self._total:
            full = WIDTH * self._done // self._total
            left = (self._total - self._done) / rate if rate else 0
            text = f"[{'#' * full}{'.' * (WIDTH - full)}] {self._done}/{self._total}  {rate:.0f}/s  {left:.0f} s left"
        else:
            text = f"{self._done} done  {rate:.0f}/s"
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shown and self._done:
            self._write()
            print(file=sys.stderr)
