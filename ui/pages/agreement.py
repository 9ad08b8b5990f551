"""Agreement, a page of Annotate: figures, people, disagreements to decide, and all about one item (`?item=`).

Blind first holds here too: an annotator sees only items that they have answered; admins see all.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import gradio as gr

from storage.annotation_values import Adjudication
from storage.values import StoredLabel
from trio_core.errors import InputError, TrioscopeError
from ui.actions import CLIENT_UUID
from ui.annotating import read_item
from ui.context import UiContext
from ui.evidence import Evidences
from ui.pages.annotate_desk import told
from ui.pages.item_acts import ANSWERED, ItemActs, field
from ui.render import agreement as parts
from ui.render.base import esc
from ui.render.desk import HERE, TABS
from ui.render.history import history_html
from ui.render.item import WORDS, item_body
from ui.render.reveal import actions, facts
from ui.theme import asset

SHOWN = 20
FRAME = (f'<div class="an ag"><header class="an-top">{TABS.format("", HERE)}<p class="ag-message" role="status"></p></header>'
         '<div class="ag-main"><div class="an-skeleton"><i></i><i></i><i></i></div></div></div>')


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """One component, rendered anew after every act."""
    page = _Agreement(ctx)

    def samples(data: Any) -> dict[str, Any]:
        return page.acts.evidences.look(data)

    def cancel(data: Any) -> None:
        page.acts.evidences.cancel(data)

    view = gr.HTML(None, html_template=FRAME, css_template=asset("annotate.css") + asset("agreement.css"),
                   js_on_load=asset("evidence.js") + asset("agreement.js"), apply_default_css=False, elem_id="agreement",
                   server_functions=[samples, cancel])
    plain: dict[str, Any] = {"queue": False, "show_progress": "hidden", "trigger_mode": "multiple", "api_visibility": "private"}
    demo.load(page.opened, outputs=view, **plain)
    for listen, work in ((view.decide, page.decide), (view.undecide, page.undecide), (view.known, page.known), (view.unknown, page.unknown),
                         (view.evidence, page.evidence), (view.keep, page.keep), (view.fork, page.fork)):
        listen(work, outputs=view, **plain)


class _Agreement:
    """The page's handlers; each finds out who asks."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx, self._store = ctx, ctx.store
        self.acts = ItemActs(ctx, Evidences(ctx))

    def _answer(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        serial = uuid.uuid4().hex
        try:
            return {"serial": serial, "message": "", "tone": "", **work()}
        except TrioscopeError as error:
            return {"serial": serial, "message": esc(error), "tone": "error"}

    def _page(self, request: gr.Request, message: str = "") -> dict[str, Any]:
        item_id = read_item(request.query_params.get("item") or "")
        html = self._item(item_id, request) if item_id else self._overview(request)
        return {"html": html, "message": message, "tone": "saved" if message else "", "samples": self.acts.evidences.usual}

    def opened(self, request: gr.Request) -> dict[str, Any]:
        """The page as its address says."""
        return self._answer(lambda: self._page(request))

    def _overview(self, request: gr.Request) -> str:
        who, admin = self._ctx.who(request), self.acts.is_admin(request)
        conflicts, total = self._store.conflicts(limit=SHOWN)
        seen = [c for c in conflicts if admin or c.labels.get(who) in ANSWERED]
        rows = [(c.item_id, c.question, self._labels(c.item_id)) for c in seen]
        self._store.note_shown([c.item_id for c in seen if c.labels.get(who) not in ANSWERED], who)
        known = parts.calibration_html(self._store.calibration_items()) if admin else ""
        sections = (
            parts.conflicts_html(rows, total, len(conflicts) - len(seen), admin), parts.agreement_html(self._store.agreement()),
            parts.people_html(self._store.progress_by_annotator(), self._store.calibration_scores()), known)
        return "".join(f'<section class="ag-card">{section}</section>' for section in sections if section)

    def _labels(self, item_id: int) -> list[StoredLabel]:
        return sorted(self._store.current_labels(item_id), key=lambda label: label.annotator)

    def _item(self, item_id: int, request: gr.Request) -> str:
        item = self.acts.item(item_id, request)
        who, admin = self._ctx.who(request), self.acts.is_admin(request)
        mine = self._mine(who, item_id)
        if mine is None or mine.value not in ANSWERED:
            self._store.note_shown([item_id], who)
        all_told = told(self._store, who, item, mine)
        held = all_told.adjudicated.label if all_told.adjudicated else ""
        forms = parts.decide_html(item_id, held) + parts.known_html(item_id, all_told.known) if admin else ""
        again = f'<p class="an-rule"><a href="./annotate?item={item_id}&amp;seen=1">label this item again</a></p>'
        history = history_html(all_told, self._store.history(item_id), self._store.adjudications(item_id))
        return (f'<div class="ag-item"><article class="an-item">{item_body(item)}</article><aside class="an-side"><section class="ag-card">'
                f"<h2>What is said about it</h2>{facts(all_told)}{forms}</section><section class=\"ag-card\"><h2>What if</h2>"
                f'{actions(all_told, link=False)}{again}</section></aside></div><section class="ag-card">{history}</section>')

    def _mine(self, who: str, item_id: int) -> StoredLabel | None:
        return next((label for label in self._store.current_labels(item_id) if label.annotator == who), None)

    def decide(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """An admin decides an item; the decision wins over all labels."""
        def work() -> dict[str, Any]:
            label = field(event, "label")
            if label not in ("sufficient", "insufficient", "unsure"):
                raise InputError(f"{label!r} is no decision; choose sufficient, insufficient or can't tell")
            done = self._store.adjudicate(_item_id(event), label, self._ctx.require_admin(request), _form(event), _note(event))
            return self._page(request, _decided(done))

        return self._answer(work)

    def undecide(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Takes a decision back."""
        def work() -> dict[str, Any]:
            done = self._store.withdraw_adjudication(_item_id(event), self._ctx.require_admin(request), _form(event), _note(event))
            return self._page(request, _decided(done))

        return self._answer(work)

    def known(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """An admin gives an item a known answer."""
        def work() -> dict[str, Any]:
            label = field(event, "label")
            if label not in ("sufficient", "insufficient"):
                raise InputError(f"{label!r} can be no known answer; choose sufficient or insufficient")
            self._store.add_calibration_item(_item_id(event), label, self._ctx.require_admin(request), _note(event))
            return self._page(request, f"Known answer: {WORDS[label]}. The item is in the calibration round now.")

        return self._answer(work)

    def unknown(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Takes an item out of the calibration round."""
        def work() -> dict[str, Any]:
            self._ctx.require_admin(request)
            self._store.remove_calibration_item(_item_id(event))
            return self._page(request, "The item is back in the ordinary queue.")

        return self._answer(work)

    def evidence(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Begins sampling answers."""
        return self._answer(lambda: {"evidence": self.acts.evidence(event, request)})

    def keep(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Stores samples as a vote label."""
        return self._answer(lambda: self._page(request, self.acts.keep(event, request)))

    def fork(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Forks a run and opens it beside the original."""
        return self._answer(lambda: {"goto": self.acts.fork(event, request)})


def _item_id(event: gr.EventData) -> int:
    item_id = field(event, "item_id")
    if not isinstance(item_id, int) or not 0 < item_id < 2**62:
        raise InputError(f"{item_id!r} is no item")
    return item_id


def _form(event: gr.EventData) -> str:
    form = field(event, "uuid")
    if not isinstance(form, str) or not CLIENT_UUID.fullmatch(form):
        raise InputError("the form has no usable id; reload the page")
    return form


def _note(event: gr.EventData) -> str:
    note = field(event, "note")
    return note if isinstance(note, str) else ""


def _decided(done: Adjudication) -> str:
    return "Decision taken back: the labels count again." if done.label == "withdrawn" else f"Decided: {WORDS[done.label]}."
