"""What is no valid query of TRIO's query agent: too long, repeated, not keywords (the contract of section 3.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from trio_core.parsing import clean_query, lines_of, same_query, visible_text

Problem = Literal["", "empty", "too_long", "repeated", "not_keywords"]
_ASKING = re.compile(r"^(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|did|does|do)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"[?!]|\w{4,}[.;:]\s")
_STOPWORDS = frozenset(re.findall(r"\w+", """
    a an and are as at be by did do does for from has have in into is it its of on or that the to was were with
"""))


class Checked(NamedTuple):
    """The query, and what is wrong with it."""

    query: str
    problem: Problem


def check_query(output: str, used: Sequence[str], max_words: int) -> Checked:
    """Reads an output strictly: one line of keywords. Unlike live runs nothing is mended, so that the form is learned."""
    lines = lines_of(visible_text(output).value)
    query = clean_query(lines[0]) if lines else ""
    words = query.split()
    if not re.search(r"\w", query):
        return Checked("", "empty")
    if len(lines) > 1 or _ASKING.match(query) or _SENTENCE.search(query) or _many_stopwords(words):
        return Checked(query, "not_keywords")
    if len(words) > max_words:
        return Checked(query, "too_long")
    return Checked(query, "repeated" if any(same_query(query, other) for other in used) else "")


def _many_stopwords(words: Sequence[str]) -> bool:
    """More than a third: a sentence. Titles ("The Lord of the Rings") are no sentence: capitals do not count."""
    return 3 * sum(word in _STOPWORDS for word in words) > len(words)
