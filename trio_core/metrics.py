"""Answer metrics, each under the name of its rule (METHODS (a)).

    em              equality after the SQuAD normaliser, best over the golds
    em_careful      equality after our stricter normaliser: Unicode and dashes folded, numbers kept as numbers
    f1, precision   token overlap; a yes/no/noanswer that differs from its gold scores 0 (HotpotQA, 2Wiki, FlashRAG)
    f1_squad        token overlap without that rule (SQuAD, MuSiQue)
    cover_sub       the gold is a character substring of the answer (FlashRAG `acc`; "no" is inside "norway")
    cover_token_seq the gold's tokens stand in the answer, contiguous and in order
    cover_token_any the gold's tokens all occur in the answer, in any order

Read every Cover-EM beside the answer's length (`answer_tokens`): a long answer covers much.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_SPECIAL = frozenset({"yes", "no", "noanswer"})


def normalize(text: str) -> str:
    """The SQuAD normaliser: lower case, ASCII punctuation deleted, articles dropped, white space collapsed."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def normalize_careful(text: str) -> str:
    """Folds Unicode and dashes, keeps decimals and signs, reads 1,000 as 1000; punctuation elsewhere becomes space.

    So 3.14 differs from 314, U+2212 5 equals -5, and 1914-1918 equals its en-dash form.
    """
    folded = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_QUOTES).lower()
    folded = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", folded)
    folded = re.sub(r"(?<=\w)['.](?=\w)(?<!\d\.)", "", folded)
    folded = re.sub(r"(?<!\d)\.|\.(?!\d)|(?<![\s(])-(?!\d)|(?<=[^\s(])-|[^\w\s.\-]|_", " ", folded)
    return " ".join(_ARTICLES.sub(" ", folded).split())


def _tokens(text: str) -> list[str]:
    return normalize(text).split()


def exact_match(prediction: str, gold: str) -> float:
    """1.0 where both are equal after the SQuAD normaliser."""
    return float(normalize(prediction) == normalize(gold))


def exact_match_careful(prediction: str, gold: str) -> float:
    """1.0 where both are equal after `normalize_careful`."""
    return float(normalize_careful(prediction) == normalize_careful(gold))


def token_scores(prediction: str, gold: str, special: bool = True) -> tuple[float, float, float]:
    """(F1, precision, recall) of the token multisets. `special` applies the yes/no/noanswer rule.

    Equal raw strings score 1 even where nothing is left of them (the letter "A", "!").
    """
    if prediction.strip() and prediction.strip() == gold.strip():
        return 1.0, 1.0, 1.0
    ours, theirs = normalize(prediction), normalize(gold)
    if special and ours != theirs and (ours in _SPECIAL or theirs in _SPECIAL):
        return 0.0, 0.0, 0.0
    a, b = ours.split(), theirs.split()
    if not a or not b:
        same = float(a == b)
        return same, same, same
    overlap = sum((Counter(a) & Counter(b)).values())
    if not overlap:
        return 0.0, 0.0, 0.0
    precision, recall = overlap / len(a), overlap / len(b)
    return 2 * precision * recall / (precision + recall), precision, recall


def cover_sub(prediction: str, gold: str) -> float:
    """1.0 where the normalised gold is a character substring; a gold that normalises to nothing always counts."""
    return float(normalize(gold) in normalize(prediction))


def cover_token_seq(prediction: str, gold: str) -> float:
    """1.0 where the gold's tokens stand in the answer side by side."""
    ours, theirs = _tokens(prediction), _tokens(gold)
    return float(any(ours[i : i + len(theirs)] == theirs for i in range(len(ours) - len(theirs) + 1)))


def cover_token_any(prediction: str, gold: str) -> float:
    """1.0 where every token of the gold occurs in the answer."""
    return float(set(_tokens(gold)) <= set(_tokens(prediction)))


METRICS: dict[str, Callable[[str, str], float]] = {
    "em": exact_match,
    "em_careful": exact_match_careful,
    "f1": lambda p, g: token_scores(p, g)[0],
    "f1_squad": lambda p, g: token_scores(p, g, special=False)[0],
    "precision": lambda p, g: token_scores(p, g)[1],
    "cover_sub": cover_sub,
    "cover_token_seq": cover_token_seq,
    "cover_token_any": cover_token_any,
}


def score(prediction: str, golds: Sequence[str]) -> dict[str, float]:
    """Every metric, each the best over the golds on its own (as FlashRAG does), and the answer's length in tokens.

    Without golds the result is empty; an empty answer scores 0 throughout.
    """
    if not golds:
        return {}
    return dict(_scored(prediction, tuple(golds)))


@lru_cache(maxsize=256)
def _scored(prediction: str, golds: tuple[str, ...]) -> Mapping[str, float]:
    """Remembered, because a run of an evaluation is scored as it answers and once more for its row."""
    empty = not prediction.strip()
    scores = {name: 0.0 if empty else max(rule(prediction, g) for g in golds) for name, rule in METRICS.items()}
    return scores | {"answer_tokens": float(len(_tokens(prediction)))}
