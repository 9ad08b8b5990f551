"""The gate: a candidate against the live judge on held-out labels. Pure: figures, differences, flips, checks in plain words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from storage.values import BinaryLabel
from training.bootstrap import BINS, Floats, Truth, differences, figures
from training.gate_values import (
    METRICS,
    Bin,
    Check,
    Difference,
    Downstream,
    Flip,
    GateReport,
    GateRule,
    GateSide,
    Metric,
)
from training.metrics import verdicts
from trio_core.errors import TrainingError


class GateRow(NamedTuple):
    """A held-out item with both judges' P(sufficient)."""

    item_id: int
    question: str
    label: BinaryLabel
    source: str
    p_live: float
    p_candidate: float


class Entrant(NamedTuple):
    """A judge's name and threshold."""

    name: str
    threshold: float


def report(rows: Sequence[GateRow], live: Entrant, candidate: Entrant, rule: GateRule, *, downstream: Downstream | None = None,
           snapshot_id: int | None = None, left_out: int = 0, job_id: int | None = None) -> GateReport:
    """The whole report. Raises TrainingError without any row."""
    if not rows:
        raise TrainingError("there is no held-out item that both judges gave a P(sufficient) for, so nothing can be compared; "
                            "make a snapshot with held-out labels")
    y = np.array([row.label == "sufficient" for row in rows])
    p_live, p_new = np.array([row.p_live for row in rows]), np.array([row.p_candidate for row in rows])
    found = differences(y, (p_live, live.threshold), (p_new, candidate.threshold), [row.question for row in rows], rule)
    checks = _checks(Counter(row.label for row in rows), found, downstream, rule)
    return GateReport(
        candidate=candidate.name, live=live.name, passed=all(check.passed for check in checks), checks=tuple(checks), rows=len(rows),
        counts=_counts(rows), snapshot_id=snapshot_id, left_out=left_out, live_side=_side(live, y, p_live),
        candidate_side=_side(candidate, y, p_new), differences=found, flips=_flips(rows, live, candidate), downstream=downstream,
        rule=rule, job_id=job_id)


def reliability(y: Truth, p: Floats, bins: int = BINS) -> tuple[Bin, ...]:
    """Equal bins over P(sufficient); empty ones are left out."""
    at = np.minimum((p * bins).astype(int), bins - 1)
    return tuple(
        Bin(low=i / bins, high=(i + 1) / bins, n=int((at == i).sum()), mean_p=float(p[at == i].mean()),
            share_sufficient=float(y[at == i].mean()))
        for i in range(bins) if (at == i).any())


def _side(judge: Entrant, y: Truth, p: Floats) -> GateSide:
    return GateSide(judge=judge.name, threshold=judge.threshold, figures=figures(y, p, judge.threshold), bins=reliability(y, p))


def _flips(rows: Sequence[GateRow], live: Entrant, candidate: Entrant) -> tuple[Flip, ...]:
    """Items with different verdicts, the surest changes first."""
    old = verdicts([row.p_live for row in rows], live.threshold)
    new = verdicts([row.p_candidate for row in rows], candidate.threshold)
    changed = [Flip(item_id=row.item_id, question=row.question, label=row.label, source=row.source, p_live=row.p_live,
                    p_candidate=row.p_candidate, live=was, candidate=now)
               for row, was, now in zip(rows, old, new, strict=True) if was != now]
    return tuple(sorted(changed, key=lambda flip: -abs(flip.p_candidate - flip.p_live)))


def _counts(rows: Sequence[GateRow]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        counts[row.label][row.source] += 1
    return {label: dict(by_source) for label, by_source in sorted(counts.items())}


def _checks(counts: Mapping[str, int], found: Mapping[str, Difference], downstream: Downstream | None, rule: GateRule) -> list[Check]:
    checks = [_enough(counts, rule), _not_lower(found["balanced_accuracy"], rule)]
    checks += [_not_worse("auroc", found["auroc"]), _not_worse("ece", found["ece"])]
    checks.append(_better(found, rule))
    if downstream is not None:
        em = downstream.differences["em"]
        held = em.high is not None and em.high >= 0
        checks.append(Check(name="downstream", passed=held, words=f"exact match of {downstream.questions} whole runs "
                            f"{'is not' if held else 'is'} lower beyond noise ({_interval(em)})"))
    return checks


def _enough(counts: Mapping[str, int], rule: GateRule) -> Check:
    yes, no = counts.get("sufficient", 0), counts.get("insufficient", 0)
    passed = yes + no >= rule.min_rows and min(yes, no) >= rule.min_per_class
    return Check(name="enough", passed=passed, words=f"{yes} sufficient and {no} insufficient held-out items; needed are "
                 f"{rule.min_rows} in all and {rule.min_per_class} of either label")


def _not_lower(found: Difference, rule: GateRule) -> Check:
    passed = found.value is not None and found.high is not None and found.high >= 0 and found.value >= -rule.max_drop
    return Check(name="balanced_accuracy", passed=passed, words=f"balanced accuracy {'is not' if passed else 'is'} lower beyond noise "
                 f"({_interval(found)}; allowed is a drop of {rule.max_drop:g})")


def _not_worse(name: Metric, found: Difference) -> Check:
    worse = found.value is None or found.low is None or found.high is None or (found.low > 0 if name == "ece" else found.high < 0)
    said = f"{METRICS[name]} {'is' if worse else 'is not'} worse beyond noise ({_interval(found)})"
    return Check(name=name, passed=not worse, words=said)


def _better(found: Mapping[str, Difference], rule: GateRule) -> Check:
    names: tuple[Metric, ...] = ("balanced_accuracy", "auroc", "ece")
    shares = {METRICS[name]: found[name].better or 0.0 for name in names}
    best = max(shares, key=lambda name: shares[name])
    passed = shares[best] >= rule.sure
    return Check(name="better", passed=passed, words=f"{best} is better in {shares[best]:.0%} of the resamples; "
                 f"{'' if passed else 'nothing reaches the needed '}{'needed are ' if passed else ''}{rule.sure:.0%}")


def _interval(found: Difference) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "undefined: one label is absent"
    return f"difference {found.value:+.3f}, interval {found.low:+.3f} to {found.high:+.3f}"
