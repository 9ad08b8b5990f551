"""One setting changed and nothing else: fixed against flexible rounds (TRIO's table 3), noise among the passages (its table 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Figure, mean
from trio_core.analysis.groups import by_label
from trio_core.analysis.groups import setting as setting_of
from trio_core.values import Value

FIXED, NOISE = "fixed_rounds", "noise"
_OFF = {FIXED: "flexible", NOISE: "none"}


class Switched(Value):
    """One method on one data set: a metric by the setting's value (`flexible` or `none` = switched off)."""

    label: str
    dataset: str
    columns: dict[str, Figure]
    same_questions: bool
    """False = the columns are not of the same questions, so they compare more than the setting."""


def switched(runs: Iterable[RunFacts], setting: str, metric: str = "em") -> tuple[Switched, ...]:
    """Groups that have the setting in two values at least; runs without the metric (no gold answer) are left out."""
    groups = by_label((r for r in runs if r.finished and metric in r.scores), leave_out=(setting,))
    found = []
    for label, own in groups.items():
        for dataset in dict.fromkeys(r.dataset for r in own):
            columns: defaultdict[str, list[RunFacts]] = defaultdict(list)
            for run in sorted((r for r in own if r.dataset == dataset), key=lambda r: _order(setting_of(r, setting))):
                columns[_word(setting, setting_of(run, setting))].append(run)
            if len(columns) > 1:
                asked = {frozenset(r.question_key for r in part) for part in columns.values()}
                found.append(
                    Switched(
                        label=label,
                        dataset=dataset,
                        same_questions=len(asked) == 1,
                        columns={name: mean((r.id, r.scores[metric]) for r in part) for name, part in columns.items()},
                    )
                )
    return tuple(found)


def _off(value: Any) -> bool:
    return value in (None, False, 0, "", "off", "none")


def _order(value: Any) -> tuple[bool, float, str]:
    number = float(value) if isinstance(value, (int, float)) else 0.0
    return (not _off(value), number, str(value))


def _word(setting: str, value: Any) -> str:
    return _OFF.get(setting, "off") if _off(value) else str(value)
