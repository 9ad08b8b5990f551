"""The start-up probe finds out what a server can do, not what it accepts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engines.conftest import Served, ask
from tests.engines.stub_server import Behaviour, says


@pytest.mark.parametrize(("kind", "field"), [("choice", "structured_outputs"), ("grammar", "grammar")])
async def test_the_constraint_that_works_is_found(served: Served, kind: str, field: str) -> None:
    engine, stub = await served(says("Hello", "!", cached=0))
    stub.constrains = lambda body: field in body
    found = await engine.probe()
    assert (found.verdict, found.logprobs, found.model, found.context_tokens) == (kind, True, "stub", 4096)
    assert found.cached_tokens and found.system_role and not found.notes


async def test_constraints_that_are_ignored_are_not_believed(served: Served) -> None:
    engine, _ = await served(says("Hello", "!"))
    found = await engine.probe()
    assert (found.verdict, found.logprobs, found.cached_tokens) == ("free", False, False)
    assert len(found.notes) == 3


async def test_unknown_fields_that_are_refused_leave_a_plain_call(served: Served) -> None:
    engine, stub = await served(says("Hello"))
    refusal = Behaviour(status=400, error={"error": {"message": "unknown field logprobs"}})
    stub.replies = [refusal, refusal, refusal, says("Hello")]
    assert (await engine.probe()).verdict == "none"
    assert (await engine.verdict(ask(role="judge"))).completion.text == "Hello"


async def test_llama_cpp_is_recognised_and_its_slot_context_taken(served: Served) -> None:
    engine, stub = await served(says("Hello"))
    stub.routes["/props"] = (200, {"default_generation_settings": {"n_ctx": 8192}})
    stub.constrains = lambda body: "grammar" in body
    found = await engine.probe()
    assert (found.verdict, found.context_tokens) == ("grammar", 8192)
    assert "grammar" in stub.bodies[0], "llama.cpp's constraint is tried first"


async def test_the_probe_runs_once(served: Served) -> None:
    engine, stub = await served(says("Hello"))
    await engine.probe()
    asked = len(stub.bodies)
    await engine.probe()
    assert len(stub.bodies) == asked


async def test_the_settings_override_the_servers_context(served: Served) -> None:
    engine, _ = await served(says("Hello"), context_tokens=1024)
    assert (await engine.probe()).context_tokens == 1024


async def test_a_model_without_system_role_is_noted(served: Served) -> None:
    engine, stub = await served(says("Hello"))
    engine._without_system.add("stub")
    found: Any = await engine.probe()
    assert not found.system_role
