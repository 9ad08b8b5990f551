"""What an index of a kind will take: bytes from FAISS's file layout, times and recall from measured figures.

Bytes are exact to a few thousandths. Times are those of plan_figures.py, scaled by how the work grows with passages, dimensions and cores;
recall is the measured one and falls by RECALL_A_DECADE whenever the corpus grows tenfold, which is a guess.
"""

from __future__ import annotations

import math

from trio_core.errors import InputError
from trio_core.retrieval.faiss_index import ROWS_PER_CLUSTER, TRAIN_ROWS, probes
from trio_core.retrieval.kinds import HNSW_LINKS, KINDS, clusters, code_bytes, factory_of
from trio_core.retrieval.plan_figures import (
    CORES,
    DIM,
    FIGURES,
    PROCESS_BYTES,
    RECALL_A_DECADE,
    STORE_BYTES,
    TEXT_BYTES,
)
from trio_core.values import Value

ID_BYTES = 8
HNSW_NODE_BYTES = 4 * (2 * HNSW_LINKS + 1) + ID_BYTES + 4
"""Links on the lowest level (twice HNSW_LINKS) and about one on the higher ones, offset, level."""


class Estimate(Value):
    """One kind of index. Bytes; seconds on the given cores; recall@5 against exact search."""

    kind: str
    factory: str
    index_bytes: int
    serve_bytes: int
    """Memory for serving: the index read whole, the tables of the passage store, process and encoder."""
    build_bytes: int
    """Memory while it is built: one part of the index, training vectors."""
    build_s: float | None
    """This and the two below are null for a kind that was not measured."""
    search_ms: float | None
    recall: float | None
    fits: bool


class IndexPlan(Value):
    """Estimates of all kinds, and the kind to take; null = none fits."""

    passages: int
    dim: int
    memory: int
    cores: int
    disk_bytes: int
    """Passages and their tables, and the vectors that a build keeps until it is done."""
    estimates: tuple[Estimate, ...]
    choice: str | None


def plan(passages: int, memory: int, dim: int = DIM, cores: int = CORES, search_ms: float = 1000.0, parts: int = 1) -> IndexPlan:
    """Estimates for so many passages and bytes of memory. The choice is the first of KINDS (the least compressed) that fits the memory and,
    as far as is known, answers a query in `search_ms`. Raises InputError."""
    for name, value in (("passages", passages), ("memory", memory), ("dim", dim), ("cores", cores), ("parts", parts)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    estimates = tuple(_estimate(kind, passages, memory, dim, cores, parts) for kind in KINDS)
    best = next((e for e in estimates if e.fits and (e.search_ms is None or e.search_ms <= search_ms)), None)
    return IndexPlan(
        passages=passages, dim=dim, memory=memory, cores=cores, disk_bytes=passages * (TEXT_BYTES + STORE_BYTES + 4 * dim),
        estimates=estimates, choice=best.kind if best else None,
    )


def size_bytes(kind: str, count: int, dim: int) -> int:
    """Bytes of the index file, and of its memory when it is read whole."""
    if kind == "Flat":
        return 4 * count * dim
    if kind == "HNSW":
        return count * (4 * dim + HNSW_NODE_BYTES)
    centroids = 4 * clusters(count) * dim
    if kind == "IVF-SQ8":
        return count * (dim + ID_BYTES) + centroids + 8 * dim
    if kind == "PQ":
        return count * (code_bytes(dim) + ID_BYTES) + centroids + 4 * 256 * dim
    raise InputError(f"{kind!r} is no kind of index; choose one of {', '.join(KINDS)}")


def _estimate(kind: str, count: int, memory: int, dim: int, cores: int, parts: int) -> Estimate:
    size, measured = size_bytes(kind, count, dim), FIGURES.get(kind)
    serve = size + count * STORE_BYTES + PROCESS_BYTES
    build_s = search_ms = None
    if measured is not None:
        build_s = measured.build_s * _build_work(kind, count, dim) / _build_work(kind, measured.passages, DIM) * CORES / cores
        # One query uses one core, or one a part.
        search_ms = measured.search_ms * _search_work(kind, count, dim) / _search_work(kind, measured.passages, DIM) / min(parts, cores)
    return Estimate(
        kind=kind, factory=factory_of(kind, count, dim), index_bytes=size, serve_bytes=serve,
        build_bytes=size // parts + 4 * dim * _training(kind, count) + PROCESS_BYTES, build_s=build_s, search_ms=search_ms,
        recall=_recall(kind, count), fits=serve <= memory,
    )


def _recall(kind: str, count: int) -> float | None:
    measured = FIGURES.get(kind)
    if kind == "Flat" or measured is None:
        return 1.0 if kind == "Flat" else None
    return round(min(max(measured.recall + RECALL_A_DECADE * math.log10(count / measured.passages), 0.0), 1.0), 3)


def _training(kind: str, count: int) -> int:
    return 0 if kind in ("Flat", "HNSW") else min(count, max(TRAIN_ROWS, ROWS_PER_CLUSTER * clusters(count)))


def _build_work(kind: str, count: int, dim: int) -> float:
    """Grows as the work does: copying, a search a passage, or k-means (10 rounds) and putting each passage into a cluster."""
    if kind == "Flat":
        return count * dim
    if kind == "HNSW":
        return count * math.log(count + 1) * dim
    return clusters(count) * dim * (10 * _training(kind, count) + count)


def _search_work(kind: str, count: int, dim: int) -> float:
    if kind == "Flat":
        return count * dim
    if kind == "HNSW":
        return math.log(count + 1) * dim
    lists = clusters(count)
    return (lists + count * probes(lists) / lists) * dim
