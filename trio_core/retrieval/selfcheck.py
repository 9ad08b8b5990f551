"""The last step of a build: the index must find its own passages (FlashRAG#103: every query, the same documents)."""

from __future__ import annotations

from typing import Any

from trio_core.errors import UnfitIndexError
from trio_core.retrieval import faiss_index
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.records import contents
from trio_core.retrieval.store import PassageStore

PROBES = 5
WITHIN = 10
SAME = 0.99999


def check_finds_itself(store: PassageStore, encoder: Encoder, index: Any) -> None:
    """Searches PROBES passages spread over the corpus. Raises UnfitIndexError.

    Compressed indexes may miss one; most must be found within the first WITHIN hits. Texts that differ must have
    vectors that differ.
    """
    if index.ntotal != len(store):
        raise UnfitIndexError(f"the index holds {index.ntotal} vectors for {len(store)} passages; build it again")
    rows = sorted({len(store) * i // PROBES for i in range(PROBES)})
    texts = [contents(store[row]) for row in rows]
    vectors = encoder.encode_passages(texts)
    if len(set(texts)) > 1 and float((vectors @ vectors.T).min()) > SAME:
        raise UnfitIndexError(
            f"different passages have the same vector (rows {rows}); the encoder {encoder.name!r} is damaged"
        )
    _, found = faiss_index.search(index, vectors, WITHIN)
    hit = sum(row in near for row, near in zip(rows, found.tolist(), strict=True))
    if hit * 2 < len(rows):
        raise UnfitIndexError(
            f"the finished index finds only {hit} of {len(rows)} of its own passages (rows {rows}); "
            "choose a less compressed retriever.factory, or check the corpus"
        )
