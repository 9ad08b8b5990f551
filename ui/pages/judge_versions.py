"""Judges: which is live, their scores, the gate, promotion and the way back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from storage.values import JudgeVersion
from trio_core.errors import InputError, TrioscopeError
from ui.context import UiContext
from ui.pages.judge_ui import ACT, QUIET, html
from ui.render import judge as parts
from ui.render import judge_versions as versions

INTRO = ("<h2>4 · Judges</h2><p class=jd-soft>A candidate meets the live judge on held-out labels of people, or of gold evidence where those are "
         "too few. One that passes goes live in one click and decides all later runs at once, without a restart.</p>")
QUESTIONS = 40


@dataclass(frozen=True)
class VersionsSection:
    """What the rest of the page needs of this section. `judges` changes when a judge is added or goes live.

    `settle` reads all anew after a job: from `[ended, judge]` into `settled`.
    """

    judges: gr.State
    judge: gr.Dropdown
    outputs: list[Any]
    refresh: Callable[..., Any]
    settled: list[Any]
    settle: Callable[..., Any]


def versions_section(ctx: UiContext, pinned: gr.State) -> VersionsSection:
    """The live judge, the table, then one judge's gate beside the way to make it live. A gate job goes into `pinned`."""
    with gr.Column(elem_classes="jd-card"):
        html(INTRO)
        with gr.Row():
            now = html('<div class="jd-wait"></div>')
            back = gr.Button("Roll back", visible=False, size="sm", elem_id="jd-back", scale=0, min_width=160)
        back_said = html("")
        starter = gr.Button("Add the head that comes with Trioscope", visible=False, size="sm", elem_id="jd-starter")
        table = html("")
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                judge = gr.Dropdown([], label="Judge", elem_id="jd-judge", interactive=True)
                with gr.Column(visible=False, elem_classes="jd-confirm") as gate:
                    whole = gr.Checkbox(False, label="Whole runs too", elem_id="jd-whole",
                                        info="Demo questions, each run by both judges with TRIO: exact match, F1, rounds, calls.")
                    questions = gr.Number(QUESTIONS, label="Questions", precision=0, visible=False, elem_id="jd-questions")
                    run = gr.Button("Run the gate", elem_id="jd-gate")
                    gate_said = html("")
                words = html("")
                reason = gr.Textbox(label="Reason", lines=2, max_length=2000, elem_id="jd-reason", visible=False)
                promote = gr.Button("Make it live", visible=False, variant="primary", elem_id="jd-promote")
                said = html("")
            with gr.Column(scale=8, min_width=320):
                details = html("")
        history = html("")
    judges = gr.State("")
    overview = [now, back, starter, table, judge, history, judges]
    detail = [details, gate, words, reason, promote]

    def refresh(request: gr.Request) -> list[Any]:
        return _all(ctx, request, None)

    def settle(request: gr.Request, ended: str, shown: str | None) -> list[Any]:
        """After a job: its judge is shown, else the one that was shown."""
        name = ended.split()[2] if len(ended.split()) > 2 else shown
        return [*_all(ctx, request, name), *_details(ctx, request, name)]

    def show(request: gr.Request, name: str | None) -> list[Any]:
        return [*_details(ctx, request, name), ""]

    def begin(request: gr.Request, name: str | None, too: bool, n: float | None) -> list[Any]:
        ctx.who(request)
        try:
            job = ctx.training.run_gate(_known(ctx, name).name, downstream={"questions": n or QUESTIONS} if too else None)
        except TrioscopeError as error:
            return [parts.note(str(error), "bad"), gr.skip()]
        return [parts.note(f"Job {job.id} is started; it is shown under 3 · The ladder, its report here.", "good"), job.id]

    def make_live(request: gr.Request, name: str | None, why: str) -> list[Any]:
        return _acted(ctx, request, "Not promoted", lambda: promoted(ctx, request, name, why))

    def go_back(request: gr.Request) -> list[Any]:
        return _acted(ctx, request, "Not rolled back", lambda: rolled_back(ctx, request))

    def add(request: gr.Request) -> list[Any]:
        return _acted(ctx, request, "Not added", lambda: added(ctx, request), "{} is a candidate: run its gate, or read what it weighs.")

    judge.change(show, judge, [*detail, said], **QUIET)
    whole.change(lambda on: gr.Number(visible=on), whole, questions, **QUIET)
    run.click(begin, [judge, whole, questions], [gate_said, pinned], **ACT)
    promote.click(make_live, [judge, reason], [said, *overview, *detail], **ACT)
    back.click(go_back, None, [back_said, *overview, *detail], **ACT)
    starter.click(add, None, [back_said, *overview, *detail], **ACT)
    return VersionsSection(judges, judge, overview, refresh, [*overview, *detail], settle)


