"""What people say about items: append-only, each label superseding the annotator's earlier one."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import Select, and_, bindparam, delete, insert, or_, select
from sqlalchemy.orm import Session

from storage.claims import hold
from storage.database import Database, reads, writes
from storage.errors import LabelConflict
from storage.items import require_item
from storage.resolution import is_current
from storage.state import refresh
from storage.tables import ClaimRow, ItemRow, LabelRow
from storage.values import LabelInput, LabelTime, StoredLabel
from trio_core.errors import InputError, StoreError

NOTE_CHARS = 10_000
NAME_CHARS = 200
MAX_MILLISECONDS = 24 * 3600 * 1000
# Asked for each label that somebody gives: built once, and without the ORM's objects.
_LABELS = (select(*(getattr(LabelRow, name) for name in StoredLabel.model_fields if name != "question"), ItemRow.question)
           .join_from(LabelRow, ItemRow, ItemRow.id == LabelRow.item_id).order_by(LabelRow.id))
_ALL_CURRENT = _LABELS.where(is_current(), LabelRow.value != "withdrawn")
_CURRENT_OF_ITEM = _ALL_CURRENT.where(LabelRow.item_id == bindparam("item"))
_HISTORY = _LABELS.where(LabelRow.item_id == bindparam("item"))
_LAST = _ALL_CURRENT.where(LabelRow.annotator == bindparam("who")).order_by(None).order_by(LabelRow.id.desc()).limit(bindparam("n"))
_TIMES = (select(*(getattr(LabelRow, name) for name in LabelTime.model_fields))
          .where(is_current(), LabelRow.value != "withdrawn", LabelRow.annotator == bindparam("who"))
          .order_by(LabelRow.id.desc()).limit(bindparam("n")))
_OF_FORM = _LABELS.where(LabelRow.client_uuid == bindparam("form"))
_OF_PERSON = _LABELS.where(is_current(), LabelRow.item_id == bindparam("item"), LabelRow.annotator == bindparam("who"))
_INSERT = insert(LabelRow.__table__).returning(LabelRow.id)
_END_CLAIMS = delete(ClaimRow.__table__).where(or_(
    and_(ClaimRow.item_id == bindparam("item"), ClaimRow.annotator == bindparam("who")), ClaimRow.expires < bindparam("now")))


class Labels(Database):
    """Saving, undoing and reading labels."""

    @writes
    def add_label(self, session: Session, label: LabelInput) -> StoredLabel:
        """Stores a label; the same `client_uuid` again returns what is stored.

        Raises InputError (a text is too long or missing), LabelConflict (`expected` is no longer the current label) and
        StoreError (no such item).
        """
        return store_label(self, session, label)

    @writes
    def withdraw(self, session: Session, label_id: int, annotator: str) -> StoredLabel:
        """Withdraws a current label of the annotator's own (an event, nothing is deleted) and returns that event.

        Again changes nothing. Raises StoreError: no such label, somebody else's, or one that a later label took the place of.
        """
        row = session.get(LabelRow, label_id)
        if row is None or row.annotator != annotator:
            raise StoreError(f"label {label_id} is not a label of {annotator!r}; nothing was withdrawn")
        if row.value == "withdrawn":
            return stored(row, require_item(session, row.item_id))
        later = session.scalar(select(LabelRow).where(LabelRow.supersedes == label_id))
        if later is None:
            return self._withdraw(session, row)
        if later.value != "withdrawn":
            raise StoreError(f"label {label_id} was changed to {later.value!r} in the meantime; nothing was withdrawn")
        return stored(later, require_item(session, later.item_id))

    @writes
    def undo(self, session: Session, annotator: str) -> StoredLabel | None:
        """Withdraws the annotator's latest label; None if there is none."""
        last = session.scalar(current_rows().where(LabelRow.annotator == annotator, LabelRow.value != "withdrawn")
                              .order_by(LabelRow.id.desc()).limit(1))
        return None if last is None else self._withdraw(session, last)

    def _withdraw(self, session: Session, last: LabelRow) -> StoredLabel:
        row = LabelRow(item_id=last.item_id, annotator=last.annotator, value="withdrawn", reason="", note="", blind=last.blind,
                       milliseconds=0, client_uuid=str(uuid.uuid4()), supersedes=last.id, source=last.source,
                       created=self.clock())
        session.add(row)
        session.flush()
        refresh(session, row.item_id)
        hold(self, session, row.item_id, row.annotator)
        return stored(row, require_item(session, row.item_id))

    @reads
    def current_labels(self, session: Session, item_id: int) -> list[StoredLabel]:
        """The current label of each annotator on an item, withdrawn ones left out."""
        return _load(session, _CURRENT_OF_ITEM, item=item_id)

    @reads
    def all_current_labels(self, session: Session) -> list[StoredLabel]:
        """The current label of each annotator on every item (for agreement figures)."""
        return _load(session, _ALL_CURRENT)

    @reads
    def all_labels(self, session: Session) -> list[StoredLabel]:
        """Every label event of the store, oldest first."""
        return _load(session, _LABELS)

    @reads
    def history(self, session: Session, item_id: int) -> list[StoredLabel]:
        """All label events of an item, oldest first."""
        return _load(session, _HISTORY, item=item_id)

    @reads
    def last_labels(self, session: Session, annotator: str, n: int = 10) -> list[StoredLabel]:
        """The annotator's last current labels, newest first."""
        return _load(session, _LAST, who=annotator, n=n)

    @reads
    def label_times(self, session: Session, annotator: str, n: int) -> list[LabelTime]:
        """The same labels as `last_labels`, but only their times: a tenth of the work."""
        rows = session.connection().execute(_TIMES, {"who": annotator, "n": n}).mappings()
        return [LabelTime.model_validate(dict(row)) for row in rows]


