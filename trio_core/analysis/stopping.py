"""In which round runs stop (MAPS's plot). A round counts where it searched."""

from __future__ import annotations

from collections.abc import Iterable

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.figures import Figure, mean, share
from trio_core.analysis.groups import by_label
from trio_core.values import Value


class Stopping(Value):
    """One group: the share of runs that stop after each number of search rounds, and the mean number."""

    label: str
    runs: int
    after: dict[int, Figure]
    mean: Figure


def stopping(runs: Iterable[RunFacts]) -> tuple[Stopping, ...]:
    """Runs that ended by themselves. A method without retrieval stops at 0."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        rounds = {r.id: len(r.search_rounds) for r in own}
        after = {n: share([i for i, k in rounds.items() if k == n], len(own)) for n in sorted(set(rounds.values()))}
        found.append(Stopping(label=label, runs=len(own), after=after, mean=mean((i, float(n)) for i, n in rounds.items())))
    return tuple(found)
