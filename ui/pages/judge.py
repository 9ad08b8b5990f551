"""Judge: what is labelled, frozen training sets, the ladder of candidates, the gate and the live judge, where labels went."""

from __future__ import annotations

import gradio as gr

from ui.context import UiContext
from ui.pages.judge_data import labels_section
from ui.pages.judge_loop import loop_section
from ui.pages.judge_snapshots import snapshot_section
from ui.pages.judge_training import training_section
from ui.pages.judge_ui import QUIET
from ui.pages.judge_versions import versions_section
from ui.theme import asset


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Five sections; each refreshes itself when the page opens, and others where an act or the end of a job changes them."""
    gr.HTML("", head=f"<style>{asset('judge.css')}</style>", visible="hidden")
    pinned = gr.State(None)
    labels = labels_section(ctx, pinned)
    sets = snapshot_section(ctx)
    ladder = training_section(ctx, sets.snapshot, pinned)
    judges = versions_section(ctx, pinned)
    loop = loop_section(ctx)
    for section in (labels, sets, ladder, judges, loop):
        demo.load(section.refresh, outputs=section.outputs, **QUIET)
    # A finished job has made labels, a judge or a report: the signature changes once, then what hangs on it is read anew.
    ladder.ended.change(labels.refresh, outputs=labels.outputs, **QUIET)
    ladder.ended.change(judges.settle, [ladder.ended, judges.judge], judges.settled, **QUIET)
    ladder.ended.change(loop.refresh, outputs=loop.outputs, **QUIET)
    judges.judges.change(loop.refresh, outputs=loop.outputs, **QUIET)
