"""Frozen data sets: labels resolved, split by question, counted, and kept as they were."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from storage import dialect
from storage.candidates import Candidate, candidates
from storage.database import Database, reads, writes
from storage.items import judge_item
from storage.questions import question_hash
from storage.split import Sides, assign_sides, shuffled
from storage.tables import DatasetItemRow, DatasetRow, ItemRow, QuestionSideRow
from storage.values import BinaryLabel, Manifest, Snapshot, SnapshotRequest, SnapshotRow, Split
from trio_core.errors import StoreError


@dataclass(frozen=True)
class _Placed:
    """A candidate with its side."""

    row: Candidate
    split: Split


class Snapshots(Database):
    """Making and reading snapshots."""

    @writes
    def create_snapshot(self, session: Session, request: SnapshotRequest) -> Snapshot:
        """Freezes the labels of this moment. Raises StoreError when there is nothing to freeze."""
        found, dropped = candidates(session, request.sources)
        if not found:
            raise StoreError(f"no label to make a training set of (left out: {_words(dropped)}); label some items first")
        sides = assign_sides(_labels_by_question(found), _earlier_sides(session), request.held_out_fraction, request.seed)
        placed = _select(found, sides, request, dropped)
        manifest = _manifest(placed, dropped, sides)
        dataset = DatasetRow(request=request.model_dump_json(), manifest=manifest.model_dump_json(),
                             content_hash=manifest.content_hash, created=self.clock())
        session.add(dataset)
        session.flush()
        session.add_all(DatasetItemRow(dataset_id=dataset.id, item_id=p.row.item_id, split=p.split, label=p.row.label,
                                       source=p.row.source, annotators=json.dumps(p.row.annotators)) for p in placed)
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
        _require(session, snapshot_id)
        query = (select(DatasetItemRow, ItemRow).join(ItemRow, ItemRow.id == DatasetItemRow.item_id)
                 .where(DatasetItemRow.dataset_id == snapshot_id).order_by(DatasetItemRow.item_id))
        if split is not None:
            query = query.where(DatasetItemRow.split == split)
        return [_row(row, item) for row, item in session.execute(query)]

    def _remember_sides(self, session: Session, dataset_id: int, placed: Sequence[_Placed]) -> None:
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


def _select(found: Sequence[Candidate], sides: Sides, request: SnapshotRequest, dropped: Counter[str]) -> list[_Placed]:
    """All held-out rows, and of the training rows as many as `balance` and `max_rows` allow."""
    held = [row for row in found if sides.of[row.question] == "held_out"]
    # People's labels are worth most, so what is cut off at the end is gold; among equals chance decides, by the seed.
    train = sorted((row for row in found if sides.of[row.question] == "train"),
                   key=lambda row: (row.source != "human", shuffled(request.seed, row.content_hash)))
    kept = _balanced(train) if request.balance else train
    dropped["balance"] += len(train) - len(kept)
    few = kept if request.max_rows is None else _first(kept, request.max_rows, request.balance)
    dropped["max_rows"] += len(kept) - len(few)
    return [_Placed(row, "train") for row in few] + [_Placed(row, "held_out") for row in held]


def _balanced(rows: Sequence[Candidate]) -> list[Candidate]:
    counts = Counter(row.label for row in rows)
    return _each_label(rows, min(counts["sufficient"], counts["insufficient"]))


def _first(rows: Sequence[Candidate], n: int, balance: bool) -> list[Candidate]:
    return _each_label(rows, n // 2) if balance and n < len(rows) else list(rows[:n])


def _each_label(rows: Sequence[Candidate], n: int) -> list[Candidate]:
    by_label = {label: [row for row in rows if row.label == label][:n] for label in ("sufficient", "insufficient")}
    return [*by_label["sufficient"], *by_label["insufficient"]]


def _manifest(placed: Sequence[_Placed], dropped: Counter[str], sides: Sides) -> Manifest:
    counts: dict[str, dict[str, dict[str, int]]] = {"train": {}, "held_out": {}}
    questions: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for p in placed:
        by_source = counts[p.split].setdefault(p.row.label, {})
        by_source[p.row.source] = by_source.get(p.row.source, 0) + 1
        questions[p.split].add(p.row.question)
    lines = sorted(f"{p.row.content_hash} {p.split} {p.row.label} {p.row.source}" for p in placed)
    return Manifest(
        counts=counts, questions={split: len(names) for split, names in questions.items()},
        dropped={reason: n for reason, n in sorted(dropped.items()) if n}, moved_from_train=sides.moved_from_train,
        annotators=tuple(sorted({name for p in placed for name in p.row.annotators})),
        content_hash=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )


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


def _row(row: DatasetItemRow, item: ItemRow) -> SnapshotRow:
    return SnapshotRow.model_validate({
        "item_id": row.item_id, "split": row.split, "label": row.label, "source": row.source,
        "annotators": tuple(json.loads(row.annotators)), "question_hash": item.question_hash, "item": judge_item(item)})
