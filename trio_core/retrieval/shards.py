"""Passage vectors in files of a few thousand rows, so that a killed build goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from trio_core.errors import UnfitIndexError
from trio_core.retrieval.encoder import Encoder, EncoderSpec
from trio_core.retrieval.models import load_encoder
from trio_core.retrieval.progress import Meter, Progress
from trio_core.retrieval.records import contents
from trio_core.retrieval.store import PassageStore
from trio_core.retrieval.vectors import Matrix
from trio_core.scale.shards import ShardEngine, map_shards

SHARD_ROWS = 2048


class ShardedVectors:
    """Vectors of all passages of a store. The folder's name must stand for corpus and encoder."""

    def __init__(self, folder: Path, store: PassageStore, rows: int = SHARD_ROWS) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._store = store
        self._rows = rows

    def encode(self, encoder: Encoder, batch_size: int, progress: Progress, engine: ShardEngine | None = None) -> None:
        """Encodes the shards that are not there yet: with this encoder, or with its like on the workers of `engine`."""
        starts = range(0, len(self._store), self._rows)
        missing = [start for start in starts if not self._is_done(start)]
        done = len(self._store) - sum(self._length(start) for start in missing)
        meter = Meter("encode", len(self._store), progress, already=done)
        if engine is None or engine.name == "local":
            for start in missing:
                self._write(start, encode_texts(encoder, batch_size, self._texts(start), lambda n, base=done: meter.at(base + n)))
                done += self._length(start)
            return
        work = partial(encode_elsewhere, encoder.spec(), batch_size)
        for number, shard in map_shards(engine, work, _Texts(self._texts, missing)):
            self._write(missing[number], shard)
            done += len(shard)
            meter.at(done)

    def __call__(self) -> Iterator[Matrix]:
        """All shards in order, one at a time."""
        for start in range(0, len(self._store), self._rows):
            yield np.load(self._path(start))

    def _texts(self, start: int) -> list[str]:
        return [contents(passage) for passage in self._store.slice(start, start + self._rows)]

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


class _Texts(Sequence[list[str]]):
    """The texts of each shard, read when it is handed out."""

    def __init__(self, read: Callable[[int], list[str]], starts: Sequence[int]) -> None:
        self._read, self._starts = read, starts

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> list[str]:  # type: ignore[override]
        return self._read(self._starts[number])


def encode_texts(encoder: Encoder, batch_size: int, texts: Sequence[str], at: Callable[[int], None] = lambda done: None) -> Matrix:
    """Unit vectors of one shard; `at` is told how many texts are done."""
    shard = np.empty((len(texts), encoder.spec().dim), dtype=np.float32)
    # A few batches per call: sentence-transformers sorts by length within one call, which saves padding.
    step = batch_size * 4
    for start in range(0, len(texts), step):
        some = texts[start:start + step]
        shard[start:start + len(some)] = encoder.encode_passages(some, batch_size)
        at(start + len(some))
    return shard


def encode_elsewhere(spec: EncoderSpec, batch_size: int, texts: list[str]) -> Matrix:
    """`encode_texts` on a worker, by an encoder like the one described. Raises UnfitIndexError where the worker has another."""
    encoder = _loaded(spec.name, spec.query_prefix, spec.passage_prefix)
    if differences := spec.differences(encoder.spec()):
        raise UnfitIndexError(f"a worker has another encoder: {'; '.join(differences)}; give all machines the same model files")
    return encode_texts(encoder, batch_size, texts)


@lru_cache(maxsize=1)
def _loaded(name: str, query_prefix: str, passage_prefix: str) -> Encoder:
    return load_encoder(name, query_prefix, passage_prefix)
