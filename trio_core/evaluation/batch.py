"""The batch: every question through every entrant, a few at a time, each a stored run that opens in the app.

What is done is known from the store alone (runs of the evaluation's group), so a killed batch goes on where it was: finished
runs are kept, interrupted ones are continued from their last state, and no question is asked twice. Rows are written as runs
end; rows that a crash lost are made again from the stored events.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from trio_core.datasets import EvidenceMap, Question
from trio_core.errors import InputError, StoreError, TrioscopeError
from trio_core.evaluation.rows import refused_row, row_of
from trio_core.evaluation.values import Entrant, EvaluationStore, Progress, Row
from trio_core.events import StoredEvent
from trio_core.hub import RunHub
from trio_core.runs import ENDED, EvaluationMark, RunRequest, RunStatus
from trio_core.values import Gold

GIVE_UP_AFTER = 20
"""So many runs in a row that fail alike: the server is gone, and going on would only fill the table with failures."""
ELSEWHERE_S = 1.0
"""How often a run of another process is looked at."""

Key = tuple[str, str, str, int]


class GivenUp(TrioscopeError):
    """The evaluation stopped because run after run failed in the same way."""


class Job(NamedTuple):
    """One question, one entrant, one repeat."""

    question: Question
    entrant: Entrant
    mark: EvaluationMark

    @property
    def key(self) -> Key:
        """As `Row.key`."""
        return self.entrant.label, self.question.dataset, self.question.id, self.mark.repeat


class Plan(NamedTuple):
    """What is evaluated. `evidence` null = no gold passages are known; with `seed` repeat r samples with seed + r."""

    id: str
    entrants: Sequence[Entrant]
    questions: Sequence[Question]
    evidence: EvidenceMap | None = None
    repeats: int = 1
    seed: int | None = None
    retry_failed: bool = False

    def jobs(self) -> Iterator[Job]:
        """Question by question, so that what is done at any time can be compared in pairs."""
        for repeat in range(self.repeats):
            seed = None if self.seed is None else self.seed + repeat
            for question in self.questions:
                for entrant in self.entrants:
                    yield Job(question, entrant, EvaluationMark(id=self.id, label=entrant.label, repeat=repeat, seed=seed))

    def gold(self, question: Question) -> Gold:
        """What the run records as right."""
        return self.evidence.gold(question) if self.evidence else Gold(answers=question.answers, answerable=question.answerable)

    def request(self, job: Job) -> RunRequest:
        """What the hub is asked to run."""
        question = job.question
        return RunRequest(
            question=question.asked, method=job.entrant.method, settings=job.entrant.settings, gold=self.gold(question),
            dataset=question.dataset, question_id=question.id, origin="batch", group=self.id, evaluation=job.mark,
        )


class _Known(NamedTuple):
    run_id: str
    status: RunStatus


class Batch:
    """Works through a plan in the hub's event loop. `on_row` gets each row once; `on_progress` follows."""

    def __init__(self, plan: Plan, hub: RunHub, store: EvaluationStore, concurrency: int, on_row: Callable[[Row], None],
                 on_progress: Callable[[Progress], None] | None = None, have: frozenset[str] = frozenset()) -> None:
        """`have` = ids of runs whose rows are written already."""
        self.plan, self._hub, self._store = plan, hub, store
        self._concurrency = max(concurrency, 1)
        self._on_row, self._on_progress, self._have = on_row, on_progress, have
        self.progress = Progress(total=len(plan.entrants) * len(plan.questions) * plan.repeats)
        self._known: dict[Key, _Known] = {}
        self._running: set[str] = set()
        self._stopping = False
        self._began = time.monotonic()
        self._alike: tuple[str, int] = ("", 0)

    async def work(self) -> Progress:
        """Until all is done or `stop` is called. Raises StoreError, GivenUp; what was running is stopped then, and stored so."""
        self._known = await asyncio.to_thread(self._look)
        jobs = self.plan.jobs()
        workers = [asyncio.create_task(self._worker(jobs)) for _ in range(self._concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            await self.stop()
            await asyncio.gather(*workers, return_exceptions=True)
        return self.progress

    async def stop(self) -> None:
        """Begins no run any more and stops those under way; the next `work` continues them."""
        self._stopping = True
        await asyncio.gather(*(self._hub.stop(run_id) for run_id in tuple(self._running)))

    def _look(self) -> dict[Key, _Known]:
        known: dict[Key, _Known] = {}
        for info in self._store.runs_of_group(self.plan.id):
            mark = info.request.evaluation
            if mark is not None and mark.id == self.plan.id:
                known[(mark.label, info.dataset, info.question_id, mark.repeat)] = _Known(info.id, info.status)
        return known

    async def _worker(self, jobs: Iterator[Job]) -> None:
        """One run after the other. While the end of one is stored and its row written, the next is under way already."""
        row: asyncio.Task[None] | None = None
        try:
            for job in jobs:
                if self._stopping:
                    return
                run_id = await self._do(job)
                if row is not None:
                    await row
                row = None if run_id is None else asyncio.create_task(self._end(job, run_id))
        finally:
            if row is not None:
                await row

    async def _do(self, job: Job) -> str | None:
        """The run that a job needed; its end is not stored yet. None where nothing had to be asked."""
        known = self._known.pop(job.key, None)
        if known is not None and known.status not in ENDED:
            known = _Known(known.run_id, await self._ended_elsewhere(known.run_id))
        again = {"interrupted", "stopped"} | ({"failed"} if self.plan.retry_failed else set())
        if known is not None and known.status not in again:
            if known.run_id in self._have:
                self._count(known.status != "finished", "", fresh=False)
            else:
                await self._take(job, known.run_id, fresh=False)
        elif not self._stopping:
            return await self._run(job, known)
        return None

    async def _run(self, job: Job, known: _Known | None) -> str | None:
        try:
            run_id = await self._begin(job, known)
        except InputError as error:  # this question cannot be asked; the others can
            self._tell(refused_row(job.question, self.plan.gold(job.question), job.entrant.method, job.mark, str(error)), fresh=True)
            return None
        self._running.add(run_id)
        self._step(running=len(self._running))
        try:
            if self._stopping:
                await self._hub.stop(run_id)
            await self._hub.driven(run_id)
        finally:
            self._running.discard(run_id)
        return run_id

    async def _end(self, job: Job, run_id: str) -> None:
        await self._hub.wait(run_id)
        seen = self._hub.poll(run_id)
        self._hub.forget(run_id)
        if seen is not None and seen.fault:
            raise StoreError(seen.fault)
        await self._take(job, run_id, fresh=True, events=seen.events if seen else None)

    async def _begin(self, job: Job, known: _Known | None) -> str:
        if known is not None:
            await self._hub.resume(known.run_id)
            return known.run_id
        return await self._hub.start(self.plan.request(job))

    async def _ended_elsewhere(self, run_id: str) -> RunStatus:
        """Waits for a run of a dead process to be marked as interrupted, or of a living one to end."""
        while not self._stopping:
            info = await asyncio.to_thread(self._store.run, run_id)
            if info is None or info.status in ENDED:
                return info.status if info else "interrupted"
            await asyncio.sleep(ELSEWHERE_S)
        return "running"

    async def _take(self, job: Job, run_id: str, fresh: bool, events: Sequence[StoredEvent] | None = None) -> None:
        """The row of an ended run; one that was stopped is not done and has none. What a stop leaves unstored is looked at next time.

        `events` = its stored events, where they are at hand.
        """
        if events is None:
            events = await asyncio.to_thread(self._store.events, run_id)
        row = row_of(run_id, job.question, self.plan.gold(job.question), job.entrant.method, job.mark, events)
        if row.finished or not (self._stopping or row.status in ("stopped", "interrupted")):
            self._tell(row, fresh)

    def _tell(self, row: Row, fresh: bool) -> None:
        self._on_row(row)
        self._count(not row.finished, f"{row.label} {row.question_id}: {row.answer or row.reason}", fresh)
        if fresh:
            self._check_alike("" if row.finished else row.reason)

    def _count(self, failed: bool, last: str, fresh: bool) -> None:
        p = self.progress
        new, seconds = p.fresh + fresh, time.monotonic() - self._began
        left = None if not new else seconds / new * (p.total - p.done - 1)
        self._step(done=p.done + 1, failed=p.failed + failed, fresh=new, seconds=seconds, seconds_left=left, last=last or p.last)

    def _step(self, **changes: object) -> None:
        self.progress = self.progress.model_copy(update={"running": len(self._running), **changes})
        if self._on_progress:
            self._on_progress(self.progress)

    def _check_alike(self, reason: str) -> None:
        self._alike = (reason, self._alike[1] + 1 if reason and reason == self._alike[0] else 1)
        if reason and self._alike[1] >= GIVE_UP_AFTER:
            raise GivenUp(f"the last {GIVE_UP_AFTER} runs failed in the same way: {reason}; mend that, then start the same evaluation "
                          "again with --retry-failed")
