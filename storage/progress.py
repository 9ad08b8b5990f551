"""How each annotator is getting on, and how far annotators agree."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from storage.agreement import VALUES, Agreement, agreement
from storage.annotation_values import AnnotatorProgress, QueueFilter
from storage.database import Database, reads
from storage.labels import current_rows
from storage.queue import EVERYTHING, matching
from storage.tables import LabelRow, StateRow


class Progress(Database):
    """Figures about annotators."""

    @reads
    def progress_by_annotator(self, session: Session, only: QueueFilter = EVERYTHING) -> list[AnnotatorProgress]:
        """Every annotator with a current label, by name, from one query."""
        mine = (current_rows()
                .with_only_columns(LabelRow.annotator, LabelRow.value, LabelRow.milliseconds, StateRow.verdict, StateRow.policy)
                .join(StateRow, StateRow.item_id == LabelRow.item_id)
                .where(LabelRow.value != "withdrawn", *matching(LabelRow.item_id, only)).cte("mine"))
        # The median as both databases can do it: the mean of the middle one or two of the sorted times.
        timed = (select(mine.c.annotator, mine.c.milliseconds,
                        func.row_number().over(partition_by=mine.c.annotator, order_by=mine.c.milliseconds).label("place"),
                        func.count().over(partition_by=mine.c.annotator).label("n"))
                 .where(mine.c.milliseconds > 0, mine.c.value != "skip").cte("timed"))
        median = (select(timed.c.annotator, func.avg(timed.c.milliseconds).label("ms"))
                  .where(2 * timed.c.place >= timed.c.n, 2 * timed.c.place <= timed.c.n + 2).group_by(timed.c.annotator).cte("median"))
        compared = and_(mine.c.value.in_(VALUES[:2]), mine.c.policy.in_(("majority", "adjudicated")), mine.c.verdict.in_(VALUES[:2]))
        rows = session.execute(
            select(mine.c.annotator, _sum(mine.c.value.in_(VALUES)), _sum(mine.c.value == "skip"), _sum(mine.c.value == "unsure"),
                   func.max(median.c.ms), _sum(compared), _sum(and_(compared, mine.c.value == mine.c.verdict)))
            .outerjoin(median, median.c.annotator == mine.c.annotator).group_by(mine.c.annotator).order_by(mine.c.annotator))
        return [AnnotatorProgress(annotator=name, labelled=labelled, skipped=skipped, unsure=unsure,
                                  median_ms=None if ms is None else float(ms), compared=n, agreed=agreed)
                for name, labelled, skipped, unsure, ms, n, agreed in rows]

    @reads
    def agreement(self, session: Session, only: QueueFilter = EVERYTHING) -> Agreement:
        """Kappa of each pair and alpha of all, over the current labels that are sufficient, insufficient or unsure."""
        ratings: dict[int, dict[str, str]] = defaultdict(dict)
        rows = (current_rows().with_only_columns(LabelRow.item_id, LabelRow.annotator, LabelRow.value)
                .where(LabelRow.value.in_(VALUES), *matching(LabelRow.item_id, only)))
        for item_id, annotator, value in session.execute(rows):
            ratings[item_id][annotator] = value
        return agreement(ratings)


def _sum(condition: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.sum(case((condition, 1), else_=0))
