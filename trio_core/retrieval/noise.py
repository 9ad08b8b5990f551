"""Noise, as a stress test: some passages of every search are replaced by far-ranked ones (TRIO's table 7).

TRIO replaces 1 or 3 of the top 5 by ranks 998 to 1000. Here the last `FAR` ranks that the search gives stand in, so that small
corpora and remote retrievers with a limit work too; the rank that a passage came from is kept with it. Which places and which
passages is decided by the seed and the query alone, so a run that is repeated meets the same noise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.retrieval.checks import MAX_K, checked_k, is_fewer_note, notes
from trio_core.values import Hit, Passage

DEPTH = MAX_K
FAR = 3


class NoisyRetriever:
    """Another retriever with `count` hits of each query replaced."""

    def __init__(self, inner: Retriever, count: int, seed: int = 0, depth: int = DEPTH) -> None:
        self._inner, self._count, self._seed, self._depth = inner, count, seed, depth

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query, with the noise marked. Raises as the other retriever does."""
        k = checked_k(k)
        results = await self._inner.search(queries, max(k, self._depth))
        return [self._disturbed(query, result, k) for query, result in zip(queries, results, strict=True)]

    def identity(self) -> dict[str, Any]:
        """That of the other retriever, and the noise."""
        return self._inner.identity() | {"noise": {"count": self._count, "seed": self._seed}}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id."""
        return self._inner.passages(ids)

    async def close(self) -> None:
        """Nothing of its own to close."""

    def _disturbed(self, query: str, result: SearchResult, k: int) -> SearchResult:
        top, beyond = list(result.hits[:k]), result.hits[k:]
        chance = random.Random(f"{self._seed} {query}")
        wanted = min(self._count, len(top))
        far = beyond[-max(FAR, wanted) :]
        placed = min(wanted, len(far))
        for place, hit in zip(chance.sample(range(len(top)), placed), chance.sample(far, placed), strict=True):
            top[place] = Hit(passage=hit.passage, score=hit.score, rank=place + 1, from_rank=hit.rank, noise=True)
        told = [note for note in result.note.split("; ") if note and not is_fewer_note(note)]
        ranks = ", ".join(str(h.from_rank) for h in top if h.noise)
        noise = f"noise: {placed} of {len(top)} passages replaced by rank {ranks}" if placed else ""
        short = f"noise: no passages further down for {wanted - placed} of {wanted} places" if placed < wanted else ""
        fewer = f"{len(top)} of {k} passages found" if 0 < len(top) < k else ""
        return SearchResult(hits=tuple(top), note=notes(*told, noise, short, fewer))
