"""Colours, type and the static head of every page. No font, script or picture comes from another host."""

from __future__ import annotations

import inspect
import socket
from importlib import resources
from typing import Any

import gradio as gr
from gradio.themes.utils.fonts import Font

from trio_core.settings import Settings
from ui.identity import People

LIGHT = {
    "bg": "#f7f7f5", "card": "#ffffff", "ink": "#1d2126", "soft": "#5b6470", "line": "#e2e3df", "strong-line": "#868d96",
    "accent": "#3453c9", "on-accent": "#ffffff", "suf": "#0b716c", "suf-bg": "#e0f3f1", "ins": "#984b00", "ins-bg": "#fdeedd",
    "unk": "#555d69", "unk-bg": "#eceef0", "hit": "#fff3bf", "gold": "#7d5f00", "bad": "#b3261e", "bad-bg": "#fdecea",
}
DARK = {
    "bg": "#14171b", "card": "#1c2026", "ink": "#e8eaed", "soft": "#9aa4b1", "line": "#2d333b", "strong-line": "#737e8c",
    "accent": "#8ea4ff", "on-accent": "#10131a", "suf": "#5fd0c8", "suf-bg": "#12312f", "ins": "#ffb066", "ins-bg": "#3a2713",
    "unk": "#a6b0bc", "unk-bg": "#262b32", "hit": "#3d3611", "gold": "#e3c25a", "bad": "#ff9b94", "bad-bg": "#3a1a18",
}
"""One name, two values; every pair of text and ground has a contrast of at least 4.5:1 (tests/ui/test_theme.py)."""

_GRADIO = {
    "body_background_fill": "bg", "body_text_color": "ink", "body_text_color_subdued": "soft", "background_fill_primary": "card",
    "background_fill_secondary": "bg", "border_color_primary": "line", "border_color_accent": "accent", "color_accent": "accent",
    "color_accent_soft": "unk-bg", "block_background_fill": "card", "block_border_color": "line", "block_label_text_color": "soft",
    "block_title_text_color": "soft", "block_info_text_color": "soft", "input_background_fill": "card", "input_border_color": "strong-line",
    "input_border_color_focus": "accent", "input_placeholder_color": "soft", "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent", "button_primary_text_color": "on-accent", "button_primary_border_color": "accent",
    "button_secondary_background_fill": "card", "button_secondary_background_fill_hover": "unk-bg", "button_secondary_text_color": "ink",
    "button_secondary_border_color": "line", "button_cancel_background_fill": "card", "button_cancel_text_color": "bad",
    "checkbox_background_color": "card", "checkbox_border_color": "strong-line", "checkbox_background_color_selected": "accent",
    "checkbox_label_background_fill": "card", "checkbox_label_text_color": "ink", "checkbox_label_border_color": "line",
    "table_even_background_fill": "card", "table_odd_background_fill": "card", "table_border_color": "line", "table_text_color": "ink",
    "link_text_color": "accent", "link_text_color_hover": "accent", "link_text_color_visited": "accent", "link_text_color_active": "accent",
    "error_text_color": "bad", "error_background_fill": "bad-bg", "error_border_color": "bad", "slider_color": "accent",
}


def theme() -> gr.themes.Base:
    """Gradio's own components in the page's colours."""
    base = gr.themes.Base(
        font=[Font("Inter"), Font("system-ui"), Font("sans-serif")],
        font_mono=[Font("ui-monospace"), Font("SFMono-Regular"), Font("Menlo"), Font("monospace")],
        radius_size=gr.themes.sizes.radius_md, spacing_size=gr.themes.sizes.spacing_md, text_size=gr.themes.sizes.text_md,
    )
    known = inspect.signature(base.set).parameters  # a few variables have no dark twin: those take a colour that switches itself
    values: dict[str, Any] = {}
    for name, colour in _GRADIO.items():
        if f"{name}_dark" in known:
            values[name], values[f"{name}_dark"] = LIGHT[colour], DARK[colour]
        else:
            values[name] = f"var(--ts-{colour})"
    return base.set(
        block_shadow="none", block_border_width="1px", input_border_width="1px", input_shadow="none", input_shadow_focus="none",
        button_primary_shadow="none", button_secondary_shadow="none", block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent", block_title_text_weight="400", **values,
    )


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--ts-{name}:{value};" for name, value in colours.items())


def asset(name: str) -> str:
    """A file of `ui/assets` as text."""
    return resources.files("ui.assets").joinpath(name).read_text(encoding="utf-8")


def head() -> str:
    """Style and script, inside the page: nothing to fetch, nothing to allow."""
    colours = f":root{{{_variables(LIGHT)}}}\n.dark{{{_variables(DARK)}}}\n"
    return f"<style>{colours}{asset('trioscope.css')}</style>\n<script>{asset('trioscope.js')}</script>"


def free_port(host: str) -> int:
    """A port that nobody listens on (Gradio itself has no port 0)."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def launch_options(settings: Settings) -> dict[str, Any]:
    """How the app is served. Files of the data folder are never served."""
    return {
        "server_name": settings.server.host, "server_port": settings.server.port or free_port(settings.server.host),
        "root_path": settings.server.root_path or None, "blocked_paths": [str(settings.data_dir)],
        "theme": theme(), "head": head(), "footer_links": [], "run_history": False, "allowed_paths": [], "show_error": True,
        "max_file_size": "64mb", "quiet": True, "ssr_mode": False, "mcp_server": False, "share": False,
        # Gradio would ask its own page once more and give up after 3 s, which on a busy machine ended the app as it started.
        "_frontend": False, **People(settings).login(),
    }
