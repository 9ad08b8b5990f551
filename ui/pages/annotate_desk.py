"""What the Annotate page does, without Gradio: a person's act in, the next view out.

One act is one round trip: a label is stored, and the answer holds the next item. A view holds machine verdicts, votes, gold
labels, known answers and other people's labels only of items that its annotator has a label on, so an unanswered item's
page cannot leak them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from storage import LabelConflict, Store
from storage.annotation_values import QueueFilter
from storage.queue import Figures
from storage.values import GoldLabel, LabelCounts, LabelInput, LabelItem, MachineVerdict, StoredLabel
from trio_core.errors import InputError, StoreError, TrioscopeError
from ui.annotating import Act, QueueChoice, View, failed, parse_act
from ui.render import desk as parts
from ui.render.item import WORDS, clock, item_body, tag
from ui.render.queue import Given, filters_html, overlap_words, queue_words
from ui.render.reveal import Told, reveal
from ui.render.session import session_of

FIGURES: Figures = ("items", "human", "mine")
"""What the page always shows of the counts."""
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
        self._said: dict[int, _Said] = {}

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

    def act(self, who: str, data: Mapping[str, Any]) -> View:
        """Does what a person asked. Never raises what a person can act upon: the view says it beside the buttons.

        Two transactions: what is stored, with the claim on the next item; then all that the page shows.
        """
        act = parse_act(data)
        if act is None:
            return failed("The page sent something the server does not understand; nothing was saved. Reload the page.")
        done: _Done | None = None
        try:
            done = self.store.as_one(lambda: self._do(who, act), writing=True)
            if done is None:
                return failed("Nothing to undo: you have no label that could be withdrawn.", error=False)
            return self.store.as_one(lambda: self._view(who, act.queue, done))
        except LabelConflict as error:
            return self._conflict(act, error)
        except TrioscopeError as error:
            if done is not None:
                return failed(f"{'Saved' if act.kind == 'label' else 'Done'}, but the page could not be brought up to date: {error}")
            lost = act.kind == "label" and isinstance(error, StoreError)
            return failed(f"Not saved: {error}" if lost else str(error))

    def _do(self, who: str, act: Act) -> _Done | None:
        only = act.queue.only(self.store.queue_rule().overlap)
        do = {"label": self._label, "undo": self._undo, "open": self._open, "next": self._next}[act.kind]
        return do(who, act, only)

    def _label(self, who: str, act: Act, only: QueueFilter) -> _Done:
        if act.item_id is None or act.value is None:
            raise InputError("choose an item and a label; nothing was chosen")
        # Once answered, the verdict was shown; a later label of the same person is not blind, not even after an undo.
        stored = self.store.add_label(LabelInput(
            item_id=act.item_id, annotator=who, value=act.value, client_uuid=act.client_uuid, note=act.note,
            reason=", ".join(act.reasons), blind=not (act.seen or self.store.was_shown(act.item_id, who)),
            milliseconds=act.milliseconds, expected=act.expected,
        ))
        return self._next(who, act, only)._replace(stored=stored, tone="saved")

    def _next(self, who: str, act: Act, only: QueueFilter) -> _Done:
        return _Done(self.store.next_item(who, act.queue.order, only=only), only)

    def _undo(self, who: str, act: Act, only: QueueFilter) -> _Done | None:
        withdrawn = self.store.undo(who) if act.label_id is None else self.store.withdraw(act.label_id, who)
        if withdrawn is None:
            return None
        before = next((e for e in self.store.history(withdrawn.item_id) if e.id == withdrawn.supersedes), None)
        words = f"Withdrawn {clock(withdrawn.created)}: {tag(before.value) if before else 'your label'}"
        if not self.store.take(withdrawn.item_id, who):
            message = f"{words}. Others have that item now, so that this is the queue's next one."
            return self._next(who, act, only)._replace(tone="saved", message=message)
        return _Done(self.store.item(withdrawn.item_id), only, reviewing=True, tone="saved", note=before.note if before else "",
                     reasons=_reasons(before), message=f"{words} on this item. Label it again or go on.")

    def _open(self, who: str, act: Act, only: QueueFilter) -> _Done:
        item = self.store.item(act.item_id) if act.item_id else None
        if item is None:
            missing = f"Item {act.item_id} does not exist in this store. This is the queue's next item instead."
            return self._next(who, act, only)._replace(message=missing, tone="error")
        mine = self.mine(who, item)
        free = mine is not None and mine.value != "skip" or self.store.take(item.id, who)
        full = f"Others have this item, and it goes to {overlap_words(only.overlap)}: a label of yours would be one too many."
        return _Done(item, only, reviewing=True, seen=act.seen, message="" if free else full)

    def _conflict(self, act: Act, error: LabelConflict) -> View:
        """The note stays in the form; the form now builds on the label that came from elsewhere."""
        current = error.current
        now = "it has no label of yours now" if current is None else f"your label is {WORDS[current.value]} now"
        return View(fresh=False, item_id=act.item_id, expected=current.id if current else 0, tone="error",
                    value=current.value if current else "",
                    message=f"Not saved: this item was labelled in another window; {now}. Press a button again to change it.")

    def _view(self, who: str, queue: QueueChoice, done: _Done) -> View:
        item, stored = done.item, done.stored
        rare: Figures = ("pending",) if item is None or queue.show == "skipped" else ()
        counts = self.store.label_counts(who, done.only, (*FIGURES, *rare))
        labels, times = self.store.last_labels(who, SHOWN), self.store.label_times(who, PACE)
        mine = self.mine(who, item) if done.reviewing or queue.show == "skipped" else None  # the queue gives no other that one has labelled
        about = self._told(who, stored) if stored and stored.value != "skip" else None  # a skip tells nothing
        if about:
            self._said[about.item.id] = _Said(about.verdicts, about.gold)
        answers = [parts.Answer(label, *self._said_of(label.item_id)) for label in labels]
        score = next(iter(self.store.calibration_scores(who)), None) if queue.show == "calibration" else None
        return View(
            item_id=item.id if item else None, expected=mine.id if mine else 0, value=mine.value if mine else "",
            note=done.note or (mine.note if mine else ""), reasons=done.reasons or _reasons(mine), reviewing=done.reviewing, seen=done.seen,
            message=_saved(stored, about, done.only) if stored else done.message, tone=done.tone,
            query=queue.query(), queue=queue_words(queue, done.only.overlap), progress=parts.progress(counts, queue, score),
            body=item_body(item) if item else _nothing(counts, queue), reveal=self._reveal(who, item, mine, answers, about),
            last=parts.last_answers(answers, item.id if item else None, session_of(times, lambda given: self._said_of(given.item_id))),
        )

    def _reveal(self, who: str, item: LabelItem | None, mine: StoredLabel | None, answers: list[parts.Answer], about: Told | None) -> str:
        """Only ever about an item with a label of one's own: the open one, else the last one answered."""
        if mine is not None and item is not None and mine.value != "skip":
            return reveal(told(self.store, who, item, mine), current=True)
        last = next((answer.label for answer in answers if answer.label.value != "skip"), None)
        if last is None:
            return ""
        known = about if about and about.mine == last else self._told(who, last)
        return reveal(known, current=False) if known else ""

    def _told(self, who: str, mine: StoredLabel) -> Told | None:
        item = self.store.item(mine.item_id)
        return told(self.store, who, item, mine) if item else None

    def _said_of(self, item_id: int) -> _Said:
        said = self._said.get(item_id)
        if said is None:
            said = _Said(self.store.verdicts_for(item_id), self.store.gold_label(item_id))
            if len(self._said) >= REMEMBERED:
                self._said.clear()
            self._said[item_id] = said
        return said

    def mine(self, who: str, item: LabelItem | None) -> StoredLabel | None:
        """The person's own current label on an item."""
        labels = self.store.current_labels(item.id) if item else []
        return next((label for label in labels if label.annotator == who), None)