def promoted(ctx: UiContext, request: gr.Request | None, name: str | None, why: str) -> JudgeVersion:
    """Makes a judge live. The service asks the gate again: what a button showed binds nobody."""
    who, admin = ctx.who(request), ctx.role(request) == "admin"
    return ctx.training.promote(_known(ctx, name).name, by=who, reason=why.strip(), admin=admin)


def rolled_back(ctx: UiContext, request: gr.Request | None) -> JudgeVersion:
    """Makes the judge live that was live before. Raises Forbidden for annotators."""
    return ctx.training.rollback(ctx.require_admin(request))


def added(ctx: UiContext, request: gr.Request | None) -> JudgeVersion:
    """The head that comes with Trioscope as a candidate; whoever may start jobs may add it."""
    ctx.who(request)
    return ctx.training.add_starter()


def _acted(ctx: UiContext, request: gr.Request, failed: str, act: Callable[[], JudgeVersion], done: str = "{} is live.") -> list[Any]:
    try:
        made = act()
    except TrioscopeError as error:
        return [parts.note(f"{failed}: {error}", "bad"), *[gr.skip()] * 12]
    return [parts.note(done.format(made.name), "good"), *_all(ctx, request, made.name), *_details(ctx, request, made.name)]


def _known(ctx: UiContext, name: str | None) -> JudgeVersion:
    if not name:
        raise InputError("choose a judge first")
    return ctx.store.judge_version(str(name))


def _details(ctx: UiContext, request: gr.Request, name: str | None) -> list[Any]:
    """Report, gate form, what stands against a promotion, and the button for those who may use it."""
    hidden = [gr.Column(visible=False), gr.skip(), gr.Textbox(visible=False), gr.Button(visible=False)]
    try:
        version = _known(ctx, name)
        admin = ctx.role(request) == "admin"
        against = ctx.training.obstacle(version.name)
        report = ctx.training.gate(version.name)
    except TrioscopeError as error:
        hidden[1] = ""
        return [parts.note(str(error)) if name else "", *hidden]
    if version.state == "live":
        hidden[1] = parts.note(f"{version.name} is live.", "good")
        return [versions.details_html(version, report), *hidden]
    return [versions.details_html(version, report), gr.Column(visible=version.state == "candidate"),
            parts.note(obstacle_words(version, against, admin), "bad" if against else "good"),
            gr.Textbox(value="", visible=bool(against) and admin), gr.Button(f"Make {version.name} live", visible=admin or not against)]


def obstacle_words(version: JudgeVersion, against: str, admin: bool) -> str:
    """What stands against a promotion, and who may act. Plain text."""
    if not against:
        return f"{version.name} was live before and may go live again." if version.state == "retired" else (
            f"{version.name} passed the gate against the live judge and may go live.")
    upper = against[:1].upper() + against[1:]
    return f"{upper}. An admin may make it live all the same, with a reason." if admin else (
        f"{upper}. Run the gate, or ask an admin: only an admin may make it live without a passed gate, with a reason.")


def way_back(ctx: UiContext, request: gr.Request | None) -> gr.Button:
    """The button back to the judge before: none where there is none, and not to be pressed by those who may not."""
    promotions = ctx.store.promotions()
    if not promotions:
        return gr.Button(visible=False)
    admin = ctx.people.shown(request)["role"] == "admin"
    return gr.Button(f"Roll back to {promotions[0].previous}{'' if admin else ' (admins only)'}", visible=True, interactive=admin)


def _all(ctx: UiContext, request: gr.Request | None, chosen: str | None) -> list[Any]:
    """Live judge, way back, the head on offer, table, choices (newest first; the newest is chosen unless one is given), history."""
    found, promotions, live = ctx.store.judge_versions(), ctx.store.promotions(), ctx.store.live_judge()
    names = [(f"{v.name} ({v.state})", v.name) for v in reversed(found)]
    kept = chosen if chosen in [v.name for v in found] else names[0][1]
    offer = gr.Button(visible=not any(v.scores.get("starter") for v in found))
    return [versions.live_html(live, promotions), way_back(ctx, request), offer, versions.versions_html(found), gr.Dropdown(choices=names, value=kept),
            versions.history_html(promotions), f"{live.name} of {len(found)}"]
