"""Making, saving and searching a BM25 index with bm25s."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trio_core.errors import UnfitIndexError

K1, B = 0.9, 0.4
"""Anserini's defaults, which published BM25 baselines on 100-word Wikipedia passages use."""


def build(documents: Iterable[Sequence[str]]) -> Any:
    """Index over tokenised passages in order; words are kept as numbers, so memory holds no second copy of the text."""
    import bm25s

    vocabulary: dict[str, int] = {}
    ids = [[vocabulary.setdefault(word, len(vocabulary)) for word in words] for words in documents]
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index(bm25s.tokenization.Tokenized(ids=ids, vocab=vocabulary or {"": 0}), show_progress=False)
    return index


def save(index: Any, folder: Path) -> None:
    """Writes the index into the folder."""
    index.save(str(folder), show_progress=False)


def load(folder: Path, mmap: bool) -> Any:
    """Reads an index, memory-mapped or into memory. Raises UnfitIndexError."""
    import bm25s

    try:
        return bm25s.BM25.load(str(folder), mmap=mmap, show_progress=False)
    except (OSError, ValueError, KeyError) as error:
        raise UnfitIndexError(f"the BM25 index in {str(folder)!r} cannot be read: {error}; build it again") from error


def search(index: Any, words: Sequence[str], k: int) -> list[tuple[int, float]]:
    """(row, score) of passages that share a word with the query, best first; equal scores in corpus order."""
    known = [word for word in words if word and word in index.vocab_dict]
    if not known:
        return []
    scores = np.asarray(index.get_scores(known))
    rows = np.flatnonzero(scores > 0)
    if len(rows) > k:
        # argpartition cuts ties arbitrarily: keep all that reach the k-th score, then order them.
        kth = np.partition(scores[rows], len(rows) - k)[len(rows) - k]
        rows = rows[scores[rows] >= kth]
    order = np.lexsort((rows, -scores[rows]))[:k]
    return [(int(rows[i]), float(scores[rows[i]])) for i in order]
