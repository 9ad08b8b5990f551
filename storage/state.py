"""What follows from the facts about an item, kept in a row so that the queue need not work it out for all items each time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
)
from sqlalchemy.orm import Session

from storage import dialect
from storage.resolution import human_labels
from storage.tables import GoldRow, ItemRow, StateRow, VerdictRow, VoteRow

NO_DISTANCE = 2.0
"""Farther than any P(sufficient) can be from its threshold."""
COLUMNS = ("item_id", "distance", "guess", "agreed", "labels", "verdict", "policy")


def refresh(session: Session, item_id: int) -> None:
    """Works out an item's row anew. Every write of a fact about an item calls it, in the same transaction."""
    refresh_all(session, [item_id])


def refresh_all(session: Session, item_ids: Sequence[int]) -> None:
    """`refresh` for many items."""
    session.flush()
    connection = session.connection()
    connection.execute(_statement(dialect.insert_for(connection)), [{"item": item_id} for item_id in dict.fromkeys(item_ids)])


@lru_cache
def _statement(insert_into: Any) -> Any:
    """Built once for each kind of database: building it anew would cost more than running it."""
    insert = insert_into(StateRow.__table__).from_select(COLUMNS, state_of(bindparam("item", type_=StateRow.item_id.type)))
    return insert.on_conflict_do_update(index_elements=["item_id"], set_={name: insert.excluded[name] for name in COLUMNS[1:]})


def state_of(item_id: int | BindParameter[int]) -> Select[tuple[int, float, str, bool, int, str, str]]:
    """The row of one item, worked out from the facts."""
    human = human_labels(item_id)
    said = [or_(func.coalesce(voters, 0) > 0, _something_says(label))
            for label, voters in (("sufficient", human.c.yes), ("insufficient", human.c.no))]
    policy = func.coalesce(human.c.policy, "")
    agreed = case((policy == "adjudicated", literal(True)), else_=not_(and_(*said)))
    return (select(ItemRow.id, _distance(), _guess(), agreed, func.coalesce(human.c.yes + human.c.no + human.c.unsure, 0),
                   func.coalesce(human.c.verdict, ""), policy)
            .select_from(ItemRow).outerjoin(human, human.c.item_id == ItemRow.id).where(ItemRow.id == item_id))


def _latest(column: ColumnElement, *conditions: ColumnElement[bool]) -> ColumnElement:
    """Of the item's latest verdict that meets the conditions."""
    return (select(column).where(VerdictRow.item_id == ItemRow.id, *conditions).order_by(VerdictRow.id.desc()).limit(1)
            .correlate(ItemRow).scalar_subquery())


def _distance() -> ColumnElement[float]:
    return func.coalesce(_latest(func.abs(VerdictRow.p - VerdictRow.threshold), VerdictRow.p.is_not(None)), NO_DISTANCE)


def _guess() -> ColumnElement[str]:
    gold = select(GoldRow.label).where(GoldRow.item_id == ItemRow.id).correlate(ItemRow).scalar_subquery()
    return func.coalesce(gold, _latest(VerdictRow.label, VerdictRow.label != "unparsed"), "")


def _something_says(label: str) -> ColumnElement[bool]:
    """A judge, the votes of an answer model or the gold evidence gives this label."""
    return or_(*(exists().where(row.item_id == ItemRow.id, row.label == label) for row in (VerdictRow, GoldRow, VoteRow)))
