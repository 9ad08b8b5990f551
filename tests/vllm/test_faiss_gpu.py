"""FAISS on a GPU (requirements/gpu.txt): an index that goes there answers as it does on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from trio_core.retrieval import faiss_index, native
from trio_core.retrieval.vectors import Matrix

pytestmark = pytest.mark.slow
ROWS, DIM = 20_000, 64


@pytest.mark.parametrize("factory", ["Flat", "IVF64,SQ8", "IVF64,PQ16"])
def test_the_gpu_finds_what_the_cpu_finds(factory: str, tmp_path: Path) -> None:
    faiss = native.faiss()
    if not hasattr(faiss, "StandardGpuResources") or faiss.get_num_gpus() < 1:
        pytest.skip("no GPU, or faiss-cpu instead of faiss-gpu (requirements/gpu.txt)")
    vectors = np.random.default_rng(0).standard_normal((ROWS, DIM), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def shards() -> Iterator[Matrix]:
        yield vectors

    faiss_index.build(tmp_path, DIM, factory, ROWS, shards)
    on_cpu, on_gpu = faiss_index.load(tmp_path, mmap=True), faiss_index.load(tmp_path, mmap=False)
    assert "Gpu" in type(faiss.downcast_index(on_gpu)).__name__
    rows = [faiss_index.search(index, vectors[:200], 5)[1] for index in (on_cpu, on_gpu)]
    same = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(*(r.tolist() for r in rows), strict=True)])
    assert same > 0.95 and (rows[1][:, 0] == np.arange(200)).mean() > 0.9
