"""Measured figures that `index plan` starts from: tests/benchmarks/results/index_million.md."""

from __future__ import annotations

from typing import NamedTuple

SOURCE = "tests/benchmarks/results/index_million.md"
DIM, CORES = 384, 1
"""What the figures were measured with."""


class Measured(NamedTuple):
    """One kind at so many passages: core seconds of the build, core milliseconds of a query (median), recall@5 against exact search."""

    passages: int
    build_s: float
    search_ms: float
    recall: float


FIGURES = {
    "Flat": Measured(1_000_000, 9.45, 150.1, 1.0),
    "IVF-SQ8": Measured(1_000_000, 70.7, 2.120, 0.973),
}
RECALL_A_DECADE = -0.013
"""IVF-SQ8 from 100,000 to 1,000,000 passages (.986 to .973); for other kinds and larger corpora a guess."""
ENCODED_A_SECOND = 12.0
"""100-word passages by MiniLM on one core of the measured machine, which was shared (384 passages, 32 core seconds)."""
TEXT_BYTES = 590
"""Of a passage in the store: mean of 11,587 Wikipedia passages of 89 words (HotpotQA's)."""
STORE_BYTES = 24
"""Of a passage in the store's tables: offset, hash of the id, row."""
PROCESS_BYTES = 800_000_000
"""The app with MiniLM loaded: 700 MB, rounded up."""
