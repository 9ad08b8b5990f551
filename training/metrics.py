"""How well P(sufficient) agrees with labels. Standard figures come from scikit-learn; where one is undefined it is null."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from storage.values import BinaryLabel
from training.values import Evaluation, ItemScore, Scores

BINS = 10
DECIDING = 0.5


def scores(labels: Sequence[BinaryLabel], p: Sequence[float], threshold: float) -> Scores:
    """All figures of one judge on one set of rows. `threshold` must have been tuned on other rows."""
    return Scores(
        rows=len(labels), counts=dict(Counter(labels)), threshold=threshold, auroc=_auroc(labels, p), ece=ece(labels, p),
        balanced_accuracy=balanced_accuracy(labels, p, DECIDING), balanced_accuracy_tuned=balanced_accuracy(labels, p, threshold),
        f1_sufficient=_f1(labels, p, DECIDING, "sufficient"), f1_insufficient=_f1(labels, p, DECIDING, "insufficient"),
        f1_sufficient_tuned=_f1(labels, p, threshold, "sufficient"),
        f1_insufficient_tuned=_f1(labels, p, threshold, "insufficient"),
        kappa=_kappa(labels, p, DECIDING), kappa_tuned=_kappa(labels, p, threshold),
    )


def verdicts(p: Sequence[float], threshold: float) -> list[BinaryLabel]:
    """The labels that a judge with this threshold gives."""
    return ["sufficient" if value >= threshold else "insufficient" for value in p]


def balanced_accuracy(labels: Sequence[BinaryLabel], p: Sequence[float], threshold: float) -> float | None:
    """Mean of both classes' recalls; null where a class is absent."""
    if len(set(labels)) < 2:
        return None
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(labels, verdicts(p, threshold)))


def tune_threshold(labels: Sequence[BinaryLabel], p: Sequence[float]) -> float:
    """The threshold of the best balanced accuracy; of equal ones the nearest to 0.5. 0.5 where a class is absent.

    Candidates lie half-way between neighbouring values, so that a small shift of the server's P changes little.
    """
    if len(set(labels)) < 2:
        return DECIDING
    values = sorted(set(p))
    candidates = [DECIDING, *((low + high) / 2 for low, high in zip(values, values[1:], strict=False))]
    return min(candidates, key=lambda t: (-(balanced_accuracy(labels, p, t) or 0.0), abs(t - DECIDING)))


def ece(labels: Sequence[BinaryLabel], p: Sequence[float], bins: int = BINS) -> float:
    """Expected calibration error of P(sufficient): equal bins, |share of sufficient - mean P|, weighted by rows."""
    binned: dict[int, list[tuple[float, float]]] = {}
    for label, value in zip(labels, p, strict=True):
        binned.setdefault(min(int(value * bins), bins - 1), []).append((float(label == "sufficient"), value))
    gaps = (abs(sum(right for right, _ in rows) - sum(value for _, value in rows)) for rows in binned.values())
    return sum(gaps) / len(labels) if labels else 0.0


def compare(
    rows: Sequence[tuple[int, BinaryLabel, str]], before: tuple[Sequence[float], float], after: tuple[Sequence[float], float]
) -> tuple[ItemScore, ...]:
    """One line an item, from (item id, label, question); `before` and `after` are P by row and the judge's threshold."""
    old, new = verdicts(*before), verdicts(*after)
    return tuple(
        ItemScore(item_id=item_id, label=label, question=question, p_before=p0, p_after=p1, flipped=was != now)
        for (item_id, label, question), p0, p1, was, now in zip(rows, before[0], after[0], old, new, strict=True)
    )


def flips(items: Sequence[ItemScore], threshold: float) -> dict[str, int]:
    """Changed verdicts, by whether the new one agrees with the label."""
    changed = [item for item in items if item.flipped]
    right = sum(verdicts([item.p_after], threshold)[0] == item.label for item in changed)
    return {"to_right": right, "to_wrong": len(changed) - right}


def evaluation(
    rows: Sequence[tuple[int, BinaryLabel, str]], before: tuple[Sequence[float], float], after: tuple[Sequence[float], float],
    held_out_rows: int, threshold_rows: int,
) -> Evaluation:
    """Both judges on the same rows, with the changes item by item."""
    labels = [label for _, label, _ in rows]
    items = compare(rows, before, after)
    return Evaluation(before=scores(labels, *before), after=scores(labels, *after), items=items, held_out_rows=held_out_rows,
                      threshold_rows=threshold_rows, flips=flips(items, after[1]))


def _f1(labels: Sequence[BinaryLabel], p: Sequence[float], threshold: float, label: BinaryLabel) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(labels, verdicts(p, threshold), pos_label=label, zero_division=0.0)) if labels else 0.0


def _kappa(labels: Sequence[BinaryLabel], p: Sequence[float], threshold: float) -> float | None:
    given = verdicts(p, threshold)
    if len({*labels, *given}) < 2:
        return None  # Cohen's kappa is 0/0 when all is one class
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(labels, given))


def _auroc(labels: Sequence[BinaryLabel], p: Sequence[float]) -> float | None:
    if len(set(labels)) < 2:
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score([label == "sufficient" for label in labels], p))
