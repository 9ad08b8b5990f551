"""Frozen data sets: labels resolved, split by question, counted, and kept as they were."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from storage import dialect
from storage.candidates import Candidate, candidates
from storage.database import Database, reads, writes
from storage.items import judge_item
from storage.mix import Placed, choose, manifest_of, weight
from storage.questions import question_hash
from storage.split import assign_sides
from storage.tables import DatasetItemRow, DatasetRow, GuidelineRow, ItemRow, QuestionSideRow
from storage.values import BinaryLabel, Manifest, Snapshot, SnapshotRequest, SnapshotRow, Split
from trio_core.errors import StoreError


class Snapshots(Database):
    """Making and reading snapshots."""

    @writes
    def create_snapshot(self, session: Session, request: SnapshotRequest) -> Snapshot:
        """Freezes the labels of this moment. Raises StoreError when there is nothing to freeze."""
        found, dropped = candidates(session, request)
        if not found:
            raise StoreError(f"no label to make a training set of (left out: {_words(dropped)}); label some items first")
        sides = assign_sides(_labels_by_question(found), _earlier_sides(session), request.held_out_fraction, request.seed)
        placed = choose(found, sides, request, dropped)
        manifest = manifest_of(placed, dropped, sides, session.scalar(select(func.max(GuidelineRow.version))) or 0)
        dataset = DatasetRow(request=request.model_dump_json(), manifest=manifest.model_dump_json(),
                             content_hash=manifest.content_hash, created=self.clock())
        session.add(dataset)
        session.flush()
        session.add_all(DatasetItemRow(dataset_id=dataset.id, item_id=p.row.item_id, split=p.split, label=p.row.label,
                                       source=p.row.source, annotators=json.dumps(p.row.annotators), kind=p.row.kind or "",
                                       answer_models=json.dumps(p.row.answer_models)) for p in placed)
        self._remember_sides(session, dataset.id, placed)
        return _snapshot(dataset)

    @reads
    def snapshot(self, session: Session, snapshot_id: int) -> Snapshot:
        """One snapshot. Raises StoreError when there is none with this id."""
        return _snapshot(_require(session, snapshot_id))

    @reads
    def snapshots(self, session: Session) -> list[Snapshot]:
        """All snapshots, newest first."""
        return [_snapshot(row) for row in session.scalars(select(DatasetRow).order_by(DatasetRow.id.desc()))]

    @reads
    def snapshot_rows(self, session: Session, snapshot_id: int, split: Split | None = None) -> list[SnapshotRow]:
        """The rows of a snapshot, or of one of its sides, in the order of the items."""
        snapshot = _snapshot(_require(session, snapshot_id))
        query = (select(DatasetItemRow, ItemRow).join(ItemRow, ItemRow.id == DatasetItemRow.item_id)
                 .where(DatasetItemRow.dataset_id == snapshot_id).order_by(DatasetItemRow.item_id))
        if split is not None:
            query = query.where(DatasetItemRow.split == split)
        return [_row(row, item, snapshot) for row, item in session.execute(query)]

    def _remember_sides(self, session: Session, dataset_id: int, placed: Sequence[Placed]) -> None:
        """Only questions whose rows went in: one that was left out has been seen by no judge."""
        insert = dialect.insert_for(session.connection())(QuestionSideRow)
        statement = insert.on_conflict_do_update(
            index_elements=["question_hash"], where=QuestionSideRow.split != insert.excluded.split,
            set_={"split": insert.excluded.split, "dataset_id": insert.excluded.dataset_id})
        rows = {p.row.question: p.split for p in placed}
        session.execute(statement, [
            {"question_hash": question_hash(question), "question": question, "split": split, "dataset_id": dataset_id,
             "created": self.clock()} for question, split in rows.items()])


def _labels_by_question(found: Sequence[Candidate]) -> dict[str, list[BinaryLabel]]:
    labels: dict[str, list[BinaryLabel]] = defaultdict(list)
    for row in found:
        labels[row.question].append(row.label)
    return labels


def _earlier_sides(session: Session) -> dict[str, Split]:
    return {row.question: "held_out" if row.split == "held_out" else "train" for row in session.scalars(select(QuestionSideRow))}


def _words(dropped: Counter[str]) -> str:
    return ", ".join(f"{n} {reason}" for reason, n in sorted(dropped.items()) if n) or "nothing"


def _require(session: Session, snapshot_id: int) -> DatasetRow:
    row = session.get(DatasetRow, snapshot_id)
    if row is None:
        raise StoreError(f"snapshot {snapshot_id} does not exist in this store")
    return row


def _snapshot(row: DatasetRow) -> Snapshot:
    return Snapshot(id=row.id, request=SnapshotRequest.model_validate_json(row.request),
                    manifest=Manifest.model_validate_json(row.manifest), created=row.created)


def _row(row: DatasetItemRow, item: ItemRow, snapshot: Snapshot) -> SnapshotRow:
    return SnapshotRow.model_validate({
        "item_id": row.item_id, "split": row.split, "label": row.label, "source": row.source,
        "annotators": tuple(json.loads(row.annotators)), "kind": row.kind or None, "answer_models": tuple(json.loads(row.answer_models)),
        "weight": weight(snapshot, row.label, row.source) if row.split == "train" else 1.0,
        "question_hash": item.question_hash, "item": judge_item(item)})
