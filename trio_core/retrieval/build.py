"""From settings to a retriever."""

from __future__ import annotations

import logging
import re
from itertools import islice
from pathlib import Path

from trio_core.errors import CorpusError, UnfitIndexError
from trio_core.retrieval.base import Retriever
from trio_core.retrieval.bm25 import Bm25Retriever
from trio_core.retrieval.corpus import DEMO, Corpus, CorpusHash, corpus_name
from trio_core.retrieval.dense import DenseRetriever
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.fusion import HybridRetriever
from trio_core.retrieval.http import HttpRetriever
from trio_core.retrieval.index import Kind, build_index
from trio_core.retrieval.manifest import Manifest, read_manifest
from trio_core.retrieval.models import load_encoder
from trio_core.retrieval.opened import build_command
from trio_core.retrieval.progress import Progress, silent
from trio_core.retrieval.rerank import CrossEncoderScorer, RerankRetriever
from trio_core.settings import RetrieverSettings, Settings

FIRST_USE_PASSAGES = 20_000
"""Corpora up to this size are indexed on first use (minutes on two cores); larger ones by command."""

logger = logging.getLogger(__name__)


def build_retriever(settings: Settings, progress: Progress | None = None) -> Retriever:
    """The retriever of the settings; its index is built on first use when the corpus is small. Blocks while it works.

    An index at the default place is also rebuilt when the small corpus or the encoder's prefix has changed; one that
    `retriever.index_dir` names is never replaced. Raises UnfitIndexError with the command to run, CorpusError,
    ModelFileError or SettingsError. A reranker is put on top; its model is loaded by the first search.
    """
    found = _first_search(settings, progress)
    chosen = settings.retriever
    return RerankRetriever(found, CrossEncoderScorer(chosen.reranker), chosen.rerank_depth) if chosen.reranker else found


def _first_search(settings: Settings, progress: Progress | None) -> Retriever:
    chosen = settings.retriever
    if chosen.kind == "http":
        return HttpRetriever(chosen.http)
    index_dir = index_folder(settings)
    encoder = None if chosen.kind == "bm25" else encoder_of(chosen)
    corpus_hash = _current_hash(chosen, index_dir)
    try:
        return _open(chosen, index_dir, encoder, corpus_hash)
    except UnfitIndexError as error:
        if chosen.index_dir is not None and read_manifest_or_none(index_dir) is not None:
            raise
        _build_small(chosen, index_dir, encoder, error, progress or silent)
    return _open(chosen, index_dir, encoder, None)


def index_folder(settings: Settings) -> Path:
    """Where the index of the settings lies: `index_dir`, or a name made of corpus and encoder in the data folder."""
    chosen = settings.retriever
    if chosen.index_dir is not None:
        return chosen.index_dir
    encoder = re.sub(r"[^A-Za-z0-9.]+", "-", Path(chosen.encoder).name).strip("-") or "encoder"
    return settings.data_dir / "indexes" / f"{corpus_name(chosen.corpus)}-{encoder}"


def encoder_of(chosen: RetrieverSettings) -> Encoder:
    """The encoder of the settings, not yet loaded."""
    return load_encoder(chosen.encoder, chosen.query_prefix, chosen.passage_prefix)


def read_manifest_or_none(index_dir: Path) -> Manifest | None:
    """The manifest; null if absent or damaged."""
    try:
        return read_manifest(index_dir)
    except UnfitIndexError:
        return None


def _open(chosen: RetrieverSettings, index_dir: Path, encoder: Encoder | None, corpus_hash: str | None) -> Retriever:
    if encoder is None:
        return Bm25Retriever.open(index_dir, chosen.mmap, corpus_hash)
    if chosen.kind == "dense":
        return DenseRetriever.open(index_dir, encoder, chosen.mmap, corpus_hash)
    words = Bm25Retriever.open(index_dir, chosen.mmap, corpus_hash)
    return HybridRetriever([DenseRetriever.open(index_dir, encoder, chosen.mmap, corpus_hash), words])


def _current_hash(chosen: RetrieverSettings, index_dir: Path) -> str | None:
    """Hash of the corpus as it is now; null = nothing to compare. Files that are as they were are not read again."""
    manifest = read_manifest_or_none(index_dir)
    if manifest is None:
        return None
    try:
        corpus = Corpus.open(chosen.corpus)
    except CorpusError:
        # The passages lie in the index: it serves without the files, if it is the index of that corpus.
        if manifest.corpus.name != corpus_name(chosen.corpus):
            raise
        logger.warning("corpus %r is gone; its index of %s is used", chosen.corpus, manifest.built_at)
        return None
    if corpus.fingerprint() == manifest.corpus.fingerprint:
        return manifest.corpus.hash
    digest = CorpusHash()
    for passage in corpus.passages():
        digest.add(passage)
    return digest.hexdigest()


def _build_small(
    chosen: RetrieverSettings, index_dir: Path, encoder: Encoder | None, why: UnfitIndexError, progress: Progress
) -> None:
    corpus = Corpus.open(chosen.corpus)
    kind: Kind = "bm25" if encoder is None else "hybrid" if chosen.kind == "hybrid" else "dense"
    if sum(1 for _ in islice(corpus.passages(), FIRST_USE_PASSAGES + 1)) > FIRST_USE_PASSAGES:
        raise UnfitIndexError(
            f"{why} -- more than {FIRST_USE_PASSAGES:,} passages are not indexed at start; "
            f"{build_command(index_dir, None, kind, chosen.corpus)} --encoder {chosen.encoder!r} --factory {chosen.factory!r}"
        ) from why
    logger.info("indexing corpus %r into %s (%s)", chosen.corpus, index_dir, DEMO if chosen.corpus == DEMO else why)
    build_index(corpus, index_dir, kind, encoder, chosen.factory, chosen.batch_size, progress, parts=chosen.parts)
