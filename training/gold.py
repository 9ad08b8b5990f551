"""Label items from questions with known evidence, by retrieval alone: no model writes or judges anything.

Queries stand in for the query agent's: the question, then sub-questions with the earlier answers filled in. A pool that
holds every gold passage is `sufficient`, any other `insufficient`, and for a question that the corpus cannot answer every
pool is `insufficient`. The judge's messages are rendered as TRIO renders them live.

Pools of a question: five passages for the question itself (what a run's first verdict is about); three for the question
and three for one sub-question, for each of them (so most of these leave a hop out); and, where none of these suffices, the
whole chain. On the demo questions this is about as many of either label, and length does not give the label away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from storage.values import BinaryLabel
from trio_core.demo import DemoQuestion
from trio_core.pool import Repeats, pool_text
from trio_core.prompting import RolePrompt
from trio_core.values import Hit, JudgeItem, PoolEntry

RULE = "all gold passages in the pool = sufficient, else insufficient"
RULE_UNANSWERABLE = "the corpus does not answer the question = insufficient"
FIRST_K = 5
LATER_K = 3

Hits = Mapping[str, Sequence[Hit]]
"""Query -> its best `FIRST_K` hits; a smaller k is their beginning."""


class GoldItem(NamedTuple):
    """A judge's input with the label that its evidence gives."""

    item: JudgeItem
    label: BinaryLabel
    rule: str
    question_id: str
    round: int


def queries_of(questions: Sequence[DemoQuestion]) -> list[str]:
    """Every query that `gold_items` needs, once each."""
    return list(dict.fromkeys(text for q in questions for text in (q.question, *(hop.question for hop in q.hops))))


def gold_items(
    questions: Sequence[DemoQuestion], hits: Hits, prompt: RolePrompt, repeats: Repeats = "full"
) -> Iterator[GoldItem]:
    """All items, question by question."""
    for question in questions:
        sufficient = False
        for k, queries in _plans(question):
            item = _item(question, queries, k, hits, prompt, repeats)
            label, rule = gold_label(question, item)
            sufficient |= label == "sufficient"
            yield GoldItem(item, label, rule, question.id, len(queries))
        if question.answerable and not sufficient and len(question.hops) > 1:
            queries = [question.question, *(hop.question for hop in question.hops)]
            item = _item(question, queries, LATER_K, hits, prompt, repeats)
            yield GoldItem(item, *gold_label(question, item), question.id, len(queries))


def gold_label(question: DemoQuestion, item: JudgeItem) -> tuple[BinaryLabel, str]:
    """The label by the rule, and the rule in words."""
    if not question.answerable:
        return "insufficient", RULE_UNANSWERABLE
    found = set(question.gold.passage_ids) <= item.passage_ids
    return ("sufficient" if found else "insufficient"), RULE


def _plans(question: DemoQuestion) -> Iterator[tuple[int, list[str]]]:
    yield FIRST_K, [question.question]
    for hop in question.hops:
        if hop.question != question.question:
            yield LATER_K, [question.question, hop.question]


def _item(
    question: DemoQuestion, queries: Sequence[str], k: int, hits: Hits, prompt: RolePrompt, repeats: Repeats
) -> JudgeItem:
    pool = tuple(PoolEntry(query=query, hits=tuple(hits[query][:k])) for query in queries)
    messages = prompt.render(question=question.question, pool=pool_text(pool, repeats))
    return JudgeItem(question=question.question, pool=pool, messages=messages)


def estimated_tokens(item: JudgeItem, counter: Callable[[str], int] | None = None) -> int:
    """Tokens of the prompt; without a tokenizer by characters (English text, rounded up)."""
    if counter is not None:
        return sum(counter(message.content) + 8 for message in item.messages)
    return sum(len(message.content) // 4 + 8 for message in item.messages)
