"""Building and opening an index folder.

    manifest.json            written last; names the parts below
    passages-<hash>/         store.py
    dense-<hash>/            index.faiss
    bm25-<hash>/             bm25s files
    work/                    shards of an unfinished build; a build that is run again goes on from them

Parts are named after what they were made from, so a changed corpus, encoder or factory never meets old vectors.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import filelock

from trio_core.errors import SettingsError, UnfitIndexError
from trio_core.retrieval import bm25_index, faiss_index
from trio_core.retrieval.corpus import Corpus, CorpusHash
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.kinds import factory_of
from trio_core.retrieval.manifest import (
    Bm25Part,
    CorpusPart,
    DensePart,
    Manifest,
    library_versions,
    now,
    read_manifest,
    write_manifest,
)
from trio_core.retrieval.progress import Meter, Progress, silent
from trio_core.retrieval.records import contents
from trio_core.retrieval.selfcheck import check_finds_itself
from trio_core.retrieval.shards import SHARD_ROWS, ShardedVectors
from trio_core.retrieval.store import PassageStore, PassageWriter
from trio_core.retrieval.tokens import VERSION as TOKENS_VERSION
from trio_core.retrieval.tokens import tokens
from trio_core.scale.shards import ShardEngine

Kind = Literal["dense", "bm25", "hybrid"]
READ_EVERY = 10_000


@dataclass(frozen=True)
class Built:
    """Result of a build; `changed` is false when everything was up to date."""

    manifest: Manifest
    changed: bool


def build_index(
    corpus: Corpus,
    index_dir: Path,
    kind: Kind,
    encoder: Encoder | None = None,
    factory: str = "Flat",
    batch_size: int = 64,
    progress: Progress = silent,
    shard_rows: int = SHARD_ROWS,
    parts: int = 1,
    engine: ShardEngine | None = None,
) -> Built:
    """Builds what is missing, replaces what is outdated, in one step at the end. `factory`: of FAISS, or a name of kinds.py. `engine`:
    where passages are encoded.

    Raises CorpusError, SettingsError (factory), ModelFileError (encoder), UnfitIndexError (another build is running, the
    folder cannot be written, or the finished index does not find its own passages).
    """
    if kind != "bm25" and encoder is None:
        raise SettingsError(f"an index of kind {kind!r} needs an encoder")
    try:
        index_dir.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(str(index_dir / "build.lock"), timeout=0):
            return _Build(corpus, index_dir, encoder, factory, batch_size, progress, shard_rows, parts, engine).run(kind)
    except filelock.Timeout:
        raise UnfitIndexError(f"index {str(index_dir)!r} is being built by another process; wait until it is done") from None
    except OSError as error:
        raise UnfitIndexError(
            f"index {str(index_dir)!r} cannot be written: {error.strerror or error}; free some space or choose another "
            "folder, then run the build again, which goes on where it stopped"
        ) from error


class _Build:
    def __init__(
        self, corpus: Corpus, index_dir: Path, encoder: Encoder | None, factory: str, batch_size: int,
        progress: Progress, shard_rows: int, parts: int, engine: ShardEngine | None,
    ) -> None:
        self.corpus, self.dir, self.encoder, self.factory = corpus, index_dir, encoder, factory
        self.batch_size, self.progress, self.shard_rows, self.parts = batch_size, progress, shard_rows, parts
        self.engine, self.work = engine, index_dir / "work"

    def run(self, kind: Kind) -> Built:
        old = _readable_manifest(self.dir)
        passages = self._passages(old)
        store = PassageStore(self.dir / passages.folder)
        # A part of the other kind stays valid as long as the corpus is the same.
        kept = old if old is not None and old.corpus.hash == passages.hash else None
        dense, bm25 = (kept.dense, kept.bm25) if kept else (None, None)
        if kind != "bm25":
            dense = self._dense(store, passages, dense)
        if kind != "dense":
            bm25 = self._bm25(store, passages, bm25)
        if old is not None and (old.corpus, old.dense, old.bm25) == (passages, dense, bm25):
            with suppress(OSError):  # vectors of an unfinished build with other settings stay
                self.work.rmdir()
            return Built(old, changed=False)
        new = Manifest(built_at=now(), versions=library_versions(), corpus=passages, dense=dense, bm25=bm25)
        write_manifest(self.dir, new)
        self._clean(new)
        return Built(new, changed=True)

    def _passages(self, old: Manifest | None) -> CorpusPart:
        temporary = self._fresh("passages")
        writer, digest = PassageWriter(temporary), CorpusHash()
        meter = Meter("read", None, self.progress)
        try:
            for passage in self.corpus.passages():
                writer.add(passage)
                digest.add(passage)
                if len(writer) % READ_EVERY == 0:
                    meter.at(len(writer))
            writer.close()
        except BaseException:
            writer.abandon()
            raise
        meter.at(len(writer))
        folder = f"passages-{digest.hexdigest()[:12]}"
        self._put(temporary, folder, fits=old is not None and old.corpus.folder == folder)
        return CorpusPart(
            name=self.corpus.name, source=self.corpus.source, hash=digest.hexdigest(), count=len(writer),
            fingerprint=self.corpus.fingerprint(), folder=folder, report=self.corpus.report(),
        )

    def _dense(self, store: PassageStore, passages: CorpusPart, old: DensePart | None) -> DensePart:
        assert self.encoder is not None
        spec = self.encoder.spec()
        vectors_key = _key(passages.hash, spec.model_dump(exclude={"max_tokens"}))
        factory, parts = factory_of(self.factory, len(store), spec.dim), max(min(self.parts, len(store)), 1)
        folder = f"dense-{_key(vectors_key, factory, *([parts] if parts > 1 else []))}"
        part = DensePart(folder=folder, encoder=spec, factory=factory, count=len(store), parts=parts)
        if part == old and len(faiss_index.files(self.dir / folder)) == parts:
            return part
        vectors = ShardedVectors(self.work / f"vectors-{vectors_key}-{self.shard_rows}", store, self.shard_rows)
        vectors.encode(self.encoder, self.batch_size, self.progress, self.engine)
        meter = Meter("index", len(store), self.progress)
        meter.at(0)
        temporary = self._fresh("dense")
        faiss_index.build(temporary, spec.dim, factory, len(store), vectors, parts)
        meter.at(len(store))
        check_finds_itself(store, self.encoder, faiss_index.load(temporary, mmap=True))
        self._put(temporary, folder)
        return part

    def _bm25(self, store: PassageStore, passages: CorpusPart, old: Bm25Part | None) -> Bm25Part:
        folder = f"bm25-{_key(passages.hash, TOKENS_VERSION, bm25_index.K1, bm25_index.B)}"
        part = Bm25Part(
            folder=folder, tokenizer=TOKENS_VERSION, k1=bm25_index.K1, b=bm25_index.B, count=len(store)
        )
        if part == old and (self.dir / folder).is_dir():
            return part
        meter = Meter("bm25", len(store), self.progress)
        index = bm25_index.build(tokens(contents(passage)) for passage in store.slice(0, len(store)))
        temporary = self._fresh("bm25")
        bm25_index.save(index, temporary)
        self._put(temporary, folder)
        meter.at(len(store))
        return part

    def _fresh(self, name: str) -> Path:
        folder = self.work / f"{name}.unfinished"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def _put(self, temporary: Path, name: str, fits: bool = False) -> None:
        target = self.dir / name
        if fits and target.is_dir():  # the same content is in use; leave it alone
            shutil.rmtree(temporary)
            return
        shutil.rmtree(target, ignore_errors=True)
        temporary.replace(target)

    def _clean(self, manifest: Manifest) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        for folder in self.dir.iterdir():
            ours = folder.name.startswith(("passages-", "dense-", "bm25-"))
            if ours and folder.is_dir() and folder.name not in manifest.folders:
                shutil.rmtree(folder, ignore_errors=True)


def _readable_manifest(index_dir: Path) -> Manifest | None:
    try:
        return read_manifest(index_dir)
    except UnfitIndexError:  # a damaged index is what a build is there to replace
        return None


def _key(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]
