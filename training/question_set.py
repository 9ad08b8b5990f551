"""Questions with known answers: the demo's, or those of a FlashRAG jsonl file."""

from __future__ import annotations

import json
import random
from collections.abc import Set
from pathlib import Path

from trio_core.demo import questions as demo_questions
from trio_core.errors import InputError
from trio_core.values import Gold, Value


class Asked(Value):
    """A question with its gold answers."""

    id: str
    question: str
    gold: Gold
    dataset: str


def read_questions(source: str) -> list[Asked]:
    """All questions that have an answer. `source`: `demo` or a file. Raises InputError with the line that cannot be used."""
    if source == "demo":
        return [Asked(id=q.id, question=q.question, gold=q.gold, dataset="demo") for q in demo_questions() if q.answerable and q.answers]
    path = Path(source)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the questions cannot be read from {source!r} ({error}); give `demo` or a FlashRAG jsonl file") from error
    found = [_asked(line, number, path) for number, line in enumerate(lines, 1) if line.strip()]
    return [asked for asked in found if asked.gold.answers]


def _asked(line: str, number: int, path: Path) -> Asked:
    try:
        data = json.loads(line)
        answers = tuple(str(answer) for answer in data["golden_answers"])
        return Asked(id=str(data.get("id", number)), question=str(data["question"]), gold=Gold(answers=answers), dataset=path.stem)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"line {number} of {path} is no FlashRAG question ({type(error).__name__}: {error}); it needs "
                         '"question" and "golden_answers" (a list)') from error


def pick(found: list[Asked], n: int, seed: int, without: Set[str] = frozenset()) -> list[Asked]:
    """At most `n` questions by the seed, none whose normal form is in `without` (questions that a judge was trained on)."""
    free = sorted((asked for asked in found if normal(asked.question) not in without), key=lambda asked: asked.id)
    random.Random(seed).shuffle(free)
    return free[:n]


def normal(question: str) -> str:
    """Lower case, single spaces: how questions are told apart here."""
    return " ".join(question.lower().split())
