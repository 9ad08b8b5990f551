"""Paired bootstrap over questions: both judges are measured on the same resampled questions, with all items of each.

Items of one question stand or fall together, so questions are drawn, not items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from training.gate_values import LESS_IS_BETTER, Difference, GateRule

Truth = NDArray[np.bool_]
Floats = NDArray[np.float64]
BINS = 10


def figures(y: Truth, p: Floats, threshold: float) -> dict[str, float | None]:
    """The gate's figures on one set of items (`y`: sufficient). Undefined ones are None."""
    given = p >= threshold
    tp, tn = float((y & given).sum()), float((~y & ~given).sum())
    fp, fn = float((~y & given).sum()), float((y & ~given).sum())
    n, yes, no = float(len(y)), float(y.sum()), float((~y).sum())
    both = bool(yes and no)
    chance = ((tp + fp) * yes + (tn + fn) * no) / (n * n) if n else 1.0
    return {
        "balanced_accuracy": (tp / yes + tn / no) / 2 if both else None,
        "f1_sufficient": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0,
        "f1_insufficient": 2 * tn / (2 * tn + fp + fn) if tn + fp + fn else 0.0,
        "kappa": ((tp + tn) / n - chance) / (1 - chance) if n and chance < 1 else None,
        "auroc": _auroc(y, p) if both else None,
        "ece": _ece(y, p),
    }


def _auroc(y: Truth, p: Floats) -> float:
    """Share of (sufficient, insufficient) pairs in the right order; ties count half."""
    negatives = np.sort(p[~y])
    below, upto = np.searchsorted(negatives, p[y], "left"), np.searchsorted(negatives, p[y], "right")
    return float((below + upto).sum() / (2 * len(negatives) * len(below)))


def _ece(y: Truth, p: Floats) -> float | None:
    if not len(y):
        return None
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, y - p, minlength=BINS)).sum() / len(y))


def differences(
    y: Truth, live: tuple[Floats, float], candidate: tuple[Floats, float], questions: Sequence[str], rule: GateRule
) -> dict[str, Difference]:
    """Candidate minus live for every figure; each side is (P by item, threshold)."""
    def measure(rows: NDArray[np.int64]) -> dict[str, float | None]:
        one, two = (figures(y[rows], p[rows], threshold) for p, threshold in (candidate, live))
        return {name: _minus(one[name], two[name]) for name in one}

    return resampled(measure, questions, rule)


def resampled(
    measure: Callable[[NDArray[np.int64]], Mapping[str, float | None]], groups: Sequence[str], rule: GateRule
) -> dict[str, Difference]:
    """`measure` on all rows, and its interval over resampled groups; a resample where a figure is undefined is left out for it."""
    by_group: dict[str, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        by_group[group].append(index)
    members = [np.array(rows) for rows in by_group.values()]
    whole = measure(np.arange(len(groups)))
    random = np.random.default_rng(rule.seed)
    drawn: dict[str, list[float]] = {name: [] for name in whole}
    for _ in range(rule.resamples):
        rows = np.concatenate([members[i] for i in random.integers(len(members), size=len(members))])
        for name, value in measure(rows).items():
            if value is not None:
                drawn[name].append(value)
    return {name: _difference(value, drawn[name], rule, name in LESS_IS_BETTER) for name, value in whole.items()}


def _difference(value: float | None, drawn: Sequence[float], rule: GateRule, less: bool) -> Difference:
    if value is None or not drawn:
        return Difference(value=value, low=None, high=None, better=None)
    tail = (1 - rule.confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    gains = -np.array(drawn) if less else np.array(drawn)
    better = float((gains > 0).mean() + (gains == 0).mean() / 2)
    return Difference(value=value, low=float(low), high=float(high), better=better)


def _minus(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b
