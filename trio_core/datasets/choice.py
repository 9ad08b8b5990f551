"""Sets whose answer is one of a few: GPQA (never bundled, as its authors ask) and PubMedQA."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from trio_core.datasets.fields import BrokenRecord, Record, distinct, optional, stable_id, text
from trio_core.datasets.raw import KEY
from trio_core.datasets.values import YES_NO_MAYBE, Paragraph, Question


def gpqa(record: Record, dataset: str, seed: int) -> Question:
    """GPQA: the four answers in an order that seed and record id fix, whatever else is read."""
    question = text(record, "Question")
    right = text(record, "Correct Answer")
    choices = [right, *(text(record, f"Incorrect Answer {n}") for n in (1, 2, 3))]
    question_id = optional(record, "Record ID") or stable_id("gpqa", question)
    random.Random(f"{seed}:{question_id}").shuffle(choices)
    return Question(
        id=question_id, question=question, answers=(right,), dataset=dataset, type=optional(record, "High-level domain", "Subdomain"),
        level=optional(record, "Writer's Difficulty Estimate"), choices=tuple(choices),
    )


def pubmedqa(record: Record, dataset: str) -> Question:
    """PubMedQA: sections of the abstract are the evidence (no hops); LONG_ANSWER gives the answer away and is left out."""
    question = text(record, "QUESTION", "question")
    decision = text(record, "final_decision").lower()
    if decision not in YES_NO_MAYBE:
        raise BrokenRecord(f"'final_decision' is {decision!r}, not yes, no or maybe")
    pmid = text(record, KEY, "pubid", "id")
    evidence = tuple(dict.fromkeys(Paragraph(title=f"PMID {pmid} {label}".strip(), text=body) for label, body in _sections(record)))
    return Question(
        id=pmid, question=question, answers=distinct([decision]), dataset=dataset, choices=YES_NO_MAYBE, evidence=evidence,
    )


def _sections(record: Record) -> list[tuple[str, str]]:
    context: Any = record.get("context") or {}
    texts = record.get("CONTEXTS") or (context.get("contexts") if isinstance(context, Mapping) else None) or []
    labels = record.get("LABELS") or (context.get("labels") if isinstance(context, Mapping) else None) or []
    if not isinstance(texts, Sequence) or isinstance(texts, str):
        raise BrokenRecord("'CONTEXTS' is no list of texts")
    return [(str(labels[n]) if n < len(labels) else "", str(body)) for n, body in enumerate(texts)]
