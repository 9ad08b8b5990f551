"""Named kinds of vector index and the FAISS factory each stands for, chosen by the number of passages."""

from __future__ import annotations

import math

KINDS = ("Flat", "HNSW", "IVF-SQ8", "PQ")
"""Names that `retriever.factory` takes beside FAISS's own factory strings."""
HNSW_LINKS = 32
MIN_CLUSTERS, MAX_CLUSTERS = 16, 65_536
DIMS_PER_CODE = 4
"""PQ keeps one byte for so many dimensions."""


def factory_of(name: str, count: int, dim: int) -> str:
    """FAISS factory string of a named kind for `count` passages of `dim` dimensions; any other string as it is."""
    if name == "HNSW":
        return f"HNSW{HNSW_LINKS}"
    if name == "IVF-SQ8":
        return f"IVF{clusters(count)},SQ8"
    if name == "PQ":
        # np: without polysemous training, which orders codes for a filter that nobody here uses (half a minute an index).
        return f"IVF{clusters(count)},PQ{code_bytes(dim)}np"
    return name


def clusters(count: int) -> int:
    """The power of two nearest to 2 * sqrt(count), within limits and at most a 39th of count (FAISS's least for training)."""
    wanted = 2 ** round(math.log2(2 * math.sqrt(max(count, 1))))
    most = 2 ** int(math.log2(max(count // 39, 1)))
    return max(1, min(max(wanted, MIN_CLUSTERS), MAX_CLUSTERS, most))


def code_bytes(dim: int) -> int:
    """Bytes of a PQ code: the largest divisor of `dim` that is at most dim / DIMS_PER_CODE."""
    return next(m for m in range(max(dim // DIMS_PER_CODE, 1), 0, -1) if dim % m == 0)
