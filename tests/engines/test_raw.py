"""Raw completions: a text continued as it stands, with the likeliest tokens at each place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.conftest import Served, ask, collect
from tests.engines.stub_server import Behaviour, usage


def piece(text: str, finish: str | None = None, logprobs: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": logprobs}
    return {"id": "x", "object": "text_completion", "created": 0, "model": "stub", "choices": [choice]}


SIDE_BY_SIDE = {
    "tokens": ["[Relevant]"],
    "token_logprobs": [-0.1],
    "top_logprobs": [{"[Relevant]": -0.1, "[Irrelevant]": -2.0}],
    "text_offset": [0],
}
ENTRIES = {
    "content": [
        {
            "token": "[Relevant]",
            "logprob": -0.1,
            "top_logprobs": [{"token": "[Relevant]", "logprob": -0.1}, {"token": "[Irrelevant]", "logprob": -2.0}],
        }
    ]
}


@pytest.mark.parametrize("shape", [SIDE_BY_SIDE, ENTRIES], ids=["vllm", "llama.cpp"])
async def test_a_raw_text_is_continued_as_it_stands(served: Served, shape: dict[str, Any]) -> None:
    engine, stub = await served(
        Behaviour([piece("[Relevant]", logprobs=shape), piece("</think> Delft", "stop"), {**usage(7, 3), "object": "text_completion"}])
    )
    text, done = await collect(engine, ask("### Q\n", raw=True, alternatives=5, stop=("</s>",)))
    assert text == done.text == "[Relevant]</think> Delft" and done.reasoning == "" and done.usage.prompt_tokens == 7
    assert done.tokens[0].top == {"[Relevant]": -0.1, "[Irrelevant]": -2.0} and done.mean_logprob == pytest.approx(-0.1)
    body = stub.bodies[-1]
    assert (body["prompt"], body["logprobs"], body["stop"], body["skip_special_tokens"]) == ("### Q\n", 5, ["</s>"], False)
    assert stub.paths[-1] == "POST /v1/completions" and "messages" not in body


@pytest.mark.parametrize(
    ("status", "body", "found"),
    [
        (200, {"choices": [{"text": " in"}]}, True),
        (404, {"error": "no"}, False),
        (200, {"choices": []}, False),
        (200, ["odd"], False),
    ],
)
async def test_the_probe_finds_out_whether_raw_texts_are_continued(served: Served, status: int, body: Any, found: bool) -> None:
    engine, stub = await served()
    stub.routes["/v1/completions"] = (status, body)
    assert (await engine.probe()).raw is found
