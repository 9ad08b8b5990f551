"""The reranker: its order against a scorer that is known, and a tiny cross-encoder that is made on the spot."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.core.helpers import PASSAGES, ListRetriever
from trio_core.errors import ModelFileError, RetrieverError
from trio_core.retrieval.build import build_retriever
from trio_core.retrieval.rerank import CrossEncoderScorer, RerankRetriever
from trio_core.settings import load_settings


class Lengths:
    """Scores a passage by its length; remembers what it read, and in which threads."""

    name = "lengths"

    def __init__(self, value: float | None = None) -> None:
        self.read: list[tuple[str, str]] = []
        self.threads: set[str] = set()
        self.value = value

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.read += pairs
        self.threads.add(threading.current_thread().name)
        return [len(text) if self.value is None else self.value for _, text in pairs]


async def test_sorts_anew_and_keeps_the_rank_before() -> None:
    scorer, inner = Lengths(), ListRetriever()
    reranked = RerankRetriever(inner, scorer, depth=3)
    first, second = await reranked.search(["a", "b"], 2)
    assert inner.asked == [("a", 3), ("b", 3)] and first.hits == second.hits
    lengths = sorted(((len(f"{p.title}\n{p.text}"), p.id) for p in PASSAGES.values()), reverse=True)
    assert [(h.score, h.passage.id) for h in first.hits] == lengths[:2]
    assert [h.rank for h in first.hits] == [1, 2] and [h.from_rank for h in first.hits] == [3, 1]
    assert scorer.read[0] == ("a", "Alpha\nAlpha was directed by Bea Cole.") and "MainThread" not in scorer.threads
    assert reranked.identity()["reranker"] == {"name": "lengths", "depth": 3}
    await reranked.close()


async def test_equal_scores_keep_the_order_and_no_number_is_refused() -> None:
    reranked = RerankRetriever(ListRetriever(), Lengths(1.0), depth=3)
    assert [h.from_rank for h in (await reranked.search(["a"], 3))[0].hits] == [1, 2, 3]
    with pytest.raises(RetrieverError, match="no number"):
        await RerankRetriever(ListRetriever(), Lengths(float("nan")), depth=3).search(["a"], 1)


def test_nothing_is_loaded_before_the_first_search(tmp_path: Path) -> None:
    flags = [f"data_dir={tmp_path}", "retriever.reranker=/no/such/model", "retriever.rerank_depth=7"]
    retriever = build_retriever(load_settings("scripted", env={}, flags=flags))
    assert retriever.identity()["reranker"] == {"name": "/no/such/model", "depth": 7}


@pytest.mark.slow
async def test_a_cross_encoder_made_on_the_spot(tmp_path: Path) -> None:
    """Random weights: the order means nothing, but it is the model's own."""
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({w for p in PASSAGES.values() for w in f"{p.title} {p.text}".lower().replace(".", "").split()})
    (tmp_path / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(words) + 5, num_labels=1, **sizes)
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    reranked = RerankRetriever(ListRetriever(), CrossEncoderScorer(str(tmp_path)), depth=3)
    [result] = await reranked.search(["who directed alpha"], 3)
    texts = {p.id: f"{p.title}\n{p.text}" for p in PASSAGES.values()}
    model = CrossEncoder(str(tmp_path), num_labels=1)
    own = dict(zip(texts, model.predict([("who directed alpha", t) for t in texts.values()]), strict=True))
    assert [h.passage.id for h in result.hits] == sorted(own, key=lambda name: -own[name])
    assert [h.score for h in result.hits] == pytest.approx([float(own[h.passage.id]) for h in result.hits], abs=1e-5)
    await reranked.close()


async def test_a_model_that_cannot_be_loaded_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="retriever.reranker"):
        await RerankRetriever(ListRetriever(), CrossEncoderScorer(str(tmp_path / "none")), depth=3).search(["a"], 1)
