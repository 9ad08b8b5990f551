"""What an index of a kind will take: bytes from FAISS's file layout, times and recall from measured figures."""

from __future__ import annotations

from trio_core.retrieval.kinds import HNSW_LINKS, clusters, code_bytes

ID_BYTES = 8
HNSW_NODE_BYTES = 4 * (2 * HNSW_LINKS + 1) + ID_BYTES + 4
"""Links on the lowest level (twice HNSW_LINKS) and about one on the higher ones, offset, level."""


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
    raise ValueError(f"{kind!r} is no kind of index")
