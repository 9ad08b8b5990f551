"""What the store gives and takes: frozen values, never rows of the database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from trio_core.engines.base import JudgeAdapter
from trio_core.judge_head import JudgeHead
from trio_core.values import JudgeItem, Value, VerdictLabel

GivenValue = Literal["sufficient", "insufficient", "unsure", "skip"]
LabelValue = Literal["sufficient", "insufficient", "unsure", "skip", "withdrawn"]
BinaryLabel = Literal["sufficient", "insufficient"]
LabelOrigin = Annotated[str, Field(pattern=r"^(annotate|trace|import:.+)$")]
"""Where a label was given: the queue, a run's page, or a file (`import:<name>`)."""
QueueOrder = Literal["uncertain", "oldest", "disagreement", "balance"]
Split = Literal["train", "held_out"]
LabelSource = Literal["human", "votes", "gold"]
HumanKind = Literal["correction", "agreement", "unjudged"]
"""A human label that differs from the judge's verdict at that time, equals it, or stands on an item without one."""
VoteResult = Literal["sufficient", "insufficient", "mixed"]
AdjudicatedLabel = Literal["sufficient", "insufficient", "unsure"]
JudgeKind = Literal["model", "threshold", "head", "sft"]
"""The base model as it is, a tuned threshold, a calibrated head over signals of the round, or a fine-tuned model."""
JudgeState = Literal["candidate", "live", "retired"]
JobState = Literal["queued", "running", "stopping", "stopped", "failed", "done"]

ZERO_SHOT = "zero-shot"
"""Name of the judge that has no adapter; every store has it, and it is live at first."""


class ItemSource(Value):
    """Where a label item was seen: a round of a run, or a file of items (`run_id` null)."""

    source: str
    """`run`, or the name given to `add_item`."""
    run_id: str | None = None
    round: int = 0
    method: str = ""
    dataset: str = ""
    question_id: str = ""


class LabelItem(Value):
    """A judge's input as stored: the same content seen in several runs is one item."""

    id: int
    item: JudgeItem
    content_hash: str
    question_hash: str
    """Hash of the normalised question; splits go by it."""
    created: datetime
    sources: tuple[ItemSource, ...] = ()


class MachineVerdict(Value):
    """A judge's verdict on an item. A suggestion, never a label."""

    item_id: int
    judge: str
    label: VerdictLabel
    p_sufficient: float | None = None
    p_method: str = "none"
    threshold: float = 0.5
    run_id: str
    round: int
    deciding: bool
    created: datetime


class GoldLabel(Value):
    """A label that follows from gold evidence, with the rule in words."""

    item_id: int
    label: BinaryLabel
    rule: str
    created: datetime


class LabelInput(Value):
    """A person's label. `client_uuid` is made once per form, so that a repeated click is stored once."""

    item_id: int
    annotator: str
    value: GivenValue
    client_uuid: str
    reason: str = ""
    note: str = ""
    blind: bool = False
    """True when no machine verdict was shown before the label was given."""
    milliseconds: int = Field(default=0, ge=0)
    source: LabelOrigin = "annotate"
    expected: int | None = None
    """Id of the annotator's label that the form was built on, 0 = there was none, null = do not check."""


class StoredLabel(Value):
    """One label event. The current label of an annotator on an item is the one that nothing supersedes."""

    id: int
    item_id: int
    question: str
    annotator: str
    value: LabelValue
    reason: str = ""
    note: str = ""
    blind: bool = False
    milliseconds: int = 0
    client_uuid: str
    supersedes: int | None = None
    source: LabelOrigin = "annotate"
    created: datetime


class LabelTime(Value):
    """When a label was given and how long it took: what the figures of a session are made of."""

    item_id: int
    value: LabelValue
    milliseconds: int
    created: datetime


class LabelCounts(Value):
    """How far labelling has come. A machine verdict counts as nothing but itself. All of it is about the items of a filter."""

    items: int = 0
    human: dict[str, int] = Field(default_factory=dict)
    """Items by resolved human label: sufficient, insufficient, unsure, skip, conflict."""
    gold: dict[str, int] = Field(default_factory=dict)
    """Items by gold label."""
    machine: dict[str, int] = Field(default_factory=dict)
    """Verdicts (not items) by label: sufficient, insufficient, unparsed."""
    done: int = 0
    """Items that the asking annotator labelled sufficient, insufficient or unsure."""
    skipped: int = 0
    pending: int = 0
    """Items that the queue still holds for the asking annotator (also those that others work on at the moment)."""
    policies: dict[str, int] = Field(default_factory=dict)
    """Items with a human label by how it was resolved: adjudicated, majority, single, conflict."""


