"""What goes over the wire: messages as chat templates accept them, and request bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trio_core.values import ChatCall, Message


def shape_messages(messages: Sequence[Message], *, merge_system: bool = False) -> list[dict[str, str]]:
    """Messages without blanks and without two neighbours of one role, since many templates refuse both.

    `merge_system` puts system text in front of the first user turn, for models that know no system role.
    """
    turns: list[tuple[str, str]] = [(m.role, m.content) for m in messages if m.content.strip()]
    if merge_system:
        turns = _without_system(turns)
    shaped: list[dict[str, str]] = []
    for role, content in turns:
        if shaped and shaped[-1]["role"] == role:
            shaped[-1]["content"] += "\n\n" + content
        else:
            shaped.append({"role": role, "content": content})
    return shaped


def _without_system(turns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    system = [("user", content) for role, content in turns if role == "system"]
    rest = [turn for turn in turns if turn[0] != "system"]
    first_user = next((i for i, turn in enumerate(rest) if turn[0] == "user"), 0)
    return [*rest[:first_user], *system, *rest[first_user:]]


def request_body(call: ChatCall, model: str, *, merge_system: bool) -> dict[str, Any]:
    """Arguments of `chat.completions.create`. Always streamed: only a stream can be cancelled on every server."""
    body: dict[str, Any] = {
        "model": model,
        "messages": shape_messages(call.messages, merge_system=merge_system),
        "max_tokens": call.max_tokens,
        "temperature": call.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return body | _given(call)


def raw_body(call: ChatCall, model: str) -> dict[str, Any]:
    """Arguments of `completions.create`. Special tokens stay in the text: trained models speak in them."""
    body: dict[str, Any] = {
        "model": model, "prompt": "".join(m.content for m in call.messages), "max_tokens": call.max_tokens, "temperature": call.temperature,
        "stream": True, "stream_options": {"include_usage": True},
    }
    if call.alternatives:
        body["logprobs"] = call.alternatives
    return body | _given(call)


def _given(call: ChatCall) -> dict[str, Any]:
    stop = {"stop": list(call.stop)} if call.stop else {}
    return stop if call.seed is None else {**stop, "seed": call.seed}
