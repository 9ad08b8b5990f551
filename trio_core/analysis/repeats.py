"""Repeated and near-repeated sub-queries: the same words again, or nearly so (token F1 of at least 0.8 with an earlier one)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Figure, share
from trio_core.analysis.groups import by_label
from trio_core.metrics import token_scores
from trio_core.parsing import query_key
from trio_core.values import Value

NEAR = 0.8
Kind = Literal["new", "near", "same"]


class RoundRepeats(Value):
    """Sub-queries of one round over all runs of a group; shares of them."""

    round: int
    queries: int
    same: Figure
    near: Figure


class Repeats(Value):
    """One group. `runs_with` = share of the runs that repeat a query, fully or nearly."""

    label: str
    rounds: tuple[RoundRepeats, ...]
    runs_with: Figure


def kinds(run: RunFacts) -> list[tuple[int, Kind]]:
    """(position of the round from 1, kind) of every sub-query, each against all earlier ones of the run, those of its own round too."""
    earlier: list[str] = []
    found: list[tuple[int, Kind]] = []
    rounds = [s for s in run.steps if s.queries]
    for n, step in enumerate(rounds, 1):
        for query in step.queries:
            key = query_key(query.text)
            found.append((n, "same" if query.repeated or key in earlier else "near" if any(_near(key, e) for e in earlier) else "new"))
            earlier.append(key)
    return found


def repeats(runs: Iterable[RunFacts]) -> tuple[Repeats, ...]:
    """Groups that have sub-queries."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        every = [(r.id, n, kind) for r in own for n, kind in kinds(r)]
        if every:
            rounds = tuple(_round(n, [(i, kind) for i, k, kind in every if k == n]) for n in range(1, max(n for _, n, _ in every) + 1))
            again = [r.id for r in own if any(i == r.id and kind != "new" for i, _, kind in every)]
            found.append(Repeats(label=label, rounds=rounds, runs_with=share(again, len(own))))
    return tuple(found)


def _round(number: int, queries: list[tuple[str, Kind]]) -> RoundRepeats:
    def part(kind: Kind) -> Figure:
        return share([i for i, k in queries if k == kind], len(queries))

    return RoundRepeats(round=number, queries=len(queries), same=part("same"), near=part("near"))


def _near(a: str, b: str) -> bool:
    return token_scores(a, b, special=False)[0] >= NEAR
