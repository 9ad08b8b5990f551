"""Puts the gold items of the demo questions into the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from storage.store import Store
from training.gold import FIRST_K, estimated_tokens, gold_items, queries_of
from training.values import DemoItemCounts
from trio_core.demo import questions
from trio_core.methods.base import check_settings
from trio_core.methods.trio import TrioSettings
from trio_core.prompting import load_prompts
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.build import build_retriever
from trio_core.settings import Settings
from trio_core.workbench import Workbench

SOURCE = "gold-demo"
DATASET = "demo"
Search = Callable[[Sequence[str], int], Sequence[SearchResult]]
Progress = Callable[[str, float], None]


def demo_search(settings: Settings, workbench: Workbench | None) -> Search:
    """A search of the demo corpus: the workbench's retriever if it serves that corpus, else one of its own."""
    retriever = workbench.retriever if workbench is not None and settings.retriever.corpus == DATASET else None
    if workbench is not None and retriever is not None:
        return lambda queries, k: workbench.call(retriever.search(queries, k))
    chosen = settings.retriever.model_copy(update={"corpus": DATASET, "index_dir": None})
    if chosen.kind == "http":
        chosen = chosen.model_copy(update={"kind": "bm25"})
    return lambda queries, k: asyncio.run(_search_once(settings.model_copy(update={"retriever": chosen}), queries, k))


async def _search_once(settings: Settings, queries: Sequence[str], k: int) -> list[SearchResult]:
    retriever = await asyncio.to_thread(build_retriever, settings)
    try:
        return await retriever.search(queries, k)
    finally:
        await retriever.close()


def store_demo_items(settings: Settings, store: Store, search: Search, progress: Progress) -> DemoItemCounts:
    """Stores every item once, with its gold label."""
    wanted = queries_of(questions())
    progress(f"searching the demo corpus with {len(wanted)} queries", 0.0)
    hits = {query: result.hits for query, result in zip(wanted, search(wanted, FIRST_K), strict=True)}
    prompt = load_prompts("trio", settings.engine.roles)["judge"]
    repeats = check_settings(TrioSettings, settings.methods.get("trio", {}), "trio").repeats
    items = list(gold_items(questions(), hits, prompt, repeats))
    fitting = [gold for gold in items if estimated_tokens(gold.item) <= settings.training.max_tokens]
    added = 0
    for number, gold in enumerate(fitting, 1):
        added += store.item_by_hash(gold.item.content_hash) is None
        item_id = store.add_item(gold.item, SOURCE, method="trio", dataset=DATASET, question_id=gold.question_id, round=gold.round)
        store.add_gold_label(item_id, gold.label, gold.rule)
        progress("storing label items", number / len(fitting))
    counts = Counter(gold.label for gold in fitting)
    return DemoItemCounts(
        items=len(fitting), added=added, sufficient=counts["sufficient"], insufficient=counts["insufficient"],
        skipped_long=len(items) - len(fitting), questions=len({gold.question_id for gold in fitting}), tokens_exact=False,
    )