class SnapshotRequest(Value):
    """What a training set shall hold. Of all choices only `sources` and `vote_models` touch the held-out side."""

    held_out_fraction: float = Field(default=0.4, ge=0, le=1)
    """Share of *new* questions to hold out; questions of earlier snapshots keep their side."""
    seed: int = 13
    max_rows: int | None = Field(default=None, ge=1)
    """Most training rows; human labels are kept before votes and those before gold."""
    sources: frozenset[LabelSource] = frozenset({"human", "gold"})
    human_kinds: frozenset[HumanKind] = frozenset(get_args(HumanKind))
    vote_models: frozenset[str] = frozenset()
    """Answer models whose votes count; empty = all."""
    caps: dict[LabelSource, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Most training rows of a source."""
    weights: dict[LabelSource, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """Weight of a source's training rows in the loss; 1 where none is given."""
    balance: bool = False
    """As many training rows of each label as the rarer one has."""
    class_weights: bool = False
    """All training rows stay, and those of the rarer label weigh more, so that both labels weigh the same."""


class Manifest(Value):
    """What a snapshot holds and what it left out, and why."""

    counts: dict[str, dict[str, dict[str, int]]]
    """split -> label -> source -> rows."""
    questions: dict[str, int]
    """split -> different questions."""
    dropped: dict[str, int]
    """reason -> items: conflict, unsure, skip, unlabelled, mixed (votes), vote_conflict (between models); of the training side:
    correction, agreement, unjudged (human kinds not asked for), cap_<source>, balance, max_rows."""
    moved_from_train: int = 0
    """Questions held out now that an earlier snapshot trained on (only when nothing else could be held out)."""
    annotators: tuple[str, ...] = ()
    kinds: dict[str, dict[str, int]] = Field(default_factory=dict)
    """split -> kind of human label -> rows."""
    vote_models: dict[str, int] = Field(default_factory=dict)
    """answer model -> rows with its vote label."""
    guideline: int = 0
    """Version of the guidelines at that moment, 0 = there were none."""
    content_hash: str
    """sha256 over the rows (item, split, label, source): equal snapshots have equal hashes."""


class Snapshot(Value):
    """A frozen data set for training and evaluating a judge."""

    id: int
    request: SnapshotRequest
    manifest: Manifest
    created: datetime

    def rows(self, split: Split) -> int:
        """Rows on one side."""
        return sum(n for by_source in self.manifest.counts.get(split, {}).values() for n in by_source.values())


class SnapshotRow(Value):
    """One labelled item of a snapshot."""

    item_id: int
    split: Split
    label: BinaryLabel
    source: LabelSource
    annotators: tuple[str, ...] = ()
    kind: HumanKind | None = None
    """Of a human label; null for others, and in snapshots of older versions."""
    answer_models: tuple[str, ...] = ()
    """The models whose votes gave the label."""
    weight: float = 1.0
    """Weight in the loss: of the source, and of the label where the request asks for class weights."""
    question_hash: str
    item: JudgeItem


class JudgeVersion(Value):
    """A judge: the base model with or without an adapter, a threshold or a head. Paths are relative to the data folder."""

    name: str
    kind: JudgeKind = "sft"
    base_model: str = ""
    parent: str | None = None
    """Name of the judge that a threshold or a head sits on."""
    head: dict[str, Any] | None = None
    """Parameters of a calibrated head."""
    gate: dict[str, Any] | None = None
    """The gate's report, null = the gate was not run."""
    peft_dir: str | None = None
    gguf: str | None = None
    snapshot_id: int | None = None
    scores: dict[str, Any] = Field(default_factory=dict)
    threshold: float = 0.5
    state: JudgeState
    created: datetime
    promoted_at: datetime | None = None
    promoted_by: str = ""
    reason: str = ""

    def adapter(self, data_dir: Path) -> JudgeAdapter:
        """What an engine needs to make this judge live."""
        def path(part: str | None) -> Path | None:
            return data_dir / part if part else None

        return JudgeAdapter(name=self.name, peft_dir=path(self.peft_dir), gguf=path(self.gguf), threshold=self.threshold,
                            head=JudgeHead.model_validate(self.head) if self.head else None)


class Promotion(Value):
    """One change of the live judge."""

    judge: str
    previous: str
    by: str
    reason: str
    created: datetime


class JobProgress(Value):
    """How far a job is. The loss curve stands in the job's log file."""

    step: int = 0
    steps: int = 0
    seconds_left: float | None = None
    stage: str = ""
    figures: dict[str, float] = Field(default_factory=dict)
    """A few last figures (`loss`, `learning_rate`, …)."""


class Job(Value):
    """A long task in a process of its own."""

    id: int
    kind: str
    state: JobState
    config: Mapping[str, Any] = Field(default_factory=dict)
    snapshot_id: int | None = None
    pid: int | None = None
    progress: JobProgress = JobProgress()
    log_path: str = ""
    error: str = ""
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    heartbeat: datetime | None = None
