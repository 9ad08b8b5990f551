"""Sets whose questions need several paragraphs: HotpotQA, 2WikiMultihopQA, MuSiQue, FanOutQA (their papers and READMEs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trio_core.datasets.fields import BrokenRecord, Record, distinct, items, kind, optional, text
from trio_core.datasets.values import Hop, Paragraph, Question

Aliases = Mapping[str, Sequence[str]]
"""2Wiki: answer id -> other names of the answer."""

_BACK_REFERENCE = re.compile(r"#(\d+)")


def hotpotqa(record: Record, dataset: str) -> Question:
    """HotpotQA: sentences carry their own leading space. A hop is a supporting paragraph; sub-questions are not given."""
    evidence = supporting(record, "")
    return Question(
        id=text(record, "_id", "id"), question=text(record, "question"), answers=distinct([record.get("answer")]), dataset=dataset,
        type=optional(record, "type"), level=optional(record, "level"), evidence=evidence,
        hops=tuple(Hop(evidence=p) for p in evidence),
    )


def two_wiki(record: Record, dataset: str, aliases: Aliases) -> Question:
    """2WikiMultihopQA: sentences lack the space between them. A hop is a triple: `relation of subject` -> object."""
    evidence = supporting(record, " ")
    by_title = {p.title: p for p in evidence}
    answer = text(record, "answer")
    triples = [t for t in record.get("evidences") or [] if isinstance(t, list) and len(t) == 3]
    hops = [Hop(question=f"{relation} of {of}", answer=str(obj), evidence=by_title.get(str(of))) for of, relation, obj in triples]
    return Question(
        id=text(record, "_id", "id"), question=text(record, "question"), dataset=dataset,
        type=optional(record, "type"), level=optional(record, "level"),
        answers=distinct([answer, *aliases.get(optional(record, "answer_id"), ())]), evidence=evidence,
        hops=tuple(hops) or tuple(Hop(evidence=p) for p in evidence),
    )


def musique(record: Record, dataset: str) -> Question:
    """MuSiQue: a paragraph is known by its number, since titles repeat; `#2` in a sub-question is the answer of step 2."""
    numbered = [(p.get("idx", n), p) for n, p in enumerate(items(record, "paragraphs"))]
    paragraphs = {idx: Paragraph(title=optional(p, "title"), text=text(p, "paragraph_text")) for idx, p in numbered}
    hops: list[Hop] = []
    for step in record.get("question_decomposition") or []:
        asked = _filled(optional(step, "question"), hops)
        hops.append(Hop(question=asked, answer=optional(step, "answer"), evidence=paragraphs.get(step.get("paragraph_support_idx"))))
    question_id = text(record, "id")
    return Question(
        id=question_id, question=text(record, "question"), dataset=dataset, type=question_id.split("__")[0], hops=tuple(hops),
        answers=distinct([record.get("answer"), *(record.get("answer_aliases") or [])]),
        evidence=tuple(dict.fromkeys(paragraphs[idx] for idx, p in numbered if p.get("is_supporting"))),
        answerable=record.get("answerable", True) is not False,
    )


def _filled(asked: str, hops: Sequence[Hop]) -> str:
    """A sub-question with `#n` replaced by the answer of step n; a number without a step stays."""
    return _BACK_REFERENCE.sub(lambda m: hops[int(m[1]) - 1].answer if 0 < int(m[1]) <= len(hops) else m[0], asked)


def fanoutqa(record: Record, dataset: str) -> Question:
    """FanOutQA: an answer is text, number, truth value, list or object; evidence is a page, without its text."""
    hops = tuple(_leaves(items(record, "decomposition")))
    return Question(
        id=text(record, "id"), question=text(record, "question"), answers=distinct(answer_texts(record.get("answer"))), dataset=dataset,
        type=", ".join(str(c) for c in record.get("categories") or []), hops=hops,
        evidence=tuple(dict.fromkeys(h.evidence for h in hops if h.evidence)),
    )


def answer_texts(value: Any) -> tuple[str, ...]:
    """A JSON answer as the wordings that count.

    0 -> `0`, false -> `no` or `false`, a list -> its items with commas between them, an object -> `name: value` likewise.
    """
    if isinstance(value, bool):
        return ("yes", "true") if value else ("no", "false")
    if isinstance(value, list):
        return (", ".join(answer_texts(v)[0] for v in value if v is not None),)
    if isinstance(value, Mapping):
        return (", ".join(f"{name}: {answer_texts(v)[0]}" for name, v in value.items() if v is not None),)
    return () if value is None else (str(value),)


def supporting(record: Record, join: str) -> tuple[Paragraph, ...]:
    """The supporting paragraphs in the order of `supporting_facts`; one that the context lacks is known by title alone."""
    texts = {title: join.join(sentences).strip() for title, sentences in _context(record)}
    return tuple(Paragraph(title=title, text=texts.get(title, "")) for title in dict.fromkeys(_titles(record)))


def _context(record: Record) -> Iterator[tuple[str, list[str]]]:
    context = record.get("context") or []
    if isinstance(context, Mapping):  # the hub's layout: lists side by side
        context = list(zip(context.get("title") or [], context.get("sentences") or context.get("content") or [], strict=False))
    for pair in context:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[1], list):
            raise BrokenRecord("an item of 'context' is no [title, [sentences]]")
        yield str(pair[0]), [str(s) for s in pair[1]]


def _titles(record: Record) -> Iterator[str]:
    facts = record.get("supporting_facts") or []
    if isinstance(facts, Mapping):
        facts = [[title] for title in facts.get("title") or []]
    for fact in facts:
        if not isinstance(fact, (list, tuple)) or not fact:
            raise BrokenRecord("an item of 'supporting_facts' is no [title, sentence number]")
        yield str(fact[0])


def _leaves(steps: Sequence[Any]) -> Iterator[Hop]:
    for step in steps:
        if not isinstance(step, Mapping):
            raise BrokenRecord(f"an item of 'decomposition' is {kind(step)}, not an object")
        if step.get("decomposition"):
            yield from _leaves(items(step, "decomposition"))
            continue
        page = step.get("evidence") or {}
        title = optional(page, "title") if isinstance(page, Mapping) else ""
        answers = answer_texts(step.get("answer"))
        evidence = Paragraph(title=title) if title else None
        yield Hop(question=optional(step, "question"), answer=answers[0] if answers else "", evidence=evidence)
