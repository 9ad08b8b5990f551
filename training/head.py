"""Fitting a calibrated head: scikit-learn's logistic regression over standardised signals, written out as plain numbers.

Seconds on a CPU. Cross-validation goes by question (a question never on both sides); it chooses the strength of the penalty
by log-loss, and its predictions, not the fitted ones, give the threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from storage.values import BinaryLabel
from training.metrics import tune_threshold
from trio_core.errors import TrainingError
from trio_core.judge_head import FEATURES, SAMPLED, JudgeHead
from trio_core.values import Value

DEFAULT_FEATURES = ("logit", "new_passages", "round", "comparison", "question_in_pool", "chain", "named_titles")
"""What ranked items best in `tests/benchmarks/results/learning_curve.md` without a call beside the judge's. No passage scores: they
mean something else with each retriever."""
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Values of C that cross-validation chooses from."""
LEAST_ROWS = 20

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]
Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Indexes of the rows to fit on, and of those to test."""


class HeadSettings(Value):
    """What a head reads and how it is fitted."""

    features: tuple[str, ...] = Field(default=DEFAULT_FEATURES, min_length=1)
    samples: int = Field(default=0, ge=0, le=64)
    """Answers sampled for each verdict, in fitting and live; 0 = none (then no feature may need them)."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    c: float | None = Field(default=None, gt=0)
    """Inverse strength of the penalty; null = by cross-validation."""
    class_weight: Literal["none", "balanced"] = "none"
    """`balanced` weighs both classes alike; P(sufficient) then no longer shows how often it is sufficient (ECE)."""
    folds: int = Field(default=5, ge=2, le=20)
    seed: int = 13

    @model_validator(mode="after")
    def _known(self) -> HeadSettings:
        unknown = sorted(set(self.features) - set(FEATURES))
        if unknown:
            raise ValueError(f"unknown features {unknown}; known: {', '.join(FEATURES)}")
        if not self.samples and (needed := sorted(SAMPLED & set(self.features))):
            raise ValueError(f"features {needed} need sampled answers: set samples above 0, or leave them out")
        return self


class SignalRow(NamedTuple):
    """A labelled item as a head sees it."""

    item_id: int
    question: str
    label: BinaryLabel
    signals: Mapping[str, float]


class FittedHead(NamedTuple):
    """A head, its threshold, and P of each row by a fit that did not see the row's question."""

    head: JudgeHead
    threshold: float
    cross_validated: tuple[float, ...]
    c: float
    notes: tuple[str, ...]


def fit_head(rows: Sequence[SignalRow], settings: HeadSettings, judge: str) -> FittedHead:
    """Fits on `rows`. Raises TrainingError where they are too few, of one class, or without the judge's logit."""
    counts = {label: sum(row.label == label for row in rows) for label in ("sufficient", "insufficient")}
    if len(rows) < LEAST_ROWS or min(counts.values()) < 2:
        raise TrainingError(f"a head needs at least {LEAST_ROWS} labelled items with both labels; there are {counts['sufficient']} "
                            f"sufficient and {counts['insufficient']} insufficient ones: label more")
    x = np.array([[row.signals.get(name, np.nan) for name in settings.features] for row in rows], dtype=float)
    used, notes = _usable(x, settings.features)
    x, names = x[:, used], tuple(settings.features[i] for i in used)
    if not names:
        raise TrainingError("none of the features differs between the items, so there is nothing to fit: " + "; ".join(notes))
    y = np.array([row.label == "sufficient" for row in rows])
    folds = _folds(y, [row.question for row in rows], settings)
    grid = PENALTIES if settings.c is None else (settings.c,)
    predictions = {c: _cross_validated(x, y, folds, c, settings) for c in grid}
    c = min(grid, key=lambda c: _log_loss(y, predictions[c]))
    means, scales, weights, intercept = _fit(x, y, c, settings)
    head = JudgeHead(
        features=names, means=tuple(means.tolist()), scales=tuple(scales.tolist()), coefficients=tuple(weights.tolist()),
        intercept=intercept, judge=judge, samples=settings.samples if SAMPLED & set(names) else 0,
        temperature=settings.temperature, rows=len(rows))
    p = tuple(predictions[c].tolist())
    return FittedHead(head, tune_threshold([row.label for row in rows], p), p, c, tuple(notes))


def _usable(x: Floats, names: Sequence[str]) -> tuple[list[int], list[str]]:
    """Columns that are known somewhere and vary, and why the others are left out."""
    used: list[int] = []
    notes: list[str] = []
    for i, name in enumerate(names):
        known = x[:, i][~np.isnan(x[:, i])]
        if not len(known):
            notes.append(f"{name} is left out: no item has it")
        elif known.std() < 1e-9:
            notes.append(f"{name} is left out: it is {known[0]:g} for every item")
        else:
            used.append(i)
    return used, notes


def _fit(x: Floats, y: Truth, c: float, settings: HeadSettings) -> tuple[Floats, Floats, Floats, float]:
    """Means, scales, coefficients, intercept. What a row does not know counts as the mean."""
    from sklearn.linear_model import LogisticRegression

    # A fold may know a column nowhere, or see one value only.
    known = ~np.isnan(x)
    n = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, x, 0.0).sum(axis=0) / n
    scales = np.sqrt((np.where(known, x - means, 0.0) ** 2).sum(axis=0) / n)
    scales = np.where(scales > 1e-9, scales, 1.0)
    z = np.where(known, (x - means) / scales, 0.0)
    weight = None if settings.class_weight == "none" else "balanced"
    model = LogisticRegression(C=c, class_weight=weight, max_iter=2000, random_state=settings.seed).fit(z, y)
    return means, scales, model.coef_[0], float(model.intercept_[0])


def _cross_validated(x: Floats, y: Truth, folds: Sequence[Fold], c: float, settings: HeadSettings) -> Floats:
    """P of each row by the fold's fit that did not see it."""
    p = np.empty(len(y))
    for train, test in folds:
        means, scales, weights, intercept = _fit(x[train], y[train], c, settings)
        z = np.nan_to_num((x[test] - means) / scales, nan=0.0)
        p[test] = 1 / (1 + np.exp(-(z @ weights + intercept)))
    return p


def _folds(y: Truth, questions: Sequence[str], settings: HeadSettings) -> list[Fold]:
    """Folds by question with both classes in each training part; where there are none, the rows test themselves."""
    from sklearn.model_selection import StratifiedGroupKFold

    groups = np.unique(questions, return_inverse=True)[1]
    count = min(settings.folds, len(set(groups)), int(y.sum()), int((~y).sum()))
    everything = [(np.arange(len(y)), np.arange(len(y)))]
    if count < 2:
        return everything
    found = list(StratifiedGroupKFold(count, shuffle=True, random_state=settings.seed).split(np.zeros(len(y)), y, groups))
    return found if all(len(set(y[train])) == 2 for train, _ in found) else everything


def _log_loss(y: Truth, p: Floats) -> float:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(-np.mean(np.where(y, np.log(p), np.log(1 - p))))
