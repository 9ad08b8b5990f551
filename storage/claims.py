"""Items lent to annotators for some minutes, and the places of an item that labels and claims take (rules: `storage.queue`)."""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, exists, func, or_, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.database import Database
from storage.queue_rules import rule_of
from storage.tables import CalibrationRow, ClaimRow, StateRow

CLAIM = timedelta(minutes=5)
WHO: BindParameter[str] = bindparam("who", type_=ClaimRow.annotator.type)
NOW: BindParameter[Any] = bindparam("now", type_=ClaimRow.expires.type)
EXPIRES: BindParameter[Any] = bindparam("expires", type_=ClaimRow.expires.type)


def hold(store: Database, session: Session, item_id: int, annotator: str) -> bool:
    """Keeps an item for an annotator whose label takes no place there, from now on; a claim of theirs is renewed.

    False where others have all its places, or there is no such item. Atomic: writers wait for each other.
    """
    now, connection = store.clock(), session.connection()
    done = connection.execute(_hold(dialect.insert_for(connection)), {
        "item": item_id, "who": annotator, "now": now, "expires": now + CLAIM, "overlap": rule_of(session).overlap})
    return done.scalar() is not None


def claims_of_others() -> ColumnElement[int]:
    """Live claims on an item, without those of `WHO`."""
    return (select(func.count()).select_from(ClaimRow)
            .where(ClaimRow.item_id == StateRow.item_id, ClaimRow.annotator != WHO, ClaimRow.expires >= NOW)
            .correlate(StateRow).scalar_subquery())


def claiming(insert_into: Any, wanted: Any) -> Any:
    """The statement that claims the item that `wanted` finds (item, annotator, until when) and returns its id."""
    insert = insert_into(ClaimRow).from_select(["item_id", "annotator", "expires"], wanted)
    return insert.on_conflict_do_update(index_elements=["item_id", "annotator"],
                                        set_={"expires": insert.excluded.expires}).returning(ClaimRow.item_id)


@lru_cache
def _hold(insert_into: Any) -> Any:
    overlap = bindparam("overlap", type_=StateRow.labels.type)
    place = or_(overlap.is_(None), StateRow.labels + claims_of_others() < overlap,
                exists().where(CalibrationRow.item_id == StateRow.item_id))
    return claiming(insert_into, select(StateRow.item_id, WHO, EXPIRES).where(StateRow.item_id == bindparam("item"), place))
