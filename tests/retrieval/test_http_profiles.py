"""The protocols of ReSearch, R1-Searcher and IRCoT against a stub server, with the odd replies that servers send."""

from __future__ import annotations

from typing import Any

import pytest

from tests.retrieval.test_http import Stub, stub  # noqa: F401
from trio_core.errors import RetrieverError
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.http import HttpRetriever
from trio_core.settings import HttpRetrieverSettings

DOC = {"id": "7", "contents": '"Paris"\nParis is in France.'}
Facts = tuple[str, str, str, float | None]


def retriever(stub: Stub, profile: str, path: str = "/retrieve", **more: Any) -> HttpRetriever:  # noqa: F811
    url = stub.url.replace("/retrieve", path)
    return HttpRetriever(HttpRetrieverSettings(url=url, profile=profile, **more))  # type: ignore[arg-type]


def facts(result: SearchResult) -> list[Facts]:
    return [(h.passage.id, h.passage.title, h.passage.text, h.score) for h in result.hits]


PARIS: Facts = ("7", "Paris", "Paris is in France.", None)


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ([[[DOC], [DOC]], [[0.5], [0.25]]], (0.5, 0.25)),
        ([[DOC], [DOC]], (None, None)),
        ([[[DOC], [DOC]], []], (None, None)),
        ([[[DOC], [DOC]], [["high"], [float("1e400")]]], (None, None)),
    ],
)
async def test_research_in_one_request(stub: Stub, reply: Any, scores: tuple[Any, Any]) -> None:  # noqa: F811
    stub.replies = [(200, reply)]
    found = await retriever(stub, "research", "/batch_search").search(["a", "b"], 3)
    assert stub.requests == [{"query": ["a", "b"], "top_n": 3, "return_score": True}]
    assert [facts(r) for r in found] == [[(*PARIS[:3], s)] for s in scores]


async def test_research_two_queries_with_and_without_anything_found(stub: Stub) -> None:  # noqa: F811
    for reply in ([[], []], [[[], []], [[], []]]):
        stub.replies = [(200, reply)]
        assert [facts(r) for r in await retriever(stub, "research", "/batch_search").search(["a", "b"], 1)] == [[], []]


@pytest.mark.parametrize("reply", [[[DOC], [0.5]], [DOC], [[], []], []])
async def test_research_query_by_query(stub: Stub, reply: Any) -> None:  # noqa: F811
    stub.replies = [(200, reply)]
    found = await retriever(stub, "research", "/search").search(["a", "b"], 1)
    assert sorted(r["query"] for r in stub.requests) == ["a", "b"]
    expected = [(*PARIS[:3], 0.5 if reply and isinstance(reply[0], list) else None)] if reply and reply[0] else []
    assert [facts(r) for r in found] == [expected, expected]


async def test_r1_searcher(stub: Stub) -> None:  # noqa: F811
    lines = ["7\tParis Paris is in France.", '8\t"He said ""no""."\tRome', "no tab at all", 5, ""]
    stub.replies = [(200, {"queries": ["a"], "answers": [lines]})]
    [result] = await retriever(stub, "r1_searcher", "/queries").search(["a"], 5)
    assert stub.requests == [{"queries": ["a"], "k": 5}]
    assert facts(result)[:2] == [("7", "", "Paris Paris is in France.", None), ("8", "Rome", 'He said "no".', None)]
    assert result.hits[2].passage.id.startswith("sha256:") and len(result.hits) == 3
    assert "2 unusable documents left out" in result.note and "3 of 5 passages found" in result.note


async def test_ircot(stub: Stub) -> None:  # noqa: F811
    item = {"id": "7", "title": "Paris", "paragraph_text": "Paris is in France.", "corpus_name": "musique", "url": ""}
    stub.replies = [(200, {"retrieval": [item, {**item, "id": "8", "score": 3}, {"title": "empty"}], "time_in_seconds": 0.1})]
    found = await retriever(stub, "ircot", "/retrieve/", corpus_name="musique").search(["a", "", "b"], 2)
    assert sorted(r["query_text"] for r in stub.requests) == ["a", "b"]
    assert stub.requests[0] == {
        "retrieval_method": "retrieve_from_elasticsearch", "max_hits_count": 2, "document_type": "paragraph_text",
        "corpus_name": "musique", "query_text": stub.requests[0]["query_text"],
    }
    assert facts(found[0]) == [PARIS, ("8", "Paris", "Paris is in France.", 3.0)]
    assert found[1].note == "the query is empty" and facts(found[2]) == facts(found[0])


@pytest.mark.parametrize("profile", ["research", "r1_searcher", "ircot"])
@pytest.mark.parametrize("reply", [{"detail": "x"}, 5, None, {"result": [[]]}, {"answers": [5]}, {"retrieval": {}}, [1, 2]])
async def test_replies_of_another_protocol(stub: Stub, profile: str, reply: Any) -> None:  # noqa: F811
    stub.replies = [(200, reply)]
    with pytest.raises(RetrieverError, match="check retriever.http.profile"):
        await retriever(stub, profile).search(["q"], 1)


@pytest.mark.parametrize(("profile", "reply"), [("research", [[DOC], [DOC], [DOC]]), ("r1_searcher", {"answers": [[], []]})])
async def test_lists_that_do_not_fit_the_queries(stub: Stub, profile: str, reply: Any) -> None:  # noqa: F811
    stub.replies = [(200, reply)]
    with pytest.raises(RetrieverError, match="lists for 1 queries"):
        await retriever(stub, profile).search(["q"], 1)
    assert retriever(stub, profile).identity()["profile"] == profile
