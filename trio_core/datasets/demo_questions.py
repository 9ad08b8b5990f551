"""The demo questions as a data set, with the paragraphs of the demo corpus that hold their evidence."""

from __future__ import annotations

from functools import lru_cache

from trio_core import demo
from trio_core.datasets.values import Hop, Paragraph, Question
from trio_core.retrieval.corpus import DEMO, Corpus

__all__ = ["DEMO", "demo_questions"]


@lru_cache
def demo_questions() -> tuple[Question, ...]:
    """All demo questions, those that the corpus cannot answer too."""
    paragraphs = {p.id: Paragraph(title=p.title, text=p.text) for p in Corpus.open(DEMO).passages()}
    return tuple(_question(q, paragraphs) for q in demo.questions())


def _question(question: demo.DemoQuestion, paragraphs: dict[str, Paragraph]) -> Question:
    hops = tuple(Hop(question=h.question, answer=h.answer, evidence=paragraphs[h.passage_id]) for h in question.hops)
    return Question(
        id=question.id, question=question.question, answers=question.answers, dataset=DEMO, type=question.type, hops=hops,
        evidence=tuple(dict.fromkeys(h.evidence for h in hops if h.evidence)), answerable=question.answerable,
    )
