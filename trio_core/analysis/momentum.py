"""The MAPS paper's search momentum (as its review gives it): q_0 is the question, q_t the mean of round t's sub-queries,

    m_t = b_t m_{t-1} + (1 - b_t) (q_t - q_{t-1}),  m_0 = 0      momentum
    S_t = cos(m_t, q_{t+1} - q_0)                                alignment
    C_t = cos(m_t, q_0)                                          of which the changes are added up: cumulative offset

The cosine does not change with the length of m_t, so b_1 (with m_0 = 0) does nothing and stays 0. Read S_t only beside
`null_model`: it rises with t for steps in random directions too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trio_core.values import Value

Floats = NDArray[np.float64]
STARTS = (0.1, 0.5, 0.9)
"""Mean alignment is not concave in b_t: the fit is begun at each of these and the best result holds."""
HIGHEST = 0.999
TINY = 1e-12


class Alignment(Value):
    """Per step t = 1, 2, …: fitted b_t, mean alignment, and from how many trajectories."""

    betas: tuple[float, ...] = ()
    means: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    fitted_on: int = 0
    """Trajectories that the betas were fitted on; 0 = none was long enough."""
    held_out: bool = False
    """True where the means are of other trajectories than the fit."""


def momenta(points: Floats, betas: Sequence[float]) -> Floats:
    """m_1 … m_T of one trajectory. points: (T+1, dim), row 0 the question; betas: at least T. Shape (T, dim)."""
    steps = np.diff(points, axis=0)
    rows, current = [], np.zeros(points.shape[1])
    for step, beta in zip(steps, betas, strict=False):
        current = beta * current + (1 - beta) * step
        rows.append(current)
    return np.array(rows).reshape(len(rows), points.shape[1])


def cosine(a: Floats, b: Floats) -> float:
    """NaN where one of the vectors has no length."""
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size > TINY else float("nan")


def alignments(points: Floats, betas: Sequence[float]) -> list[float]:
    """S_1 … S_{T-1} of one trajectory, as far as there are betas; NaN where a vector has no length."""
    return [cosine(m, end - points[0]) for m, end in zip(momenta(points, betas), points[2:], strict=False)]


def offsets(points: Floats, betas: Sequence[float]) -> list[float]:
    """C_t - C_1 for t = 1 … T: the signed changes of cos(m_t, q_0) added up."""
    own = [cosine(m, points[0]) for m in momenta(points, betas)]
    return [c - own[0] for c in own]


def absolute_offsets(points: Floats, betas: Sequence[float]) -> list[float]:
    """The sizes of those changes added up: the paper does not say which of the two it plots."""
    own = [cosine(m, points[0]) for m in momenta(points, betas)]
    return [0.0, *np.cumsum(np.abs(np.diff(own))).tolist()] if own else []


def fit_betas(trajectories: Sequence[Floats]) -> list[float]:
    """b_1 = 0, b_2, …: each in turn maximises the mean S_t over the trajectories that have it, by L-BFGS-B in [0, 0.999]."""
    longest = max((len(p) for p in trajectories), default=0)
    betas: list[float] = []
    before = [np.zeros(p.shape[1]) for p in trajectories]
    for t in range(1, longest - 1):
        have = [n for n, p in enumerate(trajectories) if len(p) > t + 1]
        m = np.array([before[n] for n in have])
        d = np.array([trajectories[n][t] - trajectories[n][t - 1] for n in have])
        v = np.array([trajectories[n][t + 1] - trajectories[n][0] for n in have])
        beta = 0.0 if t == 1 else _fit_one(m, d, v)
        betas.append(beta)
        for row, n in enumerate(have):
            before[n] = beta * m[row] + (1 - beta) * d[row]
    return betas


def _fit_one(m: Floats, d: Floats, v: Floats) -> float:
    from scipy.optimize import minimize  # slow to import; most commands never fit

    def loss(x: Floats) -> tuple[float, Floats]:
        value, slope = _mean_cosine(float(x[0]), m, d, v)
        return -value, np.array([-slope])

    tries = [minimize(loss, [start], jac=True, method="L-BFGS-B", bounds=[(0.0, HIGHEST)]) for start in STARTS]
    return float(min(tries, key=lambda r: r.fun).x[0])


def _mean_cosine(beta: float, m: Floats, d: Floats, v: Floats) -> tuple[float, float]:
    """Mean of cos(beta m + (1 - beta) d, v) over the rows, and its derivative by beta. Rows without length count as nothing."""
    w, change = beta * m + (1 - beta) * d, m - d
    norms, ends = np.linalg.norm(w, axis=1), np.linalg.norm(v, axis=1)
    good = (norms > TINY) & (ends > TINY)
    if not good.any():
        return 0.0, 0.0
    w, change, v, norms, ends = w[good], change[good], v[good], norms[good], ends[good]
    cos = (w * v).sum(axis=1) / (norms * ends)
    slope = (change * v).sum(axis=1) / (norms * ends) - cos * (w * change).sum(axis=1) / norms**2
    return float(cos.mean()), float(slope.mean())


def mean_by_step(rows: Sequence[Sequence[float]]) -> tuple[list[float], list[int]]:
    """Means and counts by position over rows of different lengths; NaN values are left out."""
    longest = max((len(r) for r in rows), default=0)
    columns = [[r[t] for r in rows if len(r) > t and not np.isnan(r[t])] for t in range(longest)]
    return [float(np.mean(c)) if c else float("nan") for c in columns], [len(c) for c in columns]


def align(fit: Sequence[Floats], report: Sequence[Floats] = ()) -> Alignment:
    """Fits on one set of trajectories and reports another (none = the same)."""
    if not fit:
        return Alignment()
    betas = fit_betas(fit)
    means, counts = mean_by_step([alignments(p, betas) for p in (report or fit)])
    return Alignment(betas=tuple(betas), means=tuple(means), counts=tuple(counts), fitted_on=len(fit), held_out=bool(report))
