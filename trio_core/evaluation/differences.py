"""The questions on which two entrants differ, and the runs of an evaluation that a figure stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal

from trio_core.evaluation.summary import value_of
from trio_core.evaluation.values import Row
from trio_core.values import Value

Side = Literal["won", "lost"]


class Difference(Value):
    """A question that one entrant answers better than the other. Runs of all repeats, in order."""

    side: Side
    dataset: str
    question_id: str
    question: str
    answers: tuple[str, ...]
    first: float
    second: float
    """The metric, mean of the repeats."""
    first_runs: tuple[str, ...]
    second_runs: tuple[str, ...]
    first_answer: str
    second_answer: str
    """Of the first repeat; a failed run's reason in its place."""


class Chosen(Value):
    """Which rows a figure stands for; null = any."""

    label: str | None = None
    rounds: int | None = None
    type: str | None = None
    hops: int | None = None
    dataset: str | None = None
    failed: bool | None = None

    def fits(self, row: Row) -> bool:
        """True for a row that counts in the figure. A failed run has no number of rounds."""
        pairs = ((self.label, row.label), (self.type, row.type), (self.hops, row.hops), (self.dataset, row.dataset), (self.failed, not row.finished))
        return all(want is None or want == have for want, have in pairs) and (self.rounds is None or (row.finished and row.rounds == self.rounds))


def differences(rows: Iterable[Row], first: str, second: str, metric: str) -> list[Difference]:
    """Won first, then lost; within them the largest difference first. Questions that only one of them has are left out."""
    by_side: dict[str, defaultdict[tuple[str, str], list[Row]]] = {label: defaultdict(list) for label in (first, second)}
    for row in rows:
        if row.label in by_side and value_of(row, metric) is not None:
            by_side[row.label][(row.dataset, row.question_id)].append(row)
    ours, theirs = by_side[first], by_side[second]
    found = [_difference(ours[key], theirs[key], metric) for key in ours if key in theirs]
    return sorted((d for d in found if d.first != d.second), key=lambda d: (d.side != "won", -abs(d.first - d.second)))


def _difference(ours: Sequence[Row], theirs: Sequence[Row], metric: str) -> Difference:
    ours, theirs = (sorted(rows, key=lambda r: r.repeat) for rows in (ours, theirs))
    a, b = (fmean(value for r in rows if (value := value_of(r, metric)) is not None) for rows in (ours, theirs))
    return Difference(
        side="won" if a > b else "lost", dataset=ours[0].dataset, question_id=ours[0].question_id, question=ours[0].question,
        answers=ours[0].answers, first=a, second=b, first_runs=_runs(ours), second_runs=_runs(theirs),
        first_answer=_said(ours[0]), second_answer=_said(theirs[0]),
    )


def _runs(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(row.run_id for row in rows if row.run_id)


def _said(row: Row) -> str:
    return row.answer if row.finished else f"{row.status}: {row.reason}"
