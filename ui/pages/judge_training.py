"""Training on the Judge page: main settings, and the plan before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.judge_job import job_panel
from ui.pages.judge_ui import QUIET, html
from ui.render import judge as parts

KEYS = ("epochs", "learning_rate", "max_rows", "lora_rank", "lora_layers")
INTRO = ("<h2>3 · Training</h2><p class=jd-soft>Supervised fine-tuning of a LoRA adapter on the snapshot chosen above, in a process of "
         "its own. This page may be reloaded or closed at any time. One training runs at a time.</p>")


@dataclass(frozen=True)
class TrainingSection:
    """What the rest of the page needs of this section. `ended` changes when a job ends."""

    ended: gr.State
    outputs: list[Any]
    refresh: Callable[..., Any]


def training_section(ctx: UiContext, snapshot: gr.Dropdown) -> TrainingSection:
    """Settings and plan on the left, the job on the right."""
    with gr.Column(elem_classes="jd-card"):
        html(INTRO)
        with gr.Row():
            with gr.Column(scale=5, min_width=300):
                form = [snapshot, *_fields(ctx)]
                plan = html("")
                with gr.Accordion("Exact command", open=False):
                    command = gr.Code("", language="shell", interactive=False, show_label=False, wrap_lines=True, elem_id="jd-command")
                start = gr.Button("Start training", variant="primary", interactive=False, elem_id="jd-start")
                said = html("")
            with gr.Column(scale=6, min_width=320):
                job = job_panel(ctx)
    planned = [plan, command, start]

    def replan(chosen: int | None, *values: float | None) -> list[Any]:
        return _planned(ctx, chosen, values)

    def begin(request: gr.Request, chosen: int | None, *values: float | None) -> list[Any]:
        ctx.who(request)
        try:
            made = ctx.training.start(_snapshot_id(chosen), _overrides(values))
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [parts.note(f"Job {made.id} is started. You may close this page; the training goes on.", "good"), made.id]

    gr.on([c.change for c in form] + [job.ended.change], replan, form, planned, trigger_mode="always_last", **QUIET)
    (start.click(begin, form, [said, job.pinned], api_visibility="private", trigger_mode="once")
     .then(job.look, job.inputs, job.outputs, **QUIET).then(replan, form, planned, **QUIET))
    return TrainingSection(job.ended, job.outputs, job.refresh)


def _fields(ctx: UiContext) -> list[gr.Number]:
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
    return [epochs, rate, most, rank, layers]


def _overrides(values: Sequence[float | None]) -> dict[str, Any]:
    """An empty field keeps the setting's own value."""
    return {key: value for key, value in zip(KEYS, values, strict=True) if value is not None}


def _snapshot_id(chosen: int | None) -> int:
    if chosen is None:
        raise InputError("choose a snapshot above first; if there is none, freeze one")
    return int(chosen)


def _planned(ctx: UiContext, chosen: int | None, values: Sequence[float | None]) -> list[Any]:
    if chosen is None:
        return [parts.note("Freeze a training set above, then the plan stands here."), gr.Code(""), gr.Button(interactive=False)]
    try:
        plan = ctx.training.plan(_snapshot_id(chosen), _overrides(values))
    except TrioscopeError as error:
        return [parts.note(str(error), "bad"), gr.Code(""), gr.Button(interactive=False)]
    active = ctx.training.active_job()
    busy = parts.note(f"Job {active.id} is {parts.STATES[active.state]}; another one can start when it has ended.") if active else ""
    return [parts.plan_html(plan) + busy, gr.Code(plan.command), gr.Button(interactive=not plan.problems and active is None)]
