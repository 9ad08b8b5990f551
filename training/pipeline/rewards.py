"""The rewards of TRIO's training as pure functions: equations 1-7 (sections 3.2 and 3.3).

`y` is the whole output of an agent (without reasoning), so that whatever it adds to the answer costs precision. Words are
those of the SQuAD normaliser, as in the reported metrics; the paper's y = y* is read as equality of these words. Of several
gold answers the one with the best reward counts, for all terms alike. No yes/no rule: the equations have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field

from trio_core.metrics import normalize
from trio_core.values import Value

Stage = Literal[1, 2]
AnswerReward = Callable[[str, str], float]


class RewardSettings(Value):
    """The hyper-parameters that the paper calls tuned and does not give."""

    alpha: float = Field(default=0.5, ge=0)
    """Weight of precision (stage 1) and F1 (stage 2) beside EM; ours."""
    max_length: int = Field(default=10, ge=1)
    """l of equation 3: a longer output costs 1. Ten words is R1-Searcher's limit of an answer."""
    length_unit: Literal["words", "characters"] = "words"
    """Unit of l: words by white space of the output as written, or its characters."""


def words(text: str) -> list[str]:
    """Words that EM, precision and F1 count."""
    return normalize(text).split()


def exact_match(y: str, gold: str) -> float:
    """Equation 1. An output without words matches nothing."""
    ours = words(y)
    return float(bool(ours) and ours == words(gold))


def shared_words(y: str, gold: str) -> int:
    """IN of equation 2: words in both, each as often as in the one that has it less often."""
    return (Counter(words(y)) & Counter(words(gold))).total()


def precision(y: str, gold: str) -> float:
    """Equation 2; 0 for an output without words."""
    n = len(words(y))
    return shared_words(y, gold) / n if n else 0.0


def length_term(y: str, settings: RewardSettings) -> float:
    """Equation 3: -1 above the limit, else 0."""
    length = len(y.split()) if settings.length_unit == "words" else len(y.strip())
    return -1.0 if length > settings.max_length else 0.0


def f1(y: str, gold: str) -> float:
    """Equation 6; 0 where neither has words."""
    n = len(words(y)) + len(words(gold))
    return 2 * shared_words(y, gold) / n if n else 0.0


def best_f1(y: str, golds: Sequence[str]) -> float:
    """Equation 6 against the gold that fits best; 0 without golds."""
    return max((f1(y, gold) for gold in golds), default=0.0)


def answer_reward(y: str, golds: Sequence[str], stage: Stage, settings: RewardSettings) -> float:
    """Equation 4 (stage 1: precision) or 5 (stage 2: F1)."""
    overlap = precision if stage == 1 else f1
    return max((exact_match(y, g) + settings.alpha * overlap(y, g) for g in golds), default=0.0) + length_term(y, settings)


def query_reward(before: str, after: str, golds: Sequence[str]) -> float:
    """Equation 7: what the new passages did to the frozen answer agent's F1; between -1 and 1."""
    return best_f1(after, golds) - best_f1(before, golds)
