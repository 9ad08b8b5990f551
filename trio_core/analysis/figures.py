"""A figure that knows the runs behind it, so that every number opens."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from trio_core.values import Value


class Figure(Value):
    """A value over `n` things (runs, calls or verdicts); null where there is nothing to average. `runs` = ids, each once."""

    value: float | None = None
    n: int = 0
    runs: tuple[str, ...] = ()


class Curve(Value):
    """A figure for each round, from round 1, of one group of runs."""

    label: str
    points: tuple[Figure, ...] = ()


def mean(values: Iterable[tuple[str, float]]) -> Figure:
    """Mean of (run id, value) pairs."""
    pairs = list(values)
    if not pairs:
        return Figure()
    return Figure(value=fmean(v for _, v in pairs), n=len(pairs), runs=tuple(dict.fromkeys(i for i, _ in pairs)))


def share(run_ids: Iterable[str], of: int) -> Figure:
    """Share of `of` things; n = how many."""
    ids = list(run_ids)
    return Figure(value=len(ids) / of if of else None, n=len(ids), runs=tuple(dict.fromkeys(ids)))


def count(run_ids: Iterable[str]) -> Figure:
    """How many; a run may stand for several things."""
    ids = list(run_ids)
    return Figure(value=float(len(ids)), n=len(ids), runs=tuple(dict.fromkeys(ids)))
