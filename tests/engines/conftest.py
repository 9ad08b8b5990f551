"""Fixtures of the engine tests: engines over stub servers, and one real embedded engine for the slow ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.engines.stub_server import Behaviour, StubServer
from trio_core.engine_settings import EngineSettings
from trio_core.engines.client import OpenAIEngine
from trio_core.values import ChatCall, Completion, Message

Served = Callable[..., Awaitable[tuple[OpenAIEngine, StubServer]]]


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    """`await served(*behaviours, **engine settings)` gives an engine and the stub that it talks to."""
    opened: list[tuple[OpenAIEngine, StubServer]] = []

    async def serve(*replies: Behaviour, **settings: Any) -> tuple[OpenAIEngine, StubServer]:
        stub = await StubServer(*replies).__aenter__()
        engine = OpenAIEngine(EngineSettings(base_url=stub.base_url, **{"retries": 0, **settings}))
        opened.append((engine, stub))
        return engine, stub

    yield serve
    for engine, stub in opened:
        await engine.close()
        await stub.__aexit__()


def ask(text: str = "What is the capital of France?", **more: Any) -> ChatCall:
    """A call with one user message."""
    return ChatCall(**{"role": "answer", "messages": (Message(role="user", content=text),), **more})


async def collect(engine: Any, call: ChatCall) -> tuple[str, Completion]:
    """The text as streamed, and the completion."""
    pieces: list[str] = []
    async for part in engine.stream(call):
        if isinstance(part, Completion):
            return "".join(pieces), part
        pieces.append(part)
    raise AssertionError("the stream ended without a completion")
