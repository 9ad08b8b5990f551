"""From many labels of an item to one: the same rule, in SQL, for the counts on the page and for training sets.

Sufficient and insufficient are counted over the current labels of all annotators; the majority wins and a tie is a
conflict. Where nobody decided, one `unsure` makes the item unsure, else it was skipped.
"""

from __future__ import annotations

from sqlalchemy import CTE, ColumnElement, case, exists, func, select
from sqlalchemy.orm import aliased

from storage.tables import LabelRow

_LATER = aliased(LabelRow)


def is_current(label: type[LabelRow] = LabelRow) -> ColumnElement[bool]:
    """True for label events that nothing supersedes."""
    return ~exists().where(_LATER.supersedes == label.id)


def human_labels() -> CTE:
    """Columns item_id and verdict (sufficient, insufficient, conflict, unsure, skip), one row per labelled item."""
    def votes(value: str) -> ColumnElement[int]:
        return func.sum(case((LabelRow.value == value, 1), else_=0))

    yes, no = votes("sufficient"), votes("insufficient")
    verdict = case((yes > no, "sufficient"), (no > yes, "insufficient"), (yes > 0, "conflict"),
                   (votes("unsure") > 0, "unsure"), else_="skip")
    return (select(LabelRow.item_id, verdict.label("verdict"))
            .where(LabelRow.value != "withdrawn", is_current())
            .group_by(LabelRow.item_id).cte("human"))
