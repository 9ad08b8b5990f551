"""What the jobs that ask a model server are given and give back: votes, thresholds, heads, gates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Union

from pydantic import Field

from training.gate_values import GateRule
from training.head import HeadSettings
from trio_core.evidence import PAPER_SAMPLES
from trio_core.scale.shards import EngineName
from trio_core.settings import Settings
from trio_core.values import Value


class VotesTask(Value):
    """Label items by the answer agent's votes (TRIO's unanimity rule)."""

    kind: Literal["votes"] = "votes"
    samples: int = Field(default=PAPER_SAMPLES, ge=1, le=64)
    temperature: float = Field(default=1.0, ge=0, le=2)
    greedy_first: bool = False
    item_ids: tuple[int, ...] = ()
    """Empty = all items whose question has a known answer."""
    max_items: int | None = Field(default=None, ge=1)
    answers_file: Path | None = None
    """FlashRAG jsonl with `question` and `golden_answers`, for questions whose answer the store does not know."""
    engine: EngineName = "local"
    """`ray` = the answers are sampled on the workers of a Ray cluster, each with a model server of the settings."""
    address: str = ""


class ThresholdTask(Value):
    """Tune a threshold on P(sufficient) of a judge."""

    kind: Literal["threshold"] = "threshold"
    snapshot_id: int
    judge: str = "zero-shot"
    max_rows: int = Field(default=400, ge=2)
    """Most training items that are judged, as even over the labels as they allow."""
    held_out_rows: int = Field(default=200, ge=2)
    seed: int = 13


class HeadTask(ThresholdTask):
    """Fit a calibrated head on a judge."""

    kind: Literal["head"] = "head"  # type: ignore[assignment]
    head: HeadSettings = HeadSettings()


class DownstreamTask(Value):
    """Whole runs with the live judge and the candidate."""

    questions: int = Field(default=40, ge=1)
    dataset: str = "demo"
    """`demo`, or a FlashRAG jsonl file (`id`, `question`, `golden_answers`)."""
    method: str = "trio"
    settings: dict[str, Any] = Field(default_factory=dict)
    seed: int = 13


class GateTask(Value):
    """Compare a candidate with the live judge."""

    kind: Literal["gate"] = "gate"
    candidate: str
    live: str
    snapshot_id: int
    labels: Literal["auto", "human", "any"] = "auto"
    """`auto` = people's labels alone where there are enough of them for the rule, else gold evidence too. Votes never count."""
    max_rows: int = Field(default=300, ge=2)
    rule: GateRule = GateRule()
    downstream: DownstreamTask | None = None
    seed: int = 13


Task = Annotated[Union[VotesTask, ThresholdTask, HeadTask, GateTask], Field(discriminator="kind")]


class WorkConfig(Value):
    """All that a job's process needs. The store's address comes by the environment: it may hold a password."""

    settings: Settings
    task: Task
    job_id: int


class WorkResult(Value):
    """How a job ended. The app stores what follows from it (a judge version, a gate report); votes are stored one by one."""

    state: Literal["done", "stopped", "failed"]
    error: str = ""
    report: dict[str, Any] = Field(default_factory=dict)
    version: dict[str, Any] | None = None
    """Arguments of `Store.add_judge_version` for a new candidate."""
