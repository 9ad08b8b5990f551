"""Items lent to annotators for some minutes."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from storage import dialect
from storage.database import Database
from storage.tables import ClaimRow

CLAIM = timedelta(minutes=5)


def claim(store: Database, session: Session, item_id: int, annotator: str) -> None:
    """Keeps an item for an annotator, from now on; a claim of theirs is renewed."""
    expires = store.clock() + CLAIM
    insert = dialect.insert_for(session.connection())
    session.execute(insert(ClaimRow).values(item_id=item_id, annotator=annotator, expires=expires).on_conflict_do_update(
        index_elements=["item_id", "annotator"], set_={"expires": expires}))
