"""From many labels of an item to one: the same rule, in SQL, for the queue, the counts on the page and training sets.

An adjudicated label wins over everything. Else sufficient and insufficient are counted over the current labels of all
annotators: the majority wins, one label alone holds, and a tie is a conflict. Where nobody decided, one `unsure` makes the
item unsure, else it was skipped.
"""

from __future__ import annotations

from sqlalchemy import CTE, BindParameter, ColumnElement, Select, and_, case, exists, func, literal, null, select
from sqlalchemy.orm import aliased

from storage.tables import AdjudicationRow, LabelRow

_LATER = aliased(LabelRow)


def is_current(label: type[LabelRow] = LabelRow) -> ColumnElement[bool]:
    """True for label events that nothing supersedes."""
    return ~exists().where(_LATER.supersedes == label.id)


def held_adjudications() -> Select[tuple[int, str]]:
    """Item and label of the adjudications that hold: the latest of each item, unless it withdraws."""
    later = aliased(AdjudicationRow)
    return select(AdjudicationRow.item_id, AdjudicationRow.label).where(
        AdjudicationRow.label != "withdrawn",
        ~exists().where(later.item_id == AdjudicationRow.item_id, later.id > AdjudicationRow.id))


def human_labels(item_id: int | BindParameter[int] | None = None) -> CTE:
    """Columns item_id, verdict, policy, and yes, no and unsure (annotators); one row per item that people said something about.

    verdict: sufficient, insufficient, conflict, unsure, skip; policy: adjudicated, majority, single, conflict, or empty where
    nobody decided. With `item_id`, of that item alone.
    """
    held = held_adjudications()
    labels = select(LabelRow.item_id, LabelRow.value, null().label("decided")).where(LabelRow.value != "withdrawn", is_current())
    decided = held.with_only_columns(AdjudicationRow.item_id, literal("").label("value"), AdjudicationRow.label.label("decided"))
    if item_id is not None:
        labels, decided = labels.where(LabelRow.item_id == item_id), decided.where(AdjudicationRow.item_id == item_id)
    said = labels.union_all(decided).subquery("said")

    def votes(value: str) -> ColumnElement[int]:
        return func.sum(case((said.c.value == value, 1), else_=0))

    yes, no, unsure, adjudicated = votes("sufficient"), votes("insufficient"), votes("unsure"), func.max(said.c.decided)
    verdict = case((adjudicated.is_not(None), adjudicated), (yes > no, "sufficient"), (no > yes, "insufficient"),
                   (yes > 0, "conflict"), (unsure > 0, "unsure"), else_="skip")
    policy = case((adjudicated.is_not(None), "adjudicated"), (yes + no == 0, ""), (yes == no, "conflict"),
                  (yes + no == 1, "single"), else_="majority")
    return (select(said.c.item_id, verdict.label("verdict"), policy.label("policy"), yes.label("yes"), no.label("no"),
                   unsure.label("unsure"))
            .group_by(said.c.item_id).cte("human"))


def disagreeing() -> ColumnElement[bool]:
    """HAVING over a group of current labels: some say sufficient, some insufficient."""
    def some(value: str) -> ColumnElement[bool]:
        return func.sum(case((LabelRow.value == value, 1), else_=0)) > 0

    return and_(some("sufficient"), some("insufficient"))
