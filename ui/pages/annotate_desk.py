"""What the Annotate page does, without Gradio: a person's act in, the next view out.

One act is one round trip: a label is stored, and the answer holds the next item. A view holds machine verdicts and gold
labels only of items that its annotator has a label on, so an unanswered item's page cannot leak them.
"""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from storage import LabelConflict, Store
from storage.values import (
    GivenValue,
    GoldLabel,
    LabelCounts,
    LabelInput,
    LabelItem,
    MachineVerdict,
    QueueOrder,
    StoredLabel,
)
from trio_core.errors import InputError, StoreError, TrioscopeError
from trio_core.values import Value
from ui.render import desk as parts
from ui.render.base import esc
from ui.render.item import WORDS, clock, item_body, reveal, tag

SHOWN = 10
"""Answers in the strip."""
PACE = 50
"""Answers that the median time is taken over."""
REMEMBERED = 4096
"""Items whose verdicts are kept for the strip; reading ten of them anew for each label would be most of its time."""


class Act(Value):
    """What the browser sends. Everything in it may be made up; unknown fields are refused."""

    kind: Literal["label", "undo", "open", "next"]
    order: QueueOrder = "uncertain"
    item_id: int | None = Field(default=None, ge=1, lt=2**62)
    value: GivenValue | None = None
    note: str = ""
    client_uuid: str = ""
    milliseconds: int = Field(default=0, ge=0)
    expected: int | None = None
    seen: bool = False
    """The item was opened from a page that shows its verdict, so the label is not blind."""


class View(Value):
    """What the browser gets. A part that is null stays as it is; `fresh` starts a new form (its id, note and clock)."""

    serial: str = Field(default_factory=lambda: uuid.uuid4().hex)
    fresh: bool = True
    item_id: int | None = None
    expected: int | None = None
    value: str = ""
    note: str = ""
    order: QueueOrder = "uncertain"
    reviewing: bool = False
    """An item that was opened by hand, not the queue's next."""
    seen: bool = False
    message: str = ""
    tone: Literal["", "saved", "error"] = ""
    progress: str | None = None
    body: str | None = None
    reveal: str | None = None
    last: str | None = None


