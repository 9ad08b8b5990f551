"""Rank fusion of several retrievers.

Reciprocal rank fusion: score = sum over rankings of 1 / (60 + rank), ranks from 1 (Cormack, Clarke and Büttcher, SIGIR
2009, who fix 60). It needs no scores, so cosines and BM25 values may be mixed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.retrieval.checks import MAX_K, checked_k, checked_queries, is_fewer_note, notes
from trio_core.values import Hit, Passage

CONSTANT = 60
DEPTH = 100
"""Each retriever is asked for at least so many passages, since a good fused hit may stand low in both."""


def reciprocal_rank_fusion(rankings: Sequence[Sequence[str]], constant: int = CONSTANT) -> list[tuple[str, float]]:
    """(id, score), best first. Equal scores stay in the order in which the rankings bring them."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(dict.fromkeys(ranking), 1):
            scores[name] = scores.get(name, 0.0) + 1.0 / (constant + rank)
    return sorted(scores.items(), key=lambda item: -item[1])


class HybridRetriever:
    """Asks all parts at once and fuses their rankings. The score of a hit is the fused one (at most parts / 61)."""

    def __init__(self, parts: Sequence[Retriever], depth: int = DEPTH) -> None:
        self._parts = tuple(parts)
        self._depth = depth

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query. Raises InputError (k, queries), RetrieverError of a part."""
        k = checked_k(k)
        checked = checked_queries(queries)
        depth = min(max(k, self._depth), MAX_K)
        by_part = await asyncio.gather(*(part.search(checked, depth) for part in self._parts))
        return [self._fuse(results, k, depth) for results in zip(*by_part, strict=True)]

    def identity(self) -> dict[str, Any]:
        """The parts and how they are fused."""
        first = self._parts[0].identity()
        shared: dict[str, Any] = {key: first[key] for key in ("corpus", "corpus_hash", "passages") if key in first}
        return {"kind": "hybrid", **shared, "constant": CONSTANT, "parts": [part.identity() for part in self._parts]}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id, from the first part."""
        return self._parts[0].passages(ids)

    async def close(self) -> None:
        """Closes all parts."""
        await asyncio.gather(*(part.close() for part in self._parts))

    def _fuse(self, results: Sequence[SearchResult], k: int, depth: int) -> SearchResult:
        passages = {hit.passage.id: hit.passage for result in results for hit in result.hits}
        fused = reciprocal_rank_fusion([[hit.passage.id for hit in result.hits] for result in results])[:k]
        hits = tuple(Hit(passage=passages[name], score=score, rank=rank) for rank, (name, score) in enumerate(fused, 1))
        # "Fewer than the depth" of a part means nothing to the user; whether k were found does.
        told = dict.fromkeys(n for r in results for n in r.note.split("; ") if n and not is_fewer_note(n))
        fewer = f"{len(hits)} of {k} passages found" if 0 < len(hits) < k else ""
        return SearchResult(hits=hits, note=notes(*told, fewer))

