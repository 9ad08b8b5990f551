"""The rewards once more, written from the paper's equations without the project's code: what the tests compare with."""

from __future__ import annotations

import string


def oracle_words(text: str) -> list[str]:
    """SQuAD words: lower case, no ASCII punctuation, no articles."""
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    # An article goes only as a word of its own between other characters than letters, digits and underscores.
    found, word = [], ""
    for char in kept + " ":
        if char.isalnum() or char == "_":
            word += char
            continue
        found.append("" if word in ("a", "an", "the") else word)
        found.append(char)
        word = ""
    return "".join(found).split()


def oracle_shared(ours: list[str], theirs: list[str]) -> int:
    """Crosses off one word of `theirs` for every word of `ours`."""
    left = list(theirs)
    for word in ours:
        if word in left:
            left.remove(word)
    return len(theirs) - len(left)


def oracle_f1(y: str, gold: str) -> float:
    """Harmonic mean of precision and recall, not the closed form of equation 6."""
    ours, theirs = oracle_words(y), oracle_words(gold)
    shared = oracle_shared(ours, theirs)
    return 0.0 if not shared else 2 / (len(ours) / shared + len(theirs) / shared)


def oracle_answer_reward(y: str, golds: list[str], stage: int, alpha: float, limit: int) -> float:
    """Equations 4 and 5, best gold."""
    rewards = []
    for gold in golds:
        ours, theirs = oracle_words(y), oracle_words(gold)
        em = 1 if ours and ours == theirs else 0
        overlap = (oracle_shared(ours, theirs) / len(ours) if ours else 0) if stage == 1 else oracle_f1(y, gold)
        rewards.append(em + alpha * overlap)
    return max(rewards) - (1 if len(y.split()) > limit else 0)
