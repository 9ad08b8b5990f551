"""Fitting a head: against scikit-learn's own pipeline, without seeing a question on both sides, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from training.head import HeadSettings, SignalRow, fit_head
from trio_core.errors import TrainingError

PAIR = HeadSettings(features=("logit", "round"), samples=0, c=1.0)


def made_up(n: int = 120, seed: int = 0) -> list[SignalRow]:
    """The label hangs on the logit and, more, on the round; the pool's size is noise."""
    random = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        logit, round_ = float(random.normal()), float(random.integers(1, 5))
        yes = random.random() < 1 / (1 + np.exp(-(logit + 2 * (round_ - 2.5))))
        rows.append(SignalRow(i, f"q{i // 3}", "sufficient" if yes else "insufficient",
                              {"logit": logit, "round": round_, "pool_tokens": float(random.normal())}))
    return rows


def test_it_is_scikit_learns_logistic_regression() -> None:
    rows = made_up()
    head = fit_head(rows, PAIR, "zero-shot").head
    x, y = np.array([[r.signals["logit"], r.signals["round"]] for r in rows]), [r.label == "sufficient" for r in rows]
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=2000)).fit(x, y).predict_proba(x)[:, 1]
    assert [head.p(r.signals) for r in rows] == pytest.approx(theirs.tolist(), abs=1e-6)


def test_it_learns_what_the_logit_does_not_know() -> None:
    fitted = fit_head(made_up(300), HeadSettings(features=("logit", "round", "pool_tokens"), samples=0), "zero-shot")
    new = made_up(300, seed=1)
    y = [r.label == "sufficient" for r in new]
    alone = roc_auc_score(y, [r.signals["logit"] for r in new])
    assert roc_auc_score(y, [fitted.head.p(r.signals) for r in new]) > alone + 0.1
    assert len(fitted.cross_validated) == 300 and 0 < fitted.threshold < 1 and (fitted.head.rows, fitted.head.judge) == (300, "zero-shot")


def test_a_question_is_never_on_both_sides() -> None:
    """Labels that only the question gives away cannot be learned across questions."""
    rows = [SignalRow(i, f"q{i // 4}", "sufficient" if (i // 4) % 2 else "insufficient", {"logit": float(i // 4 * 37 % 17)})
            for i in range(80)]
    fitted = fit_head(rows, HeadSettings(features=("logit",), samples=0), "zero-shot")
    by_question = {}
    for row, p in zip(rows, fitted.cross_validated, strict=True):
        by_question.setdefault(row.question, set()).add(round(p, 9))
    assert all(len(values) == 1 for values in by_question.values())


def test_unknown_signals_count_as_the_mean_and_dull_ones_are_left_out() -> None:
    rows = [row._replace(signals={k: v for k, v in row.signals.items() if k != "round" or row.item_id % 2}) for row in made_up()]
    settings = HeadSettings(features=("logit", "round", "comparison", "top_score"), samples=0)
    rows = [row._replace(signals={**row.signals, "comparison": 1.0}) for row in rows]
    fitted = fit_head(rows, settings, "zero-shot")
    assert fitted.head.features == ("logit", "round")
    assert fitted.notes == ("comparison is left out: it is 1 for every item", "top_score is left out: no item has it")
    known = [row.signals["round"] for row in rows if "round" in row.signals]
    assert fitted.head.means[1] == pytest.approx(np.mean(known)) and fitted.head.scales[1] == pytest.approx(np.std(known))


@pytest.mark.parametrize("rows", [made_up(10), [row._replace(label="sufficient") for row in made_up(40)]])
def test_too_few_rows_are_refused(rows: list[SignalRow]) -> None:
    with pytest.raises(TrainingError, match="at least 20 labelled items with both labels"):
        fit_head(rows, PAIR, "zero-shot")


def test_features_that_need_answers_need_samples() -> None:
    with pytest.raises(ValidationError, match="need sampled answers"):
        HeadSettings(features=("logit", "agreement"), samples=0)
    with pytest.raises(ValidationError, match="unknown features"):
        HeadSettings(features=("mood",), samples=0)


def test_balanced_weights_move_the_middle() -> None:
    rows = [row for row in made_up(300) if row.label == "insufficient" or row.item_id % 4 == 0]
    plain, even = (fit_head(rows, PAIR.model_copy(update={"class_weight": w}), "z").head for w in ("none", "balanced"))
    assert np.mean([even.p(r.signals) for r in rows]) > np.mean([plain.p(r.signals) for r in rows]) + 0.1
