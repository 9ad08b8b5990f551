"""What every engine promises: the same cases against a scripted server and against the real embedded model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.engines.conftest import ask, collect
from tests.engines.stub_server import Behaviour, StubServer, says
from tests.engines.test_embedded import MODELS, busy_slots, embedded
from trio_core.engine_settings import EngineSettings
from trio_core.engines.base import Engine
from trio_core.engines.client import OpenAIEngine
from trio_core.errors import PromptTooLong
from trio_core.values import LABEL_TEXT

LONG = "word " * 3000
TOO_LONG = {"error": {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 3030, "n_ctx": 1024,
                      "message": "request (3030 tokens) exceeds the available context size (1024 tokens), try increasing it"}}


class LikeLlama(StubServer):
    """A scripted server with the habits of llama.cpp: a context, a grammar, a prompt cache."""

    def __init__(self) -> None:
        super().__init__(context=1024)
        self.constrains = lambda body: "grammar" in body
        self.routes["/props"] = (200, {"default_generation_settings": {"n_ctx": 1024}})

    async def _answer(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        text = body["messages"][-1]["content"]
        seen = any(b["messages"] == body["messages"] for b in self.bodies[:-1])
        self.replies = [Behaviour(status=400, error=TOO_LONG) if len(text) > 4000 else self._words(body, seen)]
        await super()._answer(body, writer)

    def _words(self, body: dict[str, Any], seen: bool) -> Behaviour:
        count = min(body.get("max_tokens") or body.get("max_completion_tokens") or 8, 200)
        return says(*["word "] * count, finish="length", cached=8 if seen else 0, gap_s=0.01)

    async def busy(self) -> int:
        """Chats that are open."""
        return self.open_chats


@pytest.fixture(params=["scripted server", pytest.param("embedded model", marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
async def served_by(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Engine, Any]]:
    """An engine that is up, and how to ask how many of its calls the server still works on."""
    if request.param == "scripted server":
        async with LikeLlama() as stub:
            engine = OpenAIEngine(EngineSettings(base_url=stub.base_url, retries=0))
            yield engine, stub.busy
            await engine.close()
        return
    real = embedded(MODELS, context_tokens=1024, slots=1)
    await real.start()
    yield real, lambda: busy_slots(real)
    await real.close()


Served = tuple[Engine, Any]


async def test_engine_contract(served_by: Served) -> None:
    """One model load serves all cases: loading it for each would cost minutes."""
    engine, busy = served_by
    await streams_then_completes(engine)
    await tells_cached_tokens(engine)
    await gives_one_of_two_verdicts(engine)
    await refuses_a_prompt_too_long(engine)
    await counts_tokens(engine)
    await stops_working_when_cancelled(engine, busy)


async def streams_then_completes(engine: Engine) -> None:
    text, done = await collect(engine, ask("Count to five.", max_tokens=8))
    assert text and text.strip() == done.text.strip()
    assert done.usage.prompt_tokens > 0 and done.usage.completion_tokens > 0 and done.first_token_s is not None and done.model


async def tells_cached_tokens(engine: Engine) -> None:
    call = ask("Name the capital of France, the capital of Spain and the capital of Italy in one line.", max_tokens=2)
    await collect(engine, call)
    assert ((await collect(engine, call))[1].usage.cached_tokens or 0) > 0


async def gives_one_of_two_verdicts(engine: Engine) -> None:
    reading = await engine.verdict(ask("Say hello.", role="judge", max_tokens=8))
    assert reading.completion.text.strip() in LABEL_TEXT.values()
    assert reading.p_sufficient is not None and 0 <= reading.p_sufficient <= 1 and reading.p_method != "none"


async def refuses_a_prompt_too_long(engine: Engine) -> None:
    with pytest.raises(PromptTooLong, match="1024"):
        await collect(engine, ask(LONG))


async def counts_tokens(engine: Engine) -> None:
    assert 1 <= await engine.count_tokens("hello world") <= 6
    assert await engine.count_tokens("word " * 50) >= 50


async def stops_working_when_cancelled(engine: Engine, busy: Any) -> None:
    stream = engine.stream(ask("Write a very long story about a river.", max_tokens=500))
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(300):
        while await busy():
            await asyncio.sleep(0.05)
