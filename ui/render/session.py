"""The figures of a session: labels, pace, agreement with the judge."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol, TypeVar

from storage.values import LabelTime, MachineVerdict, StoredLabel
from ui.render.base import plural
from ui.render.item import DECIDED, latest_by_judge

PAUSE = timedelta(minutes=30)
"""A longer gap between two labels begins a new session."""


class Judged(Protocol):
    """An answer with the verdicts on its item."""

    @property
    def verdicts(self) -> Sequence[MachineVerdict]:
        """Oldest first."""


Given = TypeVar("Given", LabelTime, StoredLabel)


class Session(NamedTuple):
    """Labels since the last long pause. `agreed` of `compared` decided labels are the newest judge's."""

    labels: int = 0
    median_s: float | None = None
    per_hour: float | None = None
    agreed: int = 0
    compared: int = 0

    def words(self) -> str:
        """Plain text; empty before the first label."""
        if not self.labels:
            return ""
        parts = [
            plural(self.labels, "label"), f"{self.median_s:.1f} s median" if self.median_s is not None else "",
            f"{self.per_hour:,.0f} an hour" if self.per_hour is not None else "",
            f"judge agreed on {self.agreed} of {self.compared}" if self.compared else "",
        ]
        return "This session: " + " · ".join(part for part in parts if part)


def session_of(labels: Sequence[Given], answer: Callable[[Given], Judged]) -> Session:
    """`labels`: one's current labels, newest first."""
    if not labels:
        return Session()
    pairs = enumerate(zip(labels, labels[1:], strict=False), 1)
    mine = labels[:next((n for n, (later, earlier) in pairs if later.created - earlier.created > PAUSE), len(labels))]
    times = [label.milliseconds / 1000 for label in mine if label.milliseconds]
    span = (mine[0].created - mine[-1].created).total_seconds()
    judged = [(label.value, latest_by_judge(said)[0].label) for label in mine
             if label.value in DECIDED and (said := answer(label).verdicts)]
    return Session(
        labels=len(mine), median_s=statistics.median(times) if times else None, compared=len(judged),
        per_hour=3600 * (len(mine) - 1) / span if len(mine) > 2 and span > 0 else None, agreed=sum(a == b for a, b in judged),
    )
