"""Gold paragraphs -> passages of a corpus, in one pass over the corpus with memory for the gold paragraphs alone.

A paragraph's passage is, in this order: same title and same text; same title and most of the words (a corpus of 100-word
chunks: the chunk with the largest share); same text under another title. White space, case and Unicode forms do not count.
A paragraph known by title alone takes the page's only passage, or the only one of its passages that holds the answer.
"""

from __future__ import annotations

import html
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from trio_core.datasets.values import Paragraph, Question
from trio_core.metrics import cover_token_seq
from trio_core.values import Gold, Passage, Value

OVERLAP = 0.8
"""Share of the shorter one's words that the other must hold."""
FEWEST_WORDS = 8
"""Shorter paragraphs and passages share their words by chance."""


class Unmapped(Value):
    """A gold paragraph without a passage."""

    question_id: str
    title: str
    why: str


class EvidenceMap(Value):
    """Where the evidence of questions lies. `found` holds, by question id, a passage id (or "") for each of its paragraphs."""

    found: dict[str, tuple[str, ...]]
    paragraphs: int
    mapped: int
    unmapped: tuple[Unmapped, ...] = ()

    def passage_ids(self, question: Question) -> tuple[str, ...]:
        """Ids of the question's evidence, each once, as far as it was found."""
        return tuple(dict.fromkeys(i for i in self.found.get(question.id, ()) if i))

    def passage_id(self, question: Question, paragraph: Paragraph | None) -> str:
        """The passage of one of its paragraphs (a hop's evidence); "" where there is none."""
        found = self.found.get(question.id, ())
        return next((i for p, i in zip(question.evidence, found, strict=False) if p == paragraph), "")

    def gold(self, question: Question) -> Gold:
        """What a run records as right."""
        return Gold(answers=question.answers, passage_ids=self.passage_ids(question), answerable=question.answerable)

    def summary(self) -> str:
        """One line for people."""
        named = "; ".join(f"{u.question_id}: {u.title!r} ({u.why})" for u in self.unmapped[:3])
        found = f"{self.mapped:,} of {self.paragraphs:,} gold paragraphs found in the corpus"
        return f"{found}; not found, for example {named}" if named else found


def map_evidence(questions: Sequence[Question], passages: Iterable[Passage]) -> EvidenceMap:
    """Finds the passages of all gold paragraphs. Which were not found, and why, is listed, not dropped."""
    wanted = {p: _Wanted(p) for q in questions for p in q.evidence}
    by_title: defaultdict[str, list[_Wanted]] = defaultdict(list)
    by_text: defaultdict[str, list[_Wanted]] = defaultdict(list)
    for want in wanted.values():
        by_title[want.title].append(want)
        if want.text:
            by_text[want.text].append(want)
    for passage in passages:
        text, title = text_key(passage.text), title_key(passage.title)
        same = by_title.get(title, [])
        words = Counter(_words(passage.text)) if same else Counter[str]()
        for want in same:
            want.see(passage, text, words)
        for want in by_text.get(text, ()):
            if want not in same:
                want.take(1, 0.0, passage.id)
    return _result(questions, wanted)


def title_key(title: str) -> str:
    """A title for comparing: HotpotQA writes `&amp;`, copies differ in Unicode form and white space."""
    return " ".join(unicodedata.normalize("NFKC", html.unescape(title)).casefold().split())


def text_key(text: str) -> str:
    """A text for comparing: without white space, since copies join sentences in different ways."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).casefold().split()


class _Wanted:
    """A gold paragraph and the best passage so far."""

    def __init__(self, paragraph: Paragraph) -> None:
        self.title = title_key(paragraph.title)
        self.text = text_key(paragraph.text)
        self.words = Counter(_words(paragraph.text))
        self.best: tuple[int, float] = (0, 0.0)
        self.passage_id = ""
        self.of_page: list[Passage] = []
        """Passages under the title, where only the title is known."""
        self.title_seen = False

    def see(self, passage: Passage, text: str, words: Counter[str]) -> None:
        """A passage under the same title."""
        self.title_seen = True
        if not self.text:
            self.of_page.append(passage)
        elif text == self.text:
            self.take(3, 0.0, passage.id)
        else:
            shared = sum((words & self.words).values())
            shorter = min(words.total(), self.words.total())
            if shorter >= FEWEST_WORDS and shared >= OVERLAP * shorter:
                self.take(2, shared, passage.id)

    def take(self, rung: int, shared: float, passage_id: str) -> None:
        """Keeps the better of two; of equals the first."""
        if (rung, shared) > self.best:
            self.best, self.passage_id = (rung, shared), passage_id

    def resolve(self, question: Question) -> tuple[str, str]:
        """(passage id or "", why not)."""
        if self.text:
            return self.passage_id, "another text under this title" if self.title_seen else "no such title or text"
        if len(self.of_page) < 2:
            return (self.of_page[0].id, "") if self.of_page else ("", "no such title")
        holding = [p.id for p in self.of_page if any(cover_token_seq(p.text, answer) for answer in question.answers)]
        if len(holding) == 1:
            return holding[0], ""
        return "", f"{len(self.of_page)} passages have this title, {len(holding)} hold the answer"


def _result(questions: Sequence[Question], wanted: dict[Paragraph, _Wanted]) -> EvidenceMap:
    found: dict[str, tuple[str, ...]] = {}
    missing: list[Unmapped] = []
    for question in questions:
        ids = []
        for paragraph in question.evidence:
            passage_id, why = wanted[paragraph].resolve(question)
            ids.append(passage_id)
            if not passage_id:
                missing.append(Unmapped(question_id=question.id, title=paragraph.title, why=why))
        found[question.id] = tuple(ids)
    total = sum(len(ids) for ids in found.values())
    return EvidenceMap(found=found, paragraphs=total, mapped=total - len(missing), unmapped=tuple(missing))
