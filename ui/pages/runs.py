"""To come."""

from __future__ import annotations

import gradio as gr

from ui.context import UiContext


def build(ctx: UiContext, demo: gr.Blocks) -> None:
    """Nothing yet."""
    gr.Markdown("To come.")
