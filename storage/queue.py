"""Which item comes next, and how far labelling has come."""

from __future__ import annotations

from collections.abc import Set
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, or_, select
from sqlalchemy.orm import Session, aliased

from storage import dialect
from storage.database import Database, reads, writes
from storage.items import load_item
from storage.resolution import human_labels, is_current
from storage.tables import ClaimRow, GoldRow, ItemRow, LabelRow, VerdictRow
from storage.values import LabelCounts, LabelItem, QueueOrder

CLAIM = timedelta(minutes=5)


class Queue(Database):
    """The annotators' queue."""

    @writes
    def next_item(self, session: Session, annotator: str, order: QueueOrder = "uncertain",
                  exclude: Set[int] = frozenset()) -> LabelItem | None:
        """The next item that this annotator has neither labelled nor skipped, claimed for five minutes; None if none is left."""
        now = self.clock()
        wanted = (select(ItemRow.id, literal(annotator), literal(now + CLAIM, ClaimRow.expires.type))
                  .where(~_seen_by(annotator), ~_claimed_by_other(annotator, now), ItemRow.id.not_in(exclude))
                  .order_by(*_order(order), ItemRow.id).limit(1))
        insert = dialect.insert_for(session.connection())(ClaimRow).from_select(["item_id", "annotator", "expires"], wanted)
        free = or_(ClaimRow.expires < now, ClaimRow.annotator == annotator)
        taken = insert.on_conflict_do_update(
            index_elements=["item_id", "annotator"], where=free,
            set_={"annotator": insert.excluded.annotator, "expires": insert.excluded.expires},
        ).returning(ClaimRow.item_id)
        item_id = session.scalar(taken)
        return None if item_id is None else load_item(session, session.get(ItemRow, item_id))

    @reads
    def label_counts(self, session: Session, annotator: str = "") -> LabelCounts:
        """All figures of the labelling page, from one query and thus from one moment."""
        human = human_labels()
        parts = [
            select(literal("items"), literal(""), func.count()).select_from(ItemRow),
            select(literal("human"), human.c.verdict, func.count()).group_by(human.c.verdict),
            select(literal("gold"), GoldRow.label, func.count()).group_by(GoldRow.label),
            select(literal("machine"), VerdictRow.label, func.count()).group_by(VerdictRow.label),
            select(literal("mine"), LabelRow.value, func.count())
            .where(LabelRow.annotator == annotator, is_current(LabelRow)).group_by(LabelRow.value),
        ]
        rows = session.execute(parts[0].union_all(*parts[1:])).all()
        groups: dict[str, dict[str, int]] = {}
        for group, value, n in rows:
            groups.setdefault(group, {})[value] = n
        return _counts(groups)


def _counts(groups: dict[str, dict[str, int]]) -> LabelCounts:
    items = groups["items"][""]
    mine = groups.get("mine", {})
    done = sum(mine.get(value, 0) for value in ("sufficient", "insufficient", "unsure"))
    skipped = mine.get("skip", 0)
    return LabelCounts(items=items, human=groups.get("human", {}), gold=groups.get("gold", {}),
                       machine=groups.get("machine", {}), done=done, skipped=skipped, pending=items - done - skipped)


def _seen_by(annotator: str) -> ColumnElement[bool]:
    label = aliased(LabelRow)
    return exists().where(label.item_id == ItemRow.id, label.annotator == annotator, label.value != "withdrawn",
                          is_current(label))


def _claimed_by_other(annotator: str, now: Any) -> ColumnElement[bool]:
    claim = aliased(ClaimRow)
    return exists().where(claim.item_id == ItemRow.id, claim.annotator != annotator, claim.expires >= now)


def _order(order: QueueOrder) -> list[Any]:
    if order == "oldest":
        return [ItemRow.created]
    if order == "disagreement":
        both = and_(_somebody_says("sufficient"), _somebody_says("insufficient"))
        return [case((both, 0), else_=1), _distance()]
    return [_distance()]


def _distance() -> ColumnElement[float]:
    """How far the latest P(sufficient) is from its threshold; items without one come last."""
    verdict = aliased(VerdictRow)
    latest: Select[Any] = (select(func.abs(verdict.p - verdict.threshold))
                           .where(verdict.item_id == ItemRow.id, verdict.p.is_not(None))
                           .order_by(verdict.id.desc()).limit(1))
    return func.coalesce(latest.correlate(ItemRow).scalar_subquery(), 2.0)


def _somebody_says(label: str) -> ColumnElement[bool]:
    """A judge, another person's current label or the gold evidence gives this label."""
    verdict, gold, human = aliased(VerdictRow), aliased(GoldRow), aliased(LabelRow)
    return or_(
        exists().where(verdict.item_id == ItemRow.id, verdict.label == label),
        exists().where(gold.item_id == ItemRow.id, gold.label == label),
        exists().where(human.item_id == ItemRow.id, human.value == label, is_current(human)),
    )
