"""Annotate: one item at a time, as the judge saw it; keys 1 2 3 0 label it and bring the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from ui.annotating import QueueChoice, View, failed, parse_act, read_item, read_queue
from ui.context import UiContext
from ui.evidence import Evidences
from ui.pages.annotate_desk import Desk
from ui.pages.demo_items import make_items
from ui.pages.item_acts import ItemActs, field
from ui.render.desk import FRAME
from ui.render.guidelines import guidelines_html
from ui.theme import asset


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """The desk is one component: the server sends its parts, the script keeps form, keys and clock."""
    page = _Annotate(ctx)

    def samples(data: Any) -> dict[str, Any]:
        return page.acts.evidences.look(data)

    def cancel(data: Any) -> None:
        page.acts.evidences.cancel(data)

    view = gr.HTML(None, html_template=FRAME, css_template=asset("annotate.css"), js_on_load=asset("evidence.js") + asset("annotate.js"),
                   apply_default_css=False, elem_id="annotate", server_functions=[samples, cancel])
    # No queue: a label is one request and one answer. "multiple": the script keeps calls apart, and none may be swallowed.
    plain: dict[str, Any] = {"queue": False, "show_progress": "hidden", "trigger_mode": "multiple", "api_visibility": "private"}
    demo.load(page.opened, outputs=view, **plain)
    view.act(page.act, outputs=view, **plain)
    view.guideline(page.guideline, outputs=view, **plain)
    view.evidence(page.evidence, outputs=view, **plain)
    view.keep(page.keep, outputs=view, **plain)
    view.fork(page.fork, outputs=view, **plain)
    view.rule(page.rule, outputs=view, **plain)
    view.make(page.make, outputs=view, show_progress="hidden", api_visibility="private", concurrency_limit=4)


class _Annotate:
    """The page's handlers; each finds out who asks."""

    def __init__(self, ctx: UiContext) -> None:
        self._ctx = ctx
        self._desk = Desk(ctx.store)
        self.acts = ItemActs(ctx, Evidences(ctx))

    def _for(self, request: gr.Request, work: Callable[[str], View]) -> dict[str, Any]:
        try:
            return work(self._ctx.who(request)).model_dump()
        except TrioscopeError as error:
            return failed(str(error)).model_dump()

    def opened(self, request: gr.Request) -> dict[str, Any]:
        """The page as its address says."""
        query = request.query_params
        guide = guidelines_html(self._ctx.store.guidelines(), self.acts.is_admin(request))
        return self._for(request, lambda who: self._desk.open(
            who, read_queue(query), read_item(query.get("item", "")), query.get("seen") == "1", self.acts.is_admin(request),
        ).model_copy(update={"guide": guide, "samples": self.acts.evidences.usual}))

    def act(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """A label, an undo, another item."""
        return self._for(request, lambda who: self._desk.act(who, event._data))

    def make(self, event: gr.EventData, request: gr.Request) -> Iterator[dict[str, Any]]:
        """Items from the demo questions."""
        for step in make_items(self._ctx.training):
            yield failed(step.text, error=step.failed).model_dump()
            if step.failed:
                return
        yield self._for(request, lambda who: self._desk.open(who, QueueChoice(), admin=self.acts.is_admin(request)))

    def guideline(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """A new version of the guidelines; admins only."""
        def work(who: str) -> View:
            text, base = field(event, "text"), field(event, "base")
            if not isinstance(text, str) or not isinstance(base, int):
                raise InputError("the page sent no text; reload it")
            saved = self._ctx.store.add_guideline(text, self._ctx.require_admin(request), based_on=base)
            return View(fresh=False, guide=guidelines_html(self._ctx.store.guidelines(), admin=True), tone="saved",
                        message=f"Guidelines saved as version {saved.version}.")

        return self._for(request, work)

    def rule(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """How many people each item goes to; admins only."""
        def work(who: str) -> View:
            admin, overlap = self._ctx.require_admin(request), field(event, "overlap")
            act = parse_act({"kind": "next", "queue": field(event, "queue")})
            if not isinstance(overlap, int) or act is None:
                raise InputError("the page sent no number of people; reload it")
            return self._desk.set_overlap(admin, overlap or None, act.queue)

        return self._for(request, work)

    def evidence(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Begins sampling answers from an item's pool."""
        return self._for(request, lambda who: View(fresh=False, evidence=self.acts.evidence(event, request)))

    def keep(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Stores samples as a vote label; admins only."""
        return self._for(request, lambda who: View(fresh=False, message=self.acts.keep(event, request), tone="saved"))

    def fork(self, event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        """Forks a run and opens it beside the original."""
        return self._for(request, lambda who: View(fresh=False, goto=self.acts.fork(event, request)))
