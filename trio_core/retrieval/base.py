"""What a method may ask of a retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from trio_core.values import Hit, Passage, Value


class SearchResult(Value):
    """Hits of one query, best first. `note` says what the user should know (fewer than k, query cut to n tokens)."""

    hits: tuple[Hit, ...]
    note: str = ""


class Retriever(Protocol):
    """A searchable corpus. Coroutine-safe; neither encoding nor searching blocks the event loop."""

    async def search(self, queries: Sequence[str], k: int) -> list[SearchResult]:
        """One result per query, in order. Raises InputError for k outside 1..1000, RetrieverError otherwise."""

    def identity(self) -> dict[str, Any]:
        """Corpus, encoder, counts: what a run records about where its passages came from."""

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id (gold evidence); unknown ids are skipped. Empty where the retriever cannot look up."""

    async def close(self) -> None:
        """Frees threads and connections."""
