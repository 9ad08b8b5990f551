"""An evaluation under way, for whoever shows it: begun in the background, looked at from any thread, stopped, reported."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from trio_core.evaluation.batch import Batch
from trio_core.evaluation.report import ROWS, about, write_report
from trio_core.evaluation.rows import RowFile, latest, mend, read_rows
from trio_core.evaluation.summary import Summary, summarize
from trio_core.evaluation.values import EvaluationStore, Progress, Row
from trio_core.evaluation.wish import Ready
from trio_core.methods import method_type
from trio_core.workbench import Workbench

STOP_S = 60.0
"""So long runs may take to end and be stored when an evaluation is stopped."""


class EvaluationTask:
    """One sitting. The workbench must be up, or come up; its hub must allow as many runs at once."""

    def __init__(self, bench: Workbench, store: EvaluationStore, ready: Ready, folder: Path, concurrency: int = 2,
                 on_progress: Callable[[Progress], None] | None = None) -> None:
        self.ready, self.folder = ready, folder
        self.error: Exception | None = None
        self.stopped = False
        self._bench = bench
        path = folder / ROWS
        mend(path)
        have = frozenset(r.run_id for r in read_rows(path) if r.status not in ("interrupted", "stopped"))
        self._rows = RowFile(path)
        self._batch = Batch(ready.plan, bench.hub, store, concurrency, self._rows.append, on_progress, have)
        # Not `Thread.join`: Ctrl-C inside it makes Python 3.11 take a living thread for an ended one.
        self._ended = threading.Event()
        self._begun = False

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._batch.progress

    @property
    def running(self) -> bool:
        """True between `begin` and the end."""
        return self._begun and not self._ended.is_set()

    def begin(self) -> None:
        """Starts and returns at once."""
        self._begun = True
        threading.Thread(target=self._work, name=f"evaluation {self.ready.plan.id}", daemon=True).start()

    def wait(self) -> None:
        """Blocks until the end. Raises what went wrong (StoreError, GivenUp)."""
        self._ended.wait()
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """Ends the sitting: runs under way are stopped and stored so; another sitting goes on from there."""
        self.stopped = True
        self._bench.call(self._batch.stop(), STOP_S)
        self._ended.wait(STOP_S)

    def rows(self, others: Sequence[Path] = ()) -> list[Row]:
        """Rows so far in the plan's order, then those of other evaluations' folders."""
        found = latest(read_rows(self.folder / ROWS))
        own = [found[job.key] for job in self.ready.plan.jobs() if job.key in found]
        return own + [row for folder in others for row in latest(read_rows(folder / ROWS)).values()]

    def summary(self, metric: str = "em", others: Sequence[Path] = ()) -> Summary:
        """The figures so far."""
        return summarize(self.rows(others), metric, seed=self.ready.plan.seed or 0)

    def report(self, command: str, metric: str = "em", others: Sequence[Path] = ()) -> str:
        """Writes the folder's report of what is there; its Markdown."""
        bench, plan = self._bench, self.ready.plan
        roles = dict.fromkeys(role for e in plan.entrants for role in method_type(e.method).roles)
        identity = bench.retriever.identity() if bench.retriever else {}
        left = self.progress.total - self.progress.done
        facts = about(
            command, plan.id, bench.settings.profile, dataset=self.ready.data, evidence=self.ready.evidence, seed=str(plan.seed),
            models={role: " + ".join(filter(None, bench.engine.describe(role))) for role in roles}, judge=bench.engine.judge.name,
            index={str(k): str(v) for k, v in identity.items()}, notes=(f"{left:,} runs are not done yet",) if left else (),
        )
        return write_report(self.folder, self.summary(metric, others), facts)

    def _work(self) -> None:
        try:
            self._bench.call(self._batch.work())
        except Exception as error:  # `wait` raises it, a page shows it
            self.error = error
        finally:
            self._rows.close()
            self._ended.set()

