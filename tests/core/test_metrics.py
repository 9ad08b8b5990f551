"""Answer metrics against values worked out by hand and an independent oracle."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_core.metrics import METRICS, cover_sub, cover_token_seq, exact_match, exact_match_careful, score, token_scores


@pytest.mark.parametrize(("prediction", "gold", "equal"), [
    ("The Beatles", "beatles", 1), ("U.S.", "us", 1), ("1,000", "1000", 1), ("Jean-Luc", "JeanLuc", 1), ("Paris, France", "Paris", 0),
    ("3.14", "314", 1), ("1914\u20131918", "1914-1918", 0),
])
def test_em_follows_the_squad_normaliser(prediction: str, gold: str, equal: int) -> None:
    assert exact_match(prediction, gold) == equal


@pytest.mark.parametrize(("prediction", "gold", "equal"), [
    ("3.14", "314", 0), ("\u22125", "-5", 1), ("1,000", "1000", 1), ("1914-1918", "1914\u20131918", 1), ("cafe\u0301", "caf\u00e9", 1),
    ("The U.S.", "us", 1), ("Delft.", "delft", 1), ("O\u2019Brien", "O'Brien", 1),
])
def test_careful_em_keeps_numbers_and_folds_dashes(prediction: str, gold: str, equal: int) -> None:
    assert exact_match_careful(prediction, gold) == equal


def test_f1_by_hand() -> None:
    # tokens: {john, smith, jr} and {john, smith}: overlap 2, precision 2/3, recall 1, F1 0.8
    assert token_scores("John Smith Jr", "John Smith") == pytest.approx((0.8, 2 / 3, 1.0))


def test_yes_no_rule_and_its_absence() -> None:
    assert token_scores("yes it is", "yes")[0] == 0
    assert token_scores("yes it is", "yes", special=False)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("text", ["A", "!", "the"])
def test_equal_text_scores_one_even_when_nothing_is_left(text: str) -> None:
    assert score(text, [text])["f1"] == 1 and score(text, [text])["em"] == 1


def test_cover_variants_differ_where_they_should() -> None:
    assert (cover_sub("Tirana", "Iran"), cover_token_seq("Tirana", "Iran")) == (1, 0)
    assert (cover_sub("1999", "9"), cover_token_seq("1999", "9")) == (1, 0)
    both = score("Cole, Bea", ["Bea Cole"])
    assert (both["cover_token_any"], both["cover_token_seq"]) == (1, 0)


def test_best_gold_counts_and_an_empty_answer_scores_nothing() -> None:
    assert score("Delft", ["Den Haag", "Delft"])["em"] == 1
    assert all(value == 0 for value in score("", ["Delft"]).values())
    assert score("Delft", []) == {}


def _oracle(prediction: str, gold: str) -> float:
    def tokens(text: str) -> list[str]:
        kept = "".join(c for c in text.lower() if c not in set(r"""!"#$%&'()*+,-./:;<=>?@[\]^_`{|}~"""))
        return re.sub(r"\b(a|an|the)\b", " ", kept).split()

    p, g = tokens(prediction), tokens(gold)
    if not p or not g:
        return float(p == g)
    common = sum(min(n, Counter(g)[w]) for w, n in Counter(p).items())
    return 2 * common / (len(p) + len(g))


WORDS = st.lists(st.sampled_from(["the", "Delft", "born", "1914", "a", "U.S.", "river", "no", "-"]), max_size=8).map(" ".join)


@given(WORDS, WORDS)
def test_f1_equals_the_dice_form(prediction: str, gold: str) -> None:
    if prediction.strip() != gold.strip():
        assert token_scores(prediction, gold, special=False)[0] == pytest.approx(_oracle(prediction, gold))


@given(st.text(max_size=40), st.text(max_size=40))
def test_every_metric_stays_between_zero_and_one(prediction: str, gold: str) -> None:
    assert all(0 <= rule(prediction, gold) <= 1 for rule in METRICS.values())
