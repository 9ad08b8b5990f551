"""Reading runs back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from storage.database import Database, reads
from storage.tables import EventRow, RunRow
from trio_core.errors import StoreError
from trio_core.events import SCHEMA, RunStarted, StoredEvent, TextDelta, event_from_json
from trio_core.runs import Origin, RunInfo, RunRequest, RunStatus


class RunReader(Database):
    """The reading half of runs."""

    @reads
    def run(self, session: Session, run_id: str) -> RunInfo | None:
        """One run, or None."""
        row = session.get(RunRow, run_id)
        return _info(row) if row else None

    @reads
    def events(self, session: Session, run_id: str, after: int = -1) -> Sequence[StoredEvent]:
        """Stored events with `seq` > `after`, in order."""
        query = select(EventRow.seq, EventRow.body).where(EventRow.run_id == run_id, EventRow.seq > after)
        return [_event(run_id, seq, body) for seq, body in session.execute(query.order_by(EventRow.seq))]

    @reads
    def list_runs(self, session: Session, search: str = "", method: str | None = None, status: RunStatus | None = None,
                  dataset: str | None = None, origin: Origin | None = None, limit: int = 50,
                  offset: int = 0) -> tuple[list[RunInfo], int]:
        """A page of runs, newest first, and how many fit in all. `search` looks into question and answer."""
        wanted = {RunRow.method: method, RunRow.status: status, RunRow.dataset: dataset, RunRow.origin: origin}
        conditions: list[ColumnElement[bool]] = [column == value for column, value in wanted.items() if value is not None]
        if search.strip():
            conditions.append(RunRow.search_text.contains(search.strip().casefold(), autoescape=True))
        total = session.scalar(select(func.count()).select_from(RunRow).where(*conditions)) or 0
        page = select(RunRow).where(*conditions).order_by(RunRow.created.desc(), RunRow.id).limit(limit).offset(offset)
        return [_info(row) for row in session.scalars(page)], total

    @reads
    def runs_of_group(self, session: Session, group: str) -> list[RunInfo]:
        """Runs that were started together, in the order in which they were started."""
        if not group:
            return []
        rows = session.scalars(select(RunRow).where(RunRow.group_id == group).order_by(RunRow.created, RunRow.id))
        return [_info(row) for row in rows]


def _info(row: RunRow) -> RunInfo:
    values: dict[str, Any] = {name: getattr(row, name) for name in RunInfo.model_fields if name not in {"group", "request"}}
    return RunInfo(group=row.group_id, request=RunRequest.model_validate_json(row.request), **values)


def _event(run_id: str, seq: int, body: str) -> StoredEvent:
    try:
        event = event_from_json(body)
    except ValidationError as error:
        raise StoreError(f"run {run_id}: event {seq} cannot be read by this version of Trioscope ({error.error_count()} fields "
                         "do not fit); it was probably written by a newer one") from error
    if isinstance(event, TextDelta) or (isinstance(event, RunStarted) and event.schema_version > SCHEMA):
        raise StoreError(f"run {run_id}: event {seq} has a newer event schema than this version of Trioscope knows ({SCHEMA})")
    return event
