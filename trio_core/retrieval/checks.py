"""Checks of what callers ask, shared by all retrievers."""

from __future__ import annotations

from collections.abc import Sequence

from trio_core.errors import InputError
from trio_core.retrieval.records import clean

MAX_K = 1000


def checked_k(k: object) -> int:
    """k as it is. Raises InputError for anything but a whole number in 1..MAX_K."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise InputError(f"k must be a whole number from 1 to {MAX_K}, got {k!r}")
    if not 1 <= k <= MAX_K:
        raise InputError(f"k must be from 1 to {MAX_K}, got {k}")
    return k


def checked_queries(queries: Sequence[str]) -> list[str]:
    """Queries with unusable characters replaced. Raises InputError for a bare string or a query that is no text."""
    if isinstance(queries, str):
        raise InputError(f"queries must be a list of texts, got the text {queries[:80]!r}")
    for query in queries:
        if not isinstance(query, str):
            raise InputError(f"a query must be text, got {query!r}")
    return [clean(query).strip() for query in queries]


def notes(*parts: str) -> str:
    """The non-empty notes as one."""
    return "; ".join(part for part in parts if part)


def fewer_note(found: int, k: int, corpus: int) -> str:
    """Says why fewer than k hits came back."""
    if found >= k:
        return ""
    if found == corpus:
        return f"{k} passages asked for, the corpus has {corpus}"
    return f"{found} of {k} passages found"


def is_fewer_note(note: str) -> bool:
    """Whether a note is one of `fewer_note`."""
    return note.endswith("passages found") or "passages asked for" in note
