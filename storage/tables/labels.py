"""Label items, what machines said about them, and what people said."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.base import Base


class ItemRow(Base):
    """The judge's input word for word; one row per content, however many runs showed it."""

    __tablename__ = "label_item"

    id: Mapped[int] = mapped_column(primary_key=True)
    content_hash: Mapped[str] = mapped_column(unique=True)
    question: Mapped[str] = mapped_column(Text)
    question_hash: Mapped[str] = mapped_column(index=True)
    pool: Mapped[str] = mapped_column(Text)
    messages: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]


class SourceRow(Base):
    """Where an item was seen. `key` makes a repeated import store once (run_id may be null, so no plain unique)."""

    __tablename__ = "item_source"
    __table_args__ = (UniqueConstraint("item_id", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"))
    key: Mapped[str] = mapped_column(Text)
    source: Mapped[str]
    run_id: Mapped[str | None] = mapped_column(ForeignKey("run.id", ondelete="RESTRICT"), index=True)
    round: Mapped[int]
    method: Mapped[str]
    dataset: Mapped[str]
    question_id: Mapped[str]
    created: Mapped[datetime]


class VerdictRow(Base):
    """What a judge version said about an item in a run; a suggestion, never a label."""

    __tablename__ = "machine_verdict"
    __table_args__ = (UniqueConstraint("run_id", "seq"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), index=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("run.id", ondelete="RESTRICT"))
    seq: Mapped[int]
    round: Mapped[int]
    judge: Mapped[str]
    label: Mapped[str]
    p: Mapped[float | None]
    p_method: Mapped[str]
    threshold: Mapped[float]
    deciding: Mapped[bool]
    created: Mapped[datetime]


class LabelRow(Base):
    """One act of an annotator; append-only. A row is current while no other row supersedes it."""

    __tablename__ = "label_event"
    __table_args__ = (Index(None, "item_id", "annotator"), Index(None, "annotator", "id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"))
    annotator: Mapped[str]
    value: Mapped[str]
    reason: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    blind: Mapped[bool]
    milliseconds: Mapped[int]
    client_uuid: Mapped[str] = mapped_column(unique=True)
    supersedes: Mapped[int | None] = mapped_column(ForeignKey("label_event.id", ondelete="RESTRICT"), unique=True)
    """Unique: a label is superseded at most once, so that a history cannot fork."""
    source: Mapped[str]
    created: Mapped[datetime]


class ClaimRow(Base):
    """An item lent to an annotator for some minutes; mutable, and no fact."""

    __tablename__ = "claim"

    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="CASCADE"), primary_key=True)
    annotator: Mapped[str] = mapped_column(primary_key=True)
    expires: Mapped[datetime] = mapped_column(index=True)


class GoldRow(Base):
    """A label that follows from gold evidence; `rule` says in words how."""

    __tablename__ = "gold_label"

    item_id: Mapped[int] = mapped_column(ForeignKey("label_item.id", ondelete="RESTRICT"), primary_key=True)
    label: Mapped[str]
    rule: Mapped[str] = mapped_column(Text)
    created: Mapped[datetime]
