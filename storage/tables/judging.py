"""Snapshots of labels, judge versions and the jobs that make them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.base import Base

ACTIVE_JOB = "state in ('queued', 'running', 'stopping')"


class DatasetRow(Base):
    """A frozen snapshot of labels with the request that made it and its manifest (both JSON)."""

    __tablename__ = "judge_dataset"

    id: Mapped[int] = mapped_column(primary_key=True)
    request: Mapped[str] = mapped_column(Text)
    manifest: Mapped[str] = mapped_column(Text)
    content_hash: Mapped[str]
    created: Mapped[datetime]


class DatasetItemRow(Base):
    """One labelled item of a snapshot; label and source stay what they were when it was made."""

    __tablename__ = "judge_dataset_row"

    dataset_id: Mapped[int] = mapped_column(ForeignKey("judge_dataset.id", ondelete="CASCADE"), primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), primary_key=True)
    split: Mapped[str]
    label: Mapped[str]
    source: Mapped[str]
    annotators: Mapped[str] = mapped_column(Text)
    """JSON list of names."""
    kind: Mapped[str]
    """correction, agreement or unjudged; empty for votes and gold."""
    answer_models: Mapped[str] = mapped_column(Text)
    """JSON list of the models whose votes gave the label."""


class QuestionSideRow(Base):
    """Which side a question is on, for all snapshots to come: the guard against leaks from training to evaluation.

    `held_out` never changes back. `train` changes only when nothing else could be held out.
    """

    __tablename__ = "question_side"

    question_hash: Mapped[str] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(Text)
    """Normalised text, to find near-duplicates of it later."""
    split: Mapped[str]
    dataset_id: Mapped[int] = mapped_column(ForeignKey("judge_dataset.id", ondelete="RESTRICT"))
    created: Mapped[datetime]


class JudgeRow(Base):
    """A judge version. Mutable: state and, while it is a candidate, its scores and its gate report."""

    __tablename__ = "judge_version"
    __table_args__ = (
        # At most one live judge, whatever two apps do at the same moment.
        Index("uq_judge_version_live", "state", unique=True, sqlite_where=text("state = 'live'"),
              postgresql_where=text("state = 'live'")),
    )

    name: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(unique=True)
    kind: Mapped[str]
    base_model: Mapped[str]
    head: Mapped[str | None] = mapped_column(Text)
    """JSON of a calibrated head."""
    parent: Mapped[str | None] = mapped_column(ForeignKey("judge_version.name", ondelete="RESTRICT"))
    """The judge that a threshold or a head sits on."""
    gate: Mapped[str | None] = mapped_column(Text)
    """JSON of the gate's report."""
    peft_dir: Mapped[str | None]
    gguf: Mapped[str | None]
    snapshot_id: Mapped[int | None] = mapped_column(ForeignKey("judge_dataset.id", ondelete="RESTRICT"))
    scores: Mapped[str] = mapped_column(Text)
    threshold: Mapped[float]
    state: Mapped[str]
    created: Mapped[datetime]
    promoted_at: Mapped[datetime | None]
    promoted_by: Mapped[str]
    reason: Mapped[str] = mapped_column(Text)


class PromotionRow(Base):
    """One change of the live judge; append-only."""

    __tablename__ = "promotion"

    id: Mapped[int] = mapped_column(primary_key=True)
    judge: Mapped[str] = mapped_column(ForeignKey("judge_version.name", ondelete="RESTRICT"))
    previous: Mapped[str] = mapped_column(ForeignKey("judge_version.name", ondelete="RESTRICT"))
    by: Mapped[str]
    reason: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]


class JobRow(Base):
    """A long task in a process of its own; mutable until it has ended."""

    __tablename__ = "job"
    __table_args__ = (
        # At most one active job of a kind.
        Index("uq_job_active_kind", "kind", unique=True, sqlite_where=text(ACTIVE_JOB),
              postgresql_where=text(ACTIVE_JOB)),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    state: Mapped[str]
    config: Mapped[str] = mapped_column(Text)
    snapshot_id: Mapped[int | None] = mapped_column(ForeignKey("judge_dataset.id", ondelete="RESTRICT"))
    pid: Mapped[int | None]
    progress: Mapped[str] = mapped_column(Text)
    log_path: Mapped[str] = mapped_column(Text)
    error: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    heartbeat: Mapped[datetime | None]
