"""Asking the live judge: its own P(sufficient), or that of its calibrated head, against its threshold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from trio_core.errors import TrioscopeError
from trio_core.events import LLMCalled, Verdict
from trio_core.evidence import AnswerAgent, AnswerSample, head_sampling, sample_answers, summarise
from trio_core.judge_head import JudgeHead
from trio_core.judge_signals import signals
from trio_core.methods.base import Tools, called
from trio_core.parsing import Parsed, parse_verdict
from trio_core.prompting import load_prompts
from trio_core.values import ChatCall, JudgeItem, Message

SAMPLE_ROLE = "sample"
"""Role of a judge's sampled answers in the events (the engine is asked as the answer agent)."""


async def judge(
    tools: Tools, round_: int, item: JudgeItem, *, deciding: bool, dropped: tuple[str, ...] = ()
) -> AsyncIterator[LLMCalled | Verdict]:
    """Asks the judge, yields the calls and the verdict.

    With P(sufficient) the live judge's threshold decides; without it the label that the model wrote.
    """
    bare = "judge" in tools.bare
    live = tools.zero_shot if bare else tools.engine.judge
    prompt = tools.prompts["judge"]
    call = ChatCall(role="judge", messages=item.messages, max_tokens=prompt.max_tokens, temperature=prompt.temperature, bare=bare)
    samples: list[AnswerSample] = []
    try:
        reading = await tools.engine.verdict(call)
        written = parse_verdict(reading.completion.text)
        yield called("judge", round_, item.messages, reading.completion, written, dropped=dropped)
        if live.head is not None and live.head.samples and reading.p_sufficient is not None:
            async with aclosing(_sampled(tools, round_, item, live.head)) as events:  # type: ignore[type-var]
                async for event, sample in events:
                    samples.append(sample)
                    yield event
    except TrioscopeError as error:
        error.where = f"round {round_}, judge"
        raise
    p, method, raw, seen = reading.p_sufficient, reading.p_method, None, None
    if live.head is not None and p is not None:
        seen = signals(item, p, summarise(samples, len(samples)))
        raw, p, method = p, live.head.p(seen), "head"
    label, note = written.value, written.note
    if p is not None:
        label = "sufficient" if p >= live.threshold else "insufficient"
        if written.value not in (label, "unparsed"):
            note = f"wrote {written.value}; P(sufficient) against the threshold decides"
    yield Verdict(
        round=round_, label=label, p_sufficient=p, p_method=method, mass=reading.mass, p_raw=raw, signals=seen,
        threshold=live.threshold, judged_by=live.name, deciding=deciding, item=item, note=note,
    )


async def _sampled(tools: Tools, round_: int, item: JudgeItem, head: JudgeHead) -> AsyncIterator[tuple[LLMCalled, AnswerSample]]:
    """The head's sampled answers, each with its call, so that their cost is counted."""
    agent = tools.answerer or AnswerAgent(tools.engine, load_prompts("trio")["answer"], tools.context_tokens)
    prompt = await agent.messages(item)
    wanted = head_sampling(head.samples, head.temperature)
    async with aclosing(sample_answers(agent, prompt.messages, wanted)) as found:  # type: ignore[type-var]
        async for s in found:
            parsed = Parsed(s.answer, s.parse, s.note)
            yield called(SAMPLE_ROLE, round_, prompt.messages, s.completion, parsed, dropped=prompt.dropped), s


def judge_messages(tools: Tools, question: str, pool: str) -> tuple[Message, ...]:
    """The judge's prompt."""
    return tools.prompts["judge"].render(question=question, pool=pool)