class _Said(NamedTuple):
    """What the strip tells about an item."""

    verdicts: Sequence[MachineVerdict]
    gold: GoldLabel | None


class _Done(NamedTuple):
    """What an act has done, and what the page shows next."""

    item: LabelItem | None
    only: QueueFilter
    stored: StoredLabel | None = None
    reviewing: bool = False
    seen: bool = False
    tone: Literal["", "saved", "error"] = ""
    message: str = ""
    note: str = ""
    reasons: tuple[str, ...] = ()


def told(store: Store, who: str, item: LabelItem, mine: StoredLabel | None) -> Told:
    """All that may be told about an item once `who` has answered it (`mine`)."""
    others = [label for label in store.current_labels(item.id) if label.annotator != who]
    return Told(item, mine, store.verdicts_for(item.id), store.gold_label(item.id), others, store.vote_labels(item.id),
                store.adjudication(item.id), next(iter(store.calibration_items(item.id)), None))


def _saved(stored: StoredLabel, about: Told | None, only: QueueFilter) -> str:
    """What was saved and what others say; also that an item was answered by more people than asked for (rules: `storage.queue`)."""
    if about is None:
        return f"saved {parts.outcome(parts.Answer(stored, (), None))}"
    words = f"saved {parts.outcome(parts.Answer(stored, about.verdicts, about.gold, about.others, about.known))}"
    others = sum(other.value != "skip" for other in about.others)
    if about.known or only.overlap is None or others < only.overlap:
        return words
    return f"{words} · answered by others too while it was open here: one label more than asked for"


def _reasons(label: StoredLabel | None) -> tuple[str, ...]:
    return tuple(label.reason.split(", ")) if label and label.reason else ()


def _nothing(counts: LabelCounts, queue: QueueChoice) -> str:
    return parts.all_done(counts, queue) if counts.items or queue.narrowed else parts.no_items()
