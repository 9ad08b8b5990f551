"""What the store gives and takes beside labels: adjudications, votes, guidelines, known answers, progress."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from storage.values import BinaryLabel, LabelValue, VoteResult
from trio_core.values import Value

Policy = Literal["adjudicated", "majority", "single", "conflict", ""]
"""How an item's label was resolved; empty = nobody decided."""


class QueueFilter(Value):
    """Which items a queue holds. An empty set means: all. Method, data set, round and source belong to one sighting of an item."""

    methods: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()
    rounds: frozenset[int] = frozenset()
    sources: frozenset[str] = frozenset()
    """`run`, or names of imports."""
    judges: frozenset[str] = frozenset()
    """Items that one of these judge versions has judged."""
    calibration: bool = False
    """Only the items with known answers (for everybody, whatever `overlap` says); else those are left out."""
    skipped: bool = False
    """Only what the annotator has skipped, longest ago first; else that does not come back."""
    overlap: int | None = Field(default=1, ge=1)
    """How many different annotators an item is given to; None = everybody gets every item."""


class QueueRule(Value):
    """What admins set for everybody's queue. `created` is null where nobody has set anything."""

    overlap: int | None = 1
    """How many different annotators an item goes to; None = everybody."""
    by: str = ""
    created: datetime | None = None


class Adjudication(Value):
    """A decision about an item that wins over all labels; the latest one holds."""

    id: int
    item_id: int
    label: Literal["sufficient", "insufficient", "unsure", "withdrawn"]
    by: str
    note: str = ""
    client_uuid: str
    created: datetime


class Resolved(Value):
    """An item's label as people gave it, and by which rule."""

    item_id: int
    label: Literal["sufficient", "insufficient", "conflict", "unsure", "skip"]
    policy: Policy


class Conflict(Value):
    """An item that annotators disagree about, with their current labels."""

    item_id: int
    question: str
    labels: dict[str, LabelValue]
    """annotator -> current label."""


class VoteAnswer(Value):
    """One of the different answers that an answer model gave, and how often."""

    text: str
    n: int = Field(ge=1)
    right: bool


class VoteLabel(Value):
    """TRIO's unanimity label: all samples right = sufficient, all wrong = insufficient, else mixed. Holds for `answer_model`."""

    item_id: int
    answer_model: str
    n_samples: int
    n_right: int
    answers: tuple[VoteAnswer, ...] = ()
    label: VoteResult
    temperature: float
    created: datetime


class Guideline(Value):
    """One version of the guidelines; `text` is markdown and untrusted."""

    version: int
    text: str
    by: str
    created: datetime


class CalibrationItem(Value):
    """An item with its known answer."""

    item_id: int
    question: str
    label: BinaryLabel
    explanation: str = ""
    by: str = ""
    created: datetime


class CalibrationScore(Value):
    """How an annotator did on the items with known answers. Unsure is not right; skipped items count as unanswered."""

    annotator: str
    items: int
    """Items with a known answer."""
    answered: int
    right: int
    confusion: dict[str, dict[str, int]] = Field(default_factory=dict)
    """known answer -> given label -> items."""

    @property
    def accuracy(self) -> float | None:
        """Share of the answered items that are right; None before the first answer."""
        return self.right / self.answered if self.answered else None


class AnnotatorProgress(Value):
    """One annotator's work. `agreement` = share of decided labels that equal the item's resolved label, where others decided too."""

    annotator: str
    labelled: int
    """Items with a current label sufficient, insufficient or unsure."""
    skipped: int
    unsure: int
    median_ms: float | None
    """Median time of the labels that have one."""
    compared: int
    """Items on which somebody else decided too, and the label was resolved."""
    agreed: int

    @property
    def agreement(self) -> float | None:
        """Share of compared items; None where nobody else has decided."""
        return self.agreed / self.compared if self.compared else None
