"""A job of any kind on the Judge page: state, curves, command, log, abort and resume. It is read from the store, so any page may show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr
import pandas as pd

from training.values import JobView
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.judge_ui import ACT, QUIET, html
from ui.render import judge as parts
from ui.render import judge_jobs as jobs

ACTIVE = ("queued", "running", "stopping")
FAST_S, SLOW_S = 2.0, 10.0
"""How often the page asks while a job works, and otherwise (somebody else may start one)."""
SHOWN_JOBS = 6


@dataclass(frozen=True)
class JobPanel:
    """`ended` changes when the shown job ends: its id, its state, and the judge that it made or compared."""

    ended: gr.State
    outputs: list[Any]
    refresh: Callable[..., Any]


def job_panel(ctx: UiContext, pinned: gr.State) -> JobPanel:
    """The components of a job and their events. `pinned` is the job that this page started."""
    state = html('<div class="jd-wait"></div>')
    with gr.Row():
        abort = gr.Button("Abort", visible=False, variant="stop", size="sm", elem_id="jd-abort")
        resume = gr.Button("Resume", visible=False, size="sm", elem_id="jd-resume")
    said = html("")
    with gr.Row():
        loss = gr.LinePlot(x="step", y="loss", title="Training loss", height=210, visible=False, min_width=240)
        held = gr.LinePlot(x="step", y="value", color="figure", title="Held-out rows", height=210, visible=False, min_width=240,
                           y_lim=[0, 1], color_map={"balanced accuracy": "#0072b2", "AUROC": "#d55e00"})
    with gr.Accordion("Log", open=False, visible=False) as folded:
        log = html("")
    with gr.Accordion("Exact command of this job", open=False, visible=False) as ordered:
        command = html("")
    last = html("")
    ended, drawn, timer = gr.State(""), gr.State(""), gr.Timer(FAST_S)
    inputs = [pinned, drawn]
    outputs = [state, abort, resume, loss, held, folded, log, ordered, command, last, ended, drawn, timer]

    def look(request: gr.Request, mine: int | None, seen: str) -> list[Any]:
        return _look(ctx, mine or asked_job(request), seen)

    def refresh(request: gr.Request) -> list[Any]:
        return _look(ctx, asked_job(request), "")

    def acted(name: str) -> Callable[..., str]:
        def run(request: gr.Request, mine: int | None) -> str:
            return _acted(ctx, name, ctx.who(request), mine or asked_job(request))
        return run

    for button, name in ((abort, "abort"), (resume, "resume")):
        button.click(acted(name), pinned, said, **ACT).then(look, inputs, outputs, **QUIET)
    gr.on([timer.tick, pinned.change], look, inputs, outputs, **QUIET)
    return JobPanel(ended, outputs, refresh)


def asked_job(request: gr.Request) -> int | None:
    """The job named in the page's address (`?job=3`)."""
    text = request.query_params.get("job", "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else None


def _chosen(ctx: UiContext, number: int | None) -> int | None:
    """The job to show: the one asked for, else the one that works, else the newest."""
    if number is not None:
        return number
    active = ctx.training.active_job()
    newest = active or next(iter(ctx.store.jobs(limit=1)), None)
    return newest.id if newest else None


def _look(ctx: UiContext, number: int | None, seen: str) -> list[Any]:
    try:
        shown = _chosen(ctx, number)
        if shown is None:
            return _nothing("", jobs.jobs_html([], None))
        view = ctx.training.job_view(shown)
        last = jobs.jobs_html(ctx.store.jobs(limit=SHOWN_JOBS), shown)
    except TrioscopeError as error:
        return _nothing(parts.note(f"Job {number} cannot be shown: {error}" if number else str(error), "bad"), "")
    active = view.job.state in ACTIVE
    sign = f"{shown} {view.job.state} {len(view.loss)} {len(view.held_out)}"
    # A plot that is drawn anew flickers: only new points are worth it.
    plots = [gr.skip(), gr.skip()] if sign == seen else [_loss_plot(view), _held_plot(view)]
    same_pace = seen != "" and (seen.split()[1] in ACTIVE) == active
    return [jobs.job_html(view), gr.Button("Kill" if view.job.state == "stopping" else "Abort", visible=active), gr.Button(visible=view.can_resume),
            *plots, gr.Accordion(visible=bool(view.log_tail)), jobs.log_html(view), gr.Accordion(visible=bool(view.command)),
            jobs.command_html(view), last, "" if active else _end(view), sign, gr.skip() if same_pace else gr.Timer(FAST_S if active else SLOW_S)]


def _end(view: JobView) -> str:
    judge = view.judge or (str(view.job.config.get("candidate", "")) if view.job.kind == "gate" else "")
    return f"{view.job.id} {view.job.state} {judge}".strip()


def _nothing(state: str, last: str) -> list[Any]:
    hidden, folded = gr.LinePlot(visible=False), gr.Accordion(visible=False)
    return [state, gr.Button(visible=False), gr.Button(visible=False), hidden, hidden, folded, "", folded, "", last, "", "", gr.Timer(SLOW_S)]


def _loss_plot(view: JobView) -> Any:
    return gr.LinePlot(pd.DataFrame(list(view.loss), columns=["step", "loss"]), visible=len(view.loss) > 0)


def _held_plot(view: JobView) -> Any:
    """Of trainings alone: the cheap rungs have two points, before and after, which stand in words."""
    points = view.held_out if view.job.kind == "sft" else ()
    rows = [(point.step, name, value) for point in points
            for name, value in (("balanced accuracy", point.balanced_accuracy), ("AUROC", point.auroc)) if value is not None]
    return gr.LinePlot(pd.DataFrame(rows, columns=["step", "figure", "value"]), visible=len(rows) > 0)


def _acted(ctx: UiContext, name: str, who: str, number: int | None) -> str:
    """Aborts (again: kills) or resumes; what came of it in words."""
    try:
        shown = _chosen(ctx, number)
        if shown is None:
            raise InputError("there is no job")
        job = ctx.training.abort(shown) if name == "abort" else ctx.training.resume(shown)
    except TrioscopeError as error:
        return parts.note(str(error), "bad")
    return parts.note(f"Job {job.id}: {jobs.STATES[job.state]} (asked by {who}).")
