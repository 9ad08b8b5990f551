"""Runs: find a stored run, open it, or tick two and compare them. The address holds the filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import gradio as gr

from trio_core.errors import TrioscopeError
from trio_core.methods import METHODS
from trio_core.runs import Origin, RunStatus
from ui.context import UiContext
from ui.render.base import esc
from ui.render.runs import PAGE, Filter, runs_html
from ui.shell import BOOT


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """One list, made anew whenever the page is opened."""
    table = gr.HTML(value="", js_on_load=BOOT % "table", apply_default_css=False, elem_id="ts-runs")

    def show(request: gr.Request) -> str:
        wanted = read_filter(dict(request.query_params))
        try:
            return runs_html(*ctx.store.list_runs(**_query(wanted)), wanted)
        except TrioscopeError as error:
            return f'<p class="err" role="alert">{esc(error)}</p>'

    demo.load(show, None, [table], show_progress="hidden", api_visibility="private")


def read_filter(query: Mapping[str, str]) -> Filter:
    """The filters of an address; what is not a known value is left out."""
    def known(name: str, values: tuple[str, ...]) -> str:
        return query.get(name, "") if query.get(name) in values else ""

    page = query.get("page", "1")
    return Filter(
        search=query.get("search", "")[:200], method=known("method", tuple(METHODS)), status=known("status", get_args(RunStatus)),
        origin=known("origin", get_args(Origin)), dataset=query.get("dataset", "")[:100],
        page=int(page) if page.isascii() and page.isdigit() and 0 < int(page) < 100_000 else 1,
    )


def _query(wanted: Filter) -> dict[str, Any]:
    """The store's arguments: an empty filter is no filter."""
    chosen = {k: v or None for k, v in wanted._asdict().items() if k not in ("search", "page")}
    return chosen | {"search": wanted.search, "limit": PAGE, "offset": (wanted.page - 1) * PAGE}
