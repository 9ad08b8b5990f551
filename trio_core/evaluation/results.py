"""Rows and figures of evaluations on disk, for pages that look often: read again only when they have changed, and not too often then."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trio_core.evaluation.report import ROWS
from trio_core.evaluation.rows import latest, read_rows
from trio_core.evaluation.summary import Summary, summarize
from trio_core.evaluation.values import Row
from trio_core.events import Cost

KEPT = 12
"""Rows and summaries in memory; sums, which lists show of every evaluation, are small and stay."""
SUMS = "sums"
RESTS = 5.0
"""While rows still come, a result stands for so many times as long as it took to make."""


class Spent(Cost):
    """What rows cost in all; failed runs cost too. `seconds` are of all runs added up, also of those at the same time."""

    runs: int = 0
    failed: int = 0


class _Made(NamedTuple):
    stamp: tuple[int, int]
    value: Any
    until: float


class Results:
    """Of all evaluations in a folder of folders. From any thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: OrderedDict[tuple[str, ...], _Made] = OrderedDict()
        self._lock = threading.RLock()

    def rows(self, name: str, labels: Sequence[str] = ()) -> list[Row]:
        """One row a job, entrants in the order of `labels`."""
        found = self._kept((name, "rows"), name, lambda: list(latest(read_rows(self._root / name / ROWS)).values()))
        order = {label: n for n, label in enumerate(labels)}
        return sorted(found, key=lambda row: order.get(row.label, len(order)))

    def summary(self, name: str, metric: str, labels: Sequence[str] = (), seed: int = 0) -> Summary:
        """The figures of what is there."""
        return self._kept((name, metric, *labels), name, lambda: summarize(self.rows(name, labels), metric, seed=seed))

    def spent(self, name: str) -> Spent:
        """What was used so far."""
        def make() -> Spent:
            rows = self.rows(name)
            sums = {field: sum(getattr(row, field) for row in rows) for field in Spent.model_fields if field not in ("runs", "failed")}
            return Spent(runs=len(rows), failed=sum(not row.finished for row in rows), **sums)

        return self._kept((name, SUMS), name, make)

    def forget(self, name: str) -> None:
        """Reads an evaluation anew at the next look: its sitting has ended."""
        with self._lock:
            for key in [key for key in self._made if key[0] == name]:
                del self._made[key]

    def _kept(self, key: tuple[str, ...], name: str, make: Callable[[], Any]) -> Any:
        with self._lock:
            stamp, now, have = self._stamp(name), time.monotonic(), self._made.get(key)
            if have is not None and (have.stamp == stamp or now < have.until):
                self._made.move_to_end(key)
                return have.value
            value = make()
            end = time.monotonic()
            self._made[key] = _Made(stamp, value, end + RESTS * (end - now))
            large = [k for k in self._made if k[1] != SUMS]
            for old in large[:max(len(large) - KEPT, 0)]:
                del self._made[old]
            return value

    def _stamp(self, name: str) -> tuple[int, int]:
        try:
            found = (self._root / name / ROWS).stat()
        except OSError:
            return 0, 0
        return found.st_size, found.st_mtime_ns
