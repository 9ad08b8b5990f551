"""The demo corpus and its questions, written for this project from well-known facts; and recorded runs to look at."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from trio_core.values import Gold, Value


class Hop(Value):
    """One step of a question: what is asked, the answer, the passage that holds it and words found in that passage."""

    question: str
    answer: str
    passage_id: str
    evidence: tuple[str, ...]


class DemoQuestion(Value):
    """A question on the demo corpus. `missing` says what the corpus lacks where it is not answerable."""

    id: str
    question: str
    answers: tuple[str, ...]
    type: str
    hops: tuple[Hop, ...]
    answerable: bool = True
    missing: str = ""

    @property
    def gold(self) -> Gold:
        """Answers and evidence as runs record them."""
        return Gold(answers=self.answers, passage_ids=tuple(h.passage_id for h in self.hops), answerable=self.answerable)


def _read(line: str) -> DemoQuestion:
    data: dict[str, Any] = json.loads(line)
    meta = data["metadata"]
    return DemoQuestion(
        id=data["id"], question=data["question"], answers=tuple(data["golden_answers"]), type=meta["type"],
        hops=tuple(Hop.model_validate(h) for h in meta["hops"]), answerable=meta["answerable"], missing=meta.get("missing", ""),
    )


@lru_cache
def questions() -> tuple[DemoQuestion, ...]:
    """All demo questions, by file and line."""
    folder = resources.files("trio_core.demo").joinpath("questions")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".jsonl")), key=lambda f: f.name)
    return tuple(_read(line) for f in files for line in f.read_text(encoding="utf-8").split("\n") if line.strip())


def find(question: str) -> DemoQuestion | None:
    """The demo question with this wording, so that a typed example is scored too."""
    wanted = " ".join(question.lower().split())
    return next((q for q in questions() if " ".join(q.question.lower().split()) == wanted), None)
