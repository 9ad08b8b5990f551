"""Dense retrieval: an encoder and a FAISS index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trio_core.errors import UnfitIndexError
from trio_core.retrieval import faiss_index
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.checks import checked_k, checked_queries, fewer_note, notes
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.opened import OpenedIndex
from trio_core.retrieval.worker import SearchWorker
from trio_core.values import Hit, Passage


class DenseRetriever:
    """Searches by the cosine of encoded texts. Scores are in -1..1; only their order means something."""

    def __init__(self, opened: OpenedIndex, encoder: Encoder, index: Any) -> None:
        self._opened = opened
        self._encoder = encoder
        self._index = index
        self._worker = SearchWorker(self._answer, self._cut, "dense-search")

    @property
    def encoder(self) -> Encoder:
        """What queries are encoded with; loaded."""
        return self._encoder

    @classmethod
    def open(cls, index_dir: Path, encoder: Encoder, mmap: bool = False, corpus_hash: str | None = None) -> DenseRetriever:
        """Opens an index, loads the encoder and searches once, so that what cannot work fails here.

        Raises UnfitIndexError (absent, damaged, other corpus, encoder, prefix or dimension), ModelFileError (encoder).
        """
        opened = OpenedIndex(index_dir, corpus_hash)
        part = opened.dense(encoder)
        index = faiss_index.load(index_dir / part.folder, mmap)
        if index.ntotal != len(opened.store) or index.d != part.encoder.dim:
            raise UnfitIndexError(
                f"index {str(index_dir)!r} holds {index.ntotal} vectors of {index.d} dimensions, its manifest says "
                f"{len(opened.store)} of {part.encoder.dim}; build it again"
            )
        faiss_index.search(index, encoder.encode_queries(["start-up check"]), 1)
        return cls(opened, encoder, index)

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query. Raises InputError (k, queries), RetrieverError (unusable vectors)."""
        k = checked_k(k)
        checked = checked_queries(queries)
        return await self._worker.search(checked, k) if checked else []

    def identity(self) -> dict[str, Any]:
        """Corpus, encoder and index."""
        part = self._opened.manifest.dense
        assert part is not None
        return self._opened.identity("dense") | {"encoder": part.encoder.model_dump(), "factory": part.factory}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id; unknown ids are left out."""
        return self._opened.store.by_ids(ids)

    async def close(self) -> None:
        """Ends the search thread."""
        await self._worker.close()

    def _answer(self, queries: list[str], k: int) -> list[SearchResult]:
        results = [SearchResult(hits=(), note="the query is empty")] * len(queries)
        asked = [row for row, query in enumerate(queries) if query]
        if not asked:
            return results
        texts = [queries[row] for row in asked]
        scores, rows = faiss_index.search(self._index, self._encoder.encode_queries(texts), k)
        cuts = self._encoder.cut_notes(texts)
        for at, row in enumerate(asked):
            results[row] = SearchResult(hits=self._hits(scores[at].tolist(), rows[at].tolist()), note=cuts[at])
        return results

    def _hits(self, scores: list[float], rows: list[int]) -> tuple[Hit, ...]:
        # FAISS fills up with row -1, which Python would read as the last passage.
        found = [(row, score) for row, score in zip(rows, scores, strict=True) if row >= 0]
        return tuple(
            Hit(passage=self._opened.store[row], score=score, rank=rank) for rank, (row, score) in enumerate(found, 1)
        )

    def _cut(self, result: SearchResult, k: int) -> SearchResult:
        hits = result.hits[:k]
        fewer = fewer_note(len(hits), k, len(self._opened.store)) if hits else ""
        return SearchResult(hits=hits, note=notes(result.note, fewer))
