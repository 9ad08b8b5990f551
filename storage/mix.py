"""Which labelled items a snapshot takes, how much each weighs, and the count of what it holds. Pure: no database here."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from storage.candidates import Candidate
from storage.split import Sides, shuffled
from storage.values import Manifest, Snapshot, SnapshotRequest, Split

LABELS = ("sufficient", "insufficient")
_RANK = {"human": 0, "votes": 1, "gold": 2}


@dataclass(frozen=True)
class Placed:
    """A candidate with its side."""

    row: Candidate
    split: Split


def choose(found: Sequence[Candidate], sides: Sides, request: SnapshotRequest, dropped: Counter[str]) -> list[Placed]:
    """All held-out rows, and of the training rows those of the mix that is asked for; what it leaves out is added to `dropped`."""
    held = [row for row in found if sides.of[row.question] == "held_out"]
    # People's labels are worth most, so what is cut off at the end is gold; among equals chance decides, by the seed.
    rows = sorted((row for row in found if sides.of[row.question] == "train"),
                  key=lambda row: (_RANK[row.source], shuffled(request.seed, row.content_hash)))
    rows = _of_kinds(rows, request, dropped)
    rows = _capped(rows, request, dropped)
    kept = _balanced(rows) if request.balance else rows
    dropped["balance"] += len(rows) - len(kept)
    few = kept if request.max_rows is None else _first(kept, request.max_rows, request.balance)
    dropped["max_rows"] += len(kept) - len(few)
    return [Placed(row, "train") for row in few] + [Placed(row, "held_out") for row in held]


def weight(snapshot: Snapshot, label: str, source: str) -> float:
    """Weight of a training row: of its source, and such that both labels weigh the same in all where that is asked for."""
    by_source = snapshot.request.weights.get(source, 1.0)  # type: ignore[call-overload]
    if not snapshot.request.class_weights:
        return by_source
    counts = snapshot.manifest.counts.get("train", {})
    mass = {name: sum(n * snapshot.request.weights.get(s, 1.0) for s, n in counts.get(name, {}).items())  # type: ignore[call-overload]
            for name in LABELS}
    return by_source * sum(mass.values()) / (2 * mass[label]) if all(mass.values()) else by_source


def manifest_of(placed: Sequence[Placed], dropped: Counter[str], sides: Sides, guideline: int) -> Manifest:
    """Counts of rows by side, label, source and kind, and a hash that equal snapshots share."""
    counts: dict[str, dict[str, dict[str, int]]] = {"train": {}, "held_out": {}}
    kinds: dict[str, Counter[str]] = {"train": Counter(), "held_out": Counter()}
    questions: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for p in placed:
        by_source = counts[p.split].setdefault(p.row.label, {})
        by_source[p.row.source] = by_source.get(p.row.source, 0) + 1
        questions[p.split].add(p.row.question)
        if p.row.kind:
            kinds[p.split][p.row.kind] += 1
    lines = sorted(f"{p.row.content_hash} {p.split} {p.row.label} {p.row.source}" for p in placed)
    return Manifest(
        counts=counts, questions={split: len(names) for split, names in questions.items()},
        dropped={reason: n for reason, n in sorted(dropped.items()) if n}, moved_from_train=sides.moved_from_train,
        annotators=tuple(sorted({name for p in placed for name in p.row.annotators})),
        kinds={split: dict(n) for split, n in kinds.items() if n}, guideline=guideline,
        vote_models=dict(sorted(Counter(model for p in placed for model in p.row.answer_models).items())),
        content_hash=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    )


def _of_kinds(rows: Sequence[Candidate], request: SnapshotRequest, dropped: Counter[str]) -> list[Candidate]:
    kept = [row for row in rows if row.kind is None or row.kind in request.human_kinds]
    dropped.update(row.kind for row in rows if row.kind is not None and row.kind not in request.human_kinds)
    return kept


def _capped(rows: Sequence[Candidate], request: SnapshotRequest, dropped: Counter[str]) -> list[Candidate]:
    """Rows are in the order of a shuffle, so what a cap cuts off is chance's choice."""
    kept: list[Candidate] = []
    taken: Counter[str] = Counter()
    for row in rows:
        cap = request.caps.get(row.source)
        if cap is not None and taken[row.source] >= cap:
            dropped[f"cap_{row.source}"] += 1
            continue
        taken[row.source] += 1
        kept.append(row)
    return kept


def _balanced(rows: Sequence[Candidate]) -> list[Candidate]:
    counts = Counter(row.label for row in rows)
    return _each_label(rows, min(counts["sufficient"], counts["insufficient"]))


def _first(rows: Sequence[Candidate], n: int, balance: bool) -> list[Candidate]:
    return _each_label(rows, n // 2) if balance and n < len(rows) else list(rows[:n])


def _each_label(rows: Sequence[Candidate], n: int) -> list[Candidate]:
    return [row for label in LABELS for row in [row for row in rows if row.label == label][:n]]
