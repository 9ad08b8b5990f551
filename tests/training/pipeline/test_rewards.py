"""Equations 1-7 by hand and against an independent oracle on 10,000 random pairs."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.training.pipeline.oracle import oracle_answer_reward, oracle_f1
from training.pipeline import rewards as r

DEFAULT = r.RewardSettings(alpha=0.5, max_length=5)
WORDS = ["the", "a", "Paris", "paris", "U.S.", "us", "1,000", "river", "Rhine", "rhine,", "of", "Jean-Luc", "é", "_", "-", "an’"]


@pytest.mark.parametrize(("y", "golds", "stage1", "stage2"), [
    ("Paris", ["Paris"], 1.5, 1.5),  # EM 1, PR 1, F1 1
    ("the Paris!", ["paris"], 1.5, 1.5),  # article and punctuation do not count
    ("Paris France", ["Paris"], 0.25, 1 / 3),  # EM 0; PR 1/2; F1 = 2*1/(2+1)
    ("Seine", ["the river Seine"], 0.5, 1 / 3),  # PR 1/1; F1 = 2*1/(1+2)
    ("river river Seine", ["river Seine"], 1 / 3, 0.4),  # a word counts as often as the gold has it: PR 2/3, F1 4/5
    ("it is the town of Paris", ["Paris"], 0.5 / 5 - 1, 1 / 6 - 1),  # 5 words count, 6 are written, over the limit of 5
    ("", ["Paris"], 0.0, 0.0),
    ("Rome", ["Paris", "Rome"], 1.5, 1.5),
    ("Rome", [], 0.0, 0.0),
    ("Oslo", ["Paris"], 0.0, 0.0),
])
def test_by_hand(y: str, golds: list[str], stage1: float, stage2: float) -> None:
    assert r.answer_reward(y, golds, 1, DEFAULT) == pytest.approx(stage1)
    assert r.answer_reward(y, golds, 2, DEFAULT) == pytest.approx(stage2)


def test_the_limit_itself_is_no_breach_and_the_unit_is_stated() -> None:
    assert r.length_term("one two three four five", DEFAULT) == 0 and r.length_term("one two three four five six", DEFAULT) == -1
    characters = r.RewardSettings(max_length=5, length_unit="characters")
    assert r.length_term(" Paris ", characters) == 0 and r.length_term("Geneva", characters) == -1


def test_a_query_is_worth_what_it_adds() -> None:
    assert r.query_reward("Oslo", "Paris", ["Paris"]) == 1 and r.query_reward("Paris", "Oslo", ["Paris"]) == -1
    assert r.query_reward("Paris France", "Paris", ["Paris"]) == pytest.approx(1 / 3)
    assert r.query_reward("", "", ["Paris"]) == 0


def check(y: str, golds: list[str], later: str) -> None:
    for stage in (1, 2):
        assert r.answer_reward(y, golds, stage, DEFAULT) == pytest.approx(oracle_answer_reward(y, golds, stage, 0.5, 5))
    gain = max(oracle_f1(later, g) for g in golds) - max(oracle_f1(y, g) for g in golds)
    assert r.query_reward(y, later, golds) == pytest.approx(gain)
    assert -1 <= r.query_reward(y, later, golds) <= 1


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(min_value=0))
def test_an_independent_oracle_agrees_on_10000_pairs(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):  # times 100 examples
        y, *golds, later = (" ".join(rng.choices(WORDS, k=rng.randrange(8))) for _ in range(rng.randint(3, 5)))
        check(y, golds, later)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=12), st.lists(st.text(max_size=12), min_size=1, max_size=2), st.text(max_size=12))
def test_and_on_any_text(y: str, golds: list[str], later: str) -> None:
    check(y, golds, later)
