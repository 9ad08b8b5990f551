"""Tiny files in each original format, written for these tests; and where the real samples lie, if they are here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "data"


def sample(name: str) -> Path:
    """A real sample beside the project; skips the test without it."""
    path = SAMPLES / name
    if not path.exists():
        pytest.skip(f"the sample {name} is not beside the project (../shared/data)")
    return path


HOTPOT: dict[str, Any] = {
    "_id": "h1", "question": "Where was the maker of Alpha born?", "answer": "Delft", "type": "bridge", "level": "hard",
    "supporting_facts": [["Alpha & Omega", 1], ["Bea Cole", 0], ["Alpha & Omega", 0]],
    "context": [["Noise", ["Nothing."]], ["Bea Cole", ["Bea was born in Delft."]], ["Alpha & Omega", ["Alpha is a film.", " Bea made it."]]],
}
TWO_WIKI = HOTPOT | {
    "_id": "w1", "answer_id": "Q690", "evidences": [["Alpha & Omega", "director", "Bea Cole"], ["Bea Cole", "place of birth", "Delft"]],
    "context": [["Bea Cole", ["Bea was born in Delft."]], ["Alpha & Omega", ["Alpha is a film.", "Bea made it."]]],
}
MUSIQUE: dict[str, Any] = {
    "id": "2hop__1_2", "question": "Where was the maker of Alpha born?", "answer": "Delft", "answer_aliases": ["City of Delft", "Delft"], "answerable": True,
    "paragraphs": [
        {"idx": 0, "title": "Bea Cole", "paragraph_text": "Bea likes tea.", "is_supporting": False},
        {"idx": 1, "title": "Bea Cole", "paragraph_text": "Bea was born in Delft.", "is_supporting": True},
        {"idx": 2, "title": "Alpha", "paragraph_text": "Bea made it.", "is_supporting": True},
    ],
    "question_decomposition": [
        {"id": 7, "question": "Who made Alpha?", "answer": "Bea Cole", "paragraph_support_idx": 2},
        {"id": 8, "question": "Where was #1 born, not #9?", "answer": "Delft", "paragraph_support_idx": 1},
    ],
}
PUBMED = {"QUESTION": "Does it work?", "CONTEXTS": ["We tried.", "It did."], "LABELS": ["METHODS", "RESULTS"], "final_decision": "yes",
          "LONG_ANSWER": "The secret conclusion."}
GPQA_HEADER = "Record ID,Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,High-level domain"


def lines(*records: Any) -> str:
    """JSON lines."""
    return "".join(json.dumps(r) + "\n" for r in records)


def leaf(question: str, answer: Any, title: str) -> dict[str, Any]:
    """One step of a FanOutQA decomposition."""
    return {"id": title, "question": question, "decomposition": [], "answer": answer, "evidence": {"pageid": 1, "title": title, "url": "u"}}


def fanout(answer: Any, id_: str = "f1") -> dict[str, Any]:
    """A FanOutQA question with a nested step."""
    inner = [leaf("Which?", ["a", "b"], "List"), {"question": "Both", "decomposition": [leaf("How many a?", 0, "A"), leaf("b?", False, "B")]}]
    return {"id": id_, "question": "How many?", "decomposition": inner, "answer": answer, "categories": ["Sports", "Other"]}
