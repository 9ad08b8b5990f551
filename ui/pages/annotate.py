"""Annotate: one item at a time, as the judge saw it; keys 1 2 3 0 label it and bring the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast, get_args

import gradio as gr

from storage.values import QueueOrder
from trio_core.errors import TrioscopeError
from ui.context import UiContext
from ui.pages.annotate_desk import Desk, View, failed
from ui.pages.demo_items import make_items
from ui.render.desk import FRAME
from ui.theme import asset


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """The desk is one component: the server sends its parts, the script keeps form, keys and clock."""
    desk = Desk(ctx.store)
    view = gr.HTML(None, html_template=FRAME, css_template=asset("annotate.css"), js_on_load=asset("annotate.js"),
                   apply_default_css=False, elem_id="annotate")

    def opened(request: gr.Request) -> dict[str, Any]:
        order, item = address(request.query_params)
        seen = request.query_params.get("seen") == "1"
        return _for(request, lambda who: desk.open(who, order, item, seen))

    def act(event: gr.EventData, request: gr.Request) -> dict[str, Any]:
        return _for(request, lambda who: desk.act(who, event._data))

    def _for(request: gr.Request, work: Callable[[str], View]) -> dict[str, Any]:
        try:
            return work(ctx.who(request)).model_dump()
        except TrioscopeError as error:
            return failed(str(error)).model_dump()

    def make(event: gr.EventData, request: gr.Request) -> Iterator[dict[str, Any]]:
        for step in make_items(ctx.training):
            yield failed(step.text, error=step.failed).model_dump()
            if step.failed:
                return
        yield _for(request, lambda who: desk.act(who, {"kind": "next", **_order_of(event._data)}))

    # No queue: a label is one request and one answer. "multiple": the script keeps calls apart, and none may be swallowed.
    plain: dict[str, Any] = {"queue": False, "show_progress": "hidden", "trigger_mode": "multiple", "api_visibility": "private"}
    demo.load(opened, outputs=view, **plain)
    view.act(act, outputs=view, **plain)
    view.make(make, outputs=view, show_progress="hidden", api_visibility="private", concurrency_limit=4)


def address(query: Any) -> tuple[QueueOrder, int | None]:
    """Order and item of the page's address; what is not usable is left out."""
    order, item = query.get("order", ""), query.get("item", "")
    return (cast(QueueOrder, order) if order in get_args(QueueOrder) else "uncertain",
            int(item) if item.isascii() and item.isdecimal() and 0 < int(item) < 2**62 else None)


def _order_of(data: dict[str, Any]) -> dict[str, Any]:
    return {"order": data["order"]} if "order" in data else {}
