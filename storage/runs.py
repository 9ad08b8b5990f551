"""Recording runs: the run hub's store (`trio_core.runs.RunStore`)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from storage.database import Database, writes
from storage.recording import record, touch
from storage.tables import EventRow, RunRow
from trio_core.errors import StoreError
from trio_core.events import RunFailed, StoredEvent, Totals, event_to_json, is_end
from trio_core.runs import ENDED, RunRequest, RunStatus, new_run_id

_INTERRUPTED = ("The app stopped while this run was going on. What it had found is kept: continue the run from its last "
                "stored round, or start it anew.")


class RunRecorder(Database):
    """The writing half of runs."""

    @writes
    def create_run(self, session: Session, request: RunRequest) -> str:
        """Stores a wish with status `queued` and returns the run's id."""
        run_id = new_run_id()
        self._new_runs(session, {run_id: request})
        return run_id

    @writes
    def append(self, session: Session, run_id: str, event: StoredEvent) -> None:
        """Stores one event, with all that follows from it (label item, verdict, the run's end), or nothing of it.

        Raises StoreError: unknown run, run that has ended, `seq` stored already, live-only event.
        """
        self._append(session, run_id, [event])

    @writes
    def append_all(self, session: Session, run_id: str, events: Sequence[StoredEvent]) -> None:
        """`append` for several events in one transaction: all of them, or none."""
        self._append(session, run_id, events)

    @writes
    def append_runs(self, session: Session, batch: Mapping[str, Sequence[StoredEvent]], wishes: Mapping[str, RunRequest]) -> None:
        """New runs and events of several runs in one transaction, without the check that tells which event is stored already."""
        self._new_runs(session, wishes)
        record(self, session, batch)

    @writes
    def set_status(self, session: Session, run_id: str, status: RunStatus) -> None:
        """Changes the status of a run that has not ended; ends come through `append`."""
        if status in ENDED:
            raise StoreError(f"run {run_id}: status {status!r} comes with the run's end event, not by itself")
        touch(self, session, [run_id], status=status)

    @writes
    def heartbeat(self, session: Session, run_ids: Sequence[str]) -> None:
        """Marks runs as alive."""
        session.execute(update(RunRow).where(RunRow.id.in_(run_ids)).values(heartbeat=self.clock()))

    @writes
    def sweep(self, session: Session, older_than_s: float) -> list[str]:
        """Ends runs that nobody works on any more, with an event that says so; returns their ids."""
        limit = self.clock() - timedelta(seconds=older_than_s)
        stale = session.scalars(select(RunRow.id).where(RunRow.status.not_in(ENDED), RunRow.heartbeat < limit)
                                .order_by(RunRow.created)).all()
        for run_id in stale:
            self._append(session, run_id, [_interruption(session, run_id)])
        return list(stale)

    @writes
    def reopen_run(self, session: Session, run_id: str) -> None:
        """Puts a run that was stopped, interrupted or failed in line again. Its events stay; later ones go on from there."""
        run = session.get(RunRow, run_id)
        if run is None:
            raise StoreError(f"run {run_id!r} does not exist in this store")
        if run.status not in ENDED - {"finished"}:
            raise StoreError(f"run {run_id} is {run.status}; only a stopped, interrupted or failed run can be continued")
        run.status, run.reason, run.heartbeat = "queued", "", self.clock()
        run.ended = run.answer = run.em = run.f1 = run.rounds = run.calls = run.seconds = None

    @writes
    def import_run(self, session: Session, request: RunRequest, events: Sequence[StoredEvent]) -> str:
        """Stores a recorded run with all its events; the same run again returns the id that it has."""
        if not events or not is_end(events[-1]):
            raise StoreError("a recorded run needs its events up to the end event (run_finished or run_failed)")
        request = request.model_copy(update={"origin": "recorded"})
        body = "\n".join([request.model_dump_json(), *(event_to_json(event) for event in events)])
        key = hashlib.sha256(body.encode()).hexdigest()
        known = session.scalar(select(RunRow.id).where(RunRow.content_key == key))
        if known is not None:
            return known
        run_id = new_run_id()
        self._new_runs(session, {run_id: request}, key)
        self._append(session, run_id, events)
        return run_id

    def _new_runs(self, session: Session, wishes: Mapping[str, RunRequest], content_key: str | None = None) -> None:
        if not wishes:
            return
        now = self.clock()
        session.connection().execute(insert(RunRow.__table__), [{
            "id": run_id, "question": request.question, "method": request.method, "status": "queued", "origin": request.origin,
            "dataset": request.dataset, "question_id": request.question_id, "owner": request.owner, "group_id": request.group,
            "request": request.model_dump_json(), "search_text": request.question.casefold(), "created": now, "heartbeat": now,
            "reason": "", "content_key": content_key,
        } for run_id, request in wishes.items()])

    def _append(self, session: Session, run_id: str, events: Sequence[StoredEvent]) -> None:
        if events:
            _check_new(session, run_id, events)
            record(self, session, {run_id: events})


def _check_new(session: Session, run_id: str, events: Sequence[StoredEvent]) -> None:
    """Raises StoreError for an event that is stored already, or that comes twice."""
    numbers = [event.seq for event in events]
    known = session.scalar(select(EventRow.seq).where(EventRow.run_id == run_id, EventRow.seq.in_(numbers)).limit(1))
    twice = known if known is not None else next((n for n in numbers if numbers.count(n) > 1), None)
    if twice is None:
        return
    status = session.scalar(select(RunRow.status).where(RunRow.id == run_id))
    if status in ENDED:
        raise StoreError(f"run {run_id} has ended ({status}); nothing can be added to it")
    kind = next(event.type for event in events if event.seq == twice)
    raise StoreError(f"run {run_id}: event {twice} is stored already; {kind!r} was not added")


def _interruption(session: Session, run_id: str) -> RunFailed:
    """The end event of a run whose app went away; totals as far as the stored events show them."""
    seq, t, rounds = session.execute(
        select(func.max(EventRow.seq), func.max(EventRow.t), func.max(EventRow.round)).where(EventRow.run_id == run_id)).one()
    by_type: dict[str, int] = {kind: n for kind, n in session.execute(
        select(EventRow.type, func.count()).where(EventRow.run_id == run_id).group_by(EventRow.type))}
    totals = Totals(rounds=rounds or 0, calls=by_type.get("llm_called", 0), retrievals=by_type.get("retrieved", 0), seconds=t or 0.0)
    return RunFailed(seq=0 if seq is None else seq + 1, t=t or 0.0, status="interrupted", error="Interrupted",
                     message=_INTERRUPTED, where="app", totals=totals)
