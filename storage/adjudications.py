"""Decisions about items that people disagree about, and the queue of those items."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import Row, bindparam, case, func, select
from sqlalchemy.orm import Session

from storage.annotation_values import Adjudication, Conflict, Resolved
from storage.database import Database, reads, writes
from storage.items import require_item
from storage.labels import NAME_CHARS, NOTE_CHARS, current_rows
from storage.resolution import disagreeing, human_labels
from storage.state import refresh
from storage.tables import AdjudicationRow, ItemRow, LabelRow, StateRow
from storage.values import AdjudicatedLabel, LabelValue
from trio_core.errors import InputError, StoreError


class Adjudications(Database):
    """Adjudicating, and reading what people disagree about."""

    @writes
    def adjudicate(self, session: Session, item_id: int, label: AdjudicatedLabel, by: str, client_uuid: str,
                   note: str = "") -> Adjudication:
        """Decides an item; the latest decision holds. The same `client_uuid` again returns what is stored."""
        return self._add(session, item_id, label, by, client_uuid, note)

    @writes
    def withdraw_adjudication(self, session: Session, item_id: int, by: str, client_uuid: str, note: str = "") -> Adjudication:
        """Takes the decision about an item back (an event, nothing is deleted): the annotators' labels count again."""
        held = _latest(session, item_id)
        known = session.scalar(select(AdjudicationRow.id).where(AdjudicationRow.client_uuid == client_uuid))
        if known is None and (held is None or held.label == "withdrawn"):
            raise StoreError(f"item {item_id} has no adjudicated label that could be withdrawn")
        return self._add(session, item_id, "withdrawn", by, client_uuid, note)

    @reads
    def adjudication(self, session: Session, item_id: int) -> Adjudication | None:
        """The decision that holds, or None."""
        held = session.connection().execute(_HELD, {"item": item_id}).one_or_none()
        return None if held is None or held.label == "withdrawn" else _value(held)

    @reads
    def adjudications(self, session: Session, item_id: int | None = None) -> list[Adjudication]:
        """All decisions (of one item), withdrawals too, oldest first."""
        query = select(AdjudicationRow).order_by(AdjudicationRow.id)
        return [_value(row) for row in session.scalars(query if item_id is None else query.where(AdjudicationRow.item_id == item_id))]

    @reads
    def resolved(self, session: Session, item_id: int) -> Resolved | None:
        """The item's label as people gave it and the rule that gave it; None where nobody said anything."""
        human = human_labels(item_id)
        row = session.execute(select(human.c.verdict, human.c.policy)).one_or_none()
        return None if row is None else Resolved(item_id=item_id, label=row.verdict, policy=row.policy)

    @reads
    def conflicts(self, session: Session, limit: int = 50, offset: int = 0) -> tuple[list[Conflict], int]:
        """A page of the items that annotators disagree about and nobody has adjudicated, ties first; and how many there are."""
        groups = (current_rows().with_only_columns(LabelRow.item_id).join(StateRow, StateRow.item_id == LabelRow.item_id)
                  .where(LabelRow.value != "withdrawn", StateRow.policy != "adjudicated")
                  .group_by(LabelRow.item_id).having(disagreeing()).subquery())
        total = session.scalar(select(func.count()).select_from(groups)) or 0
        page = session.execute(
            select(ItemRow.id, ItemRow.question).join(groups, groups.c.item_id == ItemRow.id)
            .join(StateRow, StateRow.item_id == ItemRow.id)
            .order_by(case((StateRow.verdict == "conflict", 0), else_=1), ItemRow.id).limit(limit).offset(offset)).all()
        labels: dict[int, dict[str, LabelValue]] = defaultdict(dict)
        for row in session.scalars(current_rows().where(LabelRow.item_id.in_([i for i, _ in page]), LabelRow.value != "withdrawn")
                                   .order_by(LabelRow.id)):
            labels[row.item_id][row.annotator] = row.value  # type: ignore[assignment]
        return [Conflict(item_id=item_id, question=question, labels=labels[item_id]) for item_id, question in page], total

    def _add(self, session: Session, item_id: int, label: str, by: str, client_uuid: str, note: str) -> Adjudication:
        require_item(session, item_id)
        if len(note) > NOTE_CHARS:
            raise InputError(f"the note has {len(note):,} characters, at most {NOTE_CHARS:,} are stored; shorten it, nothing was saved")
        if not (0 < len(by) <= NAME_CHARS and 0 < len(client_uuid) <= NAME_CHARS):
            raise InputError("an adjudication needs a name and a form id (client_uuid); reload the page, nothing was saved")
        known = session.scalar(select(AdjudicationRow).where(AdjudicationRow.client_uuid == client_uuid))
        if known is not None and known.item_id != item_id:
            raise StoreError(f"form {client_uuid} was used for item {known.item_id} already; reload the page, nothing was saved")
        if known is not None:
            return _value(known)
        row = AdjudicationRow(item_id=item_id, label=label, by=by, note=note, client_uuid=client_uuid, created=self.clock())
        session.add(row)
        refresh(session, item_id)
        return _value(row)


_HELD = (select(*AdjudicationRow.__table__.c).where(AdjudicationRow.item_id == bindparam("item"))
         .order_by(AdjudicationRow.id.desc()).limit(1))


def _latest(session: Session, item_id: int) -> AdjudicationRow | None:
    return session.scalar(select(AdjudicationRow).where(AdjudicationRow.item_id == item_id)
                          .order_by(AdjudicationRow.id.desc()).limit(1))


def _value(row: AdjudicationRow | Row[Any]) -> Adjudication:
    return Adjudication(**{name: getattr(row, name) for name in Adjudication.model_fields})
