"""Label items of the learning curve: public multi-hop questions, pools by real retrieval (BM25), labels by gold evidence.

Queries stand in for the query agent's: the question, then the data set's sub-questions with earlier answers filled in
(HotpotQA has none: the titles of its gold paragraphs). After each query the pool is one item; all gold passages in it =
sufficient. Passages over `LONG` words and prompts over `MAX_CHARS` are left out, because two cores read slowly; both counted.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from trio_core.datasets import Question, map_evidence, open_dataset
from trio_core.pool import pool_text
from trio_core.prompting import load_prompts
from trio_core.retrieval.bm25 import Bm25Retriever
from trio_core.retrieval.corpus import Corpus
from trio_core.retrieval.index import build_index
from trio_core.values import JudgeItem, PoolEntry

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = {
    "hotpotqa": ("hotpotqa/hotpot_dev_distractor_v1.sample.json", "hotpotqa/corpus.jsonl.gz"),
    "2wikimultihopqa": ("2wikimultihopqa/dev.sample.json", "2wikimultihopqa/corpus.jsonl.gz"),
    "musique": ("musique/musique_ans_v1.0_dev.sample.jsonl", "musique/corpus.jsonl.gz"),
}
FURTHER = {
    "2wikimultihopqa": "2wikimultihopqa/train.sample.json",
    "musique": "musique/musique_ans_v1.0_train.sample.jsonl",
}
"""More questions over the same corpora."""
K = 3
LONG = 120
MAX_CHARS = 4000
ROUNDS = 4
"""The question and at most three more queries."""


class CurveItem(NamedTuple):
    """A judge's input with its label. `order` is the question's place in the shuffle: splits go by it."""

    item: JudgeItem
    sufficient: bool
    dataset: str
    question_id: str
    order: int
    round: int
    answers: tuple[str, ...]


def curve_items(folder: Path, orders: Sequence[int], dropped: Counter[str]) -> Iterator[CurveItem]:
    """Items question by question (so that a server's prefix cache serves the later rounds), the three sets in turn."""
    streams = [_questions(name, SETS[name][0], folder, orders, dropped) for name in SETS]
    for together in zip(*streams, strict=True):
        for asked in together:
            yield from _items(asked, dropped)


def further_items(folder: Path, after: int, dropped: Counter[str]) -> Iterator[CurveItem]:
    """Items of all other questions: those from place `after` on, and those of `FURTHER`."""
    for name in SETS:
        for file, first in ((SETS[name][0], after), (FURTHER.get(name), 0)):
            for asked in _questions(name, file, folder, None, dropped) if file else ():
                if asked.order >= first:
                    yield from _items(asked, dropped)


class _Asked(NamedTuple):
    """A question with its gold passages and the pool after each query."""

    name: str
    order: int
    question: Question
    gold: frozenset[str]
    pools: list[tuple[PoolEntry, ...]]


def _items(asked: _Asked, dropped: Counter[str]) -> Iterator[CurveItem]:
    prompt, question = load_prompts("trio")["judge"], asked.question
    for number, pool in enumerate(asked.pools):
        messages = prompt.render(question=question.question, pool=pool_text(pool, "reference"))
        item = JudgeItem(question=question.question, pool=pool, messages=messages)
        if sum(len(m.content) for m in messages) > MAX_CHARS:
            dropped[f"{asked.name}: prompt over {MAX_CHARS} characters"] += 1
            continue
        yield CurveItem(item, asked.gold <= item.passage_ids, asked.name, question.id, asked.order, number, question.answers)


def _questions(name: str, file: str, folder: Path, orders: Sequence[int] | None, dropped: Counter[str]) -> Iterator[_Asked]:
    """By place in the shuffle; all of them where `orders` is null."""
    corpus = Corpus.open(DATA / SETS[name][1])
    questions = list(open_dataset(DATA / file))
    random.Random(13).shuffle(questions)
    evidence = map_evidence(questions, corpus.passages())
    build_index(corpus, folder / name, kind="bm25")
    retriever = Bm25Retriever.open(folder / name)
    usable: list[tuple[Question, frozenset[str]]] = []
    for question in questions:
        gold = frozenset(evidence.gold(question).passage_ids)
        if len(gold) < len(question.evidence) or not gold:
            dropped[f"{name}: a gold paragraph is not in the corpus"] += 1
        else:
            usable.append((question, gold))
    for order in range(len(usable)) if orders is None else orders:
        question, gold = usable[order]
        yield _Asked(name, order, question, gold, asyncio.run(_pools(retriever, question, gold, dropped)))


async def _pools(retriever: Bm25Retriever, question: Question, gold: frozenset[str], dropped: Counter[str]) -> list[tuple[PoolEntry, ...]]:
    """The pool after each query."""
    later = [hop.question.replace(" >> ", " ") or (hop.evidence.title if hop.evidence else "") for hop in question.hops]
    queries = list(dict.fromkeys([question.question, *filter(None, later)]))[:ROUNDS]
    entries: list[PoolEntry] = []
    for query, result in zip(queries, await retriever.search(queries, 2 * K), strict=True):
        short = [hit for hit in result.hits if len(hit.passage.text.split()) <= LONG]
        dropped["passages over the length limit"] += len(result.hits) - len(short)
        entries.append(PoolEntry(query=query, hits=tuple(h.model_copy(update={"rank": n}) for n, h in enumerate(short[:K], 1))))
    return [tuple(entries[: n + 1]) for n in range(len(entries))]
