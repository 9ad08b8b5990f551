"""Runs and their events."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.base import Base


class RunRow(Base):
    """A run. One of the few mutable rows: status, totals and heartbeat change, the request never."""

    __tablename__ = "run"
    __table_args__ = (Index(None, "created"), Index(None, "group_id"), Index(None, "status", "heartbeat"))

    id: Mapped[str] = mapped_column(primary_key=True)
    question: Mapped[str] = mapped_column(Text)
    method: Mapped[str]
    status: Mapped[str]
    origin: Mapped[str]
    dataset: Mapped[str] = mapped_column(default="")
    question_id: Mapped[str] = mapped_column(default="")
    owner: Mapped[str] = mapped_column(default="")
    group_id: Mapped[str] = mapped_column(default="")
    request: Mapped[str] = mapped_column(Text)
    """The whole request as JSON."""
    search_text: Mapped[str] = mapped_column(Text)
    """Question and answer, case folded here, since the databases disagree about letters beyond ASCII."""
    created: Mapped[datetime]
    heartbeat: Mapped[datetime]
    ended: Mapped[datetime | None]
    answer: Mapped[str | None] = mapped_column(Text)
    em: Mapped[float | None]
    f1: Mapped[float | None]
    rounds: Mapped[int | None]
    calls: Mapped[int | None]
    seconds: Mapped[float | None]
    reason: Mapped[str] = mapped_column(Text, default="")
    content_key: Mapped[str | None] = mapped_column(unique=True)
    """Recorded runs: hash of request and events, so that importing twice stores once (null for other runs)."""


class EventRow(Base):
    """One event of a run; append-only, and `(run, seq)` is unique."""

    __tablename__ = "event"

    run_id: Mapped[str] = mapped_column(ForeignKey("run.id", ondelete="RESTRICT"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    type: Mapped[str]
    round: Mapped[int | None]
    t: Mapped[float]
    body: Mapped[str] = mapped_column(Text)
    """The event as JSON."""
    created: Mapped[datetime]
