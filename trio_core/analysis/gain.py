"""Marginal evidence: passages that a round brings for the first time, and the round after which nothing new came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trio_core.analysis.facts import RunFacts, Step
from trio_core.analysis.figures import Curve, Figure, mean, share
from trio_core.analysis.groups import by_label
from trio_core.values import Value


class Gain(Value):
    """One group: by search round what came; over runs, after which round nothing new came."""

    label: str
    found: Curve
    new: Curve
    new_gold: Curve
    """Runs with gold passages only."""
    last_new: dict[int, Figure]
    """Share of runs by the last search round that brought a new passage."""
    idle: Figure
    """Search rounds a run after that one."""
    last_gold: dict[int, Figure]
    """The same for gold passages, over runs that have some; 0 = none was found."""
    idle_gold: Figure


def gain(runs: Iterable[RunFacts]) -> tuple[Gain, ...]:
    """Groups that search."""
    groups = by_label(r for r in runs if r.finished and r.search_rounds)
    return tuple(_gain(label, own) for label, own in groups.items())


def last_with_new(run: RunFacts, gold: bool = False) -> int:
    """Position (from 1) of the last search round that brought a new passage, or a new gold one; 0 = none did."""
    return max((n for n, s in enumerate(run.search_rounds, 1) if (_gold(run, s) if gold else len(s.new))), default=0)


def _gold(run: RunFacts, step: Step) -> int:
    return len(set(step.new) & set(run.gold))


def _gain(label: str, own: Sequence[RunFacts]) -> Gain:
    longest = max(len(r.search_rounds) for r in own)
    at = [[(r, r.search_rounds[n]) for r in own if len(r.search_rounds) > n] for n in range(longest)]
    with_gold = [r for r in own if r.gold]
    return Gain(
        label=label,
        found=Curve(label=label, points=tuple(mean((r.id, float(len(s.found))) for r, s in part) for part in at)),
        new=Curve(label=label, points=tuple(mean((r.id, float(len(s.new))) for r, s in part) for part in at)),
        new_gold=Curve(label=label, points=tuple(mean((r.id, float(_gold(r, s))) for r, s in part if r.gold) for part in at)),
        last_new=_shares(own, False),
        idle=mean((r.id, float(len(r.search_rounds) - last_with_new(r))) for r in own),
        last_gold=_shares(with_gold, True),
        idle_gold=mean((r.id, float(len(r.search_rounds) - last_with_new(r, True))) for r in with_gold),
    )


def _shares(runs: Sequence[RunFacts], gold: bool) -> dict[int, Figure]:
    last = {r.id: last_with_new(r, gold) for r in runs}
    return {n: share([i for i, k in last.items() if k == n], len(runs)) for n in sorted(set(last.values()))}
