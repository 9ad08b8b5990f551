"""What one process measures of one index: building it, or opening and searching it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from trio_core.retrieval import faiss_index, native
from trio_core.retrieval.kinds import factory_of
from trio_core.retrieval.vectors import Matrix

K = 5
TIMED = 100
"""Queries whose time is taken, one by one."""
SHARD = 10_000


def built(folder: Path, kind: str, size: int, parts: int, threads: int) -> dict[str, Any]:
    """Builds the index and writes it; seconds and bytes."""
    faiss = native.faiss()
    faiss.omp_set_num_threads(threads)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")[:size]
    factory = factory_of(kind, size, vectors.shape[1])
    place = _place(folder, kind, size, parts)
    place.mkdir(parents=True, exist_ok=True)

    def shards() -> Iterator[Matrix]:
        return (np.array(vectors[at:at + SHARD]) for at in range(0, size, SHARD))

    cpu, began = time.process_time(), time.monotonic()
    faiss_index.build(place, vectors.shape[1], factory, size, shards, parts)
    return {
        "kind": kind, "passages": size, "parts": parts, "dim": vectors.shape[1], "factory": factory, "threads": threads,
        "build_s": time.monotonic() - began, "build_cpu_s": time.process_time() - cpu,
        "bytes": sum(path.stat().st_size for path in faiss_index.files(place)),
    }


def opened(folder: Path, kind: str, size: int, parts: int, threads: int, mmap: bool) -> dict[str, Any]:
    """Loads and searches it; the exact neighbours are those that `Flat` in one part found."""
    native.faiss().omp_set_num_threads(threads)
    queries = {name: np.load(folder / f"{name}.npy") for name in ("queries", "questions")}
    before, began = psutil.Process().memory_info().rss, time.monotonic()
    index = faiss_index.load(_place(folder, kind, size, parts), mmap)
    load_s = time.monotonic() - began
    faiss_index.search(index, queries["queries"][-1:], K)
    times, cpu = [], []
    for query in queries["queries"][:TIMED]:
        at, used = time.perf_counter(), time.process_time()
        faiss_index.search(index, query[None], K)
        times.append((time.perf_counter() - at) * 1000)
        cpu.append((time.process_time() - used) * 1000)
    resident = (psutil.Process().memory_info().rss - before) / 1e6
    found = {name: faiss_index.search(index, matrix, K)[1] for name, matrix in queries.items()}
    truth = folder / f"truth-{size}.npz"
    if not truth.exists():
        assert (kind, parts) == ("Flat", 1), "Flat is measured first"
        np.savez(truth, **found)
    exact = np.load(truth)
    recall = {name: float(np.mean([len(set(a) & set(b)) / K for a, b in zip(rows.tolist(), exact[name].tolist(), strict=True)]))
              for name, rows in found.items()}
    return {
        "load_s": load_s, "resident_mb": resident, "p50_ms": float(np.percentile(times, 50)), "p95_ms": float(np.percentile(times, 95)),
        "cpu_p50_ms": float(np.percentile(cpu, 50)), "cpu_p95_ms": float(np.percentile(cpu, 95)),
        "recall_at_5": recall["queries"], "recall_at_5_questions": recall["questions"], "load": os.getloadavg()[0],
    }


def _place(folder: Path, kind: str, size: int, parts: int) -> Path:
    return folder / f"{kind}-{size}-{parts}"
