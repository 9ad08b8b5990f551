"""The loop view: which snapshots and judges a label went into."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy import and_, exists, func, select
from sqlalchemy.orm import Session

from storage.database import Database, reads
from storage.items import require_item
from storage.labels import current_rows
from storage.loop_values import JudgeLoop, JudgeUse, LoopView, SnapshotUse
from storage.tables import DatasetItemRow, DatasetRow, JudgeRow, LabelRow, StateRow
from storage.values import LabelSource


class Loop(Database):
    """Following labels into judges."""

    @reads
    def where_went(self, session: Session, item_id: int) -> list[SnapshotUse]:
        """The snapshots that hold an item, newest first. Raises StoreError when there is no such item."""
        require_item(session, item_id)
        judges = session.scalars(select(JudgeRow).order_by(JudgeRow.number)).all()
        behind_live = _behind_live(judges)
        rows = session.execute(select(DatasetItemRow, DatasetRow.created).join(DatasetRow, DatasetRow.id == DatasetItemRow.dataset_id)
                               .where(DatasetItemRow.item_id == item_id).order_by(DatasetItemRow.dataset_id.desc()))
        return [SnapshotUse.model_validate({
            "snapshot_id": row.dataset_id, "created": created, "split": row.split, "label": row.label, "source": row.source,
            "annotators": tuple(json.loads(row.annotators)), "kind": row.kind or None, "live": row.dataset_id in behind_live,
            "judges": tuple(_use(judge) for judge in judges if judge.snapshot_id == row.dataset_id)}) for row, created in rows]

    @reads
    def loop_view(self, session: Session) -> LoopView:
        """Every judge with the labels behind it, and the labels that no live judge has seen."""
        judges = session.scalars(select(JudgeRow).order_by(JudgeRow.number.desc())).all()
        used = {judge.snapshot_id for judge in judges if judge.snapshot_id is not None}
        rows: dict[int, Counter[LabelSource]] = defaultdict(Counter)
        held: Counter[int] = Counter()
        names: dict[int, Counter[str]] = defaultdict(Counter)
        for dataset, split, source, annotators, n in session.execute(
                select(DatasetItemRow.dataset_id, DatasetItemRow.split, DatasetItemRow.source, DatasetItemRow.annotators, func.count())
                .where(DatasetItemRow.dataset_id.in_(used))
                .group_by(DatasetItemRow.dataset_id, DatasetItemRow.split, DatasetItemRow.source, DatasetItemRow.annotators)):
            if split == "held_out":
                held[dataset] += n
                continue
            rows[dataset][source] += n
            names[dataset].update({name: n for name in json.loads(annotators)})
        waiting, by = _waiting(session, _behind_live(judges))
        return LoopView(waiting=waiting, waiting_by=by, judges=tuple(JudgeLoop(
            judge=_use(judge), parent=judge.parent, created=judge.created, promoted_at=judge.promoted_at, snapshot_id=judge.snapshot_id,
            rows=dict(rows[judge.snapshot_id]) if judge.snapshot_id else {}, held_out=held[judge.snapshot_id] if judge.snapshot_id else 0,
            annotators=dict(sorted(names[judge.snapshot_id].items())) if judge.snapshot_id else {}) for judge in judges))


def _behind_live(judges: Sequence[JudgeRow]) -> set[int]:
    """Snapshots that the live judge and those it sits on were made from."""
    by_name = {judge.name: judge for judge in judges}
    found: set[int] = set()
    judge = next((judge for judge in judges if judge.state == "live"), None)
    while judge is not None:
        found |= {judge.snapshot_id} if judge.snapshot_id is not None else set()
        judge = by_name.get(judge.parent or "")
    return found


def _waiting(session: Session, behind_live: set[int]) -> tuple[int, dict[str, int]]:
    decided = StateRow.verdict.in_(("sufficient", "insufficient"))
    unseen = ~exists().where(and_(DatasetItemRow.item_id == StateRow.item_id, DatasetItemRow.dataset_id.in_(behind_live),
                                  DatasetItemRow.label == StateRow.verdict, DatasetItemRow.source == "human"))
    total = session.scalar(select(func.count()).select_from(StateRow).where(decided, unseen)) or 0
    by = session.execute(current_rows().with_only_columns(LabelRow.annotator, func.count())
                         .join(StateRow, StateRow.item_id == LabelRow.item_id)
                         .where(decided, unseen, LabelRow.value == StateRow.verdict)
                         .group_by(LabelRow.annotator).order_by(LabelRow.annotator)).all()
    return total, {name: n for name, n in by}


def _use(judge: JudgeRow) -> JudgeUse:
    return JudgeUse.model_validate({"name": judge.name, "kind": judge.kind, "state": judge.state})
