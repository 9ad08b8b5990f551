"""Sets without context paragraphs: NQ-open (and its oracle file), PopQA, Bamboogle, and FlashRAG's common layout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trio_core.datasets.fields import BrokenRecord, Record, distinct, items, json_items, kind, optional, stable_id, text
from trio_core.datasets.multihop import supporting
from trio_core.datasets.values import Hop, Paragraph, Question


def nq_open(record: Record, dataset: str) -> Question:
    """NQ-open: question and answers, no id and no evidence."""
    question = text(record, "question")
    return Question(id=stable_id("nq", question), question=question, answers=distinct(items(record, "answer")), dataset=dataset)


def nq_oracle(record: Record, dataset: str) -> Question:
    """NQ-open with its annotated passage (lost-in-the-middle); ids equal those of NQ-open."""
    question = text(record, "question")
    gold = dict.fromkeys(Paragraph(title=optional(c, "title"), text=text(c, "text")) for c in items(record, "ctxs") if c.get("isgold"))
    return Question(
        id=stable_id("nq", question), question=question, answers=distinct(items(record, "answers")), dataset=dataset,
        evidence=tuple(gold), hops=tuple(Hop(question=question, evidence=p) for p in gold),
    )


def popqa(record: Record, dataset: str) -> Question:
    """PopQA: answers are JSON inside a quoted field; the evidence is the subject's page, of which only the title is known."""
    question = text(record, "question")
    answers = distinct(json_items(record, "possible_answers") or [optional(record, "obj"), *json_items(record, "o_aliases")])
    page = Paragraph(title=optional(record, "s_wiki_title", "subj"))
    evidence = (page,) if page.title else ()
    return Question(
        id=text(record, "id"), question=question, answers=answers, dataset=dataset, type=optional(record, "prop"), evidence=evidence,
        hops=tuple(Hop(question=question, answer=answers[0], evidence=p) for p in evidence),
    )


def bamboogle(record: Record, dataset: str) -> Question:
    """Bamboogle: two columns that matter, a rare second answer, no id."""
    question = text(record, "Question")
    return Question(id=stable_id("bamboogle", question), question=question, dataset=dataset,
                    answers=distinct([record.get("Answer"), record.get("Answer 2")]))


def flashrag(record: Record, dataset: str) -> Question:
    """FlashRAG: `golden_answers`; with `choices`, golds are their numbers. `metadata` may hold type, level and HotpotQA's context."""
    question = text(record, "question")
    choices = tuple(str(c) for c in record.get("choices") or [])
    golds = record["golden_answers"] if isinstance(record["golden_answers"], list) else [record["golden_answers"]]
    meta: Any = record.get("metadata") or {}
    if not isinstance(meta, Mapping):
        raise BrokenRecord(f"'metadata' is {kind(meta)}, not an object")
    evidence = supporting(meta, " " if "wiki" in dataset else "")
    return Question(
        id=text(record, "id") if record.get("id") not in (None, "") else stable_id(dataset, question), question=question,
        answers=distinct(_chosen(gold, choices) for gold in golds), dataset=dataset,
        type=optional(meta, "type"), level=optional(meta, "level"), choices=choices, evidence=evidence,
        hops=tuple(Hop(evidence=p) for p in evidence), answerable=meta.get("answerable", True) is not False,
    )


def _chosen(gold: Any, choices: tuple[str, ...]) -> Any:
    if choices and isinstance(gold, int) and not isinstance(gold, bool):
        if not 0 <= gold < len(choices):
            raise BrokenRecord(f"the gold choice is number {gold}, there are {len(choices)}")
        return choices[gold]
    return gold
