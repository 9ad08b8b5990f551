"""A run store that forgets: for the command line and for tests of the hub."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from trio_core.errors import StoreError
from trio_core.events import RunFailed, RunFinished, StoredEvent
from trio_core.runs import RunInfo, RunRequest, RunStatus, new_run_id


class MemoryStore:
    """Keeps runs and events in dictionaries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, RunInfo] = {}
        self._events: dict[str, list[StoredEvent]] = {}

    def create_run(self, request: RunRequest) -> str:
        """A random id."""
        run_id = new_run_id()
        self._create(run_id, request)
        return run_id

    def _create(self, run_id: str, request: RunRequest) -> None:
        info = RunInfo(
            id=run_id, question=request.question, method=request.method, status="queued", origin=request.origin,
            created=datetime.now(UTC), request=request, dataset=request.dataset, question_id=request.question_id, group=request.group,
        )
        with self._lock:
            self._runs[run_id], self._events[run_id] = info, []

    def append(self, run_id: str, event: StoredEvent) -> None:
        """Refuses a number that is not the next."""
        with self._lock:
            events = self._events[run_id]
            if event.seq != len(events):
                raise StoreError(f"run {run_id!r}: event {event.seq} after {len(events) - 1}")
            events.append(event)
            ended = isinstance(event, (RunFinished, RunFailed))
            if ended or self._runs[run_id].status == "queued":
                status: RunStatus = getattr(event, "status", "finished") if ended else "running"
                self._runs[run_id] = self._runs[run_id].model_copy(update={"status": status})

    def append_all(self, run_id: str, events: Sequence[StoredEvent]) -> None:
        """One after the other."""
        for event in events:
            self.append(run_id, event)

    def append_runs(self, batch: Mapping[str, Sequence[StoredEvent]], wishes: Mapping[str, RunRequest]) -> None:
        """Run by run."""
        for run_id, request in wishes.items():
            self._create(run_id, request)
        for run_id, events in batch.items():
            self.append_all(run_id, events)

    def set_status(self, run_id: str, status: RunStatus) -> None:
        """Changes a status."""
        with self._lock:
            self._runs[run_id] = self._runs[run_id].model_copy(update={"status": status})

    def reopen_run(self, run_id: str) -> None:
        """Queued again."""
        self.set_status(run_id, "queued")

    def events(self, run_id: str, after: int = -1) -> Sequence[StoredEvent]:
        """Events after a number."""
        with self._lock:
            return self._events[run_id][after + 1 :]

    def run(self, run_id: str) -> RunInfo | None:
        """One run, or None."""
        with self._lock:
            return self._runs.get(run_id)

    def runs_of_group(self, group: str) -> list[RunInfo]:
        """Runs that were started together, oldest first."""
        with self._lock:
            return [info for info in self._runs.values() if group and info.group == group]

    def heartbeat(self, run_ids: Sequence[str]) -> None:
        """Nothing to keep alive: this store dies with its process."""

    def sweep(self, older_than_s: float) -> list[str]:
        """Nothing to sweep, for the same reason."""
        return []
