"""Storing events of many runs in one transaction, with the same few statements whether they are two or two hundred.

Each statement costs far more than the rows that it writes, so everything here works on lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from sqlalchemy import CursorResult, bindparam, case, insert, select, update
from sqlalchemy.orm import Session

from storage.database import Database
from storage.items import add_sources, upsert_items
from storage.state import refresh_all
from storage.tables import EventRow, RunRow, VerdictRow
from storage.values import ItemSource
from trio_core.errors import StoreError
from trio_core.events import (
    Answered,
    RunFailed,
    RunFinished,
    StoredEvent,
    TextDelta,
    Verdict,
    event_from_json,
    event_to_json,
    is_end,
)
from trio_core.runs import ENDED, RunRequest

Batch = Mapping[str, Sequence[StoredEvent]]
"""Events by run, in order."""

_RUN: Any = RunRow.__table__
_EVENT: Any = EventRow.__table__
_VERDICT: Any = VerdictRow.__table__


def record(store: Database, session: Session, batch: Batch) -> None:
    """Stores the events with all that follows from them (label items, verdicts, ends of runs).

    Raises StoreError: unknown run, run that has ended, live-only event, event after an end. A `seq` that is stored already
    breaks the database's own rule.
    """
    batch = {run_id: events for run_id, events in batch.items() if events}
    if not batch:
        return
    for run_id, events in batch.items():
        check(run_id, events)
    session.flush()
    touch(store, session, list(batch))
    now = store.clock()
    session.connection().execute(insert(_EVENT), [
        {"run_id": run_id, "seq": event.seq, "type": event.type, "round": getattr(event, "round", None), "t": event.t,
         "body": event_to_json(event), "created": now} for run_id, events in batch.items() for event in events])
    verdicts = [(run_id, event) for run_id, events in batch.items() for event in events if isinstance(event, Verdict)]
    if verdicts:
        _record_verdicts(store, session, verdicts)
    ends = {run_id: events for run_id, events in batch.items() if is_end(events[-1])}
    if ends:
        _end(store, session, ends)


def check(run_id: str, events: Sequence[StoredEvent]) -> None:
    """Raises StoreError for what may not be stored, whatever is stored already."""
    for event in events:
        if isinstance(event, TextDelta) or event.seq < 0:
            raise StoreError(f"run {run_id}: event {event.type!r} with seq {event.seq} is live only and cannot be stored")
    if early := next((event for event in events[:-1] if is_end(event)), None):
        raise StoreError(f"run {run_id} ends with event {early.seq}; nothing can be added after it")


def touch(store: Database, session: Session, run_ids: Sequence[str], status: str = "") -> None:
    """One statement checks that the runs are going on, notes a sign of life and the status (a run with events is no longer queued)."""
    going_on = (_RUN.c.id.in_(run_ids), _RUN.c.status.not_in(ENDED))
    now = status or case((_RUN.c.status == "queued", "running"), else_=_RUN.c.status)
    done = session.connection().execute(update(_RUN).where(*going_on).values(heartbeat=store.clock(), status=now))
    if cast("CursorResult[Any]", done).rowcount == len(set(run_ids)):
        return
    known = {row.id: row.status for row in session.execute(select(RunRow.id, RunRow.status).where(RunRow.id.in_(run_ids)))}
    for run_id in run_ids:
        if run_id not in known:
            raise StoreError(f"run {run_id!r} does not exist in this store")
        if known[run_id] in ENDED:
            raise StoreError(f"run {run_id} has ended ({known[run_id]}); nothing can be added to it")


def _record_verdicts(store: Database, session: Session, found: Sequence[tuple[str, Verdict]]) -> None:
    columns = (_RUN.c.id, _RUN.c.method, _RUN.c.dataset, _RUN.c.question_id, _RUN.c.request)
    runs = {row.id: row for row in session.connection().execute(select(*columns).where(_RUN.c.id.in_({run_id for run_id, _ in found})))}
    copied = {run_id: _copied_rounds(run.request) for run_id, run in runs.items()}
    own = [(runs[run_id], event) for run_id, event in found if event.round > copied[run_id]]
    if not own:
        return
    ids = upsert_items(store, session, [event.item for _, event in own])
    add_sources(store, session, [
        (item_id, ItemSource(source="run", run_id=run.id, round=event.round, method=run.method, dataset=run.dataset,
                             question_id=run.question_id)) for item_id, (run, event) in zip(ids, own, strict=True)])
    now = store.clock()
    session.connection().execute(insert(_VERDICT), [
        {"item_id": item_id, "run_id": run.id, "seq": event.seq, "round": event.round, "judge": event.judged_by, "label": event.label,
         "p": event.p_sufficient, "p_method": event.p_method, "threshold": event.threshold, "deciding": event.deciding, "created": now}
        for item_id, (run, event) in zip(ids, own, strict=True)])
    refresh_all(session, ids)


def _copied_rounds(request: str) -> int:
    """A fork's events up to this round are copies: those verdicts and items count for the original run alone."""
    fork = RunRequest.model_validate_json(request).fork
    return fork.round if fork is not None else -1


def _end(store: Database, session: Session, ends: Batch) -> None:
    connection, now = session.connection(), store.clock()
    asked = {row.id: row.question for row in connection.execute(select(_RUN.c.id, _RUN.c.question).where(_RUN.c.id.in_(ends)))}
    rows = []
    for run_id, events in ends.items():
        last = events[-1]
        assert isinstance(last, (RunFinished, RunFailed))
        answered = next((e for e in reversed(events) if isinstance(e, Answered)), None) or _last_answer(session, run_id)
        scores = (answered.scores if answered else None) or {}
        words = f"{asked[run_id]}\n{answered.answer}" if answered else asked[run_id]
        rows.append({
            "run": run_id, "status": last.status if isinstance(last, RunFailed) else "finished",
            "reason": last.message if isinstance(last, RunFailed) else last.reason, "ended": now, "rounds": last.totals.rounds,
            "calls": last.totals.calls, "seconds": last.totals.seconds, "answer": answered.answer if answered else None,
            "em": scores.get("em"), "f1": scores.get("f1"), "search_text": words.casefold(),
        })
    connection.execute(update(_RUN).where(_RUN.c.id == bindparam("run")), rows)
    session.expire_all()


def _last_answer(session: Session, run_id: str) -> Answered | None:
    body = session.scalar(select(EventRow.body).where(EventRow.run_id == run_id, EventRow.type == "answered")
                          .order_by(EventRow.seq.desc()).limit(1))
    return cast(Answered, event_from_json(body)) if body is not None else None
