"""Labels by votes on a Ray cluster: the workers sample the answers, this process stores the labels."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from functools import partial
from typing import Any

from storage.store import Store
from training.progress import ProgressLog
from training.scoring import ScoreCache, scoring
from training.stop import StopRequest
from training.votes import items_to_label, sampling, vote_answers
from training.work_values import VotesTask
from trio_core.evidence import EvidenceReport, SampleSettings
from trio_core.scale.shards import cut, kept_shards, shard_engine
from trio_core.settings import Settings
from trio_core.values import JudgeItem

SHARD_ITEMS = 8


def label_by_shards(task: VotesTask, settings: Settings, store: Store, log: ProgressLog, stop: StopRequest) -> dict[str, Any]:
    """As `label_by_votes`. Shards that are done are kept in the data folder and not asked again. Raises Stopped between two shards."""
    todo, no_gold = items_to_label(task, store)
    shards = cut([[item.item.model_dump(mode="json"), list(gold)] for item, gold in todo], SHARD_ITEMS)
    wanted, asked = sampling(task).model_dump_json(), settings.for_workers()
    what = settings.model_dump_json(include={"engine", "methods"})
    folder = settings.data_dir / "training" / f"votes-{ScoreCache.key(what, wanted)[:16]}"
    began = time.monotonic()

    def done(shards_done: int) -> None:
        stop.check()
        left = (time.monotonic() - began) / max(shards_done, 1) * (len(shards) - shards_done)
        log.work("votes", min(shards_done * SHARD_ITEMS, len(todo)), len(todo), left)

    reports = kept_shards(shard_engine(task.engine, task.address), partial(_answers, asked, wanted), shards, folder, done)
    counts, model = Counter[str](no_gold_answer=no_gold), ""
    for (item, _), found in zip(todo, (one for shard in reports for one in shard), strict=True):
        report = EvidenceReport.model_validate(found)
        model = report.model
        counts[store.add_vote_label(item.id, model, vote_answers(report), task.temperature).label] += 1
    return {"items": len(todo), "answer_model": model, "samples": task.samples, **counts}


def _answers(settings: str, wanted: str, shard: list[tuple[Any, list[str]]]) -> list[Any]:
    """Reports of a shard's items, as JSON."""
    return asyncio.run(_sampled(Settings.model_validate_json(settings), SampleSettings.model_validate_json(wanted), shard))


async def _sampled(settings: Settings, wanted: SampleSettings, shard: list[tuple[Any, list[str]]]) -> list[Any]:
    async with scoring(settings, StopRequest()) as scorer:
        reports = [await scorer.answers(JudgeItem.model_validate(item), wanted, gold) for item, gold in shard]
    return [report.model_dump(mode="json") for report in reports]
