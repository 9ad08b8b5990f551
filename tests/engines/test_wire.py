"""Messages as chat templates accept them, and thinking in streams."""

from __future__ import annotations

import pytest

from trio_core.engines.thinking import ThinkingFilter, split_thinking
from trio_core.engines.wire import request_body, shape_messages
from trio_core.values import ChatCall, Message


def turns(*pairs: tuple[str, str]) -> list[Message]:
    return [Message(role=role, content=content) for role, content in pairs]  # type: ignore[arg-type]


def test_neighbours_of_one_role_are_merged_and_blanks_left_out() -> None:
    # B2.12
    shaped = shape_messages(turns(("system", " "), ("user", "a"), ("user", "b"), ("assistant", "c"), ("user", "d")))
    assert [m["role"] for m in shaped] == ["user", "assistant", "user"]
    assert shaped[0]["content"] == "a\n\nb"


def test_system_text_goes_before_the_first_user_turn() -> None:
    # B2.11
    shaped = shape_messages(turns(("system", "S"), ("user", "a"), ("assistant", "b"), ("user", "c")), merge_system=True)
    assert [m["content"] for m in shaped] == ["S\n\na", "b", "c"]


def test_every_call_is_streamed_with_usage_and_only_given_options() -> None:
    body = request_body(ChatCall(role="answer", messages=tuple(turns(("user", "a"))), seed=3), "m", merge_system=False)
    assert (body["stream"], body["stream_options"], body["seed"]) == (True, {"include_usage": True}, 3)
    assert "stop" not in body


@pytest.mark.parametrize(("text", "answer", "thought"), [
    ("<think>a</think>\n\nb", "b", "a"),
    ("a</think>b", "b", "a"),
    ("<think>a</think>b</think>c", "c", "a</think>b"),
    ("<think>cut off", "", "cut off"),
    ("plain < text", "plain < text", ""),
])
def test_thinking_is_parted_from_the_answer(text: str, answer: str, thought: str) -> None:
    assert split_thinking(text) == (answer, thought)


@pytest.mark.parametrize(("deltas", "shown"), [
    (["<th", "ink>so", "</thi", "nk>\n\nPar", "is"], "Paris"),
    (["<b>", "old"], "<b>old"),
    (["<think>never closed"], ""),
    (["<"], "<"),
    ([" ", "Paris"], " Paris"),
])
def test_a_stream_shows_no_thinking_and_loses_no_text(deltas: list[str], shown: str) -> None:
    gate = ThinkingFilter()
    assert "".join(gate.feed(d) for d in deltas) + gate.rest() == shown
