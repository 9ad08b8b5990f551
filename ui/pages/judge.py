"""Judge: what is labelled, frozen training sets, training with its plan and progress, and which judge is live."""

from __future__ import annotations

import gradio as gr

from ui.context import UiContext
from ui.pages.judge_data import data_section
from ui.pages.judge_training import training_section
from ui.pages.judge_ui import QUIET
from ui.pages.judge_versions import versions_section
from ui.theme import asset


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Four sections; each refreshes itself when the page opens, and another one where its own act changes that."""
    gr.HTML("", head=f"<style>{asset('judge.css')}</style>", visible="hidden")
    data = data_section(ctx)
    training = training_section(ctx, data.snapshot)
    versions = versions_section(ctx)
    demo.load(data.refresh, outputs=data.outputs, **QUIET)
    demo.load(training.refresh, outputs=training.outputs, **QUIET)
    demo.load(versions.refresh, outputs=versions.outputs, **QUIET)
    # A finished job has made a judge: the signature changes once, then the table below is read anew.
    training.ended.change(versions.refresh, outputs=versions.outputs, **QUIET)
