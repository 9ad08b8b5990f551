"""Compare: one question, two or more methods live, or any stored runs; rounds are rows, methods are columns."""

from __future__ import annotations

from typing import Any

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from trio_core.methods import METHODS
from ui.actions import Actions
from ui.asking import begin, board_value
from ui.context import UiContext
from ui.live import Feed, make_board, stored_runs
from ui.methods import SettingInputs, method_cards
from ui.render.runs import found_html
from ui.shell import BOOT, error_html, error_line

FIRST = ["trio", "maps"]


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Question, methods, settings, stored runs to choose from; the runs side by side."""
    feed = Feed(ctx)
    with gr.Row(elem_classes=["ts-ask"]):
        question = gr.Textbox(
            show_label=False, label="Question", placeholder="Ask all methods the same question", lines=1, max_lines=4, container=False,
            elem_id="ts-question", scale=1,
        )
        run = gr.Button("Run both", variant="primary", elem_id="ts-run", scale=0, min_width=110)
        stop = gr.Button("Stop", elem_id="ts-stop", scale=0, min_width=80)
    error = error_line()
    methods = method_cards(ctx, BOOT % "cards", FIRST)
    with gr.Accordion("Settings of the methods", open=False, elem_classes=["ts-fold"]):
        settings = SettingInputs(ctx, FIRST)
    _picker(ctx)
    board = make_board(feed, BOOT % "board")
    page = _Compare(ctx, settings)
    ask: dict[str, Any] = {
        "inputs": [question, methods, *settings.inputs], "outputs": [board, error], "show_progress": "hidden", "concurrency_limit": 16,
    }
    run.click(page.ask, api_name="compare", **ask)
    question.submit(page.ask, api_visibility="private", **ask)
    methods.change(page.chosen, [methods], [run, *settings.groups], show_progress="hidden", api_visibility="private")
    demo.load(page.open, None, [question, methods], show_progress="hidden", api_visibility="private")
    Actions(ctx, feed).wire(board, stop)


def _picker(ctx: UiContext) -> None:
    def find(data: Any) -> str:
        search = data.get("search") if isinstance(data, dict) else ""
        runs, total = ctx.store.list_runs(search=str(search or "")[:200], limit=30)
        return found_html(runs, total)

    gr.HTML(
        value=None, js_on_load=BOOT % "picker", server_functions=[find], apply_default_css=False, elem_classes=["ts-picker"],
        html_template=(
            '<details class="picker"><summary>Compare stored runs</summary><div class="row"><input type="search" maxlength="200" '
            'placeholder="words of the question or answer" aria-label="Search stored runs"><a class="btn go disabled"></a></div>'
            '<div class="found"></div></details>'
        ),
    )


class _Compare:
    """The page's handlers."""

    def __init__(self, ctx: UiContext, settings: SettingInputs) -> None:
        self._ctx, self._settings = ctx, settings

    def ask(self, question: str, methods: Any, request: gr.Request, *values: Any) -> tuple[Any, str]:
        """Starts all chosen methods on one question."""
        try:
            names = [m for m in METHODS if isinstance(methods, list) and m in methods]
            if len(names) < 2:
                raise InputError("choose two methods or more; for one method there is Explore")
            wished = {m: self._settings.overrides(m, values) for m in names}
            return board_value("compare", begin(self._ctx, question, wished, self._ctx.who(request))), ""
        except TrioscopeError as error:
            return gr.skip(), error_html(str(error))

    def chosen(self, methods: Any) -> list[Any]:
        """The button counts; the settings follow the choice."""
        count = len(methods) if isinstance(methods, list) else 0
        return [gr.update(value="Run both" if count == 2 else f"Run {count}"), *self._settings.show(methods)]

    def open(self, request: gr.Request) -> tuple[Any, Any]:
        """Question and methods of the runs in the address; the board itself reads the address."""
        known = stored_runs(self._ctx, request.query_params.get("runs") or "")
        methods = [m for m in METHODS if m in {i.method for i in known}]
        return known[0].question if known else gr.skip(), methods if len(methods) > 1 else gr.skip()
