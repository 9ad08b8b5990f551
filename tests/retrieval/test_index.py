"""Building, resuming, replacing and opening indexes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from tests.retrieval.conftest import TEXTS, SpyEncoder
from trio_core.errors import CorpusError, RetrieverError, SettingsError, UnfitIndexError
from trio_core.retrieval import faiss_index
from trio_core.retrieval.corpus import Corpus, CorpusHash
from trio_core.retrieval.dense import DenseRetriever
from trio_core.retrieval.index import build_index
from trio_core.retrieval.kinds import KINDS, factory_of
from trio_core.retrieval.manifest import MANIFEST, read_manifest
from trio_core.retrieval.models import HashedWords
from trio_core.retrieval.opened import OpenedIndex
from trio_core.retrieval.progress import BuildStep
from trio_core.retrieval.vectors import unit_matrix

Write = Callable[..., Path]


def many(jsonl: Write, count: int) -> Path:
    return jsonl(*[(str(n), f"Title {n}", f"word{n} other{n} third{n}") for n in range(count)], name="many.jsonl")


def test_same_build_again_is_a_no_op(three: Path, tmp_path: Path) -> None:
    first = build_index(Corpus.open(three), tmp_path / "i", "dense", SpyEncoder())
    again = SpyEncoder()
    second = build_index(Corpus.open(three), tmp_path / "i", "dense", again)
    assert first.changed and not second.changed and not again.texts and not (tmp_path / "i" / "work").exists()
    assert second.manifest == first.manifest
    folder = tmp_path / "i" / second.manifest.dense.folder  # type: ignore[union-attr]
    assert faiss_index.load(folder, mmap=False).ntotal == 3


def test_rebuild_replaces_and_leaves_nothing_behind(jsonl: Write, three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    build_index(Corpus.open(three), folder, "hybrid", HashedWords())
    build_index(Corpus.open(jsonl(*TEXTS, ("4", "Oslo", "Capital of Norway."))), folder, "dense", HashedWords())
    manifest = read_manifest(folder)
    assert manifest is not None and manifest.corpus.count == 4 and manifest.bm25 is None
    assert {p.name for p in folder.iterdir() if p.is_dir()} == manifest.folders


def test_adding_the_other_kind_keeps_the_first(three: Path, tmp_path: Path) -> None:
    build_index(Corpus.open(three), tmp_path / "i", "bm25")
    built = build_index(Corpus.open(three), tmp_path / "i", "dense", HashedWords())
    assert built.manifest.bm25 is not None and built.manifest.dense is not None


def test_killed_build_goes_on_and_leaves_the_old_index_alone(jsonl: Write, three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "i"
    build_index(Corpus.open(three), folder, "dense", HashedWords())
    corpus = many(jsonl, 25)
    with pytest.raises(KeyboardInterrupt):
        build_index(Corpus.open(corpus), folder, "dense", SpyEncoder(fail_after=12), batch_size=1, shard_rows=5)
    assert read_manifest(folder).corpus.count == 3  # type: ignore[union-attr]
    second, steps = SpyEncoder(), list[BuildStep]()
    built = build_index(Corpus.open(corpus), folder, "dense", second, batch_size=1, shard_rows=5, progress=steps.append)
    assert built.manifest.dense is not None and built.manifest.dense.count == 25
    assert second.texts[0].startswith('"Title 10"'), "two shards of five were finished"
    encoded = [step for step in steps if step.phase == "encode"]
    assert encoded[-1].done == encoded[-1].total == 25 and encoded[-1].seconds_left == 0
    assert not (folder / "work").exists()


def test_two_builds_at_once_are_refused(three: Path, tmp_path: Path) -> None:
    (tmp_path / "i").mkdir()
    with filelock.FileLock(str(tmp_path / "i" / "build.lock")), pytest.raises(UnfitIndexError, match="another process"):
        build_index(Corpus.open(three), tmp_path / "i", "bm25")


def test_folder_that_cannot_be_written(three: Path, tmp_path: Path) -> None:
    with pytest.raises(UnfitIndexError, match="cannot be written"):
        build_index(Corpus.open(three), three / "below-a-file", "bm25")


def test_failed_corpus_builds_nothing(jsonl: Write, tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        build_index(Corpus.open(jsonl('{"id": "1", "content": "x"}')), tmp_path / "i", "dense", HashedWords())
    assert read_manifest(tmp_path / "i") is None


def test_constant_vectors_are_found_out(three: Path, tmp_path: Path) -> None:
    class Constant(HashedWords):
        def _embed(self, texts: Any, batch_size: int) -> Any:
            return np.ones((len(texts), self.spec().dim))

    with pytest.raises(UnfitIndexError, match="same vector"):
        build_index(Corpus.open(three), tmp_path / "i", "dense", Constant())


@pytest.mark.parametrize("factory", ["HNSW16", "IVF4,Flat", "SQ8", "PCA16,IVF4,SQ8"])
def test_other_factories(jsonl: Write, tmp_path: Path, factory: str) -> None:
    corpus = Corpus.open(many(jsonl, 200))
    built = build_index(corpus, tmp_path / "i", "dense", HashedWords(), factory)
    assert built.manifest.dense is not None and built.manifest.dense.factory == factory


@pytest.mark.parametrize("kind", KINDS)
def test_named_kinds(jsonl: Write, tmp_path: Path, kind: str) -> None:
    built = build_index(Corpus.open(many(jsonl, 400)), tmp_path / "i", "dense", HashedWords(dim=16), kind)
    assert built.manifest.dense is not None and built.manifest.dense.factory == factory_of(kind, 400, 16)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("factory", ["Flat", "IVF4,Flat", "HNSW"])
def test_an_index_in_parts_finds_what_the_whole_finds(jsonl: Write, tmp_path: Path, factory: str, mmap: bool) -> None:
    corpus, queries = many(jsonl, 203), HashedWords().encode_queries(["word7 other7", "third150", "nothing"])
    found = []
    for parts in (1, 3):
        built = build_index(Corpus.open(corpus), tmp_path / f"i{parts}", "dense", HashedWords(), factory, shard_rows=50, parts=parts)
        folder = tmp_path / f"i{parts}" / built.manifest.dense.folder  # type: ignore[union-attr]
        assert len(faiss_index.files(folder)) == parts
        found.append(faiss_index.search(faiss_index.load(folder, mmap), queries, 203 if factory == "Flat" else 2))
    assert np.allclose(found[0][0], found[1][0], atol=1e-6) and (found[1][1] >= 0).all()
    assert found[0][1][:2, 0].tolist() == found[1][1][:2, 0].tolist() == [7, 150]


def test_more_parts_than_passages(three: Path, tmp_path: Path) -> None:
    built = build_index(Corpus.open(three), tmp_path / "i", "dense", HashedWords(), parts=9)
    assert built.manifest.dense is not None and built.manifest.dense.parts == 3


class Gpu:
    """faiss-gpu as far as `on_gpu` sees it."""

    StandardGpuResources = object

    def __init__(self, gpus: int, knows: bool) -> None:
        self.gpus, self.knows = gpus, knows

    def get_num_gpus(self) -> int:
        return self.gpus

    def index_cpu_to_all_gpus(self, index: str) -> str:
        if not self.knows:
            raise RuntimeError("This index type is not implemented on GPU.")
        return f"gpu {index}"


@pytest.mark.parametrize(("gpus", "knows", "where"), [(1, True, "gpu index"), (1, False, "index"), (0, True, "index")])
def test_gpu_is_used_where_faiss_can(gpus: int, knows: bool, where: str) -> None:
    assert faiss_index.on_gpu(Gpu(gpus, knows), "index") == where


@pytest.mark.parametrize("factory", ["Nonsense", "IVF4096,Flat", "IDMap,Flat"])
def test_unusable_factory(three: Path, tmp_path: Path, factory: str) -> None:
    with pytest.raises(SettingsError, match=factory):
        build_index(Corpus.open(three), tmp_path / "i", "dense", HashedWords(), factory)


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (HashedWords(dim=64), r"dim: 256 against 64"),
        (HashedWords(query_prefix="query: "), r"query_prefix: '' against 'query: '"),
        (HashedWords(passage_prefix="passage: "), r"passage_prefix: '' against 'passage: '"),
    ],
)
def test_other_encoder_is_refused_with_both_values(indexed: Path, encoder: HashedWords, said: str) -> None:
    with pytest.raises(UnfitIndexError, match=f"{said}.*index build"):
        DenseRetriever.open(indexed, encoder)


def test_other_model_of_the_same_size_is_refused_before_loading(indexed: Path) -> None:
    from trio_core.retrieval.models import load_encoder

    with pytest.raises(UnfitIndexError, match="'hashed-words' against 'intfloat/e5-base-v2'"):
        DenseRetriever.open(indexed, load_encoder("intfloat/e5-base-v2"))


def test_other_corpus_is_refused(indexed: Path, jsonl: Write) -> None:
    digest = CorpusHash()
    for passage in Corpus.open(jsonl(("1", "A", "other"))).passages():
        digest.add(passage)
    with pytest.raises(UnfitIndexError, match=f"now has {digest.hexdigest()[:12]}; build it with: python -m trio_core index build"):
        OpenedIndex(indexed, digest.hexdigest())


@pytest.mark.parametrize("damage", ["manifest", "format", "texts", "faiss", "absent"])
def test_damaged_index(indexed: Path, damage: str) -> None:
    manifest = read_manifest(indexed)
    assert manifest is not None and manifest.dense is not None
    if damage == "manifest":
        (indexed / MANIFEST).write_text("{")
    elif damage == "format":
        (indexed / MANIFEST).write_text((indexed / MANIFEST).read_text().replace('"format": 1', '"format": 9'))
    elif damage == "texts":
        (indexed / manifest.corpus.folder / "passages.jsonl").write_text("[]\n")
    elif damage == "faiss":
        (indexed / manifest.dense.folder / faiss_index.FILE).write_bytes(b"\0" * 100)
    else:
        (indexed / MANIFEST).unlink()
    with pytest.raises(UnfitIndexError, match="build"):
        DenseRetriever.open(indexed, HashedWords())


def test_store_gives_rows_and_ids_and_refuses_padding(indexed: Path) -> None:
    store = OpenedIndex(indexed).store
    assert [p.id for p in store.by_ids(["3", "nope", "1", "\ud800"])] == ["3", "1"]
    with pytest.raises(IndexError):
        store[-1]


@pytest.mark.parametrize(("vectors", "said"), [([[1, float("nan")]], "NaN"), ([[0, 0]], "zero"), ([[[1]]], "shape")])
def test_unusable_vectors(vectors: Any, said: str) -> None:
    with pytest.raises(RetrieverError, match=said):
        unit_matrix(vectors, ["text"])


def test_vectors_become_rows_of_length_one() -> None:
    matrix = unit_matrix(np.array([3.0, 4.0]), ["text"])
    assert matrix.shape == (1, 2) and matrix.dtype == np.float32 and matrix.flags.c_contiguous
    scaled = unit_matrix(np.array([[1.0, 0.0], [10.0, 0.0]])[:, ::-1], ["a", "b"])
    assert np.allclose(scaled @ scaled.T, 1.0)
