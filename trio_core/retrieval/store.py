"""Passages on disk with random access: a .jsonl file, the offsets of its lines, and a sorted table of hashed ids.

Nothing but the pages in use is held in memory, so that 21 million passages cost the same as 600. Row n of the store is
row n of the vector index.
"""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trio_core.errors import UnfitIndexError
from trio_core.values import Passage

TEXTS, OFFSETS, ID_HASHES, ID_ROWS = "passages.jsonl", "offsets.npy", "id_hashes.npy", "id_rows.npy"


class PassageWriter:
    """Writes a store into a folder; `close` must be called for it to be readable."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._stream = (folder / TEXTS).open("wb")
        self._offsets = array("q", [0])
        self._hashes = array("Q")

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, passage: Passage) -> None:
        """Appends a passage."""
        line = json.dumps([passage.id, passage.title, passage.text], ensure_ascii=False).encode() + b"\n"
        self._stream.write(line)
        self._offsets.append(self._offsets[-1] + len(line))
        self._hashes.append(_id_hash(passage.id))

    def close(self) -> None:
        """Writes the tables."""
        self._stream.close()
        hashes = np.frombuffer(self._hashes, dtype=np.uint64) if len(self) else np.empty(0, np.uint64)
        order = np.argsort(hashes, kind="stable")
        np.save(self._folder / OFFSETS, np.frombuffer(self._offsets, dtype=np.int64))
        np.save(self._folder / ID_HASHES, hashes[order])
        np.save(self._folder / ID_ROWS, order.astype(np.int64))

    def abandon(self) -> None:
        """Closes the file without making a store."""
        self._stream.close()


class PassageStore:
    """Read-only store; safe to use from several threads."""

    def __init__(self, folder: Path) -> None:
        try:
            self._offsets = np.load(folder / OFFSETS, mmap_mode="r")
            self._hashes = np.load(folder / ID_HASHES, mmap_mode="r")
            self._rows = np.load(folder / ID_ROWS, mmap_mode="r")
            with (folder / TEXTS).open("rb") as stream:
                self._texts = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise UnfitIndexError(f"the passages of index {folder.parent.name!r} cannot be read: {error}; build it again") from error
        if len(self._texts) != int(self._offsets[-1]):
            raise UnfitIndexError(
                f"{TEXTS} of index {folder.parent.name!r} has {len(self._texts)} bytes, its table says "
                f"{int(self._offsets[-1])}; build it again"
            )

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> Passage:
        # Negative rows are FAISS's padding, never "the last passage".
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} passages")
        line = self._texts[int(self._offsets[row]):int(self._offsets[row + 1])]
        passage_id, title, text = json.loads(line)
        return Passage(id=passage_id, title=title, text=text)

    def slice(self, start: int, stop: int) -> Iterator[Passage]:
        """Passages of rows start..stop-1."""
        return (self[row] for row in range(start, min(stop, len(self))))

    def by_ids(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by id, in the order asked for; unknown ids are left out."""
        return [passage for passage in map(self._by_id, ids) if passage is not None]

    def _by_id(self, passage_id: str) -> Passage | None:
        wanted = np.uint64(_id_hash(passage_id))
        at = int(np.searchsorted(self._hashes, wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            passage = self[int(self._rows[at])]
            if passage.id == passage_id:
                return passage
            at += 1
        return None


def _id_hash(passage_id: str) -> int:
    return int.from_bytes(hashlib.blake2b(passage_id.encode("utf-8", "replace"), digest_size=8).digest(), "little")
