"""Evaluate: methods over a data set. The form and the list of evaluations, or one evaluation (`?id=`) with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import gradio as gr
from pydantic import ValidationError

from trio_core.errors import InputError, TrioscopeError
from trio_core.evaluation.order import Order
from trio_core.evaluation.places import corpus_files, question_files, shown
from trio_core.evaluation.wish import Wish
from trio_core.methods import METHODS
from ui.context import UiContext
from ui.methods import SettingInputs, method_cards
from ui.pages.evaluate_view import EvaluateView
from ui.shell import BOOT, error_html, error_line
from ui.theme import asset

FIRST = ["trio", "maps", "naive"]
VARIANTS_MOST = 40
FRAME = ('<div class="ev" data-state="wait"><p class="ev-message" role="status"></p>'
         + "".join(f'<section data-part="{p}"></section>' for p in ("head", "list", "plots", "tables", "matrix", "pair", "runs")) + "</div>")


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """The form is for a new evaluation; the view polls what it shows."""
    gr.HTML("", head=f"<style>{asset('evaluate.css')}</style>", visible="hidden")
    view = EvaluateView(ctx)

    async def look(data: Any) -> dict[str, Any]:
        return await view.look(data)

    async def file(data: Any) -> dict[str, Any]:
        return await view.file(data)

    with gr.Column(elem_id="ev-form"):
        gr.HTML('<h2 class="ev-h">New evaluation</h2>', apply_default_css=False)
        methods = method_cards(ctx, BOOT % "cards", FIRST)
        with gr.Accordion("Settings of the methods, and variants", open=False, elem_classes=["ts-fold"]):
            settings = SettingInputs(ctx, FIRST)
            variants = gr.Textbox(label="Variants beside them, one a line, such as trio:max_extensions=1", lines=2, max_lines=8, elem_id="ev-variants")
        inputs = _fields(ctx)
        start = gr.Button("Start the evaluation", variant="primary", elem_id="ev-start", scale=0, min_width=220)
        error = error_line()
    shown_view = gr.HTML(None, html_template=FRAME, js_on_load=asset("evaluate.js"), apply_default_css=False, elem_id="evaluate",
                         server_functions=[look, file])
    form = _Form(ctx, settings)
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "trigger_mode": "once"}
    start.click(form.begin, [methods, variants, *inputs, *settings.inputs], [shown_view, error], **quiet)
    methods.change(settings.show, [methods], settings.groups, show_progress="hidden", api_visibility="private")
    demo.load(form.choices, None, inputs[:2], **quiet)
    for listen, act in ((shown_view.halt, view.halt), (shown_view.proceed, view.proceed), (shown_view.retry, view.retry)):
        listen(act, None, [shown_view], **quiet)


def _fields(ctx: UiContext) -> list[Any]:
    """Inputs in the order of `_Form.order`. No bounds here: Gradio's message would not name the field, ours does."""
    most = ctx.settings.runs.max_running
    with gr.Row(elem_classes=["ev-row"]):
        dataset = gr.Dropdown(["demo"], value="demo", label="Data set", allow_custom_value=True, interactive=True, min_width=240, elem_id="ev-dataset")
        corpus = gr.Dropdown([("the app’s own", "")], value="", label="Corpus", allow_custom_value=True, interactive=True, min_width=240)
    with gr.Row(elem_classes=["ev-row"]):
        limit = gr.Number(20, label="Questions (empty = all)", precision=0, min_width=130, elem_id="ev-limit")
        sample = gr.Checkbox(False, label="drawn by the seed, not the first ones", container=True, min_width=160)
        seed = gr.Number(0, label="Seed", precision=0, min_width=90)
        repeats = gr.Number(1, label="Repeats", precision=0, min_width=90)
        concurrency = gr.Number(min(2, most), label=f"Runs at once (1–{most})", precision=0, min_width=110, elem_id="ev-at-once")
    return [dataset, corpus, limit, sample, seed, repeats, concurrency]


class _Form:
    """The handlers of the form."""

    def __init__(self, ctx: UiContext, settings: SettingInputs) -> None:
        self._ctx, self._settings = ctx, settings

    def choices(self) -> list[Any]:
        """What lies in the allowed folders now."""
        settings = self._ctx.settings
        own = shown(settings.retriever.corpus, settings)
        corpora = [(f"the app’s own ({own})", ""), *((name, name) for name in corpus_files(settings) if name != own)]
        return [gr.Dropdown(choices=[("demo questions", "demo"), *((n, n) for n in question_files(settings)[1:])]), gr.Dropdown(choices=corpora)]

    def begin(self, methods: Any, variants: str, dataset: Any, corpus: Any, limit: Any, sample: Any, seed: Any, repeats: Any, concurrency: Any,
              request: gr.Request, *values: Any) -> tuple[Any, str]:
        """Starts an evaluation and opens it."""
        try:
            who = self._ctx.who(request)
            chosen = [m for m in METHODS if isinstance(methods, list) and m in methods]
            labels = [label(m, self._settings.overrides(m, values)) for m in chosen]
            order = order_of(labels + variant_lines(variants), (dataset, corpus, limit, sample, seed, repeats, concurrency), who)
            return {"goto": f"./evaluate?id={self._ctx.evaluations.begin(order)}"}, ""
        except TrioscopeError as error:
            return gr.skip(), error_html(str(error))


def label(method: str, overrides: dict[str, Any]) -> str:
    """`trio:max_extensions=1`: the method with what differs from the profile. Raises InputError for a value that cannot be written so."""
    for name, value in overrides.items():
        if isinstance(value, str) and set(":,\n") & set(value):
            raise InputError(f"{method}: {name} cannot hold a colon, a comma or a new line here (got {value!r})")
    written = {n: str(v).lower() if isinstance(v, bool) else v for n, v in overrides.items()}
    return ":".join([method, *(f"{name}={value}" for name, value in written.items())])


def variant_lines(text: object) -> list[str]:
    """Lines of the field, empty ones left out. Raises InputError where they are too many."""
    lines = [line.strip() for line in str(text or "").splitlines() if line.strip()]
    if len(lines) > VARIANTS_MOST:
        raise InputError(f"{len(lines)} variants are too many; at most {VARIANTS_MOST}")
    return lines


def order_of(methods: Sequence[str], fields: Sequence[Any], who: str) -> Order:
    """The form as an order. Raises InputError that names the field."""
    dataset, corpus, limit, sample, seed, repeats, concurrency = fields
    if not methods:
        raise InputError("no method is chosen; choose one")
    try:
        wish = Wish(dataset=str(dataset or ""), methods=tuple(dict.fromkeys(methods)), limit=limit, sample=bool(sample), seed=seed or 0, repeats=repeats)
        return Order(wish=wish, corpus=str(corpus or ""), concurrency=concurrency, by=who, created=datetime.now(UTC))
    except ValidationError as error:
        first = error.errors()[0]
        names = {"limit": "questions", "concurrency": "runs at once"}
        name = str(first["loc"][0])
        raise InputError(f"{names.get(name, name)}: {first['msg'].lower()} (got {first['input']!r})") from error
