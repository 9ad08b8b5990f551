"""Every pair of text and ground can be read, in both themes."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
import pytest
from gradio import networking

from trio_core.settings import Settings, load_settings
from ui.theme import DARK, LIGHT, head, launch_options

PAIRS = [
    *[(text, ground) for text in ("ink", "soft", "accent", "suf", "ins", "bad", "gold", "unk") for ground in ("bg", "card")],
    ("suf", "suf-bg"), ("ins", "ins-bg"), ("unk", "unk-bg"), ("bad", "bad-bg"), ("on-accent", "accent"), ("ink", "hit"), ("gold", "hit"),
    ("ink", "unk-bg"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), PAIRS)
def test_contrast(colours: dict[str, str], text: str, ground: str) -> None:
    assert contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_of_inputs_can_be_seen(colours: dict[str, str]) -> None:
    assert contrast(colours["strong-line"], colours["card"]) >= 3


def test_nothing_comes_from_another_host() -> None:
    assert "http" not in head().replace("http://www.w3.org", "")


def test_data_is_not_served() -> None:
    options = launch_options(Settings())
    assert options["allowed_paths"] == [] and options["blocked_paths"] == ["var"]
    assert options["run_history"] is False and options["share"] is False
    assert options["server_name"] == "127.0.0.1"


def test_an_app_whose_first_page_takes_long_starts_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networking, "url_ok", lambda url: False)
    settings = load_settings("scripted", env={}, flags=[f"data_dir={tmp_path}", "server.port=0"])
    with gr.Blocks() as demo:
        demo.launch(**launch_options(settings), prevent_thread_lock=True)
    assert demo.local_url.startswith("http://127.0.0.1:")
    demo.close(verbose=False)
