"""Items with a label that a judge may learn from, and why the others have none."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from storage.labels import current_rows
from storage.questions import normalise
from storage.resolution import human_labels
from storage.tables import GoldRow, ItemRow, LabelRow
from storage.values import BinaryLabel, LabelSource


@dataclass(frozen=True)
class Candidate:
    """One item with its resolved label. `question` is normalised."""

    item_id: int
    content_hash: str
    question: str
    label: BinaryLabel
    source: LabelSource
    annotators: tuple[str, ...]


def candidates(session: Session, sources: Set[LabelSource]) -> tuple[list[Candidate], Counter[str]]:
    """Labelled items, and how many others were left out for which reason.

    A person's label wins over gold. Where people are in conflict or unsure, or skipped the item, it is left out: gold
    evidence that a reader doubts is no good teacher.
    """
    human = human_labels()
    query = (select(ItemRow.id, ItemRow.content_hash, ItemRow.question, human.c.verdict, GoldRow.label.label("gold"))
             .outerjoin(human, human.c.item_id == ItemRow.id).outerjoin(GoldRow, GoldRow.item_id == ItemRow.id)
             .order_by(ItemRow.id))
    names = _annotators(session)
    found: list[Candidate] = []
    dropped: Counter[str] = Counter()
    for row in session.execute(query):
        candidate = _candidate(row, sources, names)
        if isinstance(candidate, Candidate):
            found.append(candidate)
        else:
            dropped[candidate] += 1
    return found, dropped


def _candidate(row: Row[Any], sources: Set[LabelSource], names: dict[int, dict[str, list[str]]]) -> Candidate | str:
    """The candidate, or the reason why there is none."""
    verdict = row.verdict if "human" in sources else None
    label = verdict or (row.gold if "gold" in sources else None)
    if label not in {"sufficient", "insufficient"}:
        return label or "unlabelled"
    who = tuple(names[row.id][label]) if verdict else ()
    return Candidate(item_id=row.id, content_hash=row.content_hash, question=normalise(row.question), label=label,
                     source="human" if verdict else "gold", annotators=who)


def _annotators(session: Session) -> dict[int, dict[str, list[str]]]:
    """item -> value -> names of those who gave it."""
    names: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    rows = current_rows().with_only_columns(LabelRow.item_id, LabelRow.value, LabelRow.annotator).order_by(LabelRow.annotator)
    for item_id, value, annotator in session.execute(rows):
        names[item_id][value].append(annotator)
    return names
