"""Step 3: the answer agent, GRPO in two stages over the debate's pools (section 3.2)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from training.pipeline import records
from training.pipeline.context import Context
from training.pipeline.debate import POOLS
from training.pipeline.profile import AnswerStage
from training.pipeline.prompts import answer_messages
from training.pipeline.records import PoolSample
from training.pipeline.rewards import Stage, answer_reward
from trio_core.errors import TrainingError
from trio_core.parsing import visible_text
from trio_core.values import Value

ROLLOUTS = "rollouts.jsonl"


class Rollout(Value):
    """One output and its reward, to look at: the first group of each batch is kept."""

    sample: str
    output: str
    reward: float


def adapter(context: Context) -> Path:
    """The finished answer agent."""
    return context.step("answer") / "stage2" / "adapter"


def pools(context: Context, name: str, limit: int | None) -> list[PoolSample]:
    """Samples of a file of the debate step, at most `limit`, drawn by the seed. Raises TrainingError."""
    found = records.read(context.step("debate") / name, PoolSample)
    if not found:
        raise TrainingError(f"the debate step left no sample in {name}; run it again with more questions")
    return found if limit is None or len(found) <= limit else random.Random(context.profile.seed).sample(found, limit)


async def run(context: Context) -> dict[str, Any]:
    """Both stages, the second on the first's adapter; a finished one is not trained again. Raises Stopped, TrainingError."""
    report: dict[str, Any] = {}
    begin: Path | None = None
    for number, stage in ((1, context.profile.answer.stage1), (2, context.profile.answer.stage2)):
        folder = context.step("answer") / f"stage{number}"
        outcome = folder / "outcome.json"
        if not outcome.exists():
            await asyncio.to_thread(_stage, context, number, stage, folder, begin)
        report[f"stage{number}"] = records.read_json(outcome)
        begin = folder / "adapter"
    return report


def _stage(context: Context, number: Stage, stage: AnswerStage, folder: Path, begin: Path | None) -> None:
    from training.pipeline import grpo

    samples = pools(context, POOLS, stage.samples)
    golds = {sample.id: sample.answers for sample in samples}

    def reward(ids: Sequence[str], outputs: Sequence[str]) -> list[float]:
        settings = context.profile.answer.reward
        return [answer_reward(visible_text(y).value, golds[i], number, settings) for i, y in zip(ids, outputs, strict=True)]

    folder.mkdir(parents=True, exist_ok=True)
    prompts = [grpo.Prompt(s.id, answer_messages(s.question, s.top(stage.top_k))) for s in samples]
    found = grpo.train(folder, context.base, context.device, context.profile.base, stage.grpo, context.profile.seed, prompts,
                       kept(reward, folder / ROLLOUTS, stage.grpo.num_generations), context.stop,
                       on_step(context, f"answer stage {number}"), begin)
    records.write_json(folder / "outcome.json", found._asdict())


def on_step(context: Context, name: str) -> Callable[[int, int], None]:
    """Tells the progress log about a step."""
    return lambda step, of: context.log.work(name, step, of, None)


def kept(reward: Callable[[Sequence[str], Sequence[str]], list[float]], path: Path, group: int) -> Any:
    """The reward, keeping the first group of each batch to look at."""

    def rated(ids: Sequence[str], outputs: Sequence[str]) -> list[float]:
        found = reward(ids, outputs)
        records.append(path, [Rollout(sample=i, output=y, reward=r) for i, y, r in list(zip(ids, outputs, found, strict=True))[:group]])
        return found

    return rated
