"""What admins set for everybody's queue, and who saw what is said about an item before they answered it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import bindparam, exists, or_, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.annotation_values import QueueRule
from storage.database import Database, reads, writes
from storage.tables import ItemShownRow, LabelRow, QueueRuleRow
from trio_core.errors import InputError

MOST_PEOPLE = 20


class QueueRules(Database):
    """The overlap of this store, and what was shown to whom."""

    @reads
    def queue_rule(self, session: Session) -> QueueRule:
        """The rule that holds: the latest, else one person an item."""
        return rule_of(session)

    @writes
    def set_overlap(self, session: Session, overlap: int | None, by: str) -> QueueRule:
        """How many different people each item goes to from now on; None = everybody. Labels that exist stay. Raises InputError."""
        if overlap is not None and not 1 <= overlap <= MOST_PEOPLE:
            raise InputError(f"an item cannot go to {overlap} people; choose 1 to {MOST_PEOPLE}, or everybody")
        row = QueueRuleRow(overlap=overlap, by=by, created=self.clock())
        session.add(row)
        session.flush()
        return rule_of(session)

    @writes
    def note_shown(self, session: Session, item_ids: Iterable[int], annotator: str) -> None:
        """Notes, once, that somebody saw what is said about these items; a later label of theirs is not blind."""
        rows = [{"item_id": item_id, "annotator": annotator, "created": self.clock()} for item_id in item_ids]
        if rows:
            insert = dialect.insert_for(session.connection())
            session.execute(insert(ItemShownRow).values(rows).on_conflict_do_nothing())

    @reads
    def was_shown(self, session: Session, item_id: int, annotator: str) -> bool:
        """Whether that was noted, or they have answered the item, which shows it too (a skip does not; an answer withdrawn does)."""
        return bool(session.connection().scalar(_SHOWN, {"item": item_id, "who": annotator}))


def rule_of(session: Session) -> QueueRule:
    """`QueueRules.queue_rule` in an open transaction."""
    row = session.connection().execute(_RULE).one_or_none()
    return QueueRule() if row is None else QueueRule(overlap=row.overlap, by=row.by, created=row.created)


_RULE = select(QueueRuleRow.overlap, QueueRuleRow.by, QueueRuleRow.created).order_by(QueueRuleRow.id.desc()).limit(1)
_SHOWN = select(or_(
    exists().where(ItemShownRow.item_id == bindparam("item"), ItemShownRow.annotator == bindparam("who")),
    exists().where(LabelRow.item_id == bindparam("item"), LabelRow.annotator == bindparam("who"),
                   LabelRow.value.not_in(["skip", "withdrawn"]))))
