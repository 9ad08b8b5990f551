"""Labels by votes: the answer agent answers from each item's pool, and TRIO's unanimity rule decides (section 3.4)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from storage.annotation_values import VoteAnswer
from storage.store import Store
from storage.values import LabelItem
from training.progress import ProgressLog
from training.question_set import normal, read_questions
from training.scoring import Scorer
from training.work_values import VotesTask
from trio_core.demo import find
from trio_core.errors import TrainingError
from trio_core.evidence import EvidenceReport, SampleSettings


class Todo(NamedTuple):
    """Items with a known answer, and how many have none."""

    items: list[tuple[LabelItem, tuple[str, ...]]]
    no_gold_answer: int


def items_to_label(task: VotesTask, store: Store) -> Todo:
    """The items of a task. Raises TrainingError where no answer is known, InputError (answers_file)."""
    given = _answers_of(task)
    ids = list(task.item_ids) or store.item_ids()
    known = [(item, gold) for item_id in ids if (item := _require(store, item_id)) and (gold := gold_answers(store, item, given))]
    if not known:
        raise TrainingError(f"none of the {len(ids)} items has a question whose answer is known, so no vote can be right or wrong; "
                            "give answers_file (FlashRAG jsonl), or run questions of a data set with gold answers")
    return Todo(known[: task.max_items], len(ids) - len(known))


def sampling(task: VotesTask) -> SampleSettings:
    """How the answers are drawn."""
    return SampleSettings(samples=task.samples, temperature=task.temperature, greedy_first=task.greedy_first)


async def label_by_votes(task: VotesTask, store: Store, scorer: Scorer, log: ProgressLog) -> dict[str, Any]:
    """Stores a vote label for every item, one by one; the counts. Items done before are not asked again."""
    todo, no_gold = items_to_label(task, store)
    wanted, counts = sampling(task), Counter[str](no_gold_answer=no_gold)
    began, model = time.monotonic(), ""
    for number, (item, gold) in enumerate(todo, 1):
        report = await scorer.answers(item.item, wanted, gold)
        model = report.model
        stored = store.add_vote_label(item.id, report.model, vote_answers(report), task.temperature)
        counts[stored.label] += 1
        left = (time.monotonic() - began) / number * (len(todo) - number)
        log.work("votes", number, len(todo), left, **{name: counts[name] for name in ("sufficient", "insufficient", "mixed")})
    return {"items": len(todo), "answer_model": model, "samples": task.samples, **counts}


def vote_answers(report: EvidenceReport) -> list[VoteAnswer]:
    """The answers as the store takes them."""
    return [VoteAnswer(text=answer.answer or "(no answer)", n=answer.n, right=bool(answer.right)) for answer in report.answers]


def gold_answers(store: Store, item: LabelItem, given: Mapping[str, tuple[str, ...]] | None = None) -> tuple[str, ...]:
    """Known answers to an item's question: those given, those of a run that brought the item, the demo's; empty = unknown."""
    if found := (given or {}).get(normal(item.item.question)):
        return found
    for source in item.sources:
        run = store.run(source.run_id) if source.run_id else None
        if run is not None and run.request.gold is not None and run.request.gold.answers:
            return run.request.gold.answers
    demo = find(item.item.question)
    return demo.answers if demo is not None and demo.answerable else ()


def _answers_of(task: VotesTask) -> dict[str, tuple[str, ...]]:
    if task.answers_file is None:
        return {}
    return {normal(asked.question): asked.gold.answers for asked in read_questions(str(task.answers_file))}


def _require(store: Store, item_id: int) -> LabelItem:
    item = store.item(item_id)
    if item is None:
        raise TrainingError(f"label item {item_id} does not exist in this store")
    return item
