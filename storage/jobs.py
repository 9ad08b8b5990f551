"""Jobs: long tasks in processes of their own, whose state survives the app."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage.database import Database, reads, writes
from storage.tables import JobRow
from storage.values import Job, JobProgress, JobState
from trio_core.errors import StoreError

ACTIVE: frozenset[str] = frozenset({"queued", "running", "stopping"})
_NEXT: dict[str, frozenset[str]] = {
    "queued": frozenset({"running", "stopped", "failed"}),
    "running": frozenset({"stopping", "stopped", "failed", "done"}),
    "stopping": frozenset({"stopped", "failed", "done"}),
    "stopped": frozenset({"queued"}),
    "failed": frozenset({"queued"}),
    "done": frozenset(),
}
"""Which state may follow which; a stopped or failed job is resumed by being queued again."""
_INTERRUPTED = "interrupted: can be resumed"


class Jobs(Database):
    """Creating, following and ending jobs."""

    @writes
    def create_job(self, session: Session, kind: str, config: dict[str, Any], snapshot_id: int | None = None,
                   log_path: str = "") -> Job:
        """Stores a job with state `queued`. Refused while another one of its kind is active."""
        _refuse_second(session, kind)
        row = JobRow(kind=kind, state="queued", config=json.dumps(config, default=str), snapshot_id=snapshot_id,
                     progress=JobProgress().model_dump_json(), log_path=log_path, error="", created=self.clock())
        session.add(row)
        session.flush()
        return _job(row)

    @reads
    def job(self, session: Session, job_id: int) -> Job:
        """One job. Raises StoreError when there is none with this id."""
        return _job(_require(session, job_id))

    @reads
    def jobs(self, session: Session, kind: str | None = None, limit: int = 50) -> list[Job]:
        """The last jobs, newest first."""
        query = select(JobRow).order_by(JobRow.id.desc()).limit(limit)
        return [_job(row) for row in session.scalars(query if kind is None else query.where(JobRow.kind == kind))]

    @writes
    def set_job_state(self, session: Session, job_id: int, state: JobState, pid: int | None = None, error: str = "",
                      log_path: str | None = None) -> Job:
        """Moves a job on. The same state again only updates the process id, the log's path and the heartbeat."""
        row = _require(session, job_id)
        if state != row.state:
            self._move(session, row, state, error)
        row.pid = row.pid if pid is None else pid
        row.log_path = row.log_path if log_path is None else log_path
        row.heartbeat = self.clock()
        session.flush()
        return _job(row)

    @writes
    def set_job_progress(self, session: Session, job_id: int, progress: JobProgress) -> JobState:
        """Notes how far a job is; returns its state, so that a runner learns in passing that it shall stop."""
        row = _require(session, job_id)
        if row.state not in ACTIVE:
            raise StoreError(f"job {job_id} is {row.state}; it makes no more progress")
        row.progress, row.heartbeat = progress.model_dump_json(), self.clock()
        return _job(row).state

    @writes
    def sweep_jobs(self, session: Session, alive: Callable[[int], bool]) -> list[int]:
        """Ends active jobs whose process is gone; returns their ids. A queued job without a process is left alone.

        `alive` is asked inside the transaction and must not use the store itself.
        """
        gone = [row for row in session.scalars(select(JobRow).where(JobRow.state.in_(ACTIVE)).order_by(JobRow.id))
                if (row.pid is not None or row.state != "queued") and not (row.pid is not None and alive(row.pid))]
        for row in gone:
            stopping = row.state == "stopping"
            self._move(session, row, "stopped" if stopping else "failed", "" if stopping else _INTERRUPTED)
        return [row.id for row in gone]

    def _move(self, session: Session, row: JobRow, state: JobState, error: str) -> None:
        if state not in _NEXT[row.state]:
            raise StoreError(f"job {row.id} is {row.state} and cannot become {state}")
        if state == "queued":
            _refuse_second(session, row.kind)
            row.pid = row.ended = None
        if state == "running":
            row.started = row.started or self.clock()
        if state not in ACTIVE:
            row.ended = self.clock()
        row.state, row.error = state, error


def _refuse_second(session: Session, kind: str) -> None:
    active = session.scalar(select(JobRow).where(JobRow.kind == kind, JobRow.state.in_(ACTIVE)))
    if active is not None:
        raise StoreError(f"job {active.id} ({kind}) is {active.state}; wait for its end or stop it first")


def _require(session: Session, job_id: int) -> JobRow:
    row = session.get(JobRow, job_id)
    if row is None:
        raise StoreError(f"job {job_id} does not exist in this store")
    return row


def _job(row: JobRow) -> Job:
    values = {name: getattr(row, name) for name in Job.model_fields if name not in {"config", "progress"}}
    return Job(config=json.loads(row.config), progress=JobProgress.model_validate_json(row.progress), **values)
