"""Search momentum of runs, beside what random steps would show. A description of how smooth a search is; no drift alarm."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from trio_core.analysis.facts import RunFacts
from trio_core.analysis.groups import by_label
from trio_core.analysis.momentum import (
    Alignment,
    Floats,
    absolute_offsets,
    align,
    mean_by_step,
    offsets,
)
from trio_core.analysis.null_model import highest, null_alignment
from trio_core.analysis.vectors import Vectors, moves, trajectory
from trio_core.values import Value

LEAST_ROUNDS = 3
"""Search rounds of a trajectory that counts (the paper's rule)."""
HOLD_OUT_FROM = 20
"""With fewer trajectories the fit is reported on the ones that it was made on."""


class Drift(Value):
    """One group of runs. `offset` and `absolute` are by step: mean cumulative offset of cos(m_t, q_0), signed and in size."""

    label: str
    runs: tuple[str, ...]
    alignment: Alignment
    null: Alignment
    theory: tuple[float, ...]
    """sqrt(t / (t + 1)): the null model's limit."""
    offset: tuple[float, ...]
    absolute: tuple[float, ...]
    counts: tuple[int, ...]
    """Trajectories behind each step of the offsets."""


def drift(runs: Iterable[RunFacts], vectors: Vectors, seed: int = 0) -> tuple[Drift, ...]:
    """Groups with at least one trajectory of three rounds."""
    found = []
    for label, own in by_label(r for r in runs if r.finished).items():
        paths = {r.id: p for r in own if len(p := trajectory(r, vectors)) > LEAST_ROUNDS and moves(p)}
        if paths:
            found.append(_drift(label, {r.id: r for r in own}, paths, seed))
    return tuple(found)


def _drift(label: str, runs: dict[str, RunFacts], paths: dict[str, Floats], seed: int) -> Drift:
    first, second = _halves(runs, paths)
    fitted = align(first, second)
    all_paths = list(paths.values())
    signed, counts = mean_by_step([offsets(p, fitted.betas) for p in all_paths])
    absolute, _ = mean_by_step([absolute_offsets(p, fitted.betas) for p in all_paths])
    return Drift(
        label=label,
        runs=tuple(paths),
        alignment=fitted,
        null=null_alignment(all_paths, seed=seed),
        offset=tuple(signed),
        absolute=tuple(absolute),
        counts=tuple(counts),
        theory=tuple(highest(t) for t in range(1, len(fitted.means) + 1)),
    )


def _halves(runs: dict[str, RunFacts], paths: dict[str, Floats]) -> tuple[list[Floats], list[Floats]]:
    """Questions to fit on and others to report on, by hash; with few trajectories all to fit on."""
    if len(paths) < HOLD_OUT_FROM:
        return list(paths.values()), []
    side = {i: hashlib.sha256("/".join(runs[i].question_key).encode()).digest()[0] % 2 for i in paths}
    halves = [p for i, p in paths.items() if not side[i]], [p for i, p in paths.items() if side[i]]
    return halves if all(halves) else (list(paths.values()), [])
