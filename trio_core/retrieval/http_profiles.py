"""The protocols that a remote retriever may speak: what is sent, and how its replies are read.

    search_r1    POST …/retrieve      {queries, topk, return_scores: true} -> {result: [[{document: {id, contents}, score}]]}
    research     POST …/batch_search  {query: [...], top_n, return_score: true} -> [[[{id, contents}]], [[score]]] or [[{id, contents}]]
                 POST …/search        the same for one query: {query, …} -> [[{id, contents}], [score]] or [{id, contents}]
    r1_searcher  POST …/queries       {queries, k} -> {queries, answers: [["id<tab>title text"]]}
    ircot        POST …/retrieve/     {query_text, max_hits_count, …}, one query each -> {retrieval: [{id, title, paragraph_text, score}]}

Search-R1's dense server fails on `return_scores: false`, so scores are always asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from trio_core.errors import RetrieverError
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.http_reply import read_reply, read_result
from trio_core.settings import HttpRetrieverSettings


class Profile(NamedTuple):
    """One protocol: the bodies for a list of queries, and the results in what came back, body by body."""

    bodies: Callable[[Sequence[str], int, HttpRetrieverSettings], list[dict[str, Any]]]
    read: Callable[[Sequence[Any], int, int, str], list[SearchResult]]
    """(replies, number of queries, k, address for messages) -> one result a query. Raises RetrieverError."""


def profile_of(settings: HttpRetrieverSettings) -> Profile:
    """The protocol of the settings. ReSearch's two addresses differ in how many queries they take."""
    if settings.profile == "research" and settings.url.rstrip("/").endswith("/search"):
        return Profile(_research_each, _read_research_each)
    return PROFILES[settings.profile]


def _search_r1(queries: Sequence[str], k: int, _settings: HttpRetrieverSettings) -> list[dict[str, Any]]:
    return [{"queries": list(queries), "topk": k, "return_scores": True}]


def _read_search_r1(replies: Sequence[Any], queries: int, k: int, url: str) -> list[SearchResult]:
    return read_reply(replies[0], queries, k, url)


def _research(queries: Sequence[str], k: int, _settings: HttpRetrieverSettings) -> list[dict[str, Any]]:
    return [{"query": list(queries), "top_n": k, "return_score": True}]


def _research_each(queries: Sequence[str], k: int, _settings: HttpRetrieverSettings) -> list[dict[str, Any]]:
    return [{"query": query, "top_n": k, "return_score": True} for query in queries]


def _read_research(replies: Sequence[Any], queries: int, k: int, url: str) -> list[SearchResult]:
    reply = replies[0]
    if not isinstance(reply, list) or not all(isinstance(part, list) for part in reply):
        raise _foreign(url, "ReSearch's", "[[documents of each query], [scores of each query]]", reply)
    # Documents and scores are both lists of lists; documents alone hold objects or texts one level down.
    with_scores = len(reply) == 2 and bool(reply[0]) and all(isinstance(items, list) for items in reply[0])
    documents, scores = (reply[0], reply[1]) if with_scores else (reply, [])
    _counted(len(documents), queries, url)
    return [_scored(items, scores[n] if n < len(scores) else [], k) for n, items in enumerate(documents)]


def _read_research_each(replies: Sequence[Any], queries: int, k: int, url: str) -> list[SearchResult]:
    results = []
    for reply in replies:
        if not isinstance(reply, list):
            raise _foreign(url, "ReSearch's", "[[documents], [scores]]", reply)
        with_scores = len(reply) == 2 and all(isinstance(part, list) for part in reply)
        results.append(_scored(reply[0], reply[1], k) if with_scores else _scored(reply, [], k))
    return results


def _scored(documents: Sequence[Any], scores: Any, k: int) -> SearchResult:
    known = scores if isinstance(scores, list) else []
    return read_result([{"document": d, "score": known[n] if n < len(known) else None} for n, d in enumerate(documents)], k)


def _r1_searcher(queries: Sequence[str], k: int, _settings: HttpRetrieverSettings) -> list[dict[str, Any]]:
    return [{"queries": list(queries), "k": k}]


def _read_r1_searcher(replies: Sequence[Any], queries: int, k: int, url: str) -> list[SearchResult]:
    reply = replies[0]
    lists = reply.get("answers") if isinstance(reply, dict) else None
    if not isinstance(lists, list) or not all(isinstance(items, list) for items in lists):
        raise _foreign(url, "R1-Searcher's", "{'answers': [[...]]}", reply)
    _counted(len(lists), queries, url)
    return [read_result([_line(item) for item in items], k) for items in lists]


def _line(item: Any) -> Any:
    """A line of a corpus file: id and text, or DPR's id, text and title; anything else is left as it is."""
    parts = item.split("\t") if isinstance(item, str) else []
    if len(parts) == 2:
        return {"id": parts[0], "text": parts[1]}
    if len(parts) == 3:
        return {"id": parts[0], "text": parts[1].strip('"').replace('""', '"'), "title": parts[2]}
    return {"text": item} if isinstance(item, str) else item


def _ircot(queries: Sequence[str], k: int, settings: HttpRetrieverSettings) -> list[dict[str, Any]]:
    fixed = {"retrieval_method": "retrieve_from_elasticsearch", "max_hits_count": k, "document_type": settings.document_type}
    named = {"corpus_name": settings.corpus_name} if settings.corpus_name else {}
    return [{**fixed, **named, "query_text": query} for query in queries]


def _read_ircot(replies: Sequence[Any], queries: int, k: int, url: str) -> list[SearchResult]:
    results = []
    for reply in replies:
        items = reply.get("retrieval") if isinstance(reply, dict) else None
        if not isinstance(items, list):
            raise _foreign(url, "IRCoT's", "{'retrieval': [...]}", reply)
        results.append(read_result([_paragraph(item) for item in items], k))
    return results


def _paragraph(item: Any) -> Any:
    return item | {"text": item.get("paragraph_text")} if isinstance(item, dict) else item


def _counted(lists: int, queries: int, url: str) -> None:
    if lists != queries:
        raise RetrieverError(f"retriever {url} answered {lists} lists for {queries} queries; look into its log")


def _foreign(url: str, whose: str, expected: str, reply: Any) -> RetrieverError:
    shape = f"the keys {sorted(map(str, reply))[:8]}" if isinstance(reply, dict) else type(reply).__name__
    return RetrieverError(
        f"retriever {url} does not speak {whose} protocol: expected {expected}, got {shape}; check retriever.http.profile"
    )


PROFILES = {
    "search_r1": Profile(_search_r1, _read_search_r1),
    "research": Profile(_research, _read_research),
    "r1_searcher": Profile(_r1_searcher, _read_r1_searcher),
    "ircot": Profile(_ircot, _read_ircot),
}
