"""Searching: bounds, notes, batches, prefixes, fusion."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.conftest import SpyEncoder
from trio_core.errors import InputError, RetrieverError
from trio_core.retrieval.base import Retriever, SearchResult
from trio_core.retrieval.bm25 import Bm25Retriever
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.dense import DenseRetriever
from trio_core.retrieval.fusion import HybridRetriever, reciprocal_rank_fusion
from trio_core.retrieval.index import build_index
from trio_core.retrieval.models import HashedWords, default_prefixes
from trio_core.retrieval.tokens import tokens


def open_kind(kind: str, folder: Path) -> Retriever:
    if kind == "dense":
        return DenseRetriever.open(folder, HashedWords())
    if kind == "bm25":
        return Bm25Retriever.open(folder)
    return HybridRetriever([DenseRetriever.open(folder, HashedWords()), Bm25Retriever.open(folder)])


def ids(result: SearchResult) -> list[str]:
    return [hit.passage.id for hit in result.hits]


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
async def test_every_kind_answers_in_order(indexed: Path, kind: str) -> None:
    retriever = open_kind(kind, indexed)
    first, second = await retriever.search(["capital of Italy", "novel by Herbert"], 2)
    assert ids(first)[:2] == ["2", "1"] and ids(second)[0] == "3"
    assert [hit.rank for hit in first.hits] == [1, 2]
    assert [p.id for p in retriever.passages(["3", "zz"])] == ["3"]
    assert retriever.identity()["passages"] == 3 and retriever.identity()["kind"] == kind
    assert await retriever.search([], 5) == []
    await retriever.close()


@pytest.mark.parametrize("kind", ["dense", "bm25", "hybrid"])
@pytest.mark.parametrize("k", [0, -3, 100000, "3", True, 2.0, None])
async def test_k_out_of_bounds(indexed: Path, kind: str, k: Any) -> None:
    retriever = open_kind(kind, indexed)
    with pytest.raises(InputError, match=f"got {k!r}"):
        await retriever.search(["x"], k)
    await retriever.close()


@pytest.mark.parametrize("queries", ["a bare string", [None], [5]])
async def test_queries_must_be_texts(indexed: Path, queries: Any) -> None:
    retriever = open_kind("bm25", indexed)
    with pytest.raises(InputError):
        await retriever.search(queries, 3)


async def test_k_larger_than_the_corpus_is_told(indexed: Path) -> None:
    for kind in ("dense", "bm25", "hybrid"):
        [result] = await open_kind(kind, indexed).search(["is capital novel"], 5)
        assert len(result.hits) == 3 and len(set(ids(result))) == 3
        assert "asked for, the corpus has 3" in result.note or "3 of 5" in result.note


async def test_queries_without_words(indexed: Path) -> None:
    bm25 = open_kind("bm25", indexed)
    blank, marks, unknown = await bm25.search(["  ", "?! …", "zyx"], 3)
    assert (blank.hits, marks.hits, unknown.hits) == ((), (), ())
    assert [blank.note, marks.note] == ["the query is empty", "the query holds no words"]
    assert "shares a word" in unknown.note
    [dense] = await open_kind("dense", indexed).search([""], 3)
    assert dense == SearchResult(hits=(), note="the query is empty")


async def test_lone_surrogate_in_a_query(indexed: Path) -> None:
    for kind in ("dense", "bm25"):
        [result] = await open_kind(kind, indexed).search(["Paris \ud800"], 1)
        assert ids(result) == ["1"]


async def test_cut_query_is_told(indexed: Path) -> None:
    [result, short] = await open_kind("dense", indexed).search(["Paris " * 3000, "Paris"], 1)
    assert result.note == "query cut to 512 tokens (it has 3,000)" and short.note == ""


async def test_concurrent_searches_share_batches_and_keep_their_own_k(indexed: Path) -> None:
    encoder = SpyEncoder()
    retriever = DenseRetriever.open(indexed, encoder)
    results = await asyncio.gather(*(retriever.search(["capital of Italy"] * 2, 1 + n % 3) for n in range(30)))
    assert [len(result[1].hits) for result in results] == [1 + n % 3 for n in range(30)]


async def test_failure_of_one_search_stays_with_it(indexed: Path) -> None:
    class Picky(HashedWords):
        def _embed(self, texts: Any, batch_size: int) -> Any:
            vectors = super()._embed(texts, batch_size)
            vectors[["poison" in text for text in texts]] = float("nan")
            return vectors

    retriever = DenseRetriever.open(indexed, Picky())
    asked = ["capital of Italy", "poison", "novel by Herbert"]
    good, bad, other = await asyncio.gather(*(retriever.search([q], 1) for q in asked), return_exceptions=True)
    assert isinstance(bad, RetrieverError) and "poison" in str(bad)
    assert isinstance(good, list) and isinstance(other, list) and ids(good[0]) == ["2"] and ids(other[0]) == ["3"]


async def test_cancelled_and_closed(indexed: Path) -> None:
    retriever = open_kind("dense", indexed)
    task = asyncio.create_task(retriever.search(["x"], 1))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ids((await retriever.search(["capital of Italy"], 1))[0]) == ["2"]
    await retriever.close()
    await retriever.close()
    with pytest.raises(RetrieverError, match="closed"):
        await retriever.search(["x"], 1)


def test_one_retriever_serves_several_event_loops(indexed: Path) -> None:
    retriever = open_kind("hybrid", indexed)
    for _ in range(2):
        assert ids(asyncio.run(retriever.search(["capital of Italy"], 1))[0]) == ["2"]


async def test_memory_mapped_equals_in_memory(indexed: Path) -> None:
    query = ["capital on the Seine"]
    for memory, mapped in (
        (DenseRetriever.open(indexed, HashedWords()), DenseRetriever.open(indexed, HashedWords(), mmap=True)),
        (Bm25Retriever.open(indexed), Bm25Retriever.open(indexed, mmap=True)),
    ):
        assert await memory.search(query, 3) == await mapped.search(query, 3)


async def test_prefixes_stand_exactly_once_on_both_sides(three: Path, tmp_path: Path) -> None:
    encoder = SpyEncoder("query: ", "passage: ")
    build_index(Corpus.open(three), tmp_path / "i", "dense", encoder)
    assert encoder.texts and all(t.startswith("passage: ") and t.count("passage: ") == 1 for t in encoder.texts)
    retriever = DenseRetriever.open(tmp_path / "i", encoder)
    encoder.texts.clear()
    await retriever.search(["capital of Italy", "query: capital of Italy"], 1)
    assert encoder.texts == ["query: capital of Italy"] * 2


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [
        ("intfloat/e5-base-v2", ("query: ", "passage: ")),
        ("models/multilingual-e5-large", ("query: ", "passage: ")),
        ("all-MiniLM-L6-v2", ("", "")),
        ("e5/other-model", ("", "")),
    ],
)
def test_default_prefixes(name: str, prefixes: tuple[str, str]) -> None:
    assert default_prefixes(name) == prefixes


def test_tokens() -> None:
    assert tokens("The Cities' novels, buses & U2") == ["the", "city", "novel", "buse", "u2"]
    assert tokens("Curaçao ÉTÉ") == ["curacao", "ete"]
    assert tokens("東京都 is Tokyo") == ["東京", "京都", "is", "tokyo"]
    assert tokens("हिन्दी") == ["हिन्दी"]
    assert tokens("¿?") == []


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4))
def test_fusion_equals_the_formula(rankings: list[list[str]]) -> None:
    fused = reciprocal_rank_fusion(rankings)
    names = {name for ranking in rankings for name in ranking}
    direct = {n: sum(1 / (60 + r.index(n) + 1) for r in rankings if n in r) for n in names}
    assert dict(fused) == pytest.approx(direct)
    assert [score for _, score in fused] == sorted(direct.values(), reverse=True)
