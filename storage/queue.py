"""Which item comes next, and how far labelling has come.

The rules of the queue, all of them here:

- An annotator gets an item once. What was withdrawn comes back to its annotator, what was skipped only when
  `QueueFilter.skipped` asks for it.
- `QueueFilter.overlap` annotators get an item (1 unless set otherwise; None = all). Each current label that is sufficient,
  insufficient or unsure takes a place, and so does each claim of another annotator that has not run out. A skip takes none:
  the item goes to others.
- Whoever withdraws a label keeps the item for as long as a claim lasts, so that its place does not go to others while they
  answer anew. This needs a place: others may have taken it, if the label was a skip. It is withdrawn all the same then, and
  the item is theirs. Whoever opens an item by hand is in the same position (`Queue.take`).
- An adjudicated item is decided and is given to nobody.
- Items with known answers come only in calibration rounds, there to everybody.
- A claim lasts five minutes and ends with the label. Two annotators cannot take the last place of an item: writers wait for
  each other in both databases (`storage.dialect`), and the one statement that finds a place also claims it.

So no item gets more labels than its overlap while people answer what they were given within five minutes. A label that comes
later, or for an item that was opened by hand although its places were taken, is stored all the same: work is never refused.
Such an item may have one label more than was asked for, and its annotator is told so. An overlap that is lowered later takes
no label away.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, case, exists, func, literal, select
from sqlalchemy.orm import Session, aliased

from storage import dialect
from storage.annotation_values import QueueFilter
from storage.claims import CLAIM, EXPIRES, WHO, claiming, claims_of_others, hold
from storage.database import Database, reads, writes
from storage.items import load_item
from storage.resolution import is_current
from storage.tables import CalibrationRow, GoldRow, LabelRow, SourceRow, StateRow, VerdictRow
from storage.values import LabelCounts, LabelItem, QueueOrder

EVERYTHING = QueueFilter()
Figures = tuple[Literal["items", "human", "policy", "pending", "gold", "machine", "mine"], ...]
ALL_FIGURES: Figures = ("items", "human", "policy", "pending", "gold", "machine", "mine")


class Queue(Database):
    """The annotators' queue."""

    @writes
    def take(self, session: Session, item_id: int, annotator: str) -> bool:
        """Keeps an item for an annotator who has no label on it, or a skip, as if the queue had given it.

        False where its places are taken by others (or there is no such item).
        """
        return hold(self, session, item_id, annotator)

    @writes
    def next_item(self, session: Session, annotator: str, order: QueueOrder = "uncertain", exclude: Set[int] = frozenset(),
                  only: QueueFilter = EVERYTHING) -> LabelItem | None:
        """The next item for this annotator, claimed for five minutes; None if none is left (see the rules above)."""
        now, connection = self.clock(), session.connection()
        statement = _next(dialect.insert_for(connection), order, only, frozenset(exclude))
        item_id = connection.scalar(statement, {"who": annotator, "now": now, "expires": now + CLAIM})
        return None if item_id is None else load_item(session, item_id)

    @reads
    def label_counts(self, session: Session, annotator: str = "", only: QueueFilter = EVERYTHING,
                     figures: Figures = ALL_FIGURES) -> LabelCounts:
        """Figures of the labelling page, from one query and thus from one moment. What is not in `figures` stays 0 or empty."""
        groups: dict[str, dict[str, int]] = {}
        for group, value, n in session.connection().execute(_counting(only, figures), {"who": annotator}):
            groups.setdefault(group, {})[value] = n
        return _counts(groups)


@lru_cache(maxsize=256)
def _next(insert_into: Any, order: QueueOrder, only: QueueFilter, exclude: frozenset[int]) -> Any:
    """The statement of `next_item`: building it takes many times longer than running it."""
    # A full item is told by its own row before anything is looked up: after days of work most items are full.
    conditions = [*matching(StateRow.item_id, only), *_place_left(only), *_open_to_who(only)]
    if only.overlap is not None and not only.calibration:
        conditions.append(StateRow.labels + claims_of_others() < only.overlap)
    if exclude:
        conditions.append(StateRow.item_id.not_in(exclude))
    return claiming(insert_into, select(StateRow.item_id, WHO, EXPIRES).where(*conditions).order_by(*_order(order, only)).limit(1))


