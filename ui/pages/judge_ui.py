"""What the sections of the Judge page share."""

from __future__ import annotations

from typing import Any

import gradio as gr

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""For events whose answer says itself what is going on."""


def html(value: str = "") -> gr.HTML:
    """Our own HTML without Gradio's text styles; an empty one takes no space (assets/judge.css)."""
    return gr.HTML(value, apply_default_css=False, js_on_load=None)
