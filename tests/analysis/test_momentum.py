"""Momentum, alignment, offsets and their null model against an independent oracle and against theory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trio_core.analysis.momentum import absolute_offsets, align, alignments, fit_betas, momenta, offsets
from trio_core.analysis.null_model import best_betas, expected, highest, null_alignment, random_walks, weights


def oracle(points: np.ndarray, betas: list[float]) -> tuple[list[np.ndarray], list[float], list[float], list[float]]:
    """Straight from the equations, in closed form: m_t is written out as a weighted sum, nothing is carried along."""
    ms = []
    for t in range(1, len(points)):
        total = np.zeros(points.shape[1])
        for i in range(1, t + 1):
            weight = 1.0 - betas[i - 1]
            for j in range(i + 1, t + 1):
                weight *= betas[j - 1]
            total = total + weight * (points[i] - points[i - 1])
        ms.append(total)

    def cos(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.dot(a, b)) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b)))

    s = [cos(ms[t - 1], points[t + 1] - points[0]) for t in range(1, len(points) - 1)]
    c = [cos(m, points[0]) for m in ms]
    signed = [sum(c[k] - c[k - 1] for k in range(1, n + 1)) for n in range(len(c))]
    return ms, s, signed, [sum(abs(c[k] - c[k - 1]) for k in range(1, n + 1)) for n in range(len(c))]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(3, 8), st.integers(2, 40))
def test_equations_equal_the_oracle(seed: int, length: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    points, betas = rng.standard_normal((length, dim)), rng.uniform(0, 0.95, length - 1).tolist()
    ms, s, signed, absolute = oracle(points, betas)
    assert np.allclose(momenta(points, betas), ms, atol=1e-6)
    assert np.allclose(alignments(points, betas), s, atol=1e-6)
    assert np.allclose(offsets(points, betas), signed, atol=1e-6) and np.allclose(absolute_offsets(points, betas), absolute, atol=1e-6)


def test_a_step_without_length_has_no_alignment() -> None:
    points = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert math.isnan(alignments(points, [0.0, 0.5])[0])
    assert align([points]).counts == (0,)


def test_the_fit_finds_the_best_beta_of_a_grid() -> None:
    walks = [np.cumsum(np.random.default_rng(n).standard_normal((5, 6)), axis=0) for n in range(30)]
    betas = fit_betas(walks)
    assert betas[0] == 0.0 and len(betas) == 3

    def mean_at(t: int, beta: float) -> float:
        tried = [*betas[: t - 1], beta]
        return float(np.mean([oracle(w[: t + 2], [*tried, 0.0, 0.0])[1][t - 1] for w in walks]))

    for t in (2, 3):
        assert mean_at(t, betas[t - 1]) >= max(mean_at(t, float(b)) for b in np.linspace(0, 0.999, 60)) - 1e-6


def test_fitted_values_are_reported_on_other_trajectories() -> None:
    walks = [np.cumsum(np.random.default_rng(n).standard_normal((4, 8)), axis=0) for n in range(20)]
    both = align(walks[:10], walks[10:])
    assert both.held_out and both.fitted_on == 10 and both.counts == (10, 10)
    assert np.allclose(both.means[1], np.mean([oracle(w, [*both.betas, 0.0])[1][1] for w in walks[10:]]), atol=1e-6)
    assert align([]).fitted_on == 0


def test_theory_of_random_steps() -> None:
    """Weights add up, equal weights are the best, and S_t and beta_t rise although no step knows of another."""
    assert weights([0.0, 0.5, 2 / 3]) == pytest.approx([1 / 3] * 3)
    for t in (1, 2, 3, 4):
        assert expected(best_betas(t)) == pytest.approx(highest(t))
    assert expected([0.0, 0.9]) < highest(2) and expected([0.0, 0.1]) < highest(2)
    assert [round(highest(t), 2) for t in (1, 2, 3, 4)] == [0.71, 0.82, 0.87, 0.89]


def test_random_steps_of_one_length_behave_as_the_theory_says() -> None:
    model = np.vstack([np.zeros((1, 384)), np.cumsum(np.eye(384)[:5], axis=0)])
    found = null_alignment([model], draws=600, seed=3)
    assert np.allclose(found.means, [highest(t) for t in (1, 2, 3, 4)], atol=0.01)
    assert np.allclose(found.betas, best_betas(4), atol=0.03)
    assert list(found.means) == sorted(found.means) and found.held_out


def test_walks_keep_lengths_and_lose_directions() -> None:
    path = np.cumsum(np.random.default_rng(1).standard_normal((5, 64)) * [[1], [3], [1], [0.2], [2]], axis=0)
    walks = random_walks([path], draws=50)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert all(np.allclose(np.linalg.norm(np.diff(w, axis=0), axis=1), lengths) and np.allclose(w[0], path[0]) for w in walks)
    assert abs(np.mean([np.diff(w, axis=0)[0] @ np.diff(path, axis=0)[0] for w in walks])) < 0.5 * lengths[0] ** 2
    assert random_walks([]) == []
