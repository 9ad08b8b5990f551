"""Judges: their scores, flipped items, promotion with its gate, and the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from storage.values import JudgeVersion
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.judge_ui import QUIET, html
from ui.render import judge as parts
from ui.render import judge_versions as versions

INTRO = ("<h2>4 · Judges</h2><p class=jd-soft>A promoted judge decides all later runs at once, without a restart. To roll back, promote an "
         "older one.</p>")


@dataclass(frozen=True)
class VersionsSection:
    """What the rest of the page needs of this section."""

    outputs: list[Any]
    refresh: Callable[..., Any]


def versions_section(ctx: UiContext) -> VersionsSection:
    """The table, then one judge's details beside the way to make it live."""
    with gr.Column(elem_classes="jd-card"):
        html(INTRO)
        table = html('<div class="jd-wait"></div>')
        with gr.Row():
            with gr.Column(scale=4, min_width=280):
                judge = gr.Dropdown([], label="Judge", elem_id="jd-judge", interactive=True)
                promote = gr.Button("Promote…", interactive=False, elem_id="jd-promote")
                with gr.Column(visible=False, elem_classes="jd-confirm") as confirm:
                    words = html("")
                    reason = gr.Textbox(label="Reason", lines=2, max_length=2000, elem_id="jd-reason")
                    with gr.Row():
                        yes = gr.Button("Make it live", variant="primary", size="sm", elem_id="jd-yes")
                        no = gr.Button("Cancel", size="sm")
                said = html("")
            with gr.Column(scale=7, min_width=320):
                details = html("")
        history = html("")
    outputs = [table, judge, history]

    def refresh() -> list[Any]:
        return _all(ctx, None)

    def show(name: str | None) -> list[Any]:
        return [*_details(ctx, name), gr.Column(visible=False)]

    def ask(name: str | None) -> list[Any]:
        try:
            gate = versions.gate(_known(ctx, name), ctx.store.live_judge())
        except TrioscopeError as error:
            return [gr.Column(visible=False), "", parts.note(str(error), "bad")]
        return [gr.Column(visible=True), parts.note(gate.words, "good" if gate.better else "bad"), ""]

    def make_live(request: gr.Request, name: str | None, why: str) -> list[Any]:
        try:
            live = promoted(ctx, ctx.who(request), name, why)
        except TrioscopeError as error:
            return [parts.note(f"Not promoted: {error}", "bad"), gr.skip(), gr.skip(), *[gr.skip()] * len(outputs)]
        return [parts.note(f"{live.name} is live.", "good"), gr.Column(visible=False), "", *_all(ctx, live.name)]

    judge.change(show, judge, [details, promote, confirm], **QUIET)
    promote.click(ask, judge, [confirm, words, said], **QUIET)
    no.click(lambda: gr.Column(visible=False), None, confirm, **QUIET)
    (yes.click(make_live, [judge, reason], [said, confirm, reason, *outputs], api_visibility="private", trigger_mode="once")
     .then(show, judge, [details, promote, confirm], **QUIET))
    return VersionsSection(outputs, refresh)


def promoted(ctx: UiContext, who: str, name: str | None, why: str) -> JudgeVersion:
    """Makes a judge live. The gate is asked here again: what a button showed binds nobody."""
    candidate, live = _known(ctx, name), ctx.store.live_judge()
    gate = versions.gate(candidate, live)
    if not gate.better and not why.strip():
        raise InputError(f"{gate.words} A reason is needed.")
    return ctx.training.promote(candidate.name, by=who, reason=why.strip())


def _known(ctx: UiContext, name: str | None) -> JudgeVersion:
    if not name:
        raise InputError("choose a judge first")
    return ctx.store.judge_version(str(name))


def _details(ctx: UiContext, name: str | None) -> list[Any]:
    try:
        version = _known(ctx, name)
    except TrioscopeError as error:
        return [parts.note(str(error)) if name else "", gr.Button(interactive=False)]
    live = version.state == "live"
    return [versions.details_html(version), gr.Button("Live already" if live else f"Promote {version.name}…", interactive=not live)]


def _all(ctx: UiContext, chosen: str | None) -> list[Any]:
    """Table, choices (newest first; the newest is chosen) and history."""
    found = ctx.store.judge_versions()
    names = [(f"{v.name} ({v.state})", v.name) for v in reversed(found)]
    return [versions.versions_html(found), gr.Dropdown(choices=names, value=chosen or (names[0][1] if names else None)),
            versions.history_html(ctx.store.promotions())]
