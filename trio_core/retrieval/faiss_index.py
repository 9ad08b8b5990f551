"""Making, saving and searching a FAISS index (inner product of unit vectors).

A large index may lie in several parts, `index-00.faiss`, `index-01.faiss`, …: rows in order, trained once. A build then
holds one part in memory at a time, and one query is searched in all parts at once, each in a thread of its own.
"""

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
TRAIN_ROWS = 131_072
"""So many vectors train the clusters and codes of an IVF/PQ/SQ index, or ROWS_PER_CLUSTER a cluster where that is more."""
ROWS_PER_CLUSTER = 40
"""FAISS warns below 39."""
MIN_PROBES = 8
EF_SEARCH = 128

logger = logging.getLogger(__name__)


def build(folder: Path, dim: int, factory: str, count: int, shards: Callable[[], Iterator[Matrix]], parts: int = 1) -> None:
    """Writes an index over all shards, in order, into the folder.

    Raises SettingsError for a factory string that FAISS or this corpus cannot use, OSError for a full disk.
    """
    faiss = native.faiss()
    try:
        index = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(
            f"retriever.factory {factory!r} is no FAISS factory string for {dim} dimensions ({_reason(error)}); "
            "examples: 'Flat', 'HNSW', 'IVF-SQ8', 'PQ', 'IVF256,Flat'"
        ) from error
    try:
        if not index.is_trained:
            index.train(_sample(count, _clusters(faiss, index), shards))
        rows = _rows(shards)
        for number in range(parts):
            part = faiss.clone_index(index) if parts > 1 else index
            for matrix in rows(count * (number + 1) // parts):
                part.add(matrix)
            _save(faiss, part, folder / (FILE if parts == 1 else f"index-{number:02d}.faiss"))
    except (RuntimeError, AssertionError) as error:
        raise SettingsError(
            f"retriever.factory {factory!r} cannot be made of {count} passages ({_reason(error)}); "
            "use fewer clusters, or 'Flat' for a small corpus"
        ) from error


def files(folder: Path) -> list[Path]:
    """The index's file or, in order, those of its parts."""
    return sorted(folder.glob("index*.faiss"))


def load(folder: Path, mmap: bool) -> Any:
    """Reads an index, memory-mapped or into memory (the GPU's where there is one). Raises UnfitIndexError."""
    faiss = native.faiss()
    found = files(folder)
    if not found:
        raise UnfitIndexError(f"{str(folder / FILE)!r} is not there; build the index again")
    if not mmap:
        _warn_if_too_big(folder, sum(path.stat().st_size for path in found))
    indexes = [_read(faiss, path, mmap) for path in found]
    if len(indexes) == 1:
        return indexes[0] if mmap else on_gpu(faiss, indexes[0])
    whole = faiss.IndexShards(indexes[0].d, True, True)  # threaded, rows numbered through
    for index in indexes:
        whole.add_shard(index)
    return whole if mmap else on_gpu(faiss, whole)


def on_gpu(faiss: Any, index: Any) -> Any:
    """The index on all GPUs where faiss-gpu finds one and knows the kind (not HNSW); else the index as it is."""
    if not hasattr(faiss, "StandardGpuResources") or faiss.get_num_gpus() < 1:
        return index
    try:
        return faiss.index_cpu_to_all_gpus(index)
    except RuntimeError as error:
        logger.warning("the index stays on the CPU: %s", _reason(error))
        return index


def search(index: Any, queries: Matrix, k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Scores and rows, best first; row -1 where fewer than k were found. Raises UnfitIndexError for a wrong dimension."""
    if queries.shape[1] != index.d:
        raise UnfitIndexError(f"the index has {index.d} dimensions, the query's vector {queries.shape[1]}")
    scores, rows = index.search(queries, max(1, min(k, index.ntotal)))
    return scores, rows


def probes(clusters: int) -> int:
    """Clusters searched of so many."""
    return min(clusters, max(MIN_PROBES, clusters // 64))


def _widen(faiss: Any, index: Any) -> None:
    # FAISS searches 1 cluster and 16 graph nodes by default, which loses too many neighbours.
    inner = faiss.downcast_index(index)
    if isinstance(inner, faiss.IndexIVF):
        inner.nprobe = probes(inner.nlist)
    elif hasattr(inner, "hnsw"):
        inner.hnsw.efSearch = max(EF_SEARCH, inner.hnsw.efSearch)
    elif isinstance(inner, faiss.IndexPreTransform):
        _widen(faiss, inner.index)


def _read(faiss: Any, path: Path, mmap: bool) -> Any:
    try:
        # IO_FLAG_MMAP maps inverted lists only and reads Flat and HNSW whole; the newer flag maps every kind.
        index = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC if mmap else 0)
    except RuntimeError as error:
        raise UnfitIndexError(f"{str(path)!r} cannot be read ({_reason(error)}); build the index again") from error
    _widen(faiss, index)
    return index


def _save(faiss: Any, index: Any, path: Path) -> None:
    try:
        faiss.write_index(index, str(path))
    except RuntimeError as error:  # FAISS's word for a full disk
        raise OSError(_reason(error)) from error


def _rows(shards: Callable[[], Iterator[Matrix]]) -> Callable[[int], Iterator[Matrix]]:
    """A reader that goes on where its last call ended: `rows(stop)` gives the rows up to `stop`."""
    stream, at, rest = shards(), 0, None

    def rows(stop: int) -> Iterator[Matrix]:
        nonlocal at, rest
        while at < stop:
            matrix = next(stream) if rest is None else rest
            taken, left = matrix[: stop - at], matrix[stop - at :]
            at, rest = at + len(taken), left if len(left) else None
            yield np.ascontiguousarray(taken)

    return rows


def _clusters(faiss: Any, index: Any) -> int:
    inner = faiss.downcast_index(index)
    if isinstance(inner, faiss.IndexPreTransform):
        return _clusters(faiss, inner.index)
    return inner.nlist if isinstance(inner, faiss.IndexIVF) else 0


def _sample(count: int, clusters: int, shards: Callable[[], Iterator[Matrix]]) -> Matrix:
    step = max(1, count // max(TRAIN_ROWS, ROWS_PER_CLUSTER * clusters))
    return np.ascontiguousarray(np.concatenate([shard[::step] for shard in shards()]))


def _warn_if_too_big(folder: Path, size: int) -> None:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):  # no such figure on this system
        return
    if size > 0.7 * total:
        logger.warning(
            "index %s of %.1f GB on a machine with %.1f GB of memory: set retriever.mmap to true", folder.name, size / 1e9, total / 1e9
        )


def _reason(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return lines[-1].split("Error: ")[-1][:200] if lines else type(error).__name__
