"""When two questions count as the same one."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import ceil

NEAR = Fraction(4, 5)
"""Share of common words (Jaccard) from which two questions are near-duplicates."""


def normalise(question: str) -> str:
    """Case, punctuation and spacing removed; a question of nothing but punctuation stays what it is."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", question).casefold())
    return " ".join(words) or question.strip()


def question_hash(question: str) -> str:
    """Identity of a question for splits."""
    return hashlib.sha256(normalise(question).encode("utf-8", "surrogatepass")).hexdigest()


def near_groups(questions: Sequence[str]) -> list[int]:
    """A group number for each normalised question; near-duplicates, also over a chain of them, share one."""
    words = [frozenset(question.split()) for question in questions]
    parent = list(range(len(questions)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, j in _near_pairs(words):
        parent[max(root(i), root(j))] = min(root(i), root(j))
    return [root(i) for i in range(len(questions))]


def _near_pairs(words: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
    """All near pairs. Two sets that are near share a word among the rarest few of each, so only those are looked up."""
    frequency = Counter(word for each in words for word in each)
    seen: dict[str, list[int]] = defaultdict(list)
    pairs: list[tuple[int, int]] = []
    for i, mine in enumerate(words):
        rarest = sorted(mine, key=lambda word: (frequency[word], word))[: len(mine) - ceil(NEAR * len(mine)) + 1]
        candidates = {j for word in rarest for j in seen[word]}
        pairs += [(j, i) for j in candidates if are_near(words[j], mine)]
        for word in rarest:
            seen[word].append(i)
    return pairs


def are_near(a: frozenset[str], b: frozenset[str]) -> bool:
    """True when the word sets overlap enough to count as one question."""
    return len(a & b) >= NEAR * len(a | b)
