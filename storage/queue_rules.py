"""What admins set for everybody's queue, and who saw what is said about an item before they answered it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage import dialect
from storage.annotation_values import QueueRule
from storage.database import Database, reads, writes
from storage.tables import ItemShownRow, QueueRuleRow
from trio_core.errors import InputError

MOST_PEOPLE = 20


class QueueRules(Database):
    """The overlap of this store, and what was shown to whom."""

    @reads
    def queue_rule(self, session: Session) -> QueueRule:
        """The rule that holds: the latest, else one person an item."""
        return _rule(session.scalar(select(QueueRuleRow).order_by(QueueRuleRow.id.desc()).limit(1)))

    @writes
    def set_overlap(self, session: Session, overlap: int | None, by: str) -> QueueRule:
        """How many different people each item goes to from now on; None = everybody. Labels that exist stay. Raises InputError."""
        if overlap is not None and not 1 <= overlap <= MOST_PEOPLE:
            raise InputError(f"an item cannot go to {overlap} people; choose 1 to {MOST_PEOPLE}, or everybody")
        row = QueueRuleRow(overlap=overlap, by=by, created=self.clock())
        session.add(row)
        session.flush()
        return _rule(row)

    @writes
    def note_shown(self, session: Session, item_ids: Iterable[int], annotator: str) -> None:
        """Notes, once, that somebody saw what is said about these items; a later label of theirs is not blind."""
        rows = [{"item_id": item_id, "annotator": annotator, "created": self.clock()} for item_id in item_ids]
        if rows:
            insert = dialect.insert_for(session.connection())
            session.execute(insert(ItemShownRow).values(rows).on_conflict_do_nothing())

    @reads
    def was_shown(self, session: Session, item_id: int, annotator: str) -> bool:
        """Whether that was noted."""
        return session.get(ItemShownRow, (item_id, annotator)) is not None


def _rule(row: QueueRuleRow | None) -> QueueRule:
    return QueueRule() if row is None else QueueRule(overlap=row.overlap, by=row.by, created=row.created)
