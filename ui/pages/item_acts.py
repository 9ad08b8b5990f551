"""What can be done with an item once it is answered: sample answers from its pool, keep them as votes, fork its run."""

from __future__ import annotations

from typing import Any

import gradio as gr

from storage.values import LabelItem
from trio_core.errors import InputError
from ui.actions import forked
from ui.context import UiContext
from ui.evidence import Evidences
from ui.identity import Forbidden
from ui.render.base import esc, plural
from ui.render.item import WORDS

ANSWERED = ("sufficient", "insufficient", "unsure")


class ItemActs:
    """Handlers' work, for the Annotate page and the page of an item. Every act asks who does it."""

    def __init__(self, ctx: UiContext, evidences: Evidences) -> None:
        self._ctx = ctx
        self.evidences = evidences

    def is_admin(self, request: gr.Request) -> bool:
        """True for admins; False also where nobody is known."""
        return self._ctx.people.shown(request)["role"] == "admin"

    def item(self, data: object, request: gr.Request) -> LabelItem:
        """An item that this person may know all about: answered by them, or they are an admin. Raises InputError."""
        item = self._ctx.store.item(data) if isinstance(data, int) and 0 < data < 2**62 else None
        if item is None:
            raise InputError(f"item {data!r} does not exist in this store")
        who = self._ctx.who(request)
        mine = [label for label in self._ctx.store.current_labels(item.id) if label.annotator == who and label.value in ANSWERED]
        if not mine and self._ctx.role(request) != "admin":
            raise Forbidden("answer this item first; what others say about it is shown after that")
        return item

    def evidence(self, event: gr.EventData, request: gr.Request) -> str:
        """Begins sampling; its token."""
        item = self.item(field(event, "item_id"), request)
        return self.evidences.start(self._ctx.who(request), item, field(event, "n"))

    def keep(self, event: gr.EventData, request: gr.Request) -> str:
        """Stores samples as a vote label; what was stored, in words. Raises Forbidden for annotators."""
        self._ctx.require_admin(request)
        vote, report = self.evidences.keep(event._data)
        share = f"{vote.n_right} of {plural(vote.n_samples, 'answer')} right"
        words = f"Vote label of {esc(vote.answer_model)} stored: {WORDS[vote.label]}, {share}."
        return words if vote.n_samples == report.n else f"Kept the earlier votes: they have more samples. {words}"

    def fork(self, event: gr.EventData, request: gr.Request) -> str:
        """Forks a run after a round with a person's verdict; the address that shows both runs."""
        return forked(self._ctx, event, self._ctx.who(request))


def field(event: gr.EventData, name: str) -> Any:
    """One value of what a component's script sent."""
    data = event._data
    return data.get(name) if isinstance(data, dict) else None
