"""Sessions: quick to open, and nothing of one in another."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pytest
from gradio.state_holder import SessionState

from ui.sessions import share_configurations


@pytest.fixture
def demo() -> gr.Blocks:
    with gr.Blocks() as made:
        gr.Textbox("one", label="First")
        gr.HTML("two")
    return made


def test_sessions_get_what_gradio_works_out_and_share_no_value(demo: gr.Blocks) -> None:
    plain = SessionState(demo).config_values
    share_configurations(demo)
    first, second = SessionState(demo), SessionState(demo)
    assert first.config_values == second.config_values == plain
    box = next(key for key, block in demo.blocks.items() if isinstance(block, gr.Textbox))
    first._update_value_in_config(box, "mine")
    assert second.config_values == SessionState(demo).config_values == plain


def test_configurations_are_worked_out_once(demo: gr.Blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    whole = gr.Textbox.get_config

    def get_config(self: gr.Textbox, *args: Any) -> dict[str, Any]:
        asked.append(self.label)
        return whole(self, *args)

    monkeypatch.setattr(gr.Textbox, "get_config", get_config)
    share_configurations(demo)
    session = SessionState(demo)
    once = list(asked)
    SessionState(demo)
    assert asked == once and set(once) == {"First"}
    key = next(key for key, block in demo.blocks.items() if isinstance(block, gr.Textbox))
    session.blocks_config.blocks = {**session.blocks_config.blocks, key: gr.Textbox("x", label="Changed", render=False)}
    session._update_config(key)
    assert asked[-1] == "Changed" and session.config_values[key]["props"]["label"] == "Changed"
