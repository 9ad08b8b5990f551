"""A toy task for GRPO built from demo pools: eight questions, each with the passage that answers it.

A warm-up makes a tiny model write, for each question, the right answer, the right answer in a long sentence, or the answer of
another question, each as often as the others. The reward of stage 1 (equation 4) tells them apart, so its mean can rise from
about 0.2 to 1.5. What is learned is measured by the independent oracle, as a second reward of weight 0: a reward with a wrong
sign then trains all the same, and the measure falls.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.training.pipeline.oracle import oracle_answer_reward
from training.pipeline import rewards
from training.pipeline.profile import BaseModelSettings, GrpoSettings
from training.pipeline.prompts import answer_messages
from training.pipeline.rewards import RewardSettings
from training.pipeline.tiny_base import Lesson, make_tiny_base
from training.stop import StopRequest
from trio_core.demo import DemoQuestion, questions
from trio_core.retrieval.corpus import DEMO, Corpus
from trio_core.values import Hit, Message, PoolEntry

QUESTIONS = 8
LIMIT = 6
SETTINGS = GrpoSettings(prompts_per_step=4, num_generations=8, micro_batch=32, learning_rate=4e-3, beta=0.0, max_completion=24,
                        save_steps=1000)
LORA = BaseModelSettings(model="tiny", device="cpu", lora_rank=8, lora_alpha=16)
FIRST, LAST = 3, 5
"""Steps whose mean is the beginning and the end of a curve."""


def toy_questions() -> list[DemoQuestion]:
    """The first answerable questions with different answers of one or two words."""
    found: dict[str, DemoQuestion] = {}
    for asked in questions():
        if asked.answerable and len(asked.answers[0].split()) <= 2:
            found.setdefault(asked.answers[0].lower(), asked)
    return list(found.values())[:QUESTIONS]


def toy_prompts(asked: Sequence[DemoQuestion]) -> dict[str, tuple[Message, ...]]:
    """The answer agent's prompt for each question with the passage of its last step."""
    by_id = {passage.id: passage for passage in Corpus.open(DEMO).passages()}
    hits = {q.id: Hit(passage=by_id[q.hops[-1].passage_id], score=1.0, rank=1) for q in asked}
    return {q.id: answer_messages(q.question, (PoolEntry(query=q.question, hits=(hits[q.id],)),)) for q in asked}


def toy_lessons(asked: Sequence[DemoQuestion], prompts: dict[str, tuple[Message, ...]]) -> list[Lesson]:
    """What the warm-up teaches: right, right but long, wrong."""
    return [(prompts[q.id], text) for n, q in enumerate(asked) for text in (
        q.answers[0], f"the passages say it is {q.answers[0]} and nothing else", asked[(n + 1) % len(asked)].answers[0])]


class Curve(NamedTuple):
    """The measured reward of each step (mean of 32 rollouts), and the standard error of the first step's mean."""

    means: list[float]
    error: float


def train_toy(folder: Path, seed: int, steps: int) -> Curve:
    """The measured curve. Everything hangs on the seed: warm-up, adapter, rollouts."""
    from training.pipeline import grpo  # torch and trl: seconds to import

    asked = toy_questions()
    prompts = toy_prompts(asked)
    golds = {q.id: list(q.answers) for q in asked}
    base = make_tiny_base(folder / "base", seed, given=toy_lessons(asked, prompts))
    chosen = RewardSettings(alpha=0.5, max_length=LIMIT)

    def trained(ids: Sequence[str], outputs: Sequence[str]) -> list[float]:
        return [rewards.answer_reward(y, golds[i], 1, chosen) for i, y in zip(ids, outputs, strict=True)]

    def measured(ids: Sequence[str], outputs: Sequence[str]) -> list[float]:
        return [oracle_answer_reward(y, golds[i], 1, 0.5, LIMIT) for i, y in zip(ids, outputs, strict=True)]

    (folder / "grpo").mkdir()
    grpo.train(folder / "grpo", base, "cpu", LORA, SETTINGS.model_copy(update={"max_steps": steps}), seed,
               [grpo.Prompt(i, messages) for i, messages in prompts.items()], {"trained": (trained, 1.0), "measured": (measured, 0.0)},
               StopRequest(), lambda step, of: None)
    lines = grpo.read_metrics(folder / "grpo")
    rollouts = SETTINGS.prompts_per_step * SETTINGS.num_generations
    return Curve([line["rewards/measured/mean"] for line in lines], lines[0]["rewards/measured/std"] / rollouts**0.5)


def untrained(base: str, seed: int, each: int = 64) -> tuple[float, float]:
    """The measured reward of a base before training: its mean over so many rollouts of every question, and the mean's standard error."""
    import torch

    from training.base_model import load_model, load_tokenizer
    from training.tokens import prompt_ids

    asked = toy_questions()
    prompts, variances, means = toy_prompts(asked), list[float](), list[float]()
    tokenizer, model = load_tokenizer(base), load_model(base, "cpu")
    torch.manual_seed(seed)
    for question in asked:
        ids = torch.tensor([prompt_ids(tokenizer, prompts[question.id])]).repeat(each, 1)
        with torch.no_grad():
            made = model.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=SETTINGS.temperature, top_k=0, top_p=1.0,
                max_new_tokens=SETTINGS.max_completion, pad_token_id=tokenizer.pad_token_id)
        texts = tokenizer.batch_decode(made[:, ids.shape[1] :], skip_special_tokens=True)
        rewards = [oracle_answer_reward(text, list(question.answers), 1, 0.5, LIMIT) for text in texts]
        means.append(statistics.fmean(rewards))
        variances.append(statistics.variance(rewards) / each)
    return statistics.fmean(means), sum(variances) ** 0.5 / len(asked)


def gain(curve: Curve) -> float:
    """Mean of the last steps less that of the first."""
    return statistics.fmean(curve.means[-LAST:]) - statistics.fmean(curve.means[:FIRST])


def noise(curves: Sequence[Curve]) -> float:
    """The greater of: standard deviation of the beginnings over the seeds, standard error of a step's mean; at least 0.1."""
    starts = [statistics.fmean(curve.means[:FIRST]) for curve in curves]
    return max(0.1, *(curve.error for curve in curves), statistics.stdev(starts) if len(starts) > 1 else 0.0)


def learned(curves: Sequence[Curve]) -> bool:
    """Whether every curve rises by more than three times the noise."""
    return all(gain(curve) > 3 * noise(curves) for curve in curves)
