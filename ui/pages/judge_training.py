"""The ladder on the Judge page: threshold, calibrated head, LoRA SFT with its plan, head on top; and the job that works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from training.values import JobSettings
from trio_core.errors import TrioscopeError
from ui.context import UiContext
from ui.pages.judge_job import job_panel
from ui.pages.judge_rungs import head_form, judge_choices, snapshot_id, started, threshold_form
from ui.pages.judge_ui import ACT, QUIET, html
from ui.render import judge as parts
from ui.render import judge_jobs as jobs

KEYS = ("epochs", "learning_rate", "max_rows", "lora_rank", "lora_layers", "calibration_share", "class_balance")
INTRO = ("<h2>3 · The ladder</h2><p class=jd-soft>Four ways to a better judge on the snapshot chosen above, the cheapest first. Each makes a "
         "candidate, and all go through the same gate. Work runs in a process of its own, one job at a time; this page may be reloaded or "
         "closed meanwhile.</p>")
SFT = ("<p class=jd-soft><b>LoRA SFT.</b> Supervised fine-tuning of an adapter. Nothing is left out for its length "
       "without being counted, and the loss is on the "
       "verdict only.</p>")


@dataclass(frozen=True)
class TrainingSection:
    """What the rest of the page needs of this section. `ended` changes when a job ends (`<id> <state> <judge>`)."""

    ended: gr.State
    outputs: list[Any]
    refresh: Callable[..., Any]


def training_section(ctx: UiContext, snapshot: gr.Dropdown, pinned: gr.State) -> TrainingSection:
    """The rungs on the left, the job on the right."""
    with gr.Column(elem_classes="jd-card"):
        html(INTRO)
        with gr.Row():
            with gr.Column(scale=5, min_width=300), gr.Tabs(elem_id="jd-ladder"):
                with gr.Tab("Threshold", id="threshold"):
                    first = threshold_form(ctx, snapshot, pinned)
                with gr.Tab("Head", id="head"):
                    second = head_form(ctx, snapshot, pinned, on_sft=False)
                with gr.Tab("SFT", id="sft"):
                    form, planned, start, said = _sft(ctx, snapshot)
                with gr.Tab("SFT + head", id="head-sft"):
                    last = head_form(ctx, snapshot, pinned, on_sft=True)
            with gr.Column(scale=6, min_width=320):
                job = job_panel(ctx, pinned)
    choices = [first, second, last]

    def replan(chosen: int | None, *values: Any) -> list[Any]:
        return _planned(ctx, chosen, values)

    def begin(request: gr.Request, chosen: int | None, *values: Any) -> list[Any]:
        ctx.who(request)
        try:
            made = ctx.training.start(snapshot_id(chosen), _overrides(values))
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [started(made), made.id]

    def refresh(request: gr.Request) -> list[Any]:
        return [*job.refresh(request), *judge_choices(ctx.store.judge_versions())]

    gr.on([c.change for c in form] + [job.ended.change], replan, form, planned, trigger_mode="always_last", **QUIET)
    job.ended.change(lambda: judge_choices(ctx.store.judge_versions()), None, choices, **QUIET)
    start.click(begin, form, [said, pinned], **ACT).then(replan, form, planned, **QUIET)
    return TrainingSection(job.ended, [*job.outputs, *choices], refresh)


def _sft(ctx: UiContext, snapshot: gr.Dropdown) -> tuple[list[Any], list[Any], gr.Button, gr.HTML]:
    """Form, what the plan fills, the button, and the place for its answer."""
    html(SFT)
    form = [snapshot, *_fields(ctx)]
    plan = html("")
    with gr.Accordion("Exact command", open=False):
        command = gr.Code("", language="shell", interactive=False, show_label=False, wrap_lines=True, elem_id="jd-command")
    start = gr.Button("Start training", variant="primary", interactive=False, elem_id="jd-start")
    return form, [plan, command, start], start, html("")


def _fields(ctx: UiContext) -> list[Any]:
    """The main settings in the order of `KEYS`; the others keep the values of the settings file.

    No bounds here: Gradio's message would not name the field, the plan's does.
    """
    now = ctx.settings.training
    with gr.Row():
        epochs = gr.Number(now.epochs, label="Epochs", step=0.5, min_width=90)
        rate = gr.Number(now.learning_rate, label="Learning rate", step=1e-5, min_width=110)
        most = gr.Number(now.max_rows, label="Most rows", precision=0, min_width=90)
    with gr.Row():
        rank = gr.Number(now.lora_rank, label="LoRA rank", precision=0, min_width=90)
        layers = gr.Number(now.lora_layers, label="Last layers", precision=0, min_width=90)
    with gr.Row():
        share = gr.Number(JobSettings.model_fields["calibration_share"].default, label="Calibration share", step=0.05, min_width=130,
                          info="Training questions kept out, for its threshold and for a head on top.")
        classes = gr.Dropdown([("as they are", "none"), ("the rarer label’s loss weighs more", "weights"), ("the rarer label’s rows repeat", "sampling")],
                              value="none", label="Classes", min_width=130, interactive=True)
    return [epochs, rate, most, rank, layers, share, classes]


def _overrides(values: Sequence[Any]) -> dict[str, Any]:
    """An empty field keeps the setting's own value."""
    return {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}


def _planned(ctx: UiContext, chosen: int | None, values: Sequence[Any]) -> list[Any]:
    if chosen is None:
        return [parts.note("Freeze a training set above, then the plan stands here."), gr.Code(""), gr.Button(interactive=False)]
    try:
        plan = ctx.training.plan(snapshot_id(chosen), _overrides(values))
    except TrioscopeError as error:
        return [parts.note(str(error), "bad"), gr.Code(""), gr.Button(interactive=False)]
    active = ctx.training.active_job()
    busy = parts.note(f"Job {active.id} is {jobs.STATES[active.state]}; another one can start when it has ended.") if active else ""
    return [jobs.plan_html(plan) + busy, gr.Code(plan.command), gr.Button(interactive=not plan.problems and active is None)]
