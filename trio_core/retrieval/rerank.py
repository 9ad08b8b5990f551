"""A second look at what a search found: a cross-encoder reads query and passage together and sorts anew.

The first search is asked for `depth` passages. Scores of hits are the cross-encoder's; `from_rank` keeps the rank before it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from trio_core.errors import ModelFileError, RetrieverError
from trio_core.retrieval import native
from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.retrieval.checks import MAX_K, checked_k, is_fewer_note, notes
from trio_core.values import Hit, Passage


class Scorer(Protocol):
    """Reads pairs of texts."""

    name: str

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One number a pair, higher = fits better. Blocks; called from one thread."""


class CrossEncoderScorer:
    """A sentence-transformers cross-encoder, loaded when it is first asked."""

    def __init__(self, name: str, batch_size: int = 32) -> None:
        self.name, self._batch_size = name, batch_size
        self._model: Any = None

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Raises ModelFileError."""
        if self._model is None:
            self._model = self._load()
        return [float(score) for score in self._model.predict(list(pairs), batch_size=self._batch_size, show_progress_bar=False)]

    def _load(self) -> Any:
        try:
            with native.quiet():
                return native.cross_encoder()(self.name, num_labels=1)
        except Exception as error:  # the libraries below raise dozens of kinds, all meaning "not loadable"
            reason = (str(error).strip().splitlines() or ["no reason given"])[0][:200]
            raise ModelFileError(
                f"reranker {self.name!r} cannot be loaded ({type(error).__name__}: {reason}). Set retriever.reranker to the folder of a "
                "cross-encoder on this machine, or to the empty text to search without one"
            ) from error


class RerankRetriever:
    """Another retriever, its hits sorted by a scorer. Equal scores keep the order of the search."""

    def __init__(self, inner: Retriever, scorer: Scorer, depth: int) -> None:
        self._inner, self._scorer, self._depth = inner, scorer, depth
        # A thread of its own: a tokenizer must not be shared, and the event loop's threads must not wait for a model.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rerank")

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query. Raises as the other retriever does, ModelFileError, and RetrieverError for scores that are no numbers."""
        k = checked_k(k)
        results = await self._inner.search(queries, min(max(k, self._depth), MAX_K))
        pairs = [(query, _text(hit.passage)) for query, result in zip(queries, results, strict=True) for hit in result.hits]
        scores = await asyncio.get_running_loop().run_in_executor(self._thread, self._scorer.scores, pairs) if pairs else []
        if not all(map(math.isfinite, scores)):
            raise RetrieverError(f"reranker {self._scorer.name!r} gave a score that is no number; use another model")
        left = iter(scores)
        return [self._sorted(result, [next(left) for _ in result.hits], k) for result in results]

    def identity(self) -> dict[str, Any]:
        """That of the other retriever, and the reranker."""
        return self._inner.identity() | {"reranker": {"name": self._scorer.name, "depth": self._depth}}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id."""
        return self._inner.passages(ids)

    async def close(self) -> None:
        """Closes the other retriever and ends the thread."""
        await self._inner.close()
        await asyncio.to_thread(self._thread.shutdown)

    def _sorted(self, result: SearchResult, scores: Sequence[float], k: int) -> SearchResult:
        order = sorted(zip(result.hits, scores, strict=True), key=lambda pair: -pair[1])[:k]
        hits = tuple(Hit(passage=h.passage, score=s, rank=rank, from_rank=h.rank) for rank, (h, s) in enumerate(order, 1))
        told = [note for note in result.note.split("; ") if note and not is_fewer_note(note)]
        fewer = f"{len(hits)} of {k} passages found" if 0 < len(hits) < k else ""
        return SearchResult(hits=hits, note=notes(*told, fewer))


def _text(passage: Passage) -> str:
    return f"{passage.title}\n{passage.text}" if passage.title else passage.text
