"""Intervals and tests against plain enumeration."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trio_core.evaluation import stats


def every_resample(values: list[float]) -> list[float]:
    """Means of all n^n resamples: the bootstrap without chance."""
    return sorted(statistics.fmean(draw) for draw in itertools.product(values, repeat=len(values)))


def test_the_interval_is_that_of_all_resamples() -> None:
    values = [0.0, 0.2, 0.5, 1.0, 1.0]
    low, high = np.quantile(every_resample(values), (0.025, 0.975))
    got = stats.micro({"d": values}, draws=40_000, seed=3)
    assert got.mean == pytest.approx(0.54) and got.n == 5
    assert got.low == pytest.approx(low, abs=0.02) and got.high == pytest.approx(high, abs=0.02)
    assert got == stats.micro({"d": values}, draws=40_000, seed=3)


def test_micro_weighs_questions_macro_weighs_sets() -> None:
    strata = {"a": [1.0] * 3, "b": [0.0], "none": []}
    micro, macro = stats.micro(strata, 50), stats.macro(strata, 50)
    assert (micro.mean, macro.mean, micro.n, macro.n) == (0.75, 0.5, 4, 4)
    assert (micro.low, micro.high, macro.low, macro.high) == (0.75, 0.75, 0.5, 0.5)  # no set varies within itself
    assert stats.micro({}).mean is None and stats.macro({"a": []}).mean is None


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [float(n) for n in range(10)]
    whole = stats.drawn_means(values, 1000, np.random.default_rng(0))
    monkeypatch.setattr(stats, "BLOCK", 25)
    assert np.array_equal(whole, stats.drawn_means(values, 1000, np.random.default_rng(0))) and len(whole) == 1000


@settings(deadline=None)
@given(st.integers(0, 6), st.integers(0, 6))
def test_the_sign_test_counts_all_outcomes(wins: int, losses: int) -> None:
    n = wins + losses
    ways = [sum(w) for w in itertools.product((0, 1), repeat=n)]
    as_far = sum(abs(w - n / 2) >= abs(wins - n / 2) for w in ways) / len(ways)
    assert stats.sign_test(wins, losses) == pytest.approx(as_far)


def test_pairs() -> None:
    got = stats.paired([1, 1, 0, 1, 0.5], [0, 1, 1, 0, 0.5], draws=40_000, seed=1)
    assert (got.n, got.mean, got.wins, got.losses, got.ties) == (5, pytest.approx(0.2), 2, 1, 2) and got.p_sign == 1.0
    draws = every_resample([1, 0, -1, 1, 0])
    below, above = (sum(d <= 0 for d in draws) / len(draws)), (sum(d >= 0 for d in draws) / len(draws))
    assert got.p_bootstrap == pytest.approx(2 * min(below, above), abs=0.02)
    low, high = np.quantile(draws, (0.025, 0.975))
    assert got.low == pytest.approx(low, abs=0.05) and got.high == pytest.approx(high, abs=0.05)
    back = stats.paired([0, 1, 1, 0, 0.5], [1, 1, 0, 1, 0.5], draws=40_000, seed=1)
    assert (back.mean, back.wins, back.losses) == (pytest.approx(-0.2), 1, 2) and back.low == pytest.approx(-got.high)
    assert stats.paired([1.0], [1.0]).p_bootstrap == 1.0 and stats.paired([], []).mean is None