class Desk:
    """The acts of annotators on one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._said: dict[int, tuple[list[MachineVerdict], GoldLabel | None]] = {}

    def open(self, who: str, order: QueueOrder, item_id: int | None = None, seen: bool = False) -> View:
        """The page when it is opened: one item by its id, or the queue's next."""
        return self.act(who, {"kind": "open" if item_id else "next", "order": order, "item_id": item_id, "seen": seen})

    def act(self, who: str, data: Mapping[str, Any]) -> View:
        """Does what a person asked. Never raises what a person can act upon: the view says it beside the buttons."""
        try:
            act = Act.model_validate(dict(data))
        except ValidationError:
            return failed("The page sent something the server does not understand; nothing was saved. Reload the page.")
        try:
            return getattr(self, f"_{act.kind}")(who, act)
        except LabelConflict as error:
            return self._conflict(who, act, error)
        except TrioscopeError as error:
            lost = act.kind == "label" and isinstance(error, StoreError)
            return failed(f"Not saved: {error}" if lost else str(error))

    def _label(self, who: str, act: Act) -> View:
        if act.item_id is None or act.value is None:
            raise InputError("choose an item and a label; nothing was chosen")
        stored = self.store.add_label(LabelInput(
            item_id=act.item_id, annotator=who, value=act.value, client_uuid=act.client_uuid, note=act.note,
            blind=not (act.seen or self._answered_before(who, act.item_id)), milliseconds=act.milliseconds, expected=act.expected,
        ))
        return self._next(who, act, stored)

    def _next(self, who: str, act: Act, stored: StoredLabel | None = None) -> View:
        item = self.store.next_item(who, act.order)
        message, tone = (self._saved(stored), "saved") if stored else ("", "")
        return self._view(who, act.order, item, message=message, tone=tone)

    def _undo(self, who: str, act: Act) -> View:
        withdrawn = self.store.undo(who)
        if withdrawn is None:
            return failed("Nothing to undo: you have no label that could be withdrawn.", error=False)
        before = next((e for e in self.store.history(withdrawn.item_id) if e.id == withdrawn.supersedes), None)
        words = tag(before.value) if before else "your label"
        return self._view(who, act.order, self.store.item(withdrawn.item_id), reviewing=True, tone="saved",
                          message=f"Withdrawn {clock(withdrawn.created)}: {words} on this item. Label it again or go on.",
                          note=before.note if before else "")

    def _open(self, who: str, act: Act) -> View:
        item = self.store.item(act.item_id) if act.item_id else None
        if item is None:
            missing = f"Item {act.item_id} does not exist in this store. This is the queue's next item instead."
            return self._view(who, act.order, self.store.next_item(who, act.order), message=missing, tone="error")
        return self._view(who, act.order, item, reviewing=True, seen=act.seen)

    def _conflict(self, who: str, act: Act, error: LabelConflict) -> View:
        """The note stays in the form; the form now builds on the label that came from elsewhere."""
        current = error.current
        now = "it has no label of yours now" if current is None else f"your label is {WORDS[current.value]} now"
        return View(fresh=False, item_id=act.item_id, expected=current.id if current else 0, order=act.order, tone="error",
                    value=current.value if current else "",
                    message=f"Not saved: this item was labelled in another window; {now}. Press a button again to change it.")

    def _saved(self, stored: StoredLabel) -> str:
        answer = self._answer(stored, anew=True)
        return f"saved {parts.outcome(answer)}"

    def _view(self, who: str, order: QueueOrder, item: LabelItem | None, **fields: Any) -> View:
        counts = self.store.label_counts(who)
        labels = self.store.last_labels(who, PACE)
        mine = self._mine(who, item) if fields.get("reviewing") else None  # the queue gives no item that one has labelled
        answers = [self._answer(label) for label in labels[:SHOWN]]
        fields.setdefault("note", mine.note if mine else "")
        return View(
            item_id=item.id if item else None, expected=mine.id if mine else 0, value=mine.value if mine else "", order=order,
            progress=parts.progress(counts, _median(labels)), body=item_body(item) if item else _nothing(counts),
            reveal=self._reveal(item, mine, answers), last=parts.last_answers(answers, item.id if item else None), **fields,
        )

    def _reveal(self, item: LabelItem | None, mine: StoredLabel | None, answers: list[parts.Answer]) -> str:
        """Only ever about an item with a label of one's own: the open one, else the last one answered."""
        if mine is not None and item is not None:
            return self._revealed(self._answer(mine, anew=True), item, current=True)
        last = answers[0] if answers else None
        seen = self.store.item(last.label.item_id) if last else None
        return self._revealed(last, seen, current=False) if last and seen else ""

    @staticmethod
    def _revealed(answer: parts.Answer, item: LabelItem, current: bool) -> str:
        return reveal(answer.label, answer.verdicts, answer.gold, item.sources, current)

    def _answer(self, label: StoredLabel, anew: bool = False) -> parts.Answer:
        said = None if anew else self._said.get(label.item_id)
        if said is None:
            said = (self.store.verdicts_for(label.item_id), self.store.gold_label(label.item_id))
            if len(self._said) >= REMEMBERED:
                self._said.clear()
            self._said[label.item_id] = said
        return parts.Answer(label, *said)

    def _mine(self, who: str, item: LabelItem | None) -> StoredLabel | None:
        labels = self.store.current_labels(item.id) if item else []
        return next((label for label in labels if label.annotator == who), None)

    def _answered_before(self, who: str, item_id: int) -> bool:
        """Once answered, the verdict was shown; a later label of the same person is not blind, not even after an undo."""
        return any(event.annotator == who for event in self.store.history(item_id))


def failed(message: str, error: bool = True) -> View:
    """A view that changes nothing but the line beside the buttons. `message` is plain text."""
    return View(fresh=False, message=esc(message), tone="error" if error else "")


def _nothing(counts: LabelCounts) -> str:
    return parts.all_done(counts) if counts.items else parts.no_items()


def _median(labels: list[StoredLabel]) -> float | None:
    seconds = [label.milliseconds / 1000 for label in labels if label.milliseconds]
    return statistics.median(seconds) if seconds else None
