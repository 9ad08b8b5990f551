"""The adapter between encoders and FAISS: whatever an encoder returns becomes (n, d) float32, contiguous, length 1.

FAISS answers other input with text-less assertions or, for NaN, silently with nothing (PITFALLS section 7). Inner
product of unit vectors is the cosine, so no passage wins by its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trio_core.errors import RetrieverError

Matrix = NDArray[np.float32]


def unit_matrix(vectors: Any, texts: Sequence[str]) -> Matrix:
    """One unit row per text. Raises RetrieverError for a wrong shape, NaN, infinity or zero, with the text's start."""
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim == 1 and len(texts) == 1:
        matrix = matrix[None, :]
    if matrix.ndim != 2 or matrix.shape[0] != len(texts):
        raise RetrieverError(f"the encoder returned shape {matrix.shape} for {len(texts)} texts")
    _refuse(~np.isfinite(matrix.sum(axis=1)), texts, "NaN or infinity")
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    _refuse(norms[:, 0] < 1e-12, texts, "a zero vector")
    return np.ascontiguousarray(matrix / norms)


def _refuse(bad: NDArray[np.bool_], texts: Sequence[str], what: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise RetrieverError(
            f"the encoder returned {what} for {int(bad.sum())} of {len(texts)} texts, first for {texts[row][:80]!r}; "
            "the model's files are damaged or its number format overflows"
        )
