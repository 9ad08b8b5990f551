"""Making, saving and searching a FAISS index (inner product of unit vectors)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trio_core.errors import SettingsError, UnfitIndexError
from trio_core.retrieval import native
from trio_core.retrieval.vectors import Matrix

FILE = "index.faiss"
TRAIN_ROWS = 262_144
"""At most so many vectors train the clusters and codes of an IVF/PQ/SQ index."""
MIN_PROBES = 8
EF_SEARCH = 128

logger = logging.getLogger(__name__)


def build(dim: int, factory: str, count: int, shards: Callable[[], Iterator[Matrix]]) -> Any:
    """Index over all shards in order. Raises SettingsError for a factory string that FAISS or this corpus cannot use."""
    faiss = native.faiss()
    try:
        index = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(
            f"retriever.factory {factory!r} is no FAISS factory string for {dim} dimensions ({_reason(error)}); "
            "examples: 'Flat', 'HNSW32', 'IVF256,Flat', 'IVF4096,SQ8'"
        ) from error
    try:
        if not index.is_trained:
            index.train(_sample(count, shards))
        for shard in shards():
            index.add(shard)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(
            f"retriever.factory {factory!r} cannot be made of {count} passages ({_reason(error)}); "
            "use fewer clusters, or 'Flat' for a small corpus"
        ) from error
    return index


def save(index: Any, folder: Path) -> None:
    """Writes the index into the folder. Raises OSError; FAISS itself has a RuntimeError for a full disk."""
    try:
        native.faiss().write_index(index, str(folder / FILE))
    except RuntimeError as error:
        raise OSError(_reason(error)) from error


def load(folder: Path, mmap: bool) -> Any:
    """Reads an index, memory-mapped or into memory, and sets its search width. Raises UnfitIndexError."""
    faiss = native.faiss()
    path = folder / FILE
    if not mmap:
        _warn_if_too_big(path)
    try:
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP if mmap else 0)
    except RuntimeError as error:
        raise UnfitIndexError(f"{str(path)!r} cannot be read ({_reason(error)}); build the index again") from error
    _widen(faiss, index)
    return index


def search(index: Any, queries: Matrix, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores and rows, best first; row -1 where fewer than k were found. Raises UnfitIndexError for a wrong dimension."""
    if queries.shape[1] != index.d:
        raise UnfitIndexError(f"the index has {index.d} dimensions, the query's vector {queries.shape[1]}")
    scores, rows = index.search(queries, max(1, min(k, index.ntotal)))
    return scores, rows


def _widen(faiss: Any, index: Any) -> None:
    # FAISS searches 1 cluster and 16 graph nodes by default, which loses too many neighbours.
    inner = faiss.downcast_index(index)
    if isinstance(inner, faiss.IndexIVF):
        inner.nprobe = min(inner.nlist, max(MIN_PROBES, inner.nlist // 64))
    elif hasattr(inner, "hnsw"):
        inner.hnsw.efSearch = max(EF_SEARCH, inner.hnsw.efSearch)
    elif isinstance(inner, faiss.IndexPreTransform):
        _widen(faiss, inner.index)


def _sample(count: int, shards: Callable[[], Iterator[Matrix]]) -> Matrix:
    step = max(1, -(-count // TRAIN_ROWS))
    return np.ascontiguousarray(np.concatenate([shard[::step] for shard in shards()]))


def _warn_if_too_big(path: Path) -> None:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        size = path.stat().st_size
    except (OSError, ValueError, AttributeError):  # no such figure on this system
        return
    if size > 0.7 * total:
        logger.warning(
            "index of %.1f GB on a machine with %.1f GB of memory: set retriever.mmap to true", size / 1e9, total / 1e9
        )


def _reason(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1].split("Error: ")[-1][:200] if lines else type(error).__name__
