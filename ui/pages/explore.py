"""Explore: one question, one method, live."""

from __future__ import annotations

from typing import Any

import gradio as gr

from trio_core.demo import questions
from trio_core.errors import TrioscopeError
from ui.actions import Actions
from ui.asking import begin, board_value, examples
from ui.context import UiContext
from ui.live import Feed, make_board, stored_runs
from ui.methods import SettingInputs, method_cards
from ui.render.start import start_html
from ui.shell import BOOT, error_html, error_line

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
    demo.load(page.open, None, [question, method, start], show_progress="hidden", api_visibility="private")
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
            return gr.skip(), error_html(str(error))

    def pick(self, method: str, request: gr.Request, event: gr.EventData, *values: Any) -> tuple[Any, str, Any]:
        """Runs an example."""
        wanted = event._data.get("id") if isinstance(event._data, dict) else None
        found = next((q.question for q in questions() if q.id == wanted), None)
        if found is None:
            return gr.skip(), error_html(f"there is no example {wanted!r}"), gr.skip()
        return (*self.ask(found, method, request, *values), found)

    def open(self, request: gr.Request) -> tuple[Any, Any, str]:
        """Question and method of the run in the address (the board itself reads the address), and what to look at."""
        recorded = self._ctx.store.list_runs(origin="recorded", limit=3)[0]
        latest = self._ctx.store.list_runs(origin="live", limit=3)[0]
        start = start_html(examples(), recorded, latest)
        (info,) = stored_runs(self._ctx, request.query_params.get("run") or "")[:1] or (None,)
        return (info.question, info.method, start) if info else (gr.skip(), gr.skip(), start)
