"""Recording runs: the run hub's store (`trio_core.runs.RunStore`)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

from sqlalchemy import CursorResult, func, insert, select, update
from sqlalchemy.orm import Session

from storage.database import Database, writes
from storage.items import add_source, upsert_item
from storage.state import refresh
from storage.tables import EventRow, RunRow, VerdictRow
from storage.values import ItemSource
from trio_core.errors import StoreError
from trio_core.events import (
    Answered,
    RunFailed,
    RunFinished,
    StoredEvent,
    TextDelta,
    Totals,
    Verdict,
    event_from_json,
    event_to_json,
    is_end,
)
from trio_core.runs import ENDED, RunRequest, RunStatus

_INTERRUPTED = ("The app stopped while this run was going on. What it had found is kept: continue the run from its last "
                "stored round, or start it anew.")


class RunRecorder(Database):
    """The writing half of runs."""

    @writes
    def create_run(self, session: Session, request: RunRequest) -> str:
        """Stores a wish with status `queued` and returns the run's id."""
        return self._new_run(session, request)

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
    def set_status(self, session: Session, run_id: str, status: RunStatus) -> None:
        """Changes the status of a run that has not ended; ends come through `append`."""
        if status in ENDED:
            raise StoreError(f"run {run_id}: status {status!r} comes with the run's end event, not by itself")
        self._touch(session, run_id, status=status)

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
        run_id = self._new_run(session, request, key)
        self._append(session, run_id, events)
        return run_id

    def _new_run(self, session: Session, request: RunRequest, content_key: str | None = None) -> str:
        run_id, now = secrets.token_hex(8), self.clock()
        session.add(RunRow(
            id=run_id, question=request.question, method=request.method, status="queued", origin=request.origin,
            dataset=request.dataset, question_id=request.question_id, owner=request.owner, group_id=request.group,
            request=request.model_dump_json(), search_text=request.question.casefold(), created=now, heartbeat=now,
            reason="", content_key=content_key,
        ))
        session.flush()
        return run_id

    def _append(self, session: Session, run_id: str, events: Sequence[StoredEvent]) -> None:
        """One insert for all events: each statement costs more than the row that it writes."""
        if not events:
            return
        self._touch(session, run_id)
        _check(session, run_id, events)
        now = self.clock()
        session.execute(insert(EventRow), [
            {"run_id": run_id, "seq": event.seq, "type": event.type, "round": getattr(event, "round", None), "t": event.t,
             "body": event_to_json(event), "created": now} for event in events])
        verdicts = [event for event in events if isinstance(event, Verdict)]
        copied = _copied_rounds(session, run_id) if verdicts else -1
        for verdict in verdicts:
            if verdict.round > copied:
                self._record_verdict(session, run_id, verdict)
        if isinstance(events[-1], (RunFinished, RunFailed)):
            self._end(session, run_id, events[-1])

    def _touch(self, session: Session, run_id: str, **changes: Any) -> None:
        """One statement checks that the run is going on and notes a sign of life."""
        result = session.execute(update(RunRow).where(RunRow.id == run_id, RunRow.status.not_in(ENDED))
                                 .values(heartbeat=self.clock(), **changes))
        if cast("CursorResult[Any]", result).rowcount == 0:
            status = session.scalar(select(RunRow.status).where(RunRow.id == run_id))
            raise StoreError(f"run {run_id} has ended ({status}); nothing can be added to it" if status
                             else f"run {run_id!r} does not exist in this store")

    def _record_verdict(self, session: Session, run_id: str, event: Verdict) -> None:
        run = session.get_one(RunRow, run_id)
        item_id = upsert_item(self, session, event.item)
        add_source(self, session, item_id, ItemSource(
            source="run", run_id=run_id, round=event.round, method=run.method, dataset=run.dataset, question_id=run.question_id))
        session.add(VerdictRow(
            item_id=item_id, run_id=run_id, seq=event.seq, round=event.round, judge=event.judged_by, label=event.label,
            p=event.p_sufficient, p_method=event.p_method, threshold=event.threshold, deciding=event.deciding,
            created=self.clock(),
        ))
        refresh(session, item_id)

    def _end(self, session: Session, run_id: str, event: RunFinished | RunFailed) -> None:
        run = session.get_one(RunRow, run_id, populate_existing=True)
        if isinstance(event, RunFailed):
            run.status, run.reason = event.status, event.message
        else:
            run.status, run.reason = "finished", event.reason
        run.ended = self.clock()
        run.rounds, run.calls, run.seconds = event.totals.rounds, event.totals.calls, event.totals.seconds
        answered = _last_answer(session, run_id)
        if answered is not None:
            scores = answered.scores or {}
            run.answer, run.em, run.f1 = answered.answer, scores.get("em"), scores.get("f1")
            run.search_text = f"{run.question}\n{answered.answer}".casefold()


def _check(session: Session, run_id: str, events: Sequence[StoredEvent]) -> None:
    """Raises StoreError for what may not be stored."""
    for event in events:
        if isinstance(event, TextDelta) or event.seq < 0:
            raise StoreError(f"run {run_id}: event {event.type!r} with seq {event.seq} is live only and cannot be stored")
    if early := next((event for event in events[:-1] if is_end(event)), None):
        raise StoreError(f"run {run_id} ends with event {early.seq}; nothing can be added after it")
    numbers = [event.seq for event in events]
    known = session.scalar(select(EventRow.seq).where(EventRow.run_id == run_id, EventRow.seq.in_(numbers)).limit(1))
    twice = known if known is not None else next((n for n in numbers if numbers.count(n) > 1), None)
    if twice is not None:
        kind = next(event.type for event in events if event.seq == twice)
        raise StoreError(f"run {run_id}: event {twice} is stored already; {kind!r} was not added")


def _copied_rounds(session: Session, run_id: str) -> int:
    """A fork's events up to this round are copies: those verdicts and items count for the original run alone."""
    fork = RunRequest.model_validate_json(session.get_one(RunRow, run_id).request).fork
    return fork.round if fork is not None else -1


def _last_answer(session: Session, run_id: str) -> Answered | None:
    body = session.scalar(select(EventRow.body).where(EventRow.run_id == run_id, EventRow.type == "answered")
                          .order_by(EventRow.seq.desc()).limit(1))
    return cast(Answered, event_from_json(body)) if body is not None else None


def _interruption(session: Session, run_id: str) -> RunFailed:
    """The end event of a run whose app went away; totals as far as the stored events show them."""
    seq, t, rounds = session.execute(
        select(func.max(EventRow.seq), func.max(EventRow.t), func.max(EventRow.round)).where(EventRow.run_id == run_id)).one()
    by_type: dict[str, int] = {kind: n for kind, n in session.execute(
        select(EventRow.type, func.count()).where(EventRow.run_id == run_id).group_by(EventRow.type))}
    totals = Totals(rounds=rounds or 0, calls=by_type.get("llm_called", 0), retrievals=by_type.get("retrieved", 0), seconds=t or 0.0)
    return RunFailed(seq=0 if seq is None else seq + 1, t=t or 0.0, status="interrupted", error="Interrupted",
                     message=_INTERRUPTED, where="app", totals=totals)
