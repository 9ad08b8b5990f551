"""Labels from files: every line becomes an item with a label, or is named with the reason why not."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage.database import Database
from storage.formats import ParsedLine
from storage.items import add_source, store_gold, upsert_item
from storage.label_files import FileLine, read_lines
from storage.labels import NAME_CHARS, current_rows, store_label
from storage.state import refresh
from storage.tables import GoldRow, LabelRow, VoteRow
from storage.values import ItemSource, LabelInput
from storage.votes import store_vote
from trio_core.errors import InputError
from trio_core.values import Value

_BATCH = 100
"""Lines stored in one transaction, so that annotators need not wait for a whole file."""
_Fate = tuple[Literal["accepted", "duplicate", "refused"], str]
"""What became of a line, and why."""


class LineNote(Value):
    """A line that was not stored, and why."""

    file: str
    line: int
    """Counted from 1; of a CSV row with line breaks, its last line."""
    reason: str


class ImportReport(Value):
    """What became of a file's lines."""

    accepted: int
    duplicates: tuple[LineNote, ...] = ()
    refused: tuple[LineNote, ...] = ()


class Imports(Database):
    """Taking label files in."""

    def import_labels(self, path: Path, name: str, annotator: str) -> ImportReport:
        """Stores the labels of a JSON lines or CSV file, or of all of them in a folder (formats: `storage.formats`).

        Human labels become labels of `annotator`; gold stays gold and votes stay votes. Items and labels have the source
        `import:<name>`. A line that does not fit is refused by itself and the others are stored; the same file again is all
        duplicates. A label that `annotator` has given is never overwritten. Raises InputError for a file that cannot be
        read, StoreError when the store fails (what was stored by then stays, and is a duplicate next time).
        """
        if not all(0 < len(word) <= NAME_CHARS and word.isprintable() for word in (name, annotator)):
            raise InputError(f"an import needs a name and an annotator, each one line of 1 to {NAME_CHARS} characters; nothing was imported")
        lines = list(read_lines(path))
        fates: list[_Fate] = []
        for start in range(0, len(lines), _BATCH):
            fates += self._store_batch(lines[start:start + _BATCH], f"import:{name}", annotator)
        notes = [(fate, LineNote(file=line.file, line=line.number, reason=reason))
                 for line, (fate, reason) in zip(lines, fates, strict=True) if fate != "accepted"]
        return ImportReport(accepted=len(lines) - len(notes), duplicates=tuple(note for fate, note in notes if fate == "duplicate"),
                            refused=tuple(note for fate, note in notes if fate == "refused"))

    def _store_batch(self, lines: Sequence[FileLine], source: str, annotator: str) -> list[_Fate]:
        return self.write(lambda session: [
            ("refused", line.content) if isinstance(line.content, str) else self._store_line(session, line.content, source, annotator)
            for line in lines])

    def _store_line(self, session: Session, line: ParsedLine, source: str, annotator: str) -> _Fate:
        item_id = upsert_item(self, session, line.item)
        add_source(self, session, item_id, ItemSource(source=source))
        refresh(session, item_id)
        if line.source == "human":
            return self._store_human(session, item_id, line, source, annotator)
        return self._store_gold(session, item_id, line, source) if line.source == "gold" else self._store_votes(session, item_id, line)

    def _store_human(self, session: Session, item_id: int, line: ParsedLine, source: str, annotator: str) -> _Fate:
        before = session.scalar(current_rows().where(LabelRow.item_id == item_id, LabelRow.annotator == annotator,
                                                     LabelRow.value != "withdrawn"))
        if before is None:
            store_label(self, session, LabelInput(item_id=item_id, annotator=annotator, value=line.label, source=source,
                                                  client_uuid=str(uuid.uuid4())))
        return _fate(before.value if before else None, line.label, f"{annotator} has labelled item {item_id}")

    def _store_gold(self, session: Session, item_id: int, line: ParsedLine, source: str) -> _Fate:
        before = session.get(GoldRow, item_id)
        if before is None:
            store_gold(self, session, item_id, line.label, f"taken from {source}")
        return _fate(before.label if before else None, line.label, f"item {item_id} has the gold label")

    def _store_votes(self, session: Session, item_id: int, line: ParsedLine) -> _Fate:
        fates: list[_Fate] = []
        for vote in line.votes:
            before = session.scalar(select(VoteRow).where(VoteRow.item_id == item_id, VoteRow.answer_model == vote.answer_model))
            if before is None:
                store_vote(self, session, item_id, vote.answer_model, vote.answers, vote.temperature)
            fates.append(_fate(before.label if before else None, vote.label, f"{vote.answer_model} has voted on item {item_id}"))
        return min(fates, key=lambda fate: ("refused", "accepted", "duplicate").index(fate[0]))


def _fate(before: str | None, label: str, what: str) -> _Fate:
    if before is None:
        return "accepted", ""
    return ("duplicate", f"{what} {before} already") if before == label else (
        "refused", f"{what} {before} already, the line says {label}; change it by hand if the line is right")
