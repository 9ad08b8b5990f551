"""Reading a retriever's reply: strict about its frame (here Search-R1's), lenient about each document."""

from __future__ import annotations

import hashlib
import math
from typing import Any

from trio_core.errors import RetrieverError
from trio_core.retrieval.base import SearchResult
from trio_core.retrieval.checks import notes
from trio_core.retrieval.records import clean, split_contents
from trio_core.values import Hit, Passage


def read_reply(reply: Any, queries: int, k: int, url: str) -> list[SearchResult]:
    """One result per query. Raises RetrieverError when the frame is not the protocol's."""
    lists = reply.get("result") if isinstance(reply, dict) else None
    if not isinstance(lists, list) or not all(isinstance(items, list) for items in lists):
        shape = f"the keys {sorted(map(str, reply))[:8]}" if isinstance(reply, dict) else type(reply).__name__
        raise RetrieverError(
            f"retriever {url} does not speak Search-R1's protocol: expected {{'result': [[...]]}}, got {shape}"
        )
    if len(lists) != queries:
        raise RetrieverError(f"retriever {url} answered {len(lists)} lists for {queries} queries; look into its log")
    return [read_result(items, k) for items in lists]


def read_result(items: list[Any], k: int) -> SearchResult:
    """The hits of one query: documents with or without a wrapper, id, title or score."""
    read = [_document(item) for item in items]
    usable = [found for found in read if found is not None]
    hits = tuple(Hit(passage=passage, score=score, rank=rank) for rank, (passage, score) in enumerate(usable[:k], 1))
    unusable = len(read) - len(usable)
    return SearchResult(hits=hits, note=notes(
        f"{unusable} unusable documents left out" if unusable else "",
        f"{len(hits)} of {k} passages found" if len(hits) < k else "",
    ))


def _document(item: Any) -> tuple[Passage, float | None] | None:
    wrapped = isinstance(item, dict) and "document" in item
    document = item["document"] if wrapped else item
    score = _score(item.get("score")) if isinstance(item, dict) else None
    if isinstance(document, str):
        document = {"contents": document}
    if not isinstance(document, dict):
        return None
    title, text = _texts(document)
    if not text.strip():
        return None
    given = document.get("id")
    known = isinstance(given, (str, int)) and not isinstance(given, bool) and str(given).strip()
    # The same text gets the same id in every run, so that repeats are still seen.
    name = str(given) if known else "sha256:" + hashlib.sha256(f"{title}\n{text}".encode()).hexdigest()[:16]
    return Passage(id=clean(name), title=title, text=text), score


def _texts(document: dict[str, Any]) -> tuple[str, str]:
    title = clean(str(document.get("title") or "")).strip()
    contents = document.get("contents")
    if isinstance(contents, str):
        first, rest = split_contents(clean(contents))
        return (first, rest) if first and (not title or title == first) else (title, clean(contents))
    text = document.get("text")
    return title, clean(text) if isinstance(text, str) else ""


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)
