"""What the training service gives: plans, views of jobs, scores. Frozen, and readable without torch."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from storage.values import BinaryLabel, Job, Split
from trio_core.settings import TrainingSettings
from trio_core.values import Value


class JobSettings(TrainingSettings):
    """The training settings with what only one job needs. All keys may be overridden for a job."""

    eval_rows: int = Field(default=100, ge=2)
    """Most held-out rows that are judged before and after (seeded sample, both classes)."""
    threshold_rows: int = Field(default=40, ge=0)
    """Training rows on which the threshold is tuned; 0 = the threshold stays 0.5."""
    calibration_share: float = Field(default=0.0, ge=0, le=0.5)
    """Share of the training questions that are kept out of the training, for its threshold and for a head on top; 0 = none
    (then the threshold is tuned on rows that the judge was trained on)."""
    class_balance: Literal["none", "weights", "sampling"] = "none"
    """Where one label is rarer: `weights` scales its loss up, `sampling` repeats its rows until both are equally many."""
    micro_batch: int = Field(default=1, ge=1)
    """Rows in one forward pass; gradients of `batch_size` rows make one step."""
    save_steps: int = Field(default=1, ge=1)
    """Steps between checkpoints; after a crash at most so many are repeated. A checkpoint is 80 MB for the embedded model."""


class DemoItemCounts(Value):
    """Label items made from the demo questions."""

    items: int
    """All items of this kind that the store holds now."""
    added: int
    sufficient: int
    insufficient: int
    skipped_long: int = 0
    """Pools whose prompt is longer than `training.max_tokens`."""
    questions: int = 0
    tokens_exact: bool = True
    """False where the model's tokenizer was not at hand and lengths were estimated."""


class DroppedRow(Value):
    """A row that is not used, and why."""

    item_id: int
    split: Split
    label: BinaryLabel
    tokens: int
    reason: str


class TrainingPlan(Value):
    """What `start` would do. `problems` is empty where it can start."""

    snapshot_id: int
    rows: dict[str, dict[str, int]]
    """split -> label -> rows that will be used."""
    in_snapshot: dict[str, dict[str, int]]
    """split -> label -> rows of the snapshot."""
    dropped: tuple[DroppedRow, ...] = ()
    mean_tokens: float = 0.0
    tokens_exact: bool = True
    steps: int = 0
    estimated_minutes: float = 0.0
    """Rough: from figures measured on two CPU cores or, on a GPU, a fixed rate."""
    command: str = ""
    """The exact command of the child process, in one line."""
    config: dict[str, Any] = Field(default_factory=dict)
    """The effective settings of the job."""
    base_model: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class Scores(Value):
    """How well a judge agrees with the labels of held-out items. Null = undefined (one class only)."""

    rows: int
    counts: dict[str, int]
    """label -> rows."""
    balanced_accuracy: float | None
    """At P(sufficient) >= 0.5."""
    threshold: float
    """Tuned on training rows, never on these rows."""
    balanced_accuracy_tuned: float | None
    f1_sufficient: float
    f1_insufficient: float
    f1_sufficient_tuned: float
    f1_insufficient_tuned: float
    kappa: float | None
    kappa_tuned: float | None
    auroc: float | None
    ece: float
    """Expected calibration error of P(sufficient) over 10 equal bins."""


class ItemScore(Value):
    """One held-out item before and after training. `flipped` by each judge's own threshold."""

    item_id: int
    label: BinaryLabel
    question: str = ""
    p_before: float
    p_after: float
    flipped: bool


class Evaluation(Value):
    """A judge before and after training on the same held-out rows. It is the `scores` of a judge version."""

    before: Scores
    after: Scores
    items: tuple[ItemScore, ...] = ()
    held_out_rows: int = 0
    """Rows on the held-out side; more than `after.rows` where a sample was judged."""
    threshold_rows: int = 0
    flips: dict[str, int] = Field(default_factory=dict)
    """`to_right`, `to_wrong`: items whose verdict changed."""


class HeldOutPoint(Value):
    """A point of the held-out curve; step 0 is before training."""

    step: int
    balanced_accuracy: float | None
    auroc: float | None
    ece: float


class JobView(Value):
    """Everything a page shows about one training job."""

    job: Job
    command: str
    loss: tuple[tuple[int, float], ...] = ()
    """(step, training loss)."""
    held_out: tuple[HeldOutPoint, ...] = ()
    log_tail: str = ""
    folder: str = ""
    """Where config, log, checkpoints and adapter lie."""
    judge: str = ""
    """Name of the judge version that came of it."""
    report: dict[str, Any] = Field(default_factory=dict)
    """What a job that is no SFT found: votes counted, a gate's report, a fit's figures."""
    evaluation: Evaluation | None = None
    can_resume: bool = False
