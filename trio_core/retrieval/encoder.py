"""Text -> unit vectors. `Encoder` holds what all encoders share: prefixes, shape checks, one text thread at a time."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from trio_core.retrieval.vectors import Matrix, unit_matrix
from trio_core.values import Value


class EncoderSpec(Value):
    """What must be equal for two sets of vectors to be comparable; stored in the index manifest."""

    name: str
    revision: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = ""
    dim: int
    max_tokens: int | None = None

    def differences(self, other: EncoderSpec) -> list[str]:
        """Fields that make vectors incomparable, as `name: 'a' here, 'b' there`. An unknown revision differs from none."""
        found = []
        for field in ("name", "dim", "query_prefix", "passage_prefix", "pooling", "revision"):
            mine, theirs = getattr(self, field), getattr(other, field)
            if mine != theirs and (field not in ("pooling", "revision") or (mine and theirs)):
                found.append(f"{field}: {mine!r} against {theirs!r}")
        return found


class Encoder(ABC):
    """Base of all encoders. Subclasses embed plain texts; prefixes are put on here, exactly once."""

    def __init__(self) -> None:
        # A fast tokenizer used by two threads raises "Already borrowed" (tokenizers#537).
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def name(self) -> str:
        """Name without loading anything."""

    @abstractmethod
    def spec(self) -> EncoderSpec:
        """Identity of the vectors; loads the model. Raises ModelFileError if it cannot be loaded."""

    @abstractmethod
    def _embed(self, texts: Sequence[str], batch_size: int) -> Any:
        """Vectors of texts that already have their prefix."""

    @abstractmethod
    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, uncut."""

    def encode_queries(self, queries: Sequence[str], batch_size: int = 64) -> Matrix:
        """Unit vectors of queries, (n, dim) float32. Raises RetrieverError for unusable vectors."""
        return self._encode([with_prefix(query, self.spec().query_prefix) for query in queries], batch_size)

    def encode_passages(self, texts: Sequence[str], batch_size: int = 64) -> Matrix:
        """Unit vectors of passages (title and text), (n, dim) float32. Raises RetrieverError for unusable vectors."""
        return self._encode([with_prefix(text, self.spec().passage_prefix) for text in texts], batch_size)

    def cut_notes(self, queries: Sequence[str]) -> list[str]:
        """For each query: '' or `query cut to n tokens (it has m)`; encoders cut silently."""
        limit = self.spec().max_tokens
        texts = [with_prefix(query, self.spec().query_prefix) for query in queries]
        # A token is at least one byte, so that short queries need no second pass through the tokenizer.
        long = [row for row, text in enumerate(texts) if limit is not None and len(text.encode()) > limit - 2]
        notes = [""] * len(texts)
        if not long:
            return notes
        with self._lock:
            counts = self._count_tokens([texts[row] for row in long])
        for row, count in zip(long, counts, strict=True):
            if limit is not None and count > limit:
                notes[row] = f"query cut to {limit} tokens (it has {count:,})"
        return notes

    def _encode(self, texts: list[str], batch_size: int) -> Matrix:
        with self._lock:
            vectors = self._embed(texts, batch_size)
        return unit_matrix(vectors, texts)


def with_prefix(text: str, prefix: str) -> str:
    """The text with the prefix in front, unless it already stands there."""
    return text if prefix and text.startswith(prefix) else prefix + text
