"""Texts of runs as unit vectors: each text once, sub-queries and questions as queries, gold passages as passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.momentum import TINY, Floats
from trio_core.parsing import same_query

KEPT = 50_000
"""Most vectors that stay in memory (MiniLM: 150 MB)."""


class TextEncoder(Protocol):
    """What is used of an encoder (`trio_core.retrieval.encoder.Encoder`)."""

    @property
    def name(self) -> str:
        """For the notes."""

    def encode_queries(self, queries: Sequence[str], batch_size: int = 64) -> Any:
        """Unit vectors, (n, dim)."""

    def encode_passages(self, texts: Sequence[str], batch_size: int = 64) -> Any:
        """Unit vectors, (n, dim)."""


class Vectors:
    """A cache over an encoder."""

    def __init__(self, encoder: TextEncoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._known: dict[tuple[bool, str], Floats] = {}

    def queries(self, texts: Sequence[str]) -> Floats:
        """(n, dim). Raises RetrieverError, ModelFileError."""
        return self._of(False, texts)

    def passages(self, texts: Sequence[str]) -> Floats:
        """(n, dim)."""
        return self._of(True, texts)

    def warm(self, runs: Sequence[RunFacts], gold: Mapping[str, Mapping[str, str]]) -> None:
        """Encodes all texts of the runs in two batches."""
        self.queries([text for r in runs for text in (r.question, *(q.text for s in r.steps for q in s.queries))])
        self.passages([text for texts in gold.values() for text in texts.values()])

    def _of(self, passage: bool, texts: Sequence[str]) -> Floats:
        missing = list(dict.fromkeys(t for t in texts if (passage, t) not in self._known))
        if missing:
            if len(self._known) + len(missing) > KEPT:
                self._known.clear()
                missing = list(dict.fromkeys(texts))
            encode = self._encoder.encode_passages if passage else self._encoder.encode_queries
            for text, vector in zip(missing, np.asarray(encode(missing), dtype=np.float64), strict=True):
                self._known[(passage, text)] = vector
        return np.array([self._known[(passage, t)] for t in texts])


def trajectory(run: RunFacts, vectors: Vectors) -> Floats:
    """(T+1, dim): the question, then the mean of each search round's sub-queries.

    First rounds that search the question itself (TRIO) are left out: they are no step away from it.
    """
    rounds = [[q.text for q in s.queries if q.searched] for s in run.search_rounds]
    while rounds and all(same_query(text, run.question) for text in rounds[0]):
        rounds.pop(0)
    start = vectors.queries([run.question])
    points = [vectors.queries(texts).mean(axis=0) for texts in rounds]
    return np.vstack([start, *points]) if points else start


def moves(points: Floats) -> bool:
    """True where at least one step has a length."""
    return len(points) > 1 and bool((np.linalg.norm(np.diff(points, axis=0), axis=1) > TINY).any())


def gold_texts(runs: Sequence[RunFacts], more: Mapping[tuple[str, str], str] | None = None) -> dict[str, dict[str, str]]:
    """Run id -> texts of its gold passages, by passage id: as some run of the same corpus found them, or as `more` knows them.

    `more`: (corpus, passage id) -> text.
    """
    known: dict[tuple[str, str], str] = dict(more or {})
    for run in runs:
        known |= {(run.corpus, i): text for i, text in run.gold_texts.items()}
    return {run.id: {i: known[(run.corpus, i)] for i in run.gold if (run.corpus, i) in known} for run in runs}
