"""Step 4: the query agent, GRPO with equation 7: the frozen answer agent answers before and after the new passages (section 3.3)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from training.pipeline import records
from training.pipeline.answer import ROLLOUTS, adapter, kept, on_step, pools
from training.pipeline.context import Context, ask, engine, gathered, retriever, search
from training.pipeline.debate import SINGLE
from training.pipeline.prompts import agent_prompts, answer_messages, query_messages
from training.pipeline.query_check import check_query
from training.pipeline.records import PoolSample
from training.pipeline.rewards import best_f1, query_reward
from training.scoring import ScoreCache
from trio_core.engines.base import Engine
from trio_core.parsing import visible_text
from trio_core.retrieval.base import Retriever
from trio_core.values import PoolEntry, Value

SCORED = "scored.jsonl"


class ScoredQuery(Value):
    """A query, the answers before and after it, and the reward."""

    sample: str
    output: str
    query: str
    problem: str
    before: str = ""
    after: str = ""
    reward: float


class FrozenAnswers:
    """The answer agent's greedy answer to a pool, asked once for each prompt."""

    def __init__(self, found: Engine, cache: ScoreCache, mark: str) -> None:
        self._engine, self._cache, self._mark = found, cache, mark
        self._running: dict[str, asyncio.Task[str]] = {}
        self.asked = 0

    async def answer(self, question: str, pool: Sequence[PoolEntry]) -> str:
        """What it writes, without reasoning."""
        messages = answer_messages(question, pool)
        key = ScoreCache.key(self._mark, [m.model_dump() for m in messages])
        if (known := self._cache.get(key)) is not None:
            return str(known)
        # Rollouts of one group often write the same query: the second waits for the first.
        if key not in self._running:
            self.asked += 1
            self._running[key] = asyncio.create_task(self._ask(key, messages))
        return await self._running[key]

    async def _ask(self, key: str, messages: Any) -> str:
        made = await ask(self._engine, "answer", messages, agent_prompts()["answer"].max_tokens, 0.0, 0)
        text = visible_text(made.text).value
        self._cache.put(key, text)
        return text


class QueryRewards:
    """Equation 7 for outputs of the query agent, with what was wrong with the others."""

    def __init__(self, context: Context, samples: Sequence[PoolSample], answers: FrozenAnswers, found: Retriever) -> None:
        self._context, self._answers, self._found = context, answers, found
        self._samples = {sample.id: sample for sample in samples}

    async def score(self, ids: Sequence[str], outputs: Sequence[str]) -> list[ScoredQuery]:
        """One row an output, in order. Raises EngineError, RetrieverError."""
        pairs = list(zip(ids, outputs, strict=True))
        return await gathered(lambda pair: self._one(*pair), pairs, self._context.profile.rollouts.parallel)

    async def _one(self, sample_id: str, output: str) -> ScoredQuery:
        settings, sample = self._context.profile.query, self._samples[sample_id]
        checked = check_query(output, [entry.query for entry in sample.pool], settings.max_words)
        if checked.problem:
            return ScoredQuery(sample=sample_id, output=output, query=checked.query, problem=checked.problem,
                               reward=settings.invalid_reward)
        pool = sample.top(settings.top_k)
        hits = await search(self._found, checked.query, settings.top_k)
        grown = (*pool, PoolEntry(query=checked.query, hits=hits))
        before, after = await asyncio.gather(self._answers.answer(sample.question, pool), self._answers.answer(sample.question, grown))
        return ScoredQuery(sample=sample_id, output=output, query=checked.query, problem="", before=before, after=after,
                           reward=query_reward(before, after, sample.answers))


async def run(context: Context) -> dict[str, Any]:
    """Trains the query agent; outcome and counts. Raises Stopped, TrainingError, EngineError."""
    from training.pipeline import grpo

    settings, folder = context.profile.query, context.step("query")
    samples = pools(context, SINGLE, settings.samples)
    mark = records.file_hash(adapter(context)) if adapter(context).exists() else "base"
    loop = asyncio.get_running_loop()
    async with retriever(context) as found, engine(context, context.profile.rollouts.agents, adapter(context)) as answering:
        answers = FrozenAnswers(answering, ScoreCache(folder / "answers.jsonl"), mark)
        rewards = QueryRewards(context, samples, answers, found)

        def reward(ids: Sequence[str], outputs: Sequence[str]) -> list[float]:
            # TRL calls from its training thread; engine and retriever live in this loop.
            rows = asyncio.run_coroutine_threadsafe(rewards.score(ids, outputs), loop).result()
            records.append(folder / SCORED, rows)
            return [row.reward for row in rows]

        prompts = [grpo.Prompt(s.id, query_messages(s.question, s.top(settings.top_k))) for s in samples]
        outcome = await asyncio.to_thread(
            grpo.train, folder, context.base, context.device, context.profile.base, settings.grpo, context.profile.seed, prompts,
            kept(reward, folder / ROLLOUTS, settings.grpo.num_generations), context.stop, on_step(context, "query agent"))
        at_start = [best_f1(await answers.answer(s.question, s.top(settings.top_k)), s.answers) for s in samples[:50]]
    outputs = Counter(row.problem or "valid" for row in records.read(folder / SCORED, ScoredQuery))
    return {**outcome._asdict(), "outputs": dict(outputs), "answers_asked": answers.asked,
            "f1_before_any_query": round(sum(at_start) / len(at_start), 4)}
