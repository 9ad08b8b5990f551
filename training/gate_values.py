"""The gate's settings and its report, as stored with a judge version."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from storage.values import BinaryLabel
from trio_core.values import Value

Metric = Literal["balanced_accuracy", "f1_sufficient", "f1_insufficient", "kappa", "auroc", "ece"]
METRICS: dict[Metric, str] = {
    "balanced_accuracy": "balanced accuracy", "f1_sufficient": "F1 of sufficient", "f1_insufficient": "F1 of insufficient",
    "kappa": "Cohen's kappa", "auroc": "AUROC", "ece": "calibration error (ECE)",
}
LESS_IS_BETTER = frozenset({"ece"})


class GateRule(Value):
    """When a candidate passes. Differences are the candidate's figure minus the live judge's, on the same items.

    1. at least `min_rows` held-out items, `min_per_class` of either label;
    2. balanced accuracy is not lower beyond noise: the upper end of the difference's interval is at least 0, and the
       difference itself is not below -`max_drop`;
    3. neither AUROC nor ECE is worse beyond noise (its whole interval is on the wrong side of 0);
    4. something is better: balanced accuracy, AUROC or ECE is in at least `sure` of the resamples;
    5. where downstream runs were made: exact match is not lower beyond noise.
    """

    min_rows: int = Field(default=40, ge=2)
    min_per_class: int = Field(default=8, ge=1)
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    max_drop: float = Field(default=0.05, ge=0, le=1)
    sure: float = Field(default=0.9, gt=0.5, le=1)
    resamples: int = Field(default=1000, ge=100, le=20000)
    seed: int = 13


class Bin(Value):
    """One bin of a reliability plot."""

    low: float
    high: float
    n: int
    mean_p: float
    share_sufficient: float


class GateSide(Value):
    """One judge's figures, with verdicts by its own threshold. Null = undefined."""

    judge: str
    threshold: float
    figures: dict[str, float | None]
    """By metric name (`gate_values.METRICS`)."""
    bins: tuple[Bin, ...] = ()


class Difference(Value):
    """Candidate minus live, with a paired bootstrap over questions. Null = undefined."""

    value: float | None
    low: float | None
    high: float | None
    better: float | None
    """Share of the resamples in which the candidate is better (ties count half)."""


class Flip(Value):
    """An item on which the two judges differ."""

    item_id: int
    question: str
    label: BinaryLabel
    source: str
    p_live: float
    p_candidate: float
    live: BinaryLabel
    candidate: BinaryLabel

    @property
    def mended(self) -> bool:
        """True where the candidate is the one that agrees with the label."""
        return self.candidate == self.label


class DownstreamSide(Value):
    """Whole runs with one judge: means over the questions."""

    judge: str
    em: float
    f1: float
    rounds: float
    calls: float
    seconds: float


class Downstream(Value):
    """Whole runs of the same questions with either judge."""

    method: str
    questions: int
    live: DownstreamSide
    candidate: DownstreamSide
    differences: dict[str, Difference]
    """em, f1, rounds, calls."""
    failed: int = 0
    """Questions left out because a run with one of the judges failed."""
    runs: dict[str, dict[str, str]] = Field(default_factory=dict)
    """question id -> judge -> run id."""


class Check(Value):
    """One condition of the rule, in words."""

    name: str
    passed: bool
    words: str


class GateReport(Value):
    """Candidate against live judge."""

    candidate: str
    live: str
    passed: bool
    checks: tuple[Check, ...]
    rows: int
    counts: dict[str, dict[str, int]]
    """label -> source -> items."""
    snapshot_id: int | None = None
    left_out: int = 0
    """Held-out items that one of the judges gave no P(sufficient) for."""
    live_side: GateSide
    candidate_side: GateSide
    differences: dict[str, Difference]
    flips: tuple[Flip, ...] = ()
    downstream: Downstream | None = None
    rule: GateRule = GateRule()
    job_id: int | None = None

    @property
    def words(self) -> str:
        """The result in one line."""
        failed = [check.words for check in self.checks if not check.passed]
        return f"{self.candidate} passes the gate against {self.live}" if self.passed else (
            f"{self.candidate} does not pass the gate against {self.live}: " + "; ".join(failed))
