"""Progress of an index build."""

from __future__ import annotations

import time
from collections.abc import Callable

from trio_core.values import Value


class BuildStep(Value):
    """Where a build stands. `total` and `seconds_left` are null while unknown; `done` and `total` count passages."""

    phase: str
    """`read`, `encode`, `index`, `bm25` or `check`."""
    done: int
    total: int | None = None
    seconds_left: float | None = None

    def __str__(self) -> str:
        of = f" of {self.total:,}" if self.total is not None else ""
        left = f", about {self.seconds_left:,.0f} s left" if self.seconds_left is not None else ""
        return f"{self.phase}: {self.done:,}{of} passages{left}"


Progress = Callable[[BuildStep], None]


def silent(step: BuildStep) -> None:
    """The progress callback of those who do not care."""


class Meter:
    """Turns counts into steps with an estimate of the time left."""

    def __init__(self, phase: str, total: int | None, progress: Progress, already: int = 0) -> None:
        self._phase = phase
        self._total = total
        self._progress = progress
        self._already = already
        self._started = time.monotonic()

    def at(self, done: int) -> None:
        """Tells that so many are done. Those that were done before the meter started do not count for the speed."""
        fresh = done - self._already
        left = None
        if self._total is not None and fresh > 0:
            left = (time.monotonic() - self._started) / fresh * (self._total - done)
        self._progress(BuildStep(phase=self._phase, done=done, total=self._total, seconds_left=left))
