"""Rows of a training job: read from a snapshot, chosen, counted, and handed to the child process as JSONL."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from storage.store import Store
from storage.values import BinaryLabel, Split
from training.values import DroppedRow, JobSettings
from trio_core.errors import TrainingError
from trio_core.values import LABEL_TEXT, Message, Value

LABELS: tuple[BinaryLabel, ...] = ("sufficient", "insufficient")


class TrainingRow(Value):
    """A judge's input word for word and the label that a person or gold evidence gives it."""

    item_id: int
    split: Split
    label: BinaryLabel
    source: str
    question: str
    messages: tuple[Message, ...]

    @property
    def completion(self) -> str:
        """What the judge shall write."""
        return LABEL_TEXT[self.label]

    def conversation(self) -> dict[str, Any]:
        """The row in TRL's conversational prompt/completion form: loss falls on the completion only (B7.02)."""
        return {
            "prompt": [message.model_dump() for message in self.messages],
            "completion": [{"role": "assistant", "content": self.completion}],
            # As in live calls: a template that can think is told not to.
            "chat_template_kwargs": {"enable_thinking": False},
        }


class Labelled(Protocol):
    """What sampling needs of a row."""

    @property
    def item_id(self) -> int:
        """The label item."""

    @property
    def label(self) -> BinaryLabel:
        """Its label."""

    @property
    def source(self) -> str:
        """Where the label is from."""


R = TypeVar("R", bound=Labelled)


class Selection(NamedTuple):
    """Rows that a job uses, and those that it leaves out with the reason."""

    train: list[TrainingRow]
    held_out: list[TrainingRow]
    dropped: list[DroppedRow]
    problems: list[str]
    calibration: list[TrainingRow]
    """Training rows that only the threshold (and a head) sees."""


def snapshot_rows(store: Store, snapshot_id: int) -> list[TrainingRow]:
    """All rows of a snapshot. Raises StoreError when there is none with this id."""
    return [
        TrainingRow(item_id=row.item_id, split=row.split, label=row.label, source=row.source, question=row.item.question,
                    messages=row.item.messages)
        for row in store.snapshot_rows(snapshot_id)
    ]


def select(rows: Sequence[TrainingRow], tokens: Mapping[int, int], settings: JobSettings) -> Selection:
    """Leaves out long rows, then caps both sides. Nothing is cut and nothing vanishes unnamed (B7.01).

    `tokens`: item id -> tokens of prompt and completion.
    """
    long = [row for row in rows if tokens[row.item_id] > settings.max_tokens]
    limit = f"longer than training.max_tokens = {settings.max_tokens}"
    dropped = [_dropped(row, tokens, limit) for row in long]
    fitting = [row for row in rows if tokens[row.item_id] <= settings.max_tokens]
    train_all, held_all = ([row for row in fitting if row.split == side] for side in ("train", "held_out"))
    calibration = kept_out(train_all, settings.calibration_share, settings.seed)
    train_all = _rest(train_all, calibration)
    train = balanced_sample(train_all, settings.max_rows, settings.seed)
    dropped += [_dropped(row, tokens, f"over training.max_rows = {settings.max_rows}") for row in _rest(train_all, train)]
    held_out = stratified_sample(held_all, settings.eval_rows, settings.seed)
    dropped += [_dropped(row, tokens, f"over eval_rows = {settings.eval_rows}") for row in _rest(held_all, held_out)]
    return Selection(train, held_out, dropped, _problems(rows, fitting, tokens, settings), calibration)


def _problems(
    rows: Sequence[TrainingRow], fitting: Sequence[TrainingRow], tokens: Mapping[int, int], settings: JobSettings
) -> list[str]:
    found = []
    for side, name in (("train", "training"), ("held_out", "held-out")):
        for label in LABELS:
            had = [row for row in rows if (row.split, row.label) == (side, label)]
            if not had:
                found.append(f"the snapshot has no {name} row labelled {label}; label more items, or hold out another share")
            elif not any((row.split, row.label) == (side, label) for row in fitting):
                named = ", ".join(f"{row.item_id} ({tokens[row.item_id]} tokens)" for row in had[:10])
                found.append(f"all {len(had)} {name} rows labelled {label} are longer than training.max_tokens = "
                             f"{settings.max_tokens}: items {named}; raise training.max_tokens")
    return found


