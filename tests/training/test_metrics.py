"""Figures worked out by hand."""

from __future__ import annotations

import pytest

from training.metrics import compare, ece, flips, scores, tune_threshold

S, N = "sufficient", "insufficient"
LABELS = [S, S, S, S, N, N]
P = [0.9, 0.8, 0.6, 0.2, 0.7, 0.1]


def test_scores_by_hand() -> None:
    # At .5: three of four S right, one of two N right. po = 4/6, pe = (4*4 + 2*2)/36 = 20/36.
    found = scores(LABELS, P, threshold=0.5)
    assert found.balanced_accuracy == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert found.f1_sufficient == pytest.approx(2 * 3 / (2 * 3 + 1 + 1))
    assert found.f1_insufficient == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    assert found.kappa == pytest.approx((4 / 6 - 20 / 36) / (1 - 20 / 36))
    # Of the eight pairs (S, N) six are in order: .9, .8 over both, .6 and .2 over .1.
    assert found.auroc == pytest.approx(6 / 8)
    assert found.counts == {S: 4, N: 2} and found.rows == 6


def test_the_tuned_threshold_changes_only_the_tuned_figures() -> None:
    found = scores(LABELS, P, threshold=0.75)
    assert found.balanced_accuracy == pytest.approx(0.625)
    assert found.balanced_accuracy_tuned == pytest.approx((2 / 4 + 1) / 2)


def test_ece_by_hand() -> None:
    # Bin .2: 0 of 2 right, mean .25; bin .9: 1 of 1, mean .9.
    assert ece([N, N, S], [0.22, 0.28, 0.9]) == pytest.approx((2 * 0.25 + 0.1) / 3)
    assert ece([S], [1.0]) == 0.0
    assert ece([], []) == 0.0


def test_one_class_leaves_figures_undefined_not_nan() -> None:
    found = scores([S, S], [0.9, 0.8], threshold=0.5)
    assert (found.balanced_accuracy, found.auroc, found.kappa) == (None, None, None)
    assert found.f1_sufficient == 1.0 and found.f1_insufficient == 0.0


@pytest.mark.parametrize(("labels", "p", "wanted"), [
    ([S, S, N, N], [0.4, 0.3, 0.2, 0.1], 0.25),  # the zero-shot case: right order, all below .5
    ([S, N], [0.9, 0.1], 0.5),                   # .5 separates already: it stays
    ([S, S], [0.2, 0.1], 0.5),                   # nothing to tune on
])
def test_threshold_lies_between_neighbours(labels: list, p: list[float], wanted: float) -> None:
    assert tune_threshold(labels, p) == pytest.approx(wanted)


def test_flips_are_counted_by_each_judges_own_threshold() -> None:
    items = compare([(1, S, "a"), (2, N, "b"), (3, S, "c")], ([0.2, 0.2, 0.6], 0.5), ([0.6, 0.6, 0.6], 0.55))
    assert [i.flipped for i in items] == [True, True, False]
    assert flips(items, 0.55) == {"to_right": 1, "to_wrong": 1}
