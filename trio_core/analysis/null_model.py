"""What search momentum shows when nothing drifts: steps of the runs' own lengths in directions drawn at random.

q_{t+1} - q_0 is the sum of all steps, and m_t is a weighted sum of the first t of them, so the two share their summands. For
independent steps of equal length in a space of many dimensions, with weights w_i of the steps in m_t, the cosine comes near

    S_t = sum_i w_i / sqrt(sum_i w_i^2 * (t + 1)),

which equal weights (b_t = (t - 1) / t) make as large as it gets: sqrt(t / (t + 1)) = .71, .82, .87, .89, … So both S_t and the
fitted b_t rise with t although every step forgets the one before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trio_core.analysis.momentum import Alignment, Floats, align

DRAWS = 400
"""Random trajectories; they are drawn with the lengths of the runs' in turn."""


def weights(betas: Sequence[float]) -> list[float]:
    """How much each of the t steps weighs in m_t, for t = len(betas)."""
    found: list[float] = []
    for beta in betas:
        found = [w * beta for w in found] + [1 - beta]
    return found


def expected(betas: Sequence[float]) -> float:
    """S_t of the null model for t = len(betas), in the limit of many dimensions and steps of one length."""
    w = weights(betas)
    size = math.sqrt(sum(x * x for x in w))
    return sum(w) / (size * math.sqrt(len(w) + 1)) if size else 0.0


def best_betas(steps: int) -> list[float]:
    """The betas that a fit finds on random steps of one length: b_t = (t - 1) / t."""
    return [(t - 1) / t for t in range(1, steps + 1)]


def highest(t: int) -> float:
    """S_t of the null model under `best_betas`: sqrt(t / (t + 1))."""
    return math.sqrt(t / (t + 1))


def random_walks(trajectories: Sequence[Floats], draws: int = DRAWS, seed: int = 0) -> list[Floats]:
    """Walks with the step lengths of given trajectories and directions drawn at random, each of the same shape as its model."""
    rng = np.random.default_rng(seed)
    walks = []
    for n in range(max(draws, len(trajectories)) if trajectories else 0):
        model = trajectories[n % len(trajectories)]
        lengths = np.linalg.norm(np.diff(model, axis=0), axis=1)
        directions = rng.standard_normal((len(lengths), model.shape[1]))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        walks.append(np.vstack([model[:1], model[0] + np.cumsum(directions * lengths[:, None], axis=0)]))
    return walks


def null_alignment(trajectories: Sequence[Floats], draws: int = DRAWS, seed: int = 0) -> Alignment:
    """The same fit on random walks: half of them fitted, half reported."""
    walks = random_walks(trajectories, draws, seed)
    return align(walks[::2], walks[1::2])
