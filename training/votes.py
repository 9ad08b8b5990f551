"""Labels by votes: the answer agent answers from each item's pool, and TRIO's unanimity rule decides (section 3.4)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

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


async def label_by_votes(task: VotesTask, store: Store, scorer: Scorer, log: ProgressLog) -> dict[str, Any]:
    """Stores a vote label for every item, one by one; the counts. Items done before are not asked again."""
    given = _answers_of(task)
    ids = list(task.item_ids) or store.item_ids()
    wanted = SampleSettings(samples=task.samples, temperature=task.temperature, greedy_first=task.greedy_first)
    todo = [(item, gold) for item_id in ids if (item := _require(store, item_id)) and (gold := gold_answers(store, item, given))]
    counts: Counter[str] = Counter(no_gold_answer=len(ids) - len(todo))
    todo = todo[: task.max_items]
    if not todo:
        raise TrainingError(f"none of the {len(ids)} items has a question whose answer is known, so no vote can be right or wrong; "
                            "give answers_file (FlashRAG jsonl), or run questions of a data set with gold answers")
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
