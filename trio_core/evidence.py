"""What the answer agent answers from exactly one pool: n samples, which answers, how many right.

This is how TRIO labels evidence (section 3.4: 16 samples; all right = sufficient, all wrong = insufficient, mixed = dropped),
what an annotator looks at, and where the calibrated head's agreement comes from. All samples share one prompt, so the first
is sent alone: the server's prefix cache then holds it, and the others cost little more than their few tokens.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from trio_core.engines.base import Engine
from trio_core.metrics import exact_match, normalize
from trio_core.parsing import ParseStatus, parse_answer
from trio_core.pool import Repeats, fit_pool, pool_budget
from trio_core.prompting import RolePrompt
from trio_core.values import ChatCall, Completion, JudgeItem, Message, Value

VoteLabel = Literal["sufficient", "insufficient"]
PAPER_SAMPLES = 16


class SampleSettings(Value):
    """How answers are sampled."""

    samples: int = Field(default=PAPER_SAMPLES, ge=1, le=64)
    temperature: float = Field(default=1.0, ge=0, le=2)
    greedy_first: bool = False
    """The first answer at temperature 0: what a run would answer."""
    parallel: int | None = Field(default=None, ge=1, le=64)
    """Calls at once after the first; null = as suits the answer agent's server."""
    seed: int | None = None
    """Sample i is drawn with seed + i; null = by chance."""


def head_sampling(samples: int, temperature: float) -> SampleSettings:
    """The answers that a calibrated head looks at, in fitting as in judging."""
    return SampleSettings(samples=samples, temperature=temperature, greedy_first=samples > 1)


class AnswerSample(Value):
    """One answer from the pool."""

    index: int
    answer: str
    """Empty where nothing could be read from the output; `note` then says why."""
    key: str
    """The answer normalised as for exact match: equal keys are one answer."""
    right: bool | None = None
    """Exact match with a gold answer; null where no gold answer is known."""
    parse: ParseStatus = "ok"
    note: str = ""
    completion: Completion


class AnswerCount(Value):
    """A distinct answer in its first wording, and how often it came."""

    answer: str
    key: str
    n: int
    right: bool | None = None


class EvidenceReport(Value):
    """What the samples say so far. `vote` is null while samples are missing, without gold answers, and for mixed votes."""

    asked: int
    n: int = 0
    right: int | None = None
    answers: tuple[AnswerCount, ...] = ()
    """The most frequent first."""
    agreement: float | None = None
    """Share of the most frequent answer; null without samples."""
    mean_logprob: float | None = None
    """Mean over the samples of their mean token log-probability; null where the server shows none."""
    vote: VoteLabel | None = None
    mixed: bool = False
    unread: int = 0
    """Outputs without a readable answer (they count as wrong)."""
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    """Sum over the calls."""


class AnswerPrompt(NamedTuple):
    """The answer agent's messages, and the passages that did not fit."""

    messages: tuple[Message, ...]
    dropped: tuple[str, ...]


class AnswerAgent(NamedTuple):
    """TRIO's answer agent as it answers live."""

    engine: Engine
    prompt: RolePrompt
    context_tokens: int | None = None
    repeats: Repeats = "full"
    parallel: int = 1
    """Calls at once. 1 suits llama.cpp, where another slot would read the prompt anew; more suit servers that batch."""

    async def messages(self, item: JudgeItem) -> AnswerPrompt:
        """The prompt for an item's question and pool."""
        empty = [m.content for m in self.prompt.render(question=item.question, pool="")]
        count = self.engine.count_tokens
        budget = await pool_budget(self.context_tokens, empty, self.prompt.max_tokens, count)
        fitted = await fit_pool(item.pool, budget, count, self.repeats)
        return AnswerPrompt(self.prompt.render(question=item.question, pool=fitted.text), fitted.dropped)


def vote_label(n: int, right: int) -> VoteLabel | None:
    """TRIO's unanimity rule: all right = sufficient, all wrong = insufficient; mixed, or no sample at all = None (dropped)."""
    if n == 0 or 0 < right < n:
        return None
    return "sufficient" if right == n else "insufficient"


async def sample_answers(
    agent: AnswerAgent, messages: tuple[Message, ...], settings: SampleSettings, gold: Sequence[str] = ()
) -> AsyncIterator[AnswerSample]:
    """Samples as they come. Closing the iterator stops the calls under way. Raises EngineError subclasses."""
    waiting = list(range(settings.samples))
    running: set[asyncio.Task[AnswerSample]] = set()
    at_once = 1
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.add(asyncio.create_task(_sample(agent, messages, settings, waiting.pop(0), gold)))
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=lambda task: task.get_name()):
                yield task.result()
            at_once = settings.parallel or agent.parallel
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _sample(
    agent: AnswerAgent, messages: tuple[Message, ...], settings: SampleSettings, index: int, gold: Sequence[str]
) -> AnswerSample:
    greedy = settings.greedy_first and index == 0
    call = ChatCall(
        role="answer", messages=messages, max_tokens=agent.prompt.max_tokens, temperature=0.0 if greedy else settings.temperature,
        seed=None if settings.seed is None else settings.seed + index, own_temperature=True, logprobs=True)
    completion = Completion(text="")
    async for piece in agent.engine.stream(call):
        if isinstance(piece, Completion):
            completion = piece
    parsed = parse_answer(completion.text, completion.finish_reason)
    right = any(exact_match(parsed.value, g) for g in gold) if gold else None
    return AnswerSample(index=index, answer=parsed.value, key=normalize(parsed.value), parse=parsed.status, note=parsed.note,
                        right=right if parsed.value or right is None else False, completion=completion)


def summarise(samples: Sequence[AnswerSample], asked: int) -> EvidenceReport:
    """The samples so far as counts. `asked` is the number wanted in all."""
    if not samples:
        return EvidenceReport(asked=asked)
    counts = Counter(sample.key for sample in samples)
    first = {sample.key: sample for sample in reversed(samples)}
    answers = tuple(AnswerCount(answer=first[key].answer, key=key, n=n, right=first[key].right) for key, n in counts.most_common())
    right = sum(bool(s.right) for s in samples) if samples[0].right is not None else None
    logprobs = [s.completion.mean_logprob for s in samples if s.completion.mean_logprob is not None]
    whole = len(samples) == asked and right is not None
    vote = vote_label(asked, right) if whole and right is not None else None
    return EvidenceReport(
        asked=asked, n=len(samples), right=right, answers=answers, agreement=answers[0].n / len(samples),
        mean_logprob=sum(logprobs) / len(logprobs) if logprobs else None, vote=vote, mixed=whole and vote is None,
        unread=sum(s.parse == "failed" for s in samples), model=_model(samples[0].completion),
        prompt_tokens=sum(s.completion.usage.prompt_tokens for s in samples),
        cached_tokens=sum(s.completion.usage.cached_tokens or 0 for s in samples),
        seconds=sum(s.completion.seconds for s in samples),
    )


def _model(completion: Completion) -> str:
    return f"{completion.model} + {completion.adapter}" if completion.adapter else completion.model
