"""Drift measures that hold up: how near each round's sub-queries are to the gold evidence, and to the question.

As MAPS's figure: the mean over all pairs of a sub-query and a gold passage within a run's round, then the mean over runs.
Cosines of one encoder crowd in a narrow band, so they can be compared between rounds and methods, not between encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from trio_core.analysis.facts import RunFacts, Step
from trio_core.analysis.figures import Curve, mean
from trio_core.analysis.groups import by_label
from trio_core.analysis.vectors import Vectors


def to_gold(runs: Iterable[RunFacts], vectors: Vectors, texts: Mapping[str, Mapping[str, str]]) -> tuple[Curve, ...]:
    """Runs of which the text of at least one gold passage is known. `texts`: `vectors.gold_texts`."""

    def value(run: RunFacts, step: Step) -> float:
        evidence = vectors.passages(list(texts[run.id].values()))
        return float((vectors.queries(searched(step)) @ evidence.T).mean())

    return _curves((r for r in runs if r.finished and texts.get(r.id)), value)


def to_question(runs: Iterable[RunFacts], vectors: Vectors) -> tuple[Curve, ...]:
    """Every run that searched."""

    def value(run: RunFacts, step: Step) -> float:
        return float((vectors.queries(searched(step)) @ vectors.queries([run.question])[0]).mean())

    return _curves((r for r in runs if r.finished), value)


def searched(step: Step) -> list[str]:
    """The round's sub-queries that were searched."""
    return [q.text for q in step.queries if q.searched]


def _curves(runs: Iterable[RunFacts], value: Callable[[RunFacts, Step], float]) -> tuple[Curve, ...]:
    found = []
    for label, own in by_label(runs).items():
        longest = max(len(r.search_rounds) for r in own)
        points = [mean((r.id, value(r, r.search_rounds[n])) for r in own if len(r.search_rounds) > n) for n in range(longest)]
        if points:
            found.append(Curve(label=label, points=tuple(points)))
    return tuple(found)
