"""Explore: one question, one method, live."""

from __future__ import annotations

from typing import Any

import gradio as gr

from trio_core.demo import questions
from trio_core.errors import InputError, TrioscopeError
from ui.actions import Actions
from ui.asking import begin, board_value, examples
from ui.context import UiContext
from ui.live import Feed, make_board, run_ids
from ui.methods import SettingInputs, method_cards
from ui.render.start import start_html
from ui.shell import BOOT, error_line

FIRST = "trio"


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Question, method, settings; the run; examples and recorded runs below."""
    feed = Feed(ctx)
    with gr.Row(elem_classes=["ts-ask"]):
        question = gr.Textbox(
            show_label=False, label="Question", placeholder="Ask a question about the corpus", lines=1, max_lines=4, container=False,
            elem_id="ts-question", scale=1,
        )
        run = gr.Button("Run", variant="primary", elem_id="ts-run", scale=0, min_width=90)
        stop = gr.Button("Stop", elem_id="ts-stop", scale=0, min_width=80)
    error = error_line()
    method = method_cards(ctx, BOOT % "cards", FIRST)
    with gr.Accordion("Settings of the method", open=False, elem_classes=["ts-fold"]):
        settings = SettingInputs(ctx, [FIRST])
    board = make_board(feed, BOOT % "board")
    start = gr.HTML(value="", js_on_load=f"{BOOT % 'start'} // 'pick'", apply_default_css=False, elem_id="ts-start")
    page = _Explore(ctx, settings)
    ask: dict[str, Any] = {
        "inputs": [question, method, *settings.inputs], "outputs": [board, error], "show_progress": "hidden", "concurrency_limit": 16,
    }
    run.click(page.ask, api_name="ask", **ask)
    question.submit(page.ask, api_visibility="private", **ask)
    start.pick(
        page.pick, [method, *settings.inputs], [board, error, question], show_progress="hidden", api_visibility="private", concurrency_limit=16
    )
    method.change(settings.show, [method], settings.groups, show_progress="hidden", api_visibility="private")
    demo.load(page.open, None, [board, error, question, method, start], show_progress="hidden", api_visibility="private")
    Actions(ctx, feed).wire(board, stop)


class _Explore:
    """The page's handlers."""

    def __init__(self, ctx: UiContext, settings: SettingInputs) -> None:
        self._ctx, self._settings = ctx, settings

    def ask(self, question: str, method: str, request: gr.Request, *values: Any) -> tuple[Any, str]:
        """Starts a run; what is wrong stands under the question."""
        try:
            overrides = self._settings.overrides(method, values)
            return board_value("", begin(self._ctx, question, {method: overrides}, self._ctx.who(request))), ""
        except TrioscopeError as error:
            return gr.skip(), str(error)

    def pick(self, method: str, request: gr.Request, event: gr.EventData, *values: Any) -> tuple[Any, str, Any]:
        """Runs an example."""
        wanted = event._data.get("id") if isinstance(event._data, dict) else None
        found = next((q.question for q in questions() if q.id == wanted), None)
        if found is None:
            return gr.skip(), f"there is no example {wanted!r}", gr.skip()
        return (*self.ask(found, method, request, *values), found)

    def open(self, request: gr.Request) -> tuple[Any, str, Any, Any, str]:
        """What the address says: a run, or nothing."""
        recorded = self._ctx.store.list_runs(origin="recorded", limit=3)[0]
        latest = self._ctx.store.list_runs(origin="live", limit=3)[0]
        start = start_html(examples(), recorded, latest)
        wanted = request.query_params.get("run")
        try:
            if not wanted:
                return board_value("", []), "", gr.skip(), gr.skip(), start
            (run_id,) = run_ids([wanted])
            info = self._ctx.store.run(run_id)
            if info is None:
                raise InputError(f"run {run_id!r} is not in this store; find a run under Runs")
            return board_value("", [run_id]), "", info.question, info.method, start
        except TrioscopeError as error:
            return gr.skip(), str(error), gr.skip(), gr.skip(), start
