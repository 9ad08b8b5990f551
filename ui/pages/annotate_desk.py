"""What the Annotate page does, without Gradio: a person's act in, the next view out.

One act is one round trip: a label is stored, and the answer holds the next item. A view holds machine verdicts, votes, gold
labels, known answers and other people's labels only of items that its annotator has a label on, so an unanswered item's
page cannot leak them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage import LabelConflict, Store
from storage.annotation_values import QueueFilter
from storage.values import GoldLabel, LabelCounts, LabelInput, LabelItem, MachineVerdict, StoredLabel
from trio_core.errors import InputError, StoreError, TrioscopeError
from ui.annotating import Act, QueueChoice, View, failed, parse_act
from ui.render import desk as parts
from ui.render.item import WORDS, clock, item_body, tag
from ui.render.queue import Given, filters_html, overlap_words, queue_words
from ui.render.reveal import Told, reveal
from ui.render.session import session_of

SHOWN = 10
"""Answers in the strip."""
PACE = 100
"""Answers that the figures of a session are taken from."""
REMEMBERED = 4096
"""Items whose verdicts are kept for the strip; reading ten of them anew for each label would be most of its time."""


class Desk:
    """The acts of annotators on one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._said: dict[int, tuple[list[MachineVerdict], GoldLabel | None]] = {}

    def open(self, who: str, queue: QueueChoice, item_id: int | None = None, seen: bool = False, admin: bool = False) -> View:
        """The page when it is opened: one item by its id, or the queue's next. `admin`: may set the overlap."""
        kind = "open" if item_id else "next"
        view = self.act(who, {"kind": kind, "queue": queue.model_dump(), "item_id": item_id, "seen": seen})
        return view.model_copy(update={"filters": self._filters(queue, admin)})

    def set_overlap(self, admin: str, overlap: int | None, queue: QueueChoice) -> View:
        """An admin's rule for everybody's queue."""
        rule = self.store.set_overlap(overlap, admin)
        return View(fresh=False, tone="saved", message=f"Each item goes to {overlap_words(rule.overlap)} now, for everybody.",
                    queue=queue_words(queue, rule.overlap), filters=self._filters(queue, admin=True))

    def _filters(self, queue: QueueChoice, admin: bool) -> str:
        judges = [judge.name for judge in self.store.judge_versions()]
        return filters_html(queue, Given(judges, self.store.datasets(), self.store.queue_rule(), admin))

    def _only(self, queue: QueueChoice) -> QueueFilter:
        return queue.only(self.store.queue_rule().overlap)

    def act(self, who: str, data: Mapping[str, Any]) -> View:
        """Does what a person asked. Never raises what a person can act upon: the view says it beside the buttons."""
        act = parse_act(data)
        if act is None:
            return failed("The page sent something the server does not understand; nothing was saved. Reload the page.")
        try:
            return getattr(self, f"_{act.kind}")(who, act)
        except LabelConflict as error:
            return self._conflict(act, error)
        except TrioscopeError as error:
            lost = act.kind == "label" and isinstance(error, StoreError)
            return failed(f"Not saved: {error}" if lost else str(error))

    def _label(self, who: str, act: Act) -> View:
        if act.item_id is None or act.value is None:
            raise InputError("choose an item and a label; nothing was chosen")
        stored = self.store.add_label(LabelInput(
            item_id=act.item_id, annotator=who, value=act.value, client_uuid=act.client_uuid, note=act.note,
            reason=", ".join(act.reasons), blind=not (act.seen or self._knows(who, act.item_id)),
            milliseconds=act.milliseconds, expected=act.expected,
        ))
        return self._next(who, act, stored)

    def _next(self, who: str, act: Act, stored: StoredLabel | None = None) -> View:
        item = self.store.next_item(who, act.queue.order, only=self._only(act.queue))
        message, tone = (f"saved {parts.outcome(self._answer(stored, anew=True))}", "saved") if stored else ("", "")
        return self._view(who, act.queue, item, message=message, tone=tone)

    def _undo(self, who: str, act: Act) -> View:
        withdrawn = self.store.undo(who) if act.label_id is None else self.store.withdraw(act.label_id, who)
        if withdrawn is None:
            return failed("Nothing to undo: you have no label that could be withdrawn.", error=False)
        before = next((e for e in self.store.history(withdrawn.item_id) if e.id == withdrawn.supersedes), None)
        words = tag(before.value) if before else "your label"
        return self._view(who, act.queue, self.store.item(withdrawn.item_id), reviewing=True, tone="saved",
                          message=f"Withdrawn {clock(withdrawn.created)}: {words} on this item. Label it again or go on.",
                          note=before.note if before else "", reasons=_reasons(before))

    def _open(self, who: str, act: Act) -> View:
        item = self.store.item(act.item_id) if act.item_id else None
        if item is None:
            missing = f"Item {act.item_id} does not exist in this store. This is the queue's next item instead."
            following = self.store.next_item(who, act.queue.order, only=self._only(act.queue))
            return self._view(who, act.queue, following, message=missing, tone="error")
        return self._view(who, act.queue, item, reviewing=True, seen=act.seen)

    def _conflict(self, act: Act, error: LabelConflict) -> View:
        """The note stays in the form; the form now builds on the label that came from elsewhere."""
        current = error.current
        now = "it has no label of yours now" if current is None else f"your label is {WORDS[current.value]} now"
        return View(fresh=False, item_id=act.item_id, expected=current.id if current else 0, tone="error",
                    value=current.value if current else "",
                    message=f"Not saved: this item was labelled in another window; {now}. Press a button again to change it.")

    def _view(self, who: str, queue: QueueChoice, item: LabelItem | None, **fields: Any) -> View:
        only = self._only(queue)
        counts = self.store.label_counts(who, only)
        labels = self.store.last_labels(who, PACE)
        reviewing = bool(fields.get("reviewing")) or queue.show == "skipped"
        mine = self.mine(who, item) if reviewing else None  # the queue gives no other item that one has labelled
        answers = [self._answer(label) for label in labels[:SHOWN]]
        score = next(iter(self.store.calibration_scores(who)), None) if queue.show == "calibration" else None
        fields = {"note": mine.note if mine else "", "reasons": _reasons(mine)} | fields
        return View(
            item_id=item.id if item else None, expected=mine.id if mine else 0, value=mine.value if mine else "",
            query=queue.query(), queue=queue_words(queue, only.overlap), progress=parts.progress(counts, queue, score),
            body=item_body(item) if item else _nothing(counts, queue), reveal=self._reveal(who, item, mine, answers),
            last=parts.last_answers(answers, item.id if item else None, session_of(labels, self._answer)), **fields,
        )

    def _reveal(self, who: str, item: LabelItem | None, mine: StoredLabel | None, answers: list[parts.Answer]) -> str:
        """Only ever about an item with a label of one's own: the open one, else the last one answered."""
        if mine is not None and item is not None and mine.value != "skip":
            return reveal(told(self.store, who, item, mine), current=True)
        last = next((answer.label for answer in answers if answer.label.value != "skip"), None)  # a skip tells nothing
        seen = self.store.item(last.item_id) if last else None
        return reveal(told(self.store, who, seen, last), current=False) if last and seen else ""

    def _answer(self, label: StoredLabel, anew: bool = False) -> parts.Answer:
        said = None if anew else self._said.get(label.item_id)
        if said is None:
            said = (self.store.verdicts_for(label.item_id), self.store.gold_label(label.item_id))
            if len(self._said) >= REMEMBERED:
                self._said.clear()
            self._said[label.item_id] = said
        if not anew:
            return parts.Answer(label, *said)
        others = [other for other in self.store.current_labels(label.item_id) if other.annotator != label.annotator]
        return parts.Answer(label, *said, others, next(iter(self.store.calibration_items(label.item_id)), None))

    def mine(self, who: str, item: LabelItem | None) -> StoredLabel | None:
        """The person's own current label on an item."""
        labels = self.store.current_labels(item.id) if item else []
        return next((label for label in labels if label.annotator == who), None)

    def _knows(self, who: str, item_id: int) -> bool:
        """Once answered, the verdict was shown; a later label of the same person is not blind, not even after an undo.

        The same holds for an admin who looked at the item's page first.
        """
        return self.store.was_shown(item_id, who) or any(event.annotator == who and event.value not in ("skip", "withdrawn") for event in self.store.history(item_id))


def told(store: Store, who: str, item: LabelItem, mine: StoredLabel | None) -> Told:
    """All that may be told about an item once `who` has answered it (`mine`)."""
    others = [label for label in store.current_labels(item.id) if label.annotator != who]
    return Told(item, mine, store.verdicts_for(item.id), store.gold_label(item.id), others, store.vote_labels(item.id),
                store.adjudication(item.id), next(iter(store.calibration_items(item.id)), None))


def _reasons(label: StoredLabel | None) -> tuple[str, ...]:
    return tuple(label.reason.split(", ")) if label and label.reason else ()


def _nothing(counts: LabelCounts, queue: QueueChoice) -> str:
    return parts.all_done(counts, queue) if counts.items or queue.narrowed else parts.no_items()
