"""The cheap rungs on the Judge page: a threshold and a calibrated head, on the base model or on top of an SFT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gradio as gr

from storage.values import ZERO_SHOT, Job, JudgeVersion
from training.head import DEFAULT_FEATURES, HeadSettings
from training.work_values import ThresholdTask
from trio_core.errors import InputError, TrioscopeError
from trio_core.judge_head import FEATURES, SAMPLED
from ui.context import UiContext
from ui.pages.judge_ui import ACT, html
from ui.render import judge as parts

THRESHOLD = ("<p class=jd-soft><b>Threshold.</b> The judge stays as it is; only the value of P(sufficient) from which it says "
             "“sufficient” is tuned on the snapshot’s "
             "training side. It reads each item once.</p>")
HEAD = ("<p class=jd-soft><b>Calibrated head.</b> A logistic regression over cheap signals of the round, stored as plain "
        "numbers. It is fitted in seconds once the "
        "judge has read each item. Signals of sampled answers cost calls, here and live: the same samples for each verdict.</p>")
ON_TOP = ("<p class=jd-soft><b>Head on top of SFT.</b> The same head, reading a fine-tuned judge. Items that this judge was trained on are "
          "left out, so it must have been trained "
          "with a calibration share above 0, or on an older snapshot.</p>")


def snapshot_id(chosen: int | None) -> int:
    """The chosen snapshot. Raises InputError where there is none."""
    if chosen is None:
        raise InputError("choose a snapshot above first; if there is none, freeze one")
    return int(chosen)


def started(job: Job) -> str:
    """A line for a job that began."""
    return parts.note(f"Job {job.id} is started. You may close this page; the work goes on.", "good")


def threshold_form(ctx: UiContext, snapshot: gr.Dropdown, pinned: gr.State) -> gr.Dropdown:
    """The first rung; returns the choice of the judge."""
    html(THRESHOLD)
    judge, most, held = _common("threshold", "Judge")
    start = gr.Button("Tune a threshold", variant="primary", elem_id="jd-threshold")

    def begin(chosen: int | None, name: str | None, n: float | None, held_out: float | None) -> Job:
        return ctx.training.fit_threshold(snapshot_id(chosen), _named(name), **_limits(n, held_out))

    _on_start(ctx, start, begin, [snapshot, judge, most, held], pinned)
    return judge


def head_form(ctx: UiContext, snapshot: gr.Dropdown, pinned: gr.State, on_sft: bool) -> gr.Dropdown:
    """The second rung, or with `on_sft` the last; returns the choice of the judge."""
    default = HeadSettings()
    html(ON_TOP if on_sft else HEAD)
    judge, most, held = _common("head-sft" if on_sft else "head", "Fine-tuned judge" if on_sft else "Judge")
    with gr.Row():
        samples = gr.Number(default.samples, label="Sampled answers", precision=0, min_width=120)
        weight = gr.Dropdown([("as they are", "none"), ("weigh both alike", "balanced")], value="none", label="Classes", min_width=150, interactive=True)
    names = [(f"{words}{' (sampled)' if name in SAMPLED else ''}", name) for name, words in FEATURES.items()]
    features = gr.CheckboxGroup(names, value=list(DEFAULT_FEATURES), label="Signals", info="Those marked (sampled) need sampled answers.",
                                elem_classes="jd-signals")
    start = gr.Button("Fit a head", variant="primary", elem_id="jd-head-sft" if on_sft else "jd-head")

    def begin(chosen: int | None, name: str | None, n: float | None, held_out: float | None, k: float | None, classes: str,
              read: Sequence[str]) -> Job:
        head = {"samples": k or 0, "class_weight": classes, "features": list(read)}
        return ctx.training.fit_head(snapshot_id(chosen), _named(name), head, **_limits(n, held_out))

    _on_start(ctx, start, begin, [snapshot, judge, most, held, samples, weight, features], pinned)
    return judge


def _common(name: str, label: str) -> tuple[gr.Dropdown, gr.Number, gr.Number]:
    fields = ThresholdTask.model_fields
    judge = gr.Dropdown([], label=label, elem_id=f"jd-{name}-judge", interactive=True)
    with gr.Row():
        most = gr.Number(fields["max_rows"].default, label="Most training items", precision=0, min_width=120)
        held = gr.Number(fields["held_out_rows"].default, label="Most held-out items", precision=0, min_width=120)
    return judge, most, held


def _limits(n: float | None, held_out: float | None) -> dict[str, Any]:
    """An empty field keeps the default."""
    return {name: value for name, value in (("max_rows", n), ("held_out_rows", held_out)) if value is not None}


def _named(name: str | None) -> str:
    if not name:
        raise InputError("choose a judge first; a head on top of an SFT needs a fine-tuned one")
    return str(name)


def _on_start(ctx: UiContext, button: gr.Button, begin: Callable[..., Job], form: list[Any], pinned: gr.State) -> None:
    said = html("")

    def run(request: gr.Request, *values: Any) -> list[Any]:
        ctx.who(request)
        try:
            job = begin(*values)
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [started(job), job.id]

    button.click(run, form, [said, pinned], **ACT)


def judge_choices(versions: Sequence[JudgeVersion]) -> list[Any]:
    """Updates of the three choices of judges: what a threshold and a head may sit on, and the fine-tuned ones."""
    models = [v for v in reversed(versions) if v.name == ZERO_SHOT or v.kind == "sft"]
    tuned = [(f"{v.name} ({v.state})", v.name) for v in models if v.name != ZERO_SHOT]
    names = [(f"{v.name} ({parts.judge_words('model' if v.name == ZERO_SHOT else v.kind, None)})", v.name) for v in models]
    base = gr.Dropdown(choices=names, value=ZERO_SHOT)
    on_top = gr.Dropdown(choices=tuned, value=tuned[0][1] if tuned else None, info=None if tuned else "None yet: train one by LoRA SFT first.")
    return [base, base, on_top]
