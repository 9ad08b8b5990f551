"""Guidelines, and calibration rounds: items with known answers that show annotators how well they follow them."""

from __future__ import annotations

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.annotation_values import CalibrationItem, CalibrationScore, Guideline
from storage.database import Database, reads, writes
from storage.items import require_item
from storage.labels import NOTE_CHARS, current_rows
from storage.tables import CalibrationRow, GuidelineRow, ItemRow, LabelRow
from storage.values import BinaryLabel
from trio_core.errors import InputError, StoreError

GUIDELINE_CHARS = 100_000
_KNOWN = (select(*(getattr(CalibrationRow, name) for name in CalibrationItem.model_fields if name != "question"), ItemRow.question)
          .join_from(CalibrationRow, ItemRow, ItemRow.id == CalibrationRow.item_id).order_by(ItemRow.id))
_KNOWN_OF_ITEM = _KNOWN.where(CalibrationRow.item_id == bindparam("item"))


class Calibration(Database):
    """Guidelines and known answers."""

    @writes
    def add_guideline(self, session: Session, text: str, by: str, based_on: int | None = None) -> Guideline:
        """Stores a new version (markdown). `based_on` = the version that the editor started from: another one since is refused.

        The text that holds already makes no new version. Raises InputError for a text that is empty or too long.
        """
        if not text.strip() or len(text) > GUIDELINE_CHARS:
            raise InputError(f"the guidelines have {len(text):,} characters; they need some text and at most {GUIDELINE_CHARS:,}")
        last = session.scalar(select(GuidelineRow).order_by(GuidelineRow.version.desc()).limit(1))
        number = last.version if last else 0
        if based_on is not None and based_on != number:
            raise StoreError(f"the guidelines were changed to version {number} while you edited version {based_on}; "
                             "nothing was saved, copy your text and reload")
        if last is not None and last.text == text:
            return _guideline(last)
        row = GuidelineRow(version=number + 1, text=text, by=by, created=self.clock())
        session.add(row)
        session.flush()
        return _guideline(row)

    @reads
    def guidelines(self, session: Session) -> list[Guideline]:
        """All versions, newest first; the first one holds."""
        return [_guideline(row) for row in session.scalars(select(GuidelineRow).order_by(GuidelineRow.version.desc()))]

    @writes
    def add_calibration_item(self, session: Session, item_id: int, label: BinaryLabel, by: str, explanation: str = "") -> CalibrationItem:
        """Makes an item one of the calibration rounds, or corrects its known answer. It leaves the ordinary queue."""
        question = require_item(session, item_id)
        if len(explanation) > NOTE_CHARS:
            raise InputError(f"the explanation has {len(explanation):,} characters, at most {NOTE_CHARS:,} are stored; nothing was saved")
        values = {"label": label, "explanation": explanation, "by": by, "created": self.clock()}
        insert = dialect.insert_for(session.connection())
        session.execute(insert(CalibrationRow).values(item_id=item_id, **values).on_conflict_do_update(
            index_elements=["item_id"], set_=values))
        return CalibrationItem.model_validate({"item_id": item_id, "question": question, **values})

    @writes
    def remove_calibration_item(self, session: Session, item_id: int) -> None:
        """Makes it an ordinary item again; its labels stay. Raises StoreError when it was none."""
        row = session.get(CalibrationRow, item_id)
        if row is None:
            raise StoreError(f"item {item_id} has no known answer that could be removed")
        session.delete(row)

    @reads
    def calibration_items(self, session: Session, item_id: int | None = None) -> list[CalibrationItem]:
        """All items with known answers (or that one, if it has one), in their order."""
        rows = session.connection().execute(_KNOWN if item_id is None else _KNOWN_OF_ITEM, {} if item_id is None else {"item": item_id})
        return [CalibrationItem.model_validate(dict(row)) for row in rows.mappings()]

    @reads
    def calibration_scores(self, session: Session, annotator: str | None = None) -> list[CalibrationScore]:
        """How each annotator (or that one) did, by name; only those who answered something."""
        items = session.scalar(select(func.count()).select_from(CalibrationRow)) or 0
        query = (current_rows().with_only_columns(LabelRow.annotator, CalibrationRow.label, LabelRow.value, func.count())
                 .join(CalibrationRow, CalibrationRow.item_id == LabelRow.item_id)
                 .where(LabelRow.value.in_(("sufficient", "insufficient", "unsure")))
                 .group_by(LabelRow.annotator, CalibrationRow.label, LabelRow.value).order_by(LabelRow.annotator))
        confusion: dict[str, dict[str, dict[str, int]]] = {}
        for name, known, given, n in session.execute(query if annotator is None else query.where(LabelRow.annotator == annotator)):
            confusion.setdefault(name, {}).setdefault(known, {})[given] = n
        return [CalibrationScore(annotator=name, items=items, confusion=table,
                                 answered=sum(n for row in table.values() for n in row.values()),
                                 right=sum(row.get(known, 0) for known, row in table.items()))
                for name, table in confusion.items()]


def _guideline(row: GuidelineRow) -> Guideline:
    return Guideline(version=row.version, text=row.text, by=row.by, created=row.created)
