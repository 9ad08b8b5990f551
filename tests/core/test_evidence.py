"""Sampled answers from one pool: counts, the unanimity rule, the order of the calls, cancel."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.helpers import PASSAGES
from trio_core.engines.scripted import ScriptedEngine
from trio_core.errors import EngineBroken
from trio_core.evidence import AnswerAgent, SampleSettings, sample_answers, summarise, vote_label
from trio_core.prompting import load_prompts
from trio_core.values import Hit, JudgeItem, PoolEntry

POOL = (PoolEntry(query="Alpha", hits=tuple(Hit(passage=p, score=1.0, rank=n) for n, p in enumerate(PASSAGES.values(), 1))),)
ITEM = JudgeItem(question="Where was the director of Alpha born?", pool=POOL, messages=())


def agent_of(script: Any, **kwargs: Any) -> AnswerAgent:
    return AnswerAgent(ScriptedEngine(script, **kwargs), load_prompts("trio")["answer"])


async def samples_of(agent: AnswerAgent, gold: tuple[str, ...] = ("Delft",), **settings: Any) -> list[Any]:
    prompt = await agent.messages(ITEM)
    return [s async for s in sample_answers(agent, prompt.messages, SampleSettings(**settings), gold)]


async def test_answers_are_counted_by_their_normal_form() -> None:
    answers = ["Delft", {"text": "the Delft.", "mean_logprob": -0.5}, {"text": "Leiden", "mean_logprob": -1.5}, ""]
    found = summarise(await samples_of(agent_of({"answer": answers}), samples=4), 4)
    assert [(a.answer, a.n, a.right) for a in found.answers] == [("Delft", 2, True), ("Leiden", 1, False), ("", 1, False)]
    assert (found.right, found.agreement, found.mean_logprob, found.unread) == (2, 0.5, -1.0, 1)
    assert (found.vote, found.mixed) == (None, True)


@pytest.mark.parametrize(("n", "right", "label"), [
    (16, 16, "sufficient"), (16, 0, "insufficient"), (16, 15, None), (1, 1, "sufficient"), (0, 0, None),
])
def test_the_unanimity_rule(n: int, right: int, label: str | None) -> None:
    assert vote_label(n, right) == label


@given(st.integers(1, 64).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_a_label_means_that_all_samples_agree(counts: tuple[int, int]) -> None:
    n, right = counts
    assert (vote_label(n, right) is None) == (right not in (0, n))


async def test_no_gold_answer_gives_no_vote() -> None:
    found = summarise(await samples_of(agent_of(lambda call: "Delft"), gold=(), samples=3), 3)
    assert (found.right, found.vote, found.mixed, found.agreement) == (None, None, False, 1.0)


async def test_the_first_call_goes_alone_and_all_share_one_prompt() -> None:
    running, most = 0, []

    class Counting(ScriptedEngine):
        async def stream(self, call):
            nonlocal running
            running += 1
            await asyncio.sleep(0)
            most.append((len(most), running))
            async for piece in super().stream(call):
                yield piece
            running -= 1

    agent = agent_of(lambda call: "Delft")._replace(engine=Counting(lambda call: "Delft"))
    await samples_of(agent, samples=9, parallel=4, greedy_first=True, seed=7)
    calls = agent.engine.calls
    assert most[0] == (0, 1) and max(n for _, n in most) == 4
    assert len({call.messages for call in calls}) == 1 and [call.seed for call in calls] == list(range(7, 16))
    assert [call.temperature for call in calls] == [0.0] + [1.0] * 8 and all(call.own_temperature for call in calls)


async def test_closing_stops_the_calls_under_way() -> None:
    agent = agent_of({"answer": ["Delft", *({"text": "late", "delay_s": 60} for _ in range(3))]})
    prompt = await agent.messages(ITEM)
    async with aclosing(sample_answers(agent, prompt.messages, SampleSettings(samples=4, parallel=3))) as samples:
        assert (await anext(samples)).answer == "Delft"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(samples), 0.05)
    assert len(asyncio.all_tasks()) == 1


async def test_a_broken_server_is_an_error() -> None:
    with pytest.raises(EngineBroken):
        await samples_of(agent_of({"answer": ["Delft", {"text": "De", "error": "EngineBroken"}]}), samples=3)


async def test_passages_that_do_not_fit_are_left_out() -> None:
    prompt = await agent_of([])._replace(context_tokens=175).messages(ITEM)
    assert prompt.dropped and not any("Delft is a city" in m.content for m in prompt.messages)
