"""What the sections of the Judge page share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
"""For events whose answer says itself what is going on."""
ACT: dict[str, Any] = {"api_visibility": "private", "trigger_mode": "once"}
"""For buttons that change something: a second click while the first works does nothing."""


@dataclass(frozen=True)
class Section:
    """A part of the page that can be read anew: `refresh` gives the values of `outputs`."""

    outputs: list[Any]
    refresh: Callable[..., Any]


def html(value: str = "") -> gr.HTML:
    """Our own HTML without Gradio's text styles; an empty one takes no space (assets/judge.css)."""
    return gr.HTML(value, apply_default_css=False, js_on_load=None)


def whole(value: float | None) -> int | None:
    """A number field as an optional limit: empty or 0 = none."""
    return int(value) if value else None
