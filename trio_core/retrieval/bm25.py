"""Word-based retrieval: BM25 over tokens.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trio_core.errors import UnfitIndexError
from trio_core.retrieval import bm25_index
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.checks import checked_k, checked_queries, fewer_note, notes
from trio_core.retrieval.opened import OpenedIndex
from trio_core.retrieval.tokens import VERSION, tokens
from trio_core.retrieval.worker import SearchWorker
from trio_core.values import Hit, Passage


class Bm25Retriever:
    """Searches by shared words. Scores are positive and unbounded; passages without a common word are no hits."""

    def __init__(self, opened: OpenedIndex, index: Any) -> None:
        self._opened = opened
        self._index = index
        self._worker = SearchWorker(self._answer, self._cut, "bm25-search")

    @classmethod
    def open(cls, index_dir: Path, mmap: bool = False, corpus_hash: str | None = None) -> Bm25Retriever:
        """Opens an index. Raises UnfitIndexError (absent, damaged, other corpus or tokenizer)."""
        opened = OpenedIndex(index_dir, corpus_hash)
        part = opened.bm25(VERSION)
        index = bm25_index.load(index_dir / part.folder, mmap)
        if index.scores["num_docs"] != len(opened.store):
            raise UnfitIndexError(
                f"index {str(index_dir)!r} has BM25 scores of {index.scores['num_docs']} passages and holds "
                f"{len(opened.store)}; build it again"
            )
        return cls(opened, index)

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query. Raises InputError (k, queries)."""
        k = checked_k(k)
        checked = checked_queries(queries)
        return await self._worker.search(checked, k) if checked else []

    def identity(self) -> dict[str, Any]:
        """Corpus and scoring."""
        part = self._opened.manifest.bm25
        assert part is not None
        return self._opened.identity("bm25") | {"tokenizer": part.tokenizer, "k1": part.k1, "b": part.b}

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id; unknown ids are left out."""
        return self._opened.store.by_ids(ids)

    async def close(self) -> None:
        """Ends the search thread."""
        await self._worker.close()

    def _answer(self, queries: list[str], k: int) -> list[SearchResult]:
        return [self._one(query, k) for query in queries]

    def _one(self, query: str, k: int) -> SearchResult:
        words = tokens(query)
        if not words:
            return SearchResult(hits=(), note="the query holds no words" if query else "the query is empty")
        found = bm25_index.search(self._index, words, k)
        if not found:
            return SearchResult(hits=(), note="no passage shares a word with the query")
        return SearchResult(hits=tuple(
            Hit(passage=self._opened.store[row], score=score, rank=rank) for rank, (row, score) in enumerate(found, 1)
        ))

    def _cut(self, result: SearchResult, k: int) -> SearchResult:
        hits = result.hits[:k]
        fewer = fewer_note(len(hits), k, len(self._opened.store)) if hits else ""
        return SearchResult(hits=hits, note=notes(result.note, fewer))
