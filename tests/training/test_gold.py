"""Gold labels: the rule, and what a pool is made of."""

from __future__ import annotations

from collections import Counter

from training.demo_items import store_demo_items
from training.gold import gold_items, queries_of
from trio_core.demo import DemoQuestion, Hop, questions
from trio_core.pool import pool_text
from trio_core.prompting import load_prompts
from trio_core.retrieval.base import SearchResult
from trio_core.settings import Settings
from trio_core.values import Hit, Passage

PROMPT = load_prompts("trio")["judge"]
QUESTION = DemoQuestion(
    id="q", question="Q?", answers=("b",), type="bridge",
    hops=(Hop(question="H1?", answer="a", passage_id="g1", evidence=()), Hop(question="H2?", answer="b", passage_id="g2", evidence=())),
)


def hits(*ids: str) -> tuple[Hit, ...]:
    return tuple(Hit(passage=Passage(id=i, title=i, text=f"text of {i}"), score=1.0, rank=n) for n, i in enumerate(ids, 1))


FOUND = {"Q?": hits("x1", "g1", "x2", "x3", "x4"), "H1?": hits("g1", "x5", "x6", "x7", "x8"), "H2?": hits("x9", "g2", "x1", "x2", "x3")}


def test_all_gold_passages_make_a_pool_sufficient() -> None:
    found = {tuple(e.query for e in g.item.pool): g.label for g in gold_items([QUESTION], FOUND, PROMPT)}
    assert found == {("Q?",): "insufficient", ("Q?", "H1?"): "insufficient", ("Q?", "H2?"): "sufficient"}


def test_the_whole_chain_is_added_where_nothing_smaller_suffices() -> None:
    later = {**FOUND, "Q?": hits("x1", "x2", "x3", "x4", "x5")}
    last = list(gold_items([QUESTION], later, PROMPT))[-1]
    assert (last.round, last.label) == (3, "sufficient")


def test_unanswerable_questions_are_always_insufficient() -> None:
    question = QUESTION.model_copy(update={"answerable": False})
    assert {g.label for g in gold_items([question], FOUND, PROMPT)} == {"insufficient"}


def test_messages_are_those_of_a_live_judge() -> None:
    gold = next(iter(gold_items([QUESTION], FOUND, PROMPT)))
    assert gold.item.messages == PROMPT.render(question="Q?", pool=pool_text(gold.item.pool))
    assert len(gold.item.pool[0].hits) == 5


def test_demo_items_are_stored_once(store) -> None:
    gold = {h.passage_id for q in questions() for h in q.hops}

    def search(queries, k):
        assert list(queries) == queries_of(questions())
        return [SearchResult(hits=hits(*sorted(gold)[:k])) for _ in queries]

    first, second = (store_demo_items(Settings(), store, search, lambda what, share: None) for _ in range(2))
    assert first.added == first.items > 72 and second.added == 0 and second.items == first.items
    assert first.questions == 72 and Counter(store.label_counts().gold).total() == first.items + 20
