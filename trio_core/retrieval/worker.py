"""One thread that answers searches of all coroutines, in batches.

Encoding is fastest in batches and a tokenizer must not be shared by threads. Searches that arrive while a batch is
running are answered together by the next one. Bound to no event loop: any number of loops may use one retriever.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from trio_core.errors import RetrieverError
from trio_core.retrieval.base import SearchResult

MAX_BATCH = 256
"""Queries answered at once."""

Answer = Callable[[list[str], int], list[SearchResult]]


@dataclass
class _Job:
    queries: list[str]
    k: int
    future: Future[list[SearchResult]] = field(default_factory=Future)


class SearchWorker:
    """Runs `answer(queries, k)` in its thread. Results of a batch are computed for the largest k and cut for each job."""

    def __init__(self, answer: Answer, cut: Callable[[SearchResult, int], SearchResult], name: str) -> None:
        self._answer = answer
        self._cut = cut
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def search(self, queries: list[str], k: int) -> list[SearchResult]:
        """Waits for the result without blocking the event loop; a cancelled search is dropped from its batch."""
        if self._closed:
            raise RetrieverError("the retriever is closed; open it again")
        job = _Job(queries, k)
        self._jobs.put(job)
        return await asyncio.wrap_future(job.future)

    async def close(self) -> None:
        """Ends the thread after the searches that were asked before."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            jobs, go_on = self._next_batch()
            jobs = [job for job in jobs if job.future.set_running_or_notify_cancel()]
            if jobs:
                self._run(jobs)
            if not go_on:
                return

    def _next_batch(self) -> tuple[list[_Job], bool]:
        first = self._jobs.get()
        if first is None:
            return [], False
        jobs = [first]
        while sum(len(job.queries) for job in jobs) < MAX_BATCH:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return jobs, False
            jobs.append(job)
        return jobs, True

    def _run(self, jobs: Sequence[_Job]) -> None:
        queries = [query for job in jobs for query in job.queries]
        try:
            results = self._answer(queries, max(job.k for job in jobs))
        except Exception as error:  # reported to those who asked; the thread lives on
            self._failed(jobs, error)
            return
        at = 0
        for job in jobs:
            mine = results[at:at + len(job.queries)]
            at += len(job.queries)
            job.future.set_result([self._cut(result, job.k) for result in mine])

    def _failed(self, jobs: Sequence[_Job], error: Exception) -> None:
        if len(jobs) == 1:
            jobs[0].future.set_exception(error)
            return
        for job in jobs:  # one bad query must not fail the others of its batch
            self._run([job])
