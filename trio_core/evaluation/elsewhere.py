"""The runs of an evaluation on a Ray cluster: workers run them, this process stores them; the batch then finds them done."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from trio_core.engines.base import JudgeAdapter
from trio_core.errors import InputError
from trio_core.evaluation.batch import Plan
from trio_core.evaluation.values import EvaluationStore
from trio_core.events import TextDelta, event_from_json, event_to_json
from trio_core.memory_store import MemoryStore
from trio_core.runs import RunRequest
from trio_core.scale.shards import ShardEngine, cut, map_shards
from trio_core.settings import Settings
from trio_core.workbench import Workbench

SHARD_RUNS = 4


def run_elsewhere(plan: Plan, settings: Settings, judge: JudgeAdapter, store: EvaluationStore, engine: ShardEngine,
                  on_done: Callable[[int, int], None] = lambda done, total: None) -> int:
    """Runs what is not in the store yet; how many runs were stored. Each worker brings up the settings' model server and index.

    `on_done` gets runs done and runs in all. Runs that are stored are not run again, so a stopped evaluation goes on where it was.
    """
    ended = {(m.label, run.dataset, run.question_id, m.repeat) for run in store.runs_of_group(plan.id)
             if (m := run.request.evaluation) is not None and run.status in ("finished", "failed")}
    requests = [plan.request(job) for job in plan.jobs() if job.key not in ended]
    shards = cut([request.model_dump(mode="json") for request in requests], SHARD_RUNS)
    stored = seen = 0
    for number, found in map_shards(engine, partial(_runs, settings.for_workers(), judge.model_dump_json()), shards):
        for request, events in zip(requests[number * SHARD_RUNS:], found, strict=False):
            seen += 1
            if events is not None:
                read = [event_from_json(event) for event in events]
                store.append_all(store.create_run(request), [event for event in read if not isinstance(event, TextDelta)])
                stored += 1
        on_done(seen, len(requests))
    return stored


def _runs(settings: str, judge: str, shard: list[Any]) -> list[list[str] | None]:
    """Events of each request's run, as JSON; null where the question cannot be asked (the batch says why)."""
    bench, store = _bench(settings, judge)
    begun = [_begin(bench, RunRequest.model_validate(request)) for request in shard]
    for run_id in begun:
        if run_id is not None:
            bench.wait_run(run_id)
    return [None if run_id is None else [event_to_json(event) for event in store.events(run_id)] for run_id in begun]


def _begin(bench: Workbench, request: RunRequest) -> str | None:
    try:
        return bench.start_run(request)
    except InputError:
        return None


@lru_cache(maxsize=1)
def _bench(settings: str, judge: str) -> tuple[Workbench, MemoryStore]:
    """A workbench for as long as the worker lives."""
    store = MemoryStore()
    bench = Workbench(Settings.model_validate_json(settings), store, judge=JudgeAdapter.model_validate_json(judge))
    bench.bring_up(wait=True)
    return bench, store
