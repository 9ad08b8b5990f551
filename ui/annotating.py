"""What the Annotate page's script and the desk say to each other."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode

from pydantic import Field, ValidationError, field_validator

from storage.annotation_values import QueueFilter
from storage.values import GivenValue, QueueOrder
from trio_core.values import Value
from ui.render.base import esc

REASONS = {
    "4": "missing link", "5": "wrong entity", "6": "answer not stated", "7": "contradiction", "8": "only partly", "9": "other",
}
"""Key -> reason. Several may be given; they are stored with the label, in this order."""
Show = Literal["new", "skipped", "calibration"]


class QueueChoice(Value):
    """Which items come, in which order; each person's own. Empty text and round -1 mean: any."""

    order: QueueOrder = "uncertain"
    show: Show = "new"
    method: str = Field(default="", max_length=100)
    dataset: str = Field(default="", max_length=1000)
    round: int = Field(default=-1, ge=-1, le=99)
    judge: str = Field(default="", max_length=100)

    def only(self, overlap: int | None = 1) -> QueueFilter:
        """The store's filter, with the overlap that holds for everybody."""
        def some(text: str) -> frozenset[str]:
            return frozenset({text} if text else ())

        return QueueFilter(
            methods=some(self.method), datasets=some(self.dataset), judges=some(self.judge),
            rounds=frozenset() if self.round < 0 else frozenset({self.round}), overlap=overlap,
            skipped=self.show == "skipped", calibration=self.show == "calibration",
        )

    @property
    def narrowed(self) -> bool:
        """True when it leaves items out."""
        return self.show != "new" or self.round >= 0 or bool(self.method or self.dataset or self.judge)

    def query(self) -> str:
        """What of it stands in the address: all that is not usual."""
        usual = QueueChoice()
        return urlencode({name: value for name, value in self if value != getattr(usual, name)})


def read_queue(address: Mapping[str, str]) -> QueueChoice:
    """The queue that an address names; what is not usable is left out."""
    chosen = QueueChoice()
    for name in QueueChoice.model_fields:
        text = address.get(name, "")
        if text and (text.isascii() or name in ("method", "dataset", "judge")):
            try:
                chosen = QueueChoice.model_validate({**chosen.model_dump(), name: text})
            except ValidationError:
                continue
    return chosen


def read_item(text: str) -> int | None:
    """An item's id in an address, or None."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 and int(text) > 0 else None


class Act(Value):
    """What the browser sends. Everything in it may be made up; unknown fields are refused."""

    kind: Literal["label", "undo", "open", "next"]
    queue: QueueChoice = QueueChoice()
    item_id: int | None = Field(default=None, ge=1, lt=2**62)
    label_id: int | None = Field(default=None, ge=1, lt=2**62)
    """Undo: which label; null = the latest."""
    value: GivenValue | None = None
    note: str = ""
    reasons: tuple[str, ...] = ()
    client_uuid: str = ""
    milliseconds: int = Field(default=0, ge=0)
    expected: int | None = None
    seen: bool = False
    """The item was opened from a page that shows its verdict, so the label is not blind."""

    @field_validator("reasons")
    @classmethod
    def _known(cls, reasons: tuple[str, ...]) -> tuple[str, ...]:
        if not set(reasons) <= set(REASONS.values()):
            raise ValueError("an unknown reason")
        return tuple(r for r in REASONS.values() if r in reasons)


class View(Value):
    """What the browser gets. A part that is null stays as it is; `fresh` starts a new form (its id, note and clock)."""

    serial: str = Field(default_factory=lambda: uuid.uuid4().hex)
    fresh: bool = True
    item_id: int | None = None
    expected: int | None = None
    value: str = ""
    note: str = ""
    reasons: tuple[str, ...] = ()
    query: str | None = None
    """The queue as it stands in the address."""
    reviewing: bool = False
    """An item that was opened by hand, not the queue's next."""
    seen: bool = False
    message: str = ""
    tone: Literal["", "saved", "error"] = ""
    goto: str = ""
    """A page of ours to go to."""
    samples: int | None = None
    """How many answers are usually sampled."""
    evidence: str = ""
    """Sampling that the page may look at (`ui.evidence`)."""
    progress: str | None = None
    body: str | None = None
    reveal: str | None = None
    last: str | None = None
    queue: str | None = None
    """The queue in words."""
    filters: str | None = None
    guide: str | None = None


def failed(message: str, error: bool = True) -> View:
    """A view that changes nothing but the line beside the buttons. `message` is plain text."""
    return View(fresh=False, message=esc(message), tone="error" if error else "")


def parse_act(data: Mapping[str, Any]) -> Act | None:
    """The act, or None for what the page could not have sent."""
    try:
        return Act.model_validate(dict(data))
    except ValidationError:
        return None