def store_label(store: Database, session: Session, label: LabelInput) -> StoredLabel:
    """`Labels.add_label` in an open transaction."""
    _check(label)
    question, connection = require_item(session, label.item_id), session.connection()
    known = _one(session, _OF_FORM, form=label.client_uuid)
    if known is not None:
        return _same_form(known, label)
    before = _one(session, _OF_PERSON, item=label.item_id, who=label.annotator)
    _check_expected(label, before)
    values = {**label.model_dump(exclude={"expected", "milliseconds"}), "supersedes": before.id if before else None,
              "milliseconds": min(label.milliseconds, MAX_MILLISECONDS), "created": store.clock()}
    label_id = connection.scalar(_INSERT, values)
    connection.execute(_END_CLAIMS, {"item": label.item_id, "who": label.annotator, "now": values["created"]})
    refresh(session, label.item_id)
    return StoredLabel.model_validate({"id": label_id, "question": question, **values})


def current_rows() -> Select[LabelRow]:
    """Label events that nothing supersedes."""
    return select(LabelRow).where(is_current())


def stored(row: LabelRow, question: str) -> StoredLabel:
    """Row -> value."""
    values = {name: getattr(row, name) for name in StoredLabel.model_fields if name != "question"}
    return StoredLabel(question=question, **values)


def _load(session: Session, query: Select[Any], **values: object) -> list[StoredLabel]:
    return [StoredLabel.model_validate(dict(row)) for row in session.connection().execute(query, values).mappings()]


def _one(session: Session, query: Select[Any], **values: object) -> StoredLabel | None:
    return next(iter(_load(session, query, **values)), None)


def _check(label: LabelInput) -> None:
    if len(label.note) > NOTE_CHARS or len(label.reason) > NOTE_CHARS:
        raise InputError(f"the note has {max(len(label.note), len(label.reason)):,} characters, at most {NOTE_CHARS:,} are "
                         "stored; shorten it, nothing was saved")
    if not 0 < len(label.annotator) <= NAME_CHARS:
        raise InputError(f"the annotator's name must have 1 to {NAME_CHARS} characters, not {len(label.annotator)}")
    if not 0 < len(label.client_uuid) <= NAME_CHARS:
        raise InputError("the label has no usable form id (client_uuid); reload the page")


def _same_form(known: StoredLabel, label: LabelInput) -> StoredLabel:
    if (known.item_id, known.annotator) != (label.item_id, label.annotator):
        raise StoreError(f"form {label.client_uuid} was used for item {known.item_id} by {known.annotator!r} already; "
                         "reload the page, nothing was saved")
    return known


def _check_expected(label: LabelInput, before: StoredLabel | None) -> None:
    """Two tabs of one person: the second must not wipe what the first has saved without showing it."""
    if label.expected is None or label.expected == (before.id if before else 0):
        return
    if before is None or before.value == "withdrawn":
        if label.expected == 0:
            return
        raise LabelConflict(f"your label of item {label.item_id} was withdrawn in the meantime; {label.value!r} was not saved", None)
    raise LabelConflict(f"item {label.item_id} has your label {before.value!r} from another window in the meantime; "
                        f"{label.value!r} was not saved", before)
