"""What stands beside labels: adjudications, votes of answer models, guidelines, known answers, and what the queue sorts by."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.base import Base


class AdjudicationRow(Base):
    """A decision about an item over all annotators; append-only, the latest holds (`withdrawn` = none holds)."""

    __tablename__ = "adjudication"

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), index=True)
    label: Mapped[str]
    by: Mapped[str]
    note: Mapped[str] = mapped_column(Text)
    client_uuid: Mapped[str] = mapped_column(unique=True)
    created: Mapped[datetime]


class VoteRow(Base):
    """How often an answer model is right with exactly this pool. Mutable: a larger count of samples takes its place."""

    __tablename__ = "vote_label"
    __table_args__ = (UniqueConstraint("item_id", "answer_model"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"))
    answer_model: Mapped[str]
    n_samples: Mapped[int]
    n_right: Mapped[int]
    answers: Mapped[str] = mapped_column(Text)
    """JSON list of the different answers with counts."""
    label: Mapped[str]
    temperature: Mapped[float]
    created: Mapped[datetime]


class GuidelineRow(Base):
    """One version of the guidelines (markdown); append-only."""

    __tablename__ = "guideline"

    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str] = mapped_column(Text)
    by: Mapped[str]
    created: Mapped[datetime]


class CalibrationRow(Base):
    """An item of calibration rounds with its known answer. Mutable: an admin may correct or remove it."""

    __tablename__ = "calibration_item"

    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), primary_key=True)
    label: Mapped[str]
    explanation: Mapped[str] = mapped_column(Text)
    by: Mapped[str]
    created: Mapped[datetime]


class QueueRuleRow(Base):
    """How many people each item goes to (null = everybody); append-only, the latest holds."""

    __tablename__ = "queue_rule"

    id: Mapped[int] = mapped_column(primary_key=True)
    overlap: Mapped[int | None]
    by: Mapped[str]
    created: Mapped[datetime]


class ItemShownRow(Base):
    """Somebody saw what is said about an item without a label of their own on it (admins can)."""

    __tablename__ = "item_shown"

    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), primary_key=True)
    annotator: Mapped[str] = mapped_column(primary_key=True)
    created: Mapped[datetime]


class StateRow(Base):
    """What follows from an item's facts (`storage.state` works it out anew with each of them); mutable, and no fact.

    The queue walks these indexes and stops at the first free item; sorting thousands of items for each label would not do.
    """

    __tablename__ = "item_state"
    __table_args__ = (Index(None, "distance", "item_id"), Index(None, "agreed", "distance", "item_id"))

    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), primary_key=True)
    distance: Mapped[float]
    """How far the latest P(sufficient) is from its threshold; 2 = there is none."""
    guess: Mapped[str]
    """The gold label, else the latest verdict that could be read, else empty."""
    agreed: Mapped[bool]
    """False where judges, votes, gold evidence or people say different things and nobody has adjudicated."""
    labels: Mapped[int]
    """Annotators whose current label is sufficient, insufficient or unsure."""
    verdict: Mapped[str] = mapped_column(index=True)
    """The resolved label of people: sufficient, insufficient, conflict, unsure, skip, or empty."""
    policy: Mapped[str]
    """How it was resolved: adjudicated, majority, single, conflict, or empty."""
