"""Step 1: questions graded by the base model's rollouts, easy ones dropped, the others split into Q1 and Q2."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from training.pipeline import records
from training.pipeline.context import Context, ask, engine, gathered, retriever, search
from training.pipeline.profile import QuestionSettings
from training.pipeline.prompts import agent_prompts, answer_messages
from training.pipeline.records import Difficulty, GradedQuestion
from training.pipeline.rewards import exact_match
from training.question_set import normal
from trio_core.datasets.opening import open_dataset
from trio_core.datasets.values import Question
from trio_core.engines.base import Engine
from trio_core.errors import TrainingError
from trio_core.parsing import parse_answer
from trio_core.retrieval.base import Retriever
from trio_core.settings import Settings
from trio_core.values import PoolEntry

FILE = "questions.jsonl"
GRADED = "graded.jsonl"


def read_sources(settings: QuestionSettings, app: Settings, seed: int) -> list[Question]:
    """All questions with an answer, each wording once. Raises DatasetError, TrainingError."""
    found: dict[str, Question] = {}
    for source in settings.sources:
        split = "" if source == "demo" else "train"
        opened = open_dataset(source, split, roots=(app.data_dir / "datasets", *app.data_folders))
        usable = [q for q in opened if q.answerable and q.answers and not q.choices]
        if settings.limit is not None and len(usable) > settings.limit:
            usable = sorted(random.Random(f"{seed} {source}").sample(usable, settings.limit), key=lambda q: q.id)
        for question in usable:
            found.setdefault(normal(question.question), question)
    if len(found) < 2:
        raise TrainingError(f"{', '.join(settings.sources)}: {len(found)} questions with an answer; at least 2 are needed, one a set")
    return list(found.values())


def difficulty(right: int, rollouts: int, settings: QuestionSettings) -> Difficulty:
    """By the share of right answers."""
    share = right / rollouts
    return "hard" if share < settings.hard_below else "easy" if share >= settings.easy_from else "medium"


def split(graded: Sequence[GradedQuestion], settings: QuestionSettings, seed: int) -> list[GradedQuestion]:
    """Every question with its set. By difficulty: hard ones are Q1, medium ones Q2; at random: by `q1_share`."""
    kept = sorted(q.id for q in graded if q.difficulty != "easy")
    random.Random(f"sets {seed}").shuffle(kept)
    first = set(kept[: round(settings.q1_share * len(kept))])

    def of(question: GradedQuestion) -> str:
        if question.difficulty == "easy":
            return "dropped"
        if settings.split == "difficulty":
            return "q1" if question.difficulty == "hard" else "q2"
        return "q1" if question.id in first else "q2"

    return [question.model_copy(update={"set": of(question)}) for question in graded]


async def run(context: Context) -> dict[str, Any]:
    """Grades and splits; the counts. Raises Stopped, TrainingError where a set stays empty."""
    settings, folder = context.profile.questions, context.step("questions")
    asked = read_sources(settings, context.settings, context.profile.seed)
    done = {q.id: q for q in records.read(folder / GRADED, GradedQuestion)}
    todo = [q for q in asked if q.id not in done]
    async with retriever(context) as found, engine(context, context.profile.rollouts.agents) as base:
        for part in records.chunks(todo, max(1, context.profile.rollouts.parallel // settings.rollouts)):
            context.stop.check()
            rows = await gathered(lambda q: _grade(q, base, found, context), part, len(part))
            records.append(folder / GRADED, rows)
            done |= {row.id: row for row in rows}
            context.log.work("questions", len(done), len(asked), None)
    graded = split([done[q.id] for q in asked], settings, context.profile.seed)
    records.write(folder / FILE, graded)
    counts = Counter(q.set for q in graded)
    if not counts["q1"] or not counts["q2"]:
        raise TrainingError(f"of {len(graded)} questions {counts['q1']} are in Q1 and {counts['q2']} in Q2 ({counts['dropped']} easy ones "
                            "dropped); change questions.easy_from, questions.hard_below or questions.split, or take more questions")
    return {"questions": len(graded), **{f"{d}": n for d, n in Counter(q.difficulty for q in graded).items()},
            **{name: counts[name] for name in ("q1", "q2", "dropped")}}


async def _grade(question: Question, base: Engine, found: Retriever, context: Context) -> GradedQuestion:
    settings = context.profile.questions
    hits = await search(found, question.question, context.profile.debate.top_k)
    messages = answer_messages(question.question, (PoolEntry(query=question.question, hits=hits),))
    limit = agent_prompts()["answer"].max_tokens

    async def right(number: int) -> bool:
        made = await ask(base, "answer", messages, limit, settings.temperature, context.profile.seed + number)
        return any(exact_match(parse_answer(made.text, made.finish_reason).value, gold) for gold in question.answers)

    n = sum(await gathered(right, range(settings.rollouts), settings.rollouts))
    return GradedQuestion(id=question.id, question=question.question, answers=question.answers, dataset=question.dataset,
                          rollouts=settings.rollouts, right=n, difficulty=difficulty(n, settings.rollouts, settings))


def of_set(context: Context, name: str) -> list[GradedQuestion]:
    """The questions of `q1` or `q2`."""
    return [q for q in records.read(context.step("questions") / FILE, GradedQuestion) if q.set == name]