@lru_cache(maxsize=256)
def _counting(only: QueueFilter, figures: Figures) -> Any:
    """The statement of `label_counts`."""
    states = matching(StateRow.item_id, only)
    counted: dict[str, tuple[Any, Any, list[Any]]] = {
        "items": (literal(""), StateRow.item_id, []),
        "human": (StateRow.verdict, StateRow.item_id, [StateRow.verdict != ""]),
        "policy": (StateRow.policy, StateRow.item_id, [StateRow.policy != ""]),
        "pending": (literal(""), StateRow.item_id, [*_open_to_who(only), *_place_left(only)]),
        "gold": (GoldRow.label, GoldRow.item_id, []),
        "machine": (VerdictRow.label, VerdictRow.item_id, []),
        "mine": (LabelRow.value, LabelRow.item_id, [LabelRow.annotator == WHO, is_current(LabelRow)]),
    }
    parts = []
    for group in figures:
        value, item, conditions = counted[group]
        parts.append(select(literal(group), value, func.count())
                     .where(*(states if item is StateRow.item_id else matching(item, only)), *conditions)
                     .group_by(value).select_from(item.class_))
    return parts[0].union_all(*parts[1:])


def _counts(groups: dict[str, dict[str, int]]) -> LabelCounts:
    mine = groups.get("mine", {})
    return LabelCounts(
        items=sum(groups.get("items", {}).values()), human=groups.get("human", {}), gold=groups.get("gold", {}),
        machine=groups.get("machine", {}), policies=groups.get("policy", {}), skipped=mine.get("skip", 0),
        done=sum(mine.get(value, 0) for value in ("sufficient", "insufficient", "unsure")),
        pending=sum(groups.get("pending", {}).values()))


def matching(item_id: Any, only: QueueFilter) -> list[ColumnElement[bool]]:
    """Conditions on an item, whoever asks."""
    found: list[ColumnElement[bool]] = []
    seen = {SourceRow.method: only.methods, SourceRow.dataset: only.datasets, SourceRow.round: only.rounds,
            SourceRow.source: only.sources}
    wanted = [column.in_(sorted(values)) for column, values in seen.items() if values]
    if wanted:
        found.append(exists().where(SourceRow.item_id == item_id, *wanted))
    if only.judges:
        verdict = aliased(VerdictRow)
        found.append(exists().where(verdict.item_id == item_id, verdict.judge.in_(sorted(only.judges))))
    if only.calibration:
        found.append(_known(item_id))
    return found


def _open_to_who(only: QueueFilter) -> list[ColumnElement[bool]]:
    """What the queue may still give to `WHO`; places are another matter."""
    label = aliased(LabelRow)
    mine = exists().where(label.item_id == StateRow.item_id, label.annotator == WHO, is_current(label),
                          label.value == "skip" if only.skipped else label.value != "withdrawn")
    found = [mine if only.skipped else ~mine]
    return found if only.calibration else [StateRow.policy != "adjudicated", *found, ~_known(StateRow.item_id)]


def _place_left(only: QueueFilter) -> list[ColumnElement[bool]]:
    return [] if only.overlap is None or only.calibration else [StateRow.labels < only.overlap]


def _known(item_id: Any) -> ColumnElement[bool]:
    return exists().where(CalibrationRow.item_id == item_id)


def _order(order: QueueOrder, only: QueueFilter) -> list[Any]:
    if only.skipped:
        skip = aliased(LabelRow)
        return [select(func.max(skip.id)).where(skip.item_id == StateRow.item_id, skip.annotator == WHO)
                .correlate(StateRow).scalar_subquery()]
    if order == "oldest":
        return [StateRow.item_id]
    first = {"disagreement": [StateRow.agreed], "balance": [_of_the_larger_class()]}.get(order, [])
    return [*first, StateRow.distance, StateRow.item_id]


def _of_the_larger_class() -> ColumnElement[int]:
    """0 for items that are likely to be of the class with fewer resolved labels (for all, where both have as many)."""
    state = aliased(StateRow)
    yes, no = (select(func.count()).select_from(state).where(state.verdict == label).scalar_subquery()
               for label in ("sufficient", "insufficient"))
    rarer = case((yes < no, "sufficient"), (no < yes, "insufficient"), else_=StateRow.guess)
    return case((StateRow.guess == rarer, 0), else_=1)
