"""Intervals and tests over questions: numpy, seeded, memory for one block of draws at a time.

Repeats of a question are averaged first, so the unit is the question. With several data sets, questions are drawn within each
(a stratified bootstrap), which gives the micro-average (weighted by questions) and the macro-average (mean of the sets) alike.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from trio_core.values import Value

Floats = NDArray[np.float64]
DRAWS = 2000
BLOCK = 1 << 20
"""Indexes drawn at once."""


class Estimate(Value):
    """A mean with its 95 % percentile bootstrap interval; nulls where there is nothing to average."""

    mean: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Questions."""


class Paired(Value):
    """Two entrants on the questions that both have. `mean` = first minus second."""

    n: int
    mean: float | None
    low: float | None = None
    high: float | None = None
    p_bootstrap: float | None = None
    """Two-sided, from the share of draws on the other side of 0."""
    wins: int = 0
    losses: int = 0
    ties: int = 0
    p_sign: float | None = None
    """Exact two-sided sign test; ties do not count."""


def drawn_means(values: Sequence[float], draws: int, rng: np.random.Generator) -> Floats:
    """Means of `draws` resamples with replacement."""
    data = np.asarray(values, dtype=np.float64)
    rows = max(BLOCK // len(data), 1)
    blocks = [data[rng.integers(0, len(data), (min(rows, draws - at), len(data)))].mean(axis=1) for at in range(0, draws, rows)]
    return np.concatenate(blocks)


def micro(strata: Mapping[str, Sequence[float]], draws: int = DRAWS, seed: int = 0) -> Estimate:
    """Mean over all questions, whichever set they are of."""
    sizes = {name: len(v) for name, v in strata.items() if v}
    return _combined(strata, {name: n / sum(sizes.values()) for name, n in sizes.items()}, draws, seed)


def macro(strata: Mapping[str, Sequence[float]], draws: int = DRAWS, seed: int = 0) -> Estimate:
    """Mean of the sets' means: every set counts the same."""
    names = [name for name, v in strata.items() if v]
    return _combined(strata, {name: 1 / len(names) for name in names}, draws, seed)


def _combined(strata: Mapping[str, Sequence[float]], weights: Mapping[str, float], draws: int, seed: int) -> Estimate:
    if not weights:
        return Estimate(mean=None)
    rng = np.random.default_rng(seed)
    mean = sum(w * float(np.mean(strata[name])) for name, w in weights.items())
    drawn = sum((w * drawn_means(strata[name], draws, rng) for name, w in weights.items()), np.zeros(draws))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(mean=mean, low=float(low), high=float(high), n=sum(len(strata[name]) for name in weights))


def paired(first: Sequence[float], second: Sequence[float], draws: int = DRAWS, seed: int = 0) -> Paired:
    """Bootstrap over questions of the difference, and the sign test. Both sequences are of the same questions in order."""
    difference = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = len(difference)
    if not n:
        return Paired(n=0, mean=None)
    wins, losses = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
    drawn = drawn_means(difference.tolist(), draws, np.random.default_rng(seed))
    low, high = np.quantile(drawn, (0.025, 0.975))
    # One more in both parts: a p of exactly 0 is never what a finite number of draws shows.
    below, above = (1 + int((drawn <= 0).sum())) / (draws + 1), (1 + int((drawn >= 0).sum())) / (draws + 1)
    return Paired(
        n=n, mean=float(difference.mean()), low=float(low), high=float(high), p_bootstrap=min(1.0, 2 * min(below, above)),
        wins=wins, losses=losses, ties=n - wins - losses, p_sign=sign_test(wins, losses),
    )


def sign_test(wins: int, losses: int) -> float:
    """Two-sided binomial test of wins = losses, exact; 1 where nothing differs."""
    n, k = wins + losses, min(wins, losses)
    tail = sum(math.comb(n, i) for i in range(k + 1))
    return min(1.0, 2 * tail / 2**n) if n else 1.0
