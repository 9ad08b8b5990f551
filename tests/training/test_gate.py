"""The gate: figures against scikit-learn, intervals that behave, and a rule in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score, roc_auc_score

from training import metrics
from training.bootstrap import differences, figures
from training.gate import Entrant, GateRow, reliability, report
from training.gate_values import Difference, Downstream, DownstreamSide, GateReport, GateRule
from trio_core.errors import TrainingError

LIVE, NEW = Entrant("zero-shot", 0.5), Entrant("judge-1", 0.5)
QUICK = GateRule(resamples=200)


def rows_of(n: int = 120, skill_live: float = 0.5, skill_new: float = 3.0, seed: int = 0) -> list[GateRow]:
    """Half of either label, two items a question; P by a logistic of the label's side times the skill, plus noise."""
    random = np.random.default_rng(seed)
    made = []
    for i in range(n):
        yes = bool(i % 2)
        p = [float(1 / (1 + np.exp(-(skill * (1 if yes else -1) + random.normal())))) for skill in (skill_live, skill_new)]
        made.append(GateRow(i, f"q{i // 4}", "sufficient" if yes else "insufficient", "human" if i % 3 else "gold", *p))
    return made


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=4, max_size=60), st.floats(0.05, 0.95))
def test_figures_are_those_of_scikit_learn(pairs: list[tuple[bool, float]], threshold: float) -> None:
    y, p = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])
    found, given_ = figures(y, p, threshold), p >= threshold
    assert found["f1_sufficient"] == pytest.approx(f1_score(y, given_, zero_division=0.0))
    assert found["f1_insufficient"] == pytest.approx(f1_score(~y, ~given_, zero_division=0.0))
    assert found["ece"] == pytest.approx(metrics.ece(["sufficient" if v else "insufficient" for v in y], p.tolist()))
    if len(set(y)) == 2:
        assert found["auroc"] == pytest.approx(roc_auc_score(y, p))
        assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, given_))
        assert found["kappa"] == pytest.approx(cohen_kappa_score(y, given_))
    else:
        assert found["auroc"] is None and found["balanced_accuracy"] is None


def test_a_judge_does_not_differ_from_itself() -> None:
    rows = rows_of()
    y, p = np.array([r.label == "sufficient" for r in rows]), np.array([r.p_live for r in rows])
    for found in differences(y, (p, 0.5), (p, 0.5), [r.question for r in rows], QUICK).values():
        assert (found.value, found.low, found.high, found.better) == (0, 0, 0, 0.5)


def test_questions_are_drawn_whole() -> None:
    """120 copies of two questions carry no more than two: the interval is as wide as it gets."""
    y, p_live, p_new = np.array([True, False] * 60), np.array([0.6, 0.4] * 60), np.array([0.6, 0.6] * 60)
    few = differences(y, (p_live, 0.5), (p_new, 0.5), ["a" if i % 4 < 2 else "b" for i in range(120)], QUICK)
    assert few["balanced_accuracy"].low == few["balanced_accuracy"].high == -0.5  # either question alone says the same


def test_a_better_judge_passes_and_the_flips_are_named() -> None:
    found = report(rows_of(), LIVE, NEW, QUICK)
    assert found.passed and all(check.passed for check in found.checks) and found.words.endswith("passes the gate against zero-shot")
    assert found.differences["auroc"].low > 0 and found.counts["sufficient"]["human"] + found.counts["sufficient"]["gold"] == 60
    assert found.flips and all(flip.live != flip.candidate for flip in found.flips)
    assert sum(flip.mended for flip in found.flips) > len(found.flips) / 2
    assert sum(b.n for b in found.candidate_side.bins) == 120
    assert GateReport.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(("rows", "failing"), [
    (rows_of(skill_live=3.0, skill_new=0.5), {"balanced_accuracy", "auroc", "ece", "better"}),
    (rows_of(20), {"enough"}),
    ([row._replace(p_candidate=row.p_live) for row in rows_of()], {"better"}),
])
def test_what_does_not_pass_says_why(rows: list[GateRow], failing: set[str]) -> None:
    found = report(rows, LIVE, NEW, QUICK)
    failed = {check.name for check in found.checks if not check.passed}
    assert not found.passed and failing - {"ece"} <= failed <= failing and "does not pass" in found.words


def test_runs_that_answer_worse_fail_the_gate() -> None:
    side = DownstreamSide(judge="x", em=0.5, f1=0.5, rounds=2, calls=5, seconds=9)
    worse = Difference(value=-0.2, low=-0.3, high=-0.1, better=0.0)
    runs = Downstream(method="trio", questions=40, live=side, candidate=side, differences={"em": worse})
    found = report(rows_of(), LIVE, NEW, QUICK, downstream=runs)
    assert not found.passed and "exact match of 40 whole runs is lower beyond noise" in found.words


def test_one_label_alone_is_no_comparison() -> None:
    found = report([row for row in rows_of() if row.label == "sufficient"], LIVE, NEW, QUICK)
    assert not found.passed and found.live_side.figures["auroc"] is None and "undefined" in found.words
    with pytest.raises(TrainingError, match="no held-out item"):
        report([], LIVE, NEW, QUICK)


def test_bins_of_the_reliability_plot() -> None:
    low, high = reliability(np.array([False, True, True]), np.array([0.0, 0.05, 1.0]))
    assert (low.n, low.share_sufficient, low.mean_p, high.low, high.n) == (2, 0.5, 0.025, 0.9, 1)
