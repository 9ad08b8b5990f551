"""Passage vectors in files of a few thousand rows, so that a killed build goes on where it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.progress import Meter, Progress
from trio_core.retrieval.records import contents
from trio_core.retrieval.store import PassageStore
from trio_core.retrieval.vectors import Matrix

SHARD_ROWS = 2048


class ShardedVectors:
    """Vectors of all passages of a store. The folder's name must stand for corpus and encoder."""

    def __init__(self, folder: Path, store: PassageStore, rows: int = SHARD_ROWS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = store
        self._rows = rows

    def encode(self, encoder: Encoder, batch_size: int, progress: Progress) -> None:
        """Encodes the shards that are not there yet."""
        starts = range(0, len(self._store), self._rows)
        missing = [start for start in starts if not self._is_done(start)]
        done = len(self._store) - sum(self._length(start) for start in missing)
        meter = Meter("encode", len(self._store), progress, already=done)
        for start in missing:
            shard = np.empty((self._length(start), encoder.spec().dim), dtype=np.float32)
            # A few batches per call: sentence-transformers sorts by length within one call, which saves padding.
            step = batch_size * 4
            for at in range(0, len(shard), step):
                texts = [contents(p) for p in self._store.slice(start + at, start + min(at + step, len(shard)))]
                shard[at:at + len(texts)] = encoder.encode_passages(texts, batch_size)
                done += len(texts)
                meter.at(done)
            self._write(start, shard)

    def __call__(self) -> Iterator[Matrix]:
        """All shards in order, one at a time."""
        for start in range(0, len(self._store), self._rows):
            yield np.load(self._path(start))

    def _path(self, start: int) -> Path:
        return self._folder / f"vectors-{start:010d}-{self._length(start)}.npy"

    def _length(self, start: int) -> int:
        return min(self._rows, len(self._store) - start)

    def _is_done(self, start: int) -> bool:
        return self._path(start).exists()

    def _write(self, start: int, shard: Matrix) -> None:
        # Renamed when complete: a file that bears the name is whole.
        temporary = self._folder / "unfinished.npy"
        np.save(temporary, shard)
        temporary.replace(self._path(start))
