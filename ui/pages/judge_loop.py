"""Where labels went: every judge with the labels behind it, and the way of one item (`?item=`)."""

from __future__ import annotations

from typing import Any

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from ui.annotating import read_item
from ui.context import UiContext
from ui.pages.judge_ui import QUIET, Section, html
from ui.render import judge as parts
from ui.render import judge_loop as loop

INTRO = ("<h2>5 · Where labels went</h2><p class=jd-soft>Which snapshot took a label, which judge was made of it, and whether that judge is "
         "live.</p>")


def loop_section(ctx: UiContext) -> Section:
    """The overview, then a search for one item."""
    with gr.Column(elem_classes="jd-card", elem_id="jd-loop"):
        html(INTRO)
        overview = html('<div class="jd-wait"></div>')
        with gr.Row():
            item = gr.Textbox(label="Number of an item", placeholder="for example 12", max_length=18, min_width=160, scale=0, elem_id="jd-item")
            look = gr.Button("Where did it go?", size="sm", scale=0, min_width=160, elem_id="jd-where")
        found = html("")

    def refresh(request: gr.Request) -> list[Any]:
        asked = request.query_params.get("item") or ""
        return [loop.loop_html(ctx.store.loop_view()), where(ctx, asked) if asked else gr.skip()]

    gr.on([look.click, item.submit], lambda text: where(ctx, text), item, found, **QUIET)
    return Section([overview, found], refresh)


def where(ctx: UiContext, text: str) -> str:
    """The way of one item; what is wrong with the number in words."""
    try:
        number = read_item(text.strip()[:20])
        if number is None:
            raise InputError(f"{text[:40]!r} is no number of an item; it stands in the address of its page in Annotate")
        uses, item = ctx.store.where_went(number), ctx.store.item(number)
    except TrioscopeError as error:
        return parts.note(str(error), "bad")
    return loop.item_loop_html(number, item.item.question if item else "", uses)
