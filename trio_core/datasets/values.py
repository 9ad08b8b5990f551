"""One question of any data set, with what the set knows about its answer and evidence."""

from __future__ import annotations

from trio_core.retrieval.report import BrokenExample
from trio_core.values import Value

YES_NO_MAYBE = ("yes", "no", "maybe")


class Paragraph(Value):
    """A gold paragraph. An empty text = only its page is known (PopQA, FanOutQA)."""

    title: str
    text: str = ""


class Hop(Value):
    """One step of a question, as far as the set tells: sub-question (or ""), its answer (or ""), its paragraph (or None)."""

    question: str = ""
    answer: str = ""
    evidence: Paragraph | None = None


class Question(Value):
    """A question with every answer that counts as right. `type` is the set's own kind of question, `level` its difficulty."""

    id: str
    question: str
    answers: tuple[str, ...]
    dataset: str
    type: str = ""
    hops: tuple[Hop, ...] = ()
    evidence: tuple[Paragraph, ...] = ()
    """All gold paragraphs, each once."""
    choices: tuple[str, ...] = ()
    """The offered answers in the order in which they are asked; empty for a free answer."""
    answerable: bool = True
    level: str = ""

    @property
    def asked(self) -> str:
        """The wording that a method gets: with choices, they follow the question."""
        if not self.choices:
            return self.question
        if self.choices == YES_NO_MAYBE:
            return f"{self.question} Answer yes, no or maybe."
        return " ".join([self.question, *(f"({letter}) {text}" for letter, text in zip(self.letters, self.choices, strict=True))])

    @property
    def letters(self) -> tuple[str, ...]:
        """A, B, C … for the choices."""
        return tuple(chr(ord("A") + n) for n in range(len(self.choices)))


class DatasetReport(Value):
    """What a reading met. `broken` records were left out; `examples` names the first of them with file and line."""

    file: str = ""
    format: str = ""
    read: int = 0
    kept: int = 0
    broken: int = 0
    renamed: int = 0
    """Questions given a new id because theirs was taken (MuSiQue's unanswerable twins)."""
    examples: tuple[BrokenExample, ...] = ()

    def summary(self) -> str:
        """One line for people."""
        parts = [f"{self.kept:,} questions ({self.format}) from {self.file}"]
        if self.broken:
            parts.append(f"{self.broken:,} broken records left out ({'; '.join(str(e) for e in self.examples[:3])})")
        if self.renamed:
            parts.append(f"{self.renamed:,} given a new id because theirs was taken")
        return ", ".join(parts)