def kept_out(rows: Sequence[TrainingRow], share: float, seed: int) -> list[TrainingRow]:
    """The rows of a share of the questions, whole questions, by the seed."""
    questions = sorted({row.question for row in rows})
    random.Random(f"calibration {seed}").shuffle(questions)
    chosen = set(questions[: round(share * len(questions))])
    return [row for row in rows if row.question in chosen]


def oversampled(rows: Sequence[TrainingRow], seed: int) -> list[TrainingRow]:
    """All rows, and rows of the rarer label again (each as often as the others, within one) until both are equally many."""
    by_label = {label: [row for row in rows if row.label == label] for label in LABELS}
    rare, common = sorted(LABELS, key=lambda label: len(by_label[label]))
    missing = len(by_label[common]) - len(by_label[rare])
    if not by_label[rare] or not missing:
        return list(rows)
    again = list(by_label[rare])
    random.Random(f"oversample {seed}").shuffle(again)
    return [*rows, *(again[i % len(again)] for i in range(missing))]


def class_weights(rows: Sequence[TrainingRow]) -> dict[BinaryLabel, float]:
    """n / (2 n_label): the mean over the rows is 1, and both labels weigh the same in sum."""
    counts = Counter(row.label for row in rows)
    return {label: len(rows) / (len(counts) * counts[label]) for label in LABELS if counts[label]}


def balanced_sample(rows: Sequence[R], limit: int, seed: int) -> list[R]:
    """At most `limit` rows, as even over the labels as they allow; human labels before gold ones, else by seed."""
    if len(rows) <= limit:
        return list(rows)
    by_label = {label: _shuffled(rows, label, seed) for label in LABELS}
    smaller = min(LABELS, key=lambda label: len(by_label[label]))
    larger = next(label for label in LABELS if label != smaller)
    take = min(len(by_label[smaller]), limit // 2)
    chosen = {row.item_id for row in [*by_label[smaller][:take], *by_label[larger][: limit - take]]}
    return [row for row in rows if row.item_id in chosen]


def stratified_sample(rows: Sequence[R], limit: int, seed: int) -> list[R]:
    """At most `limit` rows with the labels' shares kept (at least one row of each)."""
    if len(rows) <= limit:
        return list(rows)
    counts = Counter(row.label for row in rows)
    takes = {label: max(1, round(limit * counts[label] / len(rows))) for label in LABELS}
    chosen = {row.item_id for label in LABELS for row in _shuffled(rows, label, seed)[: takes[label]]}
    return [row for row in rows if row.item_id in chosen]


def _shuffled(rows: Sequence[R], label: BinaryLabel, seed: int) -> list[R]:
    found = sorted((row for row in rows if row.label == label), key=lambda row: row.item_id)
    random.Random(f"{seed} {label}").shuffle(found)
    return sorted(found, key=lambda row: row.source != "human")


def _rest(rows: Sequence[TrainingRow], chosen: Sequence[TrainingRow]) -> list[TrainingRow]:
    ids = {row.item_id for row in chosen}
    return [row for row in rows if row.item_id not in ids]


def _dropped(row: TrainingRow, tokens: Mapping[int, int], reason: str) -> DroppedRow:
    return DroppedRow(item_id=row.item_id, split=row.split, label=row.label, tokens=tokens[row.item_id], reason=reason)


def class_counts(rows: Sequence[TrainingRow]) -> dict[str, dict[str, int]]:
    """split -> label -> rows."""
    return {side: {label: sum((row.split, row.label) == (side, label) for row in rows) for label in LABELS}
            for side in ("train", "held_out")}


def token_counts(rows: Sequence[TrainingRow], count: Callable[[TrainingRow], int]) -> dict[int, int]:
    """item id -> tokens."""
    return {row.item_id: count(row) for row in rows}


def data_hash(rows: Sequence[TrainingRow]) -> str:
    """sha256 over ids, labels and prompts, in order: what the adapter was trained on."""
    body = [[row.item_id, row.label, [[m.role, m.content] for m in row.messages]] for row in rows]
    return hashlib.sha256(json.dumps(body, ensure_ascii=False).encode()).hexdigest()


def write_rows(path: Path, rows: Sequence[TrainingRow]) -> None:
    """One JSON line a row."""
    path.write_text("".join(row.model_dump_json() + "\n" for row in rows), encoding="utf-8")


def read_rows(path: Path) -> list[TrainingRow]:
    """Rows as written. Raises TrainingError."""
    try:
        return [TrainingRow.model_validate_json(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    except (OSError, ValueError) as error:
        raise TrainingError(f"the rows of this job cannot be read from {path}: {error}; start a new job") from error
